/* The chunks that a dead process was writing, finished from its journal. */
#include "upload/recover/recover_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/jfr/journal.h"
#include "engine/jfr/jfr_saved.h"
#include "engine/jfr/jfr_write.h"
#include "engine/symbols/symbols.h"

#define WRITERS 2

/* More than a process has threads. */
#define SLEEPERS_MAX 65536
#define MODULES_MAX  65536
#define PATH_BYTES   4096

struct frame {
	uintptr_t pc;
	uint32_t line;
	const char *name, *file;
};

struct recover_journal {
	pid_t pid;
	struct jfr_writer *jfr[WRITERS];
	bool has[WRITERS];
	bool marked;
	struct keeping_mark mark;

	struct keeping_sleeper *sleepers; /* by slot */
	size_t sleeper_count;
	struct module *modules;
	size_t module_count;
	struct frame *frames; /* in the order of coming; sorted for use */
	size_t frame_count, frame_room;
};

/* ---- Reading ---- */

static void forget_modules(struct recover_journal *j)
{
	for (size_t i = 0; i < j->module_count; i++)
		free((char *)(uintptr_t)j->modules[i].path);
	free(j->modules);
	j->modules = NULL;
	j->module_count = 0;
}

/* The one at *AT, which moves behind it. Returns 0, -EBADMSG or -ENOMEM. */
static int read_module(struct module *out, const struct journal_record *record, size_t *at)
{
	struct keeping_module told;
	char *path;

	if (record->length - *at < sizeof(told))
		return -EBADMSG;
	memcpy(&told, record->data + *at, sizeof(told));
	*at += sizeof(told);
	if (told.path_length > record->length - *at || told.path_length > PATH_BYTES ||
	    told.build_id_size > sizeof(told.build_id) || told.start >= told.end)
		return -EBADMSG;
	path = strndup((const char *)record->data + *at, told.path_length);
	if (!path)
		return -ENOMEM;
	*at += told.path_length;
	*out = (struct module){
		.start = (uintptr_t)told.start,
		.end = (uintptr_t)told.end,
		.bias = (uintptr_t)told.bias,
		.file_offset = told.file_offset,
		.path = path,
		.build_id_size = told.build_id_size,
		.unloaded_ticks = 1, /* it is in nobody's memory */
	};
	memcpy(out->build_id, told.build_id, sizeof(out->build_id));
	return 0;
}

static int load_modules(struct recover_journal *j, const struct journal_record *record)
{
	size_t most = record->length / sizeof(struct keeping_module), at = 0;
	int err = 0;

	forget_modules(j);
	if (most > MODULES_MAX)
		return -EBADMSG;
	j->modules = calloc(most ? most : 1, sizeof(*j->modules));
	if (!j->modules)
		return -ENOMEM;
	while (!err && at < record->length && j->module_count < most) {
		err = read_module(&j->modules[j->module_count], record, &at);
		j->module_count += !err;
	}
	return err;
}

