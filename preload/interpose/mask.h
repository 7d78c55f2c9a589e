/* Signal masks of the program, without the sampling signals. */
#ifndef PRELOAD_INTERPOSE_MASK_H
#define PRELOAD_INTERPOSE_MASK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Return SET without the sampling signals: SET itself (also NULL) when it has none, otherwise COPY. */
const sigset_t *mask_strip(const sigset_t *set, sigset_t *copy);

/* Block the sampling signals in the calling thread. Returns true if BEFORE is the previous mask, for mask_restore(). */
bool mask_block_samples(uint64_t *before);
void mask_restore(const uint64_t *before);

/* The value of CALL, which no sample interrupts. For calls whose beginning or result a signal spoils. */
#define WITHOUT_SAMPLES(call)                                \
	({                                                   \
		uint64_t before_;                            \
		bool blocks_ = mask_block_samples(&before_); \
		__typeof__(call) result_ = (call);           \
                                                             \
		if (blocks_)                                 \
			mask_restore(&before_);              \
		result_;                                     \
	})

/* The sampling signals that the program has blocked in this thread, as far as it knows. A new thread inherits them. */
uint64_t mask_program_blocked(void);
void mask_set_program_blocked(uint64_t signals);

/* True when the program, the first process of its namespace, may read signals from a descriptor. Then each read(2)
 * of DATA from FD that returned DONE is checked. */
extern bool mask_checks_reads;
void mask_check_read(int fd, const void *data, ssize_t done);

#endif
