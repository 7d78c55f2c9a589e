/* Parser of one page of a bucket's listing. */
#include "decoder/bucket/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/text/hex.h"
#include "core/text/utf8.h"
#include "upload/aws/instant.h"
#include "upload/queue/pairs.h"

#define DEPTH_MAX 8

/* Longest text of an element: a name of 1024 bytes, each encoded like "&#xNN;", with a margin. */
#define TEXT_MAX 16384

struct name {
	const char *at;
	size_t length;
};

/* Known elements, by their parents. */
enum element {
	IGNORED,
	RESULT,
	TRUNCATED,
	TOKEN,
	ENCODING,
	CONTENTS,
	KEY,
	ETAG,
	BYTES,
	MODIFIED,
	CLASS,
	ELEMENTS,
};

static const struct {
	enum element parent;
	const char *name;
} elements[ELEMENTS] = {
	[RESULT] = { IGNORED, "ListBucketResult" },
	[TRUNCATED] = { RESULT, "IsTruncated" },
	[TOKEN] = { RESULT, "NextContinuationToken" },
	[ENCODING] = { RESULT, "EncodingType" },
	[CONTENTS] = { RESULT, "Contents" },
	[KEY] = { CONTENTS, "Key" },
	[ETAG] = { CONTENTS, "ETag" },
	[BYTES] = { CONTENTS, "Size" },
	[MODIFIED] = { CONTENTS, "LastModified" },
	[CLASS] = { CONTENTS, "StorageClass" },
};

struct reader {
	const char *start, *at, *end;
	struct listing *out;

	struct {
		struct name name;
		enum element element;
	} open[DEPTH_MAX];
	size_t depth;
	bool is_closed; /* the outermost element is closed */

	struct buf text; /* of the innermost element since its last tag */
	struct buf key, etag;
	struct listing_entry object;
	unsigned int seen;      /* elements of the object, one bit each */
	unsigned int page_seen; /* elements of the page */
	bool is_truncated, is_encoded;

	int (*each)(void *arg, const struct listing_entry *object); /* NULL: only check the page */
	void *arg;
};

static int reader_fail(struct reader *r, const char *problem)
{
	r->out->problem = problem;
	r->out->offset = (size_t)(r->at - r->start);
	return -EBADMSG;
}

static bool reader_has_text(const struct reader *r, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(r->end - r->at) >= length && !memcmp(r->at, text, length);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void reader_skip_space(struct reader *r)
{
	while (r->at < r->end && is_space(*r->at))
		r->at++;
}

static bool is_name_character(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':')
		return true;
	return !first && ((c >= '0' && c <= '9') || c == '-' || c == '.');
}

static bool reader_read_name(struct reader *r, struct name *name)
{
	name->at = r->at;
	while (r->at < r->end && is_name_character(*r->at, r->at == name->at))
		r->at++;
	name->length = (size_t)(r->at - name->at);
	return name->length;
}

/* --- text ------------------------------------------------------------------------------------- */

static int reader_append_text(struct reader *r, const char *bytes, size_t length)
{
	int err = buf_append(&r->text, bytes, length);

	return err == -EFBIG ? reader_fail(r, "a text is too long") : err;
}

static int reader_append_character(struct reader *r, uint32_t c)
{
	char utf8[4];

	if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0xd800 && c < 0xe000) ||
	    c > 0x10ffff)
		return reader_fail(r, "a reference to an invalid character");
	return reader_append_text(r, utf8, utf8_encode(utf8, c));
}

/* Read a character reference, "&#65;" or "&#x41;", after its '#'. */
static int reader_read_character_reference(struct reader *r)
{
	uint32_t base = r->at < r->end && *r->at == 'x' ? 16 : 10, c = 0;
	const char *first;
	int digit;

	r->at += base == 16;
	for (first = r->at; r->at < r->end && c <= 0x10ffff; r->at++) {
		digit = hex_digit(*r->at);
		if (digit < 0 || digit >= (int)base)
			break;
		c = c * base + (uint32_t)digit;
	}
	if (r->at == first || r->at == r->end || *r->at != ';')
		return reader_fail(r, "a reference without an end");
	r->at++;
	return reader_append_character(r, c);
}

static int reader_read_reference(struct reader *r)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = { { "&lt;", '<' },
			 { "&gt;", '>' },
			 { "&amp;", '&' },
			 { "&quot;", '"' },
			 { "&apos;", '\'' } };

	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if (reader_has_text(r, entities[i].name)) {
			r->at += strlen(entities[i].name);
			return reader_append_text(r, &entities[i].c, 1);
		}
	if (!reader_has_text(r, "&#"))
		return reader_fail(r, "an entity that is not XML's own");
	r->at += 2;
	return reader_read_character_reference(r);
}

static bool is_plain_character(char c)
{
	return c != '<' && c != '&' && ((unsigned char)c >= 0x20 || is_space(c));
}

