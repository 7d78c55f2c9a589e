/* Queue between session and reporters: one delivery for each reporter. */
#include "upload/queue/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent/live.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/agent/lost_reports.h"
#include "core/random.h"
#include "upload/files/name.h"
#include "upload/files/place.h"
#include "upload/queue/delivery.h"

#define CLOSE_WAIT_NS 200000000ull

/* Time reserved to log losses before a drain's deadline; the process does not wait longer. */
#define SAY_NS 50000000ull

/* With shorter intervals, reports are sent without delay. */
#define PHASE_LEAST_MS 10000

/* Longest delay: a machine that dies loses delayed reports. */
#define PHASE_MOST_MS 60000

struct queue {
	struct reporter reporter;
	const struct config *config;
	struct deliveries deliveries;
	const char *names[REPORTERS_MAX];
	uint64_t
		phase; /* delay of an upload, in 2^-32 of the reporting interval, which may change */
	uint64_t last_second; /* in which a report ended */
	uint32_t last_unique;
	int logged_spool_error; /* the last logged error; 0 after a success */
	int logged_drop_error;  /* the last logged error of a report without room */
	bool logged_full; /* logged that the oldest reports are dropped; reset when none wait */
};

static void queue_count_losses(const struct queue *queue, struct report_losses *out)
{
	*out = queue->deliveries.losses;
	for (size_t i = 0; i < queue->deliveries.store_count; i++) {
		const struct report_losses *losses = &queue->deliveries.stores[i]->losses;

		out->dropped_full += losses->dropped_full;
		out->dropped_aged += losses->dropped_aged;
		out->dropped_bytes += losses->dropped_bytes;
		out->spooled_bytes += losses->spooled_bytes;
	}
}

/* Two reports that end in one second, after a flush, need different object names; so do reports
 * of two processes. */
static uint32_t queue_unique(struct queue *queue, uint64_t end_ms)
{
	if (end_ms / 1000 == queue->last_second)
		return ++queue->last_unique;
	queue->last_second = end_ms / 1000;
	queue->last_unique = name_unique();
	return queue->last_unique;
}

/* Deliver directly to fast reporters, those without cancel(). Returns the bits of the others and
 * of failures. */
static unsigned int queue_deliver_now(struct queue *queue, const struct report *report)
{
	struct deliveries *deliveries = &queue->deliveries;
	unsigned int pending = 0;

	for (size_t i = 0; i < deliveries->count; i++) {
		struct delivery *delivery = &deliveries->each[i];
		int err = -EAGAIN;

		if (!delivery->reporter->cancel && delivery->phase != DELIVERY_TRIES)
			err = delivery_deliver(delivery, report);
		if (err)
			pending |= delivery->bit;
	}
	return pending;
}

static void queue_log_losses(struct queue *queue)
{
	deliveries_log_aged(&queue->deliveries, true);
	lost_reports_log(queue->config->spool_dir != NULL, false);
}

/* Once for each time that the store is full. */
static void queue_log_full(struct queue *queue, uint64_t full_before)
{
	struct report_losses losses;

	queue_count_losses(queue, &losses);
	if (losses.dropped_full == full_before) {
		queue->logged_full = queue->logged_full && losses.spooled_bytes;
		return;
	}
	if (!queue->logged_full)
		log_warn("%llu bytes of reports wait for delivery, the limit " OPTION_PREFIX
			 "SPOOL_MAX_BYTES is reached: the oldest are dropped",
			 (unsigned long long)losses.spooled_bytes);
	queue->logged_full = true;
}

static int queue_store(struct queue *queue, const struct report *report, unsigned int pending)
{
	int err = -ENOENT;

	for (size_t i = 0; err && i < queue->deliveries.store_count; i++) {
		struct store *store = queue->deliveries.stores[i];

		err = store->put(store, report, pending);
		if (!store->is_persistent)
			continue;
		if (err && err != queue->logged_spool_error)
			log_error("the spool cannot store a report: %s; it waits in memory",
				  strerror(-err));
		queue->logged_spool_error = err;
	}
	/* losses counts each dropped report. */
	if (err && err != queue->logged_drop_error)
		log_error("a report of %llu bytes is dropped: %s%s",
			  (unsigned long long)report_length(report), strerror(-err),
			  err == -EFBIG ? " (RLIMIT_FSIZE, " OPTION_PREFIX "SPOOL_MAX_BYTES)" : "");
	queue->logged_drop_error = err;
	return err;
}

