/* engine/unwind/unwind: real stacks of every shape, each walked to the thread's entry, and invalid
 * stacks. */
#include "core/preload_code.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/unwind/unwind.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "arch/arch.h"
#include "arch/code.h"
#include "engine/modules/modules.h"
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_stats.h"
#include "test/fixtures/compile_modules.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#define FRAMES 512
#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#endif
/* Keeps a call from becoming a jump. */
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

struct stack {
	uintptr_t pcs[FRAMES];
	size_t count;
	bool truncated;
};

/* The results of this test's walks. */
static struct unwind_stats ends(void)
{
	static struct unwind_stats before;
	struct unwind_stats now, difference;

	unwind_stats_read(&now);
	for (size_t i = 0; i < UNWIND_ENDS; i++) {
		difference.walks[i] = now.walks[i] - before.walks[i];
		before.walks[i] = now.walks[i];
	}
	return difference;
}

/* The stack according to libgcc's unwinder: the reference. */
static _Unwind_Reason_Code oracle_frame(struct _Unwind_Context *context, void *data)
{
	struct stack *stack = data;

	if (stack->count < FRAMES && _Unwind_GetIP(context))
		stack->pcs[stack->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void setup(void)
{
	cfi_lookup_init();
	ck_assert_int_eq(modules_open(), 0);
	ends();
}

/* As after many walks through all modules. */
static void setup_tables(void)
{
	setup();
	ck_assert_int_ge(compile_modules(), 0);
}

static void teardown(void)
{
	modules_close();
}

/* ---- Own stacks, compared with the reference ---- */

static uintptr_t stack_high; /* as given to the walks */

/* Both walks of the stack above the caller of this must be equal, to the entry. */
NOINLINE static void compare_here(void)
{
	static struct stack ours, oracle;
	struct unwind_stats stats;

	oracle.count = 0;
	_Unwind_Backtrace(oracle_frame, &oracle);
	ends();
	ours.count = unwind_here(stack_high, 0, ours.pcs, FRAMES, &ours.truncated);
	stats = ends();
	/* The reference's first frame is this function. */
	ck_assert_uint_eq(ours.count, oracle.count - 1);
	/* The caller's two calls here are the same one, so every return address is equal. */
	ck_assert_mem_eq(ours.pcs, oracle.pcs + 1, ours.count * sizeof(ours.pcs[0]));
	ck_assert(!ours.truncated);
	ck_assert_uint_eq(stats.walks[UNWIND_COMPLETE], 1);
	NO_TAIL_CALL;
}

NOINLINE static int recurse(int depth, void (*bottom)(void))
{
	volatile int local = depth;

	if (depth)
		return recurse(depth - 1, bottom) + local;
	bottom();
	return local;
}

NOINLINE static int recurse_alloca(int depth, void (*bottom)(void))
{
	volatile char *room = __builtin_alloca((size_t)depth * 1000 + 1);

	room[0] = 1;
	if (depth)
		return recurse_alloca(depth - 1, bottom) + room[0];
	bottom();
	return room[0];
}

NOINLINE static int recurse_aligned(int depth, void (*bottom)(void), int a, int b, int c, int d,
				    int e, int f)
{
	/* Arguments on the stack and a variable that needs more than its alignment. */
	volatile _Alignas(128) char room[128];
	volatile char *more = __builtin_alloca((size_t)(f & 63) + 1);

	room[0] = (char)(a + b + c + d + e + f);
	more[0] = 0;
	if (depth)
		return recurse_aligned(depth - 1, bottom, b, c, d, e, f, a) + room[0];
	bottom();
	return room[0];
}

NOINLINE static int recurse_large(int depth, void (*bottom)(void))
{
	volatile char room[70000];

	room[0] = 1;
	if (depth)
		return recurse_large(depth - 1, bottom) + room[0];
	bottom();
	return room[0];
}

static jmp_buf after_noreturn;

/* Its call is its last instruction: the return address is in the next function. */
NOINLINE static __attribute__((noreturn)) void leave_by_jump(void (*bottom)(void))
{
	bottom();
	longjmp(after_noreturn, 1);
}

NOINLINE static int call_noreturn(void (*bottom)(void))
{
	if (!setjmp(after_noreturn))
		leave_by_jump(bottom);
	return 1;
}

static void (*compare_bottom)(void);

static int compare_in_qsort(const void *a, const void *b)
{
	(void)a;
	(void)b;
	if (compare_bottom)
		compare_bottom();
	compare_bottom = NULL;
	return 0;
}

static void all_shapes(void (*bottom)(void))
{
	int numbers[4] = { 0 };

	recurse(0, bottom);
	recurse(5, bottom);
	recurse(200, bottom);
	recurse_alloca(20, bottom);
	recurse_aligned(20, bottom, 1, 2, 3, 4, 5, 6);
	recurse_large(5, bottom);
	call_noreturn(bottom);
	compare_bottom = bottom;
	qsort(numbers, 4, sizeof(numbers[0]), compare_in_qsort);
}

static uintptr_t own_stack_high(void)
{
	pthread_attr_t attributes;
	size_t size;
	void *low;

	ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
	pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_destroy(&attributes);
	return (uintptr_t)low + size;
}

START_TEST(here_main)
{
	stack_high = 0;
	all_shapes(compare_here);
	stack_high = own_stack_high();
	all_shapes(compare_here);
	/* A wrong end of stack costs time, not correctness. */
	stack_high = own_stack_high() + 12345678;
	all_shapes(compare_here);
}
END_TEST

static void *shapes_in_thread(void *argument)
{
	(void)argument;
	stack_high = own_stack_high();
	all_shapes(compare_here);
	return NULL;
}

START_TEST(here_thread)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, shapes_in_thread, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

NOINLINE static void check_skip(void)
{
	uintptr_t all[8], some[8];
	bool truncated;
	size_t count;

	/* One call, so that all return addresses are the same. */
	for (size_t skip = 0; skip < 3; skip++) {
		count = unwind_here(0, skip, skip ? some : all, 4, &truncated);
		ck_assert_uint_eq(count, 4);
		ck_assert(truncated);
		if (skip)
			ck_assert_mem_eq(some, all + skip, (4 - skip) * sizeof(all[0]));
	}
	NO_TAIL_CALL;
}

START_TEST(here_skips_and_truncates)
{
	uintptr_t none = 0;
	bool truncated;

	recurse(10, check_skip);
	ck_assert_uint_eq(unwind_here(0, 0, &none, 0, &truncated), 0);
	ck_assert(truncated);
	ck_assert_uint_eq(unwind_here(0, 1000, &none, 1, &truncated), 0);
	ck_assert(!truncated);
}
END_TEST

/* ---- From a handler ---- */

static struct stack expected; /* the frames above the function that raises */
static struct stack walked;
static uintptr_t handler_stack_high;
static bool errno_spoilt;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)signo;
	(void)info;
	errno = 4711;
	walked.count =
		unwind_context(context, handler_stack_high, walked.pcs, FRAMES, &walked.truncated);
	errno_spoilt |= errno != 4711;
	errno = saved;
}

