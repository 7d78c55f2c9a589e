/* Removal of async-profiler's allocation hooks from stacks. */
#include "profile/aggregate/hook_frames.h"

#include <string.h>

#include "profile/basics/text.h"

static const char library[] = "libasyncProfiler";

static const char *const hooks[] = { "malloc_hook", "calloc_hook", "realloc_hook",
				     "posix_memalign_hook", "aligned_alloc_hook" };

static bool is_hook(const struct profile *profile, const struct frame *frame)
{
	const char *module = text_base_name(intern_text(&profile->names, frame->module));
	const char *name = intern_text(&profile->names, frame->name);

	if (strncmp(module, library, sizeof(library) - 1) != 0)
		return false;
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		size_t length = strlen(hooks[i]);

		/* A line may follow. */
		if (!strncmp(name, hooks[i], length) && (!name[length] || name[length] == ':'))
			return true;
	}
	return false;
}

void hook_frames_remove(struct resolve *r)
{
	const uint32_t *ids = (const uint32_t *)(const void *)r->stack.data;
	size_t length = r->stack.length;

	if (length <= sizeof(*ids) || !is_hook(r->profile, profile_frame(r->profile, ids[0])))
		return;
	memmove(r->stack.data, ids + 1, length - sizeof(*ids));
	r->stack.length = length - sizeof(*ids);
}
