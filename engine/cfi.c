/* Reads .eh_frame as the DWARF and LSB documents define it and compiles it into row tables. */
#include "engine/cfi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/unwind_arch.h"

struct unwind_rule unwind_rules[RULES_MAX] = {
	[RULE_INDEX_NONE] = { .kind = RULE_NONE },
	[RULE_INDEX_END] = { .kind = RULE_END },
	[RULE_INDEX_SIGNAL] = { .kind = RULE_SIGNAL },
	[RULE_INDEX_CHAIN] = { .kind = RULE_CHAIN },
};

/* ---- Bytes ---- */

/* A position in a section. Reading past the end gives zeros and sets BAD for good. */
struct cursor {
	const uint8_t *p, *end;
	uint64_t address; /* link address of END */
	bool bad;
};

static uint64_t cursor_address(const struct cursor *c)
{
	return c->address - (uint64_t)(c->end - c->p);
}

static uint64_t get_bytes(struct cursor *c, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(c->end - c->p) < size) {
		c->bad = true;
		c->p = c->end;
		return 0;
	}
	memcpy(&value, c->p, size); /* both processors are little-endian */
	c->p += size;
	return value;
}

static void skip_bytes(struct cursor *c, uint64_t size)
{
	if ((uint64_t)(c->end - c->p) < size) {
		c->bad = true;
		c->p = c->end;
		return;
	}
	c->p += size;
}

static uint8_t get_u8(struct cursor *c)
{
	return (uint8_t)get_bytes(c, 1);
}

