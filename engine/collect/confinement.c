/* Detection of a seccomp filter that the program adds. */
#include "engine/collect/confinement.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/process/proc_file.h"
#include "engine/sample/threads.h"

/* A status file takes some 20 us, and they are read twice a second. */
#define CONFINEMENT_THREADS 4

static unsigned value_of(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? (unsigned)strtoul(line + strlen(name), NULL, 10) : 0;
}

unsigned confinement_parse(const char *text)
{
	unsigned filters = value_of(text, "\nSeccomp_filters:");

	return filters ? filters : value_of(text, "\nSeccomp:");
}

static unsigned filters_of(pid_t tid)
{
	char text[4096];

	return proc_file_read_of(tid, "status", text, sizeof(text)) > 0 ? confinement_parse(text)
									: 0;
}

/* Threads are looked at in turn. */
struct look {
	size_t at, from, count; /* of the thread that is visited, of the first one, and how many */
	unsigned filters;       /* the most of one thread */
};

static void look_at_thread(void *context, struct thread *t)
{
	struct look *look = context;
	unsigned filters;

	if (look->at++ < look->from || !look->count || atomic_load(&t->ended))
		return;
	look->count--;
	look->from = look->at;
	filters = filters_of(atomic_load(&t->tid));
	if (filters > look->filters)
		look->filters = filters;
}

bool confinement_has_grown(void)
{
	static bool is_known;
	static unsigned first;
	static size_t from;
	struct look look = { .from = from,
			     .count = is_known ? CONFINEMENT_THREADS : SIZE_MAX,
			     .filters = filters_of(getpid()) };

	threads_each(look_at_thread, &look);
	from = look.count ? 0 : look.from;
	if (!is_known)
		first = look.filters;
	is_known = true;
	return look.filters > first;
}
