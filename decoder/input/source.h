/* One mapped recording: a .jfr file, a member of a zip, or the content of standard input. */
#ifndef DECODER_INPUT_SOURCE_H
#define DECODER_INPUT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct source {
	char *name; /* for messages: PATH, PATH(MEMBER), "standard input" */
	const uint8_t *data;
	uint64_t length;
	char *labels;            /* of the zip, else of the recording, see labels.h; NULL: none */
	struct archive *archive; /* zip with this member; NULL: a plain file */
	uint64_t member;

	/* Set by the zip reader: unpack the member; release it. NULL for a file. */
	int (*load)(struct source *source);
	void (*release)(struct source *source);

	bool is_loaded;      /* data and length are valid */
	bool has_labels;     /* labels are valid */
	unsigned references; /* counted by the feed; 1 at the start, for the list */
	struct source *next;
};

/* Load data and labels. A zip's member is unpacked only now, to an unnamed file, to save space on the disk.
 * Returns 0, or -errno after a message. Members of one zip must not be loaded or closed concurrently. */
int source_load(struct source *source);

/* Unmap and free SOURCE. */
void source_close(struct source *source);

/* For the unpackers: create a source of the content of FD; map FD into SOURCE; the limit of unpacked bytes for PACKED
 * bytes, one of so many FILES in a zip. Recordings compress to about a quarter, so a much higher ratio is treated as a zip bomb. */
int source_create(struct source **out, const char *name, int fd);
int source_map_data(struct source *source, int fd);
uint64_t source_unpacked_max(uint64_t packed, uint64_t files);

#endif
