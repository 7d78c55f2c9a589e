/* The agent's implementation of the interposers' hooks. */
#include "preload/agent_hooks.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#include "core/agent.h"
#include "core/agent/async_profiler.h"
#include "core/clock.h"
#include "core/error_text.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/agent/lost_reports.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "core/system.h"
#include "engine/memory/mem_sample.h"
#include "engine/process/thread_count.h"
#include "engine/reading/thread_data.h"
#include "engine/sample/sampler.h"
#include "engine/sample/thread_slots.h"
#include "engine/sample/threads.h"
#include "preload/process_agent.h"
#include "preload/interpose/sample.h"

/* Maximum wait until own threads have ended, also in the kernel's list. A thread that waits for a server's answer
 * checks once a second whether it is to end. */
#define OWN_GONE_NS 3000000000u
/* The same for a thread that was canceled before it began, and for async-profiler's threads. In a program with
 * several threads the second limit applies: they cannot be distinguished from async-profiler's. */
#define THREAD_GONE_NS 1000000000u
#define ENGINE_GONE_NS 10000000u

/* Maximum time that the program waits until the agent's main thread has dropped credentials. */
#define CREDENTIALS_DROPPED_NS 500000000u

static bool own_threads_are_gone(void)
{
	return !own_thread_count() && (thread_count() == 1 || own_thread_none_left());
}

/* Returns false when there was no agent. A thread counts until the kernel has removed it. */
static bool end_own_threads(void)
{
	uint64_t until;

	if (agent_stop(process_config()->exit_timeout_ns) == -ESRCH && !own_thread_count())
		return false;
	until = clock_monotonic_ns() + OWN_GONE_NS;
	while (!own_threads_are_gone() && clock_monotonic_ns() < until)
		system_sleep(50000);
	until = clock_monotonic_ns() +
		(thread_alive_count() == 1 ? THREAD_GONE_NS : ENGINE_GONE_NS);
	while (shared->async_profiler && thread_count() != 1 && clock_monotonic_ns() < until)
		system_sleep(50000);
	return true;
}

/* While one thread waits for the last report at the end of the process, the others are stopped. Without the wait
 * they would have ended by now, and what they use may be gone, such as an interpreter. After the wait exit(3) takes
 * less than STILL_NS, also on a busy machine; if it waits for a stopped thread, it waits that long. Nothing is
 * stopped in a program with so many threads that it takes too long, or with async-profiler, which may need locks
 * that they hold. */
#define STILL_NS 100000000u
#define HELD_MAX 1000

static struct {
	_Atomic uint32_t on; /* 0: no thread was ever stopped */
	_Atomic uint64_t until_ns;
	_Atomic bool missed;
} hold;

/* In the sampling signal's handler, with all other signals blocked. */
static void hold_thread(void)
{
	uint64_t until_ns;
	uint32_t on;

	/* The agent's thread waits for threads in the allocation sampler. */
	if (mem_thread.inside) {
		atomic_store(&hold.missed, true);
		return;
	}
	do {
		on = atomic_load(&hold.on);
		until_ns = atomic_load(&hold.until_ns);
	} while (until_ns > clock_monotonic_ns() &&
		 futex_wait_until(&hold.on, on, until_ns) != -ETIMEDOUT);
}

static void hold_other_threads(uint64_t timeout_ns)
{
	if (!agent_serves_engine() || thread_slot_count() > HELD_MAX)
		return;
	atomic_store(&hold.until_ns, clock_monotonic_ns() + timeout_ns);
	atomic_fetch_add(&hold.on, 1);
	for (int i = 0; i < 10; i++) {
		atomic_store(&hold.missed, false);
		if (!sampler_call_in_others(hold_thread) ||
		    process_config()->native_mem_bytes == OPTION_OFF)
			break;
		system_sleep(50000);
		if (!atomic_load(&hold.missed))
			break;
	}
}

static void release_other_threads(uint64_t after_ns)
{
	if (!atomic_load(&hold.on))
		return;
	atomic_store(&hold.until_ns, clock_monotonic_ns() + after_ns);
	atomic_fetch_add(&hold.on, 1);
	futex_wake(&hold.on);
}

/* The agent's thread has had its time, but perhaps no processor to log what is lost. */
static void log_lost_reports(void)
{
	const struct config *config = process_config();

	log_stop_queueing();
	lost_reports_log(config->spool_dir != NULL, config->exit_timeout_ns && !config->spool_dir);
}

static void on_process_exiting(enum exiting how)
{
	int err = agent_failure();

	sampler_cancel_call();
	if (how == EXITING_BY_RETURN) {
		end_own_threads();
		if (agent_exists())
			log_lost_reports();
	} else {
		hold_other_threads(process_config()->exit_timeout_ns);
		if (agent_stop(process_config()->exit_timeout_ns) == -ETIMEDOUT)
			log_lost_reports();
		release_other_threads(STILL_NS);
	}
	if (err && how != EXITING_BY_SIGNAL)
		log_error("the agent's thread failed: %s; there is no later profile",
			  error_text(-err));
}

static void on_process_exiting_again(void)
{
	agent_await_stop(process_config()->exit_timeout_ns);
	if (agent_exists())
		log_lost_reports();
}

/* Once the program has created a thread, the signal that starts the agent could arrive in a thread that has ended. So
 * the agent's thread is started now. */
static void on_thread_started(pid_t tid, uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry)
{
	threads_started(tid, stack_low, stack_high, entry);
	process_agent_start_thread();
}

/* (The C library does not know the agent's thread.) */
static void on_before_last_thread_ends(void)
{
	if (shared->async_profiler)
		exit_notify(EXITING_BY_RETURN);
}

