/* Interposes sigaltstack(2) and munmap(2). Samples are taken on alternate signal stacks. Most threads have none, or one that is
 * only large enough for the program's handlers: then the kernel would end the program. Such threads get one of our
 * stacks, and see their own or none.
 *
 * The kernel disables our stack while a handler runs on it (SS_AUTODISARM). So a handler may leave it permanently,
 * and a second signal does not start at its top again. */
#include "preload/interpose/altstack.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "arch/stacks.h"
#include "core/memory/given_stacks.h"
#include "core/memory/index_stack.h"
#include "core/memory/region.h"
#include "core/system.h"
#include "engine/reading/memory_reader.h"
#include "engine/reading/thread_data.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

/* Older headers lack it. */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#undef SS_AUTODISARM /* an enumerator, or too large for an int */
#define SS_AUTODISARM ((int)(1u << 31))
/* Stack of an engine's handler, without the kernel's frame. */
#define HANDLER_BYTES 4096
#define OURS_BYTES    (64u << 10)

/* Minimum free bytes of the interrupted stack for a handler to run there. */
#define ROOM_BYTES (32u << 10)

/* As at a thread's start: no main thread has a deeper stack. */
#define MAIN_STACK_MAX (64u << 20)

/* Stacks are in blocks that are kept for later threads, which saves system calls. A block is one mapping: a process
 * has a limited number, and a fork copies each. */
#define BLOCK_STACKS 64u
#define BLOCKS_MAX   1024u
#define NONE         UINT32_MAX

/* Free stacks are numbered from 1, so that all members are initially zero and not in the file. */
static struct {
	char *_Atomic blocks[BLOCKS_MAX];
	_Atomic uint32_t
		next[BLOCKS_MAX * BLOCK_STACKS]; /* the next free one after each free one */
	_Atomic uint32_t used;                   /* stacks that were ever used */
	struct index_stack free;
} pool;

static char first_threads[OURS_BYTES] __attribute__((aligned(16)));

static __thread struct {
	char *ours;                      /* NULL: not needed yet */
	uintptr_t low, high;             /* the thread's own stack; 0: unknown */
	bool disarms;                    /* our stack is in use with SS_AUTODISARM */
	bool is_removed;                 /* for the current exec */
	stack_t shown;                   /* what the program sees while our stack is in use */
	uintptr_t given_low, given_high; /* the program's stack that the kernel uses; 0: none */
	uint32_t claim;                  /* of that stack */
} mine __attribute__((tls_model("initial-exec")));

static char *stack_at(uint32_t index)
{
	return atomic_load(&pool.blocks[index / BLOCK_STACKS]) +
	       (size_t)(index % BLOCK_STACKS) * OURS_BYTES;
}

/* A page costs memory only after its first use. */
static char *block_new(void)
{
	size_t bytes = BLOCK_STACKS * OURS_BYTES;
	void *block = region_has_room_for_stacks(bytes) ? system_map(bytes) : NULL;

	if (block)
		region_mark(block, bytes, REGION_STACKS);
	return block;
}

static char *stack_new(void)
{
	uint32_t index = atomic_load(&pool.used);
	char *_Atomic *place;
	char *block, *none = NULL;

	do {
		if (index >= BLOCKS_MAX * BLOCK_STACKS)
			return NULL;
		place = &pool.blocks[index / BLOCK_STACKS];
		if (atomic_load(place))
			continue;
		block = block_new();
		if (!block)
			return NULL;
		if (!atomic_compare_exchange_strong(place, &none, block))
			system_unmap(block, BLOCK_STACKS * OURS_BYTES);
		none = NULL;
	} while (!atomic_compare_exchange_weak(&pool.used, &index, index + 1));
	return stack_at(index);
}

static _Atomic uint32_t *stack_next(uint32_t number)
{
	return &pool.next[number - 1];
}

void *altstack_allocate(void)
{
	uint32_t number = index_stack_pop(&pool.free, stack_next);

	return number ? stack_at(number - 1) : stack_new();
}

static uint32_t stack_index(const char *stack)
{
	uint32_t blocks = (atomic_load(&pool.used) + BLOCK_STACKS - 1) / BLOCK_STACKS;

	for (uint32_t i = 0; i < blocks; i++) {
		size_t offset = (size_t)(stack - atomic_load(&pool.blocks[i]));

		if (offset < BLOCK_STACKS * OURS_BYTES)
			return i * BLOCK_STACKS + (uint32_t)(offset / OURS_BYTES);
	}
	return NONE;
}

