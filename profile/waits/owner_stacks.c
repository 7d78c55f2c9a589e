/* Stacks of the owners of locks. */
#include "profile/waits/owner_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "core/buf.h"
#include "profile/aggregate/frame_category.h"
#include "profile/waits/wait_chains.h"
#include "profile/waits/wait_groups.h"

/* Interned by its bytes. */
struct place {
	uint32_t thread, stack, on, owner;
};

struct weights {
	double with, without; /* an owner's stack, in samples */
};

/* Returns the number of the place of S; 0 if S does not wait for a known owner. */
static uint32_t place_of(struct intern *places, const struct profile *p, const struct sample *s)
{
	const struct wait *wait = profile_wait(p, s->wait);
	struct place place = { s->thread, s->stack, wait->on, wait->owner };

	if (!wait_metric_has_owners(s->metric) || !wait->owner)
		return 0;
	return intern(places, &place, sizeof(place));
}

int owner_stacks_spread(struct profile *p)
{
	struct weights *weights = calloc((size_t)p->count + 1, sizeof(*weights));
	struct intern places = INTERN_INIT;
	uint32_t kept = 0;

	for (uint32_t i = 0; weights && i < p->count; i++) {
		struct weights *w = &weights[place_of(&places, p, &p->samples[i])];

		if (profile_wait(p, p->samples[i].wait)->owner_stack)
			w->with += p->samples[i].count;
		else
			w->without += p->samples[i].count;
	}
	for (uint32_t i = 0; weights && i < p->count; i++) {
		struct sample s = p->samples[i];
		uint32_t place = place_of(&places, p, &s);
		const struct weights *w = &weights[place];

		if (place && w->with > 0) {
			if (!profile_wait(p, s.wait)->owner_stack)
				continue; /* moved to the others */
			sample_scale(&s, 1 + w->without / w->with);
		}
		p->samples[kept++] = s;
	}
	p->count = weights ? kept : p->count;
	intern_free(&places);
	free(weights);
	return weights ? 0 : -ENOMEM;
}

/* New stacks are joined from pieces. A stack is stored innermost frame first, so the last piece
 * comes first. */
struct appending {
	struct profile *profile;
	struct wait_chains chains;
	struct thread_index threads;
	uint32_t *stacks; /* new stack by sample; 0: unchanged */
	struct buf stack, name;
};

/* A part of a new stack: a frame, then the stack that is called by it. */
struct piece {
	uint32_t frame, stack;
};

static uint32_t add_frame(struct appending *a)
{
	struct profile *p = a->profile;
	struct frame frame = { .type = JFR_FRAME_NATIVE, .category = FRAME_LIBRARY };

	frame.name = intern(&p->names, a->name.data, a->name.length);
	return intern(&p->frames, &frame, sizeof(frame));
}

/* Returns the frame "[lock NAME held by THREAD]" of the wait of sample I. */
static uint32_t add_owner_frame(struct appending *a, uint32_t i)
{
	struct profile *p = a->profile;
	const struct sample *s = &p->samples[i];
	const struct wait *wait = profile_wait(p, s->wait);
	const char *on = intern_text(&p->names, wait->on);
	uint32_t thread = thread_index_find(&a->threads, p, s->thread, wait->owner);
	char name[256];

	profile_thread_name(p, thread, name, sizeof(name));
	buf_reset(&a->name);
	buf_printf(&a->name, "[%s%s%s held by %s]", wait->cause == WAIT_GIL ? "GIL" : "lock",
		   *on ? " " : "", wait_lock_name(on), thread ? name : "an unknown thread");
	return add_frame(a);
}

static uint32_t add_deadlock_frame(struct appending *a)
{
	buf_reset(&a->name);
	buf_append_string(&a->name, "[deadlock]");
	return add_frame(a);
}

/* Set PIECES to the owners of the chain of sample I. Returns their number. */
static uint32_t chain_pieces(struct appending *a, uint32_t i, struct piece *pieces)
{
	const struct profile *p = a->profile;
	uint32_t count = 0, first = i;

	while (count < OWNER_STACKS_MAX) {
		const struct wait *wait = profile_wait(p, p->samples[i].wait);
		uint32_t next = a->chains.next[i];

		if (!wait->owner)
			break;
		pieces[count++] = (struct piece){ add_owner_frame(a, i), wait->owner_stack };
		if (!next)
			break;
		i = next - 1;
		if (i != first)
			continue;
		pieces[count++] = (struct piece){ add_deadlock_frame(a), 0 };
		break;
	}
	return count;
}

static int append_stack(struct buf *out, const struct profile *p, uint32_t stack)
{
	return buf_append(out, intern_key(&p->stacks, stack), intern_length(&p->stacks, stack));
}

/* Returns the stack of sample I with its owners; 0 when out of memory. */
static uint32_t join_stacks(struct appending *a, uint32_t i)
{
	struct piece pieces[OWNER_STACKS_MAX + 1];
	struct profile *p = a->profile;
	uint32_t count = chain_pieces(a, i, pieces);
	int err = 0;

	buf_reset(&a->stack);
	while (count-- && !err) {
		err = append_stack(&a->stack, p, pieces[count].stack);
		if (!err)
			err = buf_append(&a->stack, &pieces[count].frame, sizeof(uint32_t));
	}
	if (!err)
		err = append_stack(&a->stack, p, p->samples[i].stack);
	return err ? 0 : intern(&p->stacks, a->stack.data, a->stack.length);
}

int owner_stacks_append(struct profile *p)
{
	struct appending a = { .profile = p,
			       .stacks = calloc((size_t)p->count + 1, sizeof(*a.stacks)),
			       .stack = BUF_INIT(16u << 20),
			       .name = BUF_INIT(1u << 20) };
	int err = wait_chains_make(&a.chains, p);

	if (thread_index_open(&a.threads, p) || !a.stacks)
		err = -ENOMEM;
	for (uint32_t i = 0; i < p->count && !err; i++) {
		if (!wait_metric_has_owners(p->samples[i].metric) ||
		    !profile_wait(p, p->samples[i].wait)->owner)
			continue;
		a.stacks[i] = join_stacks(&a, i);
		err = a.stacks[i] ? 0 : -ENOMEM;
	}
	/* The chains refer to the stacks as sampled. */
	for (uint32_t i = 0; i < p->count && !err; i++)
		if (a.stacks[i])
			p->samples[i].stack = a.stacks[i];
	wait_chains_free(&a.chains);
	thread_index_free(&a.threads);
	free(a.stacks);
	buf_free(&a.stack);
	buf_free(&a.name);
	return err;
}
