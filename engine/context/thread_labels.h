/* What threads are labelled with by the program, through the C interface. */
#ifndef ENGINE_CONTEXT_THREAD_LABELS_H
#define ENGINE_CONTEXT_THREAD_LABELS_H

#include <stddef.h>
#include <stdint.h>

/* Of all that a thread has, with a NUL behind each key and value. */
#define THREAD_LABELS_MAX 512

/* Label the calling thread: KEY has VALUE from now on; NULL or "": it has none any more. Returns 0, or
 * -EINVAL for a KEY that is empty, or longer than 128 bytes, or has a '=' or a control character; -ENOSPC when all
 * labels of the thread would take more than THREAD_LABELS_MAX bytes, or too many threads have some;
 * -ENOMEM. Not for signal context. */
int thread_labels_set(const char *key, const char *value);

/* Those of the calling thread: "key", NUL, "value", NUL and so on; *SIZE bytes. Async-signal-safe; valid until the
 * thread labels itself again. */
const char *thread_labels(uint16_t *size);

/* The calling thread ends. */
void thread_labels_end(void);

/* In a forked child, which goes on with what the thread that forked was doing: that keeps its labels. */
void thread_labels_after_fork(void);

#endif
