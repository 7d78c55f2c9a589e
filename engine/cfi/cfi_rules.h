/* The rules of the process: how frames are left, each way kept once. */
#ifndef ENGINE_CFI_CFI_RULES_H
#define ENGINE_CFI_CFI_RULES_H

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
	RULE_CHAIN,    /* no information, and looked at: follow the frame pointer */
	RULE_SWITCH /* it has left its caller's stack for another: the frame pointer leads there */
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

/* The index of RULE; RULE_INDEX_NONE when there is no room for one more. Async-signal-safe. */
uint16_t cfi_rule_intern(const struct unwind_rule *rule);

/* Rules known so far, and bytes held for finding equal ones. */
size_t cfi_rule_count(void);
size_t cfi_memory(void);

#endif
