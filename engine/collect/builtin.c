/* The builtin engine: start, rotate, stop. */
#include "engine/collect/builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/agent_phase.h"
#include "core/clock.h"
#include "core/cost.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/shared.h"
#include "core/units.h"
#include "core/agent/engine_start.h"
#include "core/agent/failure.h"
#include "core/agent/recording.h"
#include "engine/collect/collector.h"
#include "engine/collect/confinement.h"
#include "engine/collect/thread_look.h"
#include "engine/collect/thread_mask.h"
#include "engine/collect/thread_times.h"
#include "engine/collect/wall.h"
#include "engine/context/contexts.h"
#include "engine/memory/mem_record.h"
#include "engine/modules/modules.h"
#include "engine/runtime/runtimes.h"
#include "engine/sample/lock_waits.h"
#include "engine/sample/ring.h"
#include "engine/sample/sampler.h"
#include "engine/sample/threads.h"
#include "engine/sample/user_events.h"
#include "engine/wait/wait_look.h"

/* Maximum time that samples wait in the rings. */
#define DRAIN_INTERVAL_NS 500000000u

/* Check interval while an interpreter starts: frames that are sampled meanwhile have incomplete
 * names. */
#define BEGINNING_INTERVAL_NS 20000000u

/* Minimum of the intervals. The kernel's timers fire some milliseconds apart, and with a shorter
 * interval each would yield more samples than can be written until the next. */
#define INTERVAL_MIN_NS US(10)

static struct {
	struct wake *collector;
	bool has_other_engine; /* the recording also holds the chunks of another engine */
	int fd;                /* the recording; -1 when not running */
	int signo;             /* the sampling signal, if threads are sampled; else 0 */
	uint64_t cpu_ns, mem_bytes;
} engine = { .fd = -1 };

static bool start_is_memory_only(const struct engine_start *r)
{
	return r->interval_ns == ENGINE_OFF && r->wall_ns == ENGINE_OFF &&
	       r->mem_bytes != ENGINE_OFF;
}

/* The settings of the chunks of native memory (MEMORY), or of all other chunks. */
static void builtin_describe(chunk_settings settings, const struct engine_start *r, bool memory)
{
	size_t n = 0;

#define SETTING(name, ...)         \
	(settings[n].key = (name), \
	 snprintf(settings[n++].value, sizeof(settings->value), __VA_ARGS__))

	SETTING("version", "%s", ASPROF_AGENT_VERSION);
	SETTING("engine", "builtin");
	SETTING("cstack", "%.*s", (int)strcspn(r->cstack, ","), r->cstack);
	/* Memory events have timestamps of no known clock. Decoders of poll durations reject
	 * any name but "tsc". */
	if (!memory)
		SETTING("clock", "tsc");
	SETTING("event", "%s", memory ? "nativemem" : r->cpu ? "cpu" : "wall");
	if (r->interval_ns != ENGINE_OFF)
		SETTING("interval", "%llu", (unsigned long long)r->interval_ns);
	if (r->wall_ns != ENGINE_OFF)
		SETTING("wall", "%llu", (unsigned long long)r->wall_ns);
	if (r->lock_ns != ENGINE_OFF)
		SETTING("lock", "%llu", (unsigned long long)r->lock_ns);
	if (r->mem_bytes != ENGINE_OFF)
		SETTING("nativemem", "%llu", (unsigned long long)r->mem_bytes);
#undef SETTING
}

static int builtin_start_sampling(const struct engine_start *r)
{
	struct thread_timers timers = {
		.cpu_interval_ns = r->interval_ns,
		.hold = shared->is_attached ? thread_mask_hold : NULL,
	};
	int err;

	engine.signo = 0;
	engine.cpu_ns = r->interval_ns;
	engine.mem_bytes = r->mem_bytes;
	/* Native memory alone, next to another engine, needs no signals. */
	if (!start_is_memory_only(r)) {
		timers.signo = sampler_install_enabled();
		if (timers.signo < 0)
			return timers.signo;
		engine.signo = timers.signo;
	}
	err = thread_look_open(&timers);
	if (!err && r->mem_bytes != ENGINE_OFF)
		err = mem_record_start(r->mem_bytes);
	if (err) {
		sampler_enable(false);
		threads_close();
		return err;
	}
	wall_start(r->wall_ns);
	lock_waits_set_interval(start_is_memory_only(r) ? ENGINE_OFF : r->lock_ns);
	if (!start_is_memory_only(r) && wait_look_is_on())
		thread_times_start();
	return 0;
}

