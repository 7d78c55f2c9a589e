/* A preload that walks the stack of each thread of an interpreter as often as it can, in a handler that comes between any
 * two instructions: some ten thousand times a second, where the kernel's clocks of CPU time come some hundred times.
 *
 * WALKS_TO is the folder for what was met: PID.walks has a line for each pair of functions of which one has called the
 * other, as `asprof-agent collapsed --lines --frames script` shows them, and a line "[walks] N" now and then: so many more walks
 * that had such functions, and began elsewhere than that thread's last one. "[without] N" had none. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/random.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/modules/modules.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/runtime/runtimes.h"

#define SIGNAL     (SIGRTMAX - 3)
#define DEPTH      1024
#define SOON_NS    2000u /* the next walk is due after this, and something up to SPREAD_NS */
#define SPREAD_NS  20000u
#define ASLEEP_NS  10000000u /* the longest pause of a thread that does not move */
#define PAIRS_BITS 20

int asprof_agent_running(void);

static int to = -1;
static _Atomic unsigned long walks, without;
static _Atomic uint64_t told[1 << PAIRS_BITS];

/* The threads that are walked, each by a timer of its own. */
static _Thread_local struct walked {
	uintptr_t low, high; /* of its stack */
	uintptr_t pc, sp;    /* where the last walk began */
	timer_t timer;
	uint64_t pause_ns; /* before the next, where it has not moved */
	bool walked;
	/* The handler may be on a program's stack for signals, which is small. */
	uintptr_t pcs[DEPTH];
	char text[2 * (FRAME_NAME_MAX + FRAME_FILE_MAX + 32)];
} self;

/* ---- What was met ---- */

static char *put_text(char *to_text, const char *text)
{
	return stpcpy(to_text, text);
}

/* (Nothing of stdio is called in a handler.) */
static char *put_number(char *to_text, uint32_t number)
{
	char digits[12], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	return put_text(to_text, at);
}

static char *put_frame(char *text, const struct script_frame *frame)
{
	const char *slash = strrchr(frame->file, '/');

	text = put_text(text, frame->name);
	if (!*frame->file || !frame->line)
		return text;
	text = put_text(text, " (");
	text = put_text(text, slash ? slash + 1 : frame->file);
	text = put_text(text, ":");
	text = put_number(text, frame->line);
	return put_text(text, ")");
}

/* Tell that OUTER, if there is any, has called INNER, when it is met for the first time (or another pair was in its place
 * since). */
static void tell(uintptr_t outer, uintptr_t inner)
{
	uint64_t key = ((inner + frame_table_renewals()) * 0x9e3779b97f4a7c15u) ^
		       (outer * 0xc2b2ae3d27d4eb4fu);
	_Atomic uint64_t *slot = &told[key >> (64 - PAIRS_BITS)];
	struct script_frame frame;
	char *end = self.text;

	if (atomic_exchange_explicit(slot, key, memory_order_relaxed) == key)
		return;
	if (outer && frame_table_find(outer, &frame))
		end = put_text(put_frame(end, &frame), ";");
	if (!frame_table_find(inner, &frame))
		return;
	end = put_text(put_frame(end, &frame), " 1\n");
	if (write(to, self.text, (size_t)(end - self.text)) < 0)
		_exit(9);
}

static bool tell_all(const uintptr_t *pcs, size_t depth)
{
	struct script_frame frame;
	uintptr_t outer = 0;

	for (size_t i = depth; i-- > 0;) {
		if (!frame_table_find(pcs[i], &frame))
			continue;
		tell(outer, pcs[i]);
		outer = pcs[i];
	}
	return outer != 0;
}

/* ---- Walks ---- */

static void due_in(uint64_t ns)
{
	struct itimerspec when = { .it_value = { .tv_nsec = (long)ns } };

	timer_settime(self.timer, 0, &when, NULL);
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP],
		  sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	bool moved = pc != self.pc || sp != self.sp, truncated;
	int saved = errno;
	size_t depth;

	(void)signo;
	(void)info;
	if (moved) {
		depth = mixed_stack_context(context,
					    sp >= self.low && sp < self.high ? self.high : 0,
					    self.pcs, DEPTH, &truncated);
		atomic_fetch_add(tell_all(self.pcs, depth) ? &walks : &without, 1);
		self.pc = pc;
		self.sp = sp;
		self.pause_ns = SOON_NS;
	} else if (self.pause_ns < ASLEEP_NS) {
		self.pause_ns *= 2;
	}
	due_in(self.pause_ns + random_below(SPREAD_NS));
	errno = saved;
}

/* ---- Threads ---- */

static bool off; /* in a forked child, which has nobody who looks for interpreters */

static void walk_this_one(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL };
	pthread_attr_t attributes;
	size_t size;
	void *low;

	if (off || pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &low, &size)) {
		self.low = (uintptr_t)low;
		self.high = self.low + size;
	}
	pthread_attr_destroy(&attributes);
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	self.walked = !timer_create(CLOCK_MONOTONIC, &event, &self.timer);
	self.pause_ns = SOON_NS;
	if (self.walked)
		due_in(ASLEEP_NS);
}

static void no_more(void *unused)
{
	(void)unused;
	if (self.walked)
		timer_delete(self.timer);
	self.walked = false;
}

struct start {
	void *(*run)(void *argument);
	void *argument;
};

static void *run(void *argument)
{
	struct start start = *(struct start *)argument;
	void *result;

	free(argument);
	walk_this_one();
	pthread_cleanup_push(no_more, NULL);
	result = start.run(start.argument);
	pthread_cleanup_pop(1);
	return result;
}

typedef int create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *argument);

static create *real_create(void)
{
	create *real;

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *argument)
{
	struct start *handed = malloc(sizeof(*handed));
	int err;

	if (!handed)
		return EAGAIN;
	*handed = (struct start){ start, argument };
	err = real_create()(thread, attributes, run, handed);
	if (err)
		free(handed);
	return err;
}

/* ---- Who looks for interpreters, and counts ---- */

static void tell_count(const char *what, _Atomic unsigned long *count)
{
	unsigned long now = atomic_exchange(count, 0);

	if (now)
		dprintf(to, "[%s] %lu\n", what, now);
}

static void *look(void *unused)
{
	struct timespec while_it_runs = { .tv_nsec = 50000000 };

	(void)unused;
	for (;;) {
		if (modules_refresh() > 0)
			runtimes_look();
		runtimes_visit();
		if (mixed_stack_turn())
			frame_table_drop();
		tell_count("walks", &walks);
		tell_count("without", &without);
		nanosleep(&while_it_runs, NULL);
	}
	return NULL;
}

static void forked(void)
{
	off = true;
}

/* The programs wait for the agent. */
int asprof_agent_running(void)
{
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	char path[4096];
	sigset_t all, before;
	pthread_t looks;

	snprintf(path, sizeof(path), "%s/%d.walks", getenv("WALKS_TO"), (int)getpid());
	to = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	cfi_lookup_init();
	if (to < 0 || modules_open() || sigaction(SIGNAL, &action, NULL) ||
	    pthread_atfork(NULL, NULL, forked))
		_exit(8);
	runtimes_look();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (real_create()(&looks, NULL, look, NULL))
		_exit(8);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	walk_this_one();
}
