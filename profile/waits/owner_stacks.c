/* Owners whose stack was not taken. */
#include "profile/waits/owner_stacks.h"

#include <errno.h>
#include <stdlib.h>

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

	if (s->metric != METRIC_WALL || !wait->owner)
		return 0;
	return intern(places, &place, sizeof(place));
}

int owner_stacks_spread(struct profile *p)
{
	struct weights *weights = calloc((size_t)p->count + 1, sizeof(*weights));
	struct intern places = INTERN_INIT;

	for (uint32_t i = 0; weights && i < p->count; i++) {
		struct weights *w = &weights[place_of(&places, p, &p->samples[i])];

		if (profile_wait(p, p->samples[i].wait)->owner_stack)
			w->with += p->samples[i].count;
		else
			w->without += p->samples[i].count;
	}
	for (uint32_t i = 0; weights && i < p->count; i++) {
		uint32_t place = place_of(&places, p, &p->samples[i]);
		const struct weights *w = &weights[place];

		if (!place || w->with <= 0 || w->without <= 0)
			continue;
		sample_scale(&p->samples[i], profile_wait(p, p->samples[i].wait)->owner_stack
						     ? 1 + w->without / w->with
						     : 0);
	}
	intern_free(&places);
	free(weights);
	return weights ? 0 : -ENOMEM;
}
