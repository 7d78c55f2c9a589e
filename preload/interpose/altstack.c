/* Interposes sigaltstack(2). Samples are taken on the stack that a thread has for signals. Most have
 * none, and one that is just large enough for the program's handlers is not for them: the kernel would
 * kill the program. Such threads get one of ours, and are shown their own, or none.
 *
 * The kernel takes ours out of use while a handler is on it (SS_AUTODISARM), so that a handler may
 * leave it for good, and a signal that comes meanwhile does not begin at its top again. */
#include "preload/interpose/altstack.h"

#include <stdatomic.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "core/system.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

/* Of older headers, as is the least that the kernel takes. */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#undef SS_AUTODISARM /* an enumerator, or too large for an int */
#define SS_AUTODISARM ((int)(1u << 31))
#if defined(__x86_64__)
#define LEAST_BYTES    2048
#define RED_ZONE       128
#define CONTEXT_SP(uc) ((uintptr_t)(uc)->uc_mcontext.gregs[REG_RSP])
#elif defined(__aarch64__)
#define LEAST_BYTES    5120
#define RED_ZONE       0
#define CONTEXT_SP(uc) ((uintptr_t)(uc)->uc_mcontext.sp)
#endif

/* What an engine's handler takes, beside the frame that the kernel writes. */
#define HANDLER_BYTES 4096
#define OURS_BYTES    (64u << 10)

/* What has to be left of a thread's own stack for a handler to go back there. */
#define ROOM_BYTES (32u << 10)

/* As with the other side of a thread's start: no thread of the main one's kind has a deeper stack. */
#define MAIN_STACK_MAX (64u << 20)

/* Stacks come from blocks that stay, as the next thread wants one too, and costs a system call less.
 * One block is one mapping: a process may not have many, and a fork copies them one by one. */
#define BLOCK_STACKS 64u
#define BLOCKS_MAX   1024u
#define NONE         UINT32_MAX

/* Free stacks are counted from 1, so that all of this is zero in the beginning and not in the file. */
static struct {
	char *_Atomic blocks[BLOCKS_MAX];
	_Atomic uint32_t next[BLOCKS_MAX * BLOCK_STACKS]; /* the one below each free one */
	_Atomic uint32_t used;                            /* stacks ever taken */
	/* The uppermost free one in the low half, 0 for none, a count against its reuse between load
	 * and exchange in the high half. */
	_Atomic uint64_t free;
} pool;

static char first_threads[OURS_BYTES] __attribute__((aligned(16)));

static __thread struct {
	char *ours;          /* NULL: has none, and has not needed one */
	uintptr_t low, high; /* its own stack; 0: not known */
	bool disarms;        /* what is in use of ours is taken out of use by its use */
	stack_t shown;       /* while it is in use */
} mine __attribute__((tls_model("initial-exec")));

static char *stack_at(uint32_t index)
{
	return atomic_load(&pool.blocks[index / BLOCK_STACKS]) +
	       (size_t)(index % BLOCK_STACKS) * OURS_BYTES;
}

/* Its pages cost memory only once they are used, and are not to become huge ones by that. */
static char *block_new(void)
{
	char *block = system_map(BLOCK_STACKS * OURS_BYTES);

	if (block)
		kernel_call4(SYS_madvise, (long)block, BLOCK_STACKS * OURS_BYTES, MADV_NOHUGEPAGE,
			     0);
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

void *altstack_allocate(void)
{
	uint64_t top = atomic_load(&pool.free), next;

	do {
		if (!(uint32_t)top)
			return stack_new();
		next = ((top >> 32) + 1) << 32 | atomic_load(&pool.next[(uint32_t)top - 1]);
	} while (!atomic_compare_exchange_weak(&pool.free, &top, next));
	return stack_at((uint32_t)top - 1);
}

static uint32_t index_of(const char *stack)
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
	uint64_t top = atomic_load(&pool.free), next;
	uint32_t index = stack ? index_of(stack) : NONE;

	if (index == NONE) /* the first thread's, too */
		return;
	do {
		atomic_store(&pool.next[index], (uint32_t)top);
		next = ((top >> 32) + 1) << 32 | (index + 1);
	} while (!atomic_compare_exchange_weak(&pool.free, &top, next));
}

/* Ours, without a word to the program. */
static int altstack_use_own(void)
{
	stack_t given = { .ss_sp = mine.ours, .ss_flags = SS_AUTODISARM, .ss_size = OURS_BYTES };
	int err = REAL(sigaltstack)(&given, NULL);

	mine.disarms = !err;
	if (err) {
		given.ss_flags = 0; /* before Linux 4.7 */
		err = REAL(sigaltstack)(&given, NULL);
	}
	if (!err)
		mine.shown = (stack_t){ .ss_flags = SS_DISABLE };
	return err;
}

