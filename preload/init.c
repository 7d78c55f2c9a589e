/* Composition root: the steps of the constructor, and which modules work together. */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/agent/async_profiler.h"
#include "core/clock.h"
#include "core/error_text.h"
#include "core/executable.h"
#include "core/loaded_symbol.h"
#include "core/log.h"
#include "core/options/admit.h"
#include "core/memory/region.h"
#include "core/shared.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "core/start_environment.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/cfi/cfi_rules.h"
#include "engine/memory/mem.h"
#include "engine/memory/mem_record.h"
#include "engine/process/thread_count.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/ring.h"
#include "engine/sample/sampler.h"
#include "engine/sample/threads.h"
#include "engine/sample/loop_iterations.h"
#include "engine/unwind/unwind_map.h"
#include "preload/agent_hooks.h"
#include "preload/asprof_agent.h"
#include "preload/process_agent.h"
#include "preload/child_environment.h"
#include "preload/image/image.h"
#include "preload/interpose/altstack.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/allocator.h"
#include "preload/interpose/lock.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/sent_signal.h"

/* Identifies this library where it registers with the C library. (The compiler's object files, which define it, are
 * not linked in: their constructors only take time.) */
char __dso_handle __attribute__((visibility("hidden")));

static struct config config;

/* Whether this process may have an agent. The constructor changes OFF to ADMITTED. A fork changes ADMITTED to FORKED in
 * the child, or to OFF with ASPROF_AGENT_FORK=off. process_disable_agent() changes each to OFF, for good. */
static enum {
	PROCESS_OFF,
	PROCESS_ADMITTED,
	PROCESS_FORKED, /* the agent's start arms the exit hooks, and only the builtin engine can sample */
} admission;

/* Number of the program's calls for which the agent is suspended now, and flags. */
#define SUSPENDED_CALLS 0xffffu
#define AGENT_WAS_ENDED 0x10000u /* for one of these calls; it is started after the last one */
#define AGENT_RESUMES   0x20000u /* it is being started */
static _Atomic uint32_t suspended_for_call;
static bool has_resumed; /* the agent was started after such a call at least once */

/* Maximum time that a call waits for an agent that another thread is starting. */
#define RESUMED_NS 100000000u

const struct config *process_config(void)
{
	return &config;
}

/* True if the builtin engine may sample native memory: it is not known yet whether `auto` finds async-profiler, which
 * then samples it from its start on. */
static bool may_sample_mem(void)
{
	return config.native_mem_bytes != OPTION_OFF &&
	       (config.engine != ENGINE_ASYNC_PROFILER ||
		config.native_mem_engine == MEM_ENGINE_BUILTIN);
}

/* Sample native memory from now on, although the engine starts later. */
static void start_mem_early(void)
{
	if (!may_sample_mem())
		return;
	cfi_lookup_init();
	cfi_rules_init();
	mem_record_start_early(config.native_mem_bytes);
}

static void notify_exit(void)
{
	exit_notify(EXITING_NORMALLY);
}

/* The agent may end before an engine has started. */
static void on_agent_ended(void)
{
	mem_stop();
	async_profiler_end();
}

static int agent_begin(void)
{
	cfi_lookup_init();
	if (admission != PROCESS_FORKED)
		async_profiler_start(&config);
	if (shared->async_profiler && shared->agent.due_ns > clock_monotonic_ns())
		return image_start_thread_by(async_profiler_call, &config, start_environment());
	return image_start_thread(&config, start_environment());
}

static int agent_start_due(uint64_t due_ns)
{
	int err = admission ? agent_start(due_ns, agent_begin, on_agent_ended) : -EPERM;

	if (!err && admission == PROCESS_FORKED)
		exit_arm();
	return err;
}

/* A process whose children will be in another pid namespace can have no more threads; its children can. */
static void agent_stay_suspended(void)
{
	atomic_fetch_or(&suspended_for_call, AGENT_WAS_ENDED);
	log_info("no thread can be started after the change of namespaces; profiling is off in "
		 "this process");
}

