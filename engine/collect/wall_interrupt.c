/* Signals that take the stack of a waiting thread. */
#include "engine/collect/wall_interrupt.h"

#include <sys/syscall.h>

#include "core/preload_code.h"
#include "core/shared.h"
#include "engine/process/proc_file.h"

/* A call that was seen earlier stays noted, also while the handler continues it. */
static void note_call(struct thread *t)
{
	struct thread_call call;
	char text[256];

	if (!thread_clock_is_under_way(&t->clock) &&
	    proc_file_read_of(atomic_load(&t->tid), "syscall", text, sizeof(text)) > 0 &&
	    thread_call_parse(&call, text) && !preload_code_has(call.pc))
		thread_call_write(&t->call, &call);
}

bool wall_interrupt(struct thread *t)
{
	if (shared->is_attached)
		note_call(t);
	return thread_clock_interrupt(&t->clock);
}

void wall_set_continued_call(struct thread *t, struct wait *wait)
{
	struct thread_call noted;

	if (wait->state != WAIT_WAITING || !preload_code_has(wait->pc) ||
	    !thread_call_read(&t->call, &noted) || !noted.pc)
		return;
	if (wait->number == SYS_restart_syscall || wait->first == noted.arguments[0])
		wait_set_call(wait, atomic_load(&t->tid), &noted);
}
