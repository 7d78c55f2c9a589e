/* The composition root: what happens when the library is loaded, and who works with whom. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/clock.h"
#include "core/engine_dl.h"
#include "core/log.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "engine/builtin.h"
#include "engine/mem_events.h"
#include "engine/sampler.h"
#include "engine/threads.h"
#include "engine/tids.h"
#include "preload/agent_of_process.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/mem.h"
#include "preload/interpose/sample.h"
#include "preload/reporters.h"

/* How long to wait until a thread that has ended is gone from the kernel's list too. */
#define THREAD_GONE_NS 1000000000u
/* Likewise where that it has ended will do: in a program with threads of its own the list never
 * becomes as short as is waited for. */
#define THREAD_GONE_SOON_NS 10000000u

static struct config config;
static bool admitted; /* and this process may have an agent */

const struct config *process_config(void)
{
	return admitted ? &config : NULL;
}

/* async-profiler, from the library that is loaded in the first call and used in later ones. Returns
 * 0, or as engine_dl_open has it. */
static int load_async_profiler(const struct engine **out, const char *library, char *problem)
{
	static struct engine engine;
	static bool loaded;
	const void *inside;
	int err;

	if (!loaded) {
		err = engine_dl_open(&engine, library, problem);
		if (err)
			return err;
		/* First, as init has handlers to install, and finds out about its imports. */
		inside = (const void *)(uintptr_t)engine.execute;
		sample_engine_library(inside);
		err = mem_serve_library(inside);
		if (err)
			log_warn("native memory: cannot hand %s our malloc: %s", library,
				 strerror(-err));
		engine.init();
		loaded = true;
	}
	*out = &engine;
	return 0;
}

/* async-profiler where it is to be had, else the builtin engine, as the user chose. */
static int choose_engine(const struct engine **engine, const struct config *c, struct wake *wake)
{
	char problem[ENGINE_DL_PROBLEM_MAX];
	int err = -ENOENT;

	if (c->engine != ENGINE_BUILTIN)
		err = load_async_profiler(engine, c->lib, problem);
	if (!err)
		return 0;
	if (c->engine == ENGINE_ASYNC_PROFILER) {
		if (err == -ENOENT)
			log_error("cannot find %s: install async-profiler, or name its library in "
				  "ASPROF_AGENT_LIB; profiling is off in this process",
				  c->lib);
		else
			log_error("%s; profiling is off in this process", problem);
		return err;
	}
	if (err == -ELIBBAD)
		log_warn("%s; the builtin engine is used instead", problem);
	err = own_fds_leave();
	if (err)
		log_debug("descriptors stay in the program's table: %s", strerror(-err));
	*engine = builtin_engine(wake, sample_install);
	return 0;
}

static void look_at_allocators(void)
{
	const char *by = mem_passed_by();

	mem_look_at_next();
	if (by)
		log_warn("native memory: %s has a malloc of its own, and what that does not hand "
			 "on to the next is not seen",
			 by);
}

/* With async-profiler for the rest; the builtin engine has it in hand anyway. */
static void choose_mem_engine(struct agent_equipment *equipment, const struct config *c,
			      struct wake *wake)
{
	const struct engine *builtin = builtin_engine(wake, sample_install);

	if (c->native_mem_bytes == OPTION_OFF || equipment->engine == builtin)
		return;
	if (c->native_mem_engine != MEM_ENGINE_BUILTIN) {
		if (c->native_mem_growth_permil != OPTION_OFF)
			log_warn("NATIVE_MEM_GROWTH needs NATIVE_MEM_ENGINE=builtin beside %s, "
				 "and does nothing",
				 equipment->engine->name);
	} else if (c->cpu_interval_ns == OPTION_OFF && c->wall_interval_ns == OPTION_OFF) {
		equipment->engine = builtin; /* there is nothing else to sample */
	} else {
		equipment->mem_engine = builtin;
	}
}

static int prepare(struct agent_equipment *equipment, const struct config *c, struct wake *wake)
{
	int err = choose_engine(&equipment->engine, c, wake);

	if (err)
		return err;
	choose_mem_engine(equipment, c, wake);
	if (c->native_mem_bytes != OPTION_OFF)
		look_at_allocators();
	err = reporters_open(&equipment->reporters[0], c);
	if (!err)
		equipment->reporter_count = 1;
	return err;
}

static void tell_exit(void)
{
	exit_tell(EXITING_NORMALLY);
}

/* async-profiler's library has objects that are destroyed at exit. Handlers run in the reverse order
 * of their registration: one that is registered after its start stops it while they are there. */
static void on_started(void)
{
	static bool registered;

	if (!registered && !atexit(tell_exit))
		registered = true;
	fatal_install();
}

int process_start_agent(void)
{
	static const struct agent_parts parts = { .config = &config,
						  .prepare = prepare,
						  .started = on_started };

	return agent_start(&parts);
}

static void on_process_exiting(enum exiting how)
{
	(void)how;
	agent_stop(config.exit_timeout_ns);
}

