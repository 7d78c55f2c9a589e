/* Owners of locks, from the words of the C library's locks. Agent thread only. */
#ifndef ENGINE_WAIT_WAIT_OWNER_H
#define ENGINE_WAIT_WAIT_OWNER_H

#include <stddef.h>

#include "engine/wait/wait.h"

/* Forms of locks that contain their owner's thread id. */
enum wait_owner_kind {
	WAIT_OWNER_NONE,
	WAIT_OWNER_MUTEX, /* glibc's pthread_mutex_t: at offset 8 */
	WAIT_OWNER_WORD,  /* the futex itself: musl's mutexes except normal ones; glibc's robust and
			    * priority-inheriting mutexes; the thread of pthread_join(3) */
	WAIT_OWNER_RWLOCK, /* the writer of glibc's pthread_rwlock_t: at offset 24 */
};

#define WAIT_OWNER_ANY UINT8_MAX /* the form is not known yet */

/* Set the owner of WAIT, a futex of thread TID, to the thread that the lock's words name now, in
 * the forms of WAIT, and is_handed_over. If these are all, it is a guess: any word may be a thread's id by accident.
 * wait_set_cause_by_stack() removes wrong guesses. */
void wait_find_owner(struct wait *wait, pid_t tid);

/* A lock's words from its futex on. */
#define WAIT_OWNER_WORDS 5

/* The same for the COUNT words at WORDS. *KINDS are the possible forms, and then the form of the
 * result. IS_THREAD tells whether a number is a thread of the process other than the waiting one.
 * Returns 0 if there is none, without a change to *KINDS. */
pid_t wait_owner_of_words(const uint32_t words[WAIT_OWNER_WORDS], size_t count,
			  bool (*is_thread)(void *context, pid_t tid), void *context,
			  uint8_t *kinds);

#endif
