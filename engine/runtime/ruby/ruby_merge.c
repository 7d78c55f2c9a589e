/* Ruby's frames in their places among native ones.
 *
 * A call of the evaluator runs the frames up to one that is marked as its last, and stands on the native stack
 * without a word of which those are: so calls and rows of frames are told by their order. A row is there a
 * moment before its call, and gone a moment before that returns. */
#include "core/preload_code.h"
#include "engine/runtime/ruby/ruby.h"

struct merge {
	const struct ruby *ruby;
	const struct native_frames *native;
	size_t count, at; /* native frames, and how many of them are placed */
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

/* It is part of the evaluator, and carries out instructions of Ruby. */
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

/* Native frames before number END, without the evaluator's own: it runs what follows, or does not run it
 * yet. */
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
	/* Where both are whole the outermost belong together. A walk that was cut has the innermost. */
	for (; calls > rows && !cut; calls--)
		m.at = merge_add_natives(&m, next_evaluator(&m)) + 1;
	early = rows > calls && !lost ? rows - calls : 0;
	for (size_t begin = 0; begin < frame_count; begin = end + 1) {
		for (end = begin; end < frame_count && frames[end] != RUNTIME_ANCHOR; end++)
			;
		/* (What comes behind the last mark was called by no call of the evaluator.) */
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
	/* Whoever calls the outermost of Ruby's is not missed where native ones led nowhere before. */
	if (unknown && rows <= calls)
		merge_add(&m, STACK_CALLERS_UNKNOWN);
	*truncated |= m.length > max || cut;
	return m.length < max ? m.length : max;
}
