/* The way from the image to the functions of the program's side. */
#ifndef IMAGE_HOST_H
#define IMAGE_HOST_H

#include "image/start.h"

/* Before any of them is called. START is as the program's side made it. */
void host_connect(const struct image_start *start);

/* Of the program's side: the engine has started. */
void host_started(void);
void host_left(void);

#endif
