/* The checksum of .xz files is the one of the format. */
#include <lzma.h>
#include <string.h>

#include "test/fixtures/suite.h"

/* The check value in catalogues of CRCs for CRC-64/XZ. */
START_TEST(the_usual_text_gives_the_usual_value)
{
	ck_assert(lzma_crc64((const uint8_t *)"123456789", 9, 0) == UINT64_C(0x995dc9bbdf1939fa));
	ck_assert(lzma_crc64((const uint8_t *)"", 0, 0) == 0);
}
END_TEST

START_TEST(parts_give_the_value_of_the_whole)
{
	uint8_t data[256];
	uint64_t whole, crc;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	whole = lzma_crc64(data, sizeof(data), 0);
	for (size_t cut = 0; cut <= sizeof(data); cut++) {
		crc = lzma_crc64(data, cut, 0);
		ck_assert(lzma_crc64(data + cut, sizeof(data) - cut, crc) == whole);
	}
}
END_TEST

/* "symbols" and a newline, as xz(1) packs them. It stores such a short text unchanged, from TEXT_AT
 * on, so that only the checksum detects a change. */
#define TEXT_AT 27
static const uint8_t packed_by_xz[] = {
	0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02,
	0x00, 0x21, 0x01, 0x0c, 0x00, 0x00, 0x00, 0x8f, 0x98, 0x41, 0x9c, 0x01, 0x00,
	0x07, 0x73, 0x79, 0x6d, 0x62, 0x6f, 0x6c, 0x73, 0x0a, 0x00, 0x01, 0x59, 0x77,
	0x0b, 0xc9, 0x79, 0x8a, 0x7a, 0x00, 0x01, 0x20, 0x08, 0xbb, 0x19, 0xd9, 0xbb,
	0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
};

static lzma_ret unpack(const uint8_t *packed, char text[9])
{
	uint64_t limit = UINT64_MAX;
	size_t in = 0, out = 0;

	memset(text, 0, 9);
	return lzma_stream_buffer_decode(&limit, 0, NULL, packed, &in, sizeof(packed_by_xz),
					 (uint8_t *)text, &out, 8);
}

START_TEST(the_unpacker_checks_by_it)
{
	uint8_t packed[sizeof(packed_by_xz)];
	char text[9];

	memcpy(packed, packed_by_xz, sizeof(packed));
	ck_assert_int_eq(unpack(packed, text), LZMA_OK);
	ck_assert_str_eq(text, "symbols\n");
	packed[TEXT_AT] ^= 1;
	ck_assert_int_eq(unpack(packed, text), LZMA_DATA_ERROR);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("crc64");

	tcase_add_test(cases, the_usual_text_gives_the_usual_value);
	tcase_add_test(cases, parts_give_the_value_of_the_whole);
	tcase_add_test(cases, the_unpacker_checks_by_it);
	return suite_run(cases);
}
