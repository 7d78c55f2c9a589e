/* async-profiler's thread in this process: what the interposers do with its library. */
#include "core/agent/async_profiler.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "asyncprof/engine_thread.h"
#include "asyncprof/loader_gate.h"
#include "core/log.h"
#include "core/shared.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "engine/sample/sampler.h"
#include "engine/sample/loop_iterations.h"
#include "preload/interpose/action.h"
#include "preload/interpose/allocator.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/sample.h"

/* Before its init, which has handlers to install, and finds out about its imports. */
static void on_loaded(const void *inside)
{
	int err;

	signal_handlers_set_library(inside);
	loader_gate_enter();
	err = mem_serve_library(inside);
	loader_gate_leave();
	if (err)
		log_warn("native memory: cannot hand async-profiler our malloc: %s",
			 strerror(-err));
}

static void notify_exit(void)
{
	exit_notify(EXITING_NORMALLY);
}

/* The library has objects that are destroyed at exit. Handlers run in the reverse order of their
 * registration: one that is registered after it was loaded stops it while they are there. */
static void on_ready(void)
{
	atexit(notify_exit);
}

static void before_start(void)
{
	signal_share_open();
	action_engine_returns();
}

/* Until nothing sends its signals any more: a thread that begins may just be getting its timer, and a stall be looked at. */
#define QUIET_TRIES    500
#define QUIET_PAUSE_NS 1000000u

static void on_detach(bool wholly)
{
	int tries = QUIET_TRIES;

	while ((!signal_share_close() || atomic_load(&turns.on)) && --tries)
		system_sleep(QUIET_PAUSE_NS);
	if (tries)
		action_engine_leaves(wholly);
	else
		signal_share_open();
}

/* Those that it is to take, below our own. It would take some of the old ones, which have a meaning: a program that was
 * sent one would not end by it, nor read it. It starts when the program has long set masks, so they are out of these
 * from now on: what is sent to a thread that has them blocked would wait there for whoever reads all signals.
 *
 * A perf event goes on sending while nobody takes its signal, and of the real-time ones all would be kept. */
static void offer_signals(const struct config *config)
{
	static bool offered;
	int first, second;

	if (offered)
		return;
	offered = true;
	first = sampler_choose_below(sampler_choose());
	second = first ? sampler_choose_below(first) : 0;
	if (first)
		signal_handlers_offer_signal(first);
	if (second)
		signal_handlers_offer_signal(second);
	if (config->engine_options && strstr(config->engine_options, "event="))
		signal_handlers_offer_signal(SIGSTKFLT);
}

void async_profiler_start(const struct config *config)
{
	static struct engine_thread_setup parts = { .loaded = on_loaded,
						    .ready = on_ready,
						    .starts = before_start,
						    .is_leaving = on_detach };

	if (config->engine == ENGINE_BUILTIN)
		return;
	parts.library = config->lib;
	parts.is_chosen = config->engine == ENGINE_ASYNC_PROFILER;
	engine_thread_start(&parts);
	if (!shared->async_profiler)
		return;
	thread_watch_main();
	offer_signals(config);
}
