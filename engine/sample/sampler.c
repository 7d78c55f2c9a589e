/* Handler of the sampling signal.
 *
 * The handler and what it calls run in any thread and any state of the program. So there are no
 * locks and no allocations, and errno is not touched. The other functions say in sampler.h who
 * calls them. */
#include "engine/sample/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "core/clock.h"
#include "core/cost.h"
#include "core/disposition.h"
#include "core/log.h"
#include "core/signal_share.h"
#include "core/shared.h"
#include "core/system.h"
#include "core/timer/dropped_signals.h"
#include "engine/context/thread_labels.h"
#include "engine/jfr/jfr_types.h"
#include "engine/reading/memory_reader.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/handler_budget.h"
#include "engine/sample/library_signals.h"
#include "engine/sample/ready_wait.h"
#include "engine/sample/ring.h"
#include "engine/sample/thread_slots.h"
#include "engine/sample/threads.h"
#include "engine/sample/loop_iterations.h"
#include "engine/unwind/unwind.h"

static _Atomic int signal_number;
static _Atomic bool enabled, given_up;
static int preferred; /* signal to choose if it is free; 0: none */
static struct disposition previous, installed;

/* A delayed call, which a timer of process PID makes in the handler; 0: none. */
static struct {
	_Atomic pid_t pid;
	int timer;
	void (*call)(void);
} delayed_call;
static sampler_handler *without_handler;
static sampler_free_check *is_free_handler;
static sampler_installer *installer;
static sampler_remover *remover;

/* The call that other threads make from the handler, and the number of threads that are sending
 * that signal. */
static void (*_Atomic broadcast_call)(void);
static _Atomic uint32_t broadcasters;

/* When it is made again after a signal that was refused. */
#define REFUSED_CALL_NS 10000000u

/* Marks the signal that requests the stack of a lock's owner. */
static const char owner_mark;

/* How long to wait until no signal is sent any more: a thread that sets its timer may have to wait
 * for a processor. */
#define QUIET_TRIES    500
#define QUIET_PAUSE_NS 1000000u

/* Of the signals for programs: the first that the C library leaves to them, and the last but one.
 * The last one is valgrind's. */
#define FIRST_SIGNAL 34
#define LAST_SIGNAL  63

/* The signal was delivered when the thread left a system call with a result. */
static uint8_t end_of_call(const ucontext_t *uc)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(uc);

	return memory_is_system_call(pc - ARCH_SYSTEM_CALL_BYTES)
		       ? ready_wait_end_of((long)CONTEXT_RESULT(uc))
		       : READY_WAIT_UNKNOWN;
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

/* Reserve a sample of KIND with the stack of the interrupted context UC. */
static struct sample *sample_interrupted(struct thread *thread, enum sample_kind kind,
					 const ucontext_t *uc)
{
	uintptr_t sp = (uintptr_t)CONTEXT_SP(uc);
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
		ring_wake(); /* the collector looks for new modules first */
	return sample;
}

/* The args are the slot, the thread's CPU time, from which the collector sees whether the thread ran again, and ready_waits_pack(). */
static void take_wall_sample(struct thread *thread, const ucontext_t *uc)
{
	struct sample *sample = sample_interrupted(thread, SAMPLE_WALL, uc);

	if (!sample)
		return;
	sample->state = memory_is_in_system_call(uc) ? JFR_STATE_SLEEPING : JFR_STATE_RUNNABLE;
	sample->args[0] = (uint64_t)(uintptr_t)thread;
	sample->args[1] = clock_cpu_ns();
	sample->args[2] = ready_waits_pack(ready_wait_end, end_of_call(uc));
	ready_wait_end = READY_WAIT_UNKNOWN;
	sampler_commit(thread, sample);
}

static void commit_cpu_sample(struct thread *thread, uint32_t weight, const ucontext_t *uc)
{
	struct sample *sample = sample_interrupted(thread, SAMPLE_CPU, uc);

	if (!sample)
		return;
	sample->weight = weight;
	sampler_commit(thread, sample);
}

/* A sample that the budget refuses stays due; the next sample's weight includes it. */
static void take_cpu_sample(struct thread *thread, const ucontext_t *uc)
{
	struct cpu_timer *timer = &thread->clock.cpu;
	uint64_t cpu_ns = clock_cpu_ns();
	bool is_due = cpu_timer_is_due(timer, cpu_ns),
	     is_allowed = is_due && handler_budget_begin(cpu_ns);
	uint32_t due = is_allowed ? cpu_timer_advance(timer, cpu_ns) : 0;

	cpu_timer_continue(timer, cpu_ns, !is_due && memory_is_in_system_call(uc));
	if (due)
		commit_cpu_sample(thread, due, uc);
	if (is_allowed)
		cost_add(COST_CPU, handler_budget_end(), 1);
}

