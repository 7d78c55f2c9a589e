/* What a seccomp filter does with system calls, found out without a call being made. */
#ifndef PRELOAD_INTERPOSE_SECCOMP_FILTER_H
#define PRELOAD_INTERPOSE_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of older headers. */
#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif
#ifndef SECCOMP_RET_LOG
#define SECCOMP_RET_LOG 0x7ffc0000U
#endif

/* How the ways through a filter stand before one of its instructions. */
struct filter_step {
	uint32_t value; /* the accumulator's */
	bool reached, known;
};

/* What the filter CODE of COUNT instructions does with system call NUMBER, a SECCOMP_RET_... without its data:
 * the worst that may come of any arguments, and of any place that it is made at. STEPS is room for COUNT. */
uint32_t seccomp_filter_action(const struct sock_filter *code, size_t count,
			       struct filter_step *steps, uint32_t number);

#endif
