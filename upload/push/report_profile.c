/* Aggregation of a report's recording. Each chunk is read into memory: if another process
 * truncates a mapped file, access to it would kill the program. */
#include "upload/push/report_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fd.h"
#include "profile/aggregate/retained.h"

/* Longer chunks are dropped, and reported as a problem. */
#define CHUNK_MAX (64u << 20)

/* Bytes of a chunk that contain its length. */
#define HEADER_BYTES 68

struct report_feed {
	struct feed feed; /* the first member, so that the addresses are equal */
	const struct report *report;
	size_t part;
	uint64_t offset;
	struct settings configured, settings; /* fallback, and of the current part */
	struct report_profile *out;
	int err; /* a read error; a retry may succeed */
};

static struct report_feed *report_feed_of(struct feed *feed)
{
	return (struct report_feed *)feed;
}

static void report_feed_set_problem(struct report_feed *feed, const struct jfr_error *error)
{
	feed->feed.failed = true;
	if (!feed->out->problem[0])
		snprintf(feed->out->problem, sizeof(feed->out->problem), "%s at byte %" PRIu64,
			 error->what ? error->what : "damaged", error->offset);
}

/* Read the settings in the part's first chunk, DATA. */
static void report_feed_read_settings(struct report_feed *feed, const uint8_t *data,
				      uint64_t length)
{
	feed->settings = (struct settings){ 0 };
	settings_read_first_chunk(&feed->settings, data, length);
	settings_fill_missing(&feed->settings, &feed->configured);
}

static int report_feed_restart(struct feed *feed, bool ordered)
{
	(void)ordered; /* one process has one order only */
	report_feed_of(feed)->part = 0;
	report_feed_of(feed)->offset = 0;
	return 0;
}

/* The length of the chunk that starts with the HEADER_BYTES of DATA. */
static uint64_t chunk_length(const uint8_t *data)
{
	uint64_t length = 0;

	for (size_t i = 8; i < 16; i++)
		length = length << 8 | data[i];
	return length;
}

/* Read the chunk of PART at the feed's offset. Returns 0 with malloc'd DATA, or -errno; -EBADMSG
 * with a text in ERROR. */
static int report_feed_load(struct report_feed *feed, const struct report_part *part,
			    uint8_t **data, struct jfr_error *error)
{
	uint64_t left = part->length - feed->offset, length;
	off_t at = part->offset + (off_t)feed->offset;
	uint8_t header[HEADER_BYTES], *read;
	int err;

	*error = (struct jfr_error){ feed->offset, "truncated chunk" };
	if (left < sizeof(header))
		return -EBADMSG;
	err = fd_read(part->fd, header, sizeof(header), at);
	if (err)
		return err;
	length = chunk_length(header);
	if (length < sizeof(header) || length > left)
		return -EBADMSG;
	error->what = "chunk too long to aggregate";
	if (length > CHUNK_MAX)
		return -EBADMSG;
	read = malloc(length);
	if (!read)
		return -ENOMEM;
	err = fd_read(part->fd, read, length, at);
	if (err)
		free(read);
	else
		*data = read;
	return err;
}

/* Continue with the next part. */
static void report_feed_next_part(struct report_feed *feed)
{
	feed->part++;
	feed->offset = 0;
}

static bool report_feed_next(struct feed *feed, struct feed_chunk *chunk)
{
	struct report_feed *self = report_feed_of(feed);

	for (; self->part < self->report->part_count; report_feed_next_part(self)) {
		const struct report_part *part = &self->report->parts[self->part];
		struct jfr_error error = { 0 };
		uint8_t *data = NULL;
		int err;

		if (self->offset >= part->length)
			continue;
		err = report_feed_load(self, part, &data, &error);
		if (!err)
			err = jfr_header_read(&chunk->header, data, chunk_length(data), 0, &error);
		if (err) {
			free(data);
			if (err == -EBADMSG || err == -ENODATA)
				report_feed_set_problem(self, &error);
			else
				self->err = err;
			continue;
		}
		if (!self->offset)
			report_feed_read_settings(self, data, chunk->header.size);
		self->offset += chunk->header.size;
		chunk->source = data;
		chunk->file = "";
		chunk->labels = NULL;
		chunk->data = data;
		chunk->in_memory = true;
		chunk->settings = self->settings;
		return true;
	}
	return false;
}

static void report_feed_done(struct feed *feed, struct feed_chunk *chunk)
{
	(void)feed;
	free(chunk->source);
	chunk->source = NULL;
}

static void report_feed_damage(struct feed *feed, const struct feed_chunk *chunk,
			       const struct jfr_error *error)
{
	(void)chunk;
	report_feed_set_problem(report_feed_of(feed), error);
}