/* The same, but errors are logged. */
static void agent_start_logged(uint64_t due_ns)
{
	int err = agent_start_due(due_ns);

	if (err == -EALREADY && admission == PROCESS_FORKED)
		exit_arm();
	else if (err == -EINVAL && has_resumed)
		agent_stay_suspended();
	else if (err && err != -EALREADY)
		log_error("cannot start a thread: %s; profiling is off in this process",
			  error_text(-err));
}

/* ---- A pending agent ----
 *
 * In a program that ends within the start delay, a thread and its end cost 50 us; a timer costs 2. So the handler of
 * the sampling signal creates the thread after the delay. */

static void on_start_delay_end(void)
{
	agent_start_logged(0);
}

bool process_agent_start_thread(void)
{
	uint64_t left_ns = sampler_cancel_call();

	if (left_ns)
		agent_start_logged(clock_monotonic_ns() + left_ns);
	return left_ns;
}

/* True if a timer may start the agent by a signal. Not if the program was started with the signal blocked, and not
 * for async-profiler, whose thread exists already. Also not if nothing samples: then no signal may interrupt the
 * program. (The limits of native memory need the agent's thread during the delay, for the log.) */
static bool may_wait_for_signal(void)
{
	uint64_t blocked = 0;

	if (!config.start_delay_ns || shared->async_profiler ||
	    config.native_mem_limit_bytes != OPTION_OFF ||
	    (config.cpu_interval_ns == OPTION_OFF && config.wall_interval_ns == OPTION_OFF))
		return false;
	kernel_call4(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&blocked, sizeof(blocked));
	return !(blocked & sample_signals);
}

int process_start_agent(void)
{
	if (sampler_call_pends())
		return -EALREADY;
	return agent_start_due(clock_monotonic_ns() + config.start_delay_ns);
}

/* By the timer if possible: the program's next call may again require that there is no other thread. */
int process_schedule_agent(void)
{
	int err = -EAGAIN;

	if (may_wait_for_signal())
		err = sampler_call_later(config.start_delay_ns, on_start_delay_end);
	return err ? process_start_agent() : 0;
}

bool process_suspend_for_call(bool (*end)(void))
{
	uint64_t until = clock_monotonic_ns() + RESUMED_NS;
	bool was_cancelled;

	atomic_fetch_add(&suspended_for_call, 1);
	while (atomic_load(&suspended_for_call) & AGENT_RESUMES && clock_monotonic_ns() < until)
		system_yield();
	was_cancelled = sampler_cancel_call();
	if (end() || was_cancelled)
		atomic_fetch_or(&suspended_for_call, AGENT_WAS_ENDED);
	return atomic_load(&suspended_for_call) & AGENT_WAS_ENDED;
}

bool process_is_suspended(void)
{
	return atomic_load(&suspended_for_call) & SUSPENDED_CALLS;
}

static void agent_resume_now(int (*start)(void))
{
	int err;

	has_resumed = true;
	err = start();
	if (err == -EINVAL)
		agent_stay_suspended();
	else if (err && err != -EALREADY && err != -EPERM)
		log_error("cannot start a thread: %s; profiling is off in this process from now on",
			  error_text(-err));
}

bool process_resume_after_call(int (*start)(void))
{
	uint32_t before = atomic_load(&suspended_for_call), after;

	do
		after = before == (AGENT_WAS_ENDED | 1) ? AGENT_RESUMES | 1 : before - 1;
	while (!atomic_compare_exchange_weak(&suspended_for_call, &before, after));
	if (!(after & AGENT_RESUMES))
		return false;
	if (start)
		agent_resume_now(start);
	atomic_fetch_sub(&suspended_for_call, AGENT_RESUMES | 1);
	return true;
}

bool process_cancel_start(void)
{
	if (!sampler_cancel_call())
		return false;
	mem_stop();
	return true;
}

void process_disable_agent(void)
{
	admission = PROCESS_OFF;
	config.fork = false;
}

int process_stop_agent(void)
{
	bool was_cancelled = process_cancel_start();
	int err = agent_leave(config.exit_timeout_ns);

	return was_cancelled && err == -ESRCH ? 0 : err;
}

