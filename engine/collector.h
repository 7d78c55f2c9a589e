/* From rings to chunks: takes samples out of the rings and writes them into the recording.
 * Agent thread only. */
#ifndef ENGINE_COLLECTOR_H
#define ENGINE_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector_setting {
	const char *key;
	char value[64];
};

#define COLLECTOR_SETTINGS_MAX 12

/* Begin the first chunk at the end of the file FD, which stays the caller's. The SETTINGS (a key
 * of NULL ends them) stand in every chunk. With MEMORY_ONLY no other samples than those of native
 * memory come. Returns 0 or -errno. */
int collector_start(int fd, const struct collector_setting settings[COLLECTOR_SETTINGS_MAX],
		    bool memory_only);

/* Take what the rings hold, and do what is due each second. */
void collector_drain(uint64_t now_ns);

/* Finish the chunk and begin the next. Returns 0, or -errno: the chunk is lost, and when the
 * next cannot begin either the collector is stopped. */
int collector_rotate(void);

/* Finish the last chunk. Returns 0 or -errno. */
int collector_stop(void);

/* Samples written since the process began, and those that were lost on the way. */
uint64_t collector_samples(void);
uint64_t collector_lost(void);

#endif
