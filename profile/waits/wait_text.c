/* Texts about waits, for people. */
#include "profile/waits/wait_text.h"

void wait_append_place(struct buf *out, const struct profile *p, uint32_t frame, uint32_t thread)
{
	char name[256];

	if (frame)
		buf_printf(out, "%s ", profile_frame_name(p, frame));
	profile_thread_name(p, thread, name, sizeof(name));
	buf_append_string(out, thread ? name : "an unknown thread");
}

void wait_append_text(struct buf *out, const struct profile *p, const struct thread_index *threads,
		      const struct sample *s)
{
	const struct wait *wait = profile_wait(p, s->wait);
	const char *object = wait_lock_name(intern_text(&p->names, wait->on));

	if (wait->state == WAIT_UNKNOWN)
		return;
	buf_append_string(out, jfr_wait_states[wait->state]);
	if (wait->state != WAIT_WAITING || !wait->cause)
		return;
	if (!*object && wait->cause == WAIT_SYSCALL)
		object = intern_text(&p->names, wait->call);
	buf_printf(out, ": %s%s%s", jfr_wait_causes[wait->cause], *object ? " " : "", object);
	if (!wait->owner)
		return;
	buf_append_string(out, ", held by ");
	wait_append_place(out, p, wait_own_frame(p, wait->owner_stack),
			  thread_index_find(threads, p, s->thread, wait->owner));
}
