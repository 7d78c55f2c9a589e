/* Mailbox for one request of the live endpoint. */
#include "core/agent/live.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/futex.h"

/* ANSWERED_LAST: cancelled before the requester has seen the answer, as that of a request that ends the agent. */
enum state { FREE, ASKED, ANSWERED, ANSWERED_LAST, CANCELLED };

static void live_set_state(struct live *live, uint32_t state)
{
	atomic_store(&live->state, state);
	futex_wake(&live->state);
}

void live_open(struct live *live, struct wake *agent)
{
	*live = (struct live){ .agent = agent };
}

void live_cancel(struct live *live)
{
	uint32_t answered = ANSWERED;

	if (!atomic_compare_exchange_strong(&live->state, &answered, ANSWERED_LAST))
		live_set_state(live, CANCELLED);
}

int live_send(struct live *live, struct live_call *call)
{
	uint32_t state = FREE;

	live->call = call;
	if (!atomic_compare_exchange_strong(&live->state, &state, ASKED))
		return -ECANCELED;
	wake_up(live->agent);
	while ((state = atomic_load(&live->state)) == ASKED)
		futex_wait_until(&live->state, ASKED, UINT64_MAX);
	if (state == ANSWERED && atomic_compare_exchange_strong(&live->state, &state, FREE))
		return call->err;
	if (state != ANSWERED_LAST)
		return -ECANCELED;
	atomic_store(&live->state, CANCELLED);
	return call->err;
}

struct live_call *live_get_pending(struct live *live)
{
	return atomic_load(&live->state) == ASKED ? live->call : NULL;
}

void live_complete(struct live *live)
{
	live_set_state(live, ANSWERED);
}
