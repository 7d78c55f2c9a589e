/* Reads a page of a bucket's listing. */
#include "decoder/bucket/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "upload/aws/instant.h"

#define DEPTH_MAX 8

/* The longest text in an element: a name of 1024 bytes, each as "&#xNN;"-like three, and more. */
#define TEXT_MAX 16384

struct name {
	const char *at;
	size_t length;
};

/* The elements that mean something, by where they stand. */
enum element {
	PASSED_OVER,
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
	[RESULT] = { PASSED_OVER, "ListBucketResult" },
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
	bool closed; /* the outermost element was */

	struct buf text; /* of the innermost element, since its last tag */
	struct buf key, etag;
	struct listed object;
	unsigned int met; /* of the object, and of the page: a bit for each element */
	unsigned int page_met;
	bool truncated, encoded;

	int (*each)(void *arg, const struct listed *object); /* NULL: the page is but looked at */
	void *arg;
};

static int bad(struct reader *r, const char *problem)
{
	r->out->problem = problem;
	r->out->offset = (size_t)(r->at - r->start);
	return -EBADMSG;
}

static bool starts(const struct reader *r, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(r->end - r->at) >= length && !memcmp(r->at, text, length);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct reader *r)
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

static bool take_name(struct reader *r, struct name *name)
{
	name->at = r->at;
	while (r->at < r->end && is_name_character(*r->at, r->at == name->at))
		r->at++;
	name->length = (size_t)(r->at - name->at);
	return name->length;
}

/* --- text ------------------------------------------------------------------------------------- */

static int put(struct reader *r, const char *bytes, size_t length)
{
	int err = buf_append(&r->text, bytes, length);

	return err == -EFBIG ? bad(r, "a text is too long") : err;
}

