/* OTLP reporter: sends each report as a message of the profiles signal by OTLP/HTTP. */
#include "upload/otlp/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/encode/gzip.h"
#include "profile/encode/proto_read.h"
#include "profile/otlp/otlp_write.h"

#define PATH         "/v1development/profiles"
#define CONTENT_TYPE "application/x-protobuf"

/* Limit before compression. OTLP recommends that receivers accept 64 MiB, but they accept less.
 * The collector accepts 20 MiB by HTTP, and 4 MiB by gRPC, by which it may forward the message.
 * Pyroscope refuses permanently a message with more than 16000 samples of a type; its limit in
 * bytes applies to the profiles of all types together. */
#define MESSAGE_MAX (1u << 20)
#define SAMPLES_MAX 16000

static void otlp_write_big_endian(uint8_t *to, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

/* Deterministic for a piece, so that a receiver can recognize a repetition. */
static void otlp_set_id(uint8_t id[OTLP_ID_SIZE], const struct push_piece *piece)
{
	otlp_write_big_endian(id, piece->report->end_ms, 6);
	otlp_write_big_endian(id + 6, piece->report->unique, 4);
	otlp_write_big_endian(id + 10, piece->from, 4);
}

static int otlp_make_message(struct buf *out, const struct push_piece *piece)
{
	int64_t start_ns = push_start_ns(piece), end_ns = (int64_t)piece->report->end_ms * 1000000;
	struct otlp_attribute resource[IDENTITY_LABELS_MAX];
	struct otlp_message message = { .profile = piece->profile,
					.libraries = piece->libraries,
					.resource = resource,
					.resource_count = piece->identity->count,
					.from = piece->from,
					.to = piece->to,
					.start_ns = start_ns,
					.end_ns = end_ns > start_ns ? end_ns : start_ns };

	for (size_t i = 0; i < piece->identity->count; i++) {
		const struct identity_label *label = &piece->identity->labels[i];

		resource[i] = (struct otlp_attribute){ .key = label->key, .text = label->text };
		if (label->number)
			resource[i] = (struct otlp_attribute){ .key = label->key,
							       .number = atoll(label->text) };
	}
	otlp_set_id(message.id, piece);
	return otlp_write(out, &message);
}

static int otlp_compress(struct buf *out, const struct buf *message)
{
	struct gzip *gzip;
	int err = gzip_open(&gzip, NULL, out), closed;

	if (err)
		return err;
	err = gzip_write(gzip, message->data, message->length);
	closed = gzip_close(gzip);
	return err ? err : closed;
}

static int otlp_make(const struct push_piece *piece, struct http_request *request, struct buf *body)
{
	struct buf message = BUF_INIT(MESSAGE_MAX);
	int err =
		piece->to - piece->from > SAMPLES_MAX ? -EFBIG : otlp_make_message(&message, piece);

	if (!err)
		err = otlp_compress(body, &message);
	if (!err)
		err = buf_append_string(&request->url, PATH);
	if (!err)
		err = http_request_header(request, "content-type", CONTENT_TYPE);
	if (!err)
		err = http_request_header(request, "content-encoding", "gzip");
	buf_free(&message);
	return err;
}

/* Parse an ExportProfilesServiceResponse: its partial_success reports rejected profiles or a
 * warning. */
static bool otlp_complains(const struct http_response *response, char *out, size_t size)
{
	struct proto_reader reader;
	struct proto_field field, part;
	uint64_t rejected = 0;
	char words[160] = "";

	if (!response->body.data)
		return false;
	reader = (struct proto_reader){ response->body.data,
					response->body.data + response->body.length };
	while (proto_next(&reader, &field)) {
		if (field.number != 1 || !field.data)
			continue;
		for (struct proto_reader inner = { field.data, field.data + field.length };
		     proto_next(&inner, &part);) {
			if (part.number == 1 && !part.data)
				rejected = part.value;
			else if (part.number == 2 && part.data)
				snprintf(words, sizeof(words), "%.*s",
					 part.length < sizeof(words) ? (int)part.length
								     : (int)sizeof(words) - 1,
					 (const char *)part.data);
		}
	}
	for (char *p = words; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	snprintf(out, size, "%" PRIu64 " profiles rejected%s%s", rejected, words[0] ? ": " : "",
		 words);
	return rejected || words[0];
}

/* Receivers written in Go, like the collector, may return another status with the error text of
 * their body reader. */
static bool otlp_is_too_large(struct http_response *response)
{
	return strstr(http_text(response), "request body too large");
}

const struct push_form otlp_form = {
	.name = "otlp",
	.threads = true,
	.kinds = 1,
	.decode_headers = true,
	.is_500_final = true,
	.path = PATH,
	.content_type = CONTENT_TYPE,
	.make = otlp_make,
	.complains = otlp_complains,
	.is_too_large = otlp_is_too_large,
};

int otlp_reporter_open(struct reporter **out, const struct config *config)
{
	struct push_settings settings = { config->otlp_endpoint, config->otlp_headers };

	return push_open(out, &otlp_form, &settings, config);
}
