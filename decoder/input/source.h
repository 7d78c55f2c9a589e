/* One recording, mapped: a .jfr file, a member of a zip, or what came on standard input. */
#ifndef DECODER_INPUT_SOURCE_H
#define DECODER_INPUT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct source {
	char *name; /* as messages call it: PATH, PATH(MEMBER), "standard input" */
	const uint8_t *data;
	uint64_t length;
	char *labels;            /* of the zip, else its own, see labels.h; NULL: none */
	struct archive *archive; /* the zip, whose member MEMBER this is; NULL: it is a file */
	uint64_t member;
	bool loaded;         /* data and length are there, */
	bool labelled;       /* and labels */
	unsigned references; /* for the feed to count; 1 at first: the list that it is in */
	struct source *next;
};

/* Map PATH ("-": standard input), of a gzip what is in it. A zip gives a list of all the recordings in
 * it. Returns 0, or -errno after a line on stderr. */
int source_open(struct source **out, const char *path);

/* Have the data and the labels there: a zip's member is unpacked only now, to an unnamed file, so that no more of
 * them lie about than are being read. Returns 0, or -errno after a line. Not for two members of one
 * zip at the same time, and neither is source_close(). */
int source_load(struct source *source);

/* Where PATH is a stream, which can be read once, read it now: so processes that are forked later
 * can open it too. */
void source_keep_stream(const char *path);

/* Unmap this one. */
void source_close(struct source *source);

/* Let go of the pages of DATA between FROM and UPTO: what was read need not stay resident. */
void source_forget(const uint8_t *data, uint64_t from, uint64_t upto);

/* A mapped file that somebody cuts off under us ends the program with a line and status 1. */
void source_guard(void);

#endif
