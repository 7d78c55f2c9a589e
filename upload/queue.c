/* Between the rotation and the reporters: one lane for each reporter. */
#include "upload/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/random.h"
#include "upload/store.h"

#define SECOND_NS 1000000000ull

#define BACKOFF_FIRST_NS SECOND_NS
#define BACKOFF_MAX_NS   (300 * SECOND_NS)
#define DRAIN_PAUSE_NS   (SECOND_NS / 10)

/* What other processes leave in the spool is looked for this often. */
#define LOOK_NS (30 * SECOND_NS)

#define REFUSED_MAX_MS (3600ull * 1000)

/* What waits in memory is the program's memory: a limit that was set for a disk is too much. */
#define MEMORY_MAX_BYTES (64ull << 20)

#define CLOSE_WAIT_NS (SECOND_NS / 5)

struct lane {
	struct queue *queue;
	struct reporter *reporter;
	unsigned int bit;
	unsigned int failures; /* in a row */
	uint64_t next_ns;      /* no try before */
	bool running;          /* has a thread */
	bool busy;             /* in the reporter */
	bool empty;            /* found nothing for it since the last put or try of any lane */
	bool tried;            /* failed since drain() began */
};

struct queue {
	struct reporter reporter;
	const struct config *config;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct store *stores[2]; /* the spool, where there is one, and memory */
	size_t store_count;
	struct lane lanes[STORE_REPORTERS_MAX];
	size_t lane_count;
	const char *names[STORE_REPORTERS_MAX];
	struct report_losses losses; /* aged, refused and their bytes */
	uint64_t last_second;
	unsigned int same_second;
	int spool_said;
	bool draining, closing;
};

uint64_t queue_backoff_ns(unsigned int failures, uint32_t random)
{
	uint64_t most = BACKOFF_MAX_NS;

	if (failures < 16 && BACKOFF_FIRST_NS << failures < most)
		most = BACKOFF_FIRST_NS << failures;
	/* Full jitter: anywhere in the span, so that a fleet does not come back as one. */
	return (uint64_t)((__uint128_t)most * random >> 32);
}

/* --- a lane; all of this under the lock --- */

static bool lasts(const struct queue *queue)
{
	return queue->stores[0]->lasts;
}

static int take(struct queue *queue, unsigned int bit, struct held *held)
{
	int err = -ENOENT;

	for (size_t i = 0; err && i < queue->store_count; i++)
		err = queue->stores[i]->take(queue->stores[i], bit, held);
	return err;
}

static void drop(struct queue *queue, struct held *held, unsigned int bits, uint64_t *count)
{
	++*count;
	queue->losses.dropped_bytes += report_length(&held->report);
	held->store->settle(held->store, held, bits);
}

static uint64_t age_ms(const struct held *held)
{
	uint64_t now = clock_realtime_ns() / 1000000;

	return now > held->report.end_ms ? now - held->report.end_ms : 0;
}

/* What a failed try means for the report and for the next try. */
static void after_failure(struct lane *lane, struct held *held, int err)
{
	struct queue *queue = lane->queue;
	uint64_t now = clock_monotonic_ns();
	bool refused = err == -EACCES;

	lane->failures++;
	lane->tried = true;
	lane->next_ns = now + queue_backoff_ns(refused ? 32 : lane->failures - 1,
					       (uint32_t)random_below(UINT32_MAX));
	if (queue->draining)
		lane->next_ns = now + DRAIN_PAUSE_NS;
	if (err == -EBADMSG || (refused && !held->store->lasts) ||
	    (refused && age_ms(held) > REFUSED_MAX_MS)) {
		drop(queue, held, lane->bit, &queue->losses.refused);
		/* The next report is another case. */
		if (!held->store->lasts || err == -EBADMSG)
			lane->next_ns = 0;
	} else {
		held->store->settle(held->store, held, 0);
	}
}

static void deliver_held(struct lane *lane, struct held *held)
{
	struct queue *queue = lane->queue;
	int err;

	if (age_ms(held) > STORE_AGE_MAX_MS) {
		drop(queue, held, lane->bit, &queue->losses.aged);
		return;
	}
	lane->busy = true;
	pthread_mutex_unlock(&queue->lock);
	err = lane->reporter->deliver(lane->reporter, &held->report);
	pthread_mutex_lock(&queue->lock);
	lane->busy = false;
	if (err) {
		after_failure(lane, held, err);
	} else {
		lane->failures = 0;
		lane->next_ns = 0;
		held->store->settle(held->store, held, lane->bit);
	}
}