/* At a thread's end, its stack shows only the function that it was created for, and the two
 * functions of the C library that called it. */
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
	uint32_t due = cpu_timer_end(&thread->clock.cpu);
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

/* The signal belongs to the program's earlier handler. */
static void sampler_forward(int signo, siginfo_t *info, void *uc)
{
	/* A handler without SA_SIGINFO reads only the first argument. */
	if (previous.handler != (void *)SIG_DFL && previous.handler != (void *)SIG_IGN)
		((sampler_handler *)previous.handler)(signo, info, uc);
	else
		without_handler(signo, info, uc);
}

/* A refused sample is not dropped at once: a thread that has just been sampled runs, so its share would be too small. Of
 * a thread that waits, the next sample stands for this one too. Without interposers it is dropped: only the agent's
 * thread can note the call that a later signal interrupts. */
static void delay_wall_sample(struct thread_clock *clock, uint64_t wait_ns)
{
	if (wait_ns && !shared->is_attached)
		thread_clock_interrupt_again(clock, wait_ns);
	else
		thread_clock_interrupted(clock);
}

static void take_sample(struct thread *thread, enum clock_kind kind, const ucontext_t *uc)
{
	cost_add_signal(kind == CLOCK_OF_CPU ? COST_CPU : COST_WALL);
	if (kind == CLOCK_OF_CPU) {
		take_cpu_sample(thread, uc);
		return;
	}
	if (!handler_budget_begin(clock_cpu_ns())) {
		delay_wall_sample(&thread->clock, handler_budget_wait_ns());
		return;
	}
	thread_clock_interrupted(&thread->clock);
	take_wall_sample(thread, uc);
	cost_add(COST_WALL, handler_budget_end(), 1);
}

/* Also called in threads that are not sampled. The args are the signal, its code, and the address.
 */
void sampler_crashed(int signo, int code, uintptr_t address, const void *context)
{
	struct thread *thread = threads_self();
	uintptr_t sp = (uintptr_t)CONTEXT_SP((const ucontext_t *)context),
		  *pcs = ring_scratch_acquire();
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

/* The thread's event-loop iteration is late. The stack is stored in ITERATION until the iteration ends.
 */
static void take_stall_stack(struct loop_iteration *iteration, const ucontext_t *uc)
{
	uintptr_t sp = (uintptr_t)CONTEXT_SP(uc);
	const struct thread *thread;
	bool on_known_stack, truncated;
	size_t depth;

	cost_add_signal(COST_STALLS);
	if (!loop_iteration_is_late(iteration) || !handler_budget_begin_wall(clock_cpu_ns()))
		return;
	thread = threads_self_by_tid(atomic_load_explicit(&iteration->tid, memory_order_relaxed));
	on_known_stack = thread && sp >= thread->stack_low && sp < thread->stack_high;
	depth = mixed_stack_context(uc, on_known_stack ? thread->stack_high : 0, iteration->pcs,
				    SAMPLE_DEPTH_MAX, &truncated);
	loop_iteration_sampled(iteration, depth, truncated);
	cost_add(COST_STALLS, handler_budget_end(), 1);
	if (unwind_wants_refresh())
		ring_wake();
}

/* The lock may be gone. */
static uint32_t read_word(uintptr_t address)
{
	struct memory_block block;
	struct memory_reader reader = { .block = &block };
	uint32_t word = 0;

	memory_block_init(&block);
	return address && memory_read(&reader, &word, address, sizeof(word)) ? word : 0;
}

/* Another thread waits for a lock of this one, which may have released it since then. */
static void take_owner_sample(struct thread *thread, const ucontext_t *uc)
{
	uintptr_t word = atomic_exchange_explicit(&thread->lock_word, 0, memory_order_relaxed);
	pid_t tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
	struct sample *sample;

	cost_add_signal(COST_LOCKS);
	if ((read_word(word) & LOCK_OWNER_TID) != (uint32_t)tid ||
	    !handler_budget_begin(clock_cpu_ns()))
		return;
	sample = sample_interrupted(thread, SAMPLE_LOCK_OWNER, uc);
	if (sample) {
		sample->args[0] = word;
		sampler_commit(thread, sample);
	}
	cost_add(COST_LOCKS, handler_budget_end(), 0);
}

static void on_owner_signal(const ucontext_t *uc)
{
	struct thread *thread =
		atomic_load_explicit(&enabled, memory_order_acquire) ? threads_self() : NULL;

	if (thread)
		take_owner_sample(thread, uc);
}

static void delayed_call_set(uint64_t after_ns)
{
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)(after_ns / 1000000000u),
						 .tv_nsec = (long)(after_ns % 1000000000u) } };

	kernel_call4(SYS_timer_settime, delayed_call.timer, 0, (long)&when, 0);
}