void altstack_install(void *stack, uintptr_t low, uintptr_t high)
{
	stack_t now;

	mine.ours = stack;
	mine.low = low;
	mine.high = high;
	/* A library's constructor may have been first. */
	if (stack && !REAL(sigaltstack)(NULL, &now) && now.ss_flags & SS_DISABLE)
		altstack_use_own();
}

void altstack_install_main(void)
{
	uintptr_t top = getauxval(AT_EXECFN), size = MAIN_STACK_MAX;
	struct rlimit limit;

	if (!top || system_limit(RLIMIT_STACK, &limit))
		top = size = 0;
	else if (limit.rlim_cur < size)
		size = limit.rlim_cur;
	altstack_install(first_threads, top - size, top);
}

static bool stack_contains(const char *stack, uintptr_t address)
{
	return stack && address - (uintptr_t)stack < OURS_BYTES;
}

void altstack_remove(void)
{
	static const stack_t none = { .ss_flags = SS_DISABLE };
	char *ours = mine.ours;
	stack_t now;

	if (!ours || REAL(sigaltstack)(NULL, &now))
		return;
	if (stack_contains(ours, (uintptr_t)__builtin_frame_address(0)) ||
	    (now.ss_sp == ours && REAL(sigaltstack)(&none, NULL)))
		return; /* it ends in a handler on that stack */
	mine.ours = NULL;
	altstack_free(ours);
}

static bool stack_is_too_small(const stack_t *stack)
{
	return stack->ss_size >= LEAST_BYTES &&
	       stack->ss_size < getauxval(AT_MINSIGSTKSZ) + HANDLER_BYTES;
}

/* Set STACK; in its place one of ours, as it is to be used, where it is too small, or where it is
 * none. */
static int altstack_set(const stack_t *stack)
{
	bool none = stack->ss_flags & SS_DISABLE;
	stack_t given = *stack;

	if (!none && !stack_is_too_small(stack))
		return REAL(sigaltstack)(stack, NULL);
	if (!mine.ours && !none)
		mine.ours = altstack_allocate();
	if (!mine.ours)
		return REAL(sigaltstack)(stack, NULL);
	if (none)
		return altstack_use_own();
	given.ss_sp = mine.ours;
	given.ss_size = OURS_BYTES;
	if (REAL(sigaltstack)(&given, NULL))
		return -1;
	mine.disarms = false; /* as the program has it */
	mine.shown = *stack;
	return 0;
}

/* NOW, which the kernel tells, as the program has set it. */
static void altstack_hide_own(stack_t *now)
{
	if (!mine.ours || now->ss_sp != mine.ours)
		return;
	now->ss_sp = mine.shown.ss_sp;
	now->ss_size = mine.shown.ss_size;
	if (mine.shown.ss_flags & SS_DISABLE)
		now->ss_flags = SS_DISABLE;
}

EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	stack_t before;

	if (!hooks_get())
		return REAL(sigaltstack)(stack, old);
	if (REAL(sigaltstack)(NULL, &before))
		return -1;
	altstack_hide_own(&before);
	if (stack && altstack_set(stack))
		return -1;
	if (old) /* which may be STACK */
		*old = before;
	return 0;
}

static void arch_call_on(uintptr_t sp, sample_handler handler, int signo, siginfo_t *info,
			 void *context)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[sp], %%rsp\n\t"
			 "callq *%[handler]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(signo), "+S"(info),
			   "+d"(context), [handler] "+a"(handler), [sp] "+c"(sp)
			 :
			 : "rbx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
			   "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			   "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
	register long x0 __asm__("x0") = signo;
	register siginfo_t *x1 __asm__("x1") = info;
	register void *x2 __asm__("x2") = context;
	register sample_handler x3 __asm__("x3") = handler;
	register uintptr_t x4 __asm__("x4") = sp;

	__asm__ volatile("mov x19, sp\n\t"
			 "mov sp, x4\n\t"
			 "blr x3\n\t"
			 "mov sp, x19"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x4)
			 :
			 : "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
			   "x16", "x17", "x19", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4",
			   "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
			   "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
			   "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

/* Only from a stack that is out of use meanwhile: a fault in HANDLER has a handler, too. */
void altstack_go_back(sample_handler handler, int signo, siginfo_t *info, void *context)
{
	uintptr_t sp = CONTEXT_SP((const ucontext_t *)context);

	if (mine.disarms && stack_contains(mine.ours, (uintptr_t)__builtin_frame_address(0)) &&
	    sp < mine.high && sp >= mine.low + ROOM_BYTES)
		arch_call_on((sp - RED_ZONE) & ~(uintptr_t)15, handler, signo, info, context);
	else
		handler(signo, info, context);
}
