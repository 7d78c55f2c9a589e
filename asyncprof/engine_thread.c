/* async-profiler's thread. */
#include "asyncprof/engine_thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asyncprof/replaced_calls.h"
#include "asyncprof/fd_proxy.h"
#include "asyncprof/fd_calls.h"
#include "asyncprof/engine_library.h"
#include "asyncprof/library_path.h"
#include "asyncprof/loader_gate.h"
#include "asyncprof/mailbox.h"
#include "asyncprof/memory_calls.h"
#include "asyncprof/sleep_calls.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/shared.h"

/* In a Java process it loads classes, and what Java has compiled keeps 80 KiB below itself free: as much as Java's
 * own threads have. */
#define STACK_BYTES (1u << 20)

/* How long an earlier one is waited for that is about to end. */
#define ENDED_NS 1000000000u

static const struct engine_thread_setup *parts;
static struct mailbox mailbox;

/* The library, once it is loaded; and whether the thread has a table of its own. */
static struct engine_functions library;
static bool loaded, apart;

static bool sampling;    /* it was started, and not stopped */
static bool has_started; /* by this thread or one before it */
static bool has_hooks;   /* in front of functions that the program calls */

/* Java reads its classes where it has opened them, in whatever thread needs one, and the library needs some. So
 * this thread has the program's table there: that of a program that is going to be Java's, too. */
static bool program_is_java(void)
{
	return library_path_find_loaded(NULL, "libjvm.so") ||
	       library_path_find_loaded(NULL, "libjli.so");
}

/* Java came later, and this thread's table is its own for good; or it would be the library's second time, which
 * ends the process (async-profiler 4.5, Java 17). */
static bool java_is_unsupported(void)
{
	const char *why = NULL;

	if (!library_path_find_loaded(NULL, "libjvm.so"))
		return false;
	if (apart)
		why = "in a program that has loaded libjvm.so since it began";
	else if (has_started)
		why = "a second time in a process of Java";
	if (why)
		snprintf(mailbox.problem, sizeof(mailbox.problem),
			 "async-profiler cannot be started %s", why);
	return why;
}

/* For a user who has not chosen, async-profiler's descriptors must not come between the program's; it is
 * worth that for Java alone, which the other engine does not understand. */
static bool library_may_be_loaded(void)
{
	if (parts->is_chosen)
		return true;
	/* It reads there what is loaded, and starts only where it can. */
	if (access("/proc/self/maps", R_OK))
		return false;
	return engine_library_is_configured(parts->library) || apart || program_is_java();
}

/* The program profiles itself by async-profiler, or might: there is one of it in a process for who starts and
 * stops it, and that is the program. */
static bool refuse_library_of_program(const char *name)
{
	const char *slash = strrchr(name, '/');

	if (!library_path_find_loaded(NULL, slash ? slash + 1 : name))
		return false;
	snprintf(mailbox.problem, sizeof(mailbox.problem), "the program has loaded %s itself",
		 name);
	return true;
}

static int load_library(const char *name)
{
	const void *inside;
	int err = engine_library_open(&library, name, mailbox.problem);

	if (err)
		return err;
	inside = (const void *)(uintptr_t)library.execute;
	parts->loaded(inside);
	library.init();
	parts->ready();
	mailbox.get_thread_local_data = library.get_thread_local_data;
	mailbox.register_jfr_event = library.register_jfr_event;
	mailbox.emit_jfr_event = library.emit_jfr_event;
	loaded = true;
	return 0;
}

static int engine_load(void)
{
	int err;

	if (!library_may_be_loaded())
		return -ENOENT;
	if (java_is_unsupported())
		return -ENOTSUP;
	if (!loaded && refuse_library_of_program(parts->library))
		return -EBUSY;
	err = apart ? fd_proxy_start() : 0;
	if (err) {
		snprintf(mailbox.problem, sizeof(mailbox.problem),
			 "cannot start a thread for %s: %s", parts->library, strerror(-err));
		return err;
	}
	fd_calls_allow_perf_events(mailbox.perf_allowed);
	err = loaded ? 0 : load_library(parts->library);
	if (err)
		fd_proxy_stop();
	return err;
}

static void answer_append(const char *text, size_t length)
{
	size_t room = sizeof(mailbox.answer) - mailbox.answer_length;

	length = length < room ? length : room;
	memcpy(mailbox.answer + mailbox.answer_length, text, length);
	mailbox.answer_length += (uint32_t)length;
}

static int execute(const char *command)
{
	bool starts = !strncmp(command, "start", strlen("start"));
	asprof_error_t err;

	if (starts && java_is_unsupported())
		return -ENOTSUP;
	if (starts)
		parts->starts();
	else if (!strcmp(command, "stop"))
		files_make_no_timers();
	if (starts && strstr(command, ",native")) {
		has_hooks = true;
		memory_calls_use_program_heap();
	}
	err = library.execute(command, answer_append);
	has_started |= starts && !err;
	sampling = (sampling && strcmp(command, "stop") != 0) || (starts && !err);
	if (!err)
		return 0;
	snprintf(mailbox.problem, sizeof(mailbox.problem), "%s", library.error_str(err));
	return -EIO;
}

