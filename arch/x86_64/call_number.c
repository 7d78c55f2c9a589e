/* x86-64: number of the system call before an instruction, from the code that sets it.
 *
 * In the C libraries the number is a constant in the same function (glibc), or in a caller's (musl, syscall(2)). Or a caller
 * has it in its stack frame (glibc 2.41), or in a register that calls preserve (musl). */
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "arch/code.h"
#include "arch/x86_64/instruction.h"

#define CALL_NUMBERS     1024
#define FUNCTIONS_MAX    4
#define INSTRUCTIONS_MAX 64
#define CALLEES_MAX      4
#define CALL_BYTES       6 /* at most, of a direct one */

/* Short jumps reach 128 bytes. Decoding begins earlier: from a wrong start it finds the right instructions soon. */
#define BEFORE     224
#define AFTER      128
#define STARTS     2 /* which must lead to the same instructions */
#define FAR_BYTES  4096
#define FAR_STEP   1024
#define JUMP_BYTES 6

#define STRAIGHT_KEPT 251
#define ADDRESS_BITS  48

#define CODE_PAGE 4096

/* Registers that functions preserve: bx, bp, 12 to 15. System calls preserve all but ax, cx and 11. */
#define PRESERVED    0xf028u
#define KEPT_BY_CALL 0xf7ecu

struct search {
	const ucontext_t *context;
	arch_copy *copy;
	unsigned wanted; /* register that has the number before the instruction at AT */
	uint16_t
		written; /* registers that the instructions from AT on have written, also in callees */
	uintptr_t sp;    /* before the instruction at AT */

	/* Return address that was examined last: where and what it is, and the functions that the call before it calls,
	 * each of which jumps to the next one. */
	uintptr_t return_at, return_to, callees[CALLEES_MAX];
	int callees_count;

	/* Code of one function: SIZE bytes from FROM on, END and AT are relative to FROM. The call ends at END. */
	uintptr_t from;
	size_t size, at, end;
	uint8_t code[BEFORE + AFTER];
	bool begins[BEFORE + AFTER]; /* an instruction */
};

static uintptr_t register_value(const ucontext_t *context, unsigned number)
{
	static const uint8_t registers[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
					       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
					       REG_R12, REG_R13, REG_R14, REG_R15 };

	return (uintptr_t)context->uc_mcontext.gregs[registers[number]];
}

/* ---- Instructions of a function ---- */

/* Mark the instructions from START to END. With AGAIN set: keep the marks that they have in common. */
static bool mark_instructions(struct search *s, size_t start, size_t end, bool again)
{
	struct instruction instruction;
	size_t next = start;

	for (size_t i = start; i < end; i++) {
		s->begins[i] = i == next && (!again || s->begins[i]);
		if (i != next)
			continue;
		next++;
		if (instruction_decode(&instruction, s->code + i, s->size - i))
			next = i + instruction.length;
	}
	return next == end;
}

/* Read the code around PC, where a call ends. Unmapped memory may be before the first page of code, and after the last one.
 * AT is 0 if the code cannot be read. */
static bool read_code(struct search *s, uintptr_t pc)
{
	uintptr_t page = (pc - 1) & -(uintptr_t)CODE_PAGE, next = page + CODE_PAGE;
	uintptr_t from = pc - BEFORE, to = pc + AFTER;
	bool is_same;

	s->at = 0;
	if (!s->copy(s->code, from, to - from)) {
		from = from < page ? page : from;
		to = to > next ? next : to;
		if (!s->copy(s->code, from, to - from))
			return false;
	}
	s->from = from;
	s->size = to - from;
	s->end = pc - from;
	is_same = s->end >= CALL_BYTES;
	for (size_t start = 0; start < STARTS && start < s->end; start++)
		is_same &= mark_instructions(s, start, s->end, start > 0);
	mark_instructions(s, s->end, s->size, false);
	s->at = is_same ? s->end : 0;
	return is_same;
}

/* ---- Jumps to the instructions that were followed ---- */

