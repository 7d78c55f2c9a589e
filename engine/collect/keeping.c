/* The chunks that are being written, told to the journal of the running recording. */
#include "engine/collect/keeping.h"

#include <string.h>

#include "core/agent/running_files.h"
#include "core/clock.h"
#include "engine/jfr/journal.h"
#include "core/log.h"
#include "engine/collect/wall.h"
#include "engine/jfr/jfr_chunk.h"
#include "engine/jfr/jfr_saved.h"
#include "engine/modules/modules.h"
#include "engine/runtime/frame_table.h"

#define RECORDS_MAX (64u << 20)

/* The end of the profile, where nothing comes, is told so often. */
#define MARK_NS 1000000000u

static struct {
	struct jfr_saved saved[2];
	struct buf records;
	uint64_t marked_ns;
} all = { .records = BUF_INIT(RECORDS_MAX) };

static int put_module(struct buf *out, const struct module *module)
{
	struct keeping_module told = {
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.file_offset = module->file_offset,
		.build_id_size = (uint32_t)module->build_id_size,
		.path_length = (uint32_t)strlen(module->path),
	};
	int err;

	memcpy(told.build_id, module->build_id, sizeof(told.build_id));
	err = buf_append(out, &told, sizeof(told));
	return err ? err : buf_append(out, module->path, told.path_length);
}

static int put_modules(struct buf *out)
{
	const struct module *const *list;
	size_t count = modules_list(&list), begun = journal_put_begin(out);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = put_module(out, list[i]);
	return journal_put_end(out, begun, JOURNAL_MODULES, 0, err);
}

static int put_frame(struct buf *out, uintptr_t pc, const struct script_frame *frame)
{
	const struct keeping_frame told = { .pc = pc, .line = frame->line };
	size_t begun = journal_put_begin(out);
	int err = buf_append(out, &told, sizeof(told));

	if (!err)
		err = buf_append(out, frame->name, strlen(frame->name) + 1);
	if (!err)
		err = buf_append(out, frame->file, strlen(frame->file) + 1);
	return journal_put_end(out, begun, JOURNAL_FRAME, 0, err);
}

/* Those of a script among the program counters that are told next: their names are in the memory of this
 * process alone. */
static int put_frames(struct buf *out, const struct jfr_saved *saved,
		      const struct jfr_stacks *stacks)
{
	struct script_frame frame;
	int err = 0;

	for (uint32_t i = saved->pcs; i < stacks->pc_count && !err; i++)
		if (frame_table_find(stacks->pcs[i], &frame))
			err = put_frame(out, stacks->pcs[i], &frame);
	return err;
}

static void put_sleeper(void *context, const struct wall_pending *pending)
{
	const struct keeping_sleeper told = {
		.slot = (uint32_t)pending->slot,
		.stack = pending->stack,
		.tid = pending->tid,
		.samples = pending->samples,
		.first = pending->first,
		.last = pending->last,
		.context = pending->context,
	};

	/* Without memory for it the mark fails as well. */
	journal_put(context, JOURNAL_SLEEPER, 0, &told, sizeof(told));
}

static int put_writer(struct jfr_writer *jfr, uint8_t writer, uint64_t *events)
{
	struct jfr_saved *saved = &all.saved[writer];
	int err = put_frames(&all.records, saved, &jfr->interned.stacks);

	return err ? err : jfr_saved_add(saved, &all.records, writer, jfr, events);
}

static int label_write_all(struct chunks *chunks, bool begins, bool modules,
			   struct keeping_mark *mark)
{
	int err = modules ? put_modules(&all.records) : 0;

	if (!err && chunks->kept_as_memory)
		return put_writer(chunks->jfr, 1, &mark->events[1]);
	wall_pending(chunks->jfr, begins, put_sleeper, &all.records);
	if (!err)
		err = put_writer(chunks->jfr, 0, &mark->events[0]);
	if (!err && chunks_mem_is_apart(chunks))
		err = put_writer(chunks->mem, 1, &mark->events[1]);
	return err;
}

static void write_all(struct chunks *chunks, bool begins, bool modules, uint64_t samples,
		      uint64_t lost)
{
	struct keeping_mark mark = { .samples = samples, .lost = lost };
	size_t before = all.records.length;
	uint64_t now = clock_monotonic_ns();
	int err = label_write_all(chunks, begins, modules, &mark);

	if (!err && !begins && all.records.length == before && now - all.marked_ns < MARK_NS &&
	    mark.events[0] == chunks->kept_bytes[0] && mark.events[1] == chunks->kept_bytes[1])
		return;
	mark.now_ns = chunks_now_ns(chunks);
	mark.ticks = clock_ticks();
	if (!err)
		err = journal_put(&all.records, JOURNAL_MARK, 0, &mark, sizeof(mark));
	if (!err)
		err = kept_add(chunks->kept, &all.records, begins);
	chunks->kept_bytes[0] = mark.events[0];
	chunks->kept_bytes[1] = mark.events[1];
	all.marked_ns = now;
	if (!err)
		return;
	/* What was written so far can be recovered still. */
	log_debug("the running recording is not kept any further: %s", strerror(-err));
	chunks->kept = NULL;
}

void keeping_begin(struct chunks *chunks)
{
	unsigned first = chunks->kept_as_memory;
	int err;

	if (!chunks->kept)
		return;
	buf_reset(&all.records);
	err = jfr_saved_begin(&all.saved[first], &all.records, (uint8_t)first, chunks->jfr);
	if (!err && chunks_mem_is_apart(chunks))
		err = jfr_saved_begin(&all.saved[1], &all.records, 1, chunks->mem);
	if (!err)
		write_all(chunks, true, true, 0, 0);
	buf_reset(&all.records);
}

void keeping_mark(struct chunks *chunks, bool modules, uint64_t samples, uint64_t lost)
{
	if (!chunks->kept)
		return;
	buf_reset(&all.records);
	write_all(chunks, false, modules, samples, lost);
}

void keeping_end(void)
{
	jfr_saved_free(&all.saved[0]);
	jfr_saved_free(&all.saved[1]);
	buf_free(&all.records);
}
