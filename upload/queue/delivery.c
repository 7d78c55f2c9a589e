/* Deliveries: one thread for each reporter delivers the stored reports. */
#include "upload/queue/delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/agent/waiters.h"
#include "core/clock.h"
#include "core/futex.h"
#include "core/log.h"
#include "core/agent/lost_reports.h"
#include "core/own_thread.h"
#include "core/privileges.h"
#include "core/random.h"

#define SECOND_NS 1000000000ull

#define BACKOFF_FIRST_NS SECOND_NS
#define BACKOFF_MAX_NS   (30 * SECOND_NS)
#define DRAIN_PAUSE_NS   (SECOND_NS / 10)

/* From this number of failures on, the backoff is the longest. */
#define FAILURES_MAX 16

/* Interval between searches of the spool for reports of other processes. */
#define LOOK_NS (30 * SECOND_NS)

/* Shortest time between two lines about old reports. */
#define LOG_AGED_NS (60 * SECOND_NS)

/* Time limit of one recovery, because reports may have to be delivered. */
#define RECOVERY_NS (10 * SECOND_NS)

void deliveries_init(struct deliveries *deliveries)
{
	pthread_mutex_init(&deliveries->lock, NULL);
}

void deliveries_add(struct deliveries *deliveries, struct reporter *reporter)
{
	size_t n = deliveries->count++;

	deliveries->each[n] =
		(struct delivery){ .deliveries = deliveries, .reporter = reporter, .bit = 1u << n };
}

void deliveries_free(struct deliveries *deliveries)
{
	for (size_t i = 0; i < deliveries->store_count; i++)
		deliveries->stores[i]->close(deliveries->stores[i]);
	pthread_mutex_destroy(&deliveries->lock);
}

uint64_t delivery_pause_ns(unsigned int failures, uint32_t random)
{
	uint64_t most = BACKOFF_MAX_NS;

	if (failures < FAILURES_MAX && BACKOFF_FIRST_NS << failures < most)
		most = BACKOFF_FIRST_NS << failures;
	/* Full jitter, so that the processes of a fleet do not retry at the same time. */
	return (uint64_t)((__uint128_t)most * random >> 32);
}

bool deliveries_are_persistent(const struct deliveries *deliveries)
{
	for (size_t i = 0; i < deliveries->store_count; i++)
		if (deliveries->stores[i]->waiting)
			return false;
	return deliveries->stores[0]->is_persistent;
}

/* Take the oldest report first. After a failure, take the reports after it first, then start
 * from the oldest again. */
static int delivery_take(struct delivery *delivery, struct stored_report *held)
{
	struct deliveries *deliveries = delivery->deliveries;
	struct store_mark *mark = &delivery->failed_at;
	bool is_after = false;
	int err = -ENOENT;

	for (size_t i = 0; mark->store && err && i < deliveries->store_count; i++) {
		struct store *store = deliveries->stores[i];

		is_after = is_after || store == mark->store;
		if (is_after)
			err = store->take(store, delivery->bit, store == mark->store ? mark : NULL,
					  held);
	}
	if (!err)
		return 0;
	mark->store = NULL;
	for (size_t i = 0; err && i < deliveries->store_count; i++)
		err = deliveries->stores[i]->take(deliveries->stores[i], delivery->bit, NULL, held);
	return err;
}

static void delivery_drop(struct deliveries *deliveries, struct stored_report *held,
			  unsigned int bits, uint64_t *count)
{
	++*count;
	deliveries->losses.dropped_bytes += report_length(&held->report);
	held->store->settle(held->store, held, bits);
}

static uint64_t report_age_ms(const struct stored_report *held)
{
	uint64_t now = clock_realtime_ns() / 1000000;

	return now > held->report.end_ms ? now - held->report.end_ms : 0;
}

/* True if a retry in a second or two may succeed: after a network error, or on a full disk. */
static bool delivery_error_is_transient(const struct delivery *delivery, int err)
{
	if (delivery->reporter->cancel)
		return err != -EACCES;
	return err == -ENOSPC || err == -EDQUOT;
}

/* Schedule the next try and give the report back; drop it if it can never be accepted. */
static void delivery_fail(struct delivery *delivery, struct stored_report *held, int err)
{
	struct deliveries *deliveries = delivery->deliveries;
	uint64_t now = clock_monotonic_ns();

	delivery->failed_at =
		(struct store_mark){ .store = held->store, .id = held->id, .file = held->file };
	delivery->failures++;
	delivery->result =
		delivery_error_is_transient(delivery, err) ? DELIVERY_FAILED : DELIVERY_REFUSED;
	delivery->next_ns =
		now + delivery_pause_ns(delivery->failures - 1, (uint32_t)random_below(UINT32_MAX));
	if (deliveries->draining)
		delivery->next_ns = now + DRAIN_PAUSE_NS;
	if (err == -EBADMSG) {
		delivery_drop(deliveries, held, delivery->bit, &deliveries->losses.dropped_refused);
		delivery->next_ns = 0; /* the next report may succeed */
	} else {
		held->store->settle(held->store, held, 0);
	}
}

