/* The signal in which a thread samples itself.
 *
 * All of it but sampler_install(), sampler_remove() and sampler_thread_ended() runs in the handler, in whatever
 * thread and state the program was: no locks, no allocation, and errno is not touched. */
#include "engine/sample/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "core/clock.h"
#include "core/disposition.h"
#include "core/signal_share.h"
#include "core/system.h"
#include "engine/context/thread_labels.h"
#include "engine/jfr/jfr_types.h"
#include "engine/reading/memory_reader.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/ring.h"
#include "engine/sample/thread_slots.h"
#include "engine/sample/threads.h"
#include "engine/sample/loop_iterations.h"
#include "engine/unwind/unwind.h"

static _Atomic int signal_number;
static _Atomic bool enabled, given_up;
static struct disposition previous;

/* A call that is to be made in the handler, by a timer of the process PID; 0: none. */
static struct {
	_Atomic pid_t pid;
	int timer;
	void (*call)(void);
} later;
static sampler_installer *installer;
static sampler_remover *remover;

/* What other threads were told to call, and how many are about to tell them. */
static void (*_Atomic broadcast_call)(void);
static _Atomic uint32_t broadcasters;

/* Until nothing sends signals any more: a thread that sets its timer may have to wait for a processor. */
#define QUIET_TRIES    500
#define QUIET_PAUSE_NS 1000000u

/* Of the signals for programs, the first that the C library leaves to them, and the last but one: that
 * is valgrind's. */
#define FIRST_SIGNAL 34
#define LAST_SIGNAL  63

#if defined(__x86_64__)
#define CONTEXT_PC(uc)     ((uintptr_t)(uc)->uc_mcontext.gregs[REG_RIP])
#define CONTEXT_SP(uc)     ((uintptr_t)(uc)->uc_mcontext.gregs[REG_RSP])
#define CONTEXT_RESULT(uc) ((uc)->uc_mcontext.gregs[REG_RAX])
static const uint8_t system_call[] = { 0x0f, 0x05 }; /* syscall */
#elif defined(__aarch64__)
#define CONTEXT_PC(uc)     ((uintptr_t)(uc)->uc_mcontext.pc)
#define CONTEXT_SP(uc)     ((uintptr_t)(uc)->uc_mcontext.sp)
#define CONTEXT_RESULT(uc) ((int64_t)(uc)->uc_mcontext.regs[0])
static const uint8_t system_call[] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */
#endif

#define CALL_BYTES sizeof(system_call)

/* A system call's instruction is at CODE. Not even code is sure to be readable. */
static bool memory_is_system_call(uintptr_t code)
{
	uint8_t bytes[CALL_BYTES];

	return memory_copy(bytes, code, CALL_BYTES) && !memcmp(bytes, system_call, CALL_BYTES);
}

/* Interrupted in a system call, or just out of one that was. The kernel sets the pc back to the
 * call where it will restart that, and leaves it behind with EINTR where it will not. */
static bool in_system_call(const ucontext_t *uc)
{
	uintptr_t pc = CONTEXT_PC(uc);

	return memory_is_system_call(pc) ||
	       (CONTEXT_RESULT(uc) == -EINTR && memory_is_system_call(pc - CALL_BYTES));
}