void process_change_engine(void)
{
	bool samples_mem = may_sample_mem();

	config.engine = ENGINE_BUILTIN;
	config.engine_options = NULL; /* for async-profiler */
	if (agent_is_delayed()) {
		if (!samples_mem)
			start_mem_early();
		return;
	}
	agent_stop(config.exit_timeout_ns);
	start_mem_early();
	agent_start_logged(0);
}

/* ---- Forked children ---- */

/* Minimum time between fork(2) and the first signal in a child. */
#define PAST_FORK_NS 1000000u

/* async-profiler's state belongs to threads that do not exist here, and they may hold its locks. */
static void async_profiler_disable(void)
{
	/* Before the engine starts, async-profiler is likely. */
	if (config.engine == ENGINE_ASYNC_PROFILER ||
	    (shared->async_profiler && !agent_serves_engine())) {
		shared->async_profiler_lost = true;
		config.engine_options = NULL; /* for async-profiler */
	}
	config.engine = ENGINE_BUILTIN;
	async_profiler_reset_in_child();
}

static void process_state_reset(void)
{
	if (admission)
		admission = config.fork ? PROCESS_FORKED : PROCESS_OFF;
	atomic_store(&suspended_for_call, 0);
}

/* All state that is about the parent's threads and its agent, in the order of its reset: first the memory that the
 * rest is in, then what handlers and interposers read, then the engines, at last the agent. Each reset only writes to
 * memory, and little: most children execute another program immediately. */
static void (*const child_resets[])(void) = {
	process_state_reset,
	region_after_fork,

	exit_disarm,
	altstack_reset_in_child,
	sample_after_fork,
	fatal_after_fork,

	async_profiler_disable,
	mem_fork_child,
	unwind_map_after_fork,
	mixed_stack_after_fork,
	ring_after_fork,
	threads_after_fork,
	lock_reset_in_child,
	loop_iterations_after_fork,
	signal_share_after_fork,

	agent_forget,
	image_reset_in_child,
	api_reset_in_child,
	agent_hooks_reset_in_child,
};

static void schedule_agent_in_child(void)
{
	uint64_t delay_ns = config.start_delay_ns;

	if (sampler_call_later(delay_ns > PAST_FORK_NS ? delay_ns : PAST_FORK_NS,
			       on_start_delay_end))
		return;
	start_mem_early();
}

/* Find the function that most children call, so that each of them need not. (execve(2) is called by its number.) */
static void find_exit_for_children(void)
{
	(void)REAL(_exit);
}

/* A child has an agent if its parent has one, is about to have one, or has suspended it for a call. It has none if
 * the program stopped it, or if it failed. */
void process_reset_in_child(void)
{
	bool was_ended = atomic_load(&suspended_for_call) & (AGENT_WAS_ENDED | AGENT_RESUMES);
	bool had_one = (agent_exists() && !agent_stop_is_requested()) || was_ended;
	bool was_to_have_one = sampler_after_fork();

	for (size_t i = 0; i < sizeof(child_resets) / sizeof(*child_resets); i++)
		child_resets[i]();
	if (config.fork && (had_one || was_to_have_one))
		schedule_agent_in_child();
}

/* The steps of the constructor. Each returns 0; otherwise the agent stays off in this process, and a line is logged
 * unless the settings want that. */

/* It takes microseconds: a service may start many programs, and each loads the preload. */
static int read_environment(void)
{
	return config_begin(&config, environ, getauxval(AT_SECURE));
}

/* The timestamp counter may be disabled: a program disabled it and executed this one. */
static int check_ticks(void)
{
	if (!clock_ticks_fault())
		return 0;
	clock_forbid_ticks();
	config.engine = ENGINE_BUILTIN; /* async-profiler reads the counter */
	return 0;
}

static int open_log(void)
{
	int err = log_open(config.log, config.log_file);

	if (err) {
		log_open(config.log, NULL);
		log_error("cannot open ASPROF_AGENT_LOG_FILE=%s: %s; stderr is used instead",
			  config.log_file,
			  err == -ELOOP || err == -EPERM
				  ? "it must be a regular file or a FIFO of this user, not a link"
				  : error_text(-err));
	}
	config_warn(environ);
	return 0;
}

