/* Interposes the calls that wait for time to pass, or for a signal: a sample ends neither. */
#include <errno.h>
#include <stdbool.h>

#include "core/clock.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/real.h"
#include "preload/interpose/wait.h"

EXPORT int nanosleep(const struct timespec *time, struct timespec *rest)
{
	uint64_t end = wait_start(time);
	struct timespec left;

	return CALL_AGAIN(REAL(nanosleep)(time, rest), SYS_nanosleep,
			  (long)wait_left_in(end, time, &left), (long)rest);
}

/* As the C library makes them of nanosleep. */
EXPORT int usleep(useconds_t us)
{
	struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };

	return nanosleep(&time, NULL);
}

EXPORT unsigned int sleep(unsigned int seconds)
{
	struct timespec time = { .tv_sec = seconds }, rest;

	return nanosleep(&time, &rest) ? (unsigned int)rest.tv_sec : 0;
}

/* Nanoseconds by CLOCK, or by the one that its relative sleeps are measured with. */
static int64_t clock_of_sleep(clockid_t clock)
{
	struct timespec now = { 0 };

	clock_read(clock == CLOCK_REALTIME ? CLOCK_MONOTONIC : clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* What is left in *LEFT, and never less than nothing, NS later. */
static void sleep_less(struct timespec *left, int64_t ns)
{
	int64_t rest = left->tv_nsec - ns % 1000000000;

	left->tv_sec -= ns / 1000000000;
	left->tv_sec -= rest < 0;
	left->tv_nsec = rest < 0 ? rest + 1000000000 : rest;
	if (left->tv_sec < 0)
		*left = (struct timespec){ 0 };
}

/* Behind a sample: what is left of TIME, which was begun at BEFORE. */
static COLD int sleep_again(unsigned long handled, clockid_t clock, int flags,
			    const struct timespec *time, struct timespec *rest, int64_t before)
{
	struct timespec left = *time;
	int64_t now;
	long result;

	do {
		if (!(flags & TIMER_ABSTIME)) {
			now = clock_of_sleep(clock);
			sleep_less(&left, now - before);
			before = now;
		}
		result = again_call(handled,
				    (const long[TRANSFER_LONGS]){ SYS_clock_nanosleep, clock, flags,
								  (long)&left, (long)rest },
				    true);
	} while (result == AGAIN_SAMPLED);
	return (int)-result;
}

/* Reports its error as its value, and leaves errno alone. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *rest)
{
	unsigned long handled = sample_begin();
	int64_t before = flags & TIMER_ABSTIME ? 0 : clock_of_sleep(clock);
	struct timespec given = time ? *time : (struct timespec){ 0 }; /* REST may be TIME */
	int err = REAL(clock_nanosleep)(clock, flags, time, rest);

	if (__builtin_expect(err != EINTR, 1) || !sample_ended_it(SAMPLE_FRAME))
		return err;
	return sleep_again(handled, clock, flags, &given, rest, before);
}

/* As the C library makes it. */
EXPORT int thrd_sleep(const struct timespec *time, struct timespec *rest)
{
	int err = clock_nanosleep(CLOCK_REALTIME, 0, time, rest);

	if (!err)
		return 0;
	return err == EINTR ? -1 : -2;
}

/* The waits that follow are more than one system call: where that is made, the C library knows alone.
 * So the whole function is called again for a step of the time that is left, and a handler of the
 * program that began before it was waiting is seen at the end of that. */
#define STEP_NS 50000000

/* A call has failed, SAMPLED or not, that was begun with HANDLED; EXPIRED is what it says at the end
 * of a step, which is the LAST. True when there is to be another one, errno being ERROR again. */
static COLD bool another_step(bool sampled, int expired, bool last, unsigned long handled,
			      int error)
{
	if (!sampled && (errno != expired || last))
		return false;
	if (handled != program_handled) {
		errno = EINTR;
		return false;
	}
	sample_interrupted = 0;
	errno = error;
	return true;
}

#define ANOTHER_STEP(result, expired, last, handled, error) \
	(__builtin_expect((result) == -1, 0) &&             \
	 another_step(sample_interrupted_alone(SAMPLE_FRAME), expired, last, handled, error))

EXPORT int aio_suspend(const struct aiocb *const list[], int count, const struct timespec *timeout)
{
	unsigned long handled = sample_begin();
	uint64_t end = wait_start(timeout);
	struct timespec step;
	int result = REAL(aio_suspend)(list, count, timeout), error = sample_errno;
	uint64_t ns;
	bool last = true;

	while (ANOTHER_STEP(result, EAGAIN, last, handled, error)) {
		ns = end ? wait_left_ns(end) : UINT64_MAX;
		last = ns <= STEP_NS;
		step = (struct timespec){ .tv_nsec = last ? (long)ns : STEP_NS };
		result = REAL(aio_suspend)(list, count, &step);
	}
	return result;
}

EXPORT int aio_suspend64(const struct aiocb64 *const list[], int count,
			 const struct timespec *timeout)
{
	return aio_suspend((const struct aiocb *const *)list, count, timeout);
}

EXPORT int pause(void)
{
	return CALL_AGAIN(REAL(pause)(), SYS_ppoll, (long)NULL, 0, (long)NULL, (long)NULL);
}

/* One step by CLOCK from now on, in STEP. True when it goes on to END. */
static bool step_until(clockid_t clock, const struct timespec *end, struct timespec *step)
{
	clock_read(clock, step);
	step->tv_nsec += STEP_NS;
	if (step->tv_nsec >= 1000000000) {
		step->tv_nsec -= 1000000000;
		step->tv_sec++;
	}
	if (step->tv_sec < end->tv_sec ||
	    (step->tv_sec == end->tv_sec && step->tv_nsec < end->tv_nsec))
		return false;
	*step = *end;
	return true;
}

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *end)
{
	unsigned long handled = sample_begin();
	int result = REAL(sem_timedwait)(sem, end), error = sample_errno;
	struct timespec step;
	bool last = true;

	while (ANOTHER_STEP(result, ETIMEDOUT, last, handled, error)) {
		last = step_until(CLOCK_REALTIME, end, &step);
		result = REAL(sem_timedwait)(sem, &step);
	}
	return result;
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *end)
{
	unsigned long handled = sample_begin();
	int result = REAL(sem_clockwait)(sem, clock, end), error = sample_errno;
	struct timespec step;
	bool last = true;

	while (ANOTHER_STEP(result, ETIMEDOUT, last, handled, error)) {
		last = step_until(clock, end, &step);
		result = REAL(sem_clockwait)(sem, clock, &step);
	}
	return result;
}