static void on_signal_here(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	walked.count = unwind_here(handler_stack_high, 0, walked.pcs, FRAMES, &walked.truncated);
}

/* The outermost frames of the walk are the expected ones. */
static void check_walked(size_t least_inner)
{
	struct unwind_stats stats = ends();

	ck_assert_uint_eq(stats.walks[UNWIND_COMPLETE], 1);
	ck_assert(!errno_spoilt);
	ck_assert(!walked.truncated);
	ck_assert_uint_ge(walked.count, expected.count + least_inner);
	ck_assert_mem_eq(walked.pcs + (walked.count - expected.count), expected.pcs,
			 expected.count * sizeof(expected.pcs[0]));
}

static void handle(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigfillset(&action.sa_mask);
	ck_assert_int_eq(sigaction(signo, &action, NULL), 0);
}

NOINLINE static void raise_here(void)
{
	expected.count = 0;
	_Unwind_Backtrace(oracle_frame, &expected);
	/* The first is this function at another call. */
	memmove(expected.pcs, expected.pcs + 1, --expected.count * sizeof(expected.pcs[0]));
	ends();
	raise(SIGUSR1);
	check_walked(2);
	NO_TAIL_CALL;
}

START_TEST(from_handler)
{
	handle(SIGUSR1, on_signal, 0);
	handler_stack_high = 0;
	all_shapes(raise_here);
	handler_stack_high = own_stack_high();
	all_shapes(raise_here);
}
END_TEST

START_TEST(through_signal_frame)
{
	handle(SIGUSR1, on_signal_here, 0);
	handler_stack_high = own_stack_high();
	all_shapes(raise_here);
}
END_TEST

