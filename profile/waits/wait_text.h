/* Texts about waits, for people. */
#ifndef PROFILE_WAITS_WAIT_TEXT_H
#define PROFILE_WAITS_WAIT_TEXT_H

#include "core/buf.h"
#include "profile/aggregate/profile.h"
#include "profile/waits/wait_groups.h"

/* Append a function and its thread: "flush_log [flusher tid=12]". FRAME 0: the thread only.
 * THREAD 0: "an unknown thread". */
void wait_append_place(struct buf *out, const struct profile *profile, uint32_t frame,
		       uint32_t thread);

/* Append what the thread of S did: "running", or "waiting: lock log_mutex, held by flush_log
 * [flusher tid=12]". Nothing if that is unknown. THREADS are the profile's. */
void wait_append_text(struct buf *out, const struct profile *profile,
		      const struct thread_index *threads, const struct sample *s);

#endif
