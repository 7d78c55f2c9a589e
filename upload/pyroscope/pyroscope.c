/* Pyroscope reporter: sends each report as profiles in profile.proto to /ingest. */
#include "upload/pyroscope/pyroscope.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profile/pprof/pprof_write.h"
#include "upload/http/url.h"

#define PATH         "/ingest"
#define CONTENT_TYPE "application/octet-stream"

/* Default limits of Pyroscope: with more or longer labels it refuses the whole profile. A few
 * labels are its own. */
#define LABELS_MAX      24
#define NAME_MAX_BYTES  512
#define VALUE_MAX_BYTES 1024
#define TEXT_MAX        32768

/* Default limits of one profile. Pyroscope refuses permanently a profile with more samples, or
 * of more than 4 MiB before compression. A profile larger than the tenant's burst of 2 MiB is
 * deferred each time. One megabyte leaves bandwidth for other clients. */
#define SAMPLES_MAX       16000
#define PROFILE_MAX_BYTES (1u << 20)

static const uint32_t kinds[] = {
	1u << METRIC_CPU,
	1u << METRIC_WALL,
	1u << METRIC_MALLOC | 1u << METRIC_LIVE | 1u << METRIC_OBJECT | 1u << METRIC_LIVE_OBJECT,
	1u << METRIC_LOCK,
};

/* Labels with a different name in Pyroscope. In all others, '_' replaces characters other than
 * letters and digits. */
static const struct {
	const char *key, *name;
} names[] = {
	{ "service.version", "version" },
	{ "host.name", "host" },
	{ "host.id", "instance" },
	{ "container.id", "container" },
	{ "k8s.pod.name", "pod" },
	{ "k8s.namespace.name", "namespace" },
	{ "k8s.node.name", "node" },
	{ "process.pid", "pid" },
	{ "process.executable.name", "executable" },
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static int pyroscope_append_key(struct buf *out, const char *key)
{
	size_t length = strnlen(key, NAME_MAX_BYTES);

	/* Names that start with two underscores are reserved for the server. */
	if (*key >= '0' && *key <= '9')
		buf_append(out, "_", 1);
	for (; length > 1 && !is_word(key[0]) && !is_word(key[1]); length--)
		key++;
	for (size_t i = 0; i < length; i++)
		buf_append(out, is_word(key[i]) ? &key[i] : "_", 1);
	return out->err;
}

static int pyroscope_append_value(struct buf *out, const char *value)
{
	size_t length = strnlen(value, VALUE_MAX_BYTES);

	while (length && length == VALUE_MAX_BYTES && ((unsigned char)value[length] & 0xc0) == 0x80)
		length--; /* do not split a UTF-8 character */
	for (size_t i = 0; i < length; i++)
		buf_append(out,
			   strchr(",{}", value[i]) || (unsigned char)value[i] < ' ' ? "_"
										    : &value[i],
			   1);
	return out->err;
}

static void pyroscope_append_service(struct buf *out, const char *service)
{
	size_t length = strnlen(service, VALUE_MAX_BYTES);

	for (size_t i = 0; i < length; i++)
		buf_append(out,
			   is_word(service[i]) || strchr("-./", service[i]) ? &service[i] : "_", 1);
}

static const char *pyroscope_label_name(const struct identity *identity,
					const struct identity_label *label)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].key, label->key))
			return !label->tag && identity_get(identity, names[i].name) ? NULL
										    : names[i].name;
	return label->key;
}

/* True if the key appended from AT on already exists after START. */
static bool pyroscope_is_duplicate(struct buf *out, size_t start, size_t at)
{
	size_t length = out->length - at;

	for (size_t i = start; i + length < at; i++)
		if ((out->data[i - 1] == '{' || out->data[i - 1] == ',') &&
		    !memcmp(out->data + i, out->data + at, length) && out->data[i + length] == '=')
			return true;
	return false;
}

