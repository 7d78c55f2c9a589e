/* A preload that walks the stack of each thread of an interpreter as often as it can, in a handler
 * between any two instructions: tens of thousands of times a second, where the kernel's CPU clocks
 * expire some hundred times. A timer interrupts the thread, and the processor's trap flag
 * interrupts it after each of the next few instructions.
 *
 * WALKS_TO is the folder for the results. PID.walks has a line for each pair of caller and called
 * function, as `asprof-agent collapsed --lines --frames script` shows them, and from time to time a
 * line "[walks] N": so many more walks that had such functions, and began elsewhere than that
 * thread's last one. "[steps] N" is the number that the trap flag started, and "[without]
 * N" had no such function. */
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

#define SIGNAL    (SIGRTMAX - 3)
#define DEPTH     1024
#define STEPS_MAX 8     /* single-stepped walks after a timer's walk, fewer than these */
#define SOON_NS   2000u /* the next timer is due after this, and up to SPREAD_NS */
#define SPREAD_NS 20000u
#define ASLEEP_NS \
	10000000u /* the longest pause of a thread that does not move, or has no such functions */
#define BEGUN_NS \
	900000000u /* Ruby uses the very end of its stack at first, where a handler has no space */
#define BARREN_MAX 64 /* walks in a row without any: then it is such a thread */
#define PAIRS_BITS 20
#define UNNAMED    64
#define TRAP_FLAG  0x100

int asprof_agent_running(void);

static int to = -1;
static _Atomic unsigned long walks, steps, without;
static _Atomic uint64_t told[1 << PAIRS_BITS];
static _Atomic uintptr_t unnamed[UNNAMED]; /* frames that had no name yet */

#define TEXT_MAX (2 * (FRAME_NAME_MAX + FRAME_FILE_MAX + 32))

/* The threads that are walked, each with its own timer. */
static _Thread_local struct walked {
	uintptr_t low, high; /* of its stack */
	uintptr_t pc, sp;    /* where the last walk began */
	timer_t timer;
	uint64_t pause_ns;   /* before the next one, if it has not moved */
	unsigned int barren; /* walks in a row without such functions */
	unsigned int steps;  /* that are still to come */
	bool walked;
	/* The handler may be on a program's small signal stack. The last walk stays. */
	uintptr_t pcs[2][DEPTH];
	size_t depth[2];
	unsigned int last, renewals;
	char text[TEXT_MAX];
} self;

/* ---- Results ---- */

static char *put_text(char *to_text, const char *text)
{
	return stpcpy(to_text, text);
}

/* (A handler uses no stdio.) */
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

/* Postpone FRAME, which has no name. (The agent reads names when a chunk is over, and not while
 * another thread, which has found the function, is about to write its name.) False: there are too
 * many. */
static bool put_off(uintptr_t frame)
{
	uintptr_t none;

	for (size_t i = 0; i < UNNAMED; i++) {
		none = 0;
		if (atomic_compare_exchange_strong(&unnamed[i], &none, frame) || none == frame)
			return true;
	}
	return false;
}

static bool is_named(uintptr_t pc, struct script_frame *frame)
{
	return frame_table_find(pc, frame) && strcmp(frame->name, "[unknown]") != 0;
}

static void write_line(const char *text, char *end)
{
	end = put_text(end, " 1\n");
	if (write(to, text, (size_t)(end - text)) < 0)
		_exit(9);
}

/* Record that OUTER, if there is any, has called INNER, the first time (or after another pair had
 * its place). */
static void tell(uintptr_t outer, uintptr_t inner)
{
	uint64_t key = ((inner + frame_table_renewals()) * 0x9e3779b97f4a7c15u) ^
		       (outer * 0xc2b2ae3d27d4eb4fu);
	_Atomic uint64_t *slot = &told[key >> (64 - PAIRS_BITS)];
	struct script_frame frame;
	char *end = self.text;

	if (atomic_load_explicit(slot, memory_order_relaxed) == key)
		return;
	if ((outer && !is_named(outer, &frame) && put_off(outer)) ||
	    (!is_named(inner, &frame) && put_off(inner)))
		return; /* and is recorded when it has one */
	atomic_store_explicit(slot, key, memory_order_relaxed);
	if (outer && frame_table_find(outer, &frame))
		end = put_text(put_frame(end, &frame), ";");
	if (frame_table_find(inner, &frame))
		write_line(self.text, put_frame(end, &frame));
}

/* The next frame of the script outwards from AT, of DEPTH; 0: none. */
static uintptr_t script_frame_from(const uintptr_t *pcs, size_t at, size_t depth)
{
	struct script_frame frame;

	while (at < depth && !frame_table_find(pcs[at], &frame))
		at++;
	return at < depth ? pcs[at] : 0;
}

/* Record the frames of this thread's last walk that the one before did not have: outer frames
 * mostly stay. Returns whether it has any function. */
