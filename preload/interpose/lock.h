/* Waits for locks of the C library, if they are sampled. */
#ifndef PRELOAD_INTERPOSE_LOCK_H
#define PRELOAD_INTERPOSE_LOCK_H

/* From now on, the program's calls of pthread_mutex_lock(3) and its relatives come here. In the constructor. */
void lock_interpose(void);

/* In a forked child. */
void lock_reset_in_child(void);

#endif
