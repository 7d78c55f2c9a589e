/* Thread `asprof-engine`. */
#include "asyncprof/engine_thread.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asyncprof/replaced_calls.h"
#include "asyncprof/fd_proxy.h"
#include "asyncprof/fd_calls.h"
#include "asyncprof/engine_library.h"
#include "asyncprof/java_vm.h"
#include "asyncprof/library_path.h"
#include "asyncprof/load_range.h"
#include "asyncprof/loader_gate.h"
#include "asyncprof/mailbox.h"
#include "asyncprof/memory_calls.h"
#include "asyncprof/sleep_calls.h"
#include "asyncprof/thread_names.h"
#include "asyncprof/timer_calls.h"
#include "core/agent/async_profiler.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/loaded_symbol.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "core/system.h"

/* In a Java process the thread loads classes. Java's compiled code keeps 80 KiB below itself free, so the stack is
 * as large as that of Java's threads. */
#define STACK_BYTES (1u << 20)

/* Maximum wait for an earlier thread that is about to end. */
#define ENDED_NS 1000000000u

/* Maximum wait for the constructors of other modules. A program that does not use the C library's start never says
 * that they have ended. */
#define CONSTRUCTORS_NS 10000000000u

/* Maximum wait for the end of the creation of a Java VM, and the time between two looks. */
#define VM_NS      10000000000u
#define VM_STEP_NS 5000000u

static const struct engine_thread_setup *setup;
static struct mailbox mailbox;

/* The library, and whether it is loaded; whether the thread has its own descriptor table. */
static struct engine_functions library;
static bool is_loaded, has_own_table;

/* The constructors of the modules that the program began with have run. */
static atomic_bool program_has_started;

static bool is_sampling; /* the library was started and not stopped */
static bool has_started; /* by this thread or an earlier one */
static bool has_hooks;   /* the library has hooks in functions that the program calls */

/* True if the library cannot start in this Java process. Either Java was loaded later, and this thread already has
 * its own table. Or it would be the second start, which ends the process (async-profiler 4.5, Java 17). */
static bool java_is_unsupported(void)
{
	const char *why = NULL;

	if (!library_path_find_loaded(NULL, "libjvm.so"))
		return false;
	if (has_own_table)
		why = "in a program that has loaded libjvm.so since it began";
	else if (has_started)
		why = "a second time in a process of Java";
	if (why)
		snprintf(mailbox.problem, sizeof(mailbox.problem),
			 "async-profiler cannot be started %s", why);
	return why;
}

/* Without its own table, async-profiler's descriptors are among the program's. This is accepted only if the user
 * chose async-profiler, or for Java, which the other engine does not support. */
static bool library_may_be_loaded(void)
{
	if (setup->is_configured)
		return true;
	/* The library reads the list of modules there, and does not start without it. */
	if (access("/proc/self/maps", R_OK))
		return false;
	return engine_library_is_configured(setup->library) || has_own_table ||
	       library_path_program_is_java();
}

/* Refuse if the program has loaded async-profiler: there is one instance for each process, and the program controls
 * it. Returns 0 or -errno. */
static int refuse_library_of_program(const char *name)
{
	const char *slash = strrchr(name, '/');
	char path[PATH_MAX];

	if (!library_path_find_loaded(path, slash ? slash + 1 : name))
		return 0;
	/* The bridge is not a profiler; who loaded it wants the builtin engine. */
	if (!setup->is_configured && engine_library_is_bridge(path))
		return -ENOENT;
	snprintf(mailbox.problem, sizeof(mailbox.problem), "the program has loaded %s itself",
		 name);
	return -EBUSY;
}

/* Block the thread for good. It keeps following the program's privileges. */
static _Noreturn void engine_thread_wait_forever(void)
{
	uint32_t changes;

	for (;;) {
		changes = atomic_load(&mailbox.changes);
		privileges_follow(false);
		futex_wait_until(&mailbox.changes, changes, privileges_due_ns());
	}
}