static uint64_t own_cpu_ns(void)
{
	struct timespec spent;

	if (clock_read(CLOCK_THREAD_CPUTIME_ID, &spent))
		return 0;
	return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static void sampler_commit(struct thread *thread, struct sample *sample)
{
	struct asprof_thread_local_data *local;

	atomic_store_explicit(&thread->sampled, true, memory_order_relaxed);
	local = atomic_load_explicit(&thread->local, memory_order_relaxed);
	if (local)
		local->sample_counter = sample->ticks;
	ring_commit(sample);
}

static struct sample *sampler_reserve(struct thread *thread, enum sample_kind kind,
				      const uintptr_t *pcs, size_t depth, bool truncated)
{
	return ring_reserve_stack(thread->index, kind,
				  atomic_load_explicit(&thread->tid, memory_order_relaxed), pcs,
				  depth, truncated);
}

/* Reserve a sample of KIND with the stack that UC was interrupted on. */
static struct sample *sample_interrupted(struct thread *thread, enum sample_kind kind,
					 const ucontext_t *uc)
{
	uintptr_t sp = CONTEXT_SP(uc);
	bool on_known_stack = sp >= thread->stack_low && sp < thread->stack_high;
	uintptr_t *pcs = ring_scratch_acquire();
	struct sample *sample;
	bool truncated;
	size_t depth;

	if (!pcs)
		return NULL;
	depth = mixed_stack_context(uc, on_known_stack ? thread->stack_high : 0, pcs,
				    SAMPLE_DEPTH_MAX, &truncated);
	sample = sampler_reserve(thread, kind, pcs, depth, truncated);
	ring_scratch_release(pcs);
	if (unwind_wants_refresh())
		ring_wake(); /* it looks for new modules first */
	return sample;
}

/* Its args are the slot, and the thread's CPU time, so that the collector sees whether it ran
 * again. */
static void take_wall_sample(struct thread *thread, const ucontext_t *uc)
{
	struct sample *sample = sample_interrupted(thread, SAMPLE_WALL, uc);

	if (!sample)
		return;
	sample->state = in_system_call(uc) ? JFR_STATE_SLEEPING : JFR_STATE_RUNNABLE;
	sample->args[0] = (uint64_t)(uintptr_t)thread;
	sample->args[1] = own_cpu_ns();
	sampler_commit(thread, sample);
}

static void take_cpu_sample(struct thread *thread, enum thread_timer timer, const ucontext_t *uc)
{
	uint64_t cpu_ns = own_cpu_ns();
	uint32_t due = thread_clock_take(&thread->clock, cpu_ns);
	struct sample *sample;

	if (!due) {
		if (timer == TIMER_FIRST)
			thread_clock_again(&thread->clock, cpu_ns);
		return;
	}
	sample = sample_interrupted(thread, SAMPLE_CPU, uc);
	if (!sample)
		return;
	sample->weight = due;
	sampler_commit(thread, sample);
}

/* What can still be told of a thread that is done: the function that it was made for, and the
 * library's two that called it. */
#define OUTERMOST 2

static struct sample *sample_entry(struct thread *thread)
{
	uintptr_t *pcs = ring_scratch_acquire();
	struct sample *sample;
	bool truncated;
	size_t depth, first;

	if (!pcs)
		return NULL;
	depth = unwind_here(thread->stack_high, 0, pcs, SAMPLE_DEPTH_MAX, &truncated);
	first = depth > OUTERMOST ? depth - OUTERMOST : 0;
	if (thread->entry && first)
		pcs[--first] = thread->entry;
	sample = sampler_reserve(thread, SAMPLE_CPU, pcs + first, depth - first, truncated);
	ring_scratch_release(pcs);
	return sample;
}

static void take_last_sample(struct thread *thread)
{
	uint32_t due = thread_clock_take(&thread->clock, own_cpu_ns());
	struct sample *sample;

	if (!due)
		return;
	sample = sample_entry(thread);
	if (!sample)
		return;
	sample->weight = due;
	sampler_commit(thread, sample);
}

void sampler_thread_ended(void)
{
	struct thread *thread;

	if (atomic_load_explicit(&enabled, memory_order_acquire)) {
		thread = threads_self();
		if (thread)
			take_last_sample(thread);
	}
	loop_iterations_thread_ended();
	thread_labels_end();
	threads_ended();
}

/* Not ours: somebody else's handler was there before. */
static void sampler_forward(int signo, siginfo_t *info, void *uc)
{
	if (previous.handler == (void *)SIG_DFL || previous.handler == (void *)SIG_IGN)
		return;
	/* One without SA_SIGINFO looks at the first alone. */
	((sampler_handler *)previous.handler)(signo, info, uc);
}

static void take_sample(struct thread *thread, enum thread_timer timer, const ucontext_t *uc)
{
	if (timer == TIMER_WALL) {
		thread_clock_interrupted(&thread->clock);
		take_wall_sample(thread, uc);
	} else {
		take_cpu_sample(thread, timer, uc);
	}
}

/* Also of a thread that takes no samples. Its args are the signal and its code, and the address. */
void sampler_crashed(int signo, int code, uintptr_t address, const void *context)
{
	struct thread *thread = threads_self();
	uintptr_t sp = CONTEXT_SP((const ucontext_t *)context), *pcs = ring_scratch_acquire();
	bool on_known_stack = thread && sp >= thread->stack_low && sp < thread->stack_high;
	struct sample *sample;
	bool truncated;
	size_t depth;

	if (!pcs)
		return;
	depth = mixed_stack_context(context, on_known_stack ? thread->stack_high : 0, pcs,
				    SAMPLE_DEPTH_MAX, &truncated);
	sample = ring_reserve_stack(0, SAMPLE_CRASH, system_thread(), pcs, depth, truncated);
	ring_scratch_release(pcs);
	if (!sample)
		return;
	sample->args[0] = (uint64_t)signo;
	sample->args[1] = (uint64_t)(int64_t)code;
	sample->args[2] = address;
	ring_commit(sample);
}

/* Its turn of an event loop lasts too long. The stack stays with the turn, until it is told at its end. */
static void take_stall_stack(struct turn *turn, const ucontext_t *uc)
{
	uintptr_t sp = CONTEXT_SP(uc);
	const struct thread *thread;
	bool on_known_stack, truncated;
	size_t depth;

	if (!loop_iteration_is_late(turn))
		return;
	thread = threads_self_by_tid(atomic_load_explicit(&turn->tid, memory_order_relaxed));
	on_known_stack = thread && sp >= thread->stack_low && sp < thread->stack_high;
	depth = mixed_stack_context(uc, on_known_stack ? thread->stack_high : 0, turn->pcs,
				    SAMPLE_DEPTH_MAX, &truncated);
	loop_iteration_sampled(turn, depth, truncated);
	if (unwind_wants_refresh())
		ring_wake();
}

static void sampler_run_delayed_call(void)
{
	if (sampler_call_off())
		later.call();
}

static void on_signal(int signo, siginfo_t *info, void *uc)
{
	uintptr_t value = (uintptr_t)info->si_value.sival_ptr;
	uintptr_t slot = value & ~CLOCK_KIND_BITS;
	struct turn *turn = info->si_code == SI_TIMER ? loop_iteration_of_signal(value) : NULL;

	if (info->si_code == SI_TIMER && value == (uintptr_t)&later)
		sampler_run_delayed_call();
	else if (info->si_code == SI_QUEUE && value == (uintptr_t)&broadcast_call)
		atomic_load (&broadcast_call)();
	else if (turn)
		take_stall_stack(turn, uc);
	else if (info->si_code != SI_TIMER || !thread_slot_is_valid(slot))
		sampler_forward(signo, info, uc);
	else if (atomic_load_explicit(&enabled, memory_order_acquire) &&
		 threads_is_self((struct thread *)slot))
		take_sample((struct thread *)slot, value & CLOCK_KIND_BITS, uc);
}

static bool signal_is_free(int signo)
{
	struct disposition now;

	return !disposition_get(signo, &now) && now.handler == (void *)SIG_DFL;
}

/* An emulator of another processor needs some signals itself, and has no number for the last few of the program's: a
 * handler can be set, but nothing comes. */
static bool signal_can_arrive(int signo)
{
	static _Atomic int known;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signo };
	int timer;
	long err;

	if (signo == atomic_load_explicit(&known, memory_order_relaxed))
		return true;
	event.sigev_notify_thread_id = system_thread();
	err = kernel_call4(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)&timer, 0);
	if (!err)
		kernel_call4(SYS_timer_delete, timer, 0, 0, 0);
	if (err == -EINVAL)
		return false;
	atomic_store_explicit(&known, signo, memory_order_relaxed);
	return true;
}

