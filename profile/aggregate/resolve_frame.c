/* Resolver of frames: converts a frame of a stack trace to a frame of a profile. */
#include "profile/aggregate/resolve_frame.h"

#include <string.h>

#include "engine/jfr/jfr_encode.h"
#include "profile/aggregate/frame_category.h"
#include "profile/basics/names.h"

void resolve_class_text(struct resolve *r, const struct jfr_value *class, struct buf *out)
{
	struct jfr_value name;

	buf_reset(out);
	if (!jfr_value_get_field(r->chunk, class, "name", &name) ||
	    !jfr_value_append_string(r->chunk, &name, out))
		buf_reset(out);
	names_clean(out);
}

bool resolve_is_native(const struct resolve *r, enum jfr_frame_type type)
{
	return (type == JFR_FRAME_NATIVE && r->kernel_frames) || type == JFR_FRAME_CPP ||
	       type == JFR_FRAME_KERNEL;
}

/* Returns the offset of the last two components of PATH, which mostly identify it:
 * "flask/app.py". */
static size_t short_path_offset(const char *path)
{
	size_t at = strlen(path), slashes = 0;

	while (at && (path[at - 1] != '/' || ++slashes < 2))
		at--;
	return at;
}

/* Set the module of a script function: the class in r->text2 is the path of its file. */
static void set_script_module(struct resolve *r, struct frame *frame)
{
	struct intern *names = &r->profile->names;
	const char *path = buf_string(&r->text2);

	if (!path || !*path)
		return;
	frame->module = intern_string(names, path + short_path_offset(path));
	if (r->query->places)
		frame->file = intern_string(names, path);
}

/* Set the category of FRAME. Its file, library or class is in r->text2, and the name of a native
 * function in r->text. */
static void set_category(struct resolve *r, struct frame *frame)
{
	enum jfr_frame_type type = (enum jfr_frame_type)frame->type;
	const char *place = buf_string(&r->text2), *name = buf_string(&r->text);

	if (!place || !name)
		return;
	if (type == JFR_FRAME_KERNEL)
		frame->category = FRAME_KERNEL;
	else if (jfr_frame_is_script(type))
		frame->category = frame_category_of_script(place);
	else if (resolve_is_native(r, type))
		frame->category = frame_category_of_native(place, name);
	else
		frame->category = frame_category_of_java(place);
}

/* A method's name has at most so much of its class's name, which many methods share. */
#define CLASS_MAX 1023

/* Set FRAME's module to METHOD's class or library, and r->text to its display name. */
static void set_frame_names(struct resolve *r, const struct jfr_value *method, struct frame *frame)
{
	bool is_script = jfr_frame_is_script((enum jfr_frame_type)frame->type);
	bool is_java = !is_script && !resolve_is_native(r, (enum jfr_frame_type)frame->type);
	struct intern *names = &r->profile->names;
	struct jfr_value class, name;
	const char *class_text;

	buf_reset(&r->text);
	buf_reset(&r->text2);
	if (jfr_value_get_field(r->chunk, method, "type", &class))
		resolve_class_text(r, &class, &r->text2);
	if (is_script)
		set_script_module(r, frame);
	else if (r->text2.length)
		frame->module = intern(names, r->text2.data, r->text2.length);
	if (is_java)
		set_category(r, frame);
	if (is_java && r->text2.length) {
		if (r->query->simple)
			names_drop_package(&r->text2);
		class_text = buf_string(&r->text2);
		if (class_text)
			buf_append(&r->text, class_text, jfr_string_length(class_text, CLASS_MAX));
		buf_append_string(&r->text, ".");
	}
	if (!jfr_value_get_field(r->chunk, method, "name", &name) ||
	    !jfr_value_append_string(r->chunk, &name, &r->text))
		r->text.length -= r->text.length ? 1 : 0; /* a class without a method */
	if (!is_java)
		set_category(r, frame);
	if (r->query->simple && !is_java && !is_script)
		names_drop_arguments(&r->text);
}

enum jfr_frame_type resolve_frame_type(const struct resolve *r, const struct stored_frame *stored)
{
	return stored->type < sizeof(r->types) ? (enum jfr_frame_type)r->types[stored->type]
					       : JFR_FRAME_NATIVE;
}

/* Returns the ID of FRAME, whose name is in r->text. */
static uint32_t intern_frame(struct resolve *r, struct frame *frame)
{
	names_clean(&r->text);
	frame->name = intern(&r->profile->names, r->text.data, r->text.length);
	return intern(&r->profile->frames, frame, sizeof(*frame));
}

/* Whether the name in r->text is LIBRARY+0xADDRESS, as the engine names unknown functions: by their
 * start if that is known. */
static bool is_nameless(struct resolve *r, const char *library)
{
	const char *name = buf_string(&r->text);
	size_t length = strlen(library);

	return name && !strncmp(name, library, length) && !strncmp(name + length, "+0x", 3);
}

/* With lines, an unknown function is split by address. */
static void set_exact_address(struct resolve *r, const struct frame *frame, uint32_t address)
{
	const char *module = intern_text(&r->profile->names, frame->module);

	if (!r->query->lines || !address ||
	    !resolve_is_native(r, (enum jfr_frame_type)frame->type) || !module ||
	    !is_nameless(r, module))
		return;
	buf_reset(&r->text);
	buf_printf(&r->text, "%s+0x%x", module, address);
}

static void set_function_name(struct resolve *r, const char *name)
{
	buf_reset(&r->text);
	buf_append_string(&r->text, name ? name : "unknown");
	if (r->query->simple)
		names_drop_arguments(&r->text);
}

