/* Output of the command waits. */
#ifndef DECODER_COMMANDS_WAITS_PRINT_H
#define DECODER_COMMANDS_WAITS_PRINT_H

#include "decoder/commands/args.h"
#include "profile/waits/thread_times.h"
#include "profile/waits/wait_chains.h"
#include "profile/waits/wait_groups.h"

struct waits {
	const struct args *args;
	const struct profile *profile;
	const struct thread_times *times;
	struct wait_groups groups;
	struct wait_chains chains;
	double exact; /* share of the time that was scaled to exact times */
	unsigned width;
};

/* Return 0 or -ENOMEM; then the output is incomplete. */
int waits_print_text(const struct waits *waits);
int waits_print_json(const struct waits *waits);

#endif
