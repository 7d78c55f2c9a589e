/* Between the rotation and the reporters: one delivery for each reporter. */
#include "upload/queue/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agent/live.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/random.h"
#include "upload/files/name.h"
#include "upload/queue/delivery.h"

#define CLOSE_WAIT_NS 200000000ull

/* The process is not waited for any longer than a drain takes: what is lost is said before. */
#define SAY_NS 50000000ull

/* Reports of shorter intervals than this are sent as they come. */
#define PHASE_LEAST_NS 10000000000ull

/* And none waits for longer: it would be lost with a machine that dies. */
#define PHASE_MOST_NS (60 * 1000000000ull)

struct queue {
	struct reporter reporter;
	const struct config *config;
	struct deliveries deliveries;
	const char *names[REPORTERS_MAX];
	uint64_t phase_ns;    /* how long after its interval's end a report is sent */
	uint64_t last_second; /* in which a report ended */
	uint32_t last_unique;
	int logged_spool_error; /* the failure that was said last; 0 after a success */
	bool logged_full;       /* that the oldest go for room; false when nothing waits any more */
	bool lost_said;
};

static void queue_count_losses(const struct queue *queue, struct report_losses *out)
{
	*out = queue->deliveries.losses;
	for (size_t i = 0; i < queue->deliveries.store_count; i++) {
		const struct report_losses *losses = &queue->deliveries.stores[i]->losses;

		out->full += losses->full;
		out->aged += losses->aged;
		out->dropped_bytes += losses->dropped_bytes;
		out->spooled_bytes += losses->spooled_bytes;
	}
}

/* Two reports of one second, after a flush, must not be one object; nor those of two processes. */
static uint32_t queue_unique(struct queue *queue, uint64_t end_ms)
{
	if (end_ms / 1000 == queue->last_second)
		return ++queue->last_unique;
	queue->last_second = end_ms / 1000;
	queue->last_unique = name_unique();
	return queue->last_unique;
}

/* Those that take none long get it here and now. Returns the bits of the others. */
static unsigned int queue_deliver_now(struct queue *queue, const struct report *report)
{
	struct deliveries *deliveries = &queue->deliveries;
	unsigned int pending = 0;

	for (size_t i = 0; i < deliveries->count; i++) {
		struct delivery *delivery = &deliveries->each[i];
		int err = -EAGAIN;

		if (!delivery->reporter->cancel && !delivery->busy) {
			delivery->busy = true;
			pthread_mutex_unlock(&deliveries->lock);
			err = delivery->reporter->deliver(delivery->reporter, report);
			pthread_mutex_lock(&deliveries->lock);
			delivery->busy = false;
			delivery_record_result(delivery, err);
		}
		if (err)
			pending |= delivery->bit;
	}
	return pending;
}

/* What nobody will come to deliver. */
static size_t count_forgotten(const struct queue *queue)
{
	size_t count = 0;

	for (size_t i = 0; i < queue->deliveries.store_count; i++)
		count += queue->deliveries.stores[i]->waiting;
	return count;
}

static void queue_log_losses(struct queue *queue)
{
	size_t count = count_forgotten(queue);

	if (!count || queue->lost_said)
		return;
	log_error("%zu report%s %s not delivered and %s lost%s", count, count == 1 ? "" : "s",
		  count == 1 ? "was" : "were", count == 1 ? "is" : "are",
		  queue->config->spool_dir ? "" : "; set " OPTION_PREFIX "SPOOL_DIR to keep them");
	queue->lost_said = true;
}

/* Once for each time that too much waits. */
static void queue_log_full(struct queue *queue, uint64_t full_before)
{
	struct report_losses losses;

	queue_count_losses(queue, &losses);
	if (losses.full == full_before) {
		queue->logged_full = queue->logged_full && losses.spooled_bytes;
		return;
	}
	if (!queue->logged_full)
		log_warn("%llu bytes of reports wait for their delivery, and there is room for no "
			 "more: the oldest are dropped (" OPTION_PREFIX "SPOOL_MAX_BYTES)",
			 (unsigned long long)losses.spooled_bytes);
	queue->logged_full = true;
}

static int put(struct queue *queue, const struct report *report, unsigned int pending)
{
	int err = -ENOENT;

	for (size_t i = 0; err && i < queue->deliveries.store_count; i++) {
		struct store *store = queue->deliveries.stores[i];

		err = store->put(store, report, pending);
		if (!store->lasts)
			continue;
		if (err && err != queue->logged_spool_error)
			log_error("the spool takes no report: %s; it is kept in memory",
				  strerror(-err));
		queue->logged_spool_error = err;
	}
	if (err)
		log_error("a report of %llu bytes is dropped: %s",
			  (unsigned long long)report_length(report), strerror(-err));
	return err;
}

/* Of a fleet that was started at once all intervals end at once, and its servers would be asked by all in one
 * second of thirty. So each process sends its reports a time later that is its own; but not what somebody has
 * asked for before the interval was over, nor the last one. */
