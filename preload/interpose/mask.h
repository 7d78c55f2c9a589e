/* Signal masks of the program, from which sampling signals are kept out. */
#ifndef PRELOAD_INTERPOSE_MASK_H
#define PRELOAD_INTERPOSE_MASK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* SET without the sampling signals: SET itself (NULL too) where it has none, else COPY. */
const sigset_t *mask_strip(const sigset_t *set, sigset_t *copy);

/* The sampling signals that this thread believes to have blocked, which a thread that it makes
 * inherits. */
uint64_t mask_program_blocked(void);
void mask_set_program_blocked(uint64_t signals);

/* Whether the program, the first process of its namespace, may read its signals from a descriptor: then each read(2) of
 * DATA from FD, which returned DONE, is told. */
extern bool mask_checks_reads;
void mask_check_read(int fd, const void *data, ssize_t done);

#endif