static bool tell_new(void)
{
	const uintptr_t *pcs = self.pcs[self.last], *before = self.pcs[!self.last];
	size_t depth = self.depth[self.last], depth_before = self.depth[!self.last], same = 0;
	unsigned int renewals = frame_table_renewals();
	struct script_frame frame;
	uintptr_t outer;

	while (renewals == self.renewals && same < depth && same < depth_before &&
	       pcs[depth - 1 - same] == before[depth_before - 1 - same])
		same++;
	self.renewals = renewals;
	outer = script_frame_from(pcs, depth - same, depth);
	for (size_t i = depth - same; i-- > 0;) {
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

/* Walk from UC, if that is elsewhere than before. A walk with such functions is counted, also in
 * *ALSO. */
static bool walk(const ucontext_t *uc, _Atomic unsigned long *also)
{
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP],
		  sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	bool truncated;

	if (pc == self.pc && sp == self.sp)
		return false;
	self.pc = pc;
	self.sp = sp;
	self.last = !self.last;
	self.depth[self.last] =
		mixed_stack_context(uc, sp >= self.low && sp < self.high ? self.high : 0,
				    self.pcs[self.last], DEPTH, &truncated);
	if (tell_new()) {
		self.barren = 0;
		atomic_fetch_add(&walks, 1);
		if (also)
			atomic_fetch_add(also, 1);
	} else {
		self.barren++;
		atomic_fetch_add(&without, 1);
	}
	return true;
}

/* A step into the kernel may end with all signals blocked. */
static bool is_to_enter_kernel(const ucontext_t *uc)
{
	const uint8_t *code = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];

	return code[0] == 0x0f && code[1] == 0x05; /* syscall */
}

static void go_on(ucontext_t *uc)
{
	if (self.steps && !is_to_enter_kernel(uc)) {
		self.steps--;
		uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
		return;
	}
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	due_in(self.pause_ns + random_below(SPREAD_NS));
}

static void on_step(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)signo;
	(void)info;
	walk(context, &steps);
	go_on(context);
	errno = saved;
}

static void on_timer(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)signo;
	(void)info;
	self.steps = 0;
	if (!walk(context, NULL)) {
		if (self.pause_ns < ASLEEP_NS)
			self.pause_ns *= 2;
	} else if (self.barren > BARREN_MAX) {
		self.pause_ns = ASLEEP_NS;
	} else {
		self.pause_ns = SOON_NS;
		self.steps = (unsigned int)random_below(STEPS_MAX);
	}
	go_on(context);
	errno = saved;
}

/* ---- Threads ---- */

static bool off; /* in a forked child, which has no thread that looks for interpreters */

/* After FIRST_NS, less than a second. */
static void walk_this_one(unsigned int first_ns)
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
		due_in(first_ns);
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
	walk_this_one(ASLEEP_NS);
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

/* ---- Signals ---- */

typedef int act(int signo, const struct sigaction *action, struct sigaction *before);

static act *real_sigaction(void)
{
	act *real;

	*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
	return real;
}

/* A program's own action for SIGTRAP (node resets all signals at its start) would end it. */
int sigaction(int signo, const struct sigaction *action, struct sigaction *before)
{
	return real_sigaction()(signo, signo == SIGTRAP ? NULL : action, before);
}

/* ---- The thread that looks for interpreters, and counts ---- */

static void tell_count(const char *what, _Atomic unsigned long *count)
{
	unsigned long now = atomic_exchange(count, 0);

	if (now)
		dprintf(to, "[%s] %lu\n", what, now);
}

/* Frames that had no name when they were found: by now there was time to write it. */
static void tell_unnamed(void)
{
	static char text[TEXT_MAX];
	struct script_frame frame;
	uintptr_t pc;

	for (size_t i = 0; i < UNNAMED; i++) {
		pc = atomic_exchange(&unnamed[i], 0);
		if (pc && !is_named(pc, &frame) && frame_table_find(pc, &frame))
			write_line(text, put_frame(text, &frame));
	}
}

static void *look(void *unused)
{
	struct timespec while_it_runs = { .tv_nsec = 50000000 };

	(void)unused;
	for (;;) {
		tell_unnamed();
		if (modules_refresh() > 0)
			runtimes_scan();
		runtimes_visit();
		if (mixed_stack_turn())
			frame_table_drop();
		tell_count("walks", &walks);
		tell_count("steps", &steps);
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
	struct sigaction action = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART },
			 step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_RESTART };
	char path[4096];
	sigset_t all, before;
	pthread_t looks;

	snprintf(path, sizeof(path), "%s/%d.walks", getenv("WALKS_TO"), (int)getpid());
	to = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	cfi_lookup_init();
	/* (Neither interrupts the other, and no signal of the program interrupts a walk.) */
	sigfillset(&action.sa_mask);
	sigfillset(&step.sa_mask);
	if (to < 0 || modules_open() || real_sigaction()(SIGNAL, &action, NULL) ||
	    real_sigaction()(SIGTRAP, &step, NULL) || pthread_atfork(NULL, NULL, forked))
		_exit(8);
	runtimes_scan();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (real_create()(&looks, NULL, look, NULL))
		_exit(8);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	walk_this_one(BEGUN_NS);
}