static void queue_delay(const struct queue *queue, struct delivery *delivery,
			const struct report *report)
{
	uint64_t when_ns = clock_monotonic_ns() + queue->phase_ns;
	bool whole = report->end_ms - report->start_ms >= report->interval_ms / 10 * 9;

	if (!queue->phase_ns || delivery->failures || delivery->busy || queue->deliveries.draining)
		return;
	if (!whole || report->final)
		delivery->next_ns = 0;
	else if (delivery->reporter->cancel && delivery->next_ns < when_ns)
		delivery->next_ns = when_ns;
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	struct queue *queue = (struct queue *)reporter;
	struct deliveries *deliveries = &queue->deliveries;
	struct report copy = *report;
	unsigned int pending;
	int err = 0;

	pthread_mutex_lock(&deliveries->lock);
	copy.unique = queue_unique(queue, report->end_ms);
	queue_count_losses(queue, &copy.losses);
	pending = queue_deliver_now(queue, &copy);
	if (pending)
		err = put(queue, &copy, pending);
	queue_log_full(queue, copy.losses.full);
	for (size_t i = 0; !err && i < deliveries->count; i++) {
		if (!(pending & deliveries->each[i].bit))
			continue;
		deliveries->each[i].empty = false;
		queue_delay(queue, &deliveries->each[i], report);
		delivery_start(&deliveries->each[i]);
	}
	deliveries_notify(deliveries);
	pthread_mutex_unlock(&deliveries->lock);
	return err;
}

static void drain(struct reporter *reporter, uint64_t deadline_ns)
{
	struct queue *queue = (struct queue *)reporter;
	struct deliveries *deliveries = &queue->deliveries;
	uint64_t now = clock_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;

	deadline_ns -= left / 4 < SAY_NS ? left / 4 : SAY_NS;
	pthread_mutex_lock(&deliveries->lock);
	deliveries->draining = true;
	for (size_t i = 0; i < deliveries->count; i++) {
		deliveries->each[i].next_ns = 0;
		deliveries->each[i].tried = false;
	}
	deliveries_notify(deliveries);
	while (!deliveries_are_drained(deliveries) && clock_monotonic_ns() < deadline_ns)
		deliveries_wait(deliveries, deadline_ns);
	deliveries->draining = false;
	queue_log_losses(queue);
	pthread_mutex_unlock(&deliveries->lock);
}

/* Only what outlives the process is of use. */
static int keep(struct reporter *reporter, const struct report *whom, struct running_files *files,
		struct buf *note)
{
	struct deliveries *deliveries = &((struct queue *)reporter)->deliveries;
	struct store *store = deliveries->stores[0];
	int err = -ENOENT;

	pthread_mutex_lock(&deliveries->lock);
	if (store->keep)
		err = store->keep(store, whom, (1u << deliveries->count) - 1, files, note);
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
		return; /* it still uses all of this */
	for (size_t i = 0; i < deliveries->count; i++)
		deliveries->each[i].reporter->close(deliveries->each[i].reporter);
	queue_free(queue);
}

static void tell(struct reporter *reporter, struct live_status *status)
{
	struct queue *queue = (struct queue *)reporter;
	struct deliveries *deliveries = &queue->deliveries;

	pthread_mutex_lock(&deliveries->lock);
	queue_count_losses(queue, &status->losses);
	for (size_t i = 0; i < deliveries->count; i++) {
		const struct delivery *delivery = &deliveries->each[i];
		struct live_destination *to;

		if (status->destination_count == LIVE_DESTINATIONS_MAX)
			break;
		to = &status->destinations[status->destination_count++];
		*to = (struct live_destination){ .delivered = delivery->delivered,
						 .failed = delivery->failed,
						 .maybe_twice = delivery->maybe_twice,
						 .delivered_ms = delivery->delivered_ms,
						 .error = delivery->error,
						 .waiting = delivery->running && !delivery->empty };
		snprintf(to->name, sizeof(to->name), "%s", delivery->reporter->name);
	}
	pthread_mutex_unlock(&deliveries->lock);
}

static int queue_open_stores(struct queue *queue)
{
	const struct config *config = queue->config;
	struct deliveries *deliveries = &queue->deliveries;
	uint64_t max = config->spool_max_bytes;
	int err;

	if (config->spool_dir) {
		err = store_spool_open(&deliveries->stores[0], config->spool_dir, max, queue->names,
				       (unsigned int)deliveries->count);
		if (!err)
			deliveries->store_count = 1;
		else
			log_error("no use of " OPTION_PREFIX "SPOOL_DIR %s: %s; reports are kept "
				  "in memory",
				  config->spool_dir,
				  err == -EPERM ? "it belongs to another user" : strerror(-err));
	}
	err = store_memory_open(&deliveries->stores[deliveries->store_count], max);
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
		.deliver = deliver,
		.drain = drain,
		.keep = keep,
		.close = queue_close,
		.tell = tell,
	};
	queue->config = config;
	if (config->reporting_interval_ns >= PHASE_LEAST_NS)
		queue->phase_ns = random_below(config->reporting_interval_ns < PHASE_MOST_NS
						       ? config->reporting_interval_ns
						       : PHASE_MOST_NS);
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
	/* What an earlier process left there is delivered now. */
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
		deliveries->each[i].empty = false;
	deliveries_notify(deliveries);
	pthread_mutex_unlock(&deliveries->lock);
}
