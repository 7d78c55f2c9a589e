/* Register state of call frame instructions. */
#include "engine/cfi/cfi_state.h"

#include "arch/arch.h"

enum state_slot state_slot(uint64_t reg)
{
	switch (reg) {
	case ARCH_RA:
		return SLOT_RA;
	case ARCH_FP:
		return SLOT_FP;
	case ARCH_BASE:
		return SLOT_BASE;
	case ARCH_SP:
		return SLOT_SP;
	case ARCH_RESULT:
		return SLOT_RESULT;
	default:
		return SLOT_OTHER;
	}
}

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_NOP = 0x96
};

/* A location of the form reg + offset, or *(reg + offset) + offset2. */
struct location {
	bool known, deref;
	uint8_t reg;
	int64_t offset, offset2;
};

static bool location_read_constant(struct cursor *c, uint8_t op, int64_t *value)
{
	if (op >= OP_LIT0 && op < OP_LIT0 + 32)
		*value = op - OP_LIT0;
	else if (op == OP_CONST1U)
		*value = cursor_u8(c);
	else if (op == OP_CONST1S)
		*value = (int8_t)cursor_u8(c);
	else if (op == OP_CONST2U)
		*value = (uint16_t)cursor_bytes(c, 2);
	else if (op == OP_CONST2S)
		*value = (int16_t)cursor_bytes(c, 2);
	else if (op == OP_CONSTU)
		*value = (int64_t)cursor_uleb(c);
	else if (op == OP_CONSTS)
		*value = cursor_sleb(c);
	else
		return false;
	return true;
}

/* Evaluate an expression of one register, at most one load, and constants. Compilers, linkers and
 * the hand-written assembly of C libraries use no others for frames. */
static struct location location_evaluate(struct cursor *c)
{
	struct location at = { 0 };
	int64_t value;
	uint8_t op;

	op = cursor_u8(c);
	if (op < OP_BREG0 || op >= OP_BREG0 + ARCH_REGISTERS || op >= OP_BREG0 + 32)
		return at;
	at.reg = (uint8_t)(op - OP_BREG0);
	at.offset = cursor_sleb(c);
	while (c->p < c->end) {
		op = cursor_u8(c);
		if (op == OP_NOP)
			continue;
		if (op == OP_DEREF) {
			if (at.deref)
				return at;
			at.deref = true;
			continue;
		}
		if (op == OP_PLUS_UCONST) {
			value = (int64_t)cursor_uleb(c);
		} else {
			if (!location_read_constant(c, op, &value))
				return at;
			op = cursor_u8(c);
			if (op == OP_MINUS)
				value = wrapping_multiply(value, -1);
			else if (op != OP_PLUS)
				return at;
		}
		if (at.deref)
			at.offset2 = wrapping_add(at.offset2, value);
		else
			at.offset = wrapping_add(at.offset, value);
	}
	at.known = !c->bad;
	return at;
}

/* Linkers describe lazy binding stubs by `sp + 8 + ((pc & 15) >= N) * 8`: from byte N on the stub
 * has pushed a word. Returns N, or -1 for another expression. */
static int plt_expression(struct cursor block)
{
	static const uint8_t head[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a };
	static const uint8_t tail[] = { 0x2a, 0x33, 0x24, 0x22 };
	uint8_t p[sizeof(head) + 1 + sizeof(tail)];

	if ((size_t)(block.end - block.p) != sizeof(p))
		return -1;
	cursor_copy(&block, p, sizeof(p));
	if (block.bad || memcmp(p, head, sizeof(head)) ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)) || p[sizeof(head)] < OP_LIT0 ||
	    p[sizeof(head)] >= OP_LIT0 + 16)
		return -1;
	return p[sizeof(head)] - OP_LIT0;
}

void state_set_cfa_expression(struct state *state, struct cursor block)
{
	int stub = plt_expression(block);
	struct location at;

	if (stub >= 0 && ARCH_SP == 7) {
		state->cfa_how = CFA_PLT;
		state->cfa_offset = 8;
		state->cfa_offset2 = stub;
		return;
	}
	at = location_evaluate(&block);
	state->cfa_how = !at.known ? CFA_UNKNOWN : at.deref ? CFA_DEREF : CFA_REGISTER;
	state->cfa_reg = at.reg;
	state->cfa_offset = at.offset;
	state->cfa_offset2 = at.offset2;
}

static bool fits_int32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* An OFFSET that does not fit occurs in no valid frame. */
static struct save save_at(enum save_how how, uint8_t reg, int64_t offset)
{
	if (!fits_int32(offset))
		return (struct save){ .how = HOW_UNKNOWN };
	return (struct save){ .how = (uint8_t)how, .reg = reg, .offset = (int32_t)offset };
}

void state_set_save_expression(struct state *state, uint64_t reg, struct cursor block)
{
	struct location at = location_evaluate(&block);

	state->saves[state_slot(reg)] =
		save_at(at.known && !at.deref ? HOW_DEREF : HOW_UNKNOWN, at.reg, at.offset);
}

void state_set_cfa(struct state *state, uint64_t reg, int64_t offset)
{
	state->cfa_how = reg < ARCH_REGISTERS ? CFA_REGISTER : CFA_UNKNOWN;
	state->cfa_reg = (uint8_t)reg;
	state->cfa_offset = offset;
}

