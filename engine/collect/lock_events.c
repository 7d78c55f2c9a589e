/* Sampled waits for locks. */
#include "engine/collect/lock_events.h"

#include <stdlib.h>
#include <string.h>

#include "engine/collect/program_stack.h"
#include "engine/collect/sample_context.h"
#include "engine/wait/wait_lines.h"
#include "engine/wait/wait_owner.h"
#include "engine/wait/wait_stack.h"

/* Maximum number of bytes between a lock's address and the word with its owner. */
#define OWNER_OFFSET_MAX 32

#define WAITS_MAX  256
#define OWNERS_MAX 64 /* the oldest is replaced */

static struct {
	struct sample *waits[WAITS_MAX]; /* malloc'd */
	size_t count, seen;              /* SEEN were there at the last lock_events_write() */
	struct sample *owners[OWNERS_MAX];
	size_t next_owner;
} lock_events;

static struct sample *sample_copy(const struct sample *s)
{
	size_t bytes = sizeof(*s) + (s->count + s->context) * sizeof(*s->pcs);
	struct sample *copy = malloc(bytes);

	if (copy)
		memcpy(copy, s, bytes);
	return copy;
}

/* The sample of the owner that was taken during the wait S; NULL if there is none. */
static const struct sample *owner_find(const struct sample *s)
{
	for (size_t i = 0; i < OWNERS_MAX; i++) {
		const struct sample *owner = lock_events.owners[i];

		if (owner && owner->args[0] - s->args[0] <= OWNER_OFFSET_MAX &&
		    owner->ticks - s->ticks <= s->args[1])
			return owner;
	}
	return NULL;
}

static void use_wait(struct jfr_writer *jfr, struct symbols *symbols, const struct sample *s)
{
	const struct sample *owner = owner_find(s);
	struct wait wait = { .state = WAIT_WAITING,
			     .cause = WAIT_LOCK,
			     .is_futex = true,
			     .number = -1,
			     .lock = (uintptr_t)s->args[0],
			     .owner = owner ? owner->tid : 0,
			     .owner_kinds = WAIT_OWNER_ANY };
	struct jfr_wait use = { 0 };
	char lines[WAIT_LINES_MAX];

	if (owner)
		use.owner_stack = program_stack(jfr, owner->pcs, owner->count, owner->truncated);
	wait_set_cause_by_stack(&wait, symbols, s->pcs, 1); /* names the lock */
	use.description = jfr_wait_description(jfr, lines, wait_lines(&wait, lines));
	wait_clear(&wait);
	jfr_use_wait(jfr, &use);
}

static void wait_write(struct jfr_writer *jfr, struct symbols *symbols, const struct sample *s)
{
	struct jfr_native_lock lock = { .ticks = s->ticks,
					.address = s->args[0],
					.span_ticks = s->args[1],
					.weight_ticks = s->args[2] };

	use_wait(jfr, symbols, s);
	jfr_use_context(jfr, sample_context_id(jfr, sample_context(s)));
	jfr_native_lock(jfr, s->tid, program_stack(jfr, s->pcs, s->count, s->truncated), &lock);
}

static void owner_add(const struct sample *s)
{
	struct sample **place = &lock_events.owners[lock_events.next_owner++ % OWNERS_MAX];

	free(*place);
	*place = sample_copy(s);
}

void lock_events_add(struct jfr_writer *jfr, struct symbols *symbols, const struct sample *s)
{
	struct sample *copy;

	if (s->kind == SAMPLE_LOCK_OWNER) {
		owner_add(s);
		return;
	}
	copy = lock_events.count < WAITS_MAX ? sample_copy(s) : NULL;
	if (copy)
		lock_events.waits[lock_events.count++] = copy;
	else
		wait_write(jfr, symbols, s);
}

static void owners_drop(void)
{
	for (size_t i = 0; i < OWNERS_MAX; i++) {
		free(lock_events.owners[i]);
		lock_events.owners[i] = NULL;
	}
}

void lock_events_write(struct jfr_writer *jfr, struct symbols *symbols, bool chunk_ends)
{
	size_t ready = chunk_ends ? lock_events.count : lock_events.seen;

	for (size_t i = 0; i < ready; i++) {
		wait_write(jfr, symbols, lock_events.waits[i]);
		free(lock_events.waits[i]);
	}
	lock_events.count -= ready;
	memmove(lock_events.waits, lock_events.waits + ready,
		lock_events.count * sizeof(*lock_events.waits));
	lock_events.seen = lock_events.count;
	if (chunk_ends) /* the frames of their stacks have names in this chunk only */
		owners_drop();
}

void lock_events_stop(void)
{
	while (lock_events.count)
		free(lock_events.waits[--lock_events.count]);
	lock_events.seen = 0;
	owners_drop();
}
