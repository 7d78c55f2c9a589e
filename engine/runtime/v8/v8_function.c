/* JavaScript functions: fingerprint, name and position. */
#include <stdatomic.h>
#include <string.h>

#include "engine/runtime/script_text.h"
#include "engine/runtime/v8/v8.h"

/* ---- ScopeInfo ---- */

/* Its flags; these have the same position in all versions. */
#define SCOPE_SAVES_CLASS(f)    ((f) >> 10 & 1)
#define SCOPE_FUNCTION_NAME(f)  ((f) >> 12 & 3)
#define SCOPE_INFERRED_NAME(f)  ((f) >> 14 & 1)
#define SCOPE_NAMES_INLINED_MAX 75 /* limit of the names stored in it; more names are in a table */

#define SCOPE_WORDS 3 /* flags, parameters, number of names */

/* Description of a function. */
struct description {
	uintptr_t name; /* a string, or another object if there is no name */
	int32_t start, end;
};

static bool read_small(struct v8_work *work, uintptr_t field, int32_t *value)
{
	uintptr_t word;

	if (!v8_read_word(work, field, &word) || !v8_is_small_integer(word))
		return false;
	*value = v8_small_integer(word);
	return true;
}

static bool is_string(const struct v8 *v8, struct v8_work *work, uintptr_t value)
{
	uint16_t type;
	uint32_t length;
	uintptr_t string = v8_object(v8, work, value, &type);

	return string && type < 128 && v8_copy(work, &length, string + 12, sizeof(length)) &&
	       length;
}

static bool describe_scope(const struct v8 *v8, struct v8_work *work, uintptr_t scope,
			   struct description *d)
{
	uintptr_t at = scope + sizeof(uintptr_t), word, inferred = 0;
	int32_t names;
	uint32_t flags;

	if (!v8_read_word(work, at, &word) ||
	    !read_small(work, at + 2 * sizeof(uintptr_t), &names) || names < 0 || names > 1 << 20)
		return false;
	/* A small integer, or the plain value. */
	flags = (uint32_t)word ? (uint32_t)word : (uint32_t)(word >> 32);
	at += SCOPE_WORDS * sizeof(uintptr_t);
	if (v8->layout.scope_positions_first) {
		if (!read_small(work, at, &d->start) ||
		    !read_small(work, at + sizeof(uintptr_t), &d->end))
			return false;
		at += 2 * sizeof(uintptr_t);
	}
	at += (names < SCOPE_NAMES_INLINED_MAX ? (size_t)names : 1) * sizeof(uintptr_t);
	at += ((size_t)names + SCOPE_SAVES_CLASS(flags)) * sizeof(uintptr_t);
	if (SCOPE_FUNCTION_NAME(flags)) {
		if (!v8_read_word(work, at, &d->name))
			return false;
		at += 2 * sizeof(uintptr_t);
	}
	if (SCOPE_INFERRED_NAME(flags)) {
		if (!v8_read_word(work, at, &inferred))
			return false;
		at += sizeof(uintptr_t);
	}
	if (!is_string(v8, work, d->name))
		d->name = inferred;
	if (!v8->layout.scope_positions_first &&
	    (!read_small(work, at, &d->start) ||
	     !read_small(work, at + sizeof(uintptr_t), &d->end) || d->start < 0 ||
	     d->end < d->start))
		d->start = d->end = -1;
	return true;
}

/* ---- Functions ---- */

/* Combine HASH with the length and the end of the string. */
static uint64_t hash_string(const struct v8 *v8, struct v8_work *work, uint64_t hash,
			    uintptr_t value)
{
	uint8_t end[64] = { 0 };
	struct v8_flat flat;
	size_t bytes;
	uint64_t word;

	if (!v8_flat(v8, work, value, &flat))
		return script_text_mix(hash, 1);
	bytes = (size_t)flat.length << flat.is_wide;
	if (bytes > sizeof(end)) {
		flat.at += bytes - sizeof(end);
		bytes = sizeof(end);
	}
	if (bytes && !v8_copy(work, end, flat.at, bytes))
		return script_text_mix(hash, 2);
	for (size_t i = 0; i < sizeof(end); i += sizeof(word)) {
		memcpy(&word, end + i, sizeof(word));
		hash = script_text_mix(hash, word);
	}
	return script_text_mix(hash, flat.length);
}

/* The name of an ES module is a URL. */
static const char *script_path(const char *name)
{
	return strncmp(name, "file://", 7) ? name : name + 7;
}

static void name_function(const struct v8 *v8, struct v8_work *work, uintptr_t name, uintptr_t file)
{
	v8_string(v8, work, name, work->name, sizeof(work->name));
	if (!work->name[0])
		memcpy(work->name, "(anonymous)", sizeof("(anonymous)"));
	v8_string(v8, work, file, work->file, sizeof(work->file));
}

bool v8_function(const struct v8 *v8, struct v8_work *work, uintptr_t shared,
		 struct v8_function *function)
{
	const struct v8_layout *l = &v8->layout;
	struct description d = { .start = -1, .end = -1 };
	uintptr_t info, word, file = 0, source = 0;
	int32_t id = -1;
	uint64_t fingerprint;
	uint16_t type;
	bool fresh;

	/* Frequent in recursion. */
	if (shared == work->last.shared) {
		*function = work->last;
		return true;
	}
	if (!v8_read_word(work, shared + l->shared_name, &word))
		return false;
	info = v8_object(v8, work, word, &type);
	if (info && type == l->scope_info) {
		if (!describe_scope(v8, work, info, &d))
			return false;
	} else {
		d.name = word;
	}
	function->script = v8_field(v8, work, shared + l->shared_script, l->script);
	if (function->script) {
		if (!read_small(work, function->script + l->script_id, &id) ||
		    !v8_read_word(work, function->script + l->script_name, &file) ||
		    !v8_read_word(work, function->script + l->script_source, &source))
			return false;
	}
	function->shared = shared;
	function->start = d.start;
	/* Script numbers are unique only within an isolate, so other properties are part of the fingerprint. */
	fingerprint = script_text_mix(script_text_mix(7, (uint32_t)id),
				      (uint64_t)(uint32_t)d.start << 32 | (uint32_t)d.end);
	fingerprint = hash_string(v8, work, hash_string(v8, work, fingerprint, d.name), file);
	fingerprint = hash_string(v8, work, fingerprint, source);
	function->number = frame_table_function(fingerprint, &fresh);
	if (fresh) {
		name_function(v8, work, d.name, file);
		frame_table_describe(function->number, JFR_FRAME_JAVASCRIPT, work->name,
				     script_path(work->file));
	}
	work->last = *function;
	return true;
}

uintptr_t v8_place(const struct v8 *v8, struct v8_work *work, const struct v8_function *function,
		   int32_t position)
{
	uintptr_t frame;
	uint32_t line;
	bool fresh;

	if (position < 0)
		position = function->start;
	frame = frame_table_place(function->number, (uint32_t)position, &fresh);
	if (!frame || (!fresh && frame_table_has_line(frame)))
		return frame;
	line = function->script ? v8_line(v8, work, function->script, position) : 0;
	if (line)
		frame_table_line(frame, line);
	return frame;
}