static void delivery_record_result(struct delivery *delivery, int err)
{
	delivery->error = err;
	delivery->maybe_twice = delivery->reporter->maybe_twice;
	if (err) {
		delivery->failed++;
		return;
	}
	delivery->delivered++;
	delivery->delivered_ms = clock_realtime_ns() / 1000000;
}

void delivery_search(struct delivery *delivery)
{
	if (delivery->phase == DELIVERY_RESTS)
		delivery->phase = DELIVERY_SEARCHES;
}

int delivery_deliver(struct delivery *delivery, const struct report *report)
{
	struct deliveries *deliveries = delivery->deliveries;
	int err;

	delivery->phase = DELIVERY_TRIES;
	pthread_mutex_unlock(&deliveries->lock);
	err = delivery->reporter->deliver(delivery->reporter, report);
	pthread_mutex_lock(&deliveries->lock);
	delivery->phase = DELIVERY_SEARCHES;
	delivery_record_result(delivery, err);
	return err;
}

static void delivery_try(struct delivery *delivery, struct stored_report *held)
{
	struct deliveries *deliveries = delivery->deliveries;
	int err;

	if (report_age_ms(held) > STORE_AGE_MAX_MS) {
		delivery_drop(deliveries, held, delivery->bit, &deliveries->losses.dropped_aged);
		return;
	}
	err = delivery_deliver(delivery, &held->report);
	if (err) {
		delivery_fail(delivery, held, err);
	} else {
		delivery->failures = 0;
		delivery->next_ns = 0;
		held->store->settle(held->store, held, delivery->bit);
	}
}

void deliveries_log_aged(struct deliveries *deliveries, bool at_once)
{
	uint64_t now = clock_monotonic_ns(), aged = deliveries->losses.dropped_aged;

	for (size_t i = 0; i < deliveries->store_count; i++)
		aged += deliveries->stores[i]->losses.dropped_aged;
	if (aged == deliveries->logged_aged || (!at_once && now < deliveries->log_aged_ns))
		return;
	log_warn("%llu undelivered reports are dropped: they are older than a day. (A destination "
		 "whose URL or headers have changed does not get its former reports.)",
		 (unsigned long long)(aged - deliveries->logged_aged));
	deliveries->logged_aged = aged;
	deliveries->log_aged_ns = now + LOG_AGED_NS;
}

void deliveries_notify(struct deliveries *deliveries)
{
	size_t waiting = 0;

	for (size_t i = 0; i < deliveries->store_count; i++)
		waiting += deliveries->stores[i]->waiting;
	lost_reports_set_waiting(waiting);
	atomic_fetch_add(&deliveries->changes, 1);
	futex_wake(&deliveries->changes);
}

/* Wait until the counter differs from CHANGES, or until END_NS. True if it differs. A change at
 * the moment of the timeout counts too, because its wake-up is not repeated. */
static bool deliveries_wait_until(struct deliveries *deliveries, uint32_t changes, uint64_t end_ns)
{
	pthread_mutex_unlock(&deliveries->lock);
	futex_wait_until(&deliveries->changes, changes, end_ns);
	pthread_mutex_lock(&deliveries->lock);
	return atomic_load(&deliveries->changes) != changes;
}

void deliveries_wait(struct deliveries *deliveries, uint64_t when_ns)
{
	uint32_t changes = atomic_load(&deliveries->changes);
	uint64_t due_ns;
	bool woken;

	/* A waiting thread drops its credentials with the program's. */
	do {
		due_ns = privileges_due_ns();
		woken = deliveries_wait_until(deliveries, changes,
					      due_ns < when_ns ? due_ns : when_ns);
		privileges_follow(false);
	} while (!woken && due_ns < when_ns);
}

/* Other deliveries skipped the report that this one held. */
static void deliveries_search_again(struct deliveries *deliveries)
{
	for (size_t i = 0; i < deliveries->count; i++)
		delivery_search(&deliveries->each[i]);
	deliveries_notify(deliveries);
}

struct recovery {
	struct deliveries *deliveries;
	uint64_t until_ns;
};

