/* Store of reports in memory: one after another in an unnamed file. Delivered reports are
 * punched out of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory_file.h"
#include "upload/queue/store.h"

/* Smaller than struct stored_report, which has room for the strings of any process. */
struct item {
	struct item *next; /* newer */
	struct report report;
	char executable[NAME_FILE_SIZE], engine[32], engine_version[64];
	char *texts; /* malloc'd: the other strings of REPORT, whose own may change or be freed */
	unsigned int pending;
	uint64_t id;
	off_t offset;
	uint64_t length;
	unsigned int readers; /* the report is not dropped while this is not 0 */
	struct report_begun begun[REPORTERS_MAX];
};

struct memory {
	struct store store;
	int fd; /* -1: not opened yet */
	uint64_t max_bytes;
	uint64_t serial;
	struct item *first;
};

/* Align reports to pages: punching a hole keeps pages that it covers only in part. */
static off_t store_memory_align(off_t bytes)
{
	off_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static void store_memory_punch(const struct memory *memory, off_t offset, uint64_t length)
{
	fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
		  store_memory_align((off_t)length));
}

static void item_free(struct item *item)
{
	free(item->texts);
	free(item);
}

static void store_memory_remove(struct memory *memory, struct item **link)
{
	struct item *item = *link;

	*link = item->next;
	memory->store.losses.spooled_bytes -= item->length;
	memory->store.waiting--;
	store_memory_punch(memory, item->offset, item->length);
	item_free(item);
}

static void store_memory_make_room(struct memory *memory, uint64_t length)
{
	struct item **link = &memory->first;
	struct report_losses *losses = &memory->store.losses;

	while (*link && losses->spooled_bytes + length > memory->max_bytes) {
		if ((*link)->readers) {
			link = &(*link)->next;
			continue;
		}
		losses->dropped_full++;
		losses->dropped_bytes += (*link)->length;
		store_memory_remove(memory, link);
	}
}

/* Returns 0 or -ENOMEM. */
static int store_memory_copy_strings(struct item *item, const struct report *report)
{
	const char **const texts[] = { &item->report.host, &item->report.group, &item->report.tags,
				       &item->report.version };
	size_t size = 0;
	char *end;

	item->report = *report;
	item->report.part_count = 1;
	snprintf(item->executable, sizeof(item->executable), "%s", report->executable);
	snprintf(item->engine, sizeof(item->engine), "%s", report->engine ? report->engine : "");
	snprintf(item->engine_version, sizeof(item->engine_version), "%s",
		 report->engine_version ? report->engine_version : "");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		size += *texts[i] ? strlen(*texts[i]) + 1 : 0;
	item->texts = end = malloc(size + 1);
	if (!end)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = *texts[i];

		if (!text)
			continue;
		*texts[i] = end;
		end = stpcpy(end, text) + 1;
	}
	return 0;
}

/* Return the lowest free place: the process may have a limit for the size of its files. */
static off_t store_memory_find_place(const struct memory *memory, uint64_t length)
{
	off_t start = 0, end;
	bool is_free;

	do {
		is_free = true;
		for (const struct item *item = memory->first; item; item = item->next) {
			end = item->offset + (off_t)item->length;
			if (start >= end || item->offset >= start + (off_t)length)
				continue;
			start = store_memory_align(end);
			is_free = false;
		}
	} while (!is_free);
	return start;
}

/* Write REPORT to the file. On failure nothing remains. */
static int store_memory_write(struct memory *memory, const struct report *report, struct item *item)
{
	off_t start = store_memory_find_place(memory, report_length(report));
	int err;

	if (memory->fd < 0)
		memory->fd = memory_file_open("asprof-upload");
	if (memory->fd < 0)
		return memory->fd;
	if (lseek(memory->fd, start, SEEK_SET) < 0)
		return -errno;
	item->offset = start;
	item->length = report_length(report);
	err = report_write(report, memory->fd);
	if (err)
		store_memory_punch(memory, start, item->length);
	return err;
}

static int store_memory_append(struct memory *memory, const struct report *report,
			       unsigned int pending)
{
	struct item *item = calloc(1, sizeof(*item)), **link;
	int err;

	if (!item)
		return -ENOMEM;
	err = store_memory_copy_strings(item, report);
	if (!err)
		err = store_memory_write(memory, report, item);
	if (err) {
		item_free(item);
		return err;
	}
	item->pending = pending;
	item->id = ++memory->serial;
	memory->store.losses.spooled_bytes += item->length;
	memory->store.waiting++;
	for (link = &memory->first; *link; link = &(*link)->next)
		;
	*link = item;
	return 0;
}

static int store_memory_put(struct store *store, const struct report *report, unsigned int pending)
{
	struct memory *memory = (struct memory *)store;
	uint64_t length = report_length(report);
	int err = -EFBIG;

	if (length <= memory->max_bytes) {
		store_memory_make_room(memory, length);
		err = store_memory_append(memory, report, pending);
	}
	if (err) {
		store->losses.dropped_full++;
		store->losses.dropped_bytes += length;
	}
	return err;
}

static void store_memory_lend(struct memory *memory, struct item *item, unsigned int bit,
			      struct stored_report *out)
{
	item->readers++;
	out->report = item->report;
	out->report.parts[0] = (struct report_part){ .fd = memory->fd,
						     .offset = item->offset,
						     .length = item->length };
	strcpy(out->executable, item->executable);
	strcpy(out->engine, item->engine);
	strcpy(out->engine_version, item->engine_version);
	out->report.executable = out->executable;
	out->report.engine = out->engine;
	out->report.engine_version = out->engine_version;
	memcpy(out->begun, item->begun, sizeof(out->begun));
	out->report.begun = &out->begun[__builtin_ctz(bit)];
	out->pending = item->pending;
	out->id = item->id;
	out->store = &memory->store;
}

static int store_memory_take(struct store *store, unsigned int bit, const struct store_mark *after,
			     struct stored_report *out)
{
	struct memory *memory = (struct memory *)store;

	for (struct item *item = memory->first; item; item = item->next) {
		if (!(item->pending & bit) || (after && item->id <= after->id))
			continue;
		store_memory_lend(memory, item, bit, out);
		return 0;
	}
	return -ENOENT;
}

static void store_memory_settle(struct store *store, struct stored_report *held, unsigned int done)
{
	struct memory *memory = (struct memory *)store;

	for (struct item **link = &memory->first; *link; link = &(*link)->next) {
		struct item *item = *link;

		if (item->id != held->id)
			continue;
		/* The other entries belong to other reporters that hold the report. */
		item->begun[held->report.begun - held->begun] = *held->report.begun;
		item->readers--;
		item->pending &= ~done;
		if (!item->pending && !item->readers)
			store_memory_remove(memory, link);
		return;
	}
}

static void store_memory_close(struct store *store)
{
	struct memory *memory = (struct memory *)store;

	while (memory->first)
		store_memory_remove(memory, &memory->first);
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
	memory->store.put = store_memory_put;
	memory->store.take = store_memory_take;
	memory->store.settle = store_memory_settle;
	memory->store.close = store_memory_close;
	*out = &memory->store;
	return 0;
}
