/* Table of all unwind rules of the process, each stored once. */
#ifndef ENGINE_CFI_CFI_RULES_H
#define ENGINE_CFI_CFI_RULES_H

#include <stddef.h>
#include <stdint.h>

enum rule_kind {
	RULE_NONE,     /* no information: guess by frame pointer and code bytes */
	RULE_UNKNOWN,  /* in no known module */
	RULE_PENDING,  /* in a module without a compiled table */
	RULE_SP,       /* the canonical frame address (CFA) is sp + offset */
	RULE_FP,       /* fp + offset */
	RULE_BASE,     /* the base register + offset */
	RULE_REGISTER, /* REG + offset, known only in an interrupted frame */
	RULE_DEREF,    /* *(REG + offset) + offset2 */
	RULE_PLT,      /* the CFA is sp + offset; from byte offset2 of a 16-byte stub on, 8 more */
	RULE_THROW,    /* REG + offset; saved registers may belong to a frame further up */
	RULE_MOVED,    /* REG + offset; a jump from here loads more registers, see below */
	RULE_SIGNAL,   /* all registers are in the ucontext at sp */
	RULE_END,      /* the outermost frame */
	RULE_CHAIN,    /* known to have no information: follow the frame pointer */
	RULE_SWITCH    /* has switched to another stack: the frame pointer leads to the caller's */
};

/* Where a register of the caller is saved: at *(CFA + offset), or at *(fp or sp + offset). */
enum rule_save { SAVE_SAME, SAVE_CFA, SAVE_FP, SAVE_SP };

/* One unwind rule. Saved registers are counted in words of 8 bytes.
 *
 * RULE_MOVED applies only to an interrupted frame. Its words from RULE_IN_REGISTER on are the DWARF
 * register that holds the value. It describes functions that go to another frame than their
 * caller's (longjmp, setcontext), or keep their return address in a register (vfork). */
#define RULE_IN_REGISTER 0x4000

struct unwind_rule {
	uint8_t kind; /* enum rule_kind */
	uint8_t reg;  /* DWARF number */
	uint8_t fp_save, base_save;
	int32_t offset, offset2;
	int16_t ra_words; /* from the CFA; 0: in the link register */
	int16_t fp_words, base_words;
	int16_t sp_words; /* RULE_MOVED; 0: sp becomes the CFA */
};

#define RULES_MAX 65536

/* Every rule of the process, by index. Rows are only added, so a handler may read any index that it
 * found in a table. cfi_rules_init() sets the first few. */
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

/* Initialize the table, before it is used; a second call does nothing. */
void cfi_rules_init(void);

/* The index of RULE; RULE_INDEX_NONE when the table is full. Async-signal-safe. */
uint16_t cfi_rule_intern(const struct unwind_rule *rule);

/* Number of rules, and bytes of the index that finds equal ones. */
size_t cfi_rule_count(void);
size_t cfi_memory(void);

#endif