static void append_source_location(struct resolve *r, const char *file, uint32_t line)
{
	const char *slash = strrchr(file, '/');

	buf_printf(&r->text, " (%s:%u)", slash ? slash + 1 : file, line);
}

/* Set the source location in FRAME, and append it to its name, as the query requests. */
static void set_source_location(struct resolve *r, struct frame *frame,
				const struct debug_frame *place)
{
	frame->line = r->query->lines || r->query->places ? place->line : 0;
	if (r->query->places && place->file)
		frame->file = intern_string(&r->profile->names, place->file);
	if (r->query->lines && place->file && place->line)
		append_source_location(r, place->file, place->line);
}

/* Symbolize FRAME, whose name is in r->text, at ADDRESS of LIBRARY with debug files. Returns the ID
 * of the innermost frame, from which `caller` leads to FRAME. */
static uint32_t resolve_address(struct resolve *r, struct frame *frame,
				const struct library *library, uint32_t address)
{
	const char *build_id = intern_text(&r->libraries.names, library->build_id);
	const char *name = intern_text(&r->profile->names, frame->module);
	struct debug_frame found[DEBUG_FRAMES_MAX];
	size_t count = 0;
	uint32_t id;

	if (r->query->places) {
		frame->address = address;
		frame->build_id = intern_string(&r->profile->names, build_id);
	}
	if (r->query->lookup.frames)
		count = r->query->lookup.frames(r->query->lookup.arg, build_id, name, address,
						found);
	if (count) {
		if (is_nameless(r, name) && found[count - 1].name)
			set_function_name(r, found[count - 1].name);
		set_source_location(r, frame, &found[count - 1]);
	}
	id = intern_frame(r, frame);
	while (count > 1) {
		struct frame inlined = *frame;

		inlined.type = JFR_FRAME_INLINED;
		inlined.caller = id;
		set_function_name(r, found[--count - 1].name);
		if (found[count - 1].file)
			inlined.category = frame_category_of_source(
				found[count - 1].file, (enum frame_category)frame->category);
		set_source_location(r, &inlined, &found[count - 1]);
		id = intern_frame(r, &inlined);
	}
	return id;
}

/* Returns the library of STORED's address, if it is known and the query needs addresses, or
 * NULL. */
static const struct library *frame_find_library(const struct resolve *r, const struct frame *frame,
						const struct stored_frame *stored)
{
	if (!stored->address || !r->libraries.list.count ||
	    !resolve_is_native(r, (enum jfr_frame_type)frame->type))
		return NULL;
	return libraries_at(&r->libraries, intern_text(&r->profile->names, frame->module),
			    stored->address);
}

static uint32_t add_frame(struct resolve *r, const struct stored_frame *stored)
{
	struct frame frame = { .type = resolve_frame_type(r, stored) };
	const struct library *library;
	struct jfr_value value;

	if (jfr_constant_get(r->chunk, r->method_type, stored->method, &value))
		set_frame_names(r, &value, &frame);
	else {
		buf_reset(&r->text);
		buf_append_string(&r->text, "unknown");
		frame.category = FRAME_LIBRARY;
	}
	set_exact_address(r, &frame, stored->address);
	library = frame_find_library(r, &frame, stored);
	if (library)
		return resolve_address(r, &frame, library, stored->address);
	if (r->query->lines || r->query->places)
		frame.line = stored->line;
	if (r->query->lines && stored->line && jfr_frame_is_script((enum jfr_frame_type)frame.type))
		append_source_location(r, intern_text(&r->profile->names, frame.module),
				       stored->line);
	else if (r->query->lines && stored->line)
		buf_printf(&r->text, ":%u", stored->line);
	return intern_frame(r, &frame);
}

/* Returns LINE, or 0 if it is unknown: Java then writes a negative number, with 32 or 64 bits. */
static uint32_t valid_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

void stored_frame_read(struct stored_frame *stored, struct cursor *c, const struct jfr_type *type)
{
	*stored = (struct stored_frame){ 0 };
	for (size_t i = 0; i < type->field_count && !c->bad; i++) {
		const struct jfr_field *field = &type->fields[i];
		bool plain = !field->is_array &&
			     (field->is_constant || field->type->shape == JFR_VARINT);

		if (plain && !strcmp(field->name, "method"))
			stored->method = cursor_varint(c);
		else if (plain && !strcmp(field->name, "lineNumber"))
			stored->line = valid_line((int64_t)cursor_varint(c));
		else if (plain && !strcmp(field->name, "bytecodeIndex"))
			stored->address = (uint32_t)cursor_varint(c);
		else if (plain && !strcmp(field->name, "type"))
			stored->type = (uint8_t)cursor_varint(c);
		else
			jfr_skip_field(c, field);
	}
}

/* The memo of a method's constant caches its last frame, which is used if line and type are equal:
 * most frames of a method have the same. With addresses, few frames are equal, so there is no
 * cache. */
uint32_t resolve_frame(struct resolve *r, const struct stored_frame *stored)
{
	struct jfr_constant *constant =
		r->method_type && !r->libraries.list.count && !(r->query->lines && stored->address)
			? jfr_pool_find(&r->method_type->pool, stored->method)
			: NULL;
	uint32_t id, want = r->query->lines || r->query->places ? stored->line : 0;
	const struct frame *frame;

	if (constant && constant->memo) {
		frame = intern_key(&r->profile->frames, constant->memo);
		if (frame->line == want && frame->type == resolve_frame_type(r, stored))
			return constant->memo;
	}
	id = add_frame(r, stored);
	if (constant)
		constant->memo = id;
	return id;
}
