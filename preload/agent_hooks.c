/* What the agent does when the interposers tell it something. */
#include "preload/agent_hooks.h"

#include <errno.h>
#include <stdatomic.h>

#include "asyncprof/engine_thread.h"
#include "core/agent.h"
#include "core/clock.h"
#include "core/error_text.h"
#include "core/futex.h"
#include "core/kernel.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "core/system.h"
#include "engine/memory/mem_sample.h"
#include "engine/process/thread_count.h"
#include "engine/sample/sampler.h"
#include "engine/sample/thread_slots.h"
#include "engine/sample/threads.h"
#include "preload/process_agent.h"
#include "preload/interpose/sample.h"

/* How long to wait until threads of ours are gone, also from the kernel's list: one that waits for a server's answer looks
 * once a second whether it is to end. */
#define OWN_GONE_NS 3000000000u
/* Likewise for one that has been called off; and, in a program that has threads of its own, for those that async-profiler
 * had. */
#define THREAD_GONE_NS 1000000000u
#define ENGINE_GONE_NS 10000000u

/* How long the program waits until the agent's thread has given up what it has given up itself. */
#define FOLLOWED_NS 200000000u

static bool own_threads_are_gone(void)
{
	return !own_thread_count() && (thread_count_is(1) || own_thread_none_left());
}

/* False when there was no agent. Only a thread that the kernel has forgotten does not count. */
static bool end_own_threads(void)
{
	uint64_t until;

	if (agent_stop(process_config()->exit_timeout_ns) == -ESRCH && !own_thread_count())
		return false;
	until = clock_monotonic_ns() + OWN_GONE_NS;
	while (!own_threads_are_gone() && clock_monotonic_ns() < until)
		system_sleep(50000);
	until = clock_monotonic_ns() + ENGINE_GONE_NS;
	while (shared->async_profiler && !thread_count_is(1) && clock_monotonic_ns() < until)
		system_sleep(50000);
	return true;
}

/* Other threads stand still while the one that ends the process waits for the last report: they would be gone
 * by now, and what they run on may be, as an interpreter that has been taken down. What is left of exit(3) then
 * takes less than STILL_NS, also on a busy machine; if it waits for one of them, it waits that long. A program of so many that to stop
 * them takes longer than it is worth is left alone; so it is where async-profiler works, which needs locks that
 * they may hold. */
#define STILL_NS 100000000u
#define HELD_MAX 1000

static struct {
	_Atomic uint32_t on; /* 0: nobody was held yet */
	_Atomic uint64_t until_ns;
	_Atomic bool missed;
} hold;

