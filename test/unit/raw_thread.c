/* Functions of the host's side that the agent's thread calls, called by a thread that the C library
 * does not know, and whose thread pointer leads to inaccessible memory. A use of errno, a lock, an
 * allocation or a stack's canary would end the test at once. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/agent.h"
#include "core/clock.h"
#include "core/disposition.h"
#include "core/random.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/memory/mem_record.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/ring.h"
#include "engine/sample/sampler.h"
#include "engine/sample/threads.h"
#include "engine/sample/user_events.h"
#include "engine/unwind/unwind_map.h"
#include "test/fixtures/suite.h"

#define PAGE        4096
#define STACK_BYTES (256 * 1024)
#define SECOND      1000000000u

#define RAW_FLAGS                                                                           \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_SETTLS | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)

#if defined(__clang__)
#define BARE __attribute__((noinline, no_stack_protector))
#else
#define BARE __attribute__((noinline, optimize("no-stack-protector")))
#endif

static struct wake wake;
static struct unwind_map no_modules;
static asprof_jfr_event_key key;

/* The thread's result. (It cannot check: Check allocates.) */
static struct {
	int step; /* that it has reached */
	int no_python, ring, signo, admitted, memory;
	uint16_t rule;
	size_t cfi_bytes;
	const uint8_t *header;
	bool quiet, frame, ended, called_off, interrupted;
	unsigned threads, samples;
	uint64_t cpu_ns, lost;
	struct mem_summary retained;
	const char *event, *by;
	struct disposition left;
} found;

/* As the preload's, without its work for interrupted calls. */
static BARE int install(int signo, sampler_handler *handler, int flags)
{
	struct disposition wanted = { .handler = (void *)handler,
				      .flags = (unsigned)(SA_SIGINFO | SA_RESTART | flags),
				      .mask = DISPOSITION_ALL };

	return disposition_set(signo, &wanted, NULL);
}

/* Nothing is pending here. */
static BARE int give_back(int signo)
{
	static const struct disposition by_default = { .handler = (void *)SIG_DFL };

	return disposition_set(signo, &by_default, NULL);
}

static BARE void look_at(void *unused, struct thread *t)
{
	(void)unused;
	found.threads++;
	found.cpu_ns += thread_clock_cpu(&t->clock);
	thread_clock_spare(&t->clock);
	threads_counted(t, clock_ticks());
	found.interrupted |= thread_clock_interrupt(&t->clock);
}

static BARE void take(void *unused, const struct sample *sample)
{
	(void)unused;
	found.samples += sample->kind == SAMPLE_WALL && sample->count > 0;
}

static BARE void retained(void *unused, const struct mem_retained *r)
{
	(void)unused;
	(void)r;
}

static BARE void unwinding(void)
{
	static const struct unwind_rule rule = { .kind = RULE_SP, .offset = 4712 };
	struct script_frame frame;

	cfi_rules_init();
	found.rule = cfi_rule_intern(&rule);
	found.cfi_bytes = cfi_memory();
	found.header = cfi_lookup_header((uintptr_t)unwinding);
	cfi_lookup_lasting(found.header, (uintptr_t)found.header, (uintptr_t)found.header + 1);
	cfi_lookup_outermost();
	unwind_map_publish(&no_modules);
	found.quiet = unwind_map_quiet();
	unwind_map_publish(NULL);
	found.no_python = mixed_stack_look_for(RUNTIME_PYTHON, NULL, 0);
	found.frame = frame_table_find((uintptr_t)unwinding, &frame);
}

static BARE void sampling(void)
{
	struct thread_timers timers = { .cpu_interval_ns = SECOND };
	uint64_t until = clock_monotonic_ns() + 30ull * SECOND;

	found.ring = ring_open(1, 64u << 10, &wake);
	found.signo = timers.signo = sampler_install();
	sampler_enable(true);
	threads_open(&timers);
	threads_adopt(system_process(), 0, 0);
	found.admitted = threads_admit();
	threads_each(look_at, NULL);
	while (!found.samples && clock_monotonic_ns() < until) {
		ring_drain(take, NULL);
		system_sleep(100000);
	}
	sampler_enable(false);
	threads_reap(look_at, NULL);
	threads_close();
	sampler_remove();
	disposition_get(found.signo, &found.left);
	found.lost = ring_lost();
	found.event = user_event_name(key);
}

static BARE void memory(void)
{
	found.memory = mem_record_start(512 << 10);
	mem_collect(retained, NULL, &found.retained);
	mem_stop();
	found.by = mem_passed_by();
}

static int begin(void)
{
	return 0;
}

static BARE void ended(void)
{
	found.ended = true;
}

static BARE int run(void *unused)
{
	(void)unused;
	found.step = 1;
	random_below(2);
	signal_share_set(100, 10);
	unwinding();
	found.step = 2;
	sampling();
	found.step = 3;
	memory();
	found.called_off = agent_stop_is_requested();
	agent_failed(-ENOSYS);
	found.step = 4;
	return 0;
}

static void run_raw(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *stack = malloc(STACK_BYTES);
	static _Atomic pid_t tid = -1;
	pid_t now;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_ptr_nonnull(stack);
	ck_assert_int_gt(clone(run, stack + STACK_BYTES, RAW_FLAGS, NULL, NULL, pages + PAGE, &tid),
			 0);
	/* The kernel sets it to 0 at the end. */
	while ((now = atomic_load(&tid)))
		kernel_call4(SYS_futex, (long)&tid, FUTEX_WAIT, now, 0);
	ck_assert_int_eq(found.step, 4);
	free(stack);
}

static void ignore_late(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
}

START_TEST(all_of_it)
{
	cfi_lookup_init();
	mem_pass_by("a library");
	ck_assert_int_eq(agent_start(0, begin, ended), 0);
	sampler_install_by(install, give_back, ignore_late, NULL);
	key = user_event_register("an event");
	clock_monotonic_ns(); /* as the constructor does: see vdso.h */
	run_raw();
	ck_assert_uint_ge(found.rule, RULE_INDEX_FIRST);
	ck_assert_uint_gt(found.cfi_bytes, 0);
	ck_assert(found.quiet);
	ck_assert_int_eq(found.no_python, 0);
	ck_assert(!found.frame);
	ck_assert_int_eq(found.ring, 0);
	ck_assert_int_gt(found.signo, SIGRTMIN);
	ck_assert_ptr_eq(found.left.handler, (void *)SIG_DFL);
	ck_assert_int_eq(sampler_signal(), 0);
	ck_assert_int_eq(found.admitted, 0);
	ck_assert_uint_ge(found.threads, 1);
	ck_assert_uint_gt(found.cpu_ns, 0);
	ck_assert(found.interrupted);
	ck_assert_uint_ge(found.samples, 1);
	ck_assert_uint_eq(found.lost, 0);
	ck_assert_str_eq(found.event, "an event");
	ck_assert_int_eq(found.memory, 0);
	ck_assert_uint_eq(found.retained.bytes, 0);
	ck_assert_str_eq(found.by, "a library");
	ck_assert(!found.called_off);
	ck_assert(found.ended);
	ck_assert_int_eq(agent_failure(), -ENOSYS);
}
END_TEST

int main(void)
{
	TCase *tests;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	puts("sanitizers look at each thread's own memory");
	return 77;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	puts("sanitizers look at each thread's own memory");
	return 77;
#endif
#endif
	tests = tcase_create("all");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, all_of_it);
	return suite_run(tests);
}
