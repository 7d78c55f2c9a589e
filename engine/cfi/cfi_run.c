/* Interpreter of call frame instructions, as the DWARF standard defines them. */
#include "engine/cfi/cfi_run.h"

enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC,
	CFA_ADVANCE_LOC1,
	CFA_ADVANCE_LOC2,
	CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER_MOVED,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_WINDOW_SAVE = 0x2d, /* on aarch64: the return address is signed from here on */
	CFA_ARGS_SIZE = 0x2e,
	CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f
};

/* The block of an expression: its length comes first. */
static struct cursor run_read_block(struct cursor *c)
{
	uint64_t size = cursor_uleb(c);
	struct cursor block = { .p = c->p, .reader = c->reader };

	cursor_skip(c, size);
	block.end = c->bad ? block.p : c->p;
	return block;
}

static void run_restore(struct run *run, uint64_t reg)
{
	enum state_slot slot = state_slot(reg);

	run->state.saves[slot] = run->cie->initial.saves[slot];
}

static void run_state_stack(struct run *run, uint8_t op)
{
	if (op == CFA_REMEMBER_STATE && run->depth < STATES_MAX)
		run->stack[run->depth++] = run->state;
	else if (op == CFA_RESTORE_STATE && run->depth)
		run->state = run->stack[--run->depth];
	else
		run->c.bad = true;
}

static void run_saves(struct run *run, uint8_t op)
{
	int64_t align = run->cie->data_align;
	uint64_t reg = cursor_uleb(&run->c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		state_set_save(&run->state, reg, HOW_CFA,
			       wrapping_multiply((int64_t)cursor_uleb(&run->c), align));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		state_set_save(&run->state, reg, HOW_CFA,
			       wrapping_multiply(cursor_sleb(&run->c), align));
		break;
	case CFA_NEGATIVE_OFFSET_EXTENDED:
		state_set_save(&run->state, reg, HOW_CFA,
			       wrapping_multiply((int64_t)cursor_uleb(&run->c), -align));
		break;
	case CFA_RESTORE_EXTENDED:
		run_restore(run, reg);
		break;
	case CFA_UNDEFINED:
		state_set_save(&run->state, reg, HOW_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		state_set_save(&run->state, reg, HOW_SAME, 0);
		break;
	case CFA_EXPRESSION:
		state_set_save_expression(&run->state, reg, run_read_block(&run->c));
		break;
	case CFA_VAL_EXPRESSION:
		run_read_block(&run->c);
		state_set_save(&run->state, reg, HOW_UNKNOWN, 0);
		break;
	case CFA_REGISTER_MOVED:
		state_set_moved(&run->state, reg, cursor_uleb(&run->c));
		break;
	default: /* a value computed from the CFA */
		cursor_uleb(&run->c);
		state_set_save(&run->state, reg, HOW_UNKNOWN, 0);
		break;
	}
}

static void run_cfa(struct run *run, uint8_t op)
{
	struct state *state = &run->state;
	int64_t align = run->cie->data_align;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_uleb(&run->c);
		state_set_cfa(state, reg, (int64_t)cursor_uleb(&run->c));
		break;
	case CFA_DEF_CFA_SF:
		reg = cursor_uleb(&run->c);
		state_set_cfa(state, reg, wrapping_multiply(cursor_sleb(&run->c), align));
		break;
	case CFA_DEF_CFA_REGISTER:
		state_set_cfa(state, cursor_uleb(&run->c), state->cfa_offset);
		break;
	case CFA_DEF_CFA_OFFSET:
		state->cfa_offset = (int64_t)cursor_uleb(&run->c);
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		state->cfa_offset = wrapping_multiply(cursor_sleb(&run->c), align);
		break;
	default:
		state_set_cfa_expression(state, run_read_block(&run->c));
		break;
	}
}

bool run_to_next_location(struct run *run, uint64_t location, uint64_t *advance)
{
	struct cursor *c = &run->c;
	uint8_t op, low;

	while (c->p < c->end && !c->bad) {
		op = cursor_u8(c);
		low = op & 0x3f;
		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			*advance = low * run->cie->code_align;
			return true;
		case CFA_OFFSET:
			state_set_save(
				&run->state, low, HOW_CFA,
				wrapping_multiply((int64_t)cursor_uleb(c), run->cie->data_align));
			continue;
		case CFA_RESTORE:
			run_restore(run, low);
			continue;
		}
		switch (op) {
		case CFA_NOP:
		case CFA_WINDOW_SAVE:
			break;
		case CFA_SET_LOC:
			*advance = cursor_pointer(c, run->cie->encoding, run->source) - location;
			return !c->bad;
		case CFA_ADVANCE_LOC1:
			*advance = cursor_u8(c) * run->cie->code_align;
			return !c->bad;
		case CFA_ADVANCE_LOC2:
			*advance = cursor_bytes(c, 2) * run->cie->code_align;
			return !c->bad;
		case CFA_ADVANCE_LOC4:
			*advance = cursor_bytes(c, 4) * run->cie->code_align;
			return !c->bad;
		case CFA_REMEMBER_STATE:
		case CFA_RESTORE_STATE:
			run_state_stack(run, op);
			break;
		case CFA_DEF_CFA:
		case CFA_DEF_CFA_SF:
		case CFA_DEF_CFA_REGISTER:
		case CFA_DEF_CFA_OFFSET:
		case CFA_DEF_CFA_OFFSET_SF:
		case CFA_DEF_CFA_EXPRESSION:
			run_cfa(run, op);
			break;
		case CFA_OFFSET_EXTENDED:
		case CFA_RESTORE_EXTENDED:
		case CFA_UNDEFINED:
		case CFA_SAME_VALUE:
		case CFA_REGISTER_MOVED:
		case CFA_EXPRESSION:
		case CFA_OFFSET_EXTENDED_SF:
		case CFA_VAL_OFFSET:
		case CFA_VAL_OFFSET_SF:
		case CFA_VAL_EXPRESSION:
		case CFA_NEGATIVE_OFFSET_EXTENDED:
			run_saves(run, op);
			break;
		case CFA_ARGS_SIZE:
			cursor_uleb(c);
			break;
		default:
			c->bad = true;
		}
	}
	return false;
}

struct unwind_rule run_rule(const struct run *run)
{
	if (run->c.bad)
		return (struct unwind_rule){ .kind = RULE_NONE };
	if (run->outermost)
		return (struct unwind_rule){ .kind = RULE_END };
	if (run->cie->signal)
		return (struct unwind_rule){ .kind = RULE_SIGNAL };
	return state_rule(&run->state);
}