void altstack_free(void *stack)
{
	uint32_t index = stack ? stack_index(stack) : NONE;

	if (index != NONE) /* the first thread's stack has none */
		index_stack_push(&pool.free, stack_next, index + 1);
}

/* STACK, with CLAIM, is the one that the kernel uses from now on; NULL: ours. */
static void altstack_note_given(const stack_t *stack, uint32_t claim)
{
	bool none = !stack || stack->ss_flags & SS_DISABLE;

	if (claim != mine.claim)
		given_stack_release(mine.claim);
	mine.claim = claim;
	mine.given_low = none ? 0 : (uintptr_t)stack->ss_sp;
	mine.given_high = none ? 0 : mine.given_low + stack->ss_size;
}

static int altstack_use_given(const stack_t *stack, uint32_t claim)
{
	int err = REAL(sigaltstack)(stack, NULL);

	if (!err)
		altstack_note_given(stack, claim);
	else if (claim != mine.claim)
		given_stack_release(claim);
	return err;
}

/* Install our stack, unseen by the program. BEFORE, which may be NULL, receives the previous one. */
static int altstack_use_own(stack_t *before)
{
	stack_t given = { .ss_sp = mine.ours, .ss_flags = SS_AUTODISARM, .ss_size = OURS_BYTES };
	int err = REAL(sigaltstack)(&given, before);

	mine.disarms = !err;
	if (err) {
		given.ss_flags = 0; /* before Linux 4.7 */
		err = REAL(sigaltstack)(&given, before);
	}
	if (!err) {
		mine.shown = (stack_t){ .ss_flags = SS_DISABLE };
		altstack_note_given(NULL, 0);
		thread_data_note(mine.ours);
	}
	return err;
}

static bool stack_contains(const char *stack, uintptr_t address)
{
	return stack && address - (uintptr_t)stack < OURS_BYTES;
}

void altstack_remove(void)
{
	static const stack_t none = { .ss_flags = SS_DISABLE };
	char *ours = mine.ours;
	stack_t before;

	given_stack_release(mine.claim);
	mine.claim = 0;
	if (!ours || stack_contains(ours, (uintptr_t)__builtin_frame_address(0)) ||
	    REAL(sigaltstack)(&none, &before))
		return; /* the thread ends in a handler on that stack */
	/* It is the program's own. */
	if (before.ss_sp != ours && !(before.ss_flags & SS_DISABLE))
		REAL(sigaltstack)(&before, NULL);
	mine.ours = NULL;
	altstack_free(ours);
}

void altstack_reset_in_child(void)
{
	given_stacks_reset_in_child(mine.claim);
}

void altstack_before_exec(void)
{
	static const stack_t none = { .ss_flags = SS_DISABLE };
	stack_t now;

	mine.is_removed = mine.disarms && !REAL(sigaltstack)(NULL, &now) &&
			  now.ss_sp == mine.ours && !REAL(sigaltstack)(&none, NULL);
}

void altstack_exec_failed(void)
{
	if (mine.is_removed)
		altstack_use_own(NULL);
}

static bool stack_is_too_small(const stack_t *stack)
{
	return stack->ss_size >= ARCH_SIGNAL_STACK_MIN &&
	       stack->ss_size < getauxval(AT_MINSIGSTKSZ) + HANDLER_BYTES;
}

/* Install our stack with the settings of the program's STACK, which the program sees. */
static int altstack_replace(const stack_t *stack)
{
	stack_t given = *stack;

	given.ss_sp = mine.ours;
	given.ss_size = OURS_BYTES;
	if (REAL(sigaltstack)(&given, NULL))
		return -1;
	mine.disarms = false; /* the program's setting */
	mine.shown = *stack;
	altstack_note_given(NULL, 0);
	return 0;
}

/* Install STACK; if it is too small, another thread's or none, one of our stacks with the same settings. */
static int altstack_set(const stack_t *stack)
{
	bool none = (stack->ss_flags & ~SS_AUTODISARM) ==
		    SS_DISABLE; /* the kernel refuses other flags */
	uint32_t claim = none || stack_is_too_small(stack)
				 ? 0
				 : given_stack_claim((uintptr_t)stack->ss_sp, mine.claim);

	if (claim)
		return altstack_use_given(stack, claim);
	if (!mine.ours && !none)
		mine.ours = altstack_allocate();
	if (!mine.ours)
		return altstack_use_given(stack, 0);
	if (none)
		return altstack_use_own(NULL);
	return altstack_replace(stack);
}

