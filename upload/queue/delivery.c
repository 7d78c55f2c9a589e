/* A lane: takes what waits for its reporter, and tries until it is delivered or given up. */
#include "upload/queue/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/random.h"

#define SECOND_NS 1000000000ull

#define BACKOFF_FIRST_NS SECOND_NS
#define BACKOFF_MAX_NS   (30 * SECOND_NS)
#define DRAIN_PAUSE_NS   (SECOND_NS / 10)

/* From here on the pause is the longest. */
#define FAILURES_MAX 16

/* What other processes leave in the spool is looked for this often. */
#define LOOK_NS (30 * SECOND_NS)

void lanes_init(struct lanes *lanes)
{
	pthread_mutex_init(&lanes->lock, NULL);
}

void lanes_add(struct lanes *lanes, struct reporter *reporter)
{
	size_t n = lanes->count++;

	lanes->lane[n] = (struct lane){ .lanes = lanes, .reporter = reporter, .bit = 1u << n };
}

void lanes_free(struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->store_count; i++)
		lanes->stores[i]->close(lanes->stores[i]);
	pthread_mutex_destroy(&lanes->lock);
}

uint64_t lane_backoff_ns(unsigned int failures, uint32_t random)
{
	uint64_t most = BACKOFF_MAX_NS;

	if (failures < FAILURES_MAX && BACKOFF_FIRST_NS << failures < most)
		most = BACKOFF_FIRST_NS << failures;
	/* Full jitter: anywhere in the span, so that a fleet does not come back as one. */
	return (uint64_t)((__uint128_t)most * random >> 32);
}

bool lanes_persist(const struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->store_count; i++)
		if (lanes->stores[i]->waiting)
			return false;
	return lanes->stores[0]->lasts;
}

static int take(struct lanes *lanes, unsigned int bit, struct held *held)
{
	int err = -ENOENT;

	for (size_t i = 0; err && i < lanes->store_count; i++)
		err = lanes->stores[i]->take(lanes->stores[i], bit, held);
	return err;
}

static void drop(struct lanes *lanes, struct held *held, unsigned int bits, uint64_t *count)
{
	++*count;
	lanes->losses.dropped_bytes += report_length(&held->report);
	held->store->settle(held->store, held, bits);
}

static uint64_t age_ms(const struct held *held)
{
	uint64_t now = clock_realtime_ns() / 1000000;

	return now > held->report.end_ms ? now - held->report.end_ms : 0;
}

/* Whether another try in a second or two may do: of a network, and of a disk that is full. */
static bool passes_soon(const struct lane *lane, int err)
{
	if (lane->reporter->cancel)
		return err != -EACCES;
	return err == -ENOSPC || err == -EDQUOT;
}

/* What a failed try means for the report and for the next try. */
static void after_failure(struct lane *lane, struct held *held, int err)
{
	struct lanes *lanes = lane->lanes;
	uint64_t now = clock_monotonic_ns();

	lane->failures++;
	lane->tried = true;
	lane->refused = !passes_soon(lane, err);
	lane->next_ns =
		now + lane_backoff_ns(lane->failures - 1, (uint32_t)random_below(UINT32_MAX));
	if (lanes->draining)
		lane->next_ns = now + DRAIN_PAUSE_NS;
	if (err == -EBADMSG) {
		drop(lanes, held, lane->bit, &lanes->losses.refused);
		lane->next_ns = 0; /* the next report is another case */
	} else {
		held->store->settle(held->store, held, 0);
	}
}

static void deliver_held(struct lane *lane, struct held *held)
{
	struct lanes *lanes = lane->lanes;
	int err;

	if (age_ms(held) > STORE_AGE_MAX_MS) {
		drop(lanes, held, lane->bit, &lanes->losses.aged);
		return;
	}
	lane->busy = true;
	pthread_mutex_unlock(&lanes->lock);
	err = lane->reporter->deliver(lane->reporter, &held->report);
	pthread_mutex_lock(&lanes->lock);
	lane->busy = false;
	if (err) {
		after_failure(lane, held, err);
	} else {
		lane->failures = 0;
		lane->next_ns = 0;
		held->store->settle(held->store, held, lane->bit);
	}
}

void lanes_tell(struct lanes *lanes)
{
	atomic_fetch_add(&lanes->changes, 1);
	futex_wake(&lanes->changes);
}

/* Wait until there are other than CHANGES, or END_NS. True when there are, also where one came just
 * when the time had ended: nobody would be woken by it any more. */
static bool wait_until(struct lanes *lanes, uint32_t changes, uint64_t end_ns)
{
	pthread_mutex_unlock(&lanes->lock);
	futex_wait_until(&lanes->changes, changes, end_ns);
	pthread_mutex_lock(&lanes->lock);
	return atomic_load(&lanes->changes) != changes;
}

void lanes_wait(struct lanes *lanes, uint64_t when_ns)
{
	uint32_t changes = atomic_load(&lanes->changes);
	uint64_t due_ns = privileges_due_ns();

	/* A thread that waits may do no more than the program, either. */
	while (due_ns < when_ns) {
		if (wait_until(lanes, changes, due_ns))
			return;
		privileges_follow(false);
		due_ns = privileges_due_ns();
	}
	wait_until(lanes, changes, when_ns);
}

/* The other lanes pass over what one holds. */
static void look_again(struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->count; i++)
		lanes->lane[i].empty = false;
	lanes_tell(lanes);
}

static void *run_lane(void *argument)
{
	struct lane *lane = argument;
	struct lanes *lanes = lane->lanes;
	struct held *held = malloc(sizeof(*held));

	own_thread_be_nice();
	pthread_mutex_lock(&lanes->lock);
	while (held && !lanes->closing) {
		uint64_t now = clock_monotonic_ns();

		if (lane->busy || now < lane->next_ns) {
			lanes_wait(lanes, lane->busy ? UINT64_MAX : lane->next_ns);
			continue;
		}
		if (privileges_follow(true))
			break;
		if (!take(lanes, lane->bit, held)) {
			deliver_held(lane, held);
			look_again(lanes);
			continue;
		}
		lane->empty = true;
		lanes_tell(lanes);
		/* Spread, so that the processes of one spool do not look all at once. */
		lanes_wait(lanes, lanes_persist(lanes) ? now + LOOK_NS / 2 + random_below(LOOK_NS)
						       : UINT64_MAX);
	}
	lane->running = false;
	lanes_tell(lanes);
	pthread_mutex_unlock(&lanes->lock);
	free(held);
	return NULL;
}

void lane_start(struct lane *lane)
{
	int err;

	if (lane->running)
		return;
	lane->running = true;
	err = own_thread_start("asprof-upload", run_lane, lane);
	if (!err)
		return;
	lane->running = false;
	log_error("no thread for deliveries to %s: %s", lane->reporter->name, strerror(-err));
}

bool lanes_drained(const struct lanes *lanes)
{
	bool busy = false;

	for (size_t i = 0; i < lanes->count; i++)
		busy = busy || lanes->lane[i].busy;
	for (size_t i = 0; i < lanes->count; i++) {
		const struct lane *lane = &lanes->lane[i];

		if (lane->running && (busy || !lane->empty) &&
		    !(lane->tried && (lane->refused || lanes_persist(lanes))))
			return false;
	}
	return true;
}

bool lanes_running(const struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->count; i++)
		if (lanes->lane[i].running)
			return true;
	return false;
}
