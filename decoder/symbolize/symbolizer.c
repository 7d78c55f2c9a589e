/* Symbolizer: names, inlined functions and lines for addresses. Each address is looked up once. Few files are open at a
 * time, as libdw keeps in memory what it has read until a file is closed. */
#include "decoder/symbolize/symbolizer.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "decoder/output/message.h"
#include "decoder/symbolize/debug_info.h"
#include "decoder/symbolize/dwarf_library.h"
#include "engine/symbols/demangle.h"
#include "profile/basics/intern.h"
#include "profile/basics/array.h"

#define OPEN_MAX 8

/* All files are closed when the heap has grown by this amount. Opening one more file takes at most
 * DEBUG_INFO_UNPACKED_MAX. */
#define GROWTH_MAX (36u << 20)

/* Number of libraries that the message about missing debug files names. */
#define MISSING_SHOWN 5

struct debug_library {
	char *name, *path; /* path NULL: no debug file */
	struct debug_info *info;
	uint64_t used;   /* time of the last use, by symbolizer.clock */
	bool was_opened; /* opened before, so its problems were already printed */
};

/* Frames of an address, in symbolizer.frames. */
struct frame_range {
	uint32_t first, count;
};

struct symbolizer {
	pthread_mutex_t lock;
	struct debug_store *store;
	struct demangler *demangler;
	struct intern strings;
	struct intern build_ids;
	struct debug_library *libraries; /* by build-id */
	uint32_t library_room;
	struct intern addresses;    /* struct address */
	struct frame_range *ranges; /* by address */
	uint32_t range_room;
	struct debug_frame *frames;
	uint32_t frame_count, frame_room;
	uint64_t clock;
	size_t heap_bytes_before; /* without open files */
	bool used, out_of_memory;
};

/* Key in symbolizer.addresses: without padding, as its bytes are compared. */
struct address {
	uint64_t library, address;
};

static size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

int symbolizer_open(struct symbolizer **out, const char *const *directories, unsigned count,
		    bool debuginfod)
{
	struct symbolizer *s;
	int err;

	if (!dwarf_library())
		return -ENOENT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->heap_bytes_before = heap_bytes();
	err = demangler_open(&s->demangler);
	if (!err)
		err = debug_store_open(&s->store, directories, count, debuginfod);
	if (err) {
		symbolizer_close(s);
		return err;
	}
	*out = s;
	return 0;
}

static void debug_library_close(struct debug_library *library)
{
	debug_info_close(library->info);
	library->info = NULL;
}

static void symbolizer_close_files(struct symbolizer *s)
{
	for (uint32_t id = 1; id < s->library_room; id++)
		debug_library_close(&s->libraries[id]);
}

/* Close the least recently used file if the limit is reached. */
static void symbolizer_close_oldest(struct symbolizer *s)
{
	struct debug_library *oldest = NULL;
	unsigned open = 0;

	for (uint32_t id = 1; id < s->library_room; id++) {
		struct debug_library *library = &s->libraries[id];

		if (!library->info)
			continue;
		open++;
		if (!oldest || library->used < oldest->used)
			oldest = library;
	}
	if (open == OPEN_MAX)
		debug_library_close(oldest);
}

static struct debug_library *symbolizer_get_library(struct symbolizer *s, const char *build_id,
						    const char *name)
{
	uint32_t id = intern_string(&s->build_ids, build_id);

	if (!id)
		return NULL;
	if (array_reserve(&s->libraries, &s->library_room, id, sizeof(*s->libraries))) {
		s->out_of_memory = true;
		return NULL;
	}
	if (!s->libraries[id].name) {
		s->libraries[id].name = strdup(name);
		s->libraries[id].path = debug_store_find(s->store, build_id, name);
	}
	return &s->libraries[id];
}

static struct debug_info *symbolizer_open_info(struct symbolizer *s, struct debug_library *library)
{
	int err;

	library->used = ++s->clock;
	if (library->info || !library->path)
		return library->info;
	symbolizer_close_oldest(s);
	err = debug_info_open(&library->info, s->store, library->path,
			      library->was_opened ? NULL : library->name);
	library->was_opened = true;
	if (err) {
		message_print("%s: %s is not a debug file that can be read", library->name,
			      library->path);
		free(library->path);
		library->path = NULL;
	}
	return library->info;
}

static const char *symbolizer_intern_string(struct symbolizer *s, const char *text)
{
	return text ? intern_text(&s->strings, intern_string(&s->strings, text)) : NULL;
}

