/* Mappings, functions and locations of a profile.proto. A location is identified by its innermost
 * frame; it also has the frames that this one is inlined into. */
#include "profile/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/frame_address.h"
#include "profile/encode/proto.h"

/* Interned by their bytes. The members are IDs in profile->names; 0: none. */
struct function_key {
	uint32_t name, module, file;
};

struct mapping_key {
	uint32_t module, build_id;
};

static uint32_t pprof_add_mapping(struct pprof *out, const struct frame *frame)
{
	struct mapping_key mapping = { frame->module, frame->build_id };

	return frame_is_in_mapped_file(frame) ? intern(&out->mappings, &mapping, sizeof(mapping))
					      : 0;
}

static uint32_t pprof_add_function(struct pprof *out, const struct frame *frame)
{
	struct function_key function = { frame->name, frame->module, frame->file };

	return intern(&out->functions, &function, sizeof(function));
}

uint64_t pprof_add_location(struct pprof *out, uint32_t frame)
{
	pprof_add_mapping(out, profile_frame(out->profile, frame));
	return intern(&out->locations, &frame, sizeof(frame));
}

static bool module_is_program(const char *module)
{
	return *module != '[' && !strstr(module, ".so") && strcmp(module, "vdso");
}

/* Copy the program's name from the labels to NAME: "executable", or the name in "process",
 * NAME_PID. */
static void program_name_from_labels(const struct pprof *out, char *name, size_t size)
{
	const struct intern *threads = &out->profile->threads;
	const struct thread_key *thread = intern_key(threads, threads->count ? 1 : 0);
	const char *labels = intern_text(&out->profile->names, thread->labels);
	const char *executable = strstr(labels, "executable="), *process = labels;
	size_t length;

	if (executable)
		process = executable + strlen("executable=");
	else if (!strncmp(labels, "process=", 8))
		process = labels + 8;
	else
		process = "";
	length = strcspn(process, "\n");
	if (!executable && memrchr(process, '_', length))
		length = (size_t)((const char *)memrchr(process, '_', length) - process);
	snprintf(name, size, "%.*s", (int)length, process);
}

void pprof_add_program_mapping(struct pprof *out)
{
	static const struct mapping_key without_frames = { 0, 0 };

	for (uint32_t id = 1; id <= out->profile->frames.count; id++) {
		const struct frame *frame = profile_frame(out->profile, id);
		const char *module = intern_text(&out->profile->names, frame->module);

		if (frame->module && frame->type == JFR_FRAME_NATIVE && module_is_program(module))
			pprof_add_mapping(out, frame);
	}
	if (out->mappings.count)
		return;
	program_name_from_labels(out, out->program, sizeof(out->program));
	for (uint32_t id = 1; id <= out->libraries->list.count && !out->program[0]; id++) {
		const struct library *library = intern_key(&out->libraries->list, id);
		const char *path = intern_text(&out->libraries->names, library->path);

		if (*path == '/' && module_is_program(path))
			snprintf(out->program, sizeof(out->program), "%s", path);
	}
	if (!out->program[0])
		strcpy(out->program, "[unknown program]");
	intern(&out->mappings, &without_frames, sizeof(without_frames));
}

/* Flags by mapping: information that readers need not add. */
enum { HAS_FILES = 1, HAS_LINES = 2, HAS_INLINED = 4 };

static uint8_t *mapping_flags_collect(struct pprof *out)
{
	uint8_t *flags = calloc((size_t)out->mappings.count + 1, 1);

	for (uint32_t id = 1; flags && id <= out->locations.count; id++) {
		const uint32_t *frame_id = intern_key(&out->locations, id);
		const struct frame *frame = profile_frame(out->profile, *frame_id);
		uint8_t *flag = &flags[pprof_add_mapping(out, frame)];

		*flag |= frame->file ? HAS_FILES : 0;
		*flag |= frame->line ? HAS_LINES : 0;
		*flag |= frame->caller ? HAS_INLINED : 0;
	}
	if (!flags)
		pprof_set_error(out, -ENOMEM);
	return flags;
}

