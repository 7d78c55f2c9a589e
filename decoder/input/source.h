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

	/* The archive's: unpack the member, or be told that it is gone; NULL for a file. */
	int (*load)(struct source *source);
	void (*release)(struct source *source);

	bool loaded;         /* data and length are there, */
	bool has_labels;     /* and labels */
	unsigned references; /* for the feed to count; 1 at first: the list that it is in */
	struct source *next;
};

/* Have the data and the labels there: a zip's member is unpacked only now, to an unnamed file, so that no more of
 * them lie about than are being read. Returns 0, or -errno after a line. Not for two members of one
 * zip at the same time, and neither is source_close(). */
int source_load(struct source *source);

/* Unmap this one. */
void source_close(struct source *source);

/* For those who unpack: map FD as NAME; fill SOURCE with the content of FD; and the most bytes that so
 * many packed ones may come to. Recordings pack to a quarter: what claims to be a bomb is one. */
int source_create(struct source **out, const char *name, int fd);
int source_map_data(struct source *source, int fd);
uint64_t source_unpacked_max(uint64_t packed);

#endif