/* A fleet that was started at once would upload at once. So each process delays its reports by
 * its own random time. Reports that were requested before the interval's end, and the last one,
 * are not delayed. */
static uint64_t queue_phase_ns(const struct queue *queue, uint64_t interval_ms)
{
	if (interval_ms < PHASE_LEAST_MS)
		return 0;
	if (interval_ms > PHASE_MOST_MS)
		interval_ms = PHASE_MOST_MS;
	return interval_ms * 1000000 * queue->phase >> 32;
}

/* A delay that has begun is not prolonged: reports may follow each other faster. */
static void queue_delay(const struct queue *queue, struct delivery *delivery,
			const struct report *report)
{
	uint64_t phase_ns = queue_phase_ns(queue, report->interval_ms);
	uint64_t when_ns = clock_monotonic_ns() + phase_ns;
	bool whole = report->end_ms - report->start_ms >= report->interval_ms / 10 * 9;

	if (delivery->failures || delivery->phase == DELIVERY_TRIES || queue->deliveries.draining)
		return;
	if (!whole || report->final || !phase_ns)
		delivery->next_ns = 0;
	else if (delivery->reporter->cancel && (!delivery->next_ns || when_ns < delivery->next_ns))
		delivery->next_ns = when_ns;
}

static int queue_deliver(struct reporter *reporter, const struct report *report)
{
	struct queue *queue = (struct queue *)reporter;
	struct deliveries *deliveries = &queue->deliveries;
	struct report copy = *report;
	unsigned int pending;
	int err = 0;

	pthread_mutex_lock(&deliveries->lock);
	copy.unique = queue_unique(queue, report->end_ms);
	queue_count_losses(queue, &copy.losses);
	copy.losses.dropped_refused += report->losses.dropped_refused;
	pending = queue_deliver_now(queue, &copy);
	if (pending)
		err = queue_store(queue, &copy, pending);
	if (err != -EFBIG)
		queue_log_full(queue, copy.losses.dropped_full);
	for (size_t i = 0; !err && i < deliveries->count; i++) {
		if (!(pending & deliveries->each[i].bit))
			continue;
		delivery_search(&deliveries->each[i]);
		queue_delay(queue, &deliveries->each[i], report);
		delivery_start(&deliveries->each[i]);
	}
	deliveries_notify(deliveries);
	pthread_mutex_unlock(&deliveries->lock);
	return err;
}

static void queue_drain(struct reporter *reporter, uint64_t deadline_ns)
{
	struct queue *queue = (struct queue *)reporter;
	struct deliveries *deliveries = &queue->deliveries;
	uint64_t now = clock_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;

	deadline_ns -= left / 4 < SAY_NS ? left / 4 : SAY_NS;
	pthread_mutex_lock(&deliveries->lock);
	deliveries->draining = true;
	for (size_t i = 0; i < deliveries->count; i++) {
		deliveries->each[i].next_ns = 0;
		deliveries->each[i].result = DELIVERY_NOT_FAILED;
	}
	deliveries_notify(deliveries);
	while (!deliveries_are_drained(deliveries) && clock_monotonic_ns() < deadline_ns)
		deliveries_wait(deliveries, deadline_ns);
	deliveries->draining = false;
	queue_log_losses(queue);
	pthread_mutex_unlock(&deliveries->lock);
}

/* Only a persistent store is useful. */
static int queue_keep(struct reporter *reporter, const struct report *report,
		      struct running_files *files, struct buf *note)
{
	struct deliveries *deliveries = &((struct queue *)reporter)->deliveries;
	struct store *store = deliveries->stores[0];
	int err = -ENOENT;

	pthread_mutex_lock(&deliveries->lock);
	if (store->keep)
		err = store->keep(store, report, (1u << deliveries->count) - 1, files, note);
	pthread_mutex_unlock(&deliveries->lock);
	return err;
}

static void queue_free(struct queue *queue)
{
	deliveries_free(&queue->deliveries);
	free(queue);
}

