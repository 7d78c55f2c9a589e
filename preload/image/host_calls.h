/* Table of the host's functions that the image calls, by number: image/host_calls.h. */
#ifndef PRELOAD_IMAGE_HOST_CALLS_H
#define PRELOAD_IMAGE_HOST_CALLS_H

extern const void *const host_calls[];

/* The engine has started: install the handlers that notify the end of the process. On the image's thread. */
void host_started(void);

/* The engine has stopped: remove these handlers. On the image's thread. */
void host_left(void);

#endif