static int builtin_start_collecting(const struct engine_start *r)
{
	chunk_settings samples = { 0 }, memory = { 0 };

	builtin_describe(samples, r, false);
	builtin_describe(memory, r, true);
	return collector_start(engine.fd, start_is_memory_only(r) ? NULL : &samples,
			       r->mem_bytes == ENGINE_OFF ? NULL : &memory,
			       engine.has_other_engine);
}

static int builtin_start_all(const struct engine_start *r)
{
	int err = ring_open(SAMPLE_RINGS, SAMPLE_RING_BYTES, engine.collector);

	if (!err)
		err = modules_open();
	runtimes_scan();
	contexts_search_modules();
	if (!err)
		err = builtin_start_collecting(r);
	if (err)
		return err;
	err = builtin_start_sampling(r);
	if (err)
		collector_stop();
	return err;
}

static void builtin_close_recording(void)
{
	close(engine.fd);
	engine.fd = -1;
}

static int builtin_refuse_option(const char *option)
{
	return failed(-EIO,
		      "builtin: start failed: the builtin engine cannot take the value of %.*s",
		      (int)strcspn(option, "=,"), option);
}

/* Apply the user's options to R. An unknown option is mostly meant for async-profiler. */
static int builtin_read_options(struct engine_start *r)
{
	int err;

	for (const char *option = r->options; option; option = engine_option_next(option)) {
		err = engine_start_set(r, option);
		if (err == -EINVAL)
			return builtin_refuse_option(option);
		if (err && *option && *option != ',')
			log_info("builtin: the builtin engine has no option %.*s; it is ignored",
				 (int)strcspn(option, "=,"), option);
	}
	if (r->interval_ns < INTERVAL_MIN_NS)
		return builtin_refuse_option("interval");
	if (r->wall_ns < INTERVAL_MIN_NS)
		return builtin_refuse_option("wall");
	if (!r->cpu) { /* then the interval is the wall clock's */
		r->wall_ns = r->interval_ns != ENGINE_OFF ? r->interval_ns : r->wall_ns;
		r->interval_ns = ENGINE_OFF;
	}
	return 0;
}

