/* Reports that wait in memory: one after another in an unnamed file, whose front is given back
 * as they go. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "upload/store.h"

struct item {
	struct item *next; /* younger */
	struct held held;
	off_t offset;
	uint64_t length;
	unsigned int readers; /* not to be dropped while there are any */
};

struct memory {
	struct store store;
	int fd; /* -1: not yet needed */
	off_t end;
	uint64_t max_bytes;
	uint64_t serial;
	struct item *first;
};

static void forget(struct memory *memory, struct item **link)
{
	struct item *item = *link;

	*link = item->next;
	memory->store.losses.spooled_bytes -= item->length;
	fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, item->offset,
		  (off_t)item->length);
	free(item);
	if (!memory->first && !ftruncate(memory->fd, 0))
		memory->end = 0;
}

static void make_room(struct memory *memory, uint64_t length)
{
	struct item **link = &memory->first;
	struct report_losses *losses = &memory->store.losses;

	while (*link && losses->spooled_bytes + length > memory->max_bytes) {
		if ((*link)->readers) {
			link = &(*link)->next;
			continue;
		}
		losses->full++;
		losses->dropped_bytes += (*link)->length;
		forget(memory, link);
	}
}

static void copy_report(struct held *held, const struct report *report)
{
	held->report = *report;
	snprintf(held->executable, sizeof(held->executable), "%s", report->executable);
	snprintf(held->engine, sizeof(held->engine), "%s", report->engine ? report->engine : "");
	snprintf(held->engine_version, sizeof(held->engine_version), "%s",
		 report->engine_version ? report->engine_version : "");
}

static int write_at_end(struct memory *memory, const struct report *report, struct item *item)
{
	/* Page by page, or a hole would leave the pages at its ends. */
	off_t start = (memory->end + 4095) & ~(off_t)4095;
	int err;

	if (memory->fd < 0)
		memory->fd = fd_raise(memfd_create("asprof-upload", MFD_CLOEXEC));
	if (memory->fd < 0)
		return memory->fd;
	if (lseek(memory->fd, start, SEEK_SET) < 0)
		return -errno;
	err = report_write(report, memory->fd);
	item->offset = start;
	item->length = report_length(report);
	memory->end = start + (off_t)item->length;
	return err;
}

static int put(struct store *store, const struct report *report, unsigned int pending)
{
	struct memory *memory = (struct memory *)store;
	uint64_t length = report_length(report);
	struct item *item, **link;
	int err;

	if (length > memory->max_bytes) {
		store->losses.full++;
		store->losses.dropped_bytes += length;
		return -EFBIG;
	}
	make_room(memory, length);
	item = calloc(1, sizeof(*item));
	if (!item)
		return -ENOMEM;
	err = write_at_end(memory, report, item);
	if (err) {
		store->losses.full++;
		store->losses.dropped_bytes += length;
		free(item);
		return err;
	}
	copy_report(&item->held, report);
	item->held.pending = pending;
	item->held.id = ++memory->serial;
	item->held.report.part_count = 1;
	store->losses.spooled_bytes += length;
	for (link = &memory->first; *link; link = &(*link)->next)
		;
	*link = item;
	return 0;
}

static int take(struct store *store, unsigned int bit, struct held *out)
{
	struct memory *memory = (struct memory *)store;

	for (struct item *item = memory->first; item; item = item->next) {
		if (!(item->held.pending & bit))
			continue;
		item->readers++;
		*out = item->held;
		out->store = store;
		out->report.executable = out->executable;
		out->report.engine = out->engine;
		out->report.engine_version = out->engine_version;
		out->report.parts[0] = (struct report_part){ .fd = memory->fd,
							     .offset = item->offset,
							     .length = item->length };
		return 0;
	}
	return -ENOENT;
}

static void settle(struct store *store, struct held *held, unsigned int done)
{
	struct memory *memory = (struct memory *)store;

	for (struct item **link = &memory->first; *link; link = &(*link)->next) {
		struct item *item = *link;

		if (item->held.id != held->id)
			continue;
		item->readers--;
		item->held.pending &= ~done;
		if (!item->held.pending && !item->readers)
			forget(memory, link);
		return;
	}
}

static void close_memory(struct store *store)
{
	struct memory *memory = (struct memory *)store;

	while (memory->first)
		forget(memory, &memory->first);
	if (memory->fd >= 0)
		close(memory->fd);
	free(memory);
}

int store_memory_open(struct store **out, uint64_t max_bytes)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	memory->fd = -1;
	memory->max_bytes = max_bytes;
	memory->store.put = put;
	memory->store.take = take;
	memory->store.settle = settle;
	memory->store.close = close_memory;
	*out = &memory->store;
	return 0;
}
