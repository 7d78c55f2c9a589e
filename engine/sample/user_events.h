/* Events that the program emits with asprof_register_jfr_event and asprof_emit_jfr_event of
 * async-profiler's API. Any thread, not in signal context. */
#ifndef ENGINE_SAMPLE_USER_EVENTS_H
#define ENGINE_SAMPLE_USER_EVENTS_H

#include "core/asprof.h"

/* The key for NAME; the same name has the same key. Returns -1 when there is no room or there are
 * too many names. */
asprof_jfr_event_key user_event_register(const char *name);

/* Write an event to the ring. Returns NULL, or an error message. */
asprof_error_t user_event_emit(asprof_jfr_event_key key, const uint8_t *data, size_t length);

/* The name of a key from user_event_register(). It is never freed. */
const char *user_event_name(asprof_jfr_event_key key);

#endif