static void sampler_run_delayed_call(void)
{
	if (sampler_cancel_call())
		delayed_call.call();
}

static void note_arrival(struct thread *thread, enum clock_kind kind)
{
	if (kind == CLOCK_OF_WALL)
		thread_clock_interrupted(&thread->clock);
	else
		cpu_timer_signal_arrived(&thread->clock.cpu);
}

static void on_signal(int signo, siginfo_t *info, void *uc)
{
	uintptr_t value = (uintptr_t)info->si_value.sival_ptr;
	uintptr_t slot = value & ~CLOCK_KIND_BITS;
	struct loop_iteration *iteration =
		info->si_code == SI_TIMER ? loop_iteration_of_signal(value) : NULL;

	if (info->si_code == SI_TIMER && value == (uintptr_t)&delayed_call)
		sampler_run_delayed_call();
	else if (info->si_code == SI_QUEUE && value == (uintptr_t)&broadcast_call)
		atomic_load (&broadcast_call)();
	else if (info->si_code == SI_QUEUE && value == (uintptr_t)&owner_mark)
		on_owner_signal(uc);
	else if (iteration)
		take_stall_stack(iteration, uc);
	else if (info->si_code != SI_TIMER || !thread_slot_is_valid(slot))
		sampler_forward(signo, info, uc);
	else if (!threads_is_self((struct thread *)slot))
		;
	else if (atomic_load_explicit(&enabled, memory_order_acquire))
		take_sample((struct thread *)slot, value & CLOCK_KIND_BITS, uc);
	else
		note_arrival((struct thread *)slot, value & CLOCK_KIND_BITS);
}

void sampler_refuse(const siginfo_t *info)
{
	uintptr_t value = (uintptr_t)info->si_value.sival_ptr;
	struct thread *thread = (struct thread *)(value & ~CLOCK_KIND_BITS);

	if (info->si_code != SI_TIMER)
		return;
	if (value == (uintptr_t)&delayed_call && sampler_call_pends())
		delayed_call_set(REFUSED_CALL_NS);
	else if (thread_slot_is_valid((uintptr_t)thread) &&
		 atomic_load(&thread->tid) == system_thread())
		note_arrival(thread, value & CLOCK_KIND_BITS);
}

static int disposition_of_program(int signo, struct disposition *now)
{
	int err = disposition_get(signo, now);

	if (!err && is_free_handler && is_free_handler(signo, now->handler))
		now->handler = (void *)SIG_DFL;
	return err;
}

static bool signal_is_free(int signo)
{
	struct disposition now;

	return !disposition_of_program(signo, &now) && now.handler == (void *)SIG_DFL;
}

/* An emulator of another processor uses some signals itself, and has no number for the program's
 * last few. A handler for such a signal can be set, but the signal never arrives. */
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
		if (!signal_is_of_library(signo) && signal_is_free(signo) &&
		    signal_can_arrive(signo))
			return signo;
	return 0;
}

void sampler_prefer(int signo)
{
	preferred = signo;
}

int sampler_choose(void)
{
	int signo;

	if (preferred && signal_is_free(preferred) && signal_can_arrive(preferred))
		return preferred;
	signo = sampler_choose_below(LAST_SIGNAL + 1);
	if (signo)
		return signo;
	/* If every signal is taken (the Go runtime takes them all), the handler goes before that of
	 * the highest one, and forwards foreign signals to it. */
	for (signo = LAST_SIGNAL; signal_is_of_library(signo);)
		signo--;
	return signo;
}

void sampler_install_by(sampler_installer *install, sampler_remover *remove,
			sampler_handler *forward, sampler_free_check *is_free)
{
	installer = install;
	remover = remove;
	without_handler = forward;
	is_free_handler = is_free;
}

int sampler_install(void)
{
	int signo = sampler_choose(), chosen = sampler_signal(), err;

	if (atomic_load(&given_up))
		return -EBUSY;
	signal_share_open();
	if (chosen)
		return chosen;
	err = disposition_of_program(signo, &previous);
	if (err)
		return err;
	/* The program may take it as soon as the handler is installed. */
	atomic_store(&signal_number, signo);
	err = installer(signo, on_signal, SA_ONSTACK);
	if (!err)
		err = disposition_get(signo, &installed);
	if (err)
		atomic_store(&signal_number, 0);
	return err ? err : signo;
}

