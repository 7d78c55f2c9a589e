/* Call frame information (.eh_frame), compiled into tables that a signal handler can search.
 *
 * Programs have millions of places but few ways to leave a frame, so each distinct way is kept
 * once, in one array for the whole process, and a place is four bytes: sixteen bits of address
 * within its 64 KiB region and sixteen bits of rule. */
#ifndef ENGINE_CFI_H
#define ENGINE_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rule_kind {
	RULE_NONE,     /* no information here: guess by frame pointer and code bytes */
	RULE_UNKNOWN,  /* in no module that was looked at yet */
	RULE_PENDING,  /* in a module that no table was compiled for yet */
	RULE_SP,       /* the canonical frame address (CFA) is sp + offset */
	RULE_FP,       /* fp + offset */
	RULE_BASE,     /* the base register + offset */
	RULE_REGISTER, /* REG + offset, known only in an interrupted frame */
	RULE_DEREF,    /* *(REG + offset) + offset2 */
	RULE_PLT,      /* sp + offset, 8 more from byte offset2 of a 16-byte stub on */
	RULE_THROW,    /* REG + offset; saved registers may be those of a frame further up */
	RULE_MOVED,    /* REG + offset, and a jump from here loads more than it, so see below */
	RULE_SIGNAL,   /* all registers are in the ucontext at sp */
	RULE_END,      /* the outermost frame */
	RULE_CHAIN     /* no information, and looked at: follow the frame pointer */
};

/* Where a register of the caller is: at *(CFA + offset), or at *(fp or sp + offset). */
enum rule_save { SAVE_SAME, SAVE_CFA, SAVE_FP, SAVE_SP };

/* One way to leave a frame. Saved registers are counted in words of 8 bytes.
 *
 * By RULE_MOVED, which holds in an interrupted frame alone, words from RULE_IN_REGISTER on stand for
 * the DWARF register that the value is in. It is for functions that go to another frame than their
 * caller's (longjmp, setcontext), or keep their return address in a register (vfork). */
#define RULE_IN_REGISTER 0x4000

struct unwind_rule {
	uint8_t kind; /* enum rule_kind */
	uint8_t reg;  /* DWARF number */
	uint8_t fp_save, base_save;
	int32_t offset, offset2;
	int16_t ra_words; /* from the CFA; 0: still in the link register */
	int16_t fp_words, base_words;
	int16_t sp_words; /* RULE_MOVED; 0: sp becomes the CFA */
};

#define RULES_MAX 65536

/* Every rule of the process, by index. Rows only ever join, so a handler may read any index
 * that it found in a table. The first few are there from cfi_rules_init() on. */
extern struct unwind_rule unwind_rules[RULES_MAX];
enum {
	RULE_INDEX_NONE,
	RULE_INDEX_UNKNOWN,
	RULE_INDEX_PENDING,
	RULE_INDEX_END,
	RULE_INDEX_SIGNAL,
	RULE_INDEX_CHAIN,
	RULE_INDEX_FIRST
};

/* Before anything looks at the rules; does nothing the next time. */
void cfi_rules_init(void);

/* The places of one module, as offsets from where its code begins. Row I holds from its address
 * up to that of row I + 1. One block; release with free(). */
struct unwind_table {
	size_t bytes;
	uint32_t regions, rows;
	const uint16_t *low;  /* low 16 bits of each row's offset */
	const uint16_t *rule; /* and its rule */
	uint32_t first[];     /* [regions + 1]: first row of each 64 KiB */
};

struct memory_reader;

/* Copies of a module's sections, with their link addresses; or, with both the same, the sections
 * where they are loaded. */
struct cfi_source {
	const uint8_t *hdr; /* .eh_frame_hdr; its search table may be missing */
	size_t hdr_size;
	uint64_t hdr_address;
	const uint8_t *frame; /* .eh_frame, or as much of it as could be read */
	size_t frame_size;
	uint64_t frame_address;
	uint64_t text_start, text_end; /* code to compile for */
	uint64_t bias;                 /* 0 unless the copies were relocated */
	uint64_t outermost;            /* code that nobody called, whatever is said of it; or 0 */
	struct memory_reader *reader;  /* of sections that may go; NULL: they stay */
};

/* Compile SOURCE, which may be malformed in any way: what makes no sense is left out.
 * Returns 0 and sets *OUT, -ENOENT when there is no row at all, -ENOMEM, or -EFBIG. */
int cfi_compile(struct unwind_table **out, const struct cfi_source *source);

/* Read from HDR where .eh_frame begins and, from the search table, where its last entry does
 * (0 without a table). Link addresses. Returns 0 or -EINVAL. */
int cfi_frame_span(const struct cfi_source *source, uint64_t *begin, uint64_t *last);

/* The index of RULE; RULE_INDEX_NONE when there is no room for one more. Async-signal-safe. */
uint16_t cfi_rule_intern(const struct unwind_rule *rule);

/* Rules known so far, and bytes held for finding equal ones. */
size_t cfi_rule_count(void);
size_t cfi_memory(void);

/* The rule for OFFSET from the code's begin. Async-signal-safe; in a header so that the handler
 * has it inline. */
static inline uint16_t unwind_table_find(const struct unwind_table *table, uint64_t offset)
{
	uint64_t region = offset >> 16;
	uint16_t low = (uint16_t)offset;
	uint32_t begin, end, middle;

	if (region >= table->regions)
		return RULE_INDEX_NONE;
	begin = table->first[region];
	end = table->first[region + 1];
	while (begin < end) {
		middle = begin + (end - begin) / 2;
		if (table->low[middle] <= low)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin ? table->rule[begin - 1] : RULE_INDEX_NONE;
}

#endif