void altstack_install(void *stack, uintptr_t low, uintptr_t high)
{
	stack_t before;

	mine.ours = stack;
	mine.low = low;
	mine.high = high;
	/* Another library may have installed one before. */
	if (stack && !altstack_use_own(&before) && !(before.ss_flags & SS_DISABLE))
		altstack_set(&before);
}

void altstack_install_main(void)
{
	uintptr_t top = getauxval(AT_EXECFN), size = MAIN_STACK_MAX;
	struct rlimit limit;

	if (!top || system_limit(RLIMIT_STACK, &limit))
		top = size = 0;
	else if (limit.rlim_cur < size)
		size = limit.rlim_cur;
	thread_data_begin();
	altstack_install(first_threads, top - size, top);
}

/* Change NOW, from the kernel, to what the program has set. */
static void altstack_hide_own(stack_t *now)
{
	if (!mine.ours || now->ss_sp != mine.ours)
		return;
	now->ss_sp = mine.shown.ss_sp;
	now->ss_size = mine.shown.ss_size;
	if (mine.shown.ss_flags & SS_DISABLE)
		now->ss_flags = SS_DISABLE;
}

static bool stack_is_unreadable(const stack_t *stack)
{
	return stack &&
	       (!memory_probe((uintptr_t)stack) || !memory_probe((uintptr_t)(stack + 1) - 1));
}

/* The system refuses addresses that it cannot read or write. */
EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	stack_t before;

	if (!hooks_get() || stack_is_unreadable(stack))
		return REAL(sigaltstack)(stack, old);
	if (REAL(sigaltstack)(NULL, &before))
		return -1;
	altstack_hide_own(&before);
	if (stack && altstack_set(stack))
		return -1;
	if (!old) /* may be the same as STACK */
		return 0;
	if (REAL(sigaltstack)(NULL, old))
		return -1;
	*old = before;
	return 0;
}

/* The kernel refuses the change while a handler runs on the program's stack. */
static COLD void altstack_leave_given(void)
{
	stack_t given;
	int saved = errno;

	if (!mine.ours)
		mine.ours = altstack_allocate();
	if (mine.ours && !REAL(sigaltstack)(NULL, &given) &&
	    (uintptr_t)given.ss_sp == mine.given_low && !(given.ss_flags & SS_DISABLE))
		altstack_replace(&given);
	errno = saved;
}

/* A program may unmap its stack and leave it installed, if no signal comes that needs it. A sample would come. */
EXPORT int munmap(void *memory, size_t length)
{
	uintptr_t low = (uintptr_t)memory;

	if (low < mine.given_high && low + length > mine.given_low && hooks_get())
		altstack_leave_given();
	return REAL(munmap)(memory, length);
}

/* siglongjmp(3) of programs built with _FORTIFY_SOURCE. It ends the process if the target is below its stack pointer,
 * unless the kernel says that the thread is on its alternate stack. On our stack, which is disabled while a handler of
 * the program runs on it, the kernel does not say so. Without the agent that handler would be on the interrupted stack.
 *
 * (Such handlers cannot be kept off our stack: without SA_ONSTACK, handlers of Go would run on the stacks of goroutines.
 * Go installs them by the C library, but makes sigaltstack(2) itself, finds our stack, and uses it.) */
EXPORT void __longjmp_chk(struct __jmp_buf_tag *target, int value)
{
	if (!mine.disarms || !stack_contains(mine.ours, (uintptr_t)__builtin_frame_address(0)))
		REAL(__longjmp_chk)(target, value);
	REAL(siglongjmp)(target, value);
}

/* Only if our stack is disabled meanwhile: a fault in HANDLER has a handler on it, too. */
void altstack_run_handler(sample_handler handler, int signo, siginfo_t *info, void *context)
{
	uintptr_t sp = (uintptr_t)CONTEXT_SP((const ucontext_t *)context);

	if (mine.disarms && stack_contains(mine.ours, (uintptr_t)__builtin_frame_address(0)) &&
	    sp < mine.high && sp >= mine.low + ROOM_BYTES)
		arch_call_on((sp - ARCH_RED_ZONE) & ~(uintptr_t)15, handler, signo, info, context);
	else
		handler(signo, info, context);
}
