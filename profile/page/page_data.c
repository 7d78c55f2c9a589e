/* Compact binary data in a page. */
#include "profile/page/page_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/encode/gzip.h"

#define NUMBER_MAX ((UINT64_C(1) << 53) - 1) /* the largest exact integer of JavaScript */
#define BYTES_MAX  (SIZE_MAX / 4)

struct page_data {
	FILE *file;
	struct gzip *gzip;
	struct buf compressed;
	int err;
	size_t used;
	uint8_t pending[1 << 16];
};

int page_data_open(struct page_data **out, FILE *file, const char *id)
{
	struct page_data *data = calloc(1, sizeof(*data));

	if (!data)
		return -ENOMEM;
	data->file = file;
	data->compressed.max = BYTES_MAX;
	if (gzip_open(&data->gzip, NULL, &data->compressed)) {
		free(data);
		return -ENOMEM;
	}
	fprintf(file, "<script id=\"%s\" type=\"text/plain\">", id);
	*out = data;
	return 0;
}

static void page_data_flush(struct page_data *data)
{
	if (!data->err)
		data->err = gzip_write(data->gzip, data->pending, data->used);
	data->used = 0;
}

static void page_data_byte(struct page_data *data, uint8_t byte)
{
	if (data->used == sizeof(data->pending))
		page_data_flush(data);
	data->pending[data->used++] = byte;
}

void page_data_number(struct page_data *data, uint64_t number)
{
	if (number > NUMBER_MAX)
		number = NUMBER_MAX;
	for (; number > 127; number >>= 7)
		page_data_byte(data, (uint8_t)(number | 128));
	page_data_byte(data, (uint8_t)number);
}

void page_data_signed(struct page_data *data, int64_t number)
{
	uint64_t size = (uint64_t)number;

	page_data_number(data, number < 0 ? ~size * 2 + 1 : size * 2);
}

void page_data_value(struct page_data *data, double value)
{
	if (!(value > 0))
		page_data_number(data, 0);
	else
		page_data_number(data,
				 value < (double)NUMBER_MAX ? (uint64_t)(value + 0.5) : NUMBER_MAX);
}

void page_data_texts(struct page_data *data, uint32_t count,
		     const char *(*text_at)(void *arg, uint32_t i), void *arg)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += strlen(text_at(arg, i)) + 1;
	page_data_number(data, count);
	page_data_number(data, bytes);
	for (uint32_t i = 0; i < count; i++) {
		const char *text = text_at(arg, i);

		do
			page_data_byte(data, (uint8_t)*text);
		while (*text++);
	}
}

static void base64_write(FILE *file, const uint8_t *bytes, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t three = (uint32_t)bytes[i] << 16 |
				 (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);
		char out[4] = { digits[three >> 18], digits[three >> 12 & 63],
				left > 1 ? digits[three >> 6 & 63] : '=',
				left > 2 ? digits[three & 63] : '=' };

		fwrite(out, 1, sizeof(out), file);
	}
}

int page_data_close(struct page_data *data)
{
	int err, close_err;

	page_data_flush(data);
	err = data->err;
	close_err = gzip_close(data->gzip);
	err = err ? err : close_err;
	if (!err)
		base64_write(data->file, data->compressed.data, data->compressed.length);
	fputs("</script>\n", data->file);
	buf_free(&data->compressed);
	free(data);
	return err;
}
