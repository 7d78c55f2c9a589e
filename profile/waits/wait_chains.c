/* Chains of waits. */
#include "profile/waits/wait_chains.h"

#include <errno.h>
#include <stdlib.h>

/* Interned by its bytes. */
struct chain_key {
	uint32_t tid, labels, stack;
};

static const struct thread_key *thread_of(const struct profile *p, const struct sample *s)
{
	return intern_key(&p->threads, s->thread);
}

static bool is_waiting(const struct profile *p, const struct sample *s)
{
	return wait_metric_has_owners(s->metric) && profile_wait(p, s->wait)->state == WAIT_WAITING;
}

/* Store the heaviest waiting sample of each thread and stack. Returns false when out of memory. */
static bool chains_index(struct wait_chains *c)
{
	const struct profile *p = c->profile;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct sample *s = &p->samples[i];
		struct chain_key key = { thread_of(p, s)->tid, thread_of(p, s)->labels, s->stack };
		uint32_t id;

		if (!s->stack || !is_waiting(p, s))
			continue;
		id = intern(&c->keys, &key, sizeof(key));
		if (!id)
			return false;
		if (!c->heaviest[id] || p->samples[c->heaviest[id] - 1].count < s->count)
			c->heaviest[id] = i + 1;
	}
	return true;
}

static bool chains_link(struct wait_chains *c)
{
	const struct profile *p = c->profile;
	uint32_t known = c->keys.count;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct sample *s = &p->samples[i];
		const struct wait *wait = profile_wait(p, s->wait);
		struct chain_key key = { wait->owner, thread_of(p, s)->labels, wait->owner_stack };
		uint32_t id;

		if (!wait->owner || !wait->owner_stack || !is_waiting(p, s))
			continue;
		id = intern(&c->keys, &key, sizeof(key));
		if (!id)
			return false;
		if (id <= known)
			c->next[i] = c->heaviest[id];
	}
	return true;
}

/* Whether the chain from sample I returns to I, and each part has enough samples. */
static bool is_cycle(const struct wait_chains *c, uint32_t i)
{
	uint32_t at = i;

	for (uint32_t steps = 0; steps <= c->profile->count; steps++) {
		if (c->profile->samples[at].count < WAIT_DEADLOCK_SAMPLES || !c->next[at])
			return false;
		at = c->next[at] - 1;
		if (at == i)
			return true;
	}
	return false;
}

/* Each sample is visited once: VISITED has the number of the start from which it was reached. */
static void chains_find_deadlocks(struct wait_chains *c, uint32_t *visited)
{
	for (uint32_t i = 0; i < c->profile->count; i++) {
		uint32_t at = i;

		while (!visited[at]) {
			visited[at] = i + 1;
			if (!c->next[at])
				break;
			at = c->next[at] - 1;
		}
		if (visited[at] != i + 1 || c->deadlock[at] || !is_cycle(c, at))
			continue;
		c->deadlocks++;
		for (; !c->deadlock[at]; at = c->next[at] - 1)
			c->deadlock[at] = c->deadlocks;
	}
}

int wait_chains_make(struct wait_chains *c, const struct profile *p)
{
	size_t room = (size_t)p->count + 1;
	uint32_t *visited = calloc(room, sizeof(*visited));
	int err = 0;

	*c = (struct wait_chains){ .profile = p,
				   .heaviest = calloc(room, sizeof(*c->heaviest)),
				   .next = calloc(room, sizeof(*c->next)),
				   .deadlock = calloc(room, sizeof(*c->deadlock)) };
	if (!visited || !c->heaviest || !c->next || !c->deadlock || !chains_index(c) ||
	    !chains_link(c))
		err = -ENOMEM;
	else
		chains_find_deadlocks(c, visited);
	free(visited);
	return err;
}

uint32_t wait_chains_first(const struct wait_chains *c, uint32_t number)
{
	const struct sample *samples = c->profile->samples;
	uint32_t first = 0;

	while (c->deadlock[first] != number)
		first++;
	for (uint32_t i = first + 1; i < c->profile->count; i++)
		if (c->deadlock[i] == number &&
		    profile_compare_threads(c->profile, samples[i].thread, samples[first].thread) <
			    0)
			first = i;
	return first;
}

void wait_chains_free(struct wait_chains *c)
{
	intern_free(&c->keys);
	free(c->heaviest);
	free(c->next);
	free(c->deadlock);
	*c = (struct wait_chains){ 0 };
}