/* Read text up to the next tag. */
static int reader_read_text(struct reader *r)
{
	const char *from;
	int err = 0;

	while (!err && r->at < r->end && *r->at != '<') {
		for (from = r->at; r->at < r->end && is_plain_character(*r->at);)
			r->at++;
		if (r->at > from)
			err = reader_append_text(r, from, (size_t)(r->at - from));
		else if (*r->at == '&')
			err = reader_read_reference(r);
		else
			err = reader_fail(r, "a control character");
	}
	return err;
}

/* --- elements --------------------------------------------------------------------------------- */

static bool name_equals(const struct name *name, const char *text)
{
	return strlen(text) == name->length && !memcmp(name->at, text, name->length);
}

static enum element reader_find_element(const struct reader *r, const struct name *name)
{
	enum element parent = r->depth ? r->open[r->depth - 1].element : IGNORED;

	if (r->depth && parent == IGNORED)
		return IGNORED;
	for (enum element e = RESULT; e < ELEMENTS; e++)
		if (elements[e].parent == parent && name_equals(name, elements[e].name))
			return e;
	return IGNORED;
}

static int reader_parse_size(struct reader *r, const char *text)
{
	uint64_t bytes = 0;

	if (!*text)
		return reader_fail(r, "a size that is not a number");
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(bytes, 10, &bytes) ||
		    __builtin_add_overflow(bytes, (uint64_t)(*text - '0'), &bytes))
			return reader_fail(r, "a size that is not a number");
	r->object.bytes = bytes;
	return 0;
}

/* Decode "%41" and "+" in TEXT, if the page uses this encoding. Returns false for a name with a NUL character,
 * which cannot be requested. */
static bool reader_decode_key(const struct reader *r, char *text)
{
	char *out = text;

	for (; *text; text++, out++) {
		int byte = pairs_percent_byte(text);

		*out = *text;
		if (!r->is_encoded)
			continue;
		if (*text == '+')
			*out = ' ';
		if (byte < 0)
			continue;
		*out = (char)byte;
		text += 2;
		if (!*out)
			return false;
	}
	*out = '\0';
	return true;
}

static int reader_emit_object(struct reader *r)
{
	if (!(r->seen & 1u << KEY) || !(r->seen & 1u << BYTES))
		return reader_fail(r, "an object without a name or without a size");
	if (!r->each)
		return 0;
	r->object.key = buf_string(&r->key);
	r->object.etag = r->etag.length ? buf_string(&r->etag) : "";
	if (!r->object.key || !r->object.etag)
		return -ENOMEM;
	return reader_decode_key(r, (char *)r->key.data) ? r->each(r->arg, &r->object) : 0;
}

static int text_copy(struct buf *out, const struct buf *text)
{
	buf_reset(out);
	return buf_append(out, text->data, text->length);
}

/* Handle the end of ELEMENT with content TEXT. */
static int reader_finish_element(struct reader *r, enum element element, const char *text)
{
	switch (element) {
	case TRUNCATED:
		r->is_truncated = !strcmp(text, "true");
		return r->is_truncated || !strcmp(text, "false")
			       ? 0
			       : reader_fail(r, "neither true nor false");
	case TOKEN:
		free(r->out->token);
		r->out->token = strdup(text);
		return r->out->token ? 0 : -ENOMEM;
	case ENCODING:
		r->is_encoded = !strcmp(text, "url");
		return r->is_encoded || !*text ? 0 : reader_fail(r, "an unknown encoding of names");
	case KEY:
		return r->text.length ? text_copy(&r->key, &r->text)
				      : reader_fail(r, "an empty name");
	case ETAG:
		return text_copy(&r->etag, &r->text);
	case BYTES:
		return reader_parse_size(r, text);
	case MODIFIED:
		if (instant_parse(text, &r->object.modified))
			r->object.modified = 0;
		return 0;
	case CLASS:
		r->object.is_frozen = !strcmp(text, "GLACIER") || !strcmp(text, "DEEP_ARCHIVE");
		return 0;
	case CONTENTS:
		return reader_emit_object(r);
	default:
		return 0;
	}
}

/* --- tags ------------------------------------------------------------------------------------- */

static int reader_open_element(struct reader *r, const struct name *name)
{
	enum element element = reader_find_element(r, name);
	unsigned int bit = 1u << element;
	unsigned int *seen = elements[element].parent == CONTENTS ? &r->seen : &r->page_seen;

	if (!r->depth && (element != RESULT || r->is_closed))
		return reader_fail(r, "not a ListBucketResult");
	if (r->depth == DEPTH_MAX)
		return reader_fail(r, "elements too deep");
	if (element != IGNORED && element != CONTENTS && *seen & bit)
		return reader_fail(r, "a duplicate element");
	if (element != IGNORED)
		*seen |= bit;
	if (element == CONTENTS) {
		r->seen = 0;
		r->object = (struct listing_entry){ 0 };
		buf_reset(&r->etag);
	}
	r->open[r->depth].name = *name;
	r->open[r->depth++].element = element;
	buf_reset(&r->text);
	return 0;
}