static bool is_followed(const struct search *s, uintptr_t target)
{
	return target > s->from + s->at && target < s->from + s->end;
}

static bool is_jumped_to_from_near(const struct search *s)
{
	struct instruction instruction;

	for (size_t i = 0; i < s->size; i++)
		if (s->begins[i] && instruction_decode(&instruction, s->code + i, s->size - i) &&
		    instruction.has_target &&
		    is_followed(s, s->from + i + instruction.length +
					   (uintptr_t)(intptr_t)instruction.target))
			return true;
	return false;
}

/* CODE is a copy of the code at FROM: any bytes that may be a long jump. */
static bool has_jump(const struct search *s, const uint8_t *code, uintptr_t from)
{
	int32_t distance;

	for (size_t i = 1; i < FAR_STEP; i++) {
		if (code[i] != 0xe9 && (code[i - 1] != 0x0f || (code[i] & 0xf0) != 0x80))
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		if (is_followed(s, from + i + 5 + (uintptr_t)(intptr_t)distance))
			return true;
	}
	return false;
}

static bool is_jumped_to_from_far(const struct search *s)
{
	uintptr_t end = (s->from + s->end) & -(uintptr_t)FAR_STEP;
	uint8_t code[FAR_STEP + JUMP_BYTES];

	memset(code + FAR_STEP, 0, JUMP_BYTES);
	for (uintptr_t from = end - FAR_BYTES; from <= end + FAR_BYTES; from += FAR_STEP)
		if ((s->copy(code, from, sizeof(code)) || s->copy(code, from, FAR_STEP)) &&
		    has_jump(s, code, from))
			return true;
	return false;
}

/* Instructions without jumps to them, which are examined once: the address of their end, and above it their bytes. */
static _Atomic uint64_t straight_code[STRAIGHT_KEPT];

/* True if the instructions from AT to the end were executed one after the other. */
static bool is_straight(const struct search *s)
{
	uint64_t end = s->from + s->end, key = end | (uint64_t)(s->end - s->at) << ADDRESS_BITS;
	_Atomic uint64_t *kept = &straight_code[end % STRAIGHT_KEPT];

	if (atomic_load(kept) == key)
		return true;
	if (is_jumped_to_from_near(s) || is_jumped_to_from_far(s))
		return false;
	atomic_store(kept, key);
	return true;
}

/* ---- Calls ---- */

static bool follow_slot(const struct search *s, struct arch_target *target)
{
	bool found = !target->indirect ||
		     s->copy(&target->address, target->address, sizeof(target->address));

	target->indirect = false;
	return found;
}

/* If TARGET is a linker's stub or a function that only jumps: change it to where it jumps. */
static bool follow_jump(const struct search *s, struct arch_target *target)
{
	struct instruction instruction;
	uint8_t code[16];

	if (!s->copy(code, target->address, sizeof(code)))
		return false;
	if (!instruction_decode(&instruction, code, sizeof(code)) || !instruction.has_target ||
	    instruction.flow != FLOW_LEAVE)
		return arch_stub_target(target, code, target->address, sizeof(code)) &&
		       follow_slot(s, target);
	target->address += instruction.length + (uintptr_t)(intptr_t)instruction.target;
	return true;
}

/* Find the functions that the call before the return address at SP calls. */
static void find_callees(struct search *s)
{
	struct arch_target target;
	uint8_t code[CALL_BYTES];

	s->return_at = s->sp;
	s->callees_count = 0;
	if (!s->copy(&s->return_to, s->sp, sizeof(s->return_to)) ||
	    !s->copy(code, s->return_to - CALL_BYTES, CALL_BYTES) ||
	    !arch_call_target(&target, code + CALL_BYTES, s->return_to, CALL_BYTES) ||
	    !follow_slot(s, &target))
		return;
	do
		s->callees[s->callees_count++] = target.address;
	while (s->callees_count < CALLEES_MAX && follow_jump(s, &target));
}