int sampler_choose_below(int signo)
{
	while (--signo > FIRST_SIGNAL)
		if (signal_is_free(signo) && signal_can_arrive(signo))
			return signo;
	return 0;
}

int sampler_choose(void)
{
	int signo = sampler_choose_below(LAST_SIGNAL + 1);

	/* Where every one is taken (the Go runtime takes them all) we go before the handler of
	 * the highest, and pass on what is not ours. */
	return signo ? signo : LAST_SIGNAL;
}

void sampler_install_by(sampler_installer *install, sampler_remover *remove)
{
	installer = install;
	remover = remove;
}

int sampler_install(void)
{
	int signo = sampler_choose(), err;

	if (atomic_load(&given_up))
		return -EBUSY;
	signal_share_open();
	if (sampler_signal())
		return sampler_signal();
	err = disposition_get(signo, &previous);
	if (!err)
		err = installer(signo, on_signal, SA_ONSTACK);
	if (err)
		return err;
	atomic_store(&signal_number, signo);
	return signo;
}

/* A timer that some thread was just making is taken away with the others. */
static bool is_quiet(void)
{
	threads_close();
	return signal_share_close() && !atomic_load(&turns.on) && !atomic_load(&broadcasters) &&
	       !sampler_call_pends();
}

/* (What watches turns asks the other engine.) */
static bool is_quiet_beside(void)
{
	threads_close();
	return !atomic_load(&broadcasters) && !sampler_call_pends();
}

