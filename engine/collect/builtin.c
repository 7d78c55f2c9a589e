/* The builtin engine behind async-profiler's commands: start, dump, stop. */
#include "engine/collect/builtin.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/agent/recording.h"
#include "engine/collect/collector.h"
#include "engine/collect/start_request.h"
#include "engine/collect/thread_look.h"
#include "engine/collect/wall.h"
#include "engine/context/contexts.h"
#include "engine/memory/mem_record.h"
#include "engine/modules/modules.h"
#include "engine/runtime/runtimes.h"
#include "engine/sample/ring.h"
#include "engine/sample/sampler.h"
#include "engine/sample/threads.h"
#include "engine/sample/user_events.h"

/* Samples wait in the rings no longer than this. */
#define DRAIN_INTERVAL_NS 500000000u

/* The same where the recording is to survive the process: they lie in its memory. */
#define KEPT_INTERVAL_NS 50000000u

/* An interpreter that is beginning is looked at again after this: what runs meanwhile has not all of its name. */
#define BEGINNING_INTERVAL_NS 20000000u

static struct {
	struct wake *collector;
	bool beside;                        /* another engine, whose recording will hold ours too */
	int fd;                             /* the recording; -1 when not running */
	int signo;                          /* by which it samples threads, where it does */
	char problem[START_FILE_MAX + 256]; /* what the last error says */
} engine = { .fd = -1 };

static asprof_error_t problem(const char *what, const char *about, int err)
{
	snprintf(engine.problem, sizeof(engine.problem), "%s %s%s%s", what, about, err ? ": " : "",
		 err ? strerror(-err) : "");
	return engine.problem;
}

static bool start_is_memory_only(const struct engine_start *r)
{
	return r->interval_ns == ENGINE_OFF && r->wall_ns == ENGINE_OFF &&
	       r->mem_bytes != ENGINE_OFF;
}

/* For chunks of native memory, or of all else. */
static void builtin_describe(chunk_settings settings, const struct engine_start *r, bool memory)
{
	size_t n = 0;

#define SETTING(name, ...)         \
	(settings[n].key = (name), \
	 snprintf(settings[n++].value, sizeof(settings->value), __VA_ARGS__))

	SETTING("version", "%s", ASPROF_AGENT_VERSION);
	SETTING("engine", "builtin");
	SETTING("cstack", "%s", r->cstack);
	SETTING("clock", "%s", memory ? "monotonic" : "tsc");
	SETTING("event", "%s", memory ? "nativemem" : r->cpu ? "cpu" : "wall");
	if (r->interval_ns != ENGINE_OFF)
		SETTING("interval", "%llu", (unsigned long long)r->interval_ns);
	if (r->wall_ns != ENGINE_OFF)
		SETTING("wall", "%llu", (unsigned long long)r->wall_ns);
	if (r->mem_bytes != ENGINE_OFF)
		SETTING("nativemem", "%llu", (unsigned long long)r->mem_bytes);
#undef SETTING
}

