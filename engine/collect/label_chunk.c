/* Whom a recording is of, as a chunk. */
#include "engine/collect/label_chunk.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/clock.h"
#include "core/fd.h"
#include "engine/jfr/jfr_write.h"

/* Where a chunk's header has the nanoseconds since 1970, big-endian. */
#define START_AT 32

#define HOST_MAX 256

/* "agent.tag." and a key: as long as a whole tag may be (check_tags). */
#define NAME_MAX_BYTES (JFR_STRING_MAX + 1)

static int start_of(const struct report_part *part, uint64_t *start_ns)
{
	int err = fd_read(part->fd, start_ns, sizeof(*start_ns), part->offset + START_AT);

	*start_ns = be64toh(*start_ns);
	return err;
}

/* As upload/s3/metadata.c has them. */
static int put_tags(struct jfr_writer *jfr, uint64_t ticks, const char *tags)
{
	struct buf name = BUF_INIT(NAME_MAX_BYTES);
	char *copy = strdup(tags), *rest = copy, *tag, *equals;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (tag = strsep(&rest, ","))) {
		equals = strchr(tag, '=');
		if (!equals)
			continue;
		*equals = '\0';
		buf_reset(&name);
		err = buf_printf(&name, "agent.tag.%s", tag);
		if (!err && strlen(equals + 1) > JFR_STRING_MAX)
			err = -E2BIG;
		if (!err)
			jfr_setting(jfr, ticks, buf_string(&name), equals + 1);
	}
	buf_free(&name);
	free(copy);
	return err;
}

static int put_all(struct jfr_writer *jfr, uint64_t ticks, const struct report *report,
		   const char *tags)
{
	char host[HOST_MAX] = "";

	if (!gethostname(host, sizeof(host) - 1) && host[0])
		jfr_setting(jfr, ticks, "agent.host", host);
	if (report->executable && report->executable[0])
		jfr_setting(jfr, ticks, "agent.executable", report->executable);
	return tags ? put_tags(jfr, ticks, tags) : 0;
}

int label_chunk_write(int fd, const struct report *report, const char *tags)
{
	uint64_t start_ns, ticks = clock_ticks();
	struct jfr_writer *jfr;
	int err = start_of(&report->parts[0], &start_ns);

	if (!err)
		err = jfr_writer_open(&jfr, fd, 0);
	if (err)
		return err;
	jfr_writer_memory_only(jfr, 0, JFR_BESIDE_ANOTHERS);
	err = jfr_chunk_begin(jfr, start_ns, ticks);
	if (!err)
		err = put_all(jfr, ticks, report, tags);
	if (!err)
		err = jfr_chunk_end(jfr, start_ns, ticks, NULL, NULL, NULL);
	jfr_writer_close(jfr);
	return err;
}