/* Also deletes a timer that a thread was just creating. */
static bool is_quiet(void)
{
	threads_close();
	return signal_share_close() && !atomic_load(&loop_iterations.on) &&
	       !atomic_load(&broadcasters) && !sampler_call_pends();
}

/* (The stall watcher gets its signals from the other engine.) */
static bool is_quiet_for_second(void)
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

void sampler_remove_second(void)
{
	sampler_remove_when(is_quiet_for_second);
}

int sampler_install_enabled(void)
{
	int signo, tries = LAST_SIGNAL - FIRST_SIGNAL;

	do {
		signo = sampler_install();
		if (signo < 0)
			return signo;
		atomic_store(&enabled, true);
		if (atomic_load(&signal_number) == signo)
			return signo;
		atomic_store(&enabled, false); /* the program has taken the signal meanwhile */
	} while (--tries);
	return -EBUSY;
}

int sampler_signal(void)
{
	return atomic_load_explicit(&signal_number, memory_order_relaxed);
}

void sampler_give_up(int signo)
{
	if (signo != sampler_signal())
		return; /* the signal was only a candidate: another will be chosen */
	atomic_store(&enabled, false);
	atomic_store(&given_up, true);
	sampler_cancel_call();
	threads_disarm();
	atomic_store(&signal_number, 0);
}

void sampler_check(void)
{
	int signo = sampler_signal();
	struct disposition now;

	if (!signo || disposition_get(signo, &now) || now.handler == installed.handler)
		return;
	sampler_give_up(signo);
	log_warn_later("the program uses signal %d, by which it was sampled; no more samples are "
		       "taken",
		       signo);
}

/* The timer signals the thread: another thread of the process may be unknown to the C library. */
int sampler_call_later(uint64_t after_ns, void (*call)(void))
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_value.sival_ptr = &delayed_call };
	bool was_installed = sampler_signal();
	long err = 0;

	event.sigev_signo = sampler_install();
	/* A fork copies signal handlers before it copies memory. If another thread installs the
	 * handler in between, the child's memory says that it is installed, and it is not.
	 */
	if (event.sigev_signo < 0)
		err = event.sigev_signo;
	else if (was_installed)
		err = installer(event.sigev_signo, on_signal, SA_ONSTACK);
	if (err)
		return (int)err;
	event.sigev_notify_thread_id = system_thread();
	err = kernel_call4(SYS_timer_create, CLOCK_MONOTONIC, (long)&event,
			   (long)&delayed_call.timer, 0);
	if (err)
		return (int)err;
	delayed_call.call = call;
	atomic_store(&delayed_call.pid, system_process());
	delayed_call_set(after_ns);
	return 0;
}

bool sampler_call_pends(void)
{
	pid_t pid = atomic_load(&delayed_call.pid);

	/* (A child of vfork finds its parent's value here.) */
	return pid && pid == system_process();
}

uint64_t sampler_cancel_call(void)
{
	struct itimerspec left = { 0 };
	pid_t pid = atomic_load(&delayed_call.pid);

	if (!sampler_call_pends() || !atomic_compare_exchange_strong(&delayed_call.pid, &pid, 0))
		return 0;
	kernel_call4(SYS_timer_gettime, delayed_call.timer, (long)&left, 0, 0);
	dropped_signals_begin();
	kernel_call4(SYS_timer_delete, delayed_call.timer, 0, 0, 0);
	dropped_signals_end();
	return clock_time_ns(&left.it_value) + 1;
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

void sampler_interrupt_owner(struct thread *owner, uintptr_t lock_word)
{
	siginfo_t info = { .si_code = SI_QUEUE, .si_value.sival_ptr = (void *)&owner_mark };
	pid_t process = system_process();

	info.si_pid = process;
	atomic_store(&owner->lock_word, lock_word);
	atomic_fetch_add(&broadcasters, 1);
	info.si_signo = sampler_signal();
	if (info.si_signo)
		kernel_call4(SYS_rt_tgsigqueueinfo, process, atomic_load(&owner->tid),
			     info.si_signo, (long)&info);
	atomic_fetch_sub(&broadcasters, 1);
}

void sampler_choose_again(int signo)
{
	atomic_store(&signal_number, 0);
	if (!atomic_load(&enabled))
		return;
	/* An engine has started meanwhile. */
	atomic_store(&signal_number, signo);
	sampler_give_up(signo);
}

bool sampler_after_fork(void)
{
	atomic_store(&enabled, false);
	atomic_store(&broadcasters, 0);
	return atomic_exchange(&delayed_call.pid, 0);
}

void sampler_enable(bool on)
{
	atomic_store_explicit(&enabled, on, memory_order_release);
}
