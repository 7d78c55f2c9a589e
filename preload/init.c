/* The composition root: what happens when the library is loaded, and who works with whom. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "asyncprof/engine_thread.h"
#include "core/agent.h"
#include "core/clock.h"
#include "core/error_text.h"
#include "core/executable.h"
#include "core/loaded_symbol.h"
#include "core/log.h"
#include "core/options/admit.h"
#include "core/shared.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "core/start_environment.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/memory/mem.h"
#include "engine/memory/mem_record.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/ring.h"
#include "engine/sample/sampler.h"
#include "engine/sample/threads.h"
#include "engine/sample/loop_iterations.h"
#include "engine/unwind/unwind_map.h"
#include "preload/agent_hooks.h"
#include "preload/process_agent.h"
#include "core/agent/async_profiler.h"
#include "preload/child_environment.h"
#include "preload/image/image.h"
#include "asyncprof/stall_events.h"
#include "preload/interpose/altstack.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/allocator.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

/* Stands for this library where one is registered with the C library. (No object of the compiler's, which has
 * one, is linked in: their constructors do nothing but take time.) */
char __dso_handle __attribute__((visibility("hidden")));

static struct config config;
static bool admitted;     /* and this process may have an agent */
static bool is_child;     /* forked from one that was admitted */
static bool has_made_way; /* its agent ended for what the program was about to do */
static bool is_back;      /* and one has come since */

void process_made_way(void)
{
	has_made_way = true;
}

const struct config *process_config(void)
{
	return &config;
}

static void notify_exit(void)
{
	exit_notify(EXITING_NORMALLY);
}

static int agent_begin(void)
{
	cfi_lookup_init();
	if (!is_child)
		async_profiler_start(&config);
	if (shared->async_profiler && shared->agent.due_ns > clock_monotonic_ns())
		return image_start_thread_by(async_profiler_call, &config, start_environment());
	return image_start_thread(&config, start_environment());
}

static int agent_start_due(uint64_t due_ns)
{
	int err = admitted ? agent_start(due_ns, agent_begin, async_profiler_end) : -EPERM;

	if (!err && is_child)
		exit_arm();
	return err;
}

/* A process whose children are to be in another pid namespace can have no more threads. */
static void agent_stay_suspended(void)
{
	has_made_way = true;
	log_info("no thread can be started after the change of namespaces; profiling is off in "
		 "this process");
}

/* The same, where it is not answered for. */
static void agent_start_logged(uint64_t due_ns)
{
	int err = agent_start_due(due_ns);

	if (err == -EALREADY && is_child)
		exit_arm();
	else if (err == -EINVAL && is_back)
		agent_stay_suspended();
	else if (err && err != -EALREADY)
		log_error("cannot start a thread: %s; profiling is off in this process",
			  error_text(-err));
}

/* ---- An agent that is to come ----
 *
 * A thread, and its end, cost a program that ends within the start delay 50 us; a timer costs it 2. So the
 * thread is made when the delay is over, by the handler of the sampling signal. */

static void on_start_delay_end(void)
{
	agent_start_logged(0);
}

bool process_agent_start_thread(void)
{
	uint64_t left_ns = sampler_call_off();

	if (left_ns)
		agent_start_logged(clock_monotonic_ns() + left_ns);
	return left_ns;
}

/* Where the signal would come: not if the program was started with it blocked; and not for async-profiler,
 * whose thread is there already, nor for a program that may find itself interrupted where it has asked for
 * nothing that samples. (Native memory has its answers from the agent's thread while the delay runs.) */