static uint64_t get_uleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = get_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static int64_t get_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = get_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if ((byte & 0x40) && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

/* Sums of hostile numbers wrap instead of being undefined. */
static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t multiply(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

enum {
	PE_OMIT = 0xff,
	PE_FORM = 0x0f,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30
};

/* A pointer in ENCODING (DW_EH_PE_...), as a link address. FORM alone gives a plain number. */
static uint64_t get_pointer(struct cursor *c, uint8_t encoding, const struct cfi_source *source)
{
	uint64_t at = cursor_address(c), value;

	switch (encoding & PE_FORM) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = get_bytes(c, 8);
		break;
	case 0x01:
		value = get_uleb(c);
		break;
	case 0x02:
		value = get_bytes(c, 2);
		break;
	case 0x03:
		value = get_bytes(c, 4);
		break;
	case 0x09:
		value = (uint64_t)get_sleb(c);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)get_bytes(c, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)get_bytes(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (encoding & PE_BASE) {
	case 0:
		return (encoding & PE_FORM) == 0 && value && source ? value - source->bias : value;
	case PE_PCREL:
		return at + value;
	case PE_DATAREL:
		return source ? source->hdr_address + value : value;
	default:
		c->bad = true; /* textrel, funcrel and aligned: no linker writes them here */
		return 0;
	}
}

/* ---- Rules ---- */

/* Indices into unwind_rules by hash of the rule; 0 is empty. */
static uint16_t *rule_slots;
static size_t rule_slot_count;
static size_t rule_count = RULE_INDEX_FIRST;

static size_t rule_hash(const struct unwind_rule *rule)
{
	uint64_t words[3] = { 0 }, hash;

	_Static_assert(sizeof(*rule) <= sizeof(words) && sizeof(*rule) == 20, "no padding");
	memcpy(words, rule, sizeof(*rule));
	hash = (words[0] * 0x9e3779b97f4a7c15u) ^ (words[1] * 0xc2b2ae3d27d4eb4fu) ^
	       (words[2] * 0x165667b19e3779f9u);
	return (size_t)(hash ^ hash >> 29);
}

static void rule_slot_put(size_t index)
{
	size_t slot = rule_hash(&unwind_rules[index]);

	while (rule_slots[slot &= rule_slot_count - 1])
		slot++;
	rule_slots[slot] = (uint16_t)index;
}

static bool rule_slots_grow(void)
{
	size_t count = rule_slot_count ? rule_slot_count * 2 : 2048;
	uint16_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	free(rule_slots);
	rule_slots = slots;
	rule_slot_count = count;
	for (size_t i = RULE_INDEX_FIRST; i < rule_count; i++)
		rule_slot_put(i);
	return true;
}

/* The index of RULE; of RULE_NONE when there is no room for one more. */
static uint16_t rule_intern(const struct unwind_rule *rule)
{
	size_t slot;

	if (rule->kind == RULE_NONE)
		return RULE_INDEX_NONE;
	if (rule->kind == RULE_END)
		return RULE_INDEX_END;
	if (rule->kind == RULE_SIGNAL)
		return RULE_INDEX_SIGNAL;
	if (rule_count * 2 >= rule_slot_count && !rule_slots_grow() && !rule_slots)
		return RULE_INDEX_NONE;
	for (slot = rule_hash(rule);; slot++) {
		slot &= rule_slot_count - 1;
		if (!rule_slots[slot])
			break;
		if (!memcmp(&unwind_rules[rule_slots[slot]], rule, sizeof(*rule)))
			return rule_slots[slot];
	}
	if (rule_count == RULES_MAX || rule_count + 1 >= rule_slot_count)
		return RULE_INDEX_NONE;
	unwind_rules[rule_count] = *rule;
	rule_slots[slot] = (uint16_t)rule_count;
	return (uint16_t)rule_count++;
}

size_t cfi_rule_count(void)
{
	return rule_count;
}

size_t cfi_memory(void)
{
	return rule_count * sizeof(unwind_rules[0]) + rule_slot_count * sizeof(*rule_slots);
}

/* ---- The machine that call frame instructions drive ---- */

enum save_how {
	HOW_SAME,
	HOW_CFA,   /* at CFA + offset */
	HOW_DEREF, /* at register + offset */
	HOW_UNDEFINED,
	HOW_UNKNOWN
};

struct save {
	uint8_t how;
	uint8_t reg; /* HOW_DEREF */
	int64_t offset;
};

enum cfa_how { CFA_UNKNOWN, CFA_REGISTER, CFA_DEREF, CFA_PLT };

enum { SLOT_RA, SLOT_FP, SLOT_BASE, SLOTS };

struct state {
	uint8_t cfa_how;
	uint8_t cfa_reg;
	int64_t cfa_offset, cfa_offset2;
	struct save saves[SLOTS];
};

#define STATES_MAX 16

struct cie {
	uint64_t offset; /* within .eh_frame */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal, augmented, valid;
	struct state initial;
};

static struct save *slot_of(struct state *state, uint64_t reg)
{
	static struct save ignored;

	switch (reg) {
	case ARCH_RA:
		return &state->saves[SLOT_RA];
	case ARCH_FP:
		return &state->saves[SLOT_FP];
	case ARCH_BASE:
		return &state->saves[SLOT_BASE];
	default:
		ignored = (struct save){ 0 };
		return &ignored;
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

static bool get_constant(struct cursor *c, uint8_t op, int64_t *value)
{
	if (op >= OP_LIT0 && op < OP_LIT0 + 32)
		*value = op - OP_LIT0;
	else if (op == OP_CONST1U)
		*value = get_u8(c);
	else if (op == OP_CONST1S)
		*value = (int8_t)get_u8(c);
	else if (op == OP_CONST2U)
		*value = (uint16_t)get_bytes(c, 2);
	else if (op == OP_CONST2S)
		*value = (int16_t)get_bytes(c, 2);
	else if (op == OP_CONSTU)
		*value = (int64_t)get_uleb(c);
	else if (op == OP_CONSTS)
		*value = get_sleb(c);
	else
		return false;
	return true;
}

/* Follow an expression as far as it stays one register, one load and constants: all that
 * compilers, linkers and the hand-written assembly in C libraries use for frames. */
static struct location evaluate(struct cursor *c)
{
	struct location at = { 0 };
	int64_t value;
	uint8_t op;

	op = get_u8(c);
	if (op < OP_BREG0 || op >= OP_BREG0 + ARCH_REGISTERS || op >= OP_BREG0 + 32)
		return at;
	at.reg = (uint8_t)(op - OP_BREG0);
	at.offset = get_sleb(c);
	while (c->p < c->end) {
		op = get_u8(c);
		if (op == OP_NOP)
			continue;
		if (op == OP_DEREF) {
			if (at.deref)
				return at;
			at.deref = true;
			continue;
		}
		if (op == OP_PLUS_UCONST) {
			value = (int64_t)get_uleb(c);
		} else {
			if (!get_constant(c, op, &value))
				return at;
			op = get_u8(c);
			if (op == OP_MINUS)
				value = multiply(value, -1);
			else if (op != OP_PLUS)
				return at;
		}
		if (at.deref)
			at.offset2 = add(at.offset2, value);
		else
			at.offset = add(at.offset, value);
	}
	at.known = !c->bad;
	return at;
}

/* Linkers describe lazy binding stubs by `sp + 8 + ((pc & 15) >= N) * 8`: from byte N on the
 * stub has pushed a word. Returns N, or -1 for another expression. */
static int plt_expression(const uint8_t *p, size_t size)
{
	static const uint8_t head[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a };
	static const uint8_t tail[] = { 0x2a, 0x33, 0x24, 0x22 };

	if (size != sizeof(head) + 1 + sizeof(tail) || memcmp(p, head, sizeof(head)) ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)) || p[sizeof(head)] < OP_LIT0 ||
	    p[sizeof(head)] >= OP_LIT0 + 16)
		return -1;
	return p[sizeof(head)] - OP_LIT0;
}

/* The block that an expression is: its length first. */
static struct cursor get_block(struct cursor *c)
{
	uint64_t size = get_uleb(c);
	struct cursor block = { .p = c->p };

	skip_bytes(c, size);
	block.end = c->bad ? block.p : c->p;
	return block;
}

static void set_cfa_expression(struct state *state, struct cursor block)
{
	int stub = plt_expression(block.p, (size_t)(block.end - block.p));
	struct location at;

	if (stub >= 0 && ARCH_SP == 7) {
		state->cfa_how = CFA_PLT;
		state->cfa_offset = 8;
		state->cfa_offset2 = stub;
		return;
	}
	at = evaluate(&block);
	state->cfa_how = !at.known ? CFA_UNKNOWN : at.deref ? CFA_DEREF : CFA_REGISTER;
	state->cfa_reg = at.reg;
	state->cfa_offset = at.offset;
	state->cfa_offset2 = at.offset2;
}

static void set_save_expression(struct save *save, struct cursor block)
{
	struct location at = evaluate(&block);

	save->how = at.known && !at.deref ? HOW_DEREF : HOW_UNKNOWN;
	save->reg = at.reg;
	save->offset = at.offset;
}

static void set_cfa(struct state *state, uint64_t reg, int64_t offset)
{
	state->cfa_how = reg < ARCH_REGISTERS ? CFA_REGISTER : CFA_UNKNOWN;
	state->cfa_reg = (uint8_t)reg;
	state->cfa_offset = offset;
}

static void set_save(struct state *state, uint64_t reg, enum save_how how, int64_t offset)
{
	*slot_of(state, reg) = (struct save){ .how = (uint8_t)how, .offset = offset };
}

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

/* One pass over an entry's instructions. */
struct run {
	struct cursor c;
	const struct cie *cie;
	const struct cfi_source *source;
	struct state state;
	struct state stack[STATES_MAX];
	size_t depth;
};

static void run_restore(struct run *run, uint64_t reg)
{
	struct state initial = run->cie->initial;

	*slot_of(&run->state, reg) = *slot_of(&initial, reg);
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
	uint64_t reg = get_uleb(&run->c);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_save(&run->state, reg, HOW_CFA, multiply((int64_t)get_uleb(&run->c), align));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_save(&run->state, reg, HOW_CFA, multiply(get_sleb(&run->c), align));
		break;
	case CFA_NEGATIVE_OFFSET_EXTENDED:
		set_save(&run->state, reg, HOW_CFA, multiply((int64_t)get_uleb(&run->c), -align));
		break;
	case CFA_RESTORE_EXTENDED:
		run_restore(run, reg);
		break;
	case CFA_UNDEFINED:
		set_save(&run->state, reg, HOW_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_save(&run->state, reg, HOW_SAME, 0);
		break;
	case CFA_EXPRESSION:
		set_save_expression(slot_of(&run->state, reg), get_block(&run->c));
		break;
	case CFA_VAL_EXPRESSION:
		get_block(&run->c);
		set_save(&run->state, reg, HOW_UNKNOWN, 0);
		break;
	default: /* moved to a register, or a value computed from the CFA */
		get_uleb(&run->c);
		set_save(&run->state, reg, HOW_UNKNOWN, 0);
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
		reg = get_uleb(&run->c);
		set_cfa(state, reg, (int64_t)get_uleb(&run->c));
		break;
	case CFA_DEF_CFA_SF:
		reg = get_uleb(&run->c);
		set_cfa(state, reg, multiply(get_sleb(&run->c), align));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(state, get_uleb(&run->c), state->cfa_offset);
		break;
	case CFA_DEF_CFA_OFFSET:
		state->cfa_offset = (int64_t)get_uleb(&run->c);
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		state->cfa_offset = multiply(get_sleb(&run->c), align);
		break;
	default:
		set_cfa_expression(state, get_block(&run->c));
		break;
	}
}

/* Carry out instructions up to the next place. Returns false at the end of them, or true with
 * how far the place moves in *ADVANCE. An unknown instruction ends the entry: what follows
 * cannot be told. */
static bool run_on(struct run *run, uint64_t location, uint64_t *advance)
{
	struct cursor *c = &run->c;
	uint8_t op, low;

	while (c->p < c->end && !c->bad) {
		op = get_u8(c);
		low = op & 0x3f;
		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			*advance = low * run->cie->code_align;
			return true;
		case CFA_OFFSET:
			set_save(&run->state, low, HOW_CFA,
				 multiply((int64_t)get_uleb(c), run->cie->data_align));
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
			*advance = get_pointer(c, run->cie->encoding, run->source) - location;
			return !c->bad;
		case CFA_ADVANCE_LOC1:
			*advance = get_u8(c) * run->cie->code_align;
			return !c->bad;
		case CFA_ADVANCE_LOC2:
			*advance = get_bytes(c, 2) * run->cie->code_align;
			return !c->bad;
		case CFA_ADVANCE_LOC4:
			*advance = get_bytes(c, 4) * run->cie->code_align;
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
			get_uleb(c);
			break;
		default:
			c->bad = true;
		}
	}
	return false;
}

/* ---- From machine state to rule ---- */

static bool to_words(int64_t offset, int16_t *words)
{
	*words = (int16_t)(offset / 8);
	return offset % 8 == 0 && offset / 8 >= INT16_MIN && offset / 8 <= INT16_MAX;
}

/* Fills in how a saved register comes back. What cannot be said is said to be unchanged: the
 * walk then ends at the first frame that needs the register. */
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

static bool fits_int32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
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

static struct unwind_rule rule_of(const struct state *state, const struct cie *cie)
{
	const struct save *ra = &state->saves[SLOT_RA];
	struct unwind_rule rule = { 0 }, none = { 0 };

	if (cie->signal || ra->how == HOW_UNDEFINED) {
		rule.kind = cie->signal ? RULE_SIGNAL : RULE_END;
		return rule;
	}
	rule.kind = cfa_rule(state);
	if (rule.kind == RULE_REGISTER || rule.kind == RULE_DEREF)
		rule.reg = state->cfa_reg;
	rule.offset = (int32_t)state->cfa_offset;
	rule.offset2 = (int32_t)state->cfa_offset2;
	rule.fp_save = save_rule(&state->saves[SLOT_FP], &rule.fp_words);
	rule.base_save = save_rule(&state->saves[SLOT_BASE], &rule.base_words);
	if (rule.kind == RULE_NONE || !fits_int32(state->cfa_offset) ||
	    !fits_int32(state->cfa_offset2))
		return none;
	if (ra->how == HOW_SAME && ARCH_RA == 30)
		return rule; /* a leaf: in the link register */
	if (ra->how != HOW_CFA || !to_words(ra->offset, &rule.ra_words) || !rule.ra_words)
		return none;
	return rule;
}

/* ---- Rows ---- */

struct builder {
	const struct cfi_source *source;
	uint16_t *low, *rule; /* [capacity], of which only what is used is resident */
	uint32_t *first;
	size_t rows, capacity;
	uint32_t regions, filled; /* first[] is final below FILLED */
	uint64_t last;            /* offset of the newest row */
	uint64_t covered;         /* where the newest entry's code ends */
	struct unwind_rule last_rule;
	uint16_t last_index;
};

static uint16_t builder_intern(struct builder *b, const struct unwind_rule *rule)
{
	if (memcmp(rule, &b->last_rule, sizeof(*rule))) {
		b->last_rule = *rule;
		b->last_index = rule_intern(rule);
	}
	return b->last_index;
}

static void builder_row(struct builder *b, uint64_t offset, uint16_t rule)
{
	if (b->rows && b->last == offset) {
		b->rule[b->rows - 1] = rule;
		return;
	}
	if (b->rows ? b->rule[b->rows - 1] == rule : rule == RULE_INDEX_NONE)
		return;
	if (b->rows == b->capacity || (b->rows && offset < b->last))
		return;
	while (b->filled <= offset >> 16)
		b->first[b->filled++] = (uint32_t)b->rows;
	b->low[b->rows] = (uint16_t)offset;
	b->rule[b->rows++] = rule;
	b->last = offset;
}

/* ---- Entries ---- */

static struct cursor frame_cursor(const struct cfi_source *source, uint64_t offset)
{
	return (struct cursor){ .p = source->frame + offset,
				.end = source->frame + source->frame_size,
				.address = source->frame_address + source->frame_size };
}

/* Begin the entry at OFFSET: narrow C to its content behind the id, which goes to *ID together
 * with the offset of the id itself. False at the terminator or where nothing sensible is. */
static bool entry_begin(const struct cfi_source *source, uint64_t offset, struct cursor *c,
			uint64_t *id, uint64_t *id_offset)
{
	uint64_t length;
	bool wide;

	if (offset >= source->frame_size)
		return false;
	*c = frame_cursor(source, offset);
	length = get_bytes(c, 4);
	wide = length == 0xffffffff;
	if (wide)
		length = get_bytes(c, 8);
	if (c->bad || !length || length > (uint64_t)(c->end - c->p))
		return false;
	c->address -= (uint64_t)(c->end - c->p) - length;
	c->end = c->p + length;
	*id_offset = (uint64_t)(c->p - source->frame);
	*id = get_bytes(c, wide ? 8 : 4);
	return !c->bad;
}

static void cie_augmentation(struct cie *cie, struct cursor *c, const char *letters,
			     const struct cfi_source *source)
{
	const uint8_t *end;
	uint64_t size;
	uint8_t encoding;

	if (*letters != 'z')
		return;
	cie->augmented = true;
	size = get_uleb(c);
	if (size > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return;
	}
	end = c->p + size;
	while (*++letters && !c->bad) {
		switch (*letters) {
		case 'R':
			cie->encoding = get_u8(c);
			break;
		case 'L':
			get_u8(c);
			break;
		case 'P':
			encoding = get_u8(c);
			get_pointer(c, encoding & (uint8_t)~PE_INDIRECT, source);
			break;
		case 'S':
			cie->signal = true;
			break;
		}
	}
	c->p = end;
}

static void cie_read(struct cie *cie, const struct cfi_source *source, uint64_t offset)
{
	struct run run = { .cie = cie, .source = source };
	uint64_t id, id_offset, ra, advance;
	const char *letters;
	uint8_t version;

	*cie = (struct cie){ .offset = offset };
	if (!entry_begin(source, offset, &run.c, &id, &id_offset) || id)
		return;
	version = get_u8(&run.c);
	letters = (const char *)run.c.p;
	while (get_u8(&run.c))
		;
	if (run.c.bad || (version != 1 && version != 3) || (*letters && *letters != 'z'))
		return;
	cie->code_align = get_uleb(&run.c);
	cie->data_align = get_sleb(&run.c);
	ra = version == 1 ? get_u8(&run.c) : get_uleb(&run.c);
	cie_augmentation(cie, &run.c, letters, source);
	if (run.c.bad || ra != ARCH_RA)
		return;
	run_on(&run, 0, &advance);
	cie->initial = run.state;
	cie->valid = !run.c.bad;
}

#define CIES 16

struct compiler {
	struct builder builder;
	struct cie cies[CIES]; /* those met last: all entries of an object share one or two */
	size_t next_cie;
	struct run run; /* here because it is large */
};

static const struct cie *cie_at(struct compiler *compiler, uint64_t offset)
{
	struct cie *cie;

	for (size_t i = 0; i < CIES; i++) {
		cie = &compiler->cies[i];
		if (cie->code_align && cie->offset == offset)
			return cie->valid ? cie : NULL;
	}
	cie = &compiler->cies[compiler->next_cie++ % CIES];
	cie_read(cie, compiler->builder.source, offset);
	return cie->valid ? cie : NULL;
}

struct place {
	uint64_t start, size; /* code, as link addresses */
};

/* Read the head of the entry at OFFSET. Leaves RUN at its instructions. */
static bool fde_begin(struct compiler *compiler, uint64_t offset, struct place *place)
{
	const struct cfi_source *source = compiler->builder.source;
	struct run *run = &compiler->run;
	uint64_t id, id_offset;

	if (!entry_begin(source, offset, &run->c, &id, &id_offset) || !id || id > id_offset)
		return false;
	run->cie = cie_at(compiler, id_offset - id);
	if (!run->cie)
		return false;
	place->start = get_pointer(&run->c, run->cie->encoding, source);
	place->size = get_pointer(&run->c, run->cie->encoding & PE_FORM, NULL);
	if (run->cie->augmented)
		skip_bytes(&run->c, get_uleb(&run->c));
	run->state = run->cie->initial;
	run->source = source;
	run->depth = 0;
	return !run->c.bad;
}

/* Padding between functions is not worth a row: nobody is interrupted there. */
#define PADDING_MAX 64

static void compile_fde(struct compiler *compiler, uint64_t offset)
{
	struct builder *b = &compiler->builder;
	struct run *run = &compiler->run;
	struct unwind_rule rule;
	struct place place;
	uint64_t at, end, advance;
	bool more;

	if (!fde_begin(compiler, offset, &place) || place.start < b->source->text_start ||
	    place.start >= b->source->text_end || !place.size ||
	    place.size > b->source->text_end - place.start)
		return;
	at = place.start - b->source->text_start;
	end = at + place.size;
	if (b->rows && at < b->covered)
		return; /* entries do not overlap in a sound file */
	if (b->rows && at - b->covered > PADDING_MAX)
		builder_row(b, b->covered, RULE_INDEX_NONE);
	do {
		more = run_on(run, at + b->source->text_start, &advance);
		if (run->c.bad)
			rule = (struct unwind_rule){ .kind = RULE_NONE };
		else
			rule = rule_of(&run->state, run->cie);
		builder_row(b, at, builder_intern(b, &rule));
		at += advance;
	} while (more && advance < end - (at - advance));
	b->covered = end;
}

/* ---- The order of entries ---- */

struct entry {
	uint32_t start;  /* code, from text_start */
	uint32_t offset; /* within .eh_frame */
};

struct entries {
	struct entry *list; /* mapped, CAPACITY long */
	size_t count, capacity;
};

static void *map_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void map_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

struct hdr {
	struct cursor table; /* behind the count */
	uint64_t frame, count;
	uint8_t encoding;
};

static bool hdr_read(const struct cfi_source *source, struct hdr *hdr)
{
	struct cursor c = { .p = source->hdr,
			    .end = source->hdr + source->hdr_size,
			    .address = source->hdr_address + source->hdr_size };
	uint8_t frame_encoding, count_encoding;

	*hdr = (struct hdr){ 0 };
	if (source->hdr_size < 4 || get_u8(&c) != 1)
		return false;
	frame_encoding = get_u8(&c);
	count_encoding = get_u8(&c);
	hdr->encoding = get_u8(&c);
	if (frame_encoding == PE_OMIT)
		return false;
	hdr->frame = get_pointer(&c, frame_encoding, source);
	if (c.bad)
		return false;
	/* The one form that linkers write; sorted by code address. */
	if (count_encoding != PE_OMIT && hdr->encoding == (PE_DATAREL | 0x0b))
		hdr->count = get_pointer(&c, count_encoding, source);
	if (c.bad || hdr->count > (uint64_t)(c.end - c.p) / 8)
		hdr->count = 0;
	hdr->table = c;
	return true;
}

int cfi_frame_span(const struct cfi_source *source, uint64_t *begin, uint64_t *last)
{
	uint64_t address;
	struct hdr hdr;

	if (!hdr_read(source, &hdr))
		return -EINVAL;
	*begin = hdr.frame;
	*last = 0;
	for (uint64_t i = 0; i < hdr.count; i++) {
		get_bytes(&hdr.table, 4);
		address = get_pointer(&hdr.table, hdr.encoding, source);
		if (address > *last)
			*last = address;
	}
	return 0;
}

static void entries_add(struct entries *entries, uint64_t start, uint64_t offset)
{
	if (entries->count < entries->capacity && start <= UINT32_MAX && offset <= UINT32_MAX)
		entries->list[entries->count++] =
			(struct entry){ (uint32_t)start, (uint32_t)offset };
}

static int entries_alloc(struct entries *entries, size_t capacity)
{
	entries->capacity = capacity;
	entries->list = map_alloc(capacity * sizeof(*entries->list));
	return entries->list ? 0 : -ENOMEM;
}

static int entries_from_table(struct entries *entries, struct hdr *hdr,
			      const struct cfi_source *source)
{
	uint64_t start, address;
	int err = entries_alloc(entries, hdr->count);

	for (uint64_t i = 0; !err && i < hdr->count; i++) {
		start = get_pointer(&hdr->table, hdr->encoding, source);
		address = get_pointer(&hdr->table, hdr->encoding, source);
		entries_add(entries, start - source->text_start, address - source->frame_address);
	}
	return err;
}

/* Without a search table: walk the section. */
static int entries_from_frame(struct entries *entries, struct compiler *compiler)
{
	const struct cfi_source *source = compiler->builder.source;
	uint64_t offset = 0, id, id_offset;
	struct place place;
	struct cursor c;
	int err = entries_alloc(entries, source->frame_size / 12 + 1);

	while (!err && entry_begin(source, offset, &c, &id, &id_offset)) {
		if (id && fde_begin(compiler, offset, &place))
			entries_add(entries, place.start - source->text_start, offset);
		offset = (uint64_t)(c.end - source->frame);
	}
	return err;
}

static int entry_compare(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void entries_sort(struct entries *entries)
{
	for (size_t i = 1; i < entries->count; i++)
		if (entries->list[i - 1].start > entries->list[i].start) {
			qsort(entries->list, entries->count, sizeof(*entries->list), entry_compare);
			return;
		}
}

/* ---- The whole ---- */

static int builder_finish(struct builder *b, struct unwind_table **out)
{
	size_t head = sizeof(struct unwind_table) + (b->regions + 1) * sizeof(b->first[0]);
	size_t bytes;
	struct unwind_table *table;
	uint16_t *low;

	/* Behind the last entry there is nothing; and never a lookup past the table. */
	builder_row(b, b->covered, RULE_INDEX_NONE);
	while (b->filled <= b->regions)
		b->first[b->filled++] = (uint32_t)b->rows;
	if (!b->rows)
		return -ENOENT;
	bytes = head + b->rows * 2 * sizeof(uint16_t);
	table = malloc(bytes);
	if (!table)
		return -ENOMEM;
	low = (uint16_t *)((char *)table + head);
	memcpy(low, b->low, b->rows * sizeof(*low));
	memcpy(low + b->rows, b->rule, b->rows * sizeof(*low));
	memcpy(table->first, b->first, (b->regions + 1) * sizeof(b->first[0]));
	table->bytes = bytes;
	table->regions = b->regions;
	table->rows = (uint32_t)b->rows;
	table->low = low;
	table->rule = low + b->rows;
	*out = table;
	return 0;
}

static int builder_alloc(struct builder *b, const struct cfi_source *source)
{
	b->source = source;
	b->regions = (uint32_t)((source->text_end - source->text_start) >> 16) + 1;
	/* A row takes an instruction, and an entry has one more at its begin and its end. */
	b->capacity = source->frame_size + 2;
	b->low = map_alloc(b->capacity * sizeof(*b->low));
	b->rule = map_alloc(b->capacity * sizeof(*b->rule));
	b->first = map_alloc((b->regions + 2) * sizeof(*b->first));
	return b->low && b->rule && b->first ? 0 : -ENOMEM;
}

static void builder_free(struct builder *b)
{
	map_free(b->low, b->capacity * sizeof(*b->low));
	map_free(b->rule, b->capacity * sizeof(*b->rule));
	map_free(b->first, (b->regions + 2) * sizeof(*b->first));
}

int cfi_compile(struct unwind_table **out, const struct cfi_source *source)
{
	struct entries entries = { 0 };
	struct compiler *compiler;
	struct hdr hdr;
	int err;

	if (source->text_end <= source->text_start || !source->frame_size)
		return -ENOENT;
	if (source->text_end - source->text_start >= UINT32_MAX || source->frame_size >= UINT32_MAX)
		return -EFBIG;
	compiler = calloc(1, sizeof(*compiler));
	if (!compiler)
		return -ENOMEM;
	err = builder_alloc(&compiler->builder, source);
	if (err)
		goto out;
	if (hdr_read(source, &hdr) && hdr.count)
		err = entries_from_table(&entries, &hdr, source);
	else
		err = entries_from_frame(&entries, compiler);
	if (err)
		goto out;
	entries_sort(&entries);
	for (size_t i = 0; i < entries.count; i++)
		compile_fde(compiler, entries.list[i].offset);
	err = builder_finish(&compiler->builder, out);
out:
	map_free(entries.list, entries.capacity * sizeof(*entries.list));
	builder_free(&compiler->builder);
	free(compiler);
	return err;
}