/* (Of a perf event that a thread was just getting as it stopped it does not know.) */
static int engine_detach(void)
{
	if (sampling || fd_calls_have_perf_events())
		return -EBUSY;
	parts->is_leaving(!has_hooks && !library_path_find_loaded(NULL, "libjvm.so"));
	return 0;
}

static int request_run(void)
{
	switch (mailbox.question) {
	case MAILBOX_LOAD:
		return engine_load();
	case MAILBOX_EXECUTE:
		return execute(mailbox.text);
	case MAILBOX_DETACH:
		return engine_detach();
	}
	return -EINVAL;
}

/* False when nobody waits for the answer any more. */
static bool answer(void)
{
	struct wake *asker = mailbox.asker; /* which may be another at once */
	uint32_t asked = MAILBOX_REQUESTED;
	uint64_t began_ns = clock_cpu_ns();

	mailbox.answer_length = 0;
	*mailbox.problem = '\0';
	mailbox.err = request_run();
	mailbox.took_ns = clock_cpu_ns() - began_ns;
	if (!atomic_compare_exchange_strong(&mailbox.state, &asked, MAILBOX_IDLE))
		return false;
	wake_up(asker);
	return true;
}

/* What it was to call; NULL: nothing. */
static void (*_Atomic first_call)(void);

static void first_call_run(void)
{
	void (*call)(void) = atomic_exchange(&first_call, NULL);

	if (call)
		call();
}

/* Until it is to end, or nobody waits for an answer any more. Most programs that are shorter than the start delay are
 * shorter than the first wait, too, and never pay for a look. */
static void engine_thread_serve(void)
{
	uint32_t rung = 0, state = MAILBOX_IDLE;
	uint64_t until_ns = clock_monotonic_ns() + PRIVILEGES_CHECK_NS;

	do {
		if (state == MAILBOX_IDLE)
			futex_wait_until(&mailbox.rung, rung, until_ns);
		rung = atomic_load(&mailbox.rung);
		first_call_run();
		state = atomic_load(&mailbox.state);
		if (state != MAILBOX_IDLE && state != MAILBOX_REQUESTED)
			break;
		privileges_follow(false);
		until_ns = privileges_due_ns();
	} while (state == MAILBOX_IDLE || answer());
	/* The agent did not come to it. */
	if (sampling)
		execute("stop");
}

static void *engine_thread_run(void *unused)
{
	apart = !program_is_java() && !own_fds_leave_for_engine();
	engine_thread_serve();
	fd_proxy_stop();
	mailbox.err = -ESRCH;
	atomic_store(&mailbox.state, MAILBOX_NO_THREAD);
	futex_wake(&mailbox.state); /* who starts the next one */
	return unused;
}

/* What the first look has found holds: that was in the constructor, where nothing of ours can come
 * between the program's descriptors, and nobody changes its environment. */
static bool engine_thread_is_wanted(const struct engine_thread_setup *with)
{
	static bool looked, likely;

	if (with->is_chosen)
		return true;
	if (!looked)
		likely = engine_library_is_likely(with->library);
	looked = true;
	return likely;
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
	uint32_t nobody = MAILBOX_NO_THREAD;
	int err;

	shared->async_profiler = NULL;
	if (!engine_thread_is_wanted(with))
		return;
	shared->async_profiler = &mailbox;
	parts = with;
	engine_thread_wait_for_end();
	/* One that never answered is there still; the mailbox says so. */
	if (!atomic_compare_exchange_strong(&mailbox.state, &nobody, MAILBOX_IDLE))
		return;
	atomic_store(&mailbox.rung, 0);
	atomic_store(&first_call, NULL);
	err = loader_gate_init();
	if (!err)
		err = own_thread_start_on(STACK_BYTES, "asprof-engine", engine_thread_run, NULL);
	if (err) {
		mailbox.err = err;
		atomic_store(&mailbox.state, MAILBOX_NO_THREAD);
	}
}

static void engine_thread_wake(void)
{
	atomic_fetch_add(&mailbox.rung, 1);
	futex_wake(&mailbox.rung);
}

bool async_profiler_call(void (*call)(void))
{
	if (!shared->async_profiler || atomic_load(&mailbox.state) != MAILBOX_IDLE)
		return false;
	atomic_store(&first_call, call);
	engine_thread_wake();
	return true;
}

void async_profiler_end(void)
{
	uint32_t idle = MAILBOX_IDLE, asked = MAILBOX_REQUESTED;

	if (!shared->async_profiler)
		return;
	if (!atomic_compare_exchange_strong(&mailbox.state, &idle, MAILBOX_ENDING))
		atomic_compare_exchange_strong(&mailbox.state, &asked, MAILBOX_ABANDONED);
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
	if (!parts)
		return;
	atomic_store(&mailbox.state, MAILBOX_NO_THREAD);
	replaced_calls_reset_in_child();
}
