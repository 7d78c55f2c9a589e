/* Notes of the sampling signal handler about interrupted system calls. */
#include "preload/interpose/sample_note.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "core/kernel.h"

__thread unsigned long program_handled;
__thread struct sample_note sample_note;
__thread struct masked_wait masked_wait;

/* (A handler of the program may run here, and change errno.) */
void masked_wait_unblock(void)
{
	int saved = errno;

	kernel_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&masked_wait.added, 0,
		     sizeof(masked_wait.added));
	errno = saved;
}
