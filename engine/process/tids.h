/* Thread ids of this process, from /proc. */
#ifndef ENGINE_PROCESS_TIDS_H
#define ENGINE_PROCESS_TIDS_H

#include <stddef.h>
#include <sys/types.h>

/* Store the sorted ids in *TIDS, allocated with malloc. Returns their number, or -errno with *TIDS unchanged. */
ssize_t tids_list(pid_t **tids);

/* Find TID in COUNT sorted TIDS, which may be NULL if COUNT is 0. Returns its entry or NULL. */
const pid_t *tids_find(const pid_t *tids, size_t count, pid_t tid);

#endif
