/* Events of the program's own making, as asprof_register_jfr_event and asprof_emit_jfr_event of
 * async-profiler's API have them. Any thread, not in signal context. */
#ifndef ENGINE_SAMPLE_USER_EVENTS_H
#define ENGINE_SAMPLE_USER_EVENTS_H

#include "core/asprof.h"

/* The key for NAME, the same for the same name; -1 when there is no room or there are too
 * many. */
asprof_jfr_event_key user_event_register(const char *name);

/* Put an event into the ring. Returns NULL, or what is wrong. */
asprof_error_t user_event_emit(asprof_jfr_event_key key, const uint8_t *data, size_t length);

/* The name of a key that user_event_register() gave; lives for ever. */
const char *user_event_name(asprof_jfr_event_key key);

#endif
