/* The start string: async-profiler's command that starts sampling. */
#include "asyncprof/start_string.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define NS_PER_US 1000u
#define NS_PER_MS 1000000u

/* In whole milliseconds if possible. The smallest unit of an option is a microsecond. */
static int write_duration(struct buf *out, const char *key, uint64_t ns)
{
	if (ns % NS_PER_MS)
		return buf_printf(out, ",%s=%" PRIu64 "us", key, ns / NS_PER_US);
	return buf_printf(out, ",%s=%" PRIu64 "ms", key, ns / NS_PER_MS);
}

bool start_string_has_event(const char *options)
{
	for (; options; options = engine_option_next(options))
		if (!strncmp(options, "event=", strlen("event=")))
			return true;
	return false;
}

static int write_events(struct buf *out, const struct engine_start *start)
{
	int err = 0;

	if (start->interval_ns == ENGINE_OFF)
		return 0;
	if (!start_string_has_event(start->options)) /* async-profiler refuses a second one */
		err = buf_printf(out, ",event=%s", start->cpu ? "cpu" : "wall");
	if (!err && start->cpu)
		err = buf_printf(out, ",interval=%" PRIu64, start->interval_ns);
	else if (!err)
		err = write_duration(out, "interval", start->interval_ns);
	if (!err && start->wall_ns != ENGINE_OFF)
		err = write_duration(out, "wall", start->wall_ns);
	return err;
}

/* With a unit: 10m, 512k, 5000000. */
static int write_native_mem(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = { "", "k", "m", "g" };
	size_t unit = 0;

	while (bytes && bytes % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(*units)) {
		bytes /= 1024;
		unit++;
	}
	return buf_printf(out, ",nativemem=%" PRIu64 "%s", bytes, units[unit]);
}

int start_string_write(struct buf *out, const struct engine_start *start)
{
	int err;

	/* A comma ends the path, and a percent sign begins a pattern. */
	if (strpbrk(start->file, ",%"))
		return -EINVAL;

	err = buf_append_string(out, "start");
	if (!err)
		err = write_events(out, start);
	if (!err)
		err = buf_printf(out, ",jfr,cstack=%s,file=%s", start->cstack, start->file);
	if (!err && start->mem_bytes != ENGINE_OFF)
		err = write_native_mem(out, start->mem_bytes);
	if (!err && start->lock_ns != ENGINE_OFF)
		err = write_duration(out, "lock", start->lock_ns);
	if (!err && start->options)
		err = buf_printf(out, ",%s", start->options);
	return err;
}
