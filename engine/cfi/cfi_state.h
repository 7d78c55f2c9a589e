/* Register state of call frame instructions: where a frame saves its caller's registers.
 * Instructions change it from location to location; a rule is made from it. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_STATE_H
#define ENGINE_CFI_CFI_STATE_H

#include "engine/cfi/cfi_cursor.h"
#include "engine/cfi/cfi_rules.h"

enum save_how {
	HOW_SAME,
	HOW_CFA,   /* at CFA + offset */
	HOW_DEREF, /* at register + offset */
	HOW_MOVED, /* in another register */
	HOW_UNDEFINED,
	HOW_UNKNOWN
};

struct save {
	uint8_t how;
	uint8_t reg; /* HOW_DEREF and HOW_MOVED */
	int32_t offset;
};

enum cfa_how { CFA_UNKNOWN, CFA_REGISTER, CFA_DEREF, CFA_PLT };

/* RESULT is the register of integer results. OTHER holds all registers that no walk needs; it is
 * never read. */
enum state_slot { SLOT_RA, SLOT_FP, SLOT_BASE, SLOT_SP, SLOT_RESULT, SLOT_OTHER, SLOTS };

struct state {
	uint8_t cfa_how;
	uint8_t cfa_reg;
	int64_t cfa_offset, cfa_offset2;
	struct save saves[SLOTS];
};

/* The slot of DWARF register REG. */
enum state_slot state_slot(uint64_t reg);

/* Set the canonical frame address (CFA) to REG + OFFSET, or to the expression in BLOCK. */
void state_set_cfa(struct state *state, uint64_t reg, int64_t offset);
void state_set_cfa_expression(struct state *state, struct cursor block);

/* Set where a register is saved. */
void state_set_save(struct state *state, uint64_t reg, enum save_how how, int64_t offset);
void state_set_moved(struct state *state, uint64_t reg, uint64_t to);
void state_set_save_expression(struct state *state, uint64_t reg, struct cursor block);

/* The rule for the state; RULE_NONE if no rule can express it. */
struct unwind_rule state_rule(const struct state *state);

#endif
