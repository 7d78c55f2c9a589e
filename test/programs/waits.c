/* Makes each call that a signal interrupts in spite of SA_RESTART: first to its end, then until a
 * handler of the program interrupts it. Prints "ok", with a profiler's signals as without.
 *
 * With arguments only the second: "followed SIGNAL...": those signals, a profiler's, come as the
 * handler returns; "sent": other code, a profiler's handler, sends the signal that interrupts the
 * calls. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

/* The time of each call; the time after which, and then repeatedly, the program's signal comes; and
 * the time that the call would then wait: on a busy machine it might otherwise be over before the
 * signal is handled. */
#define END_MS    50
#define SIGNAL_MS 15
#define LONG_MS   60000

static int wait_ms;
static struct timespec wait_time, *fixed_time;
static int quiet, epfd, messages, semaphores, listener, receiver, sender;
static int pipe_end;
static unsigned long events;
static sem_t semaphore;
static sigset_t unused;
static volatile int signals;

/* More than these end a call in any case. */
#define MOST_SIGNALS 200

static int followers[8];
static bool sent;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct timespec end_of_wait(clockid_t clock)
{
	uint64_t end = now_ns(clock) + (uint64_t)wait_ms * 1000000;

	return (struct timespec){ (time_t)(end / 1000000000), (long)(end % 1000000000) };
}

/* LEFT is a part of the time. */
static bool is_less(const struct timespec *left)
{
	return (left->tv_sec || left->tv_nsec) &&
	       (left->tv_sec < wait_time.tv_sec ||
		(left->tv_sec == wait_time.tv_sec && left->tv_nsec < wait_time.tv_nsec));
}

/* Each returns the call's result, an error as -1 and errno. */
static int do_poll(void)
{
	struct pollfd fd = { .fd = quiet, .events = POLLIN };

	return poll(&fd, 1, wait_ms);
}

static int do_ppoll(void)
{
	struct pollfd fd = { .fd = quiet, .events = POLLIN };
	sigset_t none;

	sigemptyset(&none);
	return ppoll(&fd, 1, &wait_time, &none);
}

static int do_poll_for_ever(void)
{
	struct pollfd fd = { .fd = quiet, .events = POLLIN };

	return poll(&fd, 1, -1);
}

static int do_select(void)
{
	struct timeval time = { wait_ms / 1000, wait_ms % 1000 * 1000 };
	fd_set fds;
	int result;

	FD_ZERO(&fds);
	FD_SET(quiet, &fds);
	result = select(quiet + 1, &fds, NULL, NULL, &time);
	if (!result)
		CHECK(!time.tv_sec && !time.tv_usec && !FD_ISSET(quiet, &fds));
	return result;
}

static int do_pselect(void)
{
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(quiet, &fds);
	return pselect(quiet + 1, &fds, NULL, NULL, &wait_time, NULL);
}

static int do_epoll_wait(void)
{
	struct epoll_event event;

	return epoll_wait(epfd, &event, 1, wait_ms);
}

static int do_epoll_pwait(void)
{
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	return epoll_pwait(epfd, &event, 1, wait_ms, &none);
}

static int do_epoll_pwait2(void)
{
	struct epoll_event event;

	return epoll_pwait2(epfd, &event, 1, &wait_time, NULL);
}

static int do_nanosleep(void)
{
	struct timespec rest = { .tv_sec = -1 };
	int result = nanosleep(&wait_time, &rest);

	if (result)
		CHECK(is_less(&rest));
	return result;
}

static int clock_sleep(clockid_t clock, int flags)
{
	struct timespec end = flags ? end_of_wait(clock) : wait_time;
	int before = errno = 123, err = clock_nanosleep(clock, flags, &end, NULL);

	CHECK(errno == before);
	errno = err;
	return err ? -1 : 0;
}

static int do_clock_nanosleep(void)
{
	return clock_sleep(CLOCK_MONOTONIC, 0);
}

static int do_clock_nanosleep_until(void)
{
	return clock_sleep(CLOCK_REALTIME, TIMER_ABSTIME);
}

static int do_usleep(void)
{
	return usleep((useconds_t)wait_ms * 1000);
}

