/* Worker threads that take chunks from a feed. */
#include "profile/aggregate/feed.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

unsigned feed_jobs(struct feed *feed, unsigned jobs)
{
	long processors;

	if (feed->calls->is_small(feed))
		return 1;
	processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (!jobs)
		jobs = processors > 0 ? (unsigned)processors : 1;
	return jobs < FEED_JOBS_MAX ? jobs : FEED_JOBS_MAX;
}

struct job {
	pthread_t thread;
	bool started;
	struct feed *feed;
	void (*work)(struct feed *feed, void *state);
	void *state;
};

static void *feed_job_main(void *arg)
{
	struct job *job = arg;

	job->work(job->feed, job->state);
	return NULL;
}

void feed_run(struct feed *feed, unsigned jobs, void (*work)(struct feed *feed, void *state),
	      void *states, size_t state_size)
{
	struct job threads[FEED_JOBS_MAX] = { 0 };

	for (unsigned i = 1; i < jobs; i++) {
		threads[i].feed = feed;
		threads[i].work = work;
		threads[i].state = (char *)states + i * state_size;
		threads[i].started =
			!pthread_create(&threads[i].thread, NULL, feed_job_main, &threads[i]);
	}
	work(feed, states);
	for (unsigned i = 1; i < jobs; i++)
		if (threads[i].started)
			pthread_join(threads[i].thread, NULL);
}

int feed_result(const struct feed *feed, bool out_of_memory)
{
	if (out_of_memory)
		return -ENOMEM;
	return feed->failed ? -EIO : 0;
}