/* In the sampling signal's handler, where every other signal is blocked. */
static void hold_thread(void)
{
	uint64_t until_ns;
	uint32_t on;

	/* The agent's thread waits for who is in the sampler of allocations. */
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

static void on_process_exiting(enum exiting how)
{
	int err = agent_failure();

	sampler_call_off();
	if (how == EXITING_BY_RETURN) {
		end_own_threads();
	} else {
		hold_other_threads(process_config()->exit_timeout_ns);
		agent_stop(process_config()->exit_timeout_ns);
		release_other_threads(STILL_NS);
	}
	if (err && how != EXITING_BY_SIGNAL)
		log_error("the agent's thread failed: %s; there is no profile of what came after",
			  error_text(-err));
}

static void on_process_exiting_again(void)
{
	agent_await_stop(process_config()->exit_timeout_ns);
}

/* The first thread that the program makes: from now on a signal may come to one that has ended. */
static void on_thread_started(uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry)
{
	threads_started(stack_low, stack_high, entry);
	process_agent_start_thread();
}

/* (The agent's thread is none of the C library's.) */
static void on_before_last_thread_ends(void)
{
	if (shared->async_profiler)
		exit_notify(EXITING_BY_RETURN);
}

static bool on_namespace_change(void)
{
	bool called_off = sampler_call_off();

	if (!end_own_threads() && !called_off)
		return false;
	process_made_way();
	return true;
}

/* The C library changes users in every thread that it knows of, and ends the process where one cannot. Of ours it
 * knows those alone that are there for async-profiler. */
static void on_privilege_change(void)
{
	if (shared->async_profiler && end_own_threads())
		process_made_way();
}

static bool is_root_beside_agent(void)
{
	uid_t users[3] = { 1, 1, 1 };

	if (!agent_exists())
		return false;
	kernel_call4(SYS_getresuid, (long)&users[0], (long)&users[1], (long)&users[2], 0);
	return !users[0] || !users[1] || !users[2];
}

static void on_credentials_lost(void)
{
	privileges_changed();
	async_profiler_check_privileges();
	agent_follow(FOLLOWED_NS);
	process_come_again();
}

/* Threads that come later are in it, too, be they of this process or of a child. */
static void stay_in(const struct sandbox *sandbox)
{
	if (!sandbox->refused_in_agent)
		return;
	process_confined();
	log_info("the program enters a sandbox that refuses %s; its forked children are not "
		 "profiled",
		 sandbox->refused_in_agent);
}

static void fd_table_unshare(const char *refused)
{
	if (process_config()->sandbox == SANDBOX_STAY)
		log_warn("the program enters a sandbox that refuses %s; profiling is off in this "
			 "process from now on",
			 refused);
	else
		log_info("the program enters a sandbox; profiling is off in this process from now "
			 "on");
}

/* The call that it refuses to what is in it; NULL for none. */
static const char *refused_by(const struct sandbox *sandbox)
{
	if (!sandbox->all_threads && agent_exists())
		return sandbox->refused;
	/* async-profiler goes on as if it had what it asked for. */
	return shared->async_profiler ? sandbox->fails_in_agent : sandbox->refused_in_agent;
}

static bool on_sandbox(bool armed, const struct sandbox *sandbox)
{
	const char *refused = refused_by(sandbox);
	bool called_off;

	if (process_config()->sandbox == SANDBOX_STAY && !refused) {
		if (armed)
			stay_in(sandbox);
		return false;
	}
	called_off = sampler_call_off();
	if (armed && (end_own_threads() || called_off))
		fd_table_unshare(refused);
	return true;
}

/* Landlock: what a thread of ours may do cannot be taken from it, so those that are there behind the call are made by
 * the thread that has made it. Some libraries have all threads make it at the same time; then the last one does that. */

static _Atomic int entering;
static atomic_bool is_landlock_logged; /* and said so */

static void on_landlock(void)
{
	atomic_fetch_add(&entering, 1);
	if (end_own_threads())
		process_made_way();
}

static void log_landlock(bool told)
{
	bool was_there = told && process_stay_away();

	if ((sampler_call_off() || was_there) && !atomic_exchange(&is_landlock_logged, true))
		log_info("the program has entered a domain of Landlock's; profiling is off in this "
			 "process from now on");
}

/* Some wait for what does not come: a disk, an answer. */
static void leave_behind(void)
{
	if (process_stay_away())
		log_warn("the program has entered a domain of Landlock's, and threads of the agent "
			 "that have not ended in time are not in it; profiling is off in this "
			 "process "
			 "from now on");
}

static void on_landlock_done(bool told, bool entered)
{
	if (told && atomic_fetch_sub(&entering, 1) != 1)
		return;
	if (told && entered && own_thread_count())
		leave_behind();
	else if (entered && process_config()->sandbox == SANDBOX_LEAVE)
		log_landlock(told);
	else if (told)
		process_come_again_from_here();
}

void agent_hooks_reset_in_child(void)
{
	atomic_store(&entering, 0);
	atomic_store(&is_landlock_logged, false);
}

/* Nothing may come after this that the program's handler would not understand: the builtin engine
 * takes its timers away, and async-profiler is stopped before the call returns. As programs of node set handlers
 * for every signal that they know the name of, the builtin engine then takes the samples, by a signal without
 * one. */
static void on_signal_claimed(int signo)
{
	const struct engine *engine = agent_engine();
	bool builtin = agent_serves_engine();

	/* An agent that is about to come, by that very signal, comes otherwise, and takes another. */
	if (!engine && sampler_call_pends() && signo == sampler_signal()) {
		sampler_choose_again();
		process_agent_start_thread();
	} else if (!engine && signo == sampler_signal()) {
		sampler_give_up(signo);
	}
	if (!engine || !sample_is_handled(signo) || (builtin && signo != sampler_signal()))
		return;
	log_warn_later(
		builtin ? "the program handles signal %d itself, which takes the samples; "
			  "profiling is off in this process from now on"
			: "the program handles signal %d itself, by which async-profiler takes "
			  "samples; the builtin engine profiles this process from now on",
		signo);
	sampler_give_up(signo);
	agent_stop(builtin ? 0 : process_config()->exit_timeout_ns);
	if (!builtin)
		process_change_engine();
}

/* The agent thread may not have seen yet that it was called off: on a busy machine it gets to that
 * when it has a processor. */
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
		log_error("cannot go on after an exec that failed: %s; profiling is off in this "
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
	.after_namespace_change = process_come_again,
	.before_credential_broadcast = on_privilege_change,
	.is_root_beside_agent = is_root_beside_agent,
	.credentials_lost = on_credentials_lost,
	.before_sandbox = on_sandbox,
	.before_landlock = on_landlock,
	.after_landlock = on_landlock_done,
	.signal_claimed = on_signal_claimed,
};