/* False if the process ends or the time limit has passed. */
static bool recovery_may_continue(void *context)
{
	struct recovery *recovery = context;
	struct deliveries *deliveries = recovery->deliveries;
	bool may;

	pthread_mutex_lock(&deliveries->lock);
	may = !deliveries->closing && !deliveries->draining &&
	      clock_monotonic_ns() < recovery->until_ns;
	pthread_mutex_unlock(&deliveries->lock);
	return may;
}

/* Recover when there is nothing else to do. Returns true if it made new reports. */
static bool deliveries_recover(struct deliveries *deliveries)
{
	struct store *store = deliveries->stores[0];
	uint64_t now = clock_monotonic_ns();
	struct recovery recovery = { deliveries, now + RECOVERY_NS };
	int dir, made = 0;

	if (!deliveries->recover || !store->dir || deliveries->recovering || deliveries->draining ||
	    now < deliveries->recover_ns)
		return false;
	dir = store->dir(store);
	if (dir < 0)
		return false;
	deliveries->recovering = true;
	pthread_mutex_unlock(&deliveries->lock);
	made = deliveries->recover(dir, recovery_may_continue, &recovery);
	close(dir);
	pthread_mutex_lock(&deliveries->lock);
	deliveries->recovering = false;
	deliveries->recover_ns = clock_monotonic_ns() + LOOK_NS / 2;
	return made > 0;
}

/* Credentials may have changed while there are no new reports. */
static void deliveries_wake(void *argument)
{
	struct deliveries *deliveries = argument;

	atomic_fetch_add(&deliveries->changes, 1);
	futex_wake(&deliveries->changes);
}

static void *delivery_run(void *argument)
{
	struct delivery *delivery = argument;
	struct deliveries *deliveries = delivery->deliveries;
	struct stored_report *held = malloc(sizeof(*held));

	waiters_add(deliveries_wake, deliveries);
	pthread_mutex_lock(&deliveries->lock);
	while (held && !deliveries->closing) {
		uint64_t now = clock_monotonic_ns();

		if (delivery->phase == DELIVERY_TRIES) {
			deliveries_wait(deliveries, UINT64_MAX);
			continue;
		}
		if (now < delivery->next_ns) {
			deliveries_log_aged(deliveries, false);
			deliveries_wait(deliveries, delivery->next_ns);
			continue;
		}
		if (privileges_follow(true))
			break;
		if (!delivery_take(delivery, held)) {
			delivery_try(delivery, held);
			deliveries_search_again(deliveries);
			continue;
		}
		/* Notify once only: a woken thread searches again and would notify this one. */
		if (delivery->phase != DELIVERY_RESTS) {
			delivery->phase = DELIVERY_RESTS;
			delivery->next_ns = 0; /* the next report begins a new delay */
			deliveries_notify(deliveries);
		}
		if (deliveries_recover(deliveries)) {
			deliveries_search_again(deliveries);
			continue;
		}
		if (deliveries->closing)
			break;
		deliveries_log_aged(deliveries, false);
		/* Random, so that the processes that share a spool do not search at the same
		 * time. */
		deliveries_wait(deliveries, deliveries_are_persistent(deliveries)
						    ? now + LOOK_NS / 2 + random_below(LOOK_NS)
						    : UINT64_MAX);
	}
	waiters_remove();
	delivery->running = false;
	deliveries_notify(deliveries);
	pthread_mutex_unlock(&deliveries->lock);
	free(held);
	return NULL;
}

void delivery_start(struct delivery *delivery)
{
	int err;

	if (delivery->running)
		return;
	delivery->running = true;
	err = own_thread_start("asprof-upload", delivery_run, delivery);
	if (!err)
		return;
	delivery->running = false;
	log_error("cannot start the upload thread for %s: %s", delivery->reporter->name,
		  strerror(-err));
}

/* True if a drain need not wait for DELIVERY: it has no report, or its report cannot arrive in time. */
static bool delivery_is_drained(const struct delivery *delivery, bool is_any_trying)
{
	if (!delivery->running || (delivery->phase == DELIVERY_RESTS && !is_any_trying))
		return true;
	return delivery->result == DELIVERY_REFUSED ||
	       (delivery->result == DELIVERY_FAILED &&
		deliveries_are_persistent(delivery->deliveries));
}

bool deliveries_are_drained(const struct deliveries *deliveries)
{
	bool is_any_trying = false, are = true;

	for (size_t i = 0; i < deliveries->count; i++)
		is_any_trying |= deliveries->each[i].phase == DELIVERY_TRIES;
	for (size_t i = 0; i < deliveries->count; i++)
		are = are && delivery_is_drained(&deliveries->each[i], is_any_trying);
	return are;
}

bool deliveries_have_threads(const struct deliveries *deliveries)
{
	for (size_t i = 0; i < deliveries->count; i++)
		if (deliveries->each[i].running)
			return true;
	return false;
}