/* Two paths in LD_PRELOAD may lead to copies of this library. Both would sample the program, and each would take the
 * other's calls for the program's. The first one stays: its interposers are called by the program. */
static int refuse_second_copy(void)
{
	struct loaded_symbol first = loaded_symbol_first("asprof_agent_version");
	const char *own = loaded_own_file();

	if (!first.address || first.address == (void *)&asprof_agent_version)
		return 0;
	log_warn("LD_PRELOAD has two copies of this library; %s profiles this process, and %s does "
		 "not",
		 first.in_file, own ? own : "the other one");
	return -EALREADY;
}

/* With fewer descriptors the agent can neither deliver a report nor log that. */
#define DESCRIPTORS_LEAST 8

static int refuse_few_descriptors(void)
{
	struct rlimit limit;

	if (system_limit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= DESCRIPTORS_LEAST)
		return 0;
	log_warn("RLIMIT_NOFILE is %u, and the agent needs %u; profiling is off in this process",
		 (unsigned int)limit.rlim_cur, DESCRIPTORS_LEAST);
	return -EMFILE;
}

static int exclude_children(void)
{
	if (!config.children)
		child_environment_remove_library(environ);
	return 0;
}

/* Before main(), so that it is not at an address that the program has unmapped. */
static int reserve_region(void)
{
	int err = region_begin(REGION_BYTES);

	if (!err && async_profiler_is_wanted(&config))
		async_profiler_reserve_addresses();
	if (err)
		log_error("cannot reserve address space: %s; profiling is off in this process",
			  error_text(-err));
	return err;
}

static int capture_environment(void)
{
	int err = start_environment_capture(environ);

	process_root_capture();
	if (err)
		log_error("cannot copy the environment: %s; profiling is off in this process",
			  error_text(-err));
	return err;
}

/* Symbols of sanitizers. In a program with the thread sanitizer, the C library uses the sanitizer's allocator, which
 * fails in threads that it does not know, as ours. The leak sanitizer must not see async-profiler's threads. */
extern void __tsan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));

/* Return the tool that the program runs under, or NULL. Valgrind would report the unwinder: it passes any address to
 * the kernel. */
static const char *checking_tool(void)
{
	const char *preloads = getenv("LD_PRELOAD");

	if (__tsan_init)
		return "the thread sanitizer";
	if (__lsan_init)
		return "the leak sanitizer";
	return preloads && strstr(preloads, "/vgpreload_") ? "valgrind" : NULL;
}

static int refuse_checking_tool(void)
{
	const char *tool = checking_tool();
	char executable[NAME_MAX + 1];

	if (!tool)
		return 0;
	executable_name(executable, sizeof(executable));
	log_warn("%s runs under %s; profiling is off in this process", executable, tool);
	return -EPERM;
}

/* The emulated program may have an agent of its own, for its processor. Then this process would have two, which
 * compete for the sampling signals. Only that one knows what the program does. So this one stays off, unless the
 * user named this executable. */
static int refuse_emulator(void)
{
	char executable[NAME_MAX + 1];

	if (strcmp(config.process, "*") || !process_is_emulator())
		return 0;
	executable_name(executable, sizeof(executable));
	log_warn("%s is run by an emulator, which is not profiled; a preload for the emulated "
		 "processor profiles the program",
		 executable);
	return -EPERM;
}

/* Whether the program names a library that it needs. */
static bool program_needs_library(void)
{
	const struct r_debug *loaded = loaded_debug();
	const ElfW(Dyn) *entry = loaded && loaded->r_map ? loaded->r_map->l_ld : NULL;

	while (entry && entry->d_tag != DT_NULL && entry->d_tag != DT_NEEDED)
		entry++;
	return !entry || entry->d_tag == DT_NEEDED;
}

/* A program of Go can name a dynamic linker, but no library. Then it uses no C library, and sets a thread pointer of its
 * own. It has a second thread already if a tracer has put the agent into it. */
static int refuse_without_c_library(void)
{
	char executable[NAME_MAX + 1];

	if (program_needs_library())
		return 0;
	executable_name(executable, sizeof(executable));
	if (thread_count() == 1)
		log_warn("%s is statically linked, so it has no use for a preload; profiling is "
			 "off in this "
			 "process. `asprof-agent run` and asprof-agent-launch can start it with a "
			 "profile",
			 executable);
	return -EPERM;
}

