/* What the agent does when the interposers tell it something. */
#include "preload/agent_hooks.h"

#include <errno.h>

#include "asyncprof/engine_thread.h"
#include "core/agent.h"
#include "core/clock.h"
#include "core/error_text.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/system.h"
#include "engine/process/thread_count.h"
#include "engine/sample/sampler.h"
#include "engine/sample/threads.h"
#include "preload/agent_of_process.h"

/* How long to wait until a thread that has ended is gone from the kernel's list too. */
#define THREAD_GONE_NS 1000000000u
/* Likewise where that it has ended will do: in a program with threads of its own the list never
 * becomes as short as is waited for. */
#define THREAD_GONE_SOON_NS 10000000u

/* How long the program waits until the agent's thread has given up what it has given up itself. */
#define FOLLOWED_NS 200000000u

/* False when there was no agent. Only a thread that the kernel has forgotten does not count, but
 * that is waited for no longer than GONE_NS. */
static bool end_threads(uint64_t gone_ns)
{
	uint64_t until = clock_monotonic_ns() + THREAD_GONE_NS;

	if (agent_stop(process_config()->exit_timeout_ns) == -ESRCH && !own_thread_count())
		return false;
	while (own_thread_count() && clock_monotonic_ns() < until)
		system_sleep(50000);
	until = clock_monotonic_ns() + gone_ns;
	while (!thread_count_is(1) && clock_monotonic_ns() < until)
		system_sleep(50000);
	return true;
}

static void on_process_exiting(enum exiting how)
{
	int err = agent_failure();

	sampler_call_off();
	if (how == EXITING_BY_RETURN)
		end_threads(THREAD_GONE_NS);
	else
		agent_stop(process_config()->exit_timeout_ns);
	if (err && how != EXITING_BY_SIGNAL)
		log_error("the agent's thread failed: %s; there is no profile of what came after",
			  error_text(-err));
}

/* The first thread that the program makes: from now on a signal may come to one that has ended. */
static void on_thread_started(uintptr_t stack_low, uintptr_t stack_high, uintptr_t entry)
{
	threads_started(stack_low, stack_high, entry);
	process_agent_by_thread();
}

static bool on_namespace_change(void)
{
	bool called_off = sampler_call_off();

	if (!end_threads(THREAD_GONE_NS) && !called_off)
		return false;
	process_made_way();
	return true;
}

static void on_privilege_change(void)
{
	if (end_threads(THREAD_GONE_SOON_NS))
		process_made_way();
}

static void on_privileges_changed(void)
{
	privileges_changed();
	engine_thread_follow();
	agent_follow(FOLLOWED_NS);
}

static bool on_sandbox(bool armed)
{
	bool called_off;

	if (process_config()->sandbox == SANDBOX_STAY)
		return false;
	called_off = sampler_call_off();
	if (armed && (end_threads(THREAD_GONE_NS) || called_off))
		log_info("the program enters a sandbox; profiling is off in this process from now "
			 "on");
	return true;
}

/* Nothing may come after this that the program's handler would not understand: the builtin engine
 * takes its timers away, and async-profiler is stopped before the call returns. */
static void on_signal_claimed(int signo)
{
	const struct engine *engine = agent_engine();
	bool builtin = agent_serves_engine();

	/* An agent that is about to come, by that very signal, comes otherwise, and takes another. */
	if (!engine && sampler_call_pends() && signo == sampler_signal()) {
		sampler_choose_again();
		process_agent_by_thread();
	} else if (!engine && signo == sampler_signal()) {
		sampler_give_up(signo);
	}
	if (!engine || (builtin && signo != sampler_signal()))
		return;
	log_warn_later(
		"the program handles signal %d itself, which takes the samples; profiling is "
		"off in this process from now on",
		signo);
	sampler_give_up(signo);
	agent_stop(builtin ? 0 : process_config()->exit_timeout_ns);
}

/* The agent thread may not have seen yet that it was called off: on a busy machine it gets to that
 * when it has a processor. */
static void on_exec_failed(void)
{
	uint64_t until = clock_monotonic_ns() + THREAD_GONE_NS;
	int err = process_start_agent();

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
	.process_cloned = process_in_child,
	.process_exiting = on_process_exiting,
	.end_is_near = agent_report_now,
	.crashed = sampler_crashed,
	.exec_failed = on_exec_failed,
	.before_namespace_change = on_namespace_change,
	.before_privilege_change = on_privilege_change,
	.after_privilege_change = on_privileges_changed,
	.before_sandbox = on_sandbox,
	.signal_claimed = on_signal_claimed,
};
