/* Interposes sigaltstack(2). Samples are taken on the stack that a thread has for signals, and one
 * that is just large enough for the program's handlers is not for them: the kernel would kill the
 * program. Such a thread gets one of ours, and is shown its own. */
#include "preload/interpose/altstack.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

/* Of older headers, as is the least that the kernel takes. */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#if defined(__x86_64__)
#define LEAST_BYTES 2048
#elif defined(__aarch64__)
#define LEAST_BYTES 5120
#endif

/* What an engine's handler takes, beside the frame that the kernel writes. */
#define HANDLER_BYTES 4096
#define OURS_BYTES    (64u << 10)

static __thread struct {
	void *ours; /* NULL until one is needed */
	stack_t shown;
} mine __attribute__((tls_model("initial-exec")));

static bool is_too_small(const stack_t *stack)
{
	return !(stack->ss_flags & SS_DISABLE) && stack->ss_size >= LEAST_BYTES &&
	       stack->ss_size < getauxval(AT_MINSIGSTKSZ) + HANDLER_BYTES;
}

/* One of ours, as STACK is to be used, in GIVEN; STACK itself when there is no memory. */
static const stack_t *replace(const stack_t *stack, stack_t *given)
{
	void *memory = mine.ours;

	if (!memory)
		memory = mmap(NULL, OURS_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (memory == MAP_FAILED)
		return stack;
	mine.ours = memory;
	*given = (stack_t){ .ss_sp = memory, .ss_flags = stack->ss_flags, .ss_size = OURS_BYTES };
	return given;
}

EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	const stack_t *set = stack;
	stack_t given, before;

	if (stack && hooks_get() && is_too_small(stack))
		set = replace(stack, &given);
	if (REAL(sigaltstack)(set, &before))
		return -1;
	if (mine.ours && before.ss_sp == mine.ours) {
		before.ss_sp = mine.shown.ss_sp;
		before.ss_size = mine.shown.ss_size;
	}
	if (set != stack)
		mine.shown = *stack;
	if (old) /* which may be STACK */
		*old = before;
	return 0;
}

void altstack_end(void)
{
	static const stack_t none = { .ss_flags = SS_DISABLE };
	stack_t now;

	if (!mine.ours || REAL(sigaltstack)(NULL, &now))
		return;
	if (now.ss_sp == mine.ours && REAL(sigaltstack)(&none, NULL))
		return; /* it ends in a handler on that stack */
	munmap(mine.ours, OURS_BYTES);
	mine.ours = NULL;
}