/* async-profiler would use a null pointer. Its locks may be held, so it cannot be called again either. */
static void engine_thread_give_up(const char *why)
{
	uint32_t requested = MAILBOX_REQUESTED;

	if (system_thread() != atomic_load(&mailbox.thread))
		return;
	timer_calls_stop_all();
	snprintf(mailbox.problem, sizeof(mailbox.problem), "%s", why);
	if (atomic_compare_exchange_strong(&mailbox.state, &requested, MAILBOX_STUCK))
		wake_up(mailbox.client);
	engine_thread_wait_forever();
}

static void on_out_of_memory(void)
{
	engine_thread_give_up("no memory is left for async-profiler (ulimit -v, ulimit -d); "
			      "ASPROF_AGENT_ENGINE=builtin needs less");
}

static void on_java_end(void)
{
	engine_thread_give_up("the Java VM has ended while async-profiler used it");
}

static int load_library(const char *name)
{
	const void *inside;
	bool for_java = setup->is_configured || library_path_program_is_java();
	int err = engine_library_open(&library, name, for_java, mailbox.problem);

	if (err)
		return err;
	/* Not earlier: its constructors run with the dynamic linker's lock. */
	memory_calls_on_out_of_memory(on_out_of_memory);
	java_vm_on_end(on_java_end);
	inside = (const void *)(uintptr_t)library.execute;
	setup->on_loaded(inside);
	library.init();
	setup->on_returned();
	setup->on_ready();
	mailbox.get_thread_local_data = library.get_thread_local_data;
	mailbox.register_jfr_event = library.register_jfr_event;
	mailbox.emit_jfr_event = library.emit_jfr_event;
	is_loaded = true;
	return 0;
}

static int engine_load(void)
{
	int err;

	if (!library_may_be_loaded())
		return -ENOENT;
	if (java_is_unsupported())
		return -ENOTSUP;
	err = is_loaded ? 0 : refuse_library_of_program(setup->library);
	if (err)
		return err;
	err = has_own_table ? fd_proxy_start() : 0;
	if (err) {
		snprintf(mailbox.problem, sizeof(mailbox.problem),
			 "cannot start a thread for %s: %s", setup->library, strerror(-err));
		return err;
	}
	fd_calls_allow_perf_events(mailbox.perf_allowed);
	err = is_loaded ? 0 : load_library(setup->library);
	if (err)
		fd_proxy_stop();
	return err;
}

static void answer_append(const char *text, size_t length)
{
	size_t room = MAILBOX_ANSWER_MAX - mailbox.answer_length;

	length = length < room ? length : room;
	memcpy(mailbox.answer + mailbox.answer_length, text, length);
	mailbox.answer_length += (uint32_t)length;
}

static int engine_execute(const char *command)
{
	bool starts = !strncmp(command, "start", strlen("start"));
	bool finishes = !strncmp(command, "dump", strlen("dump")) || !strcmp(command, "stop");
	asprof_error_t err;

	if (starts && java_is_unsupported())
		return -ENOTSUP;
	if (starts) {
		setup->before_start();
		thread_names_reset();
	} else if (!strcmp(command, "stop")) {
		timer_calls_refuse_new();
	}
	if (starts && strstr(command, ",native")) {
		has_hooks = true;
		memory_calls_use_program_heap();
	}
	thread_names_read();
	if (finishes)
		thread_names_show(true);
	err = library.execute(command, answer_append);
	setup->on_returned();
	if (finishes)
		thread_names_show(false);
	if (starts)
		load_range_free_above();
	has_started |= starts && !err;
	is_sampling = (is_sampling && strcmp(command, "stop") != 0) || (starts && !err);
	if (!err)
		return 0;
	snprintf(mailbox.problem, sizeof(mailbox.problem), "%s", library.error_str(err));
	return -EIO;
}

