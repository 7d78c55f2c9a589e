/* Hooks without effect, for a test's preload that tests other hooks. */
#ifndef TEST_PROGRAMS_HOOKS_H
#define TEST_PROGRAMS_HOOKS_H

#include "preload/interpose/hooks.h"

static inline void ignore(void)
{
}

static inline void ignore_thread(pid_t tid, uintptr_t stack_low, uintptr_t stack_high,
				 uintptr_t entry)
{
	(void)tid;
	(void)stack_low;
	(void)stack_high;
	(void)entry;
}

static inline void ignore_exit(enum exiting how)
{
	(void)how;
}

static inline void ignore_crash(int signo, int code, uintptr_t address, const void *context)
{
	(void)signo;
	(void)code;
	(void)address;
	(void)context;
}

static inline bool ignore_namespace_change(void)
{
	return false;
}

static inline void ignore_armed(bool armed)
{
	(void)armed;
}

static inline void ignore_landlock(bool told, bool entered)
{
	(void)told;
	(void)entered;
}

static inline void ignore_signal(int signo)
{
	(void)signo;
}

#endif