static int do_sem_timedwait(void)
{
	struct timespec end = end_of_wait(CLOCK_REALTIME);

	return sem_timedwait(&semaphore, &end);
}

static int do_sem_clockwait(void)
{
	struct timespec end = end_of_wait(CLOCK_MONOTONIC);

	return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &end);
}

static int do_semtimedop(void)
{
	struct sembuf take = { .sem_op = -1 };

	return semtimedop(semaphores, &take, 1, &wait_time);
}

static int do_semop(void)
{
	struct sembuf take = { .sem_op = -1 };

	return semop(semaphores, &take, 1);
}

static int do_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return (int)msgrcv(messages, &message, sizeof(message.text), 0, 0);
}

static int do_sigtimedwait(void)
{
	return sigtimedwait(&unused, NULL, &wait_time);
}

static int do_sigwaitinfo(void)
{
	return sigwaitinfo(&unused, NULL);
}

static int do_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

/* glibc's sigpause(3) of X/Open, without its warning. */
int __xpg_sigpause(int signo);

static int do_sigpause(void)
{
	return __xpg_sigpause(SIGALRM);
}

static int do_accept(void)
{
	return accept(listener, NULL, NULL);
}

static int do_accept4(void)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

static int do_recv(void)
{
	char data[8];

	return (int)recv(receiver, data, sizeof(data), 0);
}

static int do_recvfrom(void)
{
	char data[8];

	return (int)recvfrom(receiver, data, sizeof(data), 0, NULL, NULL);
}

static int do_recvmsg(void)
{
	char data[8];
	struct iovec part = { data, sizeof(data) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return (int)recvmsg(receiver, &message, 0);
}

static int do_recvmmsg(void)
{
	char data[8];
	struct iovec part = { data, sizeof(data) };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };

	return recvmmsg(receiver, &message, 1, 0, NULL);
}

static int do_read(void)
{
	char data[8];

	return (int)read(receiver, data, sizeof(data));
}

static int do_readv(void)
{
	char data[8];
	struct iovec part = { data, sizeof(data) };

	return (int)readv(receiver, &part, 1);
}

static int do_send(void)
{
	return (int)send(sender, "x", 1, 0);
}

static int do_write(void)
{
	return (int)write(sender, "x", 1);
}

