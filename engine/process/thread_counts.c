/* The kernel's counts for one thread. */
#include "engine/process/thread_counts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/process/proc_file.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Where the counts are: after KEY, in the given column of numbers or words. */
static const struct {
	const char *file, *key;
	unsigned column;
	size_t offset;
} places[] = {
	{ "schedstat", "", 0, offsetof(struct thread_counts, cpu_ns) },
	{ "schedstat", "", 1, offsetof(struct thread_counts, queue_ns) },
	/* After the name, which may contain anything else: the state is column 0. */
	{ "stat", ") ", 9, offsetof(struct thread_counts, major_faults) },
	{ "status", "\nvoluntary_ctxt_switches:", 0,
	  offsetof(struct thread_counts, voluntary_switches) },
	{ "status", "\nnonvoluntary_ctxt_switches:", 0,
	  offsetof(struct thread_counts, involuntary_switches) },
	{ "io", "rchar:", 0, offsetof(struct thread_counts, bytes_read) },
	{ "io", "wchar:", 0, offsetof(struct thread_counts, bytes_written) },
};

/* The text after the last KEY in TEXT; NULL if there is none. */
static const char *text_after(const char *text, const char *key)
{
	const char *found = *key ? NULL : text;

	for (const char *at = text; *key && (at = strstr(at, key)); at++)
		found = at + strlen(key);
	return found;
}

void thread_counts_parse(struct thread_counts *counts, const char *name, const char *text)
{
	uint64_t value;
	const char *at;

	for (size_t i = 0; i < COUNT(places); i++) {
		at = strcmp(places[i].file, name) ? NULL : text_after(text, places[i].key);
		for (unsigned column = places[i].column; at && column; column--) {
			at = strchr(at, ' ');
			at = at ? at + 1 : NULL;
		}
		if (!at)
			continue;
		value = strtoull(at, NULL, 10);
		memcpy((char *)counts + places[i].offset, &value, sizeof(value));
	}
}

int thread_counts_read(pid_t tid, struct thread_counts *counts, bool times_only)
{
	static const char *const files[] = { "schedstat", "stat", "status", "io" };
	char text[4096];
	ssize_t length;

	for (size_t i = 0; i < (times_only ? 1 : COUNT(files)); i++) {
		length = proc_file_read_alone(tid, files[i], text, sizeof(text));
		if (length < 0 && !i)
			return (int)length;
		thread_counts_parse(counts, files[i], text);
	}
	return 0;
}