static void queue_close(struct reporter *reporter)
{
	struct queue *queue = (struct queue *)reporter;
	struct deliveries *deliveries = &queue->deliveries;
	uint64_t deadline_ns = clock_monotonic_ns() + CLOSE_WAIT_NS;
	bool running;

	pthread_mutex_lock(&deliveries->lock);
	queue_log_losses(queue);
	deliveries->closing = true;
	for (size_t i = 0; i < deliveries->count; i++) {
		struct reporter *to = deliveries->each[i].reporter;

		if (to->cancel)
			to->cancel(to);
	}
	deliveries_notify(deliveries);
	while (deliveries_have_threads(deliveries) && clock_monotonic_ns() < deadline_ns)
		deliveries_wait(deliveries, deadline_ns);
	running = deliveries_have_threads(deliveries);
	pthread_mutex_unlock(&deliveries->lock);
	if (running)
		return; /* the thread still uses this memory */
	for (size_t i = 0; i < deliveries->count; i++)
		deliveries->each[i].reporter->close(deliveries->each[i].reporter);
	queue_free(queue);
}

static void queue_status(struct reporter *reporter, struct live_status *status)
{
	struct queue *queue = (struct queue *)reporter;
	struct deliveries *deliveries = &queue->deliveries;

	pthread_mutex_lock(&deliveries->lock);
	queue_count_losses(queue, &status->losses);
	for (size_t i = 0; i < deliveries->count; i++) {
		const struct delivery *delivery = &deliveries->each[i];
		struct live_destination *to;

		to = &status->destinations[status->destination_count++];
		*to = (struct live_destination){ .delivered = delivery->delivered,
						 .failed = delivery->failed,
						 .maybe_twice = delivery->maybe_twice,
						 .delivered_ms = delivery->delivered_ms,
						 .error = delivery->error,
						 .waiting = delivery->running &&
							    delivery->phase != DELIVERY_RESTS };
		snprintf(to->name, sizeof(to->name), "%s", delivery->reporter->name);
	}
	pthread_mutex_unlock(&deliveries->lock);
}

static int queue_open_stores(struct queue *queue)
{
	const struct config *config = queue->config;
	struct deliveries *deliveries = &queue->deliveries;
	int err;

	if (config->spool_dir) {
		err = store_spool_open(&deliveries->stores[0], config->spool_dir,
				       config->spool_max_bytes, queue->names,
				       (unsigned int)deliveries->count);
		if (!err)
			deliveries->store_count = 1;
		else if (place_is_of_run(config->spool_dir))
			log_info("cannot use the spool of `asprof-agent run`: %s", strerror(-err));
		else
			log_error("cannot use " OPTION_PREFIX "SPOOL_DIR %s: %s; reports wait "
				  "in memory",
				  config->spool_dir,
				  err == -EPERM    ? "it belongs to another user"
				  : err == -ENOLCK ? STORE_SPOOL_NO_LOCKS
						   : strerror(-err));
	}
	err = store_memory_open(&deliveries->stores[deliveries->store_count],
				config_memory_max_bytes(config));
	if (!err)
		deliveries->store_count++;
	return err;
}

int queue_open(struct reporter **out, struct reporter *const *reporters, size_t count,
	       const struct config *config)
{
	struct queue *queue;
	int err;

	if (!count || count > REPORTERS_MAX)
		return -EINVAL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->reporter = (struct reporter){
		.name = "queue",
		.deliver = queue_deliver,
		.drain = queue_drain,
		.create_running_files = queue_keep,
		.close = queue_close,
		.add_status = queue_status,
	};
	queue->config = config;
	queue->phase = random_below(1ull << 32);
	lost_reports_reset();
	deliveries_init(&queue->deliveries);
	for (size_t i = 0; i < count; i++) {
		deliveries_add(&queue->deliveries, reporters[i]);
		queue->names[i] =
			reporters[i]->destination ? reporters[i]->destination : reporters[i]->name;
	}
	err = queue_open_stores(queue);
	if (err) {
		queue_free(queue);
		return err;
	}
	/* Deliver the reports that earlier processes left in the spool. */
	for (size_t i = 0; i < count && deliveries_are_persistent(&queue->deliveries); i++)
		delivery_start(&queue->deliveries.each[i]);
	*out = &queue->reporter;
	return 0;
}

void queue_recover_by(struct reporter *reporter,
		      int (*recover)(int dir, bool (*go_on)(void *context), void *context))
{
	struct deliveries *deliveries = &((struct queue *)reporter)->deliveries;

	pthread_mutex_lock(&deliveries->lock);
	deliveries->recover = recover;
	for (size_t i = 0; i < deliveries->count; i++)
		delivery_search(&deliveries->each[i]);
	deliveries_notify(deliveries);
	pthread_mutex_unlock(&deliveries->lock);
}
