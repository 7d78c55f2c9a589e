/* Sources opened by path: plain, compressed, in a zip, in a bucket. */
#ifndef DECODER_INPUT_SOURCE_OPEN_H
#define DECODER_INPUT_SOURCE_OPEN_H

#include "decoder/input/source.h"

/* Open PATH ("-": standard input; or a path from bucket_list_objects()). A gzip file is unpacked. A zip returns
 * a list of all recordings in it. Returns 0, or -errno after a message. */
int source_open(struct source **out, const char *path);

/* Like source_open(), for the descriptor FD, which stays the caller's. NAME is for messages. */
int source_open_fd(struct source **out, const char *name, int fd);

/* Copy PATH now if it is a stream, which can be read once. Then processes that are forked later
 * can open it too. */
void source_copy_stream(const char *path);

/* If another process truncates a mapped file, end this process with a message and status 1. */
void source_handle_bus_errors(void);

#endif
