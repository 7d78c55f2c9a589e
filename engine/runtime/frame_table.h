/* The functions of the program's own language that were met on stacks, and the places in them, each
 * with a number that stands for it among program counters.
 *
 * A frame is told by the address of its entry here, where no code can ever be: so whatever carries
 * program counters (rings, trees of allocations, stacks of a chunk) carries these as they are. What
 * is said of a function was copied while it was on a stack, and so was sure to be itself; an entry is
 * never used again for another while anybody may hold it. The table is bounded, and frames beyond it are all
 * the same one, "[frame table full]".
 *
 * So that a program that makes functions all the time goes on being named, the table is renewed: what is met
 * from then on goes to an empty one, also what the old one had. The old one is dropped when nothing leads to
 * it any more, which is for the one who renews it to know.
 *
 * All but opening and renewing is async-signal-safe: no lock, no allocation. */
#ifndef ENGINE_RUNTIME_FRAME_TABLE_H
#define ENGINE_RUNTIME_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/jfr/jfr_types.h"

/* What is kept of names and paths, in bytes with the NUL; longer ones are cut. */
#define FRAME_NAME_MAX 256
#define FRAME_FILE_MAX 1024

/* A frame, as it is to be shown. */
struct script_frame {
	const char *name; /* qualified as far as its runtime knows */
	const char *file; /* "" where it is not known */
	uint32_t line;    /* 0: not known */
	enum jfr_frame_type type;
};

/* Make room. Returns 0 or -ENOMEM; once open the table stays. */
int frame_table_open(void);

/* The function with PRINT, which tells it from all others that there ever are; 0 when there is no room.
 * *FRESH: it was not known, and the caller is to describe it, at once. */
uint32_t frame_table_function(uint64_t print, bool *fresh);
void frame_table_describe(uint32_t function, enum jfr_frame_type type, const char *name,
			  const char *file);

/* The frame that is at OFFSET, the runtime's own number, in FUNCTION (0 is one as well). *FRESH: it was
 * not known, and the caller is to tell its line. */
uintptr_t frame_table_place(uint32_t function, uint32_t offset, bool *fresh);
void frame_table_line(uintptr_t frame, uint32_t line);

/* Whether that was told. (Nobody tells that of the frame for which there was no room.) */
bool frame_table_has_line(uintptr_t frame);

/* Whether PC is such a frame, rather than an address of code; what it is then goes to *FRAME. One of a table
 * that was dropped is "[forgotten]". */
bool frame_table_find(uintptr_t pc, struct script_frame *frame);

/* How often the table was renewed. Numbers of functions from before are for who is in the walk that got them, and not
 * to be remembered. */
unsigned frame_table_renewals(void);

/* The rest is for one thread, the agent's.
 *
 * Renew the table, if much of it is used and none from before is still there. Returns whether it is new. */
bool frame_table_renew(void);

/* Whether there is one from before, which is to be dropped. */
bool frame_table_is_renewed(void);

/* What stands for FRAME in the new table, where it is one of the old one: for those that outlive it. */
uintptr_t frame_table_keep(uintptr_t frame);

/* Drop the old table: no walk that began before it was renewed is under way, and nobody holds a frame of it. */
void frame_table_drop(void);

#endif
