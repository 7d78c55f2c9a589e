/* Checksum of .xz files, used instead of liblzma's. On x86-64, liblzma's comes with a constructor
 * that executes CPUID. A virtual machine traps it, so each preloaded program would pay a third of
 * the whole library's load time. */
#include <lzma.h>

/* ECMA-182, reflected, as in the .xz file format (its section 1.1.2). */
#define POLYNOMIAL UINT64_C(0xc96c5795d7870f42)

/* Remainders of all half bytes: a small table, and fast enough for symbols. */
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
