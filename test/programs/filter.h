/* The parts of a seccomp filter that only checks the number of a call. */
#ifndef TEST_PROGRAMS_FILTER_H
#define TEST_PROGRAMS_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* ACTION is a SECCOMP_RET_…. */
#define ON_CALL(number, action) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)
#define OTHERWISE(action) BPF_STMT(BPF_RET | BPF_K, action)

#endif
