/* The label chunk: identity and settings of a recording. */
#include "engine/collect/label_chunk.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/agent/cost_counters.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/fd.h"
#include "engine/collect/wait_log.h"
#include "engine/jfr/jfr_write.h"

/* Offset of the start time in a chunk's header: nanoseconds since 1970, big-endian. */
#define START_AT 32

/* Ticks of this chunk are nanoseconds: most of its events are at its start. */
#define TICKS_PER_SECOND 1000000000u

/* "agent.tag." and a key, which may be as long as a whole tag (check_tags). */
#define NAME_MAX_BYTES (JFR_STRING_MAX + 1)

static int label_read_start(const struct report_part *part, uint64_t *start_ns)
{
	int err = fd_read(part->fd, start_ns, sizeof(*start_ns), part->offset + START_AT);

	*start_ns = be64toh(*start_ns);
	return err;
}

struct labels {
	struct jfr_writer *jfr;
	uint64_t ticks;
	struct buf name;
	bool has_version;
};

static int label_write_tag(void *arg, const char *key, const char *value)
{
	struct labels *l = arg;
	int err;

	buf_reset(&l->name);
	err = buf_printf(&l->name, "agent.tag.%s", key);
	if (!err && strlen(value) > JFR_STRING_MAX)
		err = -E2BIG;
	if (!err)
		jfr_setting(l->jfr, l->ticks, buf_string(&l->name), value);
	l->has_version |= !strcmp(key, "version");
	return err;
}

/* Write the settings as in the engine's first chunk. */
static void label_write_sampling(struct jfr_writer *jfr, uint64_t ticks,
				 const struct sampling *sampling)
{
	const struct {
		const char *key;
		uint64_t value;
	} settings[] = { { "interval", sampling->interval_ns },
			 { "wall", sampling->wall_ns },
			 { "nativemem", sampling->mem_bytes } };
	char text[24];

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (!settings[i].value)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64, settings[i].value);
		jfr_setting(jfr, ticks, settings[i].key, text);
	}
}

static void label_write_costs(struct jfr_writer *jfr, uint64_t ticks,
			      const struct report_costs *costs)
{
	struct jfr_cost agent = { .kind = "agent",
				  .cpu_ns = costs->fixed_ns,
				  .program_ns = costs->program_ns,
				  .elapsed_ns = costs->elapsed_ns };

	if (!costs->elapsed_ns)
		return;
	jfr_cost(jfr, ticks, &agent);
	for (unsigned i = 0; i < COST_KINDS; i++) {
		const struct report_cost *kind = &costs->kinds[i];

		if (kind->samples || kind->ns || kind->sampled_ns)
			jfr_cost(jfr, ticks,
				 &(struct jfr_cost){ .kind = cost_names[i],
						     .samples = kind->samples,
						     .cpu_ns = kind->ns,
						     .program_ns = costs->program_ns,
						     .elapsed_ns = costs->elapsed_ns,
						     .sampled_ns = kind->sampled_ns,
						     .kept_ns = kind->kept_ns });
	}
}

static int label_write_all(struct jfr_writer *jfr, uint64_t ticks, const struct report *report)
{
	struct labels labels = { jfr, ticks, BUF_INIT(NAME_MAX_BYTES), false };
	char since[24];
	int err;

	if (report->host && report->host[0])
		jfr_setting(jfr, ticks, "agent.host", report->host);
	if (report->executable && report->executable[0])
		jfr_setting(jfr, ticks, "agent.executable", report->executable);
	if (report->profiled_since_ms) {
		snprintf(since, sizeof(since), "%" PRIu64, report->profiled_since_ms);
		jfr_setting(jfr, ticks, "agent.profiled_since", since);
	}
	if (report->recovered)
		jfr_setting(jfr, ticks, "agent.recovered", "true");
	label_write_sampling(jfr, ticks, &report->sampling);
	label_write_costs(jfr, ticks, &report->costs);
	err = report_each_tag(report->tags, label_write_tag, &labels);
	if (!err && report->version && !labels.has_version)
		jfr_setting(jfr, ticks, "agent.service_version", report->version);
	buf_free(&labels.name);
	return err;
}

int label_chunk_write(int fd, const struct report *report)
{
	uint64_t start_ns, ticks = clock_ticks();
	struct jfr_writer *jfr;
	int err = label_read_start(&report->parts[0], &start_ns);

	if (!err)
		err = jfr_writer_open(&jfr, fd, 0);
	if (err)
		return err;
	jfr_writer_memory_only(jfr, 0, JFR_WITH_OTHER_ENGINE);
	jfr_writer_calibrated(jfr, TICKS_PER_SECOND);
	err = jfr_chunk_begin(jfr, start_ns, ticks);
	if (!err)
		err = label_write_all(jfr, ticks, report);
	if (!err && !report->recovered && report->pid == getpid())
		wait_log_write(jfr, start_ns, ticks);
	if (!err)
		err = jfr_chunk_end(jfr, start_ns, ticks, NULL, NULL, NULL);
	jfr_writer_close(jfr);
	return err;
}
