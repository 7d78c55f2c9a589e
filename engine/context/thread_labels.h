/* Labels that the program sets for its threads, through the C interface. */
#ifndef ENGINE_CONTEXT_THREAD_LABELS_H
#define ENGINE_CONTEXT_THREAD_LABELS_H

#include <stdbool.h>
#include <stdint.h>

/* Maximum size of a thread's labels, with a NUL after each key and value. */
#define THREAD_LABELS_MAX 512

/* Set label KEY of the calling thread to VALUE; NULL or "" removes the label. Not for signal
 * context. Returns 0, or:
 *
 * * -EINVAL: KEY is empty, longer than 128 bytes, or has a '=' or a control character
 * * -ENOSPC: all labels of the thread would exceed THREAD_LABELS_MAX bytes, or too many threads
 *   have labels
 * * -ENOMEM */
int thread_labels_set(const char *key, const char *value);

/* True if a thread of this process has ever set a label. Any thread. */
bool thread_labels_exist(void);

/* The labels of the calling thread: "key", NUL, "value", NUL and so on; *SIZE bytes.
 * Async-signal-safe; valid until the thread changes its labels. */
const char *thread_labels(uint16_t *size);

/* Release the labels of the calling thread, which ends. */
void thread_labels_end(void);

/* In a forked child: keep only the labels of the calling thread, which continues the work of the
 * thread that forked. */
void thread_labels_after_fork(void);

#endif
