/* Where a frame keeps what its caller needs: what call frame instructions change, place by place,
 * and a rule is made of. Async-signal-safe. */
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

/* RESULT is the register that functions return a number in; OTHER is for all that no walk needs, and
 * nobody reads it. */
enum state_slot { SLOT_RA, SLOT_FP, SLOT_BASE, SLOT_SP, SLOT_RESULT, SLOT_OTHER, SLOTS };

struct state {
	uint8_t cfa_how;
	uint8_t cfa_reg;
	int64_t cfa_offset, cfa_offset2;
	struct save saves[SLOTS];
};

/* Which of a state's saves DWARF register REG has. */
enum state_slot state_slot(uint64_t reg);

/* The canonical frame address (CFA) is REG + OFFSET, or what the expression in BLOCK says. */
void state_set_cfa(struct state *state, uint64_t reg, int64_t offset);
void state_set_cfa_expression(struct state *state, struct cursor block);

/* The same for a saved register. */
void state_set_save(struct state *state, uint64_t reg, enum save_how how, int64_t offset);
void state_set_moved(struct state *state, uint64_t reg, uint64_t to);
void state_set_save_expression(struct state *state, uint64_t reg, struct cursor block);

/* The rule that says it; of RULE_NONE for what no rule can. */
struct unwind_rule state_rule(const struct state *state);

#endif