static bool report_feed_span(struct feed *feed, int64_t *start_ns, int64_t *end_ns)
{
	(void)feed;
	(void)start_ns;
	(void)end_ns;
	return false;
}

/* No additional threads. */
static bool report_feed_is_small(struct feed *feed)
{
	(void)feed;
	return true;
}

static const struct feed_calls calls = {
	report_feed_restart, report_feed_next, report_feed_done,
	report_feed_damage,  report_feed_span, report_feed_is_small
};

/* Read the header of PART's chunk at OFFSET. False at the end, and without a valid header. */
static bool report_read_header(const struct report_part *part, uint64_t offset,
			       struct jfr_header *header)
{
	uint8_t front[JFR_HEADER_SIZE];
	struct jfr_error error;

	return part->length - offset >= sizeof(front) &&
	       !fd_read(part->fd, front, sizeof(front), part->offset + (off_t)offset) &&
	       !jfr_header_read(header, front, part->length - offset, 0, &error);
}

static bool report_feed_read_part_label(struct report_feed *feed, const struct report_part *part)
{
	struct jfr_header header;
	struct jfr_error error;
	uint8_t *data;

	for (feed->offset = 0; report_read_header(part, feed->offset, &header);
	     feed->offset += header.size) {
		struct settings found = { 0 };
		bool labels;

		if (!settings_may_be_label_chunk(&header) ||
		    report_feed_load(feed, part, &data, &error))
			continue;
		labels = settings_read_first_chunk(&found, data, header.size);
		free(data);
		if (!labels)
			continue;
		settings_fill_missing(&found, &feed->configured);
		feed->configured = found;
		return true;
	}
	return false;
}

/* The settings of the report's own agent, at its end, override the configuration of this
 * process. */
static void report_feed_read_label(struct report_feed *feed)
{
	size_t i = feed->report->part_count;

	while (i && !report_feed_read_part_label(feed, &feed->report->parts[i - 1]))
		i--;
}

static struct settings configured_settings(const struct config *config)
{
	struct settings settings = { 0 };

	if (config->cpu_interval_ns != OPTION_OFF)
		settings.cpu_interval_ns = (int64_t)config->cpu_interval_ns;
	if (config->wall_interval_ns != OPTION_OFF)
		settings.wall_interval_ns = (int64_t)config->wall_interval_ns;
	if (config->native_mem_bytes != OPTION_OFF)
		settings.mem_interval = (int64_t)config->native_mem_bytes;
	return settings;
}

/* -EIO is an unreadable part; the others were read. */
static int ignore_read_error(int err)
{
	return err == -EIO ? 0 : err;
}

/* Merge the live samples of LIVE into INTO. Other samples count allocations since the start, not
 * of this report. */
static void report_profile_add_live(struct profile *into, struct profile *live)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < live->count; i++)
		if (live->samples[i].metric == METRIC_LIVE)
			live->samples[count++] = live->samples[i];
	live->count = count;
	profile_merge(into, live);
}

static int report_profile_read_all(struct report_profile *out, struct report_feed *feed,
				   const struct query *query)
{
	struct profile live = PROFILE_INIT;
	int err;

	err = ignore_read_error(
		profile_read(&out->profile, query, &feed->feed, ~(1u << METRIC_LIVE)));
	if (err)
		return err;
	err = ignore_read_error(retained_read(&live, query, &feed->feed));
	if (err == -ENOENT)
		err = ignore_read_error(profile_read(&live, query, &feed->feed, 1u << METRIC_LIVE));
	/* It is of one point in time within the report's interval. */
	if (!err)
		report_profile_add_live(&out->profile, &live);
	profile_free(&live);
	if (!err)
		libraries_read(&out->libraries, &feed->feed);
	return err;
}

int report_profile_read(struct report_profile *out, const struct report *report,
			const struct config *config, bool threads)
{
	struct query query = QUERY_INIT;
	struct report_feed feed = { .feed = { .calls = &calls },
				    .report = report,
				    .configured = configured_settings(config),
				    .out = out };
	int err;

	*out = (struct report_profile){ .profile = PROFILE_INIT };
	query.places = true;
	query.contexts = true;
	query.waits = threads ? WAIT_PARTS_OBJECT : WAIT_PARTS_KIND;
	query.no_threads = !threads;
	query.jobs = 1;
	query.stack_bytes_max = REPORT_PROFILE_STACKS_MAX;
	report_feed_read_label(&feed);
	err = report_profile_read_all(out, &feed, &query);
	if (!err)
		err = feed.err;
	if (!err && out->problem[0] && !out->profile.count)
		err = -EBADMSG;
	return err;
}

void report_profile_free(struct report_profile *profile)
{
	profile_free(&profile->profile);
	libraries_free(&profile->libraries);
}