static void wait_until(struct queue *queue, uint64_t when_ns)
{
	struct timespec when = { .tv_sec = (time_t)(when_ns / SECOND_NS),
				 .tv_nsec = (long)(when_ns % SECOND_NS) };

	if (when_ns == UINT64_MAX)
		pthread_cond_wait(&queue->changed, &queue->lock);
	else
		pthread_cond_timedwait(&queue->changed, &queue->lock, &when);
}

/* The other lanes pass over what one holds. */
static void look_again(struct queue *queue)
{
	for (size_t i = 0; i < queue->lane_count; i++)
		queue->lanes[i].empty = false;
	pthread_cond_broadcast(&queue->changed);
}

static void *run_lane(void *argument)
{
	struct lane *lane = argument;
	struct queue *queue = lane->queue;
	struct held *held = malloc(sizeof(*held));

	pthread_mutex_lock(&queue->lock);
	while (held && !queue->closing) {
		uint64_t now = clock_monotonic_ns();

		if (lane->busy || now < lane->next_ns) {
			wait_until(queue, lane->busy ? UINT64_MAX : lane->next_ns);
			continue;
		}
		if (!take(queue, lane->bit, held)) {
			deliver_held(lane, held);
			look_again(queue);
			continue;
		}
		lane->empty = true;
		pthread_cond_broadcast(&queue->changed);
		/* Spread, so that the processes of one spool do not look all at once. */
		wait_until(queue,
			   lasts(queue) ? now + LOOK_NS / 2 + random_below(LOOK_NS) : UINT64_MAX);
	}
	lane->running = false;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	free(held);
	return NULL;
}

static void start_lane(struct lane *lane)
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

/* --- the reporter --- */

static void count_losses(const struct queue *queue, struct report_losses *out)
{
	*out = queue->losses;
	for (size_t i = 0; i < queue->store_count; i++) {
		const struct report_losses *losses = &queue->stores[i]->losses;

		out->full += losses->full;
		out->aged += losses->aged;
		out->dropped_bytes += losses->dropped_bytes;
		out->spooled_bytes += losses->spooled_bytes;
	}
}

/* Two reports of one second, after a flush, must not be one object. */
static unsigned int number_in_second(struct queue *queue, uint64_t end_ms)
{
	if (end_ms / 1000 != queue->last_second) {
		queue->last_second = end_ms / 1000;
		queue->same_second = 0;
		return 0;
	}
	return ++queue->same_second;
}

/* Those that take none long get it here and now. Returns the bits of the others. */
static unsigned int deliver_now(struct queue *queue, const struct report *report)
{
	unsigned int pending = 0;

	for (size_t i = 0; i < queue->lane_count; i++) {
		struct lane *lane = &queue->lanes[i];
		int err = -EAGAIN;

		if (!lane->reporter->cancel && !lane->busy) {
			lane->busy = true;
			pthread_mutex_unlock(&queue->lock);
			err = lane->reporter->deliver(lane->reporter, report);
			pthread_mutex_lock(&queue->lock);
			lane->busy = false;
		}
		if (err)
			pending |= lane->bit;
	}
	return pending;
}

static int put(struct queue *queue, const struct report *report, unsigned int pending)
{
	int err = -ENOENT;

	for (size_t i = 0; err && i < queue->store_count; i++) {
		err = queue->stores[i]->put(queue->stores[i], report, pending);
		if (!queue->stores[i]->lasts)
			continue;
		if (err && err != queue->spool_said)
			log_error("the spool takes no report: %s; it is kept in memory",
				  strerror(-err));
		queue->spool_said = err;
	}
	if (err)
		log_error("a report of %llu bytes is dropped: %s",
			  (unsigned long long)report_length(report), strerror(-err));
	return err;
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	struct queue *queue = (struct queue *)reporter;
	struct report copy = *report;
	unsigned int pending;
	int err = 0;

	pthread_mutex_lock(&queue->lock);
	copy.same_second = number_in_second(queue, report->end_ms);
	count_losses(queue, &copy.losses);
	copy.group = queue->config->profiling_group;
	copy.tags = queue->config->tags ? queue->config->tags : "";
	pending = deliver_now(queue, &copy);
	if (pending)
		err = put(queue, &copy, pending);
	for (size_t i = 0; !err && i < queue->lane_count; i++) {
		if (!(pending & queue->lanes[i].bit))
			continue;
		queue->lanes[i].empty = false;
		start_lane(&queue->lanes[i]);
	}
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return err;
}