static void sleep_ns(long ns)
{
	struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

/* False when there was no agent. Only a thread that the kernel has forgotten does not count, but
 * that is waited for no longer than GONE_NS. */
static bool end_threads(uint64_t gone_ns)
{
	uint64_t until = clock_monotonic_ns() + THREAD_GONE_NS;

	if (agent_stop(config.exit_timeout_ns) == -ESRCH && !own_thread_count())
		return false;
	while (own_thread_count() && clock_monotonic_ns() < until)
		sleep_ns(50000);
	until = clock_monotonic_ns() + gone_ns;
	while (!tids_are(1) && clock_monotonic_ns() < until)
		sleep_ns(50000);
	return true;
}

static bool on_namespace_change(void)
{
	return end_threads(THREAD_GONE_NS);
}

static void on_privilege_change(void)
{
	end_threads(THREAD_GONE_SOON_NS);
}

static bool on_sandbox(bool armed)
{
	if (config.sandbox == SANDBOX_STAY)
		return false;
	if (armed && end_threads(THREAD_GONE_NS))
		log_info("the program enters a sandbox; profiling is off in this process from now "
			 "on");
	return true;
}

/* Nothing may come after this that the program's handler would not understand: the builtin engine
 * takes its timers away, and async-profiler is stopped before the call returns. */
static void on_signal_claimed(int signo)
{
	const struct engine *engine = agent_engine();
	bool builtin = engine && engine->service;

	if (!engine || (builtin && signo != sampler_signal()))
		return;
	log_warn("the program handles signal %d itself, which takes the samples; profiling is off "
		 "in this process from now on",
		 signo);
	sampler_give_up(signo);
	agent_stop(builtin ? 0 : config.exit_timeout_ns);
}

/* The agent thread may not have seen yet that it was called off. */
static void on_exec_failed(void)
{
	int err = process_start_agent();

	for (int i = 0; err == -EALREADY && i < 100; i++) {
		sleep_ns(100000);
		err = process_start_agent();
	}
	if (!err)
		exit_arm();
	else
		log_error("cannot go on after an exec that failed: %s; profiling is off in this "
			  "process from now on",
			  strerror(-err));
}

static const struct interpose_hooks hooks = {
	.thread_started = threads_started,
	.thread_ended = sampler_thread_ended,
	.process_exiting = on_process_exiting,
	.exec_failed = on_exec_failed,
	.before_namespace_change = on_namespace_change,
	.before_privilege_change = on_privilege_change,
	.before_sandbox = on_sandbox,
	.signal_claimed = on_signal_claimed,
};

/* The child has one thread and no agent, and what the engines keep is of their parent's threads. */
static void in_forked_child(void)
{
	admitted = false;
	mem_fork_child();
	agent_forget();
	exit_disarm();
}

/* The steps of the constructor. Each returns 0; else the agent stays off in this process, after a
 * line in the log where that is not as the settings have it. */

/* The preload of a service reaches what is built for musl too, in a container that has both. Its
 * loader does load us, and such a program is left alone. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static int look_for_glibc(void)
{
	return gnu_get_libc_version ? 0 : -ENOSYS;
}

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
			  err == -EINVAL ? problem : strerror(-err));
	}
	return err;
}

static int admit(void)
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
			  config.log_file, strerror(-err));
	}
	config_warn(environ);
	return 0;
}

static int capture_environment(void)
{
	int err = reporters_capture(&config, environ);

	if (err)
		log_error("cannot copy the environment: %s; profiling is off in this process",
			  strerror(-err));
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
	char executable[64];

	if (!tool)
		return 0;
	executable_name(executable, sizeof(executable));
	log_warn("%s runs under %s; profiling is off in this process", executable, tool);
	return -EPERM;
}

static int set_hooks(void)
{
	int err = interpose_set_hooks(&hooks);

	if (!err)
		err = -pthread_atfork(NULL, NULL, in_forked_child);
	if (err) {
		log_error("cannot hook into the program: %s; profiling is off in this process",
			  strerror(-err));
		return err;
	}
	/* Early, as a thread that blocks it before could not be sampled. */
	if (config.engine != ENGINE_ASYNC_PROFILER)
		sample_reserve(sampler_choose());
	return 0;
}

static bool builtin_samples_mem(void)
{
	/* With `auto`, before it is known which engine is at hand. */
	return config.native_mem_bytes != OPTION_OFF &&
	       (config.engine != ENGINE_ASYNC_PROFILER ||
		config.native_mem_engine == MEM_ENGINE_BUILTIN);
}

static int prepare_mem(void)
{
	if (builtin_samples_mem())
		mem_expect();
	if (config.native_mem_limit_bytes != OPTION_OFF)
		mem_limit(config.native_mem_limit_bytes, &mem_events);
	mem_events_growth(config.native_mem_growth_permil, agent_report_now);
	return 0;
}

/* glibc's exit(3) calls the destructors of the calling thread's thread_local objects before all
 * other handlers. On the main thread nothing else calls them: pthread_exit(3) does not, there. */
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *dso)
	__attribute__((weak));
extern char __dso_handle;

static void before_exit(void *unused)
{
	(void)unused;
	if (exit_is_armed())
		agent_before_exit(config.exit_timeout_ns);
}

static int start(void)
{
	int err;

	admitted = true;
	err = process_start_agent();
	if (err) {
		log_error("cannot start a thread: %s; profiling is off in this process",
			  strerror(-err));
		return err;
	}
	exit_arm();
	__cxa_thread_atexit_impl(before_exit, NULL, &__dso_handle);
	return 0;
}

static int (*const steps[])(void) = {
	look_for_glibc,      read_environment, admit,       open_log, refuse_checking_tool,
	capture_environment, set_hooks,        prepare_mem, start,
};

__attribute__((constructor)) static void load(void)
{
	int saved = errno;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i]())
			break;
	errno = saved;
}

/* exit(3) comes here when no engine has started; other ends come through the interposers. */
__attribute__((destructor)) static void unload(void)
{
	tell_exit();
}
