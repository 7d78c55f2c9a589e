/* Another preload: a clock that is ten days ahead and four times slower, with the waits that use
 * it. Each wait keeps a large buffer on the stack, and writes to a file before it returns, like a
 * wrapper that logs. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLOWER  4
#define AHEAD_S (10 * 86400)

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static struct timespec spec_of(long long ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

static long long ns_of(const struct timespec *time)
{
	return time->tv_sec * 1000000000LL + time->tv_nsec;
}

static long long begin_ns[2];

static long long kernel_ns(clockid_t clock)
{
	struct timespec now;

	syscall(SYS_clock_gettime, clock, &now);
	return ns_of(&now);
}

__attribute__((constructor)) static void begin(void)
{
	begin_ns[CLOCK_REALTIME] = kernel_ns(CLOCK_REALTIME);
	begin_ns[CLOCK_MONOTONIC] = kernel_ns(CLOCK_MONOTONIC);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	long long ns = kernel_ns(clock);

	if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) {
		ns = begin_ns[clock] + (ns - begin_ns[clock]) / SLOWER;
		ns += AHEAD_S * 1000000000LL;
	}
	*now = spec_of(ns);
	return 0;
}

static struct timespec absolute(clockid_t clock, const struct timespec *end)
{
	return spec_of(begin_ns[clock] +
		       (ns_of(end) - AHEAD_S * 1000000000LL - begin_ns[clock]) * SLOWER);
}

static struct timespec relative(const struct timespec *time)
{
	return spec_of(ns_of(time) * SLOWER);
}

static void rest(struct timespec *left)
{
	if (left)
		*left = spec_of(ns_of(left) / SLOWER);
}

static void use_stack(char *line, size_t size)
{
	static int null = -1;
	int saved = errno;

	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	memset(line, '.', size);
	if (write(null, line, size) < 0)
		null = -1;
	errno = saved;
}

#define WRAPPED(call)                            \
	({                                       \
		char line_[16384];               \
		__typeof__(call) result_;        \
                                                 \
		use_stack(line_, sizeof(line_)); \
		result_ = (call);                \
		use_stack(line_, sizeof(line_)); \
		result_;                         \
	})

int nanosleep(const struct timespec *time, struct timespec *left)
{
	struct timespec own = relative(time);
	int result = WRAPPED(NEXT(nanosleep)(&own, left));

	if (result)
		rest(left);
	return result;
}

int usleep(useconds_t us)
{
	return WRAPPED(NEXT(usleep)(us * SLOWER));
}

unsigned int sleep(unsigned int seconds)
{
	return WRAPPED(NEXT(sleep)(seconds * SLOWER)) / SLOWER;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct timespec own = flags & TIMER_ABSTIME ? absolute(clock, time) : relative(time);
	int result = WRAPPED(NEXT(clock_nanosleep)(clock, flags, &own, left));

	if (result)
		rest(left);
	return result;
}

int poll(struct pollfd *fds, nfds_t count, int ms)
{
	return WRAPPED(NEXT(poll)(fds, count, ms * SLOWER));
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
	struct timespec own = relative(time);

	return WRAPPED(NEXT(ppoll)(fds, count, &own, mask));
}

int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *time)
{
	struct timespec own = { time->tv_sec, time->tv_usec * 1000 };

	own = relative(&own);
	*time = (struct timeval){ own.tv_sec, own.tv_nsec / 1000 };
	return WRAPPED(NEXT(select)(count, in, out, other, time));
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *other, const struct timespec *time,
	    const sigset_t *mask)
{
	struct timespec own = relative(time);

	return WRAPPED(NEXT(pselect)(count, in, out, other, &own, mask));
}

int epoll_wait(int epfd, struct epoll_event *events, int max, int ms)
{
	return WRAPPED(NEXT(epoll_wait)(epfd, events, max, ms * SLOWER));
}

int epoll_pwait(int epfd, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	return WRAPPED(NEXT(epoll_pwait)(epfd, events, max, ms * SLOWER, mask));
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *time)
{
	struct timespec own = relative(time);

	return WRAPPED(NEXT(sigtimedwait)(set, info, &own));
}

int sem_timedwait(sem_t *sem, const struct timespec *end)
{
	struct timespec own = absolute(CLOCK_REALTIME, end);

	return WRAPPED(NEXT(sem_timedwait)(sem, &own));
}

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *end)
{
	struct timespec own = absolute(clock, end);

	return WRAPPED(NEXT(sem_clockwait)(sem, clock, &own));
}
