/* Fuzzes a client's request to the live endpoint: its parser, with pieces whose length is the
 * input's first byte, and the fields of its query and its body. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_fields(const char *text)
{
	char name[64], value[128];
	const char *before;
	int err = 0;

	do {
		before = text;
		err = request_next_field(&text, name, sizeof(name), value, sizeof(value));
		if (err != -2 && text <= before && *before)
			abort(); /* it would never end */
	} while (text > before && *text);
	request_find_field(before, "seconds", value, sizeof(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct request request;
	size_t step = size ? (size_t)data[0] + 1 : 1;
	int got = 0;

	request_init(&request);
	for (size_t i = 1; i < size && !got; i += step)
		got = request_parse(&request, (const char *)data + i,
				    size - i < step ? size - i : step);
	if (strlen(request.target) > REQUEST_TARGET_MAX ||
	    strlen(request.host) > REQUEST_VALUE_MAX || request.body_length > REQUEST_BODY_MAX)
		abort();
	if (got == 1) {
		read_fields(request.query);
		read_fields(request.body);
	}
	return 0;
}