static bool on_namespace_change(void)
{
	return process_suspend_for_call(end_own_threads);
}

static void on_namespace_changed(void)
{
	process_resume_after_call(process_schedule_agent);
}

/* The C library only knows threads for async-profiler. */
static bool on_credential_broadcast(void)
{
	if (!shared->async_profiler)
		return false;
	process_suspend_for_call(end_own_threads);
	return true;
}

static void on_credentials_lost(void)
{
	uint32_t change = privileges_changed();

	async_profiler_check_privileges();
	agent_follow(change, CREDENTIALS_DROPPED_NS);
}

static void on_sandbox(bool armed)
{
	bool called_off = process_cancel_start();

	thread_data_end();
	if (armed && (end_own_threads() || called_off))
		log_info("the program enters a sandbox; profiling is off in this process from now "
			 "on");
}

/* Landlock: the rules of a thread cannot be extended to an existing thread, so the agent's threads end before the
 * call. Some libraries make the call in all threads at once; then the last of them ends profiling, or restarts the
 * agent if the call has failed. */

static atomic_bool is_landlock_logged; /* and it is logged */

static void on_landlock(void)
{
	process_suspend_for_call(end_own_threads);
}

static void log_landlock(bool was_there)
{
	if ((process_cancel_start() || was_there) && !atomic_exchange(&is_landlock_logged, true))
		log_info("the program has entered a Landlock domain; profiling is off in this "
			 "process from now on");
}

static void on_landlock_done(bool was_notified, bool entered)
{
	/* Some threads wait for a disk or an answer. */
	bool is_late = was_notified && entered && own_thread_count();
	bool was_there =
		was_notified && process_resume_after_call(entered ? NULL : process_start_agent);

	if (!entered || (was_notified && process_is_suspended()))
		return;
	if (!is_late)
		log_landlock(was_there);
	else if (was_there)
		log_warn("the program has entered a Landlock domain, and threads of the agent "
			 "that have not ended in time are not in it; profiling is off in this "
			 "process "
			 "from now on");
}

void agent_hooks_reset_in_child(void)
{
	atomic_store(&is_landlock_logged, false);
}

/* After this no signal may arrive that the program's handler does not expect. The builtin engine deletes its timers,
 * and async-profiler stops before the call returns. Node programs set handlers for every signal with a name; then
 * the builtin engine continues with a signal without one. */
static void on_signal_claimed(int signo)
{
	const struct engine *engine = agent_engine();
	bool builtin = agent_serves_engine();

	/* An agent that starts chooses another signal. If it is pending, and would start by this signal, it gets a thread. */
	if (!engine && signo == sampler_signal()) {
		sampler_choose_again(signo);
		process_agent_start_thread();
	}
	if (!engine || !sample_is_handled(signo) || (builtin && signo != sampler_signal()))
		return;
	log_warn_later(builtin ? "the program uses signal %d itself, which takes the samples; "
				 "profiling is off in this process from now on"
			       : "the program uses signal %d itself, by which async-profiler takes "
				 "samples; the builtin engine profiles this process from now on",
		       signo);
	sampler_give_up(signo);
	if (builtin)
		agent_stop(0);
	else
		process_change_engine();
}

static void on_syscall_dispatch(bool armed)
{
	bool called_off = process_cancel_start();

	thread_data_end();
	process_disable_agent();
	if (armed && (end_own_threads() || called_off))
		log_warn("the program dispatches system calls itself "
			 "(PR_SET_SYSCALL_USER_DISPATCH); profiling is off in this process from "
			 "now on");
}

/* async-profiler reads the counter in the program's threads. (Java itself could not run without it.) */
static void on_tsc_disabled(void)
{
	if (!shared->async_profiler || process_config()->engine == ENGINE_BUILTIN ||
	    agent_serves_engine())
		return;
	log_warn_later("the program forbids a thread the timestamp counter (PR_SET_TSC %d), which "
		       "async-profiler reads; the builtin engine profiles this process from now on",
		       PR_TSC_SIGSEGV);
	process_change_engine();
}

/* On a busy machine the agent thread may not have seen the cancellation yet. */
static void on_exec_failed(void)
{
	uint64_t until = clock_monotonic_ns() + THREAD_GONE_NS;
	int err = process_start_agent();

	release_other_threads(0);
	while (err == -EALREADY && clock_monotonic_ns() < until) {
		system_sleep(100000);
		err = process_start_agent();
	}
	if (!err)
		exit_arm();
	else
		log_error("cannot continue after a failed exec: %s; profiling is off in this "
			  "process from now on",
			  error_text(-err));
}

const struct interpose_hooks agent_hooks = {
	.thread_started = on_thread_started,
	.thread_ended = sampler_thread_ended,
	.before_last_thread_ends = on_before_last_thread_ends,
	.process_cloned = process_reset_in_child,
	.process_exiting = on_process_exiting,
	.process_exiting_again = on_process_exiting_again,
	.termination_requested = agent_request_report,
	.crashed = sampler_crashed,
	.exec_failed = on_exec_failed,
	.before_namespace_change = on_namespace_change,
	.after_namespace_change = on_namespace_changed,
	.before_credential_broadcast = on_credential_broadcast,
	.after_credential_broadcast = on_namespace_changed,
	.credentials_lost = on_credentials_lost,
	.before_sandbox = on_sandbox,
	.before_syscall_dispatch = on_syscall_dispatch,
	.before_tsc_is_disabled = on_tsc_disabled,
	.before_landlock = on_landlock,
	.after_landlock = on_landlock_done,
	.signal_claimed = on_signal_claimed,
};
