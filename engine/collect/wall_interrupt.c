/* Signals that take the stack of a waiting thread. */
#include "engine/collect/wall_interrupt.h"

#include "core/shared.h"
#include "engine/process/proc_file.h"

/* A call that was seen earlier stays noted. */
static void note_call(struct thread *t)
{
	struct thread_call call;
	char text[256];

	if (!thread_clock_is_under_way(&t->clock) &&
	    proc_file_read_of(atomic_load(&t->tid), "syscall", text, sizeof(text)) > 0 &&
	    thread_call_parse(&call, text))
		thread_call_write(&t->call, &call);
}

bool wall_interrupt(struct thread *t)
{
	if (shared->is_attached)
		note_call(t);
	return thread_clock_interrupt(&t->clock);
}
