/* System calls that change credentials, by the C library or by syscall(2). */
#ifndef PRELOAD_INTERPOSE_PRIVILEGE_CALLS_H
#define PRELOAD_INTERPOSE_PRIVILEGE_CALLS_H

#include <stdbool.h>
#include <sys/syscall.h>

/* Older headers lack it. No C library has a function for it. */
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

/* True when system call NUMBER needs the two functions below. setfsuid and setfsgid do not: the thread can always
 * return to its old user, and no later call depends on them. */
static inline bool privilege_calls_include(long number)
{
	switch (number) {
	case SYS_capset:
	case SYS_prctl:
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_landlock_restrict_self:
		return true;
	default:
		return false;
	}
}

/* For syscall(2): before call NUMBER with its first three arguments, and after it. The second function gets the
 * result of the first one as WAS_NOTIFIED. */
bool privilege_calls_before(long number, long first, long second, long third);
void privilege_calls_after(long number, long first, bool was_notified, bool failed);

#endif