static int reader_close_element(struct reader *r)
{
	const char *text = buf_string(&r->text);
	int err;

	if (!text)
		return -ENOMEM;
	err = reader_finish_element(r, r->open[--r->depth].element, text);
	r->is_closed = !r->depth;
	buf_reset(&r->text);
	return err;
}

/* Read an attribute: ' name="value"'. */
static int reader_read_attribute(struct reader *r)
{
	struct name name;
	char quote;

	if (!reader_read_name(r, &name))
		return reader_fail(r, "a tag that does not end");
	reader_skip_space(r);
	if (r->at == r->end || *r->at++ != '=')
		return reader_fail(r, "an attribute without a value");
	reader_skip_space(r);
	quote = r->at < r->end ? *r->at++ : '\0';
	if (quote != '"' && quote != '\'')
		return reader_fail(r, "an attribute without a value");
	while (r->at < r->end && *r->at != quote && *r->at != '<' && *r->at)
		r->at++;
	if (r->at == r->end || *r->at++ != quote)
		return reader_fail(r, "an attribute without an end");
	return 0;
}

static int reader_read_start_tag(struct reader *r)
{
	struct name name;
	int err = 0;

	r->at++;
	if (!reader_read_name(r, &name))
		return reader_fail(r, "an invalid tag");
	while (!err && r->at < r->end && is_space(*r->at)) {
		reader_skip_space(r);
		if (r->at == r->end || *r->at == '>' || *r->at == '/')
			break;
		err = reader_read_attribute(r);
	}
	if (err)
		return err;
	if (reader_has_text(r, "/>")) {
		r->at += 2;
		err = reader_open_element(r, &name);
		return err ? err : reader_close_element(r);
	}
	if (!reader_has_text(r, ">"))
		return reader_fail(r, "a tag that does not end");
	r->at++;
	return reader_open_element(r, &name);
}

static int reader_read_end_tag(struct reader *r)
{
	struct name name;
	const struct name *open = r->depth ? &r->open[r->depth - 1].name : NULL;

	r->at += 2;
	if (!reader_read_name(r, &name) || !open || name.length != open->length ||
	    memcmp(name.at, open->at, name.length) != 0)
		return reader_fail(r, "an end tag without its start");
	reader_skip_space(r);
	if (!reader_has_text(r, ">"))
		return reader_fail(r, "a tag that does not end");
	r->at++;
	return reader_close_element(r);
}

/* Skip a byte order mark and "<?xml …?>". */
static int reader_read_declaration(struct reader *r)
{
	const char *end;

	if (reader_has_text(r, "\xef\xbb\xbf"))
		r->at += 3;
	if (!reader_has_text(r, "<?xml") || (size_t)(r->end - r->at) < 6 || !is_space(r->at[5]))
		return 0;
	end = memmem(r->at, (size_t)(r->end - r->at), "?>", 2);
	if (!end)
		return reader_fail(r, "a declaration without an end");
	r->at = end + 2;
	return 0;
}

static int reader_read_document(struct reader *r)
{
	int err = reader_read_declaration(r);

	while (!err) {
		if (!r->depth)
			reader_skip_space(r);
		else
			err = reader_read_text(r);
		if (err || r->at == r->end)
			break;
		if (*r->at != '<')
			err = reader_fail(r, "text outside of all elements");
		else
			err = reader_has_text(r, "</") ? reader_read_end_tag(r)
						       : reader_read_start_tag(r);
	}
	if (!err && !r->is_closed)
		err = reader_fail(r, "it is incomplete");
	if (!err && r->is_truncated && !r->out->token)
		err = reader_fail(r, "it is truncated and has no continuation token");
	return err;
}

int listing_read(struct listing *out, const void *xml, size_t length,
		 int (*each)(void *arg, const struct listing_entry *object), void *arg)
{
	struct reader r = { .start = xml,
			    .at = xml,
			    .end = (const char *)xml + length,
			    .out = out,
			    .text = BUF_INIT(TEXT_MAX),
			    .key = BUF_INIT(TEXT_MAX),
			    .etag = BUF_INIT(TEXT_MAX),
			    .arg = arg };
	int err;

	*out = (struct listing){ 0 };
	/* Parse twice: the encoding may follow the names, and an incomplete page must not call EACH. */
	err = length ? reader_read_document(&r) : reader_fail(&r, "an empty answer");
	if (!err) {
		r.at = r.start;
		r.depth = 0;
		r.is_closed = false;
		r.page_seen = 0;
		r.each = each;
		err = reader_read_document(&r);
	}
	if (err || !r.is_truncated) {
		free(out->token);
		out->token = NULL;
	}
	buf_free(&r.text);
	buf_free(&r.key);
	buf_free(&r.etag);
	return err;
}
