/* Recordings opened by their paths, whatever they are packed in. */
#ifndef DECODER_INPUT_SOURCE_OPEN_H
#define DECODER_INPUT_SOURCE_OPEN_H

#include "decoder/input/source.h"

/* Map PATH ("-": standard input; or what bucket_list_objects() gave), of a gzip what is in it. A zip gives a list of all the recordings in
 * it. Returns 0, or -errno after a line on stderr. */
int source_open(struct source **out, const char *path);

/* The same of the file FD, which stays the caller's, as NAME. */
int source_open_fd(struct source **out, const char *name, int fd);

/* Where PATH is a stream, which can be read once, read it now: so processes that are forked later
 * can open it too. */
void source_copy_stream(const char *path);

/* A mapped file that somebody cuts off under us ends the program with a line and status 1. */
void source_handle_bus_errors(void);

#endif