static int builtin_start(const struct engine_start *wanted)
{
	struct engine_start r = *wanted;
	int fd, err;

	if (engine.fd >= 0)
		return failed(-EIO, "builtin: start failed: the profiler is running already");
	err = builtin_read_options(&r);
	if (err)
		return err;
	/* Works also where /proc is missing, or belongs to another process. */
	fd = recording_number(r.file);
	fd = fd_raise(fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
			      : open(r.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	if (fd < 0)
		return failed(-EIO, "builtin: start failed: cannot open %s: %s", r.file,
			      strerror(-fd));
	engine.fd = fd;
	err = builtin_start_all(&r);
	if (err) {
		builtin_close_recording();
		return failed(err == -EBUSY || err == -ECANCELED ? err : -EIO,
			      "builtin: start failed: cannot start sampling: %s",
			      err == -EBUSY ? "the program uses the sampling signal itself"
					    : strerror(-err));
	}
	return 0;
}

static void builtin_set_intervals(const struct engine_start *r)
{
	if (r->mem_bytes != engine.mem_bytes)
		mem_record_set_interval(r->mem_bytes);
	engine.mem_bytes = r->mem_bytes;
	if (!engine.signo)
		return;
	wall_change(r->wall_ns, clock_monotonic_ns());
	/* All timers are set again. */
	if (r->interval_ns != engine.cpu_ns)
		threads_set_interval(r->interval_ns);
	engine.cpu_ns = r->interval_ns;
}

/* The table of live allocations stays. */
static int builtin_change_intervals(const struct engine_start *wanted)
{
	chunk_settings samples = { 0 }, memory = { 0 };
	struct engine_start r = *wanted;
	int err = engine.fd < 0 ? -ENOTSUP : builtin_read_options(&r);

	/* The kinds of chunks stay. */
	if (!err && ((r.mem_bytes == ENGINE_OFF) != (engine.mem_bytes == ENGINE_OFF) ||
		     start_is_memory_only(&r) != !engine.signo))
		err = -ENOTSUP;
	if (err)
		return err;
	builtin_describe(samples, &r, !engine.signo);
	builtin_describe(memory, &r, true);
	if (engine.signo)
		sampler_enable(false);
	if (collector_change_settings(samples, memory))
		log_debug("a chunk is lost at a change of intervals");
	builtin_set_intervals(&r);
	if (engine.signo)
		sampler_enable(true);
	return 0;
}

static int builtin_write_error(const char *step, int err)
{
	return err ? failed(-EIO, "builtin: %s failed: cannot write the recording: %s", step,
			    strerror(-err))
		   : 0;
}

static int builtin_rotate(void)
{
	return builtin_write_error("dump", collector_rotate());
}

static int builtin_stop(void)
{
	int err;

	if (engine.fd < 0)
		return failed(-EIO, "builtin: stop failed: the profiler is not running");
	sampler_enable(false);
	lock_waits_set_interval(ENGINE_OFF);
	threads_pause(atomic_load(&shared->agent.state) & AGENT_STOP &&
		      !atomic_load(&shared->agent.is_leaving));
	mem_stop();
	err = collector_stop();
	thread_times_stop();
	wall_stop();
	threads_close();
	builtin_close_recording();
	return builtin_write_error("stop", err);
}

static bool builtin_counts(const struct engine *self, struct engine_counts *out)
{
	(void)self;
	*out = (struct engine_counts){ .taken = collector_samples(), .lost = collector_lost() };
	collector_losses(&out->losses);
	return true;
}

static void builtin_version(const struct engine *self, char *text, size_t size)
{
	(void)self;
	snprintf(text, size, "%s", ASPROF_AGENT_VERSION);
}

static uint64_t builtin_drain_interval_ns(void)
{
	return runtimes_one_begins() ? BEGINNING_INTERVAL_NS : DRAIN_INTERVAL_NS;
}

/* What interposers report in other programs. */
static void builtin_check_program(void)
{
	sampler_check();
	if (!sampler_signal() || !confinement_has_grown())
		return;
	log_warn("the program filters its system calls (seccomp); no more samples are taken");
	sampler_give_up(sampler_signal());
}

static uint64_t builtin_service(uint64_t now_ns)
{
	uint64_t drain_due_ns, visit_due_ns, begin_ns;

	if (engine.fd < 0)
		return UINT64_MAX;
	collector_drain(now_ns);
	collector_split_if_full();
	if (shared->is_attached)
		builtin_check_program();
	drain_due_ns = now_ns + builtin_drain_interval_ns();
	begin_ns = clock_cpu_ns();
	visit_due_ns = wall_visit(now_ns);
	cost_add_agent(COST_WALL, clock_cpu_ns() - begin_ns);
	return visit_due_ns < drain_due_ns ? visit_due_ns : drain_due_ns;
}

static unsigned builtin_sample_threads(bool begin)
{
	collector_drain(clock_monotonic_ns());
	if (begin) {
		thread_look();
		wall_visit_all();
	}
	return wall_count_pending(engine.signo);
}

const struct engine *builtin_engine(struct wake *collector)
{
	static const struct engine builtin = {
		.name = "builtin",
		.start = builtin_start,
		.rotate = builtin_rotate,
		.stop = builtin_stop,
		.change_intervals = builtin_change_intervals,
		.counts = builtin_counts,
		.chunk_bytes = collector_mem_bytes,
		.end_chunk = collector_end_chunk,
		.version = builtin_version,
		.service = builtin_service,
		.leave = sampler_remove,
		.sample_threads = builtin_sample_threads,
		.get_thread_local_data = threads_local,
		.register_jfr_event = user_event_register,
		.emit_jfr_event = user_event_emit,
	};

	engine.collector = collector;
	engine.has_other_engine = false;
	return &builtin;
}

const struct engine *builtin_engine_to_look(struct wake *collector)
{
	static struct engine looks;

	looks = *builtin_engine(collector);
	looks.leave = sampler_remove_second;
	return &looks;
}

const struct engine *builtin_second_engine(struct wake *collector)
{
	const struct engine *builtin = builtin_engine(collector);

	engine.has_other_engine = true;
	return builtin;
}
