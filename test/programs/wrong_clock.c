/* Preloaded into a store: the process's date is off by WRONG_CLOCK seconds. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t wrong(void)
{
	const char *seconds = getenv("WRONG_CLOCK");

	return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	long err = syscall(SYS_clock_gettime, clock, out);

	if (!err && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		out->tv_sec += wrong();
	return (int)err;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
