/* Handler of the sampling signal: exchanges the thread pointer, and has interrupted system calls continued. */
#include "attach/handler.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "arch/attached.h"
#include "arch/stacks.h"
#include "attach/calls.h"
#include "attach/thread_area.h"
#include "core/disposition.h"
#include "core/system.h"
#include "engine/sample/thread_slots.h"

#define ALL_SIGNALS (~UINT64_C(0))

/* How long a thread may need to take its last signal, after the timers are deleted: it has to get a processor. */
#define LAST_SIGNALS_NS 50000000

/* A handler of the program that interrupts a continued call needs room on the alternate stack too. */
#define SIGNAL_STACK_MIN (64u << 10)

static void (*_Atomic engine_handler)(int, siginfo_t *, void *);
static struct disposition previous;
static _Atomic bool continues_calls;

void attach_handler_continue_calls(void)
{
	atomic_store(&continues_calls, true);
}

/* The thread's slot, or NULL if the signal is not one of a timer for this thread. */
static struct thread *thread_of_signal(const siginfo_t *info)
{
	uintptr_t slot = (uintptr_t)info->si_value.sival_ptr & ~CLOCK_KIND_BITS;
	struct thread *thread = (void *)slot;

	if (info->si_code != SI_TIMER || !thread_slot_is_valid(slot) ||
	    atomic_load(&thread->tid) != system_thread())
		return NULL;
	return thread;
}

static bool stack_has_room(const ucontext_t *context)
{
	return !context->uc_stack.ss_size || context->uc_stack.ss_flags & SS_DISABLE ||
	       context->uc_stack.ss_size >= SIGNAL_STACK_MIN;
}

static void handle_signal(struct thread_area *area, int signo, siginfo_t *info, void *context)
{
	void (*handler)(int, siginfo_t *, void *) = atomic_load(&engine_handler);
	uintptr_t before = arch_exchange_thread_pointer(area->pointer);

	attached_thread_pointer = before;
	handler(signo, info, context);
	arch_exchange_thread_pointer(before);
}

/* Signals that came while the call continued. They must not find its result. */
static void handle_pending(struct thread_area *area, int signo, void *context)
{
	static const struct timespec at_once = { 0 };
	uint64_t wanted = disposition_bit(signo);
	siginfo_t info;

	while (kernel_call4(SYS_rt_sigtimedwait, (long)&wanted, (long)&info, (long)&at_once,
			    sizeof(wanted)) == signo)
		if (thread_of_signal(&info))
			handle_signal(area, signo, &info, context);
}

static void mark_frame(struct thread_area *area, uintptr_t frame)
{
	if (area)
		atomic_store(&area->frame, frame);
}

static void continue_call(int signo, siginfo_t *info, void *interrupted)
{
	call_continue(thread_of_signal(info), interrupted, signo);
}

/* On a stack of the agent, because the alternate stack is small. That one is disabled meanwhile: a handler of the program
 * would begin at its top, where this signal's frame is. */
static void continue_call_elsewhere(int signo, siginfo_t *info, void *interrupted)
{
	static const stack_t none = { .ss_flags = SS_DISABLE };
	const ucontext_t *context = interrupted;

	if (kernel_call4(SYS_sigaltstack, (long)&none, 0, 0, 0))
		return;
	continue_call(signo, info, interrupted);
	kernel_call4(SYS_sigaltstack, (long)&context->uc_stack, 0, 0, 0);
}

static void on_signal(int signo, siginfo_t *info, void *interrupted)
{
	ucontext_t *context = interrupted;
	struct thread *thread = thread_of_signal(info);
	struct thread_area *area =
		thread ? thread_area_of(thread->index, atomic_load(&thread->tid)) : NULL;
	uintptr_t stack = 0;

	if (info->si_code != SI_TIMER)
		attach_handler_forward(signo, info, context);
	if (area)
		handle_signal(area, signo, info, context);
	/* Also after a late signal, of a thread that is not sampled any more. */
	if (!atomic_load(&continues_calls) || !call_was_ended(context))
		return;
	if (!stack_has_room(context)) {
		stack = area ? thread_area_stack_top(area) : 0;
		if (!stack)
			return;
	}
	mark_frame(area, (uintptr_t)__builtin_frame_address(0));
	if (stack)
		arch_call_on(stack, continue_call_elsewhere, signo, info, context);
	else
		continue_call(signo, info, context);
	if (area)
		handle_pending(area, signo, context);
	mark_frame(area, 0); /* another thread may take the area from now on */
}

int attach_handler_install(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct disposition wanted = { .handler = (void *)on_signal,
				      .flags = (unsigned)(flags | SA_SIGINFO | SA_RESTART |
							  SA_ONSTACK),
				      .mask = ALL_SIGNALS };
	struct disposition fault;
	int err = disposition_get(signo, &previous);

	if (!disposition_get(SIGSEGV, &fault) &&
	    disposition_leaves_signal_stack(fault.flags, fault.mask))
		wanted.flags &= ~(unsigned long)SA_ONSTACK;
	if (!err && previous.handler == (void *)on_signal)
		return 0;
	/* The program uses all signals for programs. */
	if (!err && previous.handler != (void *)SIG_DFL && previous.handler != (void *)SIG_IGN)
		err = -EBUSY;
	atomic_store(&engine_handler, handler);
	return err ? err : disposition_set(signo, &wanted, NULL);
}

int attach_handler_remove(int signo)
{
	static const struct disposition ignored = { .handler = (void *)SIG_IGN };
	struct disposition now;
	int err = disposition_get(signo, &now);

	if (!err && now.handler != (void *)on_signal)
		err = -EBUSY;
	/* Then the kernel drops instances that no thread has taken yet. A thread that one has woken would see EINTR
	 * without a handler, so the last ones get time. */
	if (!err)
		system_sleep(LAST_SIGNALS_NS);
	if (!err)
		err = disposition_set(signo, &ignored, NULL);
	return err ? err : disposition_set(signo, &previous, NULL);
}

void attach_handler_forward(int signo, siginfo_t *info, void *context)
{
	static const struct disposition by_default = { .handler = (void *)SIG_DFL };

	(void)context;
	if (info->si_code == SI_TIMER)
		return;
	disposition_set(signo, &by_default, NULL);
	kernel_call4(SYS_tgkill, system_process(), system_thread(), signo, 0);
}

bool attach_handler_is_free(int signo, const void *handler)
{
	(void)signo;
	(void)handler;
	return false;
}
