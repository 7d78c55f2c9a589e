/* A profile.proto as it is written: messages, gzipped one by one, and what they name by number
 * (https://github.com/google/pprof/blob/main/proto/profile.proto). */
#ifndef PROFILE_PPROF_PPROF_H
#define PROFILE_PPROF_PPROF_H

#include <stdint.h>
#include <stdio.h>

#include "core/buf.h"
#include "profile/aggregate/libraries.h"
#include "profile/aggregate/profile.h"
#include "profile/basics/intern.h"
#include "profile/encode/gzip.h"

/* Field numbers of the message Profile of profile.proto. */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME_NS = 9,
	PPROF_DURATION_NS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,
};

struct pprof {
	const struct profile *profile;     /* where names, frames and stacks are; the caller's */
	const struct libraries *libraries; /* that its code was in; likewise */
	struct gzip *gzip;
	struct intern strings;  /* number - 1 is the index; the first is "" */
	struct intern mappings; /* see pprof_locations.c for these */
	struct intern functions;
	struct intern locations;
	char program[256]; /* by a label, where no frame is in it */
	bool chosen; /* labels are: those of a sample with one of these keys, with so many values */
	struct intern keys;
	uint32_t *label_value_counts;
	uint32_t depth_max; /* locations of a stack, the innermost; 0: all */
	struct buf message; /* that is being put together */
	struct buf inner;   /* a part of it */
	int err;            /* the first, as -errno: no need to ask before the end */
};

/* Begin to write to FILE. Returns 0 or -errno; release with pprof_close either way. */
int pprof_open(struct pprof *out, FILE *file, const struct profile *profile,
	       const struct libraries *libraries);

/* Likewise into BUF. */
int pprof_open_buf(struct pprof *out, struct buf *buf, const struct profile *profile,
		   const struct libraries *libraries);

/* Write what is left. Returns 0, or the first error that there was. */
int pprof_close(struct pprof *out);

/* Take in the result of a step. */
void pprof_note(struct pprof *out, int err);

/* The index of TEXT in the table of strings. */
int64_t pprof_add_string(struct pprof *out, const char *text);

/* Write out->message, which is empty afterwards, or NUMBER, as FIELD of the profile. */
void pprof_write_message(struct pprof *out, enum pprof_field field);
void pprof_write_number(struct pprof *out, enum pprof_field field, int64_t number);

/* The table of strings, when nothing will ask for another. */
void pprof_write_strings(struct pprof *out);

/* Give the program the first mapping, as readers take that for the program: where no frame is in it,
 * by the name that the recording is labelled with, or that a mapped file has. */
void pprof_add_program_mapping(struct pprof *out);

/* The number of the location of FRAME, 0 for no stack, and of the frames that it is inlined into. */
uint64_t pprof_add_location(struct pprof *out, uint32_t frame);

/* Mappings, locations and functions of all that pprof_add_location was asked for. */
void pprof_write_locations(struct pprof *out);

#endif