static int do_sendmsg(void)
{
	struct iovec part = { "x", 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return (int)sendmsg(sender, &message, 0);
}

static int do_writev(void)
{
	struct iovec part = { "x", 1 };

	return (int)writev(sender, &part, 1);
}

/* Whether raw() uses an instruction of its own, as the code of some languages does. */
static bool has_own_instruction;

#ifdef __x86_64__
#define HAS_OWN_INSTRUCTION 1
static long own_instruction(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long left[] = { a, b, c, d, e, f }, result, a_after, b_after, c_after;

	/* The arguments are the same after the call. */
	__asm__ volatile("syscall"
			 : "=a"(result), "=D"(a_after), "=S"(b_after), "=d"(c_after), "+r"(r10),
			   "+r"(r8), "+r"(r9)
			 : "0"(number), "1"(a), "2"(b), "3"(c)
			 : "rcx", "r11", "memory");
	CHECK(!memcmp(left, (long[]){ a_after, b_after, c_after, r10, r8, r9 }, sizeof(left)));
	errno = result < 0 ? (int)-result : errno;
	return result < 0 ? -1 : result;
}
#else
#define HAS_OWN_INSTRUCTION 0
#define own_instruction     syscall
#endif

/* The same by syscall(2). The kernel writes the remaining time over some of the times. */
static __attribute__((noinline)) long raw(long number, long a, long b, long c, long d, long e,
					  long f)
{
	return has_own_instruction ? own_instruction(number, a, b, c, d, e, f)
				   : syscall(number, a, b, c, d, e, f);
}

static int raw_recv(void)
{
	char byte;

	return (int)raw(SYS_recvfrom, receiver, (long)&byte, 1, 0, 0, 0);
}

extern const char _DYNAMIC[] __attribute__((weak)); /* NULL: the program is static */

/* The C library's own function, which a program may find by the library's handle. */
static int library_poll(void)
{
	static int (*found)(struct pollfd * fds, nfds_t count, int timeout);
	struct pollfd fd = { .fd = quiet, .events = POLLIN };
	void *library;

	if (!HAS_OWN_INSTRUCTION || !_DYNAMIC)
		return do_poll();
	if (!found) {
		library = dlopen("libc.so.6", RTLD_LAZY);
		CHECK(library);
		found = (__typeof__(found))dlsym(library, "poll");
		CHECK(found);
	}
	return found(&fd, 1, wait_ms);
}

static int raw_futex(void)
{
	int word = 0;

	return (int)raw(SYS_futex, (long)&word, FUTEX_WAIT, 0, (long)&wait_time, 0, 0);
}

static int raw_futex_until(void)
{
	struct timespec end = end_of_wait(CLOCK_MONOTONIC);
	int word = 0;

	return (int)raw(SYS_futex, (long)&word, FUTEX_WAIT_BITSET_PRIVATE, 0, (long)&end, 0,
			FUTEX_BITSET_MATCH_ANY);
}

static int raw_nanosleep(void)
{
	struct timespec time = wait_time;
	int result = (int)raw(SYS_nanosleep, (long)&time, (long)&time, 0, 0, 0, 0);

	if (result)
		CHECK(is_less(&time));
	return result;
}

static int raw_clock_nanosleep(void)
{
	return (int)raw(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, (long)&wait_time, 0, 0, 0);
}

static int raw_clock_nanosleep_until(void)
{
	struct timespec end = end_of_wait(CLOCK_REALTIME);

	return (int)raw(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, (long)&end, 0, 0, 0);
}

/* In memory that cannot be written to. */
static int raw_ppoll(void)
{
	return (int)raw(SYS_ppoll, 0, 0, (long)fixed_time, 0, 8, 0);
}

static int raw_pselect6(void)
{
	struct timespec time = wait_time;
	int result = (int)raw(SYS_pselect6, 0, 0, 0, 0, (long)&time, 0);

	CHECK(result ? is_less(&time) : !time.tv_sec && !time.tv_nsec);
	return result;
}

static int raw_epoll_pwait(void)
{
	struct epoll_event event;

	return (int)raw(SYS_epoll_pwait, epfd, (long)&event, 1, wait_ms, 0, 8);
}

#ifdef SYS_poll
static int raw_poll(void)
{
	return (int)raw(SYS_poll, 0, 0, wait_ms, 0, 0, 0);
}

static int raw_select(void)
{
	struct timeval time = { wait_ms / 1000, wait_ms % 1000 * 1000 };
	struct timespec left;
	int result = (int)raw(SYS_select, 0, 0, 0, 0, (long)&time, 0);

	left = (struct timespec){ time.tv_sec, time.tv_usec * 1000 };
	CHECK(result ? is_less(&left) : !time.tv_sec && !time.tv_usec);
	return result;
}

static int raw_epoll_wait(void)
{
	struct epoll_event event;

	return (int)raw(SYS_epoll_wait, epfd, (long)&event, 1, wait_ms, 0, 0);
}
#endif

static int raw_sigtimedwait(void)
{
	return (int)raw(SYS_rt_sigtimedwait, (long)&unused, 0, (long)&wait_time, 8, 0, 0);
}

static int raw_sigsuspend(void)
{
	uint64_t none = 0;

	return (int)raw(SYS_rt_sigsuspend, (long)&none, 8, 0, 0, 0, 0);
}

static int raw_semtimedop(void)
{
	struct sembuf take = { .sem_op = -1 };

	return (int)raw(SYS_semtimedop, semaphores, (long)&take, 1, (long)&wait_time, 0, 0);
}

static int raw_io_getevents(void)
{
	char event[32];

	return (int)raw(SYS_io_getevents, (long)events, 1, 1, (long)event, (long)&wait_time, 0);
}

static int ring;

static int raw_io_uring_enter(void)
{
	struct {
		uint64_t mask;
		uint32_t mask_bytes, shortest_us;
		uint64_t time;
	} wait = { .time = (uintptr_t)&wait_time };

	if (ring >= 0)
		return (int)raw(SYS_io_uring_enter, ring, 0, 1, 1 | 8, (long)&wait, sizeof(wait));
	errno = do_nanosleep() ? errno : ETIME; /* this system forbids it */
	return -1;
}

/* As liburing makes it: the number is a constant (i) or in a register (r). Nothing ends it but a signal. */
#ifdef __x86_64__
#define OWN_RING_CALL(constraint)                                                      \
	do {                                                                           \
		register long flags __asm__("r10") = 1, mask __asm__("r8") = 0,        \
				    bytes __asm__("r9") = 8;                           \
		long result;                                                           \
                                                                                       \
		__asm__ volatile("mov %[number],%%eax\n\tsyscall"                      \
				 : "=&a"(result)                                       \
				 : "D"(ring), "S"(0), "d"(1), "r"(flags), "r"(mask),   \
				   "r"(bytes), [number] constraint(SYS_io_uring_enter) \
				 : "rcx", "r11", "memory");                            \
		errno = (int)-result;                                                  \
	} while (0)
#else
#define OWN_RING_CALL(constraint) pause()
#endif

static int own_ring_constant(void)
{
	if (ring < 0)
		return pause();
	OWN_RING_CALL("i");
	return -1;
}

static int own_ring_register(void)
{
	if (ring < 0)
		return pause();
	OWN_RING_CALL("r");
	return -1;
}

/* libaio's, which a preload interposes whether the library is loaded or not. */
int io_getevents(unsigned long context, long least, long most, void *happened,
		 const struct timespec *timeout) __attribute__((weak));

static int do_io_getevents(void)
{
	char event[32];
	int result;

	if (!io_getevents)
		return raw_io_getevents();
	result = io_getevents(events, 1, 1, event, &wait_time);
	errno = result < 0 ? -result : 0;
	return result < 0 ? -1 : result;
}

static int do_splice(void)
{
	return (int)splice(receiver, NULL, pipe_end, NULL, 8, 0);
}

#if HAS_OWN_INSTRUCTION /* where such calls continue (unseen_call.h) */
static FILE *reading, *writing;

static int do_getc(void)
{
	int c = getc(reading);

	clearerr(reading);
	return c;
}

static int do_fgets(void)
{
	char line[8];
	bool failed = !fgets(line, sizeof(line), reading);

	clearerr(reading);
	return failed ? -1 : 0;
}

static int do_getline(void)
{
	static char *line;
	static size_t size;
	ssize_t result = getline(&line, &size, reading);

	clearerr(reading);
	return (int)result;
}

static int do_fwrite(void)
{
	bool failed = fwrite("x", 1, 1, writing) != 1;

	clearerr(writing);
	return failed ? -1 : 0;
}

static int do_dprintf(void)
{
	return dprintf(sender, "%d", 1);
}
#endif

static const struct wait {
	const char *name;
	int (*call)(void);
	int error;     /* 0: the call succeeds with 0 at the end of its time */
	bool for_ever; /* only a signal ends it */
} waits[] = {
	{ "poll", do_poll, 0, false },
	{ "ppoll", do_ppoll, 0, false },
	{ "poll for ever", do_poll_for_ever, 0, true },
	{ "select", do_select, 0, false },
	{ "pselect", do_pselect, 0, false },
	{ "epoll_wait", do_epoll_wait, 0, false },
	{ "epoll_pwait", do_epoll_pwait, 0, false },
	{ "epoll_pwait2", do_epoll_pwait2, 0, false },
	{ "nanosleep", do_nanosleep, 0, false },
	{ "clock_nanosleep", do_clock_nanosleep, 0, false },
	{ "clock_nanosleep until", do_clock_nanosleep_until, 0, false },
	{ "usleep", do_usleep, 0, false },
	{ "sem_timedwait", do_sem_timedwait, ETIMEDOUT, false },
	{ "sem_clockwait", do_sem_clockwait, ETIMEDOUT, false },
	{ "semtimedop", do_semtimedop, EAGAIN, false },
	{ "semop", do_semop, 0, true },
	{ "msgrcv", do_msgrcv, 0, true },
	{ "sigtimedwait", do_sigtimedwait, EAGAIN, false },
	{ "sigwaitinfo", do_sigwaitinfo, 0, true },
	{ "sigsuspend", do_sigsuspend, 0, true },
	{ "sigpause", do_sigpause, 0, true },
	{ "pause", pause, 0, true },
	{ "accept", do_accept, EAGAIN, false },
	{ "accept4", do_accept4, EAGAIN, false },
	{ "recv", do_recv, EAGAIN, false },
	{ "recvfrom", do_recvfrom, EAGAIN, false },
	{ "recvmsg", do_recvmsg, EAGAIN, false },
	{ "recvmmsg", do_recvmmsg, EAGAIN, false },
	{ "read", do_read, EAGAIN, false },
	{ "readv", do_readv, EAGAIN, false },
	{ "send", do_send, EAGAIN, false },
	{ "write", do_write, EAGAIN, false },
	{ "sendmsg", do_sendmsg, EAGAIN, false },
	{ "writev", do_writev, EAGAIN, false },
	{ "splice", do_splice, EAGAIN, false },
#if HAS_OWN_INSTRUCTION
	{ "getc", do_getc, EAGAIN, false },
	{ "fgets", do_fgets, EAGAIN, false },
	{ "getline", do_getline, EAGAIN, false },
	{ "fwrite", do_fwrite, EAGAIN, false },
	{ "dprintf", do_dprintf, EAGAIN, false },
#endif
	{ "io_getevents", do_io_getevents, 0, false },
	{ "io_uring_enter by number", raw_io_uring_enter, ETIME, false },
	{ "io_uring_enter by an own instruction", own_ring_constant, 0, true },
	{ "io_uring_enter by another one", own_ring_register, 0, true },
	{ "futex by number", raw_futex, ETIMEDOUT, false },
	{ "futex until by number", raw_futex_until, ETIMEDOUT, false },
	{ "nanosleep by number", raw_nanosleep, 0, false },
	{ "clock_nanosleep by number", raw_clock_nanosleep, 0, false },
	{ "clock_nanosleep until by number", raw_clock_nanosleep_until, 0, false },
	{ "ppoll by number", raw_ppoll, 0, false },
	{ "pselect6 by number", raw_pselect6, 0, false },
	{ "epoll_pwait by number", raw_epoll_pwait, 0, false },
#ifdef SYS_poll
	{ "poll by number", raw_poll, 0, false },
	{ "select by number", raw_select, 0, false },
	{ "epoll_wait by number", raw_epoll_wait, 0, false },
#endif
	{ "recv by number", raw_recv, EAGAIN, false },
	{ "poll of the library", library_poll, 0, false },
	{ "sigtimedwait by number", raw_sigtimedwait, EAGAIN, false },
	{ "sigsuspend by number", raw_sigsuspend, 0, true },
	{ "semtimedop by number", raw_semtimedop, EAGAIN, false },
	{ "io_getevents by number", raw_io_getevents, 0, false },
};

static const char *volatile waiting;

static void on_alarm(int signo)
{
	(void)signo;
	/* They are blocked until this returns. */
	for (size_t i = 0; followers[i]; i++)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), followers[i]);
	if (++signals < MOST_SIGNALS || !waiting)
		return;
	printf("%s: not ended by %d signals\n", waiting, signals);
	fflush(stdout);
	_exit(1);
}

