/* The builtin engine behind async-profiler's commands: start, dump, stop, metrics, version. */
#include "engine/builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "engine/collector.h"
#include "engine/mem_events.h"
#include "engine/modules.h"
#include "engine/ring.h"
#include "engine/threads.h"
#include "engine/user_events.h"
#include "engine/wall.h"

/* Two rings hold a tenth of a second of 100 threads that each run 60 frames deep at 10 ms. */
#define RINGS      2
#define RING_BYTES (256u << 10)

/* Samples wait in the rings no longer than this. */
#define DRAIN_INTERVAL_NS 500000000u

#define OFF UINT64_MAX

/* What a start command asks for. */
struct request {
	bool cpu; /* event=cpu, not event=wall */
	uint64_t interval_ns, wall_ns;
	uint64_t mem_bytes;
	bool beside; /* another engine, whose recording will hold ours too */
	char cstack[16], file[4096];
};

static struct {
	struct wake *collector;
	sampler_installer *install;
	int fd; /* the recording; -1 when not running */
	uint64_t drain_due_ns;
	char problem[4096 + 256]; /* what the last error says */
} engine = { .fd = -1 };

static asprof_error_t problem(const char *what, const char *about, int err)
{
	snprintf(engine.problem, sizeof(engine.problem), "%s %s%s%s", what, about, err ? ": " : "",
		 err ? strerror(-err) : "");
	return engine.problem;
}

/* "100000000", "10ms", "500us", "1s"; nanoseconds where no unit is said. */
static bool read_interval(uint64_t *ns, const char *text)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
		{ "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }
	};
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || end == text || !number)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		*ns = number * units[i].ns;
		return number < OFF / units[i].ns;
	}
	return false;
}

static bool read_event(struct request *r, const char *value)
{
	r->cpu = !strcmp(value, "cpu");
	return r->cpu || !strcmp(value, "wall");
}

static bool read_interval_option(struct request *r, const char *value)
{
	return read_interval(&r->interval_ns, value);
}

static bool read_wall(struct request *r, const char *value)
{
	return read_interval(&r->wall_ns, value);
}

static bool read_mem(struct request *r, const char *value)
{
	static const char units[] = "kmg";
	unsigned long long number;
	const char *unit;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno || end == value)
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	if (*end && (!unit || end[1]))
		return false;
	r->mem_bytes = number << (unit ? 10 * (unit - units + 1) : 0);
	return r->mem_bytes != OFF;
}

static bool read_file(struct request *r, const char *value)
{
	return (size_t)snprintf(r->file, sizeof(r->file), "%s", value) < sizeof(r->file);
}

/* Any way to walk the stack is understood; there is one, which does what each is for. */
static bool read_cstack(struct request *r, const char *value)
{
	return (size_t)snprintf(r->cstack, sizeof(r->cstack), "%s", value) < sizeof(r->cstack);
}

static bool read_beside(struct request *r, const char *value)
{
	r->beside = true;
	return !*value;
}

static bool read_nothing(struct request *r, const char *value)
{
	(void)r;
	return !*value;
}

static const struct {
	const char *key;
	bool (*read)(struct request *r, const char *value);
} start_options[] = {
	{ "event", read_event },   { "interval", read_interval_option },
	{ "wall", read_wall },     { "file", read_file },
	{ "cstack", read_cstack }, { "jfr", read_nothing },
	{ "nativemem", read_mem }, { "beside", read_beside },
};

static asprof_error_t read_option(struct request *r, char *option, asprof_writer_t output)
{
	char *value = strchr(option, '=');
	char line[256];

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < sizeof(start_options) / sizeof(start_options[0]); i++) {
		if (strcmp(option, start_options[i].key))
			continue;
		if (start_options[i].read(r, value ? value : ""))
			return NULL;
		return problem("the builtin engine cannot take the value of", option, 0);
	}
	/* Meant for async-profiler, mostly: no reason not to profile. */
	snprintf(line, sizeof(line), "the builtin engine has no option %s; it is ignored\n",
		 option);
	output(line, strlen(line));
	return NULL;
}

static asprof_error_t read_request(struct request *r, const char *options, asprof_writer_t output)
{
	asprof_error_t err = NULL;
	char *copy, *rest, *option;

	*r = (struct request){ .cpu = true, .interval_ns = OFF, .wall_ns = OFF, .mem_bytes = OFF };
	snprintf(r->cstack, sizeof(r->cstack), "dwarf");
	copy = strdup(options);
	if (!copy)
		return problem("cannot start:", "out of memory", 0);
	rest = copy;
	while (!err && (option = strsep(&rest, ",")))
		if (*option)
			err = read_option(r, option, output);
	free(copy);
	if (err)
		return err;
	if (!r->cpu) {
		r->wall_ns = r->interval_ns != OFF ? r->interval_ns : r->wall_ns;
		r->interval_ns = OFF;
	}
	if (!r->file[0])
		return problem("cannot start:", "no file= to write to", 0);
	return NULL;
}

