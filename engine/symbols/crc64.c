/* The check of .xz files, in place of liblzma's own: that comes, on x86-64, with a constructor that
 * executes CPUID. A virtual machine traps it, and every program that we are preloaded into would
 * pay for that a third of what the whole library costs at load. */
#include <lzma.h>

/* ECMA-182, reflected, as the .xz file format has it (section 1.1.2 there). */
#define POLYNOMIAL UINT64_C(0xc96c5795d7870f42)

/* The remainders of all values of a half byte: small, and fast enough for symbols. */
static const uint64_t remainders[16] = {
#define BIT(r)   ((r) >> 1 ^ ((r)&1 ? POLYNOMIAL : 0))
#define ENTRY(n) BIT(BIT(BIT(BIT(UINT64_C(n)))))
	ENTRY(0), ENTRY(1), ENTRY(2),  ENTRY(3),  ENTRY(4),  ENTRY(5),  ENTRY(6),  ENTRY(7),
	ENTRY(8), ENTRY(9), ENTRY(10), ENTRY(11), ENTRY(12), ENTRY(13), ENTRY(14), ENTRY(15),
#undef ENTRY
#undef BIT
};

uint64_t lzma_crc64(const uint8_t *data, size_t size, uint64_t crc)
{
	crc = ~crc;
	for (size_t i = 0; i < size; i++) {
		crc ^= data[i];
		crc = remainders[crc & 15] ^ crc >> 4;
		crc = remainders[crc & 15] ^ crc >> 4;
	}
	return ~crc;
}
