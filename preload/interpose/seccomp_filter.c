/* Goes through a filter, which can only jump ahead, on all its ways at a time. */
#include "preload/interpose/seccomp_filter.h"

#include <linux/audit.h>
#include <string.h>

#define ACTIONS 0xffff0000U

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* All ways so far, and one more that comes to the same instruction. */
static void come_to(struct filter_step *steps, size_t count, size_t at,
		    const struct filter_step *with)
{
	struct filter_step *step;

	if (at >= count)
		return; /* the kernel takes no such filter */
	step = &steps[at];
	if (!step->reached)
		*step = *with;
	else
		step->known &= with->known && step->value == with->value;
}

static void load(struct filter_step *step, const struct sock_filter *code, uint32_t number)
{
	step->known = true;
	if (BPF_MODE(code->code) == BPF_IMM)
		step->value = code->k;
	else if (BPF_MODE(code->code) == BPF_LEN)
		step->value = sizeof(struct seccomp_data);
	else if (BPF_MODE(code->code) == BPF_ABS && code->k == offsetof(struct seccomp_data, nr))
		step->value = number;
	else if (BPF_MODE(code->code) == BPF_ABS && code->k == offsetof(struct seccomp_data, arch))
		step->value = ARCHITECTURE;
	else
		step->known = false; /* an argument, or where it is called */
}

static void calculate(struct filter_step *step, const struct sock_filter *code)
{
	if (BPF_SRC(code->code) == BPF_K && BPF_OP(code->code) == BPF_AND)
		step->value &= code->k;
	else
		step->known = false;
}

static bool holds(uint32_t value, const struct sock_filter *code)
{
	switch (BPF_OP(code->code)) {
	case BPF_JEQ:
		return value == code->k;
	case BPF_JGT:
		return value > code->k;
	case BPF_JGE:
		return value >= code->k;
	default:
		return value & code->k;
	}
}

static void jump(struct filter_step *steps, size_t count, size_t at, const struct sock_filter *code)
{
	const struct filter_step with = steps[at];
	bool known = with.known && BPF_SRC(code->code) == BPF_K;

	if (BPF_OP(code->code) == BPF_JA) {
		come_to(steps, count, at + 1 + code->k, &with);
		return;
	}
	if (!known || holds(with.value, code))
		come_to(steps, count, at + 1 + code->jt, &with);
	if (!known || !holds(with.value, code))
		come_to(steps, count, at + 1 + code->jf, &with);
}

/* The kernel, too, takes the least of several filters' actions. */
static uint32_t worse(uint32_t action, uint32_t other)
{
	return (int32_t)other < (int32_t)action ? other : action;
}

uint32_t seccomp_filter_action(const struct sock_filter *code, size_t count,
			       struct filter_step *steps, uint32_t number)
{
	uint32_t worst = SECCOMP_RET_ALLOW;
	struct filter_step step;

	memset(steps, 0, count * sizeof(*steps));
	if (count)
		steps[0] = (struct filter_step){ .reached = true, .known = true };
	for (size_t at = 0; at < count; at++) {
		if (!steps[at].reached)
			continue;
		step = steps[at];
		switch (BPF_CLASS(code[at].code)) {
		case BPF_RET:
			if (BPF_RVAL(code[at].code) == BPF_K)
				worst = worse(worst, code[at].k & ACTIONS);
			else
				worst = worse(worst, step.known ? step.value & ACTIONS
								: SECCOMP_RET_KILL_PROCESS);
			continue;
		case BPF_JMP:
			jump(steps, count, at, &code[at]);
			continue;
		case BPF_LD:
			load(&step, &code[at], number);
			break;
		case BPF_ALU:
			calculate(&step, &code[at]);
			break;
		case BPF_MISC:
			step.known &= BPF_MISCOP(code[at].code) == BPF_TAX;
			break;
		}
		come_to(steps, count, at + 1, &step);
	}
	return worst;
}