static void sampler_remove_when(bool (*is_quiet_now)(void))
{
	int signo = sampler_signal(), tries = QUIET_TRIES;

	if (!signo || previous.handler != (void *)SIG_DFL)
		return;
	atomic_store(&signal_number, 0);
	while (!is_quiet_now() && --tries)
		system_sleep(QUIET_PAUSE_NS);
	if (tries) {
		remover(signo);
	} else {
		signal_share_open();
		atomic_store(&signal_number, signo);
	}
}

void sampler_remove(void)
{
	sampler_remove_when(is_quiet);
}

void sampler_remove_beside(void)
{
	sampler_remove_when(is_quiet_beside);
}

int sampler_signal(void)
{
	return atomic_load_explicit(&signal_number, memory_order_relaxed);
}

void sampler_give_up(int signo)
{
	if (signo != sampler_signal())
		return; /* only thought of: another will be chosen */
	atomic_store(&enabled, false);
	atomic_store(&given_up, true);
	sampler_call_off();
	threads_disarm();
	atomic_store(&signal_number, 0);
}

/* To the thread: another of the process may be one that no C library knows of. */
int sampler_call_later(uint64_t after_ns, void (*call)(void))
{
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)(after_ns / 1000000000u),
						 .tv_nsec = (long)(after_ns % 1000000000u) } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_value.sival_ptr = &later };
	bool was_installed = sampler_signal();
	long err = 0;

	event.sigev_signo = sampler_install();
	/* A fork copies what is handled before it copies memory: if another thread installed the handler
	 * between the two, memory says that it is there, and it is not. */
	if (event.sigev_signo < 0)
		err = event.sigev_signo;
	else if (was_installed)
		err = installer(event.sigev_signo, on_signal, SA_ONSTACK);
	if (err)
		return (int)err;
	event.sigev_notify_thread_id = system_thread();
	err = kernel_call4(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)&later.timer, 0);
	if (err)
		return (int)err;
	later.call = call;
	atomic_store(&later.pid, system_process());
	kernel_call4(SYS_timer_settime, later.timer, 0, (long)&when, 0);
	return 0;
}

bool sampler_call_pends(void)
{
	pid_t pid = atomic_load(&later.pid);

	/* (What a child of vfork finds here is its parent's.) */
	return pid && pid == system_process();
}

uint64_t sampler_call_off(void)
{
	struct itimerspec left = { 0 };
	pid_t pid = atomic_load(&later.pid);

	if (!sampler_call_pends() || !atomic_compare_exchange_strong(&later.pid, &pid, 0))
		return 0;
	kernel_call4(SYS_timer_gettime, later.timer, (long)&left, 0, 0);
	kernel_call4(SYS_timer_delete, later.timer, 0, 0, 0);
	return (uint64_t)left.it_value.tv_sec * 1000000000u + (uint64_t)left.it_value.tv_nsec + 1;
}

uint32_t sampler_call_in_others(void (*call)(void))
{
	siginfo_t info = { .si_code = SI_QUEUE, .si_value.sival_ptr = &broadcast_call };
	pid_t self = system_thread(), process = system_process(), tid;
	struct thread *t;
	uint32_t count = 0;

	info.si_pid = process;
	atomic_store(&broadcast_call, call);
	atomic_fetch_add(&broadcasters, 1);
	info.si_signo = sampler_signal();
	for (uint32_t at = 0; info.si_signo && (t = thread_slot_next(&at));) {
		tid = atomic_load_explicit(&t->tid, memory_order_relaxed);
		if (tid && tid != self && !atomic_load(&t->ended) &&
		    !kernel_call4(SYS_rt_tgsigqueueinfo, process, tid, info.si_signo, (long)&info))
			count++;
	}
	atomic_fetch_sub(&broadcasters, 1);
	return count;
}

void sampler_choose_again(void)
{
	atomic_store(&signal_number, 0);
}

bool sampler_after_fork(void)
{
	atomic_store(&enabled, false);
	atomic_store(&broadcasters, 0);
	return atomic_exchange(&later.pid, 0);
}

void sampler_enable(bool on)
{
	atomic_store_explicit(&enabled, on, memory_order_release);
}