static int builtin_start_sampling(const struct engine_start *r)
{
	struct thread_timers timers = { .cpu_interval_ns = r->interval_ns };
	int err;

	/* No signals where memory alone is sampled, beside another engine. */
	if (!start_is_memory_only(r)) {
		timers.signo = sampler_install();
		if (timers.signo < 0)
			return timers.signo;
		engine.signo = timers.signo;
		sampler_enable(true);
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
	return 0;
}

static int builtin_start_collecting(const struct engine_start *r)
{
	chunk_settings samples = { 0 }, memory = { 0 };

	builtin_describe(samples, r, false);
	builtin_describe(memory, r, true);
	return collector_start(engine.fd, start_is_memory_only(r) ? NULL : &samples,
			       r->mem_bytes == ENGINE_OFF ? NULL : &memory, engine.beside);
}

static int session_start_all(const struct engine_start *r)
{
	int err = ring_open(BUILTIN_RINGS, BUILTIN_RING_BYTES, engine.collector);

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

static asprof_error_t start(const char *options, asprof_writer_t output)
{
	struct engine_start r;
	int fd, err;

	if (engine.fd >= 0)
		return problem("cannot start:", "the profiler is running already", 0);
	if (start_request_read(&r, options, output, engine.problem))
		return engine.problem;
	/* Also where /proc is missing, or is another's. */
	fd = recording_number(r.file);
	fd = fd_raise(fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
			      : open(r.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	if (fd < 0)
		return problem("cannot open", r.file, fd);
	engine.fd = fd;
	err = session_start_all(&r);
	if (err) {
		builtin_close_recording();
		return problem("cannot start", "sampling", err);
	}
	return NULL;
}

static asprof_error_t builtin_write_error(const char *options, asprof_writer_t output)
{
	int err = collector_rotate();

	(void)options;
	(void)output;
	return err ? problem("cannot write", "the recording", err) : NULL;
}

static asprof_error_t stop(const char *options, asprof_writer_t output)
{
	int err;

	(void)options;
	(void)output;
	if (engine.fd < 0)
		return problem("cannot stop:", "the profiler is not running", 0);
	sampler_enable(false);
	mem_stop();
	err = collector_stop();
	wall_stop();
	threads_close();
	builtin_close_recording();
	return err ? problem("cannot write", "the recording", err) : NULL;
}

static bool counts(const struct engine *self, struct engine_counts *out)
{
	(void)self;
	*out = (struct engine_counts){ .taken = collector_samples(), .lost = collector_lost() };
	collector_losses(&out->losses);
	return true;
}

static void version(const struct engine *self, char *text, size_t size)
{
	(void)self;
	snprintf(text, size, "%s", ASPROF_AGENT_VERSION);
}

static const struct {
	const char *name;
	asprof_error_t (*run)(const char *options, asprof_writer_t output);
} commands[] = {
	{ "start", start },
	{ "dump", builtin_write_error },
	{ "stop", stop },
};

static asprof_error_t execute(const char *command, asprof_writer_t output)
{
	size_t length = strcspn(command, ",");

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (length == strlen(commands[i].name) &&
		    !strncmp(command, commands[i].name, length))
			return commands[i].run(command + length, output);
	return problem("the builtin engine has no command", command, 0);
}

static const char *error_str(asprof_error_t err)
{
	return err;
}

static uint64_t builtin_drain_interval_ns(void)
{
	if (runtimes_one_begins())
		return BEGINNING_INTERVAL_NS;
	return collector_is_kept() ? KEPT_INTERVAL_NS : DRAIN_INTERVAL_NS;
}

static uint64_t service(uint64_t now_ns)
{
	uint64_t drain_due_ns, visit_due_ns;

	if (engine.fd < 0)
		return UINT64_MAX;
	collector_drain(now_ns);
	drain_due_ns = now_ns + builtin_drain_interval_ns();
	visit_due_ns = wall_visit(now_ns);
	return visit_due_ns < drain_due_ns ? visit_due_ns : drain_due_ns;
}

static unsigned sample_threads(bool begin)
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
		.error_str = error_str,
		.execute = execute,
		.counts = counts,
		.version = version,
		.service = service,
		.leave = sampler_remove,
		.sample_threads = sample_threads,
		.get_thread_local_data = threads_local,
		.register_jfr_event = user_event_register,
		.emit_jfr_event = user_event_emit,
	};

	engine.collector = collector;
	engine.beside = false;
	return &builtin;
}

const struct engine *builtin_engine_to_look(struct wake *collector)
{
	static struct engine looks;

	looks = *builtin_engine(collector);
	looks.leave = sampler_remove_beside;
	return &looks;
}

const struct engine *builtin_engine_beside(struct wake *collector)
{
	const struct engine *builtin = builtin_engine(collector);

	engine.beside = true;
	return builtin;
}
