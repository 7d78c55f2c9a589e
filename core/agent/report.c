/* Reports: length, tags, and copying to a file. */
#include "core/agent/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"

uint64_t report_length(const struct report *report)
{
	uint64_t length = 0;

	for (size_t i = 0; i < report->part_count; i++)
		length += report->parts[i].length;
	return length;
}

int report_each_tag(const char *tags, int (*each)(void *arg, const char *key, const char *value),
		    void *arg)
{
	char *copy = tags ? strdup(tags) : NULL, *rest = copy, *tag, *equals;
	int err = tags && !copy ? -ENOMEM : 0;

	while (!err && (tag = strsep(&rest, ","))) {
		equals = strchr(tag, '=');
		if (!equals)
			continue;
		*equals = '\0';
		err = each(arg, tag, equals + 1);
	}
	free(copy);
	return err;
}

int report_write(const struct report *report, int fd)
{
	for (size_t i = 0; i < report->part_count; i++) {
		const struct report_part *part = &report->parts[i];
		int err = fd_copy(fd, part->fd, part->offset, part->length);

		if (err)
			return err;
	}
	return 0;
}
