/* Names of processes and threads in exported profiles. */
#include "profile/export/export.h"

#include <stdlib.h>
#include <string.h>

void export_group_name(const struct timed_store *store, const struct timed_group *group,
		       char name[EXPORT_NAME_MAX])
{
	char process[128], thread[256] = "";

	timed_store_process(store, group->thread, process, sizeof(process));
	if (group->thread)
		profile_thread_name(&store->profile, group->thread, thread, sizeof(thread));
	snprintf(name, EXPORT_NAME_MAX, "%s%s%s%s%s", process, *process && *thread ? " " : "",
		 thread, *process || *thread ? " " : "",
		 store->has_metrics || (!*process && !*thread) ? metric_texts[group->metric].name
							       : "");
	for (size_t length = strlen(name); length && name[length - 1] == ' ';)
		name[--length] = '\0';
}

uint32_t export_pid(const char *name)
{
	const char *digits = strrchr(name, '_');

	return digits ? (uint32_t)strtoul(digits + 1, NULL, 10) : 0;
}

const uint32_t *export_stack(const struct timed_store *store, uint32_t id, uint32_t *depth)
{
	const uint32_t *frames = intern_key(&store->profile.stacks, id);

	*depth = intern_length(&store->profile.stacks, id) / (uint32_t)sizeof(*frames);
	return frames;
}

bool export_clip_mark(const struct timed_mark *mark, int64_t *end, int64_t *start)
{
	int64_t mark_end;

	if (__builtin_add_overflow(mark->time_ns, mark->duration_ns, &mark_end))
		mark_end = INT64_MAX;
	*start = mark->time_ns > *end ? mark->time_ns : *end;
	if (mark_end <= *start)
		return false;
	*end = mark_end;
	return true;
}