/* Nothing more to wait for: all is delivered, or what is left outlives the process. */
static bool drained(const struct queue *queue)
{
	bool busy = false;

	for (size_t i = 0; i < queue->lane_count; i++)
		busy = busy || queue->lanes[i].busy;
	for (size_t i = 0; i < queue->lane_count; i++) {
		const struct lane *lane = &queue->lanes[i];

		if (lane->running && (busy || !lane->empty) && !(lasts(queue) && lane->tried))
			return false;
	}
	return true;
}

static void drain(struct reporter *reporter, uint64_t deadline_ns)
{
	struct queue *queue = (struct queue *)reporter;

	pthread_mutex_lock(&queue->lock);
	queue->draining = true;
	for (size_t i = 0; i < queue->lane_count; i++) {
		queue->lanes[i].next_ns = 0;
		queue->lanes[i].tried = false;
	}
	pthread_cond_broadcast(&queue->changed);
	while (!drained(queue) && clock_monotonic_ns() < deadline_ns)
		wait_until(queue, deadline_ns);
	queue->draining = false;
	pthread_mutex_unlock(&queue->lock);
}

static bool any_running(const struct queue *queue)
{
	for (size_t i = 0; i < queue->lane_count; i++)
		if (queue->lanes[i].running)
			return true;
	return false;
}

static void free_queue(struct queue *queue)
{
	for (size_t i = 0; i < queue->store_count; i++)
		queue->stores[i]->close(queue->stores[i]);
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

static void close_queue(struct reporter *reporter)
{
	struct queue *queue = (struct queue *)reporter;
	uint64_t deadline_ns = clock_monotonic_ns() + CLOSE_WAIT_NS;
	bool running;

	pthread_mutex_lock(&queue->lock);
	queue->closing = true;
	for (size_t i = 0; i < queue->lane_count; i++)
		if (queue->lanes[i].reporter->cancel)
			queue->lanes[i].reporter->cancel(queue->lanes[i].reporter);
	pthread_cond_broadcast(&queue->changed);
	while (any_running(queue) && clock_monotonic_ns() < deadline_ns)
		wait_until(queue, deadline_ns);
	running = any_running(queue);
	pthread_mutex_unlock(&queue->lock);
	if (running)
		return; /* it still uses all of this */
	for (size_t i = 0; i < queue->lane_count; i++)
		queue->lanes[i].reporter->close(queue->lanes[i].reporter);
	free_queue(queue);
}

static int open_stores(struct queue *queue)
{
	const struct config *config = queue->config;
	uint64_t max = config->spool_max_bytes;
	int err;

	if (config->spool_dir) {
		err = store_spool_open(&queue->stores[0], config->spool_dir, max, queue->names,
				       (unsigned int)queue->lane_count);
		if (!err)
			queue->store_count = 1;
		else
			log_error("no use of " OPTION_PREFIX "SPOOL_DIR %s: %s; reports are kept "
				  "in memory",
				  config->spool_dir,
				  err == -EPERM ? "it belongs to another user" : strerror(-err));
	}
	err = store_memory_open(&queue->stores[queue->store_count],
				max < MEMORY_MAX_BYTES ? max : MEMORY_MAX_BYTES);
	if (!err)
		queue->store_count++;
	return err;
}

static void init_sync(struct queue *queue)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&queue->lock, NULL);
}

int queue_open(struct reporter **out, struct reporter *const *reporters, size_t count,
	       const struct config *config)
{
	struct queue *queue;
	int err;

	if (!count || count > STORE_REPORTERS_MAX)
		return -EINVAL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->reporter = (struct reporter){
		.name = "queue", .deliver = deliver, .drain = drain, .close = close_queue
	};
	queue->config = config;
	init_sync(queue);
	for (size_t i = 0; i < count; i++) {
		queue->lanes[i] =
			(struct lane){ .queue = queue, .reporter = reporters[i], .bit = 1u << i };
		queue->names[i] = reporters[i]->name;
	}
	queue->lane_count = count;
	err = open_stores(queue);
	if (err) {
		free_queue(queue);
		return err;
	}
	/* What an earlier process left there is delivered now. */
	for (size_t i = 0; i < count && lasts(queue); i++)
		start_lane(&queue->lanes[i]);
	*out = &queue->reporter;
	return 0;
}
