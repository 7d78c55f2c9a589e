/* Fuzzes responses of servers, to any request: metadata services, STS and the store. The input is
 * split at each NUL: its pieces are the responses, one after another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "upload/aws/credentials.h"
#include "upload/s3/s3.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *rest;
static size_t rest_size;
static int recording = -1;

static int64_t tell_now(void)
{
	return 1700000000;
}

/* A piece is a letter for the status, one for the date, and the body. */
static int answer(struct http *http, const struct http_request *request,
		  struct http_response *response)
{
	static const long statuses[] = { 200, 403, 404, 400, 500, 301 };
	const uint8_t *end = rest_size ? memchr(rest, 0, rest_size) : NULL;
	size_t length = end ? (size_t)(end - rest) : rest_size;
	const uint8_t *piece = rest;

	(void)http;
	if (!request->url.length)
		abort();
	rest += length + (end != NULL);
	rest_size -= length + (end != NULL);
	if (length < 2)
		return -ECONNREFUSED;
	response->status = statuses[piece[0] % (sizeof(statuses) / sizeof(statuses[0]))];
	response->date = piece[1] & 1 ? tell_now() + piece[1] : 0;
	snprintf(response->region, sizeof(response->region), "%s",
		 piece[1] & 2 ? "eu-central-1" : "");
	return buf_append(&response->body, piece + 2, length - 2);
}

static void close_nothing(struct http *http)
{
	(void)http;
}

static struct http http = { .send = answer, .close = close_nothing };

static void deliver(char *const *environment)
{
	struct config config = { .s3_bucket = "b", .profiling_group = "g", .metadata = "auto" };
	struct report report = { .parts = { { recording, 0, 4 } },
				 .part_count = 1,
				 .executable = "e" };
	struct reporter *s3;

	if (s3_reporter_open_with(&s3, &config, environment, &http, tell_now))
		return;
	s3->deliver(s3, &report);
	s3->close(s3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* On an instance; in a container; with a role by a token; with keys, to the store. */
	static char *const machines[][6] = {
		{ "A=1" },
		{ "ECS_CONTAINER_METADATA_URI_V4=http://e",
		  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/c", "AWS_EC2_METADATA_DISABLED=true",
		  "AWS_REGION=r" },
		{ "AWS_WEB_IDENTITY_TOKEN_FILE=/proc/version", "AWS_ROLE_ARN=a", "AWS_REGION=r" },
		{ "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=s",
		  "AWS_EC2_METADATA_DISABLED=true", "AWS_DEFAULT_REGION=r" },
	};

	if (recording < 0) {
		recording = memfd_create("recording", MFD_CLOEXEC);
		if (fd_write(recording, "FLR", 4, 0))
			abort();
	}
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		rest = data;
		rest_size = size;
		deliver(machines[i]);
	}
	return 0;
}
