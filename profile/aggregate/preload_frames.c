/* Removal of the preload's frames from stacks, by the name of their library. */
#include "profile/aggregate/preload_frames.h"

#include <string.h>

#include "profile/aggregate/frame_category.h"

#define PRELOAD_LIBRARY "libasprof_preload.so"

/* Names of the wrapped functions: the preload's export map, embedded by the assembler. */
extern const char preload_exports[] __attribute__((visibility("hidden")));

__asm__(".pushsection .rodata.preload_exports, \"a\"\n"
	".globl preload_exports\n"
	".hidden preload_exports\n"
	"preload_exports:\n"
	".incbin \"preload/exports.map\"\n"
	".byte 0\n"
	".popsection\n");

static const char *frame_module_name(const struct resolve *r, uint32_t id)
{
	return intern_text(&r->profile->names, profile_frame(r->profile, id)->module);
}

static bool is_preload_frame(const struct resolve *r, uint32_t id)
{
	const char *module = frame_module_name(r, id);
	size_t length = strlen(module), wanted = sizeof(PRELOAD_LIBRARY) - 1;

	return length >= wanted && !strcmp(module + length - wanted, PRELOAD_LIBRARY) &&
	       (length == wanted || module[length - wanted - 1] == '/');
}

/* Returns the length of the wrapped function's name at the start of NAME; 0 if there is none. A
 * line number may follow, or a compiler's suffix for a part of a function. */
static size_t wrapped_call_length(const char *name)
{
	const char *at = preload_exports, *end = at + strlen(at);
	size_t length = strcspn(name, ".: ");

	for (; length && (at = memmem(at, (size_t)(end - at), name, length)); at++)
		if (at[length] == ';' && (at[-1] == ' ' || at[-1] == '\t'))
			return length;
	return 0;
}

static bool is_c_library(const char *module)
{
	const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7) ||
	       !strncmp(name, "ld-musl-", 8) || !strncmp(name, "libc.musl-", 10);
}

/* Returns the name of the C library, in names: from an outer frame, as programs start in the C
 * library. */
static uint32_t c_library_module(const struct resolve *r, const uint32_t *ids, size_t count)
{
	for (size_t i = count; i--;)
		if (is_c_library(frame_module_name(r, ids[i])))
			return profile_frame(r->profile, ids[i])->module;
	return intern_string(&r->profile->names, "libc.so.6");
}

/* Returns a frame of LIBRARY, the C library, for the wrapped call that frame ID is; 0 if it is not
 * one. */
static uint32_t add_call_frame(struct resolve *r, uint32_t id, uint32_t library)
{
	struct frame frame = { .module = library,
			       .type = profile_frame(r->profile, id)->type,
			       .category = FRAME_LIBRARY };
	const char *name = profile_frame_name(r->profile, id);
	size_t length = wrapped_call_length(name);

	if (!length)
		return 0;
	frame.name = intern(&r->profile->names, name, length);
	return intern(&r->profile->frames, &frame, sizeof(frame));
}

/* Returns such a frame for the outermost wrapped call of the COUNT frames at IDS, all of the
 * preload; 0 if there is none. */
static uint32_t add_outermost_call_frame(struct resolve *r, const uint32_t *ids, size_t count,
					 uint32_t library)
{
	uint32_t id = 0;

	while (count-- && !id)
		id = add_call_frame(r, ids[count], library);
	return id;
}

static size_t count_kernel_frames(const struct resolve *r, const uint32_t *ids, size_t count)
{
	size_t n = 0;

	while (n < count && profile_frame(r->profile, ids[n])->type == JFR_FRAME_KERNEL)
		n++;
	return n;
}

void preload_frames_remove(struct resolve *r)
{
	uint32_t *ids = (uint32_t *)(void *)r->stack.data, call = 0, library;
	size_t count = r->stack.length / sizeof(*ids), preload_count = 0, kept, end;
	bool forwarded = false, own;

	kept = count_kernel_frames(r, ids, count);
	for (size_t i = kept; i < count; i++)
		preload_count += is_preload_frame(r, ids[i]);
	if (!preload_count || kept + preload_count == count)
		return;
	for (end = kept; is_preload_frame(r, ids[end]);)
		end++;
	library = c_library_module(r, ids, count);
	if (end > kept)
		call = add_outermost_call_frame(r, ids + kept, end - kept, library);
	if (call)
		ids[kept++] = call;
	for (size_t i = end; i < count; i++) {
		own = is_preload_frame(r, ids[i]);
		call = own ? add_call_frame(r, ids[i], library) : 0;
		if (!own)
			ids[kept++] = ids[i];
		else if (call && forwarded)
			ids[kept++] = call;
		forwarded = own && (call || forwarded);
	}
	r->stack.length = kept * sizeof(*ids);
}
