/* Table of script functions on stacks and of positions in them. Each position has a number that
 * stands for it among program counters.
 *
 * A frame is represented by the address of its entry in this table, where code can never be. So
 * rings, allocation trees and stack traces store frames like program counters. The description of a
 * function was copied while the function was on a stack, so it is certain to be correct. An entry
 * is not reused while a user may hold it. The table is bounded; all frames that do not fit share
 * one entry, "[frame table full]".
 *
 * A program may create functions all the time. So the table is renewed: further frames go to an
 * empty table, even if the old one has them. The old table is dropped when nothing refers to it;
 * the caller of the renewal must know this.
 *
 * All functions except those for opening and renewal are async-signal-safe: no locks, no
 * allocation. */
#ifndef ENGINE_RUNTIME_FRAME_TABLE_H
#define ENGINE_RUNTIME_FRAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/jfr/jfr_types.h"

/* Longest stored names and paths, in bytes including the NUL; longer ones are cut. */
#define FRAME_NAME_MAX 256
#define FRAME_FILE_MAX 1024

/* A frame as it is displayed. */
struct script_frame {
	const char *name; /* qualified as far as the runtime knows */
	const char *file; /* "" if not known */
	uint32_t line;    /* 0: not known */
	enum jfr_frame_type type;
};

/* Allocate the table. Returns 0 or -ENOMEM. The table is never freed. */
int frame_table_open(void);

/* Number of the function with FINGERPRINT, which is unique over the life of the process; 0
 * if the table is full. *FRESH: the function is new, and the caller must describe it at once. */
uint32_t frame_table_function(uint64_t fingerprint, bool *fresh);
void frame_table_describe(uint32_t function, enum jfr_frame_type type, const char *name,
			  const char *file);

/* Frame at OFFSET, a position in the runtime's own units, in FUNCTION (which may be 0). *FRESH: the
 * frame is new, and the caller must set its line. */
uintptr_t frame_table_place(uint32_t function, uint32_t offset, bool *fresh);
void frame_table_line(uintptr_t frame, uint32_t line);

/* Whether the line of FRAME was set. (The line of the frame that stands for a full table is never set.) */
bool frame_table_has_line(uintptr_t frame);

/* Whether PC is a frame of this table and not an address of code; if so, fills in *FRAME. A frame
 * of a dropped table is "[forgotten]". */
bool frame_table_find(uintptr_t pc, struct script_frame *frame);

/* Number of renewals so far. A function number from before a renewal is valid only in the walk that
 * got it; callers must not store it. */
unsigned frame_table_renewals(void);

/* Return the bytes of the table that were never written; at most, as entries are at random positions. */
uint64_t frame_table_unused_bytes(void);

/* The following functions are for the agent's thread only.
 *
 * Renew the table if it is half full and no older table remains. Returns whether it was renewed. */
bool frame_table_renew(void);

/* Whether an old table remains that must be dropped. */
bool frame_table_is_renewed(void);

/* For a FRAME of the old table, the frame that replaces it in the new one; for frames that outlive
 * the old table. */
uintptr_t frame_table_keep(uintptr_t frame);

/* Drop the old table. The caller ensures that no walk from before the renewal is in progress and
 * that no user holds a frame of it. */
void frame_table_drop(void);

#endif