static int put_character(struct reader *r, uint32_t c)
{
	char utf8[4];
	size_t n = 0;

	if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0xd800 && c < 0xe000) ||
	    c > 0x10ffff)
		return bad(r, "a reference to what is no character");
	if (c < 0x80) {
		utf8[n++] = (char)c;
	} else if (c < 0x800) {
		utf8[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		utf8[n++] = (char)(0xe0 | c >> 12);
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		utf8[n++] = (char)(0xf0 | c >> 18);
		utf8[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	return put(r, utf8, n);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "&#65;", "&#x41;": behind the '#'. */
static int take_number(struct reader *r)
{
	uint32_t base = r->at < r->end && *r->at == 'x' ? 16 : 10, c = 0;
	const char *first;
	int digit;

	r->at += base == 16;
	for (first = r->at; r->at < r->end && c <= 0x10ffff; r->at++) {
		digit = digit_of(*r->at);
		if (digit < 0 || digit >= (int)base)
			break;
		c = c * base + (uint32_t)digit;
	}
	if (r->at == first || r->at == r->end || *r->at != ';')
		return bad(r, "no end to a reference");
	r->at++;
	return put_character(r, c);
}

static int take_reference(struct reader *r)
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
		if (starts(r, entities[i].name)) {
			r->at += strlen(entities[i].name);
			return put(r, &entities[i].c, 1);
		}
	if (!starts(r, "&#"))
		return bad(r, "an entity that is not XML's own");
	r->at += 2;
	return take_number(r);
}

static bool is_plain(char c)
{
	return c != '<' && c != '&' && ((unsigned char)c >= 0x20 || is_space(c));
}

/* Up to the next tag. */
static int take_text(struct reader *r)
{
	const char *from;
	int err = 0;

	while (!err && r->at < r->end && *r->at != '<') {
		for (from = r->at; r->at < r->end && is_plain(*r->at);)
			r->at++;
		if (r->at > from)
			err = put(r, from, (size_t)(r->at - from));
		else if (*r->at == '&')
			err = take_reference(r);
		else
			err = bad(r, "a control character");
	}
	return err;
}

/* --- what the elements mean ------------------------------------------------------------------- */

static bool name_equals(const struct name *name, const char *text)
{
	return strlen(text) == name->length && !memcmp(name->at, text, name->length);
}

static enum element find_element(const struct reader *r, const struct name *name)
{
	enum element parent = r->depth ? r->open[r->depth - 1].element : PASSED_OVER;

	if (r->depth && parent == PASSED_OVER)
		return PASSED_OVER;
	for (enum element e = RESULT; e < ELEMENTS; e++)
		if (elements[e].parent == parent && name_equals(name, elements[e].name))
			return e;
	return PASSED_OVER;
}

static int take_bytes(struct reader *r, const char *text)
{
	uint64_t bytes = 0;

	if (!*text)
		return bad(r, "a size that is no number");
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(bytes, 10, &bytes) ||
		    __builtin_add_overflow(bytes, (uint64_t)(*text - '0'), &bytes))
			return bad(r, "a size that is no number");
	r->object.bytes = bytes;
	return 0;
}

/* TEXT's "%41" and "+" become characters, where the page says that it has such. False where there is a
 * NUL among them: nobody can ask for that. */
static bool decode(const struct reader *r, char *text)
{
	char *out = text;

	for (; *text; text++, out++) {
		int high = *text == '%' ? digit_of(text[1]) : -1;
		int low = high >= 0 ? digit_of(text[2]) : -1;

		*out = *text;
		if (!r->encoded)
			continue;
		if (*text == '+')
			*out = ' ';
		if (low < 0)
			continue;
		*out = (char)(high << 4 | low);
		text += 2;
		if (!*out)
			return false;
	}
	*out = '\0';
	return true;
}

static int hand_out(struct reader *r)
{
	if (!(r->met & 1u << KEY) || !(r->met & 1u << BYTES))
		return bad(r, "an object without a name or without a size");
	if (!r->each)
		return 0;
	r->object.key = buf_string(&r->key);
	r->object.etag = r->etag.length ? buf_string(&r->etag) : "";
	if (!r->object.key || !r->object.etag)
		return -ENOMEM;
	return decode(r, (char *)r->key.data) ? r->each(r->arg, &r->object) : 0;
}

static int keep(struct buf *out, const struct buf *text)
{
	buf_reset(out);
	return buf_append(out, text->data, text->length);
}

/* An element of the page ends, with TEXT in it. */
static int reader_finish_element(struct reader *r, enum element element, const char *text)
{
	switch (element) {
	case TRUNCATED:
		r->truncated = !strcmp(text, "true");
		return r->truncated || !strcmp(text, "false") ? 0
							      : bad(r, "neither true nor false");
	case TOKEN:
		free(r->out->token);
		r->out->token = strdup(text);
		return r->out->token ? 0 : -ENOMEM;
	case ENCODING:
		r->encoded = !strcmp(text, "url");
		return r->encoded || !*text ? 0 : bad(r, "an encoding of names that is not known");
	case KEY:
		return r->text.length ? keep(&r->key, &r->text) : bad(r, "an empty name");
	case ETAG:
		return keep(&r->etag, &r->text);
	case BYTES:
		return take_bytes(r, text);
	case MODIFIED:
		if (instant_parse(text, &r->object.modified))
			r->object.modified = 0;
		return 0;
	case CLASS:
		r->object.frozen = !strcmp(text, "GLACIER") || !strcmp(text, "DEEP_ARCHIVE");
		return 0;
	case CONTENTS:
		return hand_out(r);
	default:
		return 0;
	}
}

/* --- tags ------------------------------------------------------------------------------------- */

static int open_element(struct reader *r, const struct name *name)
{
	enum element element = find_element(r, name);
	unsigned int bit = 1u << element;
	unsigned int *met = elements[element].parent == CONTENTS ? &r->met : &r->page_met;

	if (!r->depth && (element != RESULT || r->closed))
		return bad(r, "this is no ListBucketResult");
	if (r->depth == DEPTH_MAX)
		return bad(r, "elements too deep");
	if (element != PASSED_OVER && element != CONTENTS && *met & bit)
		return bad(r, "an element that is there already");
	if (element != PASSED_OVER)
		*met |= bit;
	if (element == CONTENTS) {
		r->met = 0;
		r->object = (struct listed){ 0 };
		buf_reset(&r->etag);
	}
	r->open[r->depth].name = *name;
	r->open[r->depth++].element = element;
	buf_reset(&r->text);
	return 0;
}

static int close_element(struct reader *r)
{
	const char *text = buf_string(&r->text);
	int err;

	if (!text)
		return -ENOMEM;
	err = reader_finish_element(r, r->open[--r->depth].element, text);
	r->closed = !r->depth;
	buf_reset(&r->text);
	return err;
}

/* ' name="value"' */
static int take_attribute(struct reader *r)
{
	struct name name;
	char quote;

	if (!take_name(r, &name))
		return bad(r, "a tag that does not end");
	skip_space(r);
	if (r->at == r->end || *r->at++ != '=')
		return bad(r, "an attribute without a value");
	skip_space(r);
	quote = r->at < r->end ? *r->at++ : '\0';
	if (quote != '"' && quote != '\'')
		return bad(r, "an attribute without a value");
	while (r->at < r->end && *r->at != quote && *r->at != '<' && *r->at)
		r->at++;
	if (r->at == r->end || *r->at++ != quote)
		return bad(r, "an attribute without an end");
	return 0;
}

static int take_start_tag(struct reader *r)
{
	struct name name;
	int err = 0;

	r->at++;
	if (!take_name(r, &name))
		return bad(r, "what is no tag");
	while (!err && r->at < r->end && is_space(*r->at)) {
		skip_space(r);
		if (r->at == r->end || *r->at == '>' || *r->at == '/')
			break;
		err = take_attribute(r);
	}
	if (err)
		return err;
	if (starts(r, "/>")) {
		r->at += 2;
		err = open_element(r, &name);
		return err ? err : close_element(r);
	}
	if (!starts(r, ">"))
		return bad(r, "a tag that does not end");
	r->at++;
	return open_element(r, &name);
}

static int take_end_tag(struct reader *r)
{
	struct name name;
	const struct name *open = r->depth ? &r->open[r->depth - 1].name : NULL;

	r->at += 2;
	if (!take_name(r, &name) || !open || name.length != open->length ||
	    memcmp(name.at, open->at, name.length) != 0)
		return bad(r, "an end tag without its start");
	skip_space(r);
	if (!starts(r, ">"))
		return bad(r, "a tag that does not end");
	r->at++;
	return close_element(r);
}

/* "<?xml …?>", in front of everything but a byte order mark. */
static int take_declaration(struct reader *r)
{
	const char *end;

	if (starts(r, "\xef\xbb\xbf"))
		r->at += 3;
	if (!starts(r, "<?xml") || (size_t)(r->end - r->at) < 6 || !is_space(r->at[5]))
		return 0;
	end = memmem(r->at, (size_t)(r->end - r->at), "?>", 2);
	if (!end)
		return bad(r, "a declaration without an end");
	r->at = end + 2;
	return 0;
}

static int take_document(struct reader *r)
{
	int err = take_declaration(r);

	while (!err) {
		if (!r->depth)
			skip_space(r);
		else
			err = take_text(r);
		if (err || r->at == r->end)
			break;
		if (*r->at != '<')
			err = bad(r, "text outside of all elements");
		else
			err = starts(r, "</") ? take_end_tag(r) : take_start_tag(r);
	}
	if (!err && !r->closed)
		err = bad(r, "it ends too early");
	if (!err && r->truncated && !r->out->token)
		err = bad(r, "there is more, but it does not say how to ask for it");
	return err;
}

int listing_read(struct listing *out, const void *xml, size_t length,
		 int (*each)(void *arg, const struct listed *object), void *arg)
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
	/* Twice: how names are written may be said behind them, and half a page is none. */
	err = length ? take_document(&r) : bad(&r, "an empty answer");
	if (!err) {
		r.at = r.start;
		r.depth = 0;
		r.closed = false;
		r.page_met = 0;
		r.each = each;
		err = take_document(&r);
	}
	if (err || !r.truncated) {
		free(out->token);
		out->token = NULL;
	}
	buf_free(&r.text);
	buf_free(&r.key);
	buf_free(&r.etag);
	return err;
}