static int set_hooks(void)
{
	int err;

	interpose_set_hooks(&agent_hooks);
	altstack_install_main();
	err = -pthread_atfork(find_exit_for_children, NULL, process_reset_in_child);
	if (err) {
		log_error("cannot hook into the program: %s; profiling is off in this process",
			  error_text(-err));
		return err;
	}
	/* Early: a thread that blocks the signal before cannot be sampled. */
	if (config.engine != ENGINE_ASYNC_PROFILER || config.fork)
		sample_reserve(sampler_choose());
	sampler_install_by(sample_install, sample_remove, sent_signal_handle, sample_is_held);
	sample_forward_by(sent_signal_handle);
	return 0;
}

/* Nearly all frames of early samples are in these modules: this one, the C library, and the program. */
static void hasten_early_walks(void)
{
	cfi_lookup_init();
	cfi_lookup_in_place((uintptr_t)&config);
	cfi_lookup_in_place((uintptr_t)&getauxval);
	cfi_lookup_in_place(getauxval(AT_ENTRY));
}

static int prepare_mem(void)
{
	if (config.native_mem_bytes != OPTION_OFF)
		allocator_find_next();
	if (may_sample_mem())
		hasten_early_walks();
	if (config.native_mem_limit_bytes != OPTION_OFF)
		mem_limit(config.native_mem_limit_bytes, &mem_record_port);
	if (config.native_mem_growth_permil != OPTION_OFF)
		mem_record_set_growth(config.native_mem_growth_permil, agent_request_report);
	start_mem_early();
	return 0;
}

/* Waits are sampled when the builtin engine starts; it is not known yet whether `auto` finds async-profiler. */
static int prepare_locks(void)
{
	if (config.lock_ns != OPTION_OFF && config.engine != ENGINE_ASYNC_PROFILER)
		lock_interpose();
	return 0;
}

/* Destructor of a thread_local object. glibc's exit(3) calls those of the calling thread before all other handlers.
 * On the main thread nothing else calls them, not even pthread_exit(3). */
typedef int at_thread_exit(void (*destroy)(void *), void *object, void *dso);

static void before_exit(void *unused)
{
	(void)unused;
	if (!exit_is_armed())
		return;
	async_profiler_on_exit();
	agent_before_exit(config.exit_timeout_ns);
}

/* By name, because glibc before 2.18 lacks it. (It allocates memory, so not every program calls it.) */
static void register_before_exit(void)
{
	at_thread_exit *at_exit;

	*(void **)&at_exit = loaded_symbol_first("__cxa_thread_atexit_impl").address;
	if (at_exit)
		at_exit(before_exit, NULL, &__dso_handle);
}

static int start_profiling(void)
{
	int err;

	admission = PROCESS_ADMITTED;
	if (config.crash)
		fatal_include_crashes();
	async_profiler_start(&config);
	err = process_schedule_agent();
	if (err) {
		log_error("cannot start a thread: %s; profiling is off in this process",
			  error_text(-err));
		return err;
	}
	exit_arm();
	if (shared->async_profiler)
		register_before_exit();
	return 0;
}

static int (*const steps[])(void) = {
	read_environment,
	check_ticks,
	open_log,
	refuse_checking_tool,
	refuse_emulator,
	refuse_without_c_library,
	refuse_second_copy,
	refuse_few_descriptors,
	exclude_children,
	reserve_region,
	capture_environment,
	set_hooks,
	prepare_mem,
	prepare_locks,
	start_profiling,
};

/* (exit(3) marks a library whose destructor it calls as not constructed. If async-profiler's thread loads a library
 * at that moment, this one is constructed a second time.) */
__attribute__((constructor)) static void preload_load(void)
{
	static bool was_here;
	int saved = errno;

	if (was_here)
		return;
	was_here = true;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i]())
			break;
	errno = saved;
}

/* exit(3) calls this when no engine has started; other ends are notified by the interposers. */
__attribute__((destructor)) static void preload_unload(void)
{
	notify_exit();
}
