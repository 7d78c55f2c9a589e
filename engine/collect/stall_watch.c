/* The stall watcher: a thread that checks event-loop iterations. It has its own thread because it
 * must not be late. The agent's thread has a low priority, and is often busy with names and reports
 * for a long time. */
#include "engine/collect/stall_watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/agent/waiters.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/units.h"
#include "engine/sample/sampler.h"
#include "engine/sample/loop_iterations.h"

/* How long the rate of the timestamp counter is measured; exact to a ten-thousandth. */
#define MEASURE_NS MS(20)

/* Maximum time that close() waits for the thread. */
#define CLOSE_NS MS(500)

static struct {
	_Atomic uint64_t ns;
	_Atomic int signo;
	_Atomic uint32_t running; /* futex that close_watch() waits for */
	_Atomic bool closing, paused;
} watch;

/* Rate of the timestamp counter: ticks per time. Used by the watcher's thread only. */
static struct {
	uint64_t ticks, ns;
} rate;

/* Wait until UNTIL, or until woken. Returns false when the thread must end. */
static bool wait_until(uint64_t until)
{
	uint64_t due = privileges_due_ns();

	wake_wait(loop_iterations_wake(), due < until ? due : until);
	return !atomic_load(&watch.closing) && !privileges_follow(false);
}

/* Returns false when the thread must end. */
static bool watch_measure_rate(void)
{
	uint64_t ns = clock_monotonic_ns(), ticks = clock_ticks(), passed;

	do {
		if (!wait_until(ns + MEASURE_NS))
			return false;
		passed = clock_monotonic_ns() - ns;
	} while (passed < MEASURE_NS);
	rate.ticks = clock_ticks() - ticks;
	rate.ns = passed;
	return true;
}

/* Check iterations until the watch is paused or its limit is no longer NS. */
static void watch_turns(uint64_t ns)
{
	int signo = atomic_load(&watch.signo);
	uint64_t in;

	loop_iterations_open(ns, (uint64_t)((unsigned __int128)rate.ticks * ns / rate.ns) + 1,
			     signo);
	do
		in = loop_iterations_check();
	while (!atomic_load(&watch.paused) && atomic_load(&watch.ns) == ns &&
	       atomic_load(&watch.signo) == signo &&
	       wait_until(in == UINT64_MAX ? UINT64_MAX : clock_monotonic_ns() + in));
	loop_iterations_close();
}

static void watch_wake(void *unused)
{
	(void)unused;
	wake_up(loop_iterations_wake());
}

static void *watch_run(void *unused)
{
	bool is_running;

	(void)unused;
	waiters_add(watch_wake, NULL);
	is_running = !privileges_follow(false) && watch_measure_rate();
	while (is_running && !atomic_load(&watch.closing) && !privileges_follow(false)) {
		if (!atomic_load(&watch.paused))
			watch_turns(atomic_load(&watch.ns));
		else
			wait_until(UINT64_MAX);
	}
	waiters_remove();
	atomic_store(&watch.running, 0);
	futex_wake(&watch.running);
	return NULL;
}

static void open_watch(uint64_t ns, bool signalled)
{
	int signo = signalled ? sampler_install() : 0, err = signo < 0 ? signo : 0;

	if (!err && atomic_load(&watch.running))
		err = -EBUSY;
	if (!err) {
		atomic_store(&watch.ns, ns);
		atomic_store(&watch.signo, signo);
		atomic_store(&watch.closing, false);
		atomic_store(&watch.paused, false);
		atomic_store(&watch.running, 1);
		err = own_thread_start("asprof-stalls", watch_run, NULL);
		if (err)
			atomic_store(&watch.running, 0);
	}
	if (err)
		log_warn("stalls are not watched for: %s", strerror(-err));
}

static void set_watch(uint64_t ns)
{
	atomic_store(&watch.ns, ns);
	wake_up(loop_iterations_wake());
}

/* After a pause the sampling signal may be another one. */
static void pause_watch(bool on)
{
	int signo = on || !atomic_load(&watch.signo) ? 0 : sampler_install();

	if (signo > 0)
		atomic_store(&watch.signo, signo);
	atomic_store(&watch.paused, on);
	wake_up(loop_iterations_wake());
}

static void close_watch(void)
{
	uint64_t until = clock_monotonic_ns() + CLOSE_NS;

	atomic_store(&watch.closing, true);
	wake_up(loop_iterations_wake());
	while (atomic_load(&watch.running) && clock_monotonic_ns() < until)
		futex_wait_until(&watch.running, 1, until);
}

const struct stall_watch stall_watch = {
	.open = open_watch, .set = set_watch, .pause = pause_watch, .close = close_watch
};