/* Skip duplicate keys and keys reserved for the server. */
static int pyroscope_append_label(struct buf *out, size_t start, const char *name, const char *text)
{
	size_t before = out->length, at;
	int err = 0;

	if (before > start)
		err = buf_append(out, ",", 1);
	at = out->length;
	if (!err)
		err = pyroscope_append_key(out, name);
	if (!err && (pyroscope_is_duplicate(out, start, at) || !memcmp(out->data + at, "__", 2))) {
		out->length = before;
		return 0;
	}
	if (!err)
		err = buf_append(out, "=", 1);
	return err ? err : pyroscope_append_value(out, text);
}

int pyroscope_name(struct buf *out, const struct identity *identity)
{
	const char *service = identity_get(identity, "service.name");
	size_t labels = 0, start;
	int err;

	pyroscope_append_service(out, service && *service ? service : "unknown");
	buf_append(out, "{", 1);
	err = out->err;
	start = out->length;
	for (size_t i = 0; !err && i < identity->count && labels < LABELS_MAX; i++) {
		const struct identity_label *label = &identity->labels[i];
		const char *name = pyroscope_label_name(identity, label);

		if (!name || !strcmp(label->key, "service.name"))
			continue;
		err = pyroscope_append_label(out, start, name, label->text);
		labels++;
	}
	return err ? err : buf_append(out, "}", 1);
}

static bool pyroscope_has_too_many_samples(const struct push_piece *piece)
{
	uint32_t count = 0;

	for (uint32_t i = piece->from; i < piece->to; i++)
		count += (kinds[piece->kind] >> piece->profile->samples[i].metric) & 1;
	return count > SAMPLES_MAX;
}

/* The uncompressed length of the gzip data BODY, from its last bytes. */
static uint32_t gzip_content_length(const struct buf *body)
{
	uint32_t length;

	memcpy(&length, body->data + body->length - sizeof(length), sizeof(length));
	return le32toh(length);
}

static int pyroscope_make(const struct push_piece *piece, struct http_request *request,
			  struct buf *body)
{
	const struct report *report = piece->report;
	int64_t start_ns = push_start_ns(piece), end_ns = (int64_t)report->end_ms * 1000000;
	struct pprof_part part = { .metrics = kinds[piece->kind],
				   .from = piece->from,
				   .to = piece->to,
				   .start_ns = start_ns,
				   .end_ns = end_ns > start_ns ? end_ns : start_ns,
				   .for_pyroscope = true };
	struct buf name = BUF_INIT(TEXT_MAX);
	int err = pyroscope_has_too_many_samples(piece)
			  ? -EFBIG
			  : pprof_write_part(body, piece->profile, piece->libraries, &part);

	if (!err && gzip_content_length(body) > PROFILE_MAX_BYTES)
		err = -EFBIG;
	request->url.max = 3 * TEXT_MAX;
	if (!err)
		err = pyroscope_name(&name, piece->identity);
	if (!err)
		err = buf_append_string(&request->url, PATH "?name=");
	if (!err)
		err = buf_string(&name) ? url_encode(&request->url, buf_string(&name), false)
					: -ENOMEM;
	if (!err)
		err = buf_printf(&request->url,
				 "&from=%" PRId64 "&until=%" PRIu64
				 "&format=pprof&spyName=asprof-agent",
				 start_ns / 1000000000, (report->end_ms + 999) / 1000);
	if (!err)
		err = http_request_header(request, "content-type", CONTENT_TYPE);
	buf_free(&name);
	return err;
}

/* Pyroscope's front end answers 422 for any error of its back ends, even if they are
 * unavailable. */
static bool pyroscope_is_final(struct http_response *response)
{
	return strstr(http_text(response), "invalid_argument");
}

const struct push_form pyroscope_form = {
	.name = "pyroscope",
	.kinds = sizeof(kinds) / sizeof(kinds[0]),
	.path = PATH,
	.content_type = CONTENT_TYPE,
	.make = pyroscope_make,
	.is_final = pyroscope_is_final,
};

int pyroscope_reporter_open(struct reporter **out, const struct config *config)
{
	struct push_settings settings = { config->pyroscope_url, config->pyroscope_headers };

	return push_open(out, &pyroscope_form, &settings, config);
}