/* (The library does not know a perf event that a thread created while it stopped.) */
static int engine_detach(void)
{
	if (is_sampling || fd_calls_have_perf_events())
		return -EBUSY;
	setup->on_detach(!has_hooks && !library_path_find_loaded(NULL, "libjvm.so"));
	return 0;
}

/* dlopen(3) runs the constructors of each module that it meets and that has not been constructed. async-profiler opens
 * all modules. Here they would run in the wrong thread, with other descriptors. False when the agent ends first. */
static bool constructors_wait(void)
{
	uint64_t end_ns = clock_monotonic_ns() + CONSTRUCTORS_NS, check_ns;
	uint32_t changes = atomic_load(&mailbox.changes);

	while (loaded_after_others() && !atomic_load(&program_has_started) &&
	       clock_monotonic_ns() < end_ns) {
		if (atomic_load(&mailbox.state) != MAILBOX_REQUESTED)
			return false;
		privileges_follow(false);
		check_ns = privileges_due_ns();
		futex_wait_until(&mailbox.changes, changes, check_ns < end_ns ? check_ns : end_ns);
		changes = atomic_load(&mailbox.changes);
	}
	return true;
}

/* async-profiler looks for the Java VM once. Without it, it would never name Java's methods. False when the agent or
 * the program ends first: a VM that was destroyed is not found either. */
static bool vm_wait(void)
{
	uint64_t end_ns = clock_monotonic_ns() + VM_NS;

	while (mailbox.awaits_vm && !java_vm_is_created() && clock_monotonic_ns() < end_ns) {
		if (atomic_load(&mailbox.state) != MAILBOX_REQUESTED ||
		    atomic_load(&mailbox.is_exiting))
			return false;
		privileges_follow(false);
		system_sleep(VM_STEP_NS);
	}
	return true;
}

static int request_run(void)
{
	int err;

	switch (mailbox.request) {
	case MAILBOX_LOAD:
		if (!constructors_wait() || !vm_wait())
			return -ECANCELED;
		load_range_free();
		err = engine_load();
		if (err)
			load_range_free_above();
		return err;
	case MAILBOX_EXECUTE:
		return engine_execute(mailbox.text);
	case MAILBOX_DETACH:
		return engine_detach();
	}
	return -EINVAL;
}

/* Carry out the request. False when the agent has stopped waiting for the answer. */
static bool request_answer(void)
{
	struct wake *client = mailbox.client; /* after the answer it may be another one */
	uint32_t requested = MAILBOX_REQUESTED;

	mailbox.answer_length = 0;
	*mailbox.problem = '\0';
	mailbox.err = request_run();
	if (!atomic_compare_exchange_strong(&mailbox.state, &requested, MAILBOX_IDLE))
		return false;
	wake_up(client);
	return true;
}

/* Function to call as the first request, or NULL. */
static void (*_Atomic first_call)(void);

static void first_call_run(void)
{
	void (*call)(void) = atomic_exchange(&first_call, NULL);

	if (call)
		call();
}

/* Serve requests until the thread is to end, or the agent has stopped waiting for an answer. Most programs that are
 * shorter than the start delay are also shorter than the first wait: they never pay for a check of privileges. */
static void engine_thread_serve(void)
{
	uint32_t changes = 0, state = MAILBOX_IDLE;
	uint64_t until_ns = clock_monotonic_ns() + PRIVILEGES_CHECK_NS;

	do {
		if (state == MAILBOX_IDLE)
			futex_wait_until(&mailbox.changes, changes, until_ns);
		changes = atomic_load(&mailbox.changes);
		first_call_run();
		thread_names_read();
		state = atomic_load(&mailbox.state);
		if (state != MAILBOX_IDLE && state != MAILBOX_REQUESTED)
			break;
		privileges_follow(false);
		until_ns = privileges_due_ns();
	} while (state == MAILBOX_IDLE || request_answer());
	/* The agent has not stopped it. */
	if (is_sampling)
		engine_execute("stop");
}