static bool may_wait_for_signal(void)
{
	uint64_t blocked = 0;

	if (!config.start_delay_ns || shared->async_profiler ||
	    config.native_mem_bytes != OPTION_OFF || config.native_mem_limit_bytes != OPTION_OFF ||
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

/* By the timer, where that can be: what the program does next may again want no other thread. */
static int process_schedule_agent(void)
{
	int err = -EAGAIN;

	if (may_wait_for_signal())
		err = sampler_call_later(config.start_delay_ns, on_start_delay_end);
	return err ? process_start_agent() : 0;
}

bool process_stay_away(void)
{
	bool had_made_way = has_made_way;

	has_made_way = false;
	return had_made_way;
}

static void deferred_signal_send(int (*start)(void))
{
	int err;

	if (!process_stay_away())
		return;
	is_back = true;
	err = start();
	if (err == -EINVAL)
		agent_stay_suspended();
	else if (err && err != -EALREADY && err != -EPERM)
		log_error("cannot start a thread: %s; profiling is off in this process from now on",
			  error_text(-err));
}

void process_come_again(void)
{
	deferred_signal_send(process_schedule_agent);
}

void process_come_again_from_here(void)
{
	deferred_signal_send(process_start_agent);
}

void process_confined(void)
{
	admitted = false;
	config.fork = false;
}

int process_stop_agent(void)
{
	bool called_off = sampler_call_off();
	int err = agent_leave(config.exit_timeout_ns);

	return called_off && err == -ESRCH ? 0 : err;
}

void process_change_engine(void)
{
	config.engine = ENGINE_BUILTIN;
	config.engine_options = NULL; /* which were for that one */
	if (config.native_mem_bytes != OPTION_OFF)
		mem_expect();
	agent_start_logged(0);
}

/* ---- Forked children ---- */

/* A child is given so much time at least to get past its fork. */
#define PAST_FORK_NS 1000000u

/* async-profiler's state is of its threads, which are not here, and its locks may be held by them. */
static void async_profiler_disable(void)
{
	if (config.engine == ENGINE_ASYNC_PROFILER || (agent_engine() && !agent_serves_engine())) {
		shared->async_profiler_lost = true;
		config.engine_options = NULL; /* which were for that one */
	}
	shared->async_profiler = NULL;
	config.engine = ENGINE_BUILTIN;
}

/* The child has one thread and no agent, and what the engines keep is of their parent's threads. Only
 * memory is written here, and little of it: most children execute another program at once. */
static void state_reset_in_child(void)
{
	is_child = true;
	exit_disarm();
	sample_after_fork();
	async_profiler_disable();
	mem_fork_child();
	unwind_map_after_fork();
	mixed_stack_after_fork();
	ring_after_fork();
	threads_after_fork();
	loop_iterations_after_fork();
	signal_share_after_fork();
	agent_forget();
	engine_thread_reset_in_child();
	image_reset_in_child();
	api_forget();
	agent_hooks_reset_in_child();
	stall_events_reset_in_child();
}

static void schedule_agent_in_child(void)
{
	uint64_t delay_ns = config.start_delay_ns;

	if (sampler_call_later(delay_ns > PAST_FORK_NS ? delay_ns : PAST_FORK_NS,
			       on_start_delay_end))
		return;
	if (config.native_mem_bytes != OPTION_OFF)
		mem_expect();
}

/* What most children call, so that not each of them looks for it. (execve(2) is called by its number.) */
static void find_exit_for_children(void)
{
	(void)REAL(_exit);
}

/* Where the parent has an agent, or is about to have one, or had to end it for what the program did, its
 * children have theirs; not where the program stopped it, or where it failed. */
void process_reset_in_child(void)
{
	bool had_one = agent_exists() || has_made_way, was_to_have_one = sampler_after_fork();

	state_reset_in_child();
	if (!config.fork)
		admitted = false;
	else if (had_one || was_to_have_one)
		schedule_agent_in_child();
}

/* The steps of the constructor. Each returns 0; else the agent stays off in this process, after a
 * line in the log where that is not as the settings have it. */

/* This step and the next take microseconds: the preload reaches every program that a service
 * starts. */
static int read_environment(void)
{
	char problem[OPTION_PROBLEM_MAX];
	int err;

	if (getauxval(AT_SECURE))
		return -EPERM;
	err = config_read(&config, environ, problem);
	if (err) {
		log_open(LOG_WARN, NULL);
		log_error("%s; profiling is off in this process",
			  err == -EINVAL ? problem : error_text(-err));
	}
	return err;
}

static int check_admission(void)
{
	char executable[NAME_MAX + 1];

	if (!config.enabled)
		return -EPERM;
	executable_name(executable, sizeof(executable));
	return config_admits(&config, executable) ? 0 : -EPERM;
}

static int open_log(void)
{
	int err = log_open(config.log, config.log_file);

	if (err) {
		log_open(config.log, NULL);
		log_error("cannot open ASPROF_AGENT_LOG_FILE=%s: %s; stderr is used instead",
			  config.log_file, error_text(-err));
	}
	config_warn(environ);
	return 0;
}

static int exclude_children(void)
{
	if (!config.children)
		child_environment_remove_library(environ);
	return 0;
}

static int capture_environment(void)
{
	int err = start_environment_capture(environ);

	if (err)
		log_error("cannot copy the environment: %s; profiling is off in this process",
			  error_text(-err));
	return err;
}

/* In a program with the thread sanitizer: its allocator, which the C library then uses too, fails
 * in threads that it has not seen begin, and it must not see ours. Nor must the leak sanitizer, by
 * itself, see those of async-profiler. */
extern void __tsan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));