static void alarm_every(int ms)
{
	struct itimerval every = { { 0, ms * 1000 }, { 0, ms * 1000 } };

	CHECK(!setitimer(ITIMER_REAL, &every, NULL));
}

static void wait_for(int ms)
{
	struct timeval time = { ms / 1000, ms % 1000 * 1000 };

	wait_ms = ms;
	wait_time = (struct timespec){ time.tv_sec, time.tv_usec * 1000 };
	CHECK(!mprotect(fixed_time, 4096, PROT_READ | PROT_WRITE));
	*fixed_time = wait_time;
	CHECK(!mprotect(fixed_time, 4096, PROT_READ));
	CHECK(!setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)));
	CHECK(!setsockopt(receiver, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)));
	CHECK(!setsockopt(sender, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)));
}

static void set_up(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	char data[1024], ring_parameters[256] = { 0 };
	int pipes[2], sockets[2];

	CHECK(!pipe(pipes));
	quiet = pipes[0];
	CHECK(!pipe(pipes));
	pipe_end = pipes[1];
	fixed_time = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(fixed_time != MAP_FAILED);
	CHECK(!syscall(SYS_io_setup, 1, &events));
	ring = (int)syscall(SYS_io_uring_setup, 1, ring_parameters);
	epfd = epoll_create1(0);
	CHECK(epfd >= 0);
	messages = msgget(IPC_PRIVATE, 0600);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	CHECK(messages >= 0 && semaphores >= 0);
	CHECK(!sem_init(&semaphore, 0, 0));
	sigemptyset(&unused);
	sigaddset(&unused, SIGUSR2);
	CHECK(!sigprocmask(SIG_BLOCK, &unused, NULL));

	listener = socket(AF_INET, SOCK_STREAM, 0);
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(!bind(listener, (struct sockaddr *)&any, sizeof(any)) && !listen(listener, 1));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	receiver = sockets[0];
	sender = sockets[0];
#if HAS_OWN_INSTRUCTION
	reading = fdopen(receiver, "r");
	writing = fdopen(sender, "w");
	CHECK(reading && writing && !setvbuf(writing, NULL, _IONBF, 0));
#endif
	/* Fill the socket, so that a send waits. */
	memset(data, 0, sizeof(data));
	while (send(sender, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	while (send(sender, data, 1, MSG_DONTWAIT) > 0)
		;
}

static void to_the_end(const struct wait *wait)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	int result;

	wait_for(END_MS);
	errno = 0;
	result = wait->call();
	if (wait->error ? result != -1 || errno != wait->error : result != 0 || errno) {
		printf("%s%s: %d, %s\n", wait->name, has_own_instruction ? ", own" : "", result,
		       strerror(errno));
		exit(1);
	}
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= END_MS * 1000000ULL - 1000000);
}

