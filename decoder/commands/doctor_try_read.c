/* doctor --try: what the profiles contain. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/commands/command_input.h"
#include "decoder/commands/doctor_try.h"
#include "engine/jfr/jfr_types.h"
#include "profile/aggregate/functions.h"
#include "profile/basics/text.h"

/* Fewer samples of CPU time do not suffice for a share. */
#define CPU_SAMPLES_MIN 20

#define METRICS_READ (1u << METRIC_CPU | 1u << METRIC_WALL)

enum kind { KIND_NATIVE, KIND_KERNEL, KIND_JAVA, KIND_SCRIPTS };

const char *const doctor_kind_names[DOCTOR_KINDS] = { "native",     "kernel", "Java", "Python",
						      "JavaScript", "Ruby",   "PHP",  "Perl" };

_Static_assert(KIND_SCRIPTS + JFR_FRAME_TYPES - JFR_FRAME_PYTHON == DOCTOR_KINDS, "kinds");

static unsigned int kind_of(const struct frame *frame)
{
	enum jfr_frame_type type = (enum jfr_frame_type)frame->type;

	if (jfr_frame_is_script(type))
		return KIND_SCRIPTS + (unsigned int)type - JFR_FRAME_PYTHON;
	if (type == JFR_FRAME_KERNEL)
		return KIND_KERNEL;
	if (type == JFR_FRAME_INTERPRETED || type == JFR_FRAME_JIT || type == JFR_FRAME_C1)
		return KIND_JAVA;
	return KIND_NATIVE; /* also inlined: Java has other frames too */
}

/* "[unknown]", "[Java]", "[unknown callers]", and async-profiler's "unknown". */
static bool is_placeholder(const char *name)
{
	size_t length = strlen(name);

	return !strcmp(name, "unknown") || (*name == '[' && length && name[length - 1] == ']');
}

/* Whether NAME is an address, "libfoo.so+0x1a20", or, with async-profiler, a library's path. */
static bool is_address(const char *name)
{
	const char *plus = strrchr(name, '+');

	if (*name == '/')
		return true;
	if (!plus || strncmp(plus, "+0x", 3))
		return false;
	for (plus += 3; isxdigit((unsigned char)*plus); plus++)
		;
	return !*plus;
}

static bool has_name(const struct profile *profile, uint32_t frame)
{
	const char *name = profile_frame_name(profile, frame);

	return !is_placeholder(name) && !is_address(name);
}

/* async-profiler adds a frame "unknown" as the caller of a program's entry. */
static bool reaches_entry(const struct profile *profile, const uint32_t *frames, uint32_t depth)
{
	const char *name = profile_frame_name(profile, frames[depth - 1]);

	if (!is_placeholder(name))
		return true;
	if (strcmp(name, "unknown") || depth == 1)
		return false;
	name = profile_frame_name(profile, frames[depth - 2]);
	return !strcmp(name, "_start") || is_address(name);
}

/* Returns the share of samples for whose stack HAS_PROPERTY returns true. These are samples of CPU time, or all if there are
 * only few of CPU time: idle threads would outweigh the others. */
static double share_of(const struct doctor_trial *trial, const struct profile *profile,
		       bool (*has_property)(const struct profile *profile, const uint32_t *frames,
					    uint32_t depth))
{
	double samples = 0, with = 0;

	for (uint32_t i = 0; i < profile->count; i++) {
		const struct sample *sample = &profile->samples[i];
		const uint32_t *frames = intern_key(&profile->stacks, sample->stack);
		uint32_t depth = intern_length(&profile->stacks, sample->stack) / sizeof(*frames);

		if (sample->metric != METRIC_CPU &&
		    (sample->metric != METRIC_WALL || trial->cpu_samples >= CPU_SAMPLES_MIN))
			continue;
		samples += sample->count;
		if (sample->stack && depth && has_property(profile, frames, depth))
			with += sample->count;
	}
	return samples > 0 ? with / samples : 0;
}

static bool innermost_has_name(const struct profile *profile, const uint32_t *frames,
			       uint32_t depth)
{
	(void)depth;
	return has_name(profile, frames[0]);
}

/* Read what needs all frames. */
static void read_stacks(struct doctor_trial *trial, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->count; i++) {
		if (profile->samples[i].metric == METRIC_CPU)
			trial->cpu_samples += profile->samples[i].count;
		else if (profile->samples[i].metric == METRIC_WALL)
			trial->wall_samples += profile->samples[i].count;
	}
	for (uint32_t id = 1; id <= profile->frames.count; id++)
		if (has_name(profile, id))
			trial->kinds |= 1u << kind_of(profile_frame(profile, id));
	trial->complete = share_of(trial, profile, reaches_entry);
}

/* Read what is shown to users by default: in stacks with script functions, only these. */
static void read_functions(struct doctor_trial *trial, const struct profile *profile)
{
	struct functions functions;

	trial->named = share_of(trial, profile, innermost_has_name);
	if (functions_of(&functions, profile, profile_choose_metric(profile, METRIC_ANY), false, 0))
		return;
	for (uint32_t i = 0; i < functions.count && i < DOCTOR_HEAVIEST && functions.weight > 0;
	     i++) {
		const struct function *function = &functions.list[i];

		if (function->self <= 0)
			break;
		snprintf(trial->heaviest[i].name, sizeof(trial->heaviest[i].name), "%s",
			 intern_text(&profile->names, function->name));
		trial->heaviest[i].share = function->self / functions.weight;
		trial->heaviest_count++;
	}
	functions_free(&functions);
}

/* Read the profiles and pass the result to READ. */
static int read_profiles(struct doctor_trial *trial, const char *directory,
			 enum frames_shown frames,
			 void (*read)(struct doctor_trial *trial, const struct profile *profile))
{
	struct args args = ARGS_INIT("doctor");
	struct profile profile = PROFILE_INIT;
	char *file = (char *)directory;
	int status;

	args.files = &file;
	args.file_count = 1;
	args.query.frames = frames;
	status = command_read_profile(&profile, &args, METRICS_READ);
	if (status == COMMAND_OK)
		read(trial, &profile);
	profile_free(&profile);
	return status;
}

static int is_profile(const struct dirent *entry)
{
	return *entry->d_name != '.' && text_has_suffix(entry->d_name, ".jfr");
}

int doctor_try_read(struct doctor_trial *trial, const char *directory)
{
	struct dirent **list;
	int count = scandir(directory, &list, is_profile, NULL), status;

	for (int i = 0; i < count; i++)
		free(list[i]);
	if (count >= 0)
		free(list);
	if (count <= 0)
		return 0;
	status = read_profiles(trial, directory, SHOW_ALL, read_stacks);
	return status ? status : read_profiles(trial, directory, SHOW_SCRIPT, read_functions);
}