static bool memory_only(const struct request *r)
{
	return r->interval_ns == OFF && r->wall_ns == OFF && r->mem_bytes != OFF;
}

/* For chunks of native memory, or of all else. */
static void describe(chunk_settings settings, const struct request *r, bool memory)
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
	if (r->interval_ns != OFF)
		SETTING("interval", "%llu", (unsigned long long)r->interval_ns);
	if (r->wall_ns != OFF)
		SETTING("wall", "%llu", (unsigned long long)r->wall_ns);
	if (r->mem_bytes != OFF)
		SETTING("nativemem", "%llu", (unsigned long long)r->mem_bytes);
#undef SETTING
}

static int start_sampling(const struct request *r)
{
	struct thread_timers timers = { .cpu_interval_ns = r->interval_ns };
	int err;

	/* No signals where memory alone is sampled, beside another engine. */
	if (!memory_only(r)) {
		timers.signo = sampler_install(engine.install);
		if (timers.signo < 0)
			return timers.signo;
		sampler_enable(true);
	}
	err = threads_open(&timers);
	if (!err && r->mem_bytes != OFF)
		err = mem_events_start(r->mem_bytes);
	if (err) {
		sampler_enable(false);
		threads_close();
		return err;
	}
	wall_start(r->wall_ns);
	return 0;
}

static asprof_error_t start(const char *options, asprof_writer_t output)
{
	chunk_settings samples = { 0 }, memory = { 0 };
	struct request r;
	asprof_error_t wrong;
	int err;

	if (engine.fd >= 0)
		return problem("cannot start:", "the profiler is running already", 0);
	wrong = read_request(&r, options, output);
	if (wrong)
		return wrong;
	engine.fd = fd_raise(open(r.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	if (engine.fd < 0) {
		err = engine.fd;
		engine.fd = -1;
		return problem("cannot open", r.file, err);
	}
	err = ring_open(RINGS, RING_BYTES, engine.collector);
	if (!err)
		err = modules_open();
	if (!err) {
		describe(samples, &r, false);
		describe(memory, &r, true);
		err = collector_start(engine.fd, memory_only(&r) ? NULL : &samples,
				      r.mem_bytes == OFF ? NULL : &memory, r.beside);
	}
	if (err)
		goto fail;
	err = start_sampling(&r);
	if (err) {
		collector_stop();
		goto fail;
	}
	return NULL;
fail:
	close(engine.fd);
	engine.fd = -1;
	return problem("cannot start", "sampling", err);
}

static asprof_error_t dump(const char *options, asprof_writer_t output)
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
	close(engine.fd);
	engine.fd = -1;
	return err ? problem("cannot write", "the recording", err) : NULL;
}

static asprof_error_t metrics(const char *options, asprof_writer_t output)
{
	char text[256];

	(void)options;
	snprintf(text, sizeof(text), "samples_total %llu\nsamples_skipped_total %llu\n",
		 (unsigned long long)collector_samples(), (unsigned long long)collector_lost());
	output(text, strlen(text));
	return NULL;
}

static asprof_error_t version(const char *options, asprof_writer_t output)
{
	(void)options;
	output(ASPROF_AGENT_VERSION, strlen(ASPROF_AGENT_VERSION));
	return NULL;
}

static const struct {
	const char *name;
	asprof_error_t (*run)(const char *options, asprof_writer_t output);
} commands[] = {
	{ "start", start },     { "dump", dump },       { "stop", stop },
	{ "metrics", metrics }, { "version", version },
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

static void init(void)
{
}

static const char *error_str(asprof_error_t err)
{
	return err;
}

static uint64_t service(uint64_t now_ns)
{
	uint64_t due;

	if (engine.fd < 0)
		return UINT64_MAX;
	collector_drain(now_ns);
	due = wall_visit(now_ns);
	engine.drain_due_ns = now_ns + DRAIN_INTERVAL_NS;
	return due < engine.drain_due_ns ? due : engine.drain_due_ns;
}

const struct engine *builtin_engine(struct wake *collector, sampler_installer *install)
{
	static const struct engine builtin = {
		.name = "builtin",
		.init = init,
		.error_str = error_str,
		.execute = execute,
		.service = service,
		.get_thread_local_data = threads_local,
		.register_jfr_event = user_event_register,
		.emit_jfr_event = user_event_emit,
	};

	engine.collector = collector;
	engine.install = install;
	return &builtin;
}