static void until_signal(const struct wait *wait)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	int result;

	wait_for(LONG_MS);
	signals = 0;
	waiting = wait->name;
	if (!sent)
		alarm_every(SIGNAL_MS);
	result = wait->call();
	waiting = NULL;
	if (result != -1 || errno != EINTR || !signals) {
		printf("%s%s: %d, %s after %d signals\n", wait->name,
		       has_own_instruction ? ", own" : "", result, strerror(errno), signals);
		exit(1);
	}
	alarm_every(0);
	CHECK(sent || now_ns(CLOCK_MONOTONIC) - start >= SIGNAL_MS * 1000000ULL - 1000000);
}

/* Calls that the kernel restarts after one handler and not after the other. */
static void restarts(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	int pipes[2];
	char byte;

	CHECK(!pipe(pipes));
	CHECK(!sigaction(SIGALRM, &action, NULL));
	if (!fork()) {
		usleep(4 * SIGNAL_MS * 1000);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	signals = 0;
	alarm_every(SIGNAL_MS);
	CHECK(read(pipes[0], &byte, 1) == 1 && signals);

	action.sa_flags = 0;
	CHECK(!sigaction(SIGALRM, &action, NULL));
	CHECK(read(pipes[0], &byte, 1) == -1 && errno == EINTR);
	alarm_every(0);
}

static void wait_both_ways(const struct wait *wait, bool has_end)
{
	if (has_end && !wait->for_ever)
		to_the_end(wait);
	until_signal(wait);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	set_up();
	sigfillset(&action.sa_mask);
	sent = argc > 1 && !strcmp(argv[1], "sent");
	for (int i = 2; i < argc && i < 2 + 7; i++)
		followers[i - 2] = atoi(argv[i]);
	CHECK(!sigaction(SIGALRM, &action, NULL) && !sigaction(SIGABRT, &action, NULL));
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		wait_both_ways(&waits[i], argc < 2);
		has_own_instruction = HAS_OWN_INSTRUCTION && strstr(waits[i].name, "by number");
		if (has_own_instruction)
			wait_both_ways(&waits[i], argc < 2);
		has_own_instruction = false;
	}
	if (argc < 2)
		restarts();
	msgctl(messages, IPC_RMID, NULL);
	semctl(semaphores, 0, IPC_RMID);
	puts("ok");
	return 0;
}