/* True if the function that returns by the address at SP begins at AT. */
static bool begins_function(struct search *s)
{
	if (s->return_at != s->sp)
		find_callees(s);
	for (int i = 0; i < s->callees_count; i++)
		if (s->callees[i] == s->from + s->at)
			return true;
	return false;
}

/* If a function begins at AT: continue in its caller, before the call. */
static bool enter_caller(struct search *s)
{
	if (!begins_function(s) || !is_straight(s) || !read_code(s, s->return_to))
		return false;
	s->sp += sizeof(s->return_to);
	s->at -= s->code[s->end - 5] == 0xe8 ? 5 : CALL_BYTES;
	return true;
}

/* ---- Values ---- */

static bool is_unchanged(const struct search *s, unsigned number)
{
	return KEPT_BY_CALL & REGISTER_BIT(number) && !(s->written & REGISTER_BIT(number));
}

/* The number that INSTRUCTION at AT loads, or -1. */
static long load_number(const struct search *s, const struct instruction *instruction)
{
	uintptr_t base = instruction->from == REGISTER_SP
				 ? s->sp
				 : register_value(s->context, instruction->from);
	int32_t number;

	if (instruction->from != REGISTER_SP &&
	    !(instruction->from == REGISTER_BP && is_unchanged(s, REGISTER_BP)))
		return -1;
	return s->copy(&number, base + (uintptr_t)(intptr_t)instruction->value, sizeof(number))
		       ? number
		       : -1;
}

/* Return the number that INSTRUCTION at AT writes to the wanted register, or -1. If it copies a register that has changed
 * since, that one is wanted, and *IS_OVER is false. */
static long evaluate_write(struct search *s, const struct instruction *instruction, bool *is_over)
{
	long number = -1;

	*is_over = true;
	if (instruction->source == SOURCE_REGISTER && !is_unchanged(s, instruction->from)) {
		s->wanted = instruction->from;
		*is_over = s->wanted == REGISTER_SP;
		return -1;
	}
	if (instruction->source == SOURCE_REGISTER)
		number = (int32_t)register_value(s->context, instruction->from);
	else if (instruction->source == SOURCE_MEMORY)
		number = load_number(s, instruction);
	else if (instruction->source == SOURCE_CONSTANT)
		number = instruction->value;
	return number >= 0 && is_straight(s) ? number : -1;
}

/* Move AT to the instruction before, and decode it. */
static bool step_back(struct search *s, struct instruction *instruction)
{
	size_t end = s->at;

	do
		if (!s->at)
			return false;
	while (!s->begins[--s->at]);
	if (!instruction_decode(instruction, s->code + s->at, s->size - s->at) ||
	    s->at + instruction->length != end || instruction->flow == FLOW_LEAVE ||
	    instruction->writes & REGISTER_BIT(REGISTER_SP))
		return false;
	s->sp -= (uintptr_t)(intptr_t)instruction->stack;
	return true;
}

static long search_back(struct search *s)
{
	struct instruction instruction;
	int functions = 1;
	bool is_over = false;
	long number = -1;

	for (int i = 0; i < INSTRUCTIONS_MAX && !is_over; i++) {
		while (!(PRESERVED & REGISTER_BIT(s->wanted)) && functions < FUNCTIONS_MAX &&
		       enter_caller(s))
			functions++;
		if (!step_back(s, &instruction))
			return -1;
		if (instruction.writes & REGISTER_BIT(s->wanted))
			number = evaluate_write(s, &instruction, &is_over);
		s->written |= instruction.writes;
	}
	return number;
}

long arch_call_number(const ucontext_t *context, arch_copy *copy)
{
	struct search s = { .context = context,
			    .copy = copy,
			    .wanted = REGISTER_AX,
			    .sp = register_value(context, REGISTER_SP) };
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	long number = -1;

	if (read_code(&s, pc)) {
		s.at -= ARCH_SYSTEM_CALL_BYTES;
		number = search_back(&s);
	}
	return number < CALL_NUMBERS ? number : -1;
}
