/* Finds rules of aarch64 code by following it. */
#include "engine/modules/code_rules.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cfi/cfi_rules.h"

_Static_assert(RULE_INDEX_NONE == 0, "what memory is cleared to");

/* Registers of the processor that this is about, not of the one that it runs on. */
#define BASE 19
#define FP   29
#define LINK 30
#define SP   31

/* What is known at an instruction: where the canonical frame address (CFA) is, and what was saved from it on. */
struct state {
	int32_t size;         /* the CFA is sp + this, or fp + this */
	int32_t fp_size;      /* it is fp + this; 0: fp leads nowhere */
	int32_t ra, fp, base; /* saved at the CFA + this; 0: still in the register */
	bool is_sp_unknown;   /* sp may be anything */
	bool lost;            /* and so may fp */
	bool ended;     /* more was taken off the stack than was put there: here a thread begins */
	bool guessed;   /* nothing was seen to lead here */
	uint32_t known; /* one more than the number of a register that holds: */
	uint32_t value;
};

_Static_assert(sizeof(struct state) == 32, "compared by its bytes");

struct way {
	size_t at;
	struct state state;
};

struct ways {
	struct way *list;
	size_t count, room;
};

struct flow {
	uint16_t *rules;
	const uint32_t *code;
	uint8_t *starts;
	size_t count;
	struct ways pending;  /* to be followed */
	struct ways switches; /* jumps to an address in a register */
};

static bool is_start(const uint8_t *starts, size_t at)
{
	return starts[at / 8] >> at % 8 & 1;
}

/* ---- What an instruction does ---- */

/* The signed number of BITS bits from bit FIRST on. */
static int32_t field(uint32_t word, unsigned first, unsigned bits)
{
	return (int32_t)(word << (32 - first - bits)) >> (32 - bits);
}

static unsigned register_at(uint32_t word, unsigned first)
{
	return word >> first & 31;
}

static int32_t *state_save_slot(struct state *s, unsigned number)
{
	switch (number) {
	case BASE:
		return &s->base;
	case FP:
		return &s->fp;
	case LINK:
		return &s->ra;
	}
	return NULL;
}

/* Register NUMBER is stored at, or loaded from, sp + OFFSET. */
static void state_transfer(struct state *s, unsigned number, int32_t offset, bool load)
{
	int32_t *place = state_save_slot(s, number), at = offset - s->size;

	if (!place || s->is_sp_unknown || at >= 0 || at % 8)
		return;
	if (load && *place == at)
		*place = 0;
	else if (!load && !*place)
		*place = at;
}

static void state_move_sp(struct state *s, int32_t bytes)
{
	if (s->is_sp_unknown || __builtin_sub_overflow(s->size, bytes, &s->size) ||
	    s->size > (INT16_MAX - 1) * 8)
		s->lost = true;
	if (s->size < 0)
		s->ended = true;
}

/* From here on sp is what nobody can tell. */
static void state_lose_sp(struct state *s)
{
	s->lost |= !s->fp_size;
	s->is_sp_unknown = true;
	s->size = s->fp_size;
}

enum addressing { ADDRESS_AS_IT_IS, ADDRESS_THEN_MOVE, ADDRESS_OFFSET, ADDRESS_MOVED };

/* One or two registers (NONE: of the other kind), BYTES each. */
#define NONE 32
static void state_transfer_all(struct state *s, const unsigned numbers[2], int32_t bytes, bool load,
			       enum addressing addressing, int32_t offset)
{
	int32_t from = addressing == ADDRESS_THEN_MOVE || addressing == ADDRESS_MOVED ? 0 : offset;

	if (addressing == ADDRESS_MOVED)
		state_move_sp(s, offset);
	for (int i = 0; i < 2; i++)
		state_transfer(s, bytes == 8 ? numbers[i] : NONE, from + i * bytes, load);
	if (addressing == ADDRESS_THEN_MOVE)
		state_move_sp(s, offset);
}

/* stp, ldp */
static void apply_pair(struct state *s, uint32_t word)
{
	bool vector = word >> 26 & 1;
	unsigned kind = word >> 30;
	int32_t bytes = vector ? 4 << kind : kind & 2 ? 8 : 4;
	unsigned numbers[2] = { register_at(word, 0), register_at(word, 10) };

	if (vector)
		numbers[0] = numbers[1] = NONE;
	state_transfer_all(s, numbers, bytes, word >> 22 & 1, (enum addressing)(word >> 23 & 3),
			   field(word, 15, 7) * bytes);
}

/* str, ldr, stur, ldur */
static void apply_single(struct state *s, uint32_t word)
{
	bool vector = word >> 26 & 1, scaled = word >> 24 & 1;
	unsigned kind = word >> 30;
	unsigned numbers[2] = { vector ? NONE : register_at(word, 0), NONE };
	int32_t bytes = 1 << kind;

	if (scaled)
		state_transfer_all(s, numbers, bytes, word >> 22 & 3, ADDRESS_OFFSET,
				   (int32_t)(word >> 10 & 0xfff) * bytes);
	else
		state_transfer_all(s, numbers, bytes, word >> 22 & 3,
				   (enum addressing)(word >> 10 & 3), field(word, 12, 9));
}

