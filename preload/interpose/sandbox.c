/* What our threads and handlers call is nothing that a program would have thought of in its filter. */
#include "preload/interpose/sandbox.h"

#include <stddef.h>

#include "preload/interpose/seccomp_filter.h"
#include "core/system.h"
#include "engine/reading/memory_reader.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/sandbox_calls.h"

struct call {
	char name[20];
	uint32_t number;
	bool must;
};

#define MUST(call) { #call, SYS_##call, true },
#define MAY(call)  { #call, SYS_##call, false },

static const struct call of_program[] = { SANDBOX_CALLS_OF_PROGRAM(MUST, MAY) };
static const struct call of_agent[] = { SANDBOX_CALLS_OF_AGENT(MUST, MAY) };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A trap is a signal that the program does not expect, and whoever is told of a call may never answer. */
static bool is_refused(const struct call *call, bool must, uint32_t action)
{
	if (action == SECCOMP_RET_ERRNO)
		return must || call->must;
	return action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG;
}

/* With MUST none may fail. */
static const char *first_refused(const struct call *calls, size_t count, bool must,
				 const struct sock_fprog *filter, struct filter_step *steps)
{
	for (size_t i = 0; i < count; i++)
		if (is_refused(&calls[i], must,
			       seccomp_filter_action(filter->filter, filter->len, steps,
						     calls[i].number)))
			return calls[i].name;
	return NULL;
}

static const char *either_refused(bool must, const struct sock_fprog *filter,
				  struct filter_step *steps)
{
	const char *refused = first_refused(of_program, COUNT(of_program), must, filter, steps);

	return refused ? refused : first_refused(of_agent, COUNT(of_agent), must, filter, steps);
}

/* False when the kernel will not take it, either. */
static bool look(struct sandbox *sandbox, const struct sock_fprog *theirs)
{
	struct sock_fprog filter;
	size_t code_bytes, bytes;
	bool readable = false;
	char *room;

	if (!memory_copy(&filter, (uintptr_t)theirs, sizeof(filter)) || !filter.len ||
	    filter.len > BPF_MAXINSNS)
		return false;
	code_bytes = filter.len * sizeof(*filter.filter);
	bytes = code_bytes + filter.len * sizeof(struct filter_step);
	room = system_map(bytes);
	if (!room)
		return true;
	if (memory_copy(room, (uintptr_t)filter.filter, code_bytes)) {
		struct filter_step *steps = (struct filter_step *)(void *)(room + code_bytes);

		readable = true;
		filter.filter = (struct sock_filter *)(void *)room;
		sandbox->refused =
			first_refused(of_program, COUNT(of_program), false, &filter, steps);
		sandbox->refused_in_agent = either_refused(false, &filter, steps);
		sandbox->fails_in_agent = either_refused(true, &filter, steps);
	}
	system_unmap(room, bytes);
	return readable;
}

void sandbox_begin(bool has_filter, const void *filter, bool all_threads)
{
	const struct interpose_hooks *hooks = hooks_get();
	struct sandbox sandbox = { .refused = of_program[0].name,
				   .refused_in_agent = of_program[0].name,
				   .fails_in_agent = of_program[0].name,
				   .all_threads = all_threads };
	bool armed = exit_is_armed();

	if (!hooks || (has_filter && !look(&sandbox, filter)))
		return;
	if (!hooks->before_sandbox(armed, &sandbox)) {
		/* What a crash would take may be what the filter kills for. */
		fatal_remove_crashes();
		return;
	}
	fatal_remove();
	if (armed) /* what a child of vfork has in memory is its parent's */
		exit_disarm();
}
