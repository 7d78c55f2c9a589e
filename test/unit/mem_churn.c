/* The sampler of native memory under the sanitizers: the interposers of malloc and related
 * functions, the builtin engine and the agent, instrumented, while threads churn. SECONDS_EACH=600
 * is the long version.
 *
 * A sanitizer has its own malloc, which a preload would have to precede. So the interposers have
 * other names here, which the churn calls, and the next allocator for them is the program's malloc:
 * the sanitizer's, with gcc from a shared library and with clang from the program itself. */
#include <malloc.h>
#include <stdlib.h>

void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t alignment, size_t size);

/* For the compiler, and for the assembler names of mem.c. */
#define UNDER_ANOTHER_NAME(name)                                \
	extern __typeof__(name) name __asm__("sampled_" #name); \
	__asm__(".set " #name ", sampled_" #name);
UNDER_ANOTHER_NAME(malloc)
UNDER_ANOTHER_NAME(calloc)
UNDER_ANOTHER_NAME(realloc)
UNDER_ANOTHER_NAME(reallocarray)
UNDER_ANOTHER_NAME(free)
UNDER_ANOTHER_NAME(posix_memalign)
UNDER_ANOTHER_NAME(aligned_alloc)
UNDER_ANOTHER_NAME(memalign)
UNDER_ANOTHER_NAME(valloc)
UNDER_ANOTHER_NAME(pvalloc)
UNDER_ANOTHER_NAME(free_sized)
UNDER_ANOTHER_NAME(free_aligned_sized)

#include "core/loaded_symbol.h"
#define loaded_symbol_next loaded_symbol_first

#include "preload/interpose/allocator.c"

#include <signal.h>
#include <sys/mman.h>

#include "core/agent.h"
#include "core/agent/agent_thread.h"
#include "core/fd.h"
#include "core/own_thread.h"
#include "engine/collect/builtin.h"
#include "engine/sample/sampler.h"
#include "engine/memory/mem_record.h"
#include "engine/sample/threads.h"
#include "profile/jfr/jfr_read.h"
#include "test/fixtures/mem_churn.h"
#include "test/fixtures/suite.h"

#define THREADS 64
#define SECOND  1000000000ull

/* Of a thread's stack, the part that is certainly mapped below its first frame. */
#define STACK_SIZE (1u << 20)

/* Every allocation; one in some; few, together with samples of time. */
static const struct {
	uint64_t mem_bytes, cpu_interval_ns, wall_interval_ns;
} cases[] = {
	{ 0, OPTION_OFF, OPTION_OFF },
	{ 4096, OPTION_OFF, OPTION_OFF },
	{ 65536, SECOND / 100, SECOND / 10 },
};

static struct config config;

/* In the reports; the agent thread's until it has ended. */
static struct {
	uint64_t events[JFR_KINDS];
	uint64_t retained_bytes; /* in the last */
	uint64_t lost, told_lost;
	bool final;
} got;

static unsigned seconds_each(void)
{
	const char *seconds = getenv("SECONDS_EACH");

	return seconds ? (unsigned)atoi(seconds) : 1;
}

/* The preload's work in a thread's first and last moments. */
static void *live_known(void *seed)
{
	uintptr_t high = (uintptr_t)__builtin_frame_address(0);

	threads_started(gettid(), high - STACK_SIZE, high, (uintptr_t)live);
	live(seed);
	sampler_thread_ended();
	return NULL;
}

/* The same in a forked child. */
static void in_forked_child(void)
{
	mem_fork_child();
	agent_forget();
}

static int install(int signo, sampler_handler *handler, int flags)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO | SA_RESTART | flags };

	sigfillset(&action.sa_mask);
	return sigaction(signo, &action, NULL) ? -errno : 0;
}

static void read_event(const struct jfr_chunk *chunk, const struct jfr_event *event)
{
	got.events[event->kind]++;
	if (event->kind == JFR_RETAINED)
		got.retained_bytes += (uint64_t)event->slot[JFR_BYTES];
	else if (event->kind == JFR_LOSSES)
		got.told_lost += jfr_event_get_integer(chunk, event, "ringFull") +
				 jfr_event_get_integer(chunk, event, "late");
}

static void read_chunk(const uint8_t *data, const struct jfr_header *header)
{
	struct jfr_event event;
	struct jfr_chunk chunk;
	struct jfr_scan scan;

	ck_assert_int_eq(jfr_chunk_open(&chunk, data, header), 0);
	jfr_scan_start(&scan, &chunk, ~0u);
	while (jfr_scan_next(&scan, &event))
		read_event(&chunk, &event);
	ck_assert_ptr_null(chunk.error.what);
	jfr_chunk_close(&chunk);
}