/* add, sub with a number */
static void apply_add(struct state *s, uint32_t word)
{
	unsigned to = register_at(word, 0), from = register_at(word, 5);
	int32_t bytes = (int32_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

	if (word >> 30 & 1)
		bytes = -bytes;
	if (to == SP && from == SP) {
		state_move_sp(s, bytes);
	} else if (to == SP && from == FP && s->fp_size) {
		s->is_sp_unknown = s->lost = false;
		s->size = s->fp_size;
		state_move_sp(s, bytes);
	} else if (to == SP) {
		state_lose_sp(s);
	} else if (to == FP && from == SP && !s->is_sp_unknown) {
		s->fp_size = s->size - bytes;
	}
}

/* add, sub of a register to sp */
static void apply_add_register(struct state *s, uint32_t word)
{
	int32_t bytes = (int32_t)s->value;

	if (s->known != register_at(word, 16) + 1 || s->value > INT16_MAX * 8)
		state_lose_sp(s);
	else
		state_move_sp(s, word >> 30 & 1 ? -bytes : bytes);
}

/* movz xN,#M; movk xN,#M,lsl #16. Whatever else there is may have anything for a result. */
static void apply_constant(struct state *s, uint32_t word)
{
	uint32_t number = register_at(word, 0) + 1, value = word >> 5 & 0xffff;

	if ((word & 0xffe00000) == 0xd2800000) {
		s->known = number;
		s->value = value;
	} else if ((word & 0xffe00000) == 0xf2a00000 && s->known == number) {
		s->value = (s->value & 0xffff) | value << 16;
	} else if (s->known == number) {
		s->known = 0;
	}
}

static void apply_instruction(struct state *s, uint32_t word)
{
	bool at_sp = register_at(word, 5) == SP;

	if ((word & 0x3a000000) == 0x28000000 && at_sp)
		apply_pair(s, word);
	else if (((word & 0x3b000000) == 0x39000000 || (word & 0x3b200000) == 0x38000000) && at_sp)
		apply_single(s, word);
	else if ((word & 0xbf800000) == 0x91000000)
		apply_add(s, word);
	else if ((word & 0xbfe0ffff) == 0x8b2063ff)
		apply_add_register(s, word);
	else if ((word & 0xff80001f) == 0x9200001f) /* and sp,xN,#M */
		state_lose_sp(s);
	apply_constant(s, word);
}

/* ---- Where it leads ---- */

enum step { GOES_ON, MAY_JUMP, JUMPS, CALLS, JUMPS_ANYWHERE, ENDS };

/* For those that JUMP or CALL: to so many instructions further on. */
static enum step step_of(uint32_t word, int32_t *distance)
{
	*distance = 0;
	if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
		*distance = field(word, 0, 26);
		return word >> 31 ? CALLS : JUMPS;
	}
	if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
		*distance = field(word, 5, 19); /* b.COND, cbz, cbnz */
		return MAY_JUMP;
	}
	if ((word & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		*distance = field(word, 5, 14);
		return MAY_JUMP;
	}
	if ((word & 0xfffffc1f) == 0xd61f0000) /* br */
		return JUMPS_ANYWHERE;
	/* ret, retaa, retab, udf, brk */
	if ((word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff ||
	    !(word >> 16) || (word & 0xffe0001f) == 0xd4200000)
		return ENDS;
	return GOES_ON;
}

static bool target_of(size_t *target, size_t at, int32_t distance, size_t count)
{
	*target = at + (size_t)(ptrdiff_t)distance;
	return *target < count;
}

static void mark_start(uint8_t *starts, size_t at)
{
	starts[at / 8] |= (uint8_t)(1u << at % 8);
}

void code_rules_mark_called(uint8_t *starts, const uint32_t *code, size_t count)
{
	int32_t distance;
	size_t target;

	for (size_t at = 0; at < count; at++)
		if (step_of(code[at], &distance) == CALLS &&
		    target_of(&target, at, distance, count))
			mark_start(starts, target);
}

/* Without memory it is left out: what it leads to is then met as something that nothing leads to. */
static void path_add(struct ways *ways, size_t at, const struct state *state)
{
	size_t room = ways->room ? ways->room * 2 : 256;
	struct way *grown = ways->list;

	if (ways->count == ways->room) {
		grown = realloc(grown, room * sizeof(*grown));
		if (!grown)
			return;
		ways->list = grown;
		ways->room = room;
	}
	ways->list[ways->count++] = (struct way){ at, *state };
}

static uint16_t rule_of(const struct state *s)
{
	struct unwind_rule rule = {
		.kind = s->is_sp_unknown ? RULE_FP : RULE_SP,
		.fp_save = s->fp ? SAVE_CFA : SAVE_SAME,
		.base_save = s->base ? SAVE_CFA : SAVE_SAME,
		.offset = s->size,
		.ra_words = (int16_t)(s->ra / 8),
		.fp_words = (int16_t)(s->fp / 8),
		.base_words = (int16_t)(s->base / 8),
	};
	uint16_t index;

	if (s->ended && !s->guessed)
		return RULE_INDEX_END;
	index = s->lost || s->ended ? RULE_INDEX_NONE : cfi_rule_intern(&rule);
	return index == RULE_INDEX_NONE ? RULE_INDEX_CHAIN : index;
}

/* mov x8,#139; svc #0 */
static bool is_sigreturn(const struct flow *flow, size_t at)
{
	return flow->code[at] == 0xd2801168 && at + 1 < flow->count &&
	       flow->code[at + 1] == 0xd4000001;
}

/* stp x29,x30 at sp; stp, str of x30 that moves sp: what functions begin with, and never do again. */
static bool saves_link(uint32_t word)
{
	bool pair = (word & 0xffc00000) == 0xa9800000 || (word & 0xffc00000) == 0xa9000000;
	bool moves = (word & 0xffc00000) == 0xa9800000 || (word & 0xffe00c00) == 0xf8000c00;

	if (register_at(word, 5) != SP)
		return false;
	if (pair && register_at(word, 0) == FP && register_at(word, 10) == LINK)
		return true;
	return moves && (register_at(word, 0) == LINK || (pair && register_at(word, 10) == LINK));
}

/* A call that does not return is the last of its function: what comes behind it and its padding is another one, which
 * is met, where nothing calls it, when it saves the return address. It begins anew, from behind that call; false where
 * AT is in one that begins there already. */
static bool function_start_at_save(struct flow *flow, size_t at)
{
	const struct state fresh = { 0 };
	size_t begin = at;
	int32_t distance;

	while (begin && !is_start(flow->starts, begin) &&
	       flow->code[begin - 1] != 0xd503201f /* nop */ &&
	       step_of(flow->code[begin - 1], &distance) == GOES_ON)
		begin--;
	if (is_start(flow->starts, begin))
		return false;
	memset(&flow->rules[begin], 0, (at + 1 - begin) * sizeof(flow->rules[0]));
	mark_start(flow->starts, begin);
	path_add(&flow->pending, begin, &fresh);
	return true;
}

/* From one instruction to the next, as far as it goes that way and nobody was there. */
static void flow_follow(struct flow *flow, size_t at, struct state state)
{
	struct state before = state;
	uint16_t rule = rule_of(&state);
	int32_t distance;
	size_t target;
	enum step step;

	do {
		if (is_sigreturn(flow, at)) {
			flow->rules[at] = flow->rules[at + 1] = RULE_INDEX_SIGNAL;
			return;
		}
		if (state.ra && saves_link(flow->code[at]) && function_start_at_save(flow, at))
			return;
		if (memcmp(&before, &state, sizeof(state))) {
			rule = rule_of(&state);
			before = state;
		}
		flow->rules[at] = rule;
		step = step_of(flow->code[at], &distance);
		if (step == JUMPS_ANYWHERE)
			path_add(&flow->switches, at, &state);
		/* (Where a function ends in another one, that one is begun anew.) */
		if ((step == JUMPS || step == MAY_JUMP) &&
		    target_of(&target, at, distance, flow->count) && !flow->rules[target] &&
		    !is_start(flow->starts, target))
			path_add(&flow->pending, target, &state);
		if (step == JUMPS || step == JUMPS_ANYWHERE || step == ENDS)
			return;
		if (step == CALLS)
			state.known = 0;
		apply_instruction(&state, flow->code[at]);
		at++;
	} while (at < flow->count && !flow->rules[at] && !is_start(flow->starts, at));
}

static void flow_follow_all(struct flow *flow, size_t at, const struct state *state)
{
	struct way way;

	flow_follow(flow, at, *state);
	while (flow->pending.count) {
		way = flow->pending.list[--flow->pending.count];
		if (!flow->rules[way.at])
			flow_follow(flow, way.at, way.state);
	}
}

/* What nothing leads to, at AT of the function that begins at START. */
static struct state flow_stray_state(const struct flow *flow, size_t start, size_t at)
{
	const struct way *nearest = NULL;

	for (size_t i = 0; i < flow->switches.count; i++) {
		const struct way *one = &flow->switches.list[i];

		if (one->at >= start && one->at < at && (!nearest || one->at > nearest->at))
			nearest = one;
	}
	return nearest ? nearest->state : (struct state){ 0 };
}

void code_rules_find(uint16_t *rules, const uint32_t *code, size_t count, uint8_t *starts)
{
	struct flow flow = { .rules = rules, .code = code, .starts = starts, .count = count };
	struct state state = { 0 };
	size_t start = 0;

	for (size_t at = 0; at < count; at++)
		if (is_start(starts, at) && !rules[at])
			flow_follow_all(&flow, at, &state);
	for (size_t at = 0; at < count; at++) {
		if (is_start(starts, at))
			start = at;
		if (rules[at])
			continue;
		state = flow_stray_state(&flow, start, at);
		state.guessed = true;
		flow_follow_all(&flow, at, &state);
	}
	free(flow.pending.list);
	free(flow.switches.list);
}
