/* The image's access to functions of the host's side. host.c also defines gettid() and getauxval(), which the image's C
 * library does not have. */
#ifndef IMAGE_HOST_H
#define IMAGE_HOST_H

#include "image/start.h"

/* Set the table of functions. Called once, before any of them. START is from the host's side. */
void host_connect(const struct image_start *start);

/* Notify the host's side that the engine has started, or that profiling has ended for good. */
void host_started(void);
void host_left(void);

#endif