/* Complete chunks from the first byte to the last. */
static void read_recording(const uint8_t *data, uint64_t length)
{
	struct jfr_error error = { 0 };
	struct jfr_header header;
	uint64_t at = 0;
	int err;

	while (!(err = jfr_header_read(&header, data, length, at, &error))) {
		read_chunk(data, &header);
		at += header.size;
	}
	ck_assert_int_eq(err, -ENODATA);
	ck_assert_uint_eq(at, length);
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	uint64_t length = report_length(report);
	int fd = memfd_create("report", MFD_CLOEXEC);
	uint8_t *data;

	(void)reporter;
	ck_assert_int_eq(report_write(report, fd), 0);
	data = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(data, MAP_FAILED);
	got.retained_bytes = 0;
	read_recording(data, length);
	munmap(data, length);
	close(fd);
	got.lost += report->samples_lost;
	got.final = report->final;
	return 0;
}

static void close_reporter(struct reporter *reporter)
{
	(void)reporter;
}

static void ignore_late(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
}

static int prepare(struct agent_equipment *equipment, const struct config *c, struct wake *wake)
{
	static struct reporter reporter = { .name = "test",
					    .deliver = deliver,
					    .close = close_reporter };

	(void)c;
	allocator_find_next();
	sampler_install_by(install, NULL, ignore_late, NULL);
	equipment->engine = builtin_engine(wake);
	equipment->reporters[0] = &reporter;
	equipment->reporter_count = 1;
	return 0;
}

static void started(void)
{
}

static void *run(void *unused)
{
	static const struct agent_parts parts = { .config = &config,
						  .prepare = prepare,
						  .started = started };

	(void)unused;
	agent_run(&parts);
	return NULL;
}

static int begin_agent(void)
{
	return own_thread_start("asprof-agent", run, NULL);
}

static void nothing_more(void)
{
}

static void start_agent(int with)
{
	char problem[OPTION_PROBLEM_MAX], *none[] = { NULL };

	ck_assert_int_eq(config_read(&config, none, problem), 0);
	config.reporting_interval_ns = SECOND / 4;
	config.native_mem_bytes = cases[with].mem_bytes;
	config.cpu_interval_ns = cases[with].cpu_interval_ns;
	config.wall_interval_ns = cases[with].wall_interval_ns;
	config.budget_permil = OPTION_OFF; /* the intervals stay */
	mem_record_set_growth(100, agent_request_report);
	mem_record_start_early(config.native_mem_bytes);
	ck_assert_int_eq(pthread_atfork(NULL, NULL, in_forked_child), 0);
	ck_assert_int_eq(agent_start(0, begin_agent, nothing_more), 0);
	while (!agent_is_running()) /* otherwise the case reaches its timeout */
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void ignore(void *context, const struct mem_retained *retained)
{
	(void)context;
	(void)retained;
}

/* Each sampled byte is known to be free, or was counted as lost. */
static void check_balance(void)
{
	struct mem_summary s;

	mem_collect(ignore, NULL, &s);
	printf("%llu bytes were allocated, %llu of them pushed out; %llu samples found no room\n",
	       (unsigned long long)s.totals.allocated_bytes, (unsigned long long)s.evicted_bytes,
	       (unsigned long long)s.lost);
	ck_assert_uint_gt(s.totals.allocated_bytes, 0);
	ck_assert_uint_eq(s.totals.allocated_bytes, s.totals.freed_bytes + s.evicted_bytes);
	ck_assert_uint_eq(s.bytes, 0);
	ck_assert_uint_eq(s.count, 0);
}

static void check_reports(void)
{
	printf("%llu allocations and %llu frees recorded, %llu samples lost\n",
	       (unsigned long long)got.events[JFR_MALLOC], (unsigned long long)got.events[JFR_FREE],
	       (unsigned long long)got.lost);
	ck_assert(got.final);
	ck_assert_uint_gt(got.events[JFR_MALLOC], 0);
	ck_assert_uint_gt(got.events[JFR_FREE], 0);
	ck_assert_uint_eq(got.told_lost, got.lost);
	ck_assert_uint_eq(got.retained_bytes, 0);
}

START_TEST(threads_come_to_no_harm)
{
	allocator_find_next();
	ck_assert_ptr_null(mem_passed_by());
	/* As any single-threaded program allocates: that finds the next allocator. */
	atomic_store(&passed[0], allocate(0, 1));
	start_agent(_i);
	churn(THREADS, seconds_each(), live_known);
	ck_assert_int_eq(agent_stop(60 * SECOND), 0);
	check_balance();
	check_reports();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mem_churn");

	tcase_set_timeout(tcase, seconds_each() + 60);
	tcase_add_loop_test(tcase, threads_come_to_no_harm, 0, sizeof(cases) / sizeof(cases[0]));
	return suite_run(tcase);
}