static int load_frame(struct recover_journal *j, const struct journal_record *record)
{
	struct keeping_frame told;
	const char *name = (const char *)record->data + sizeof(told), *file;
	struct frame *frames = j->frames;
	size_t room = j->frame_room ? j->frame_room * 2 : 64, left;

	if (record->length < sizeof(told) + 2 || record->data[record->length - 1])
		return -EBADMSG;
	memcpy(&told, record->data, sizeof(told));
	left = record->length - sizeof(told);
	file = name + strnlen(name, left) + 1;
	if (file >= name + left)
		return -EBADMSG;
	if (j->frame_count == j->frame_room) {
		frames = reallocarray(frames, room, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		j->frames = frames;
		j->frame_room = room;
	}
	frames[j->frame_count++] = (struct frame){
		.pc = (uintptr_t)told.pc, .line = told.line, .name = name, .file = file
	};
	return 0;
}

static int load_sleeper(struct recover_journal *j, const struct journal_record *record)
{
	struct keeping_sleeper told, *sleepers = j->sleepers;

	if (record->length != sizeof(told))
		return -EBADMSG;
	memcpy(&told, record->data, sizeof(told));
	if (told.slot >= SLEEPERS_MAX || told.last < told.first)
		return -EBADMSG;
	if (told.slot >= j->sleeper_count) {
		sleepers = reallocarray(sleepers, told.slot + 1, sizeof(*sleepers));
		if (!sleepers)
			return -ENOMEM;
		memset(sleepers + j->sleeper_count, 0,
		       (told.slot + 1 - j->sleeper_count) * sizeof(*sleepers));
		j->sleepers = sleepers;
		j->sleeper_count = told.slot + 1;
	}
	sleepers[told.slot] = told;
	return 0;
}

static int load_mark(struct recover_journal *j, const struct journal_record *record)
{
	if (record->length != sizeof(j->mark))
		return -EBADMSG;
	memcpy(&j->mark, record->data, sizeof(j->mark));
	j->marked = true;
	return 0;
}

static int load_writer(struct recover_journal *j, const struct journal_record *record)
{
	unsigned writer = record->writer;

	if (writer >= WRITERS || (record->kind != JOURNAL_BEGIN && !j->has[writer]) ||
	    (record->kind == JOURNAL_BEGIN && j->has[writer]))
		return -EBADMSG;
	j->has[writer] = true;
	return jfr_load(j->jfr[writer], record);
}

static int load(struct recover_journal *j, const struct journal_record *record)
{
	switch (record->kind) {
	case JOURNAL_MODULES:
		return load_modules(j, record);
	case JOURNAL_FRAME:
		return load_frame(j, record);
	case JOURNAL_SLEEPER:
		return load_sleeper(j, record);
	case JOURNAL_MARK:
		return load_mark(j, record);
	default:
		return load_writer(j, record);
	}
}

static int compare_frames(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

int recover_journal_open(struct recover_journal **out, const uint8_t *data, size_t length,
			 pid_t pid)
{
	struct recover_journal *j = calloc(1, sizeof(*j));
	struct journal_record record;
	size_t at = 0;
	int err = j ? 0 : -ENOMEM;

	for (unsigned i = 0; i < WRITERS && !err; i++)
		err = jfr_writer_open(&j->jfr[i], -1, 0);
	/* What is bad, or behind it, counts as not written. */
	while (!err && journal_next(data, length, &at, &record))
		err = load(j, &record);
	if (err == -EBADMSG)
		err = 0;
	if (err) {
		recover_journal_close(j);
		return err;
	}
	j->pid = pid;
	if (j->frame_count)
		qsort(j->frames, j->frame_count, sizeof(*j->frames), compare_frames);
	*out = j;
	return 0;
}

void recover_journal_close(struct recover_journal *j)
{
	if (!j)
		return;
	for (unsigned i = 0; i < WRITERS; i++)
		jfr_writer_close(j->jfr[i]);
	forget_modules(j);
	free(j->sleepers);
	free(j->frames);
	free(j);
}

const struct keeping_mark *recover_journal_mark(const struct recover_journal *j)
{
	return j->marked && (j->has[0] || j->has[1]) ? &j->mark : NULL;
}

bool recover_journal_has(const struct recover_journal *j, unsigned writer, uint64_t *start)
{
	*start = jfr_load_start(j->jfr[writer]);
	return j->marked && j->has[writer];
}

/* ---- Names ---- */

struct naming {
	const struct recover_journal *journal;
	struct symbols *symbols;
};

static const struct frame *throw_find_frame(const struct recover_journal *j, uintptr_t pc)
{
	const struct frame key = { .pc = pc };

	return j->frame_count
		       ? bsearch(&key, j->frames, j->frame_count, sizeof(key), compare_frames)
		       : NULL;
}

/* As frame_names() does it in a process that lives. */
static int name_frames(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		       struct jfr_frame_name *out)
{
	struct naming *naming = context;
	struct symbol *found = calloc(count ? count : 1, sizeof(*found));
	uintptr_t *sites = calloc(count ? count : 1, sizeof(*sites));
	int err = found && sites ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++)
		sites[i] = is_return[i] ? symbols_call_site(pcs[i]) : pcs[i];
	if (!err)
		err = symbols_resolve(naming->symbols, sites, count, found);
	for (size_t i = 0; !err && i < count; i++) {
		const struct frame *frame = throw_find_frame(naming->journal, pcs[i]);

		if (frame) {
			out[i] = (struct jfr_frame_name){ .class_name = frame->file,
							  .method_name = frame->name,
							  .type = JFR_FRAME_PYTHON,
							  .line = frame->line };
			continue;
		}
		out[i].class_name = found[i].module;
		out[i].method_name = found[i].name;
		out[i].type = (uint8_t)found[i].type;
		if (found[i].link_address <= INT32_MAX)
			out[i].address = (uint32_t)found[i].link_address;
	}
	free(sites);
	free(found);
	return err;
}

/* ---- Finishing ---- */

static void put_rest(struct recover_journal *j, unsigned writer)
{
	const struct jfr_losses losses = { .samples = j->mark.samples, .ring_full = j->mark.lost };
	struct jfr_writer *jfr = j->jfr[writer];

	for (size_t i = 0; writer == 0 && i < j->sleeper_count; i++) {
		const struct keeping_sleeper *s = &j->sleepers[i];

		jfr_use_context(jfr, s->context);
		if (s->samples)
			jfr_wall_sample(jfr, s->first, s->tid, s->stack, JFR_STATE_SLEEPING,
					s->samples, s->last - s->first);
	}
	if (writer == 0)
		jfr_losses(jfr, j->mark.ticks, &losses);
	for (size_t i = 0; i < j->module_count; i++) {
		const struct module *module = &j->modules[i];
		const struct jfr_library library = {
			.path = module->path,
			.base = module->start,
			.top = module->end,
			.build_id = module->build_id,
			.build_id_size = module->build_id_size,
			.link_address = module->start - module->bias,
			.file_offset = module->file_offset,
		};

		jfr_native_library(jfr, j->mark.ticks, &library);
	}
}

static int end_chunk(struct recover_journal *j, unsigned writer, off_t *end)
{
	struct naming naming = { .journal = j };
	int err = symbols_open_among(&naming.symbols, j->modules, j->module_count, j->pid);

	if (err)
		return err;
	put_rest(j, writer);
	err = jfr_chunk_end(j->jfr[writer], j->mark.now_ns, j->mark.ticks, name_frames, &naming,
			    end);
	symbols_close(naming.symbols);
	return err;
}

int recover_journal_finish(struct recover_journal *j, unsigned writer, int in, off_t in_length,
			   int out, uint64_t *events)
{
	uint64_t start, length;
	off_t at = lseek(out, 0, SEEK_END), end;
	int err;

	if (at < 0)
		return -errno;
	if (!recover_journal_has(j, writer, &start) || start >= (uint64_t)in_length)
		return -EBADMSG;
	length = (uint64_t)in_length - start;
	if (length > j->mark.events[writer])
		length = j->mark.events[writer];
	err = fd_copy(out, in, (off_t)start, length);
	if (!err)
		err = jfr_resume(j->jfr[writer], out, at, length, events);
	if (!err)
		err = end_chunk(j, writer, &end);
	if (ftruncate(out, err ? at : end) && !err)
		err = -errno;
	return err;
}