void state_set_save(struct state *state, uint64_t reg, enum save_how how, int64_t offset)
{
	state->saves[state_slot(reg)] = save_at(how, 0, offset);
}

void state_set_moved(struct state *state, uint64_t reg, uint64_t to)
{
	state->saves[state_slot(reg)] =
		save_at(to < ARCH_REGISTERS ? HOW_MOVED : HOW_UNKNOWN, (uint8_t)to, 0);
}

static bool to_words(int64_t offset, int16_t *words)
{
	*words = (int16_t)(offset / 8);
	return offset % 8 == 0 && offset / 8 >= INT16_MIN && offset / 8 <= INT16_MAX;
}

/* Set how a saved register is restored. A location that no rule can express counts as unchanged:
 * the walk then ends at the first frame that needs the register. */
static uint8_t save_rule(const struct save *save, int16_t *words)
{
	uint8_t how = SAVE_SAME;

	if (save->how == HOW_CFA && save->offset)
		how = SAVE_CFA;
	else if (save->how == HOW_DEREF && save->reg == ARCH_FP)
		how = SAVE_FP;
	else if (save->how == HOW_DEREF && save->reg == ARCH_SP)
		how = SAVE_SP;
	if (how == SAVE_SAME || !to_words(save->offset, words)) {
		*words = 0;
		return SAVE_SAME;
	}
	return how;
}

static uint8_t cfa_rule(const struct state *state)
{
	switch (state->cfa_how) {
	case CFA_REGISTER:
		return state->cfa_reg == ARCH_SP     ? RULE_SP
		       : state->cfa_reg == ARCH_FP   ? RULE_FP
		       : state->cfa_reg == ARCH_BASE ? RULE_BASE
						     : RULE_REGISTER;
	case CFA_DEREF:
		return RULE_DEREF;
	case CFA_PLT:
		return RULE_PLT;
	default:
		return RULE_NONE;
	}
}

/* Like save_rule(), for a RULE_MOVED. Returns false if the register's location is unknown. */
static bool moved_words(const struct save *save, int16_t *words)
{
	if (save->how == HOW_MOVED) {
		*words = (int16_t)(RULE_IN_REGISTER + save->reg);
		return true;
	}
	if (save->how == HOW_CFA && to_words(save->offset, words) && *words < RULE_IN_REGISTER)
		return true;
	*words = 0;
	return false;
}

static bool is_sp_moved(const struct state *state)
{
	return state->saves[SLOT_SP].how == HOW_MOVED || state->saves[SLOT_SP].how == HOW_CFA;
}

static struct unwind_rule moved_rule(const struct state *state)
{
	struct unwind_rule rule = { .kind = RULE_MOVED,
				    .reg = state->cfa_reg,
				    .offset = (int32_t)state->cfa_offset };
	struct unwind_rule none = { 0 };

	if (state->cfa_how != CFA_REGISTER || !fits_int32(state->cfa_offset) ||
	    !moved_words(&state->saves[SLOT_RA], &rule.ra_words) ||
	    (is_sp_moved(state) && !moved_words(&state->saves[SLOT_SP], &rule.sp_words)))
		return none;
	if (moved_words(&state->saves[SLOT_FP], &rule.fp_words))
		rule.fp_save = SAVE_CFA;
	if (moved_words(&state->saves[SLOT_BASE], &rule.base_words))
		rule.base_save = SAVE_CFA;
	return rule;
}

/* Compilers save the result register only in a function that returns to an exception handler, which
 * gets its arguments in it. */
static bool is_throw(const struct state *state)
{
	return state->saves[SLOT_RESULT].how == HOW_CFA && state->cfa_how == CFA_REGISTER;
}

struct unwind_rule state_rule(const struct state *state)
{
	const struct save *ra = &state->saves[SLOT_RA];
	struct unwind_rule rule = { 0 }, none = { 0 };

	if (ra->how == HOW_UNDEFINED) {
		rule.kind = RULE_END;
		return rule;
	}
	if (ra->how == HOW_MOVED || is_sp_moved(state))
		return moved_rule(state);
	rule.kind = is_throw(state) ? RULE_THROW : cfa_rule(state);
	if (rule.kind == RULE_THROW || rule.kind == RULE_REGISTER || rule.kind == RULE_DEREF)
		rule.reg = state->cfa_reg;
	rule.offset = (int32_t)state->cfa_offset;
	rule.offset2 = (int32_t)state->cfa_offset2;
	rule.fp_save = save_rule(&state->saves[SLOT_FP], &rule.fp_words);
	rule.base_save = save_rule(&state->saves[SLOT_BASE], &rule.base_words);
	if (rule.kind == RULE_NONE || !fits_int32(state->cfa_offset) ||
	    !fits_int32(state->cfa_offset2))
		return none;
	if (ra->how == HOW_SAME && ARCH_RA == 30)
		return rule; /* a leaf: the return address is in the link register */
	if (ra->how != HOW_CFA || !to_words(ra->offset, &rule.ra_words) || !rule.ra_words)
		return none;
	return rule;
}
