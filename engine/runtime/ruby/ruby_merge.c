/* Merges Ruby's frames into the native frames.
 *
 * An evaluator call runs a row of frames, up to one that is marked as its last. The native stack
 * does not show which row belongs to a call, so calls and rows are matched by their order. A row
 * exists shortly before its call starts, and is removed shortly before its call returns. */
#include "core/preload_code.h"
#include "engine/runtime/ruby/ruby.h"

struct merge {
	const struct ruby *ruby;
	const struct native_frames *native;
	size_t count, at; /* native frames, and the number already placed */
	uintptr_t *out;
	size_t length, max;
};

static void merge_add(struct merge *m, uintptr_t frame)
{
	if (m->length < m->max)
		m->out[m->length] = frame;
	m->length++;
}

static bool is_evaluator(const struct merge *m, size_t i)
{
	return runtime_is_evaluator(&m->ruby->base, m->native->pcs[i]);
}

/* Whether frame I is in the core of the evaluator, which executes Ruby's instructions. */
static bool is_core(const struct merge *m, size_t i)
{
	uintptr_t pc = m->native->pcs[i];

	return pc >= m->ruby->core && pc <= m->ruby->core_end && m->ruby->core;
}

static size_t next_evaluator(const struct merge *m)
{
	size_t i = m->at;

	while (i < m->count && !is_evaluator(m, i))
		i++;
	return i;
}

/* Add the native frames before number END, without those of the evaluator: it runs the following
 * row, or does not run it yet. */
static size_t merge_add_natives(struct merge *m, size_t end)
{
	for (; m->at < end; m->at++)
		if (!is_core(m, m->at) && !is_evaluator(m, m->at))
			merge_add(m, m->native->pcs[m->at]);
	return m->at;
}

size_t ruby_merge(const struct ruby *ruby, const struct native_frames *native,
		  const uintptr_t *frames, size_t frame_count, bool cut, uintptr_t *out, size_t max,
		  bool *truncated)
{
	struct merge m = {
		.ruby = ruby, .native = native, .count = native->count, .out = out, .max = max
	};
	size_t calls = 0, rows = 0, early, end;
	bool unknown = m.count && native->pcs[m.count - 1] == STACK_CALLERS_UNKNOWN;
	bool lost = *truncated || unknown;

	m.count -= unknown;
	for (size_t i = 0; i < m.count; i++)
		calls += is_evaluator(&m, i);
	for (size_t i = 0; i < frame_count; i++)
		rows += frames[i] == RUNTIME_ANCHOR;
	/* If both lists are complete, their outermost entries belong together. A walk that was cut
	 * has the innermost rows. */
	for (; calls > rows && !cut; calls--)
		m.at = merge_add_natives(&m, next_evaluator(&m)) + 1;
	early = rows > calls && !lost ? rows - calls : 0;
	for (size_t begin = 0; begin < frame_count; begin = end + 1) {
		for (end = begin; end < frame_count && frames[end] != RUNTIME_ANCHOR; end++)
			;
		/* (No evaluator call runs the frames after the last mark.) */
		if (end < frame_count && !early)
			merge_add_natives(&m, next_evaluator(&m));
		for (size_t i = begin; i < end; i++)
			merge_add(&m, frames[i]);
		if (end < frame_count && early)
			early--;
		else if (end < frame_count && m.at < m.count)
			m.at++;
	}
	merge_add_natives(&m, m.count);
	/* If the native walk was lost before, no caller of the outermost Ruby frames is missing. */
	if (unknown && rows <= calls)
		merge_add(&m, STACK_CALLERS_UNKNOWN);
	*truncated |= m.length > max || cut;
	return m.length < max ? m.length : max;
}
