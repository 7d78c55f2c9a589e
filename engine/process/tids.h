/* The ids of the threads of this process, as the kernel lists them. */
#ifndef ENGINE_PROCESS_TIDS_H
#define ENGINE_PROCESS_TIDS_H

#include <stddef.h>
#include <sys/types.h>

/* List them, sorted, in *TIDS (malloc'd). Returns their number or -errno. */
ssize_t tids_list(pid_t **tids);

/* Where TID stands among COUNT sorted TIDS, which may be NULL when COUNT is 0; NULL: nowhere. */
const pid_t *tids_find(const pid_t *tids, size_t count, pid_t tid);

#endif
