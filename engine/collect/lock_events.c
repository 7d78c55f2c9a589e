/* Sampled waits for locks. */
#include "engine/collect/lock_events.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "engine/collect/program_stack.h"
#include "engine/collect/sample_context.h"
#include "engine/collect/wall_owner.h"
#include "engine/wait/wait_lines.h"
#include "engine/wait/wait_owner.h"
#include "engine/wait/wait_stack.h"

/* A signal may have to wait for a processor. */
#define OWNER_WAIT_NS 500000000u

/* Waits that are in progress with an owner's stack, or over and not written yet. */
#define EVENTS_MAX 256

static struct lock_event {
	pid_t tid; /* 0: the entry is free */
	pid_t owner_tid;
	uint64_t lock, began_ns;
	struct wall_owner *owner; /* NULL: none */
	struct sample *sample; /* malloc'd, at the end of the wait; NULL: the thread still waits */
} events[EVENTS_MAX];

static void event_clear(struct lock_event *event)
{
	wall_owner_free(event->owner);
	free(event->sample);
	*event = (struct lock_event){ 0 };
}

/* The entry of the wait of TID for LOCK that is in progress, else a free one, else the oldest. */
static struct lock_event *event_find(pid_t tid, uint64_t lock)
{
	struct lock_event *found = &events[0];

	for (struct lock_event *e = events; e < events + EVENTS_MAX; e++) {
		if (e->tid == tid && e->lock == lock && !e->sample)
			return e;
		if (found->tid && (!e->tid || e->began_ns < found->began_ns))
			found = e;
	}
	return found;
}

void lock_events_delayed(const struct sample *s)
{
	struct lock_event *event = event_find(s->tid, s->args[0]);
	pid_t owner = wait_owner_read((uintptr_t)s->args[1]);
	struct thread *thread = owner && owner != s->tid ? thread_slot_find(owner) : NULL;

	/* (If all entries wait to be written, no wait needs an owner more than they do.) */
	if (!thread || event->sample)
		return;
	event_clear(event);
	atomic_store(&thread->lock_word, (uintptr_t)s->args[1]);
	*event = (struct lock_event){ .tid = s->tid,
				      .owner_tid = owner,
				      .lock = s->args[0],
				      .began_ns = clock_monotonic_ns() };
	event->owner = wall_owner_request(owner, event->began_ns);
}

static struct sample *sample_copy(const struct sample *s)
{
	size_t bytes = sizeof(*s) + (s->count + s->context) * sizeof(*s->pcs);
	struct sample *copy = malloc(bytes);

	if (copy)
		memcpy(copy, s, bytes);
	return copy;
}

void lock_events_ended(const struct sample *s)
{
	struct lock_event *event = event_find(s->tid, s->args[0]);

	if (event->tid != s->tid || event->lock != s->args[0] || event->sample)
		event_clear(event);
	event->tid = s->tid;
	event->lock = s->args[0];
	if (!event->began_ns)
		event->began_ns = clock_monotonic_ns();
	event->sample = sample_copy(s);
	if (!event->sample)
		event_clear(event);
}

/* True if the owner's stack has arrived, and its thread still had the lock then. */
static bool owner_is_right(const struct lock_event *event)
{
	return event->owner && event->owner->ticks &&
	       (event->owner->lock_word & WAIT_OWNER_TID) == (uint32_t)event->owner_tid;
}

static void event_write(struct jfr_writer *jfr, struct symbols *symbols,
			const struct lock_event *event)
{
	const struct sample *s = event->sample;
	struct wait wait = { .state = WAIT_WAITING,
			     .cause = WAIT_LOCK,
			     .is_futex = true,
			     .number = -1,
			     .lock = (uintptr_t)event->lock,
			     .owner_kinds = WAIT_OWNER_ANY };
	struct jfr_wait use = { 0 };
	char lines[WAIT_LINES_MAX];

	if (owner_is_right(event)) {
		wait.owner = event->owner_tid;
		use.owner_stack = program_stack(jfr, event->owner->pcs, event->owner->depth,
						event->owner->truncated);
	}
	wait_set_cause_by_stack(&wait, symbols, s->pcs, 1); /* names the lock */
	use.description = jfr_wait_description(jfr, lines, wait_lines(&wait, lines));
	wait_clear(&wait);
	jfr_use_wait(jfr, &use);
	jfr_use_context(jfr, sample_context_id(jfr, sample_context(s)));
	jfr_native_lock(jfr, s->tid, program_stack(jfr, s->pcs, s->count, s->truncated),
			&(struct jfr_native_lock){ .ticks = s->ticks,
						   .address = s->args[0],
						   .span_ticks = s->args[1],
						   .weight_ticks = s->args[2] });
}

static bool owner_is_pending(const struct lock_event *event, uint64_t now_ns)
{
	return event->owner && !event->owner->ticks &&
	       (int64_t)(now_ns - event->began_ns) < (int64_t)OWNER_WAIT_NS;
}

void lock_events_write(struct jfr_writer *jfr, struct symbols *symbols, uint64_t now_ns)
{
	bool ends = now_ns == UINT64_MAX;

	for (struct lock_event *e = events; e < events + EVENTS_MAX; e++) {
		if (e->sample && (ends || !owner_is_pending(e, now_ns))) {
			event_write(jfr, symbols, e);
			event_clear(e);
		} else if (ends && e->owner && e->owner->ticks) {
			event_clear(e); /* the frames of its stack have names in this chunk only */
		}
	}
}

void lock_events_stop(void)
{
	for (size_t i = 0; i < EVENTS_MAX; i++)
		event_clear(&events[i]);
}