static void symbolizer_add_frame(struct symbolizer *s, const struct debug_frame *frame)
{
	const char *plain = frame->name ? demangle(s->demangler, frame->name) : NULL;

	if (array_reserve(&s->frames, &s->frame_room, s->frame_count, sizeof(*s->frames))) {
		s->out_of_memory = true;
		return;
	}
	s->frames[s->frame_count++] = (struct debug_frame){
		.name = symbolizer_intern_string(s, plain ? plain : frame->name),
		.file = symbolizer_intern_string(s, frame->file),
		.line = frame->line,
	};
}

static struct frame_range symbolizer_resolve(struct symbolizer *s, struct debug_library *library,
					     uint64_t address)
{
	struct frame_range range = { .first = s->frame_count };
	struct debug_frame frames[DEBUG_FRAMES_MAX];
	struct debug_info *info = symbolizer_open_info(s, library);
	size_t count = info ? debug_info_frames(info, address, frames) : 0;

	for (size_t i = 0; i < count; i++)
		symbolizer_add_frame(s, &frames[i]);
	range.count = s->frame_count - range.first;
	/* libdw frees what it has read of a file only when the file is closed. */
	if (info && heap_bytes() > s->heap_bytes_before + GROWTH_MAX) {
		symbolizer_close_files(s);
		s->heap_bytes_before = heap_bytes();
	}
	return range;
}

static struct frame_range symbolizer_get_frames(struct symbolizer *s, const char *build_id,
						const char *name, uint64_t at)
{
	static const struct frame_range none;
	struct debug_library *library = symbolizer_get_library(s, build_id, name);
	struct address address = { .address = at };
	uint32_t before = s->addresses.count, id;

	if (!library)
		return none;
	address.library = (uint64_t)(library - s->libraries);
	id = intern(&s->addresses, &address, sizeof(address));
	if (!id)
		return none;
	if (array_reserve(&s->ranges, &s->range_room, id, sizeof(*s->ranges))) {
		s->out_of_memory = true;
		return none;
	}
	if (id > before)
		s->ranges[id] = symbolizer_resolve(s, library, at);
	return s->ranges[id];
}

static size_t symbolizer_copy_frames(void *arg, const char *build_id, const char *name,
				     uint64_t address, struct debug_frame frames[DEBUG_FRAMES_MAX])
{
	struct symbolizer *s = arg;
	struct frame_range range;

	pthread_mutex_lock(&s->lock);
	range = symbolizer_get_frames(s, build_id, name, address);
	if (range.count)
		memcpy(frames, s->frames + range.first, range.count * sizeof(*frames));
	pthread_mutex_unlock(&s->lock);
	return range.count;
}

static void symbolizer_set_used(void *arg)
{
	struct symbolizer *s = arg;

	pthread_mutex_lock(&s->lock);
	s->used = true;
	pthread_mutex_unlock(&s->lock);
}

struct address_lookup symbolizer_lookup(struct symbolizer *s)
{
	return (struct address_lookup){ .arg = s,
					.used = symbolizer_set_used,
					.frames = symbolizer_copy_frames };
}

static void symbolizer_print_missing(const struct symbolizer *s)
{
	struct buf text = BUF_INIT(4096);
	uint32_t missing = 0;

	for (uint32_t id = 1; id < s->library_room; id++) {
		if (s->libraries[id].path || !s->libraries[id].name)
			continue;
		if (missing++ < MISSING_SHOWN)
			buf_printf(&text, "%s%s (build-id %s)", text.length ? ", " : "",
				   s->libraries[id].name, intern_text(&s->build_ids, id));
	}
	if (missing > MISSING_SHOWN)
		buf_printf(&text, " and %u more", missing - MISSING_SHOWN);
	if (missing)
		message_print("no debug file for %s", buf_string(&text));
	else if (s->used && !s->build_ids.count)
		message_print("no address to look up: only the builtin engine keeps addresses and "
			      "build-ids");
	buf_free(&text);
}

void symbolizer_close(struct symbolizer *s)
{
	if (!s)
		return;
	symbolizer_print_missing(s);
	symbolizer_close_files(s);
	for (uint32_t id = 1; id < s->library_room; id++) {
		free(s->libraries[id].name);
		free(s->libraries[id].path);
	}
	if (s->out_of_memory)
		message_print("out of memory: some functions are not named");
	intern_free(&s->strings);
	intern_free(&s->build_ids);
	intern_free(&s->addresses);
	free(s->libraries);
	free(s->ranges);
	free(s->frames);
	demangler_close(s->demangler);
	debug_store_close(s->store);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
