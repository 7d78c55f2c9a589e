/* What our threads and handlers call is nothing that a program would have thought of in its filter. */
#include "preload/interpose/sandbox.h"

#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"

void sandbox_ahead(void)
{
	const struct interpose_hooks *hooks = hooks_get();
	bool armed = exit_is_armed();

	if (!hooks)
		return;
	if (!hooks->before_sandbox(armed)) {
		/* What a crash would take may be what the filter kills for. */
		fatal_remove_crashes();
		return;
	}
	fatal_remove();
	if (armed) /* what a child of vfork has in memory is its parent's */
		exit_disarm();
}