START_TEST(through_alternate_stack)
{
	stack_t alternate = { .ss_size = 1 << 16 };

	alternate.ss_sp = mmap(NULL, alternate.ss_size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(alternate.ss_sp, MAP_FAILED);
	ck_assert_int_eq(sigaltstack(&alternate, NULL), 0);
	handle(SIGUSR1, on_signal_here, SA_ONSTACK);
	handler_stack_high = own_stack_high();
	all_shapes(raise_here);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	all_shapes(raise_here);
	alternate.ss_flags = SS_DISABLE;
	ck_assert_int_eq(sigaltstack(&alternate, NULL), 0);
	munmap(alternate.ss_sp, 1 << 16);
}
END_TEST

/* clang's thread sanitizer calls the inner handler after raise() has returned, with the earlier
 * registers: they no longer describe the stack. */
#if THREAD_SANITIZED && defined(__clang__)
#define NESTED_IN_TIME 0
#else
#define NESTED_IN_TIME 1
#endif

/* A handler interrupted by a handler. */
static void raise_again(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	raise(SIGUSR2);
}

START_TEST(through_nested_signals)
{
	handle(SIGUSR1, raise_again, 0);
	handle(SIGUSR2, on_signal, 0);
	sigaction(SIGUSR1,
		  &(struct sigaction){ .sa_sigaction = raise_again, .sa_flags = SA_SIGINFO }, NULL);
	handler_stack_high = own_stack_high();
	all_shapes(raise_here);
	/* The first interrupted frame is one higher than its instruction, the callers are not. */
}
END_TEST

/* ---- Fibers ---- */

static ucontext_t main_fiber, fiber;
static size_t fiber_frames;

static void fiber_main(void)
{
	bool truncated;
	static uintptr_t pcs[FRAMES];

	fiber_frames = unwind_here(handler_stack_high, 0, pcs, FRAMES, &truncated);
	swapcontext(&fiber, &main_fiber);
}

START_TEST(fiber_ends)
{
	const size_t size = 1 << 16;
	char *low = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	handler_stack_high = own_stack_high();
	ck_assert_ptr_ne(low, MAP_FAILED);
	ck_assert_int_eq(getcontext(&fiber), 0);
	fiber.uc_stack.ss_sp = low;
	fiber.uc_stack.ss_size = size;
	fiber.uc_link = &main_fiber;
	makecontext(&fiber, fiber_main, 0);
	ends();
	ck_assert_int_eq(swapcontext(&main_fiber, &fiber), 0);
	ck_assert_uint_eq(fiber_frames, 1); /* makecontext's trampoline */
	ck_assert_uint_eq(ends().walks[UNWIND_COMPLETE], 1);
	munmap(low, size);
}
END_TEST

/* ---- Invalid stacks ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uintptr_t random_register(uintptr_t near)
{
	switch (random_next() % 6) {
	case 0:
		return near + random_next() % 4096;
	case 1:
		return (near & ~(uintptr_t)4095) + random_next() % (1 << 24);
	case 2:
		return (near - random_next() % (1 << 24)) & ~(uintptr_t)7;
	case 3:
		return random_next();
	case 4:
		return random_next() >> 17;
	default:
		return random_next() % 3 - 1;
	}
}

static void set_register(ucontext_t *context, unsigned number, uintptr_t value)
{
	memcpy((char *)context + arch_register_offset(number), &value, sizeof(value));
}

START_TEST(random_contexts)
{
	static struct stack stack;
	uintptr_t high = own_stack_high(), pc;
	ucontext_t context;

	memset(&context, 0, sizeof(context));
	for (int i = 0; i < 20000; i++) {
		for (unsigned number = 0; number < ARCH_REGISTERS; number++)
			if (arch_register_offset(number) >= 0)
				set_register(&context, number,
					     random_register((uintptr_t)&context));
		pc = random_next() % 2 ? (uintptr_t)qsort + random_next() % 100000
				       : random_register((uintptr_t)random_contexts);
		memcpy((char *)&context + arch_pc_offset(), &pc, sizeof(pc));
		stack.count = unwind_context(&context, random_next() % 2 ? high : 0, stack.pcs,
					     FRAMES, &stack.truncated);
		ck_assert_uint_ge(stack.count, 1);
		ck_assert_uint_le(stack.count, FRAMES);
		ck_assert_uint_eq(stack.pcs[0], pc);
	}
}
END_TEST

/* Calls, one after another: every fourth byte of the page at CODE, except the first, is after one. */
static void fill_with_calls(char *code)
{
#ifdef __x86_64__
	static const uint8_t call[4] = { 0x90, 0x90, 0xff, 0xd0 };
#else
	static const uint8_t call[4] = { 0x00, 0x00, 0x3f, 0xd6 };
#endif

	for (size_t i = 0; i < 4096; i += sizeof(call))
		memcpy(code + i, call, sizeof(call));
}

/* A cyclic frame pointer chain, in code without rules. */
START_TEST(cycle)
{
	uintptr_t frames[4] = { 0 };
	struct stack stack;
	ucontext_t context;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(code, MAP_FAILED);
	fill_with_calls(code);
	memset(&context, 0, sizeof(context));
	frames[0] = (uintptr_t)&frames[2];
	frames[1] = (uintptr_t)code + 100;
	frames[2] = (uintptr_t)&frames[0];
	frames[3] = (uintptr_t)code + 200;
	set_register(&context, ARCH_SP, (uintptr_t)frames);
	set_register(&context, ARCH_FP, (uintptr_t)frames);
	memcpy((char *)&context + arch_pc_offset(), &code, sizeof(code));
	ends();
	stack.count = unwind_context(&context, 0, stack.pcs, FRAMES, &stack.truncated);
	ck_assert_uint_eq(stack.count, 4);
	ck_assert_uint_eq(stack.pcs[1], frames[1]);
	ck_assert_uint_eq(stack.pcs[2], frames[3]);
	ck_assert_uint_eq(stack.pcs[3], STACK_CALLERS_UNKNOWN);
	ck_assert_uint_eq(ends().walks[UNWIND_COMPLETE], 0);
	munmap(code, 4096);
}
END_TEST

/* Memory that another thread maps and unmaps, like heaps, stacks and code: a row of frames, by
 * frame pointer, in code of no module. */
#define GOING_BYTES 4096

struct going {
	uintptr_t *frames;
	char *code; /* whose calls return to the frames */
	atomic_bool done;
};

static void map_frames(const struct going *going)
{
	size_t count = GOING_BYTES / sizeof(uintptr_t);
	void *at = mmap(going->frames, GOING_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (at != going->frames ||
	    mmap(going->code, GOING_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != going->code)
		abort();
	fill_with_calls(going->code);
	for (size_t i = 0; i + 3 < count; i += 2) {
		going->frames[i] = (uintptr_t)&going->frames[i + 2];
		going->frames[i + 1] = (uintptr_t)going->code + 64 + 4 * i;
	}
}

static void *come_and_go(void *data)
{
	struct going *going = data;

	while (!atomic_load(&going->done)) {
		map_frames(going);
		munmap(going->frames, GOING_BYTES);
		munmap(going->code, GOING_BYTES);
	}
	return NULL;
}

#define GOING_WALKS 1000 /* that continue, and as many that cannot */

START_TEST(stack_that_comes_and_goes)
{
	static struct going going;
	static struct stack stack;
	uintptr_t pc;
	ucontext_t context;
	pthread_t thread;
	size_t on = 0, ended = 0;

	if (getenv("TEST_RUNNER"))
		return; /* an emulator reports all memory as readable */
	going.frames = mmap(NULL, GOING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	going.code = mmap(NULL, GOING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(going.frames, MAP_FAILED);
	ck_assert_ptr_ne(going.code, MAP_FAILED);
	memset(&context, 0, sizeof(context));
	pc = (uintptr_t)going.code + 32;
	set_register(&context, ARCH_SP, (uintptr_t)going.frames);
	set_register(&context, ARCH_FP, (uintptr_t)going.frames);
	memcpy((char *)&context + arch_pc_offset(), &pc, sizeof(pc));
	ck_assert_int_eq(pthread_create(&thread, NULL, come_and_go, &going), 0);
	while (on < GOING_WALKS || ended < GOING_WALKS) {
		stack.count = unwind_context(&context, 0, stack.pcs, FRAMES, &stack.truncated);
		ck_assert_uint_ge(stack.count, 1);
		ck_assert_uint_le(stack.count, GOING_BYTES / 2 / sizeof(uintptr_t) + 2);
		*(stack.count > 2 ? &on : &ended) += 1;
	}
	atomic_store(&going.done, true);
	pthread_join(thread, NULL);
}
END_TEST

static TCase *walks(const char *how, void (*with)(void))
{
	TCase *tests = tcase_create(how);

	tcase_add_checked_fixture(tests, with, teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, here_main);
	tcase_add_test(tests, here_thread);
	tcase_add_test(tests, here_skips_and_truncates);
	tcase_add_test(tests, from_handler);
	tcase_add_test(tests, through_signal_frame);
	tcase_add_test(tests, through_alternate_stack);
	if (NESTED_IN_TIME)
		tcase_add_test(tests, through_nested_signals);
	tcase_add_test(tests, fiber_ends);
	tcase_add_test(tests, random_contexts);
	tcase_add_test(tests, cycle);
	tcase_add_test(tests, stack_that_comes_and_goes);
	return tests;
}

int main(void)
{
	Suite *suite = suite_create("unwind");

	suite_add_tcase(suite, walks("lookups", setup));
	suite_add_tcase(suite, walks("tables", setup_tables));
	return suite_run_all(suite);
}
