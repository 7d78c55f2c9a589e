/* Whether memory that may be gone still holds what it held: many places at a third of what reading
 * each would take. Not for signal context. */
#ifndef ENGINE_READING_MEMORY_CHECK_H
#define ENGINE_READING_MEMORY_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define MEMORY_CHECK_PLACES 32
#define MEMORY_CHECK_BYTES  64 /* of each place at most */

struct memory_check {
	struct iovec places[MEMORY_CHECK_PLACES];
	const void *expected[MEMORY_CHECK_PLACES];
	size_t count; /* not looked at yet */
	bool failed;
};

/* To begin with it is all zero. EXPECTED is the caller's, and stays until memory_check_end(). */
void memory_check_add(struct memory_check *check, uintptr_t address, const void *expected,
		      size_t size);

/* True when all of it was there, as expected. */
bool memory_check_end(struct memory_check *check);

#endif
