/* The signal in which a thread samples itself.
 *
 * All of it but sampler_install() runs in the handler, in whatever thread and state the program
 * was: no locks, no allocation, errno kept. */
#include "engine/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <ucontext.h>

#include "core/clock.h"
#include "engine/jfr_types.h"
#include "engine/ring.h"
#include "engine/threads.h"
#include "engine/unwind.h"

static _Atomic int signal_number;
static _Atomic bool enabled, given_up;
static struct sigaction previous;

struct context {
	uintptr_t pc, sp;
	bool in_system_call; /* interrupted in one, or just out of one that was */
};

static struct context read_context(const ucontext_t *uc)
{
	struct context c;
	const uint8_t *code;

#if defined(__x86_64__)
	c.pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	c.sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	code = (const uint8_t *)c.pc;
	/* 0f 05 is `syscall`. The kernel sets the pc back to it where it will restart the call,
	 * and leaves it behind with EINTR where it will not. The two bytes before the pc are
	 * looked at on the same page only, as that alone is sure to be there. */
	c.in_system_call = (code[0] == 0x0f && code[1] == 0x05) ||
			   ((c.pc & 4095) >= 2 && code[-2] == 0x0f && code[-1] == 0x05 &&
			    uc->uc_mcontext.gregs[REG_RAX] == -EINTR);
#elif defined(__aarch64__)
	c.pc = (uintptr_t)uc->uc_mcontext.pc;
	c.sp = (uintptr_t)uc->uc_mcontext.sp;
	code = (const uint8_t *)c.pc;
	/* d4000001 is `svc #0`. */
	c.in_system_call = *(const uint32_t *)code == 0xd4000001u ||
			   ((c.pc & 4095) >= 4 && ((const uint32_t *)code)[-1] == 0xd4000001u &&
			    (int64_t)uc->uc_mcontext.regs[0] == -EINTR);
#endif
	return c;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec spent;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent))
		return 0;
	return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

/* A wall sample's args are its slot, and the thread's CPU time, so that the collector sees
 * whether it ran again. */
static void take_sample(struct thread *thread, bool wall, const siginfo_t *info, const void *uc)
{
	struct context c = read_context(uc);
	bool on_known_stack = c.sp >= thread->stack_low && c.sp < thread->stack_high;
	struct asprof_thread_local_data *local;
	uintptr_t *pcs = ring_scratch_take();
	struct sample *sample;
	bool truncated;
	size_t depth;

	if (!pcs)
		return;
	depth = unwind_context(uc, on_known_stack ? thread->stack_high : 0, pcs, SAMPLE_DEPTH_MAX,
			       &truncated);
	sample = ring_reserve_stack(thread->index, wall ? SAMPLE_WALL : SAMPLE_CPU,
				    atomic_load_explicit(&thread->tid, memory_order_relaxed), pcs,
				    depth, truncated);
	ring_scratch_give(pcs);
	if (unwind_wants_refresh())
		ring_wake(); /* it looks for new modules first */
	if (!sample)
		return;
	if (wall) {
		sample->state = c.in_system_call ? JFR_STATE_SLEEPING : JFR_STATE_RUNNABLE;
		sample->args[0] = (uint64_t)(uintptr_t)thread;
		sample->args[1] = own_cpu_ns();
	} else if (info->si_overrun > 0) {
		/* Shots that fell due while the signal could not be delivered. */
		sample->weight += (uint32_t)info->si_overrun;
	}
	atomic_store_explicit(&thread->sampled, true, memory_order_relaxed);
	local = atomic_load_explicit(&thread->local, memory_order_relaxed);
	if (local)
		local->sample_counter = sample->ticks;
	ring_commit(sample);
}

/* Not ours: somebody else's handler was there before. */
static void pass_on(int signo, siginfo_t *info, void *uc)
{
	if (previous.sa_flags & SA_SIGINFO)
		previous.sa_sigaction(signo, info, uc);
	else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
		previous.sa_handler(signo);
}

static void on_signal(int signo, siginfo_t *info, void *uc)
{
	uintptr_t value = (uintptr_t)info->si_value.sival_ptr;
	int saved = errno;

	if (info->si_code != SI_TIMER || !threads_owns(value & ~(uintptr_t)THREAD_WALL_BIT))
		pass_on(signo, info, uc);
	else if (atomic_load_explicit(&enabled, memory_order_acquire))
		take_sample((struct thread *)(value & ~(uintptr_t)THREAD_WALL_BIT),
			    value & THREAD_WALL_BIT, info, uc);
	errno = saved;
}

static bool is_free(int signo)
{
	struct sigaction now;

	return !sigaction(signo, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
	       now.sa_handler == SIG_DFL;
}

int sampler_choose(void)
{
	int signo = SIGRTMAX - 1; /* the last is valgrind's */

	while (signo > SIGRTMIN && !is_free(signo))
		signo--;
	/* Where every one is taken (the Go runtime takes them all) we go before the handler of
	 * the highest, and pass on what is not ours. */
	return signo > SIGRTMIN ? signo : SIGRTMAX - 1;
}

int sampler_install(sampler_installer *install)
{
	int signo = sampler_choose(), err;

	if (sampler_gave_up())
		return -EBUSY;
	if (sampler_signal())
		return sampler_signal();
	if (sigaction(signo, NULL, &previous))
		return -errno;
	err = install(signo, on_signal, SA_ONSTACK);
	if (err)
		return err;
	atomic_store(&signal_number, signo);
	return signo;
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
	threads_disarm();
	atomic_store(&signal_number, 0);
}

bool sampler_gave_up(void)
{
	return atomic_load(&given_up);
}

void sampler_enable(bool on)
{
	atomic_store_explicit(&enabled, on, memory_order_release);
}
