/* Unwind rules for aarch64 code, derived by following its control flow. */
#include "engine/modules/code_rules.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cfi/cfi_rules.h"

_Static_assert(RULE_INDEX_NONE == 0, "what memory is cleared to");

/* Registers of aarch64, which may differ from the processor that runs this code. */
#define BASE 19
#define FP   29
#define LINK 30
#define SP   31

/* State before an instruction: the position of the canonical frame address (CFA) and of the
 * registers saved relative to it. */
struct state {
	int32_t size;         /* the CFA is sp + size, or fp + fp_size */
	int32_t fp_size;      /* 0: fp does not lead to the CFA */
	int32_t ra, fp, base; /* saved at the CFA + this offset; 0: still in the register */
	bool is_sp_unknown;   /* sp is not known */
	bool is_fp_unknown;   /* fp is not known either */
	bool is_thread_start; /* the code popped more than it pushed: a thread starts here */
	bool is_guessed;      /* no path was found that leads here */
	uint32_t known;       /* number of a register with a known constant, plus one: */
	uint32_t value;
};

_Static_assert(sizeof(struct state) == 32, "compared by its bytes");

struct path {
	size_t at;
	struct state state;
};

struct paths {
	struct path *list;
	size_t count, room;
};

struct flow {
	uint16_t *rules;
	const uint32_t *code;
	uint8_t *starts;
	size_t count;
	struct paths pending;  /* paths that must be followed */
	struct paths switches; /* jumps to an address in a register */
};

static bool is_start(const uint8_t *starts, size_t at)
{
	return starts[at / 8] >> at % 8 & 1;
}

/* ---- Effect of an instruction on the state ---- */

/* Signed value of BITS bits, from bit FIRST on. */
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

/* Register NUMBER is stored to, or loaded from, sp + OFFSET. */
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
		s->is_fp_unknown = true;
	if (s->size < 0)
		s->is_thread_start = true;
}

/* From here on, sp is unknown. */
static void state_lose_sp(struct state *s)
{
	s->is_fp_unknown |= !s->fp_size;
	s->is_sp_unknown = true;
	s->size = s->fp_size;
}

enum addressing { ADDRESS_AS_IT_IS, ADDRESS_THEN_MOVE, ADDRESS_OFFSET, ADDRESS_MOVED };

/* Transfer of one or two registers (NONE: not a general register) of BYTES each. */
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

/* add, sub with an immediate */
static void apply_add(struct state *s, uint32_t word)
{
	unsigned to = register_at(word, 0), from = register_at(word, 5);
	int32_t bytes = (int32_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

	if (word >> 30 & 1)
		bytes = -bytes;
	if (to == SP && from == SP) {
		state_move_sp(s, bytes);
	} else if (to == SP && from == FP && s->fp_size) {
		s->is_sp_unknown = s->is_fp_unknown = false;
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

/* movz xN,#M; movk xN,#M,lsl #16. The result of any other instruction is unknown. */
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

/* ---- Control flow ---- */

enum step { GOES_ON, MAY_JUMP, JUMPS, CALLS, JUMPS_ANYWHERE, ENDS };

/* Kind of the instruction WORD. For MAY_JUMP, JUMPS and CALLS, *DISTANCE is the target, in instructions. */
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

/* Without memory the path is dropped; its code is later handled as code without a known predecessor. */
static void path_add(struct paths *paths, size_t at, const struct state *state)
{
	size_t room = paths->room ? paths->room * 2 : 256;
	struct path *grown = paths->list;

	if (paths->count == paths->room) {
		grown = realloc(grown, room * sizeof(*grown));
		if (!grown)
			return;
		paths->list = grown;
		paths->room = room;
	}
	paths->list[paths->count++] = (struct path){ at, *state };
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

	if (s->is_thread_start && !s->is_guessed)
		return RULE_INDEX_END;
	index = s->is_fp_unknown || s->is_thread_start ? RULE_INDEX_NONE : cfi_rule_intern(&rule);
	return index == RULE_INDEX_NONE ? RULE_INDEX_CHAIN : index;
}

/* mov x8,#139; svc #0 */
static bool is_sigreturn(const struct flow *flow, size_t at)
{
	return flow->code[at] == 0xd2801168 && at + 1 < flow->count &&
	       flow->code[at + 1] == 0xd4000001;
}

/* stp x29,x30 at sp; stp, str of x30 that changes sp: functions begin with these and do not contain them later. */
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

/* The last instruction of a function may be a call that does not return. Another function follows
 * it and its padding. If no call leads to that function, it is detected where it saves the return
 * address. Start it after that call; returns false if AT is in a function that already starts
 * there. */
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

/* Follow the code from AT with STATE, until it branches away or reaches a known state. */
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
		/* (If a function ends in a jump to another function, that one starts with a new state.) */
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
	struct path path;

	flow_follow(flow, at, *state);
	while (flow->pending.count) {
		path = flow->pending.list[--flow->pending.count];
		if (!flow->rules[path.at])
			flow_follow(flow, path.at, path.state);
	}
}

/* State for code at AT without a known predecessor, in the function that begins at START. */
static struct state flow_stray_state(const struct flow *flow, size_t start, size_t at)
{
	const struct path *nearest = NULL;

	for (size_t i = 0; i < flow->switches.count; i++) {
		const struct path *one = &flow->switches.list[i];

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
		state.is_guessed = true;
		flow_follow_all(&flow, at, &state);
	}
	free(flow.pending.list);
	free(flow.switches.list);
}
