/* The functions of this side that the image calls, by number: image/host_calls.h. */
#ifndef PRELOAD_IMAGE_HOST_CALLS_H
#define PRELOAD_IMAGE_HOST_CALLS_H

extern const void *const host_calls[];

/* On the image's thread: the engine has started, so that the process's end is worth being told. */
void host_started(void);

/* Likewise: there is nothing to tell any more. */
void host_left(void);

#endif