/* The tool that the program is under, NULL for none. Valgrind would tell its user of our faults:
 * the unwinder has the kernel look at memory that may hold anything. */
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

/* The program that is emulated may have an agent too, of its own processor, for which this process is
 * its own: two would take the samples' signals from each other. That one can tell what the program does,
 * and we could not; so we stand back, unless the user names this executable. */
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
	/* Early, as a thread that blocks it before could not be sampled. */
	if (config.engine != ENGINE_ASYNC_PROFILER || config.fork)
		sample_reserve(sampler_choose());
	sampler_install_by(sample_install, sample_remove);
	stall_output(&stall_events_output);
	return 0;
}

/* Whether the builtin engine may come to sample native memory: it is not known yet whether `auto` finds
 * async-profiler. */
static bool may_sample_mem(void)
{
	return config.native_mem_bytes != OPTION_OFF &&
	       (config.engine != ENGINE_ASYNC_PROFILER ||
		config.native_mem_engine == MEM_ENGINE_BUILTIN);
}

static int prepare_mem(void)
{
	if (config.native_mem_bytes != OPTION_OFF)
		allocator_find_next();
	if (may_sample_mem())
		mem_expect();
	if (config.native_mem_limit_bytes != OPTION_OFF)
		mem_limit(config.native_mem_limit_bytes, &mem_record_port);
	if (config.native_mem_growth_permil != OPTION_OFF)
		mem_record_set_growth(config.native_mem_growth_permil, agent_request_report);
	return 0;
}

/* glibc's exit(3) calls the destructors of the calling thread's thread_local objects before all
 * other handlers. On the main thread nothing else calls them: pthread_exit(3) does not, there. */
typedef int at_thread_exit(void (*destroy)(void *), void *object, void *dso);

static void before_exit(void *unused)
{
	(void)unused;
	if (exit_is_armed())
		agent_before_exit(config.exit_timeout_ns);
}

/* By name, as glibc before 2.18 has none. (It allocates, so it is not for every program.) */
static void register_before_exit(void)
{
	at_thread_exit *at_exit;

	*(void **)&at_exit = loaded_symbol_first("__cxa_thread_atexit_impl").address;
	if (at_exit)
		at_exit(before_exit, NULL, &__dso_handle);
}

static int start(void)
{
	int err;

	admitted = true;
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
	read_environment, check_admission,     open_log,  refuse_checking_tool, refuse_emulator,
	exclude_children, capture_environment, set_hooks, prepare_mem,          start,
};

/* (exit(3) marks a library whose destructor it calls as one that was never constructed: where async-profiler's
 * thread loads a library at that moment, it is constructed a second time.) */
__attribute__((constructor)) static void load(void)
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

/* exit(3) comes here when no engine has started; other ends come through the interposers. */
__attribute__((destructor)) static void unload(void)
{
	notify_exit();
}
