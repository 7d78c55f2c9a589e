/* async-profiler in this process: its thread, and the interposers' calls into its library. */
#include "core/agent/async_profiler.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "asyncprof/engine_thread.h"
#include "asyncprof/signal_handlers.h"
#include "asyncprof/import_table.h"
#include "asyncprof/loader_gate.h"
#include "asyncprof/memory_calls.h"
#include "asyncprof/stall_events.h"
#include "asyncprof/start_string.h"
#include "core/log.h"
#include "core/options/config.h"
#include "core/shared.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "engine/memory/mem.h"
#include "engine/sample/sampler.h"
#include "engine/sample/loop_iterations.h"
#include "preload/interpose/allocator.h"
#include "preload/interpose/hooks.h"

/* Bind the library that INSIDE points into to our allocation functions, unless the program's calls bypass them.
 * Otherwise it would call a stub of an executable at a fixed address that uses the function's address, and the stub
 * leads to the library's own hook. Returns 0 or -errno. */
static int memory_redirect(const void *inside)
{
	static const struct import imports[] = {
		{ "posix_memalign", (void *)our_posix_memalign },
		{ "aligned_alloc", (void *)our_aligned_alloc },
	};

	allocator_find_next();
	if (mem_passed_by())
		return 0;
	memory_calls_set_program(&allocator_functions);
	return import_table_redirect(inside, imports, sizeof(imports) / sizeof(imports[0]));
}

/* The library's init installs signal handlers and reads its imports. */
static void on_loaded(const void *inside)
{
	int err;

	signal_handlers_set_library(inside);
	loader_gate_enter();
	err = memory_redirect(inside);
	loader_gate_leave();
	if (err)
		log_warn("native memory: cannot redirect async-profiler's calls of malloc: %s",
			 strerror(-err));
}

static void notify_exit(void)
{
	exit_notify(EXITING_NORMALLY);
}

/* The library destroys objects at exit. Exit handlers run in the reverse order of their registration. So this one,
 * registered after the library was loaded, stops the library before that. */
static void on_ready(void)
{
	atexit(notify_exit);
}

static void before_start(void)
{
	signal_share_open();
	signal_handlers_restore_faults();
}

/* Maximum wait until no thread sends the library's signals: a starting thread may be creating its timer, and a stall
 * may be being sampled. */
#define QUIET_TRIES    500
#define QUIET_PAUSE_NS 1000000u

static void on_detach(bool with_faults)
{
	int tries = QUIET_TRIES;

	while ((!signal_share_close() || atomic_load(&loop_iterations.on)) && --tries)
		system_sleep(QUIET_PAUSE_NS);
	if (tries)
		signal_handlers_remove(with_faults);
	else
		signal_share_open();
}

/* Offer signals below the agent's own to the library. It would choose old signals, which have a meaning: they would
 * no longer end or reach the program. These are removed from the program's masks from now on, because it may have
 * set masks long before the library starts. Otherwise a signal would stay pending in a thread that blocks it, until
 * any thread reads it.
 *
 * A perf event continues to send while no thread handles its signal, and real-time signals would be queued. */
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

static struct engine_thread_setup setup = {
	.on_loaded = on_loaded,
	.on_returned = signal_handlers_library_returned,
	.on_ready = on_ready,
	.before_start = before_start,
	.on_detach = on_detach,
};

bool async_profiler_is_wanted(const struct config *config)
{
	setup.library = config->lib;
	setup.is_configured = config->engine == ENGINE_ASYNC_PROFILER;
	return config->engine != ENGINE_BUILTIN && engine_thread_is_wanted(&setup);
}

void async_profiler_start(const struct config *config)
{
	if (async_profiler_is_wanted(config))
		engine_thread_start(&setup);
	else
		shared->async_profiler = NULL;
	if (!shared->async_profiler)
		return;
	thread_watch_main();
	offer_signals(config);
	loop_iterations_set_output(&stall_events_output);
}

void async_profiler_reset_in_child(void)
{
	shared->async_profiler = NULL;
	engine_thread_reset_in_child();
	signal_handlers_reset_in_child();
	stall_events_reset_in_child();
}