static void pprof_write_mapping(struct pprof *out, uint32_t id, uint8_t flags)
{
	const struct mapping_key *mapping = intern_key(&out->mappings, id);
	const struct library *library =
		frame_library(out->profile, out->libraries, mapping->module, mapping->build_id);
	const char *name = intern_text(&out->profile->names, mapping->module), *build_id = "";

	if (!mapping->module)
		name = out->program;
	pprof_append_int(out, &out->message, 1, id);
	if (library) {
		name = intern_text(&out->libraries->names, library->path);
		build_id = intern_text(&out->libraries->names, library->build_id);
		pprof_append_int(out, &out->message, 2, (int64_t)library->base);
		pprof_append_int(out, &out->message, 3, (int64_t)library->top);
		pprof_append_int(out, &out->message, 4, (int64_t)library->file_offset);
	}
	pprof_append_int(out, &out->message, 5, pprof_add_string(out, name));
	pprof_append_int(out, &out->message, 6, pprof_add_string(out, build_id));
	pprof_append_int(out, &out->message, 7, 1); /* has_functions: symbolized */
	pprof_append_int(out, &out->message, 8, !!(flags & HAS_FILES));
	pprof_append_int(out, &out->message, 9, !!(flags & HAS_LINES));
	pprof_append_int(out, &out->message, 10, !!(flags & HAS_INLINED));
	pprof_write_message(out, PPROF_MAPPING);
}

static void pprof_write_mappings(struct pprof *out)
{
	uint8_t *flags = mapping_flags_collect(out);

	for (uint32_t id = 1; flags && id <= out->mappings.count; id++)
		pprof_write_mapping(out, id, flags[id]);
	free(flags);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3; /* FNV-1a */
	while (*text++);
	return hash;
}

/* Address for a frame that is in no mapped file, as a script's function. Grafana Alloy subtracts
 * profiles, and identifies stacks by their addresses only. The address is a hash of the frame's
 * names and line, so it is equal in all profiles. No code has its top bit set. */
static uint64_t synthetic_address(const struct pprof *out, const struct frame *frame)
{
	const struct intern *names = &out->profile->names;
	uint64_t hash = 0xcbf29ce484222325 ^ frame->line;

	hash = hash_text(hash, intern_text(names, frame->name));
	hash = hash_text(hash, intern_text(names, frame->module));
	return hash_text(hash, intern_text(names, frame->file)) | UINT64_C(1) << 63;
}

static uint64_t location_address(const struct pprof *out, const struct frame *frame)
{
	uint64_t address = frame_address(out->profile, out->libraries, frame);

	return address || frame_is_in_mapped_file(frame) ? address : synthetic_address(out, frame);
}

/* Write location ID: frame FRAME_ID and the frames that it is inlined into, innermost first. */
static void pprof_write_location(struct pprof *out, uint32_t id, uint32_t frame_id)
{
	const struct frame *frame = profile_frame(out->profile, frame_id);

	pprof_append_int(out, &out->message, 1, id);
	pprof_append_int(out, &out->message, 2, pprof_add_mapping(out, frame));
	pprof_append_int(out, &out->message, 3, (int64_t)location_address(out, frame));
	for (;; frame = profile_frame(out->profile, frame->caller)) {
		buf_reset(&out->inner);
		pprof_append_int(out, &out->inner, 1, pprof_add_function(out, frame));
		pprof_append_int(out, &out->inner, 2, frame->line);
		pprof_set_error(out, proto_message(&out->message, 4, &out->inner));
		if (!frame->caller)
			break;
	}
	pprof_write_message(out, PPROF_LOCATION);
}

static void pprof_write_function(struct pprof *out, uint32_t id)
{
	const struct function_key *function = intern_key(&out->functions, id);
	const struct intern *names = &out->profile->names;
	const char *name = function->name ? intern_text(names, function->name) : "[no stack]";

	pprof_append_int(out, &out->message, 1, id);
	pprof_append_int(out, &out->message, 2, pprof_add_string(out, name));
	pprof_append_int(out, &out->message, 3, pprof_add_string(out, name));
	pprof_append_int(
		out, &out->message, 4,
		pprof_add_string(out, intern_text(names, function->file ? function->file
									: function->module)));
	pprof_write_message(out, PPROF_FUNCTION);
}

void pprof_write_locations(struct pprof *out)
{
	pprof_write_mappings(out);
	for (uint32_t id = 1; id <= out->locations.count; id++) {
		const uint32_t *frame = intern_key(&out->locations, id);

		pprof_write_location(out, id, *frame);
	}
	for (uint32_t id = 1; id <= out->functions.count; id++)
		pprof_write_function(out, id);
}