static void *engine_thread_run(void *unused)
{
	atomic_store(&mailbox.thread, system_thread());
	/* Java reads classes by descriptors that it opened, in any thread that needs a class, and the library needs
	 * some. So in a Java process this thread has the program's table. */
	has_own_table = !library_path_program_is_java() && !own_fds_leave_for_engine();
	engine_thread_serve();
	fd_proxy_stop();
	mailbox.err = -ESRCH;
	atomic_store(&mailbox.state, MAILBOX_NO_THREAD);
	futex_wake(&mailbox.state); /* engine_thread_start() waits for it */
	return unused;
}

/* The result of the first call stays. That one is in the constructor: there no descriptor comes between the
 * program's, and no thread changes the environment. */
bool engine_thread_is_wanted(const struct engine_thread_setup *with)
{
	static bool has_searched, is_likely;

	if (with->is_configured)
		return true;
	if (!has_searched)
		is_likely = engine_library_is_likely(with->library);
	has_searched = true;
	return is_likely;
}

static void engine_thread_wait_for_end(void)
{
	uint64_t end_ns = clock_monotonic_ns() + ENDED_NS;

	while (atomic_load(&mailbox.state) == MAILBOX_ENDING &&
	       futex_wait_until(&mailbox.state, MAILBOX_ENDING, end_ns) != -ETIMEDOUT)
		;
}

void engine_thread_start(const struct engine_thread_setup *with)
{
	uint32_t no_thread = MAILBOX_NO_THREAD;
	int err;

	shared->async_profiler = &mailbox;
	setup = with;
	engine_thread_wait_for_end();
	/* A thread that never answered still exists; the mailbox has that state. */
	if (!atomic_compare_exchange_strong(&mailbox.state, &no_thread, MAILBOX_IDLE))
		return;
	atomic_store(&mailbox.changes, 0);
	atomic_store(&first_call, NULL);
	err = loader_gate_init();
	if (!err)
		err = own_thread_start_on(STACK_BYTES, "asprof-engine", engine_thread_run, NULL);
	if (err) {
		mailbox.err = err;
		atomic_store(&mailbox.state, MAILBOX_NO_THREAD);
	}
}

void engine_thread_count_skipped(uint32_t samples)
{
	atomic_fetch_add_explicit(&mailbox.skipped, samples, memory_order_relaxed);
}

void engine_thread_wake(void)
{
	atomic_fetch_add(&mailbox.changes, 1);
	futex_wake(&mailbox.changes);
}

void async_profiler_on_program_start(void)
{
	atomic_store(&program_has_started, true);
	if (shared->async_profiler)
		engine_thread_wake();
}

bool async_profiler_call(void (*call)(void))
{
	if (!shared->async_profiler || atomic_load(&mailbox.state) != MAILBOX_IDLE)
		return false;
	atomic_store(&first_call, call);
	engine_thread_wake();
	return true;
}

void async_profiler_on_exit(void)
{
	atomic_store(&mailbox.is_exiting, true);
	wake_up(&shared->agent.wake);
}

void async_profiler_end(void)
{
	uint32_t idle = MAILBOX_IDLE, requested = MAILBOX_REQUESTED;

	if (!shared->async_profiler)
		return;
	if (!atomic_compare_exchange_strong(&mailbox.state, &idle, MAILBOX_ENDING))
		atomic_compare_exchange_strong(&mailbox.state, &requested, MAILBOX_ABANDONED);
	engine_thread_wake();
}

void async_profiler_check_privileges(void)
{
	if (atomic_load(&mailbox.state) == MAILBOX_NO_THREAD)
		return;
	engine_thread_wake();
	fd_proxy_check_privileges();
	sleep_calls_check_privileges();
}

void engine_thread_reset_in_child(void)
{
	if (!setup)
		return;
	if (atomic_load(&mailbox.state) != MAILBOX_STUCK)
		atomic_store(&mailbox.state, MAILBOX_NO_THREAD);
	replaced_calls_reset_in_child();
}
