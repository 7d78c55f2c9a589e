/* Privileges that the program gives up, through the C library or past it. */
#ifndef PRELOAD_INTERPOSE_PRIVILEGE_CALLS_H
#define PRELOAD_INTERPOSE_PRIVILEGE_CALLS_H

#include <stdbool.h>
#include <sys/syscall.h>

/* Of older headers. No C library has a function for it. */
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

/* Whether call NUMBER may be one of them: what any other is spared. */
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
	case SYS_setfsuid:
	case SYS_setfsgid:
	case SYS_setgroups:
	case SYS_landlock_restrict_self:
		return true;
	default:
		return false;
	}
}

/* For syscall(2), before such a call NUMBER with its first arguments, and after it: what the functions of the
 * C library that are interposed do. What the first returns the second is TOLD, and whether the call has FAILED. */
bool privilege_calls_before(long number, long first, long second, long third);
void privilege_calls_after(long number, long first, bool told, bool failed);

#endif
