/* Merge of profiles: converts the IDs of one profile to those of another. */
#include "profile/aggregate/profile.h"

#include <stdlib.h>

static uint32_t profile_merge_name(struct profile *into, const struct profile *from, uint32_t name)
{
	return name ? intern_string(&into->names, intern_text(&from->names, name)) : 0;
}

uint32_t profile_merge_thread(struct profile *into, const struct profile *from, uint32_t thread)
{
	struct thread_key key = *(const struct thread_key *)intern_key(&from->threads, thread);

	if (!thread)
		return 0;
	key.name = profile_merge_name(into, from, key.name);
	key.labels = profile_merge_name(into, from, key.labels);
	return intern(&into->threads, &key, sizeof(key));
}

/* Returns the new IDs of all frames, by their old IDs; NULL when out of memory. Release with
 * free(). */
static uint32_t *profile_merge_frames(struct profile *into, const struct profile *from)
{
	uint32_t *numbers = calloc(from->frames.count + 1, sizeof(*numbers));

	for (uint32_t id = 1; numbers && id <= from->frames.count; id++) {
		struct frame frame = *profile_frame(from, id);

		frame.name = profile_merge_name(into, from, frame.name);
		frame.module = profile_merge_name(into, from, frame.module);
		frame.file = profile_merge_name(into, from, frame.file);
		frame.build_id = profile_merge_name(into, from, frame.build_id);
		frame.caller = numbers[frame.caller]; /* has the smaller number */
		numbers[id] = intern(&into->frames, &frame, sizeof(frame));
	}
	return numbers;
}

/* Returns the new ID of STACK. FRAMES has the new frame IDs; SCRATCH is for the stack's frames. */
static uint32_t profile_merge_stack(struct profile *into, const struct profile *from,
				    uint32_t stack, const uint32_t *frames, struct buf *scratch)
{
	const uint32_t *ids = intern_key(&from->stacks, stack);
	uint32_t depth = intern_length(&from->stacks, stack) / sizeof(*ids);

	if (!stack)
		return 0;
	buf_reset(scratch);
	for (uint32_t i = 0; i < depth; i++)
		if (buf_append(scratch, &frames[ids[i]], sizeof(*ids)))
			into->out_of_memory = true;
	return intern(&into->stacks, scratch->data, scratch->length);
}

/* Returns the new ID of WAIT. FRAMES and SCRATCH are as above. */
static uint32_t profile_merge_wait(struct profile *into, const struct profile *from, uint32_t wait,
				   const uint32_t *frames, struct buf *scratch)
{
	struct wait key = *profile_wait(from, wait);

	if (!wait)
		return 0;
	key.call = profile_merge_name(into, from, key.call);
	key.on = profile_merge_name(into, from, key.on);
	key.owner_stack = profile_merge_stack(into, from, key.owner_stack, frames, scratch);
	return intern(&into->waits, &key, sizeof(key));
}

void profile_merge(struct profile *into, const struct profile *from)
{
	uint32_t *frames = profile_merge_frames(into, from);
	struct buf scratch = BUF_INIT(16u << 20);

	for (uint32_t i = 0; frames && i < from->count; i++) {
		struct sample s = from->samples[i];

		s.stack = profile_merge_stack(into, from, s.stack, frames, &scratch);
		s.thread = profile_merge_thread(into, from, s.thread);
		s.context = profile_merge_name(into, from, s.context);
		s.wait = profile_merge_wait(into, from, s.wait, frames, &scratch);
		profile_add_sample(into, &s);
	}
	into->out_of_memory |= !frames || from->out_of_memory;
	for (unsigned m = 0; m < METRICS; m++) {
		profile_update_period(into, m, from->shortest_periods[m]);
		if (from->periods[m] > into->periods[m])
			into->periods[m] = from->periods[m];
	}
	into->chunks += from->chunks;
	into->frames_folded |= from->frames_folded;
	losses_add(&into->losses, &from->losses);
	profile_extend_span(into, from->start_ns, from->end_ns);
	free(frames);
	buf_free(&scratch);
}
