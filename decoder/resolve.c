/* From the constants of one chunk to the names, frames and threads of a profile. */
#include "decoder/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/labels.h"
#include "decoder/names.h"

#define TEXT_MAX (1u << 20)

/* Set in a memo where the constant leads to nothing. */
#define MEMO_NOTHING UINT32_MAX

static const struct {
	const char *description;
	enum frame_type type;
} frame_types[] = {
	{ "Interpreted", FRAME_INTERPRETED },
	{ "JIT compiled", FRAME_JIT },
	{ "Inlined", FRAME_INLINED },
	{ "Native", FRAME_NATIVE },
	{ "C++", FRAME_CPP },
	{ "Kernel", FRAME_KERNEL },
	{ "C1 compiled", FRAME_C1 },
};

/* The string of constant KEY of TYPE in r->text; NULL where there is none. */
static const char *constant_text(struct resolve *r, const struct jfr_type *type, uint64_t key)
{
	struct jfr_value value;

	buf_reset(&r->text);
	if (!jfr_constant(r->chunk, type, key, &value) || !jfr_string(r->chunk, &value, &r->text))
		return NULL;
	return buf_string(&r->text);
}

static void read_frame_types(struct resolve *r)
{
	const char *text;

	memset(r->types, FRAME_NATIVE, sizeof(r->types));
	for (unsigned key = 0; r->frame_type && key < sizeof(r->types); key++) {
		text = constant_text(r, r->frame_type, key);
		for (size_t i = 0; text && i < sizeof(frame_types) / sizeof(frame_types[0]); i++)
			if (!strcmp(text, frame_types[i].description))
				r->types[key] = (uint8_t)frame_types[i].type;
		if (text && !strcmp(text, "Kernel"))
			r->kernel_frames = true;
	}
}

static void read_states(struct resolve *r)
{
	const char *text;

	for (uint64_t key = 0; r->state_type && key < 64 && !r->default_state; key++) {
		text = constant_text(r, r->state_type, key);
		r->default_state = text && !strcmp(text, "STATE_DEFAULT");
	}
}

void resolve_open(struct resolve *resolve, struct profile *profile, const struct args *args,
		  struct jfr_chunk *chunk, const struct feed_chunk *from)
{
	*resolve = (struct resolve){
		.profile = profile,
		.args = args,
		.chunk = chunk,
		.stack_type = jfr_type(chunk, "jdk.types.StackTrace"),
		.thread_type = jfr_type(chunk, "java.lang.Thread"),
		.class_type = jfr_type(chunk, "java.lang.Class"),
		.method_type = jfr_type(chunk, "jdk.types.Method"),
		.frame_type = jfr_type(chunk, "jdk.types.FrameType"),
		.state_type = jfr_type(chunk, "jdk.types.ThreadState"),
		.text = BUF_INIT(TEXT_MAX),
		.text2 = BUF_INIT(TEXT_MAX),
		.stack = BUF_INIT(TEXT_MAX * 4),
	};
	labels_of(&resolve->text, from->file, from->labels);
	if (resolve->text.length)
		resolve->labels = intern(&profile->names, resolve->text.data, resolve->text.length);
	read_frame_types(resolve);
	read_states(resolve);
}

void resolve_close(struct resolve *resolve)
{
	buf_free(&resolve->text);
	buf_free(&resolve->text2);
	buf_free(&resolve->stack);
}

bool resolve_is_cpu(const struct resolve *r, const struct jfr_event *event)
{
	struct resolve *scratch = (struct resolve *)r;
	const char *text;

	if (!r->default_state)
		return event->kind == JFR_EXECUTION_SAMPLE;
	text = constant_text(scratch, r->state_type, (uint64_t)event->slot[JFR_STATE]);
	return text ? !strcmp(text, "STATE_DEFAULT") : event->kind == JFR_EXECUTION_SAMPLE;
}

static bool is_native(const struct resolve *r, enum frame_type type)
{
	return (type == FRAME_NATIVE && r->kernel_frames) || type == FRAME_CPP ||
	       type == FRAME_KERNEL;
}

/* The name of a class as the table wants it: dots for slashes only in names of leaf classes. */
static void class_text(struct resolve *r, const struct jfr_value *class, struct buf *out)
{
	struct jfr_value name;

	buf_reset(out);
	if (!jfr_get(r->chunk, class, "name", &name) || !jfr_string(r->chunk, &name, out))
		buf_reset(out);
}

/* Put the method's and the class's names into FRAME. */
static void name_frame(struct resolve *r, const struct jfr_value *method, struct frame *frame)
{
	struct intern *names = &r->profile->names;
	struct jfr_value class, name;

	buf_reset(&r->text);
	buf_reset(&r->text2);
	if (jfr_get(r->chunk, method, "type", &class))
		class_text(r, &class, &r->text2);
	if (r->text2.length)
		frame->module = intern(names, r->text2.data, r->text2.length);
	if (!is_native(r, (enum frame_type)frame->type) && r->text2.length) {
		if (r->args->simple)
			names_short_class(&r->text2);
		buf_append(&r->text, r->text2.data, r->text2.length);
		buf_append_string(&r->text, ".");
	}
	if (!jfr_get(r->chunk, method, "name", &name) || !jfr_string(r->chunk, &name, &r->text))
		r->text.length -= r->text.length ? 1 : 0; /* a class without a method */
	if (r->args->simple && is_native(r, (enum frame_type)frame->type))
		names_short_function(&r->text);
}

static void append_line(struct buf *text, uint32_t line)
{
	if (line)
		buf_printf(text, ":%u", line);
}

/* The frame of METHOD, by its number in the profile. */
static uint32_t resolve_frame(struct resolve *r, uint64_t method, uint32_t line, uint8_t type_key)
{
	struct frame frame = { .type = type_key < sizeof(r->types) ? r->types[type_key]
								   : (uint8_t)FRAME_NATIVE };
	struct jfr_value value;

	if (jfr_constant(r->chunk, r->method_type, method, &value))
		name_frame(r, &value, &frame);
	else {
		buf_reset(&r->text);
		buf_append_string(&r->text, "unknown");
	}
	if (r->args->lines) {
		frame.line = line;
		append_line(&r->text, line);
	}
	names_clean(&r->text);
	frame.name = intern(&r->profile->names, r->text.data, r->text.length);
	return intern(&r->profile->frames, &frame, sizeof(frame));
}

/* The fields of a frame, wherever its type has them. */
static void read_frame(struct cursor *c, const struct jfr_type *type, uint64_t *method,
		       uint32_t *line, uint8_t *kind)
{
	for (size_t i = 0; i < type->field_count && !c->bad; i++) {
		const struct jfr_field *field = &type->fields[i];
		bool plain = !field->array && (field->constant || field->type->shape == JFR_VARINT);

		if (plain && !strcmp(field->name, "method"))
			*method = cursor_varint(c);
		else if (plain && !strcmp(field->name, "lineNumber"))
			*line = (uint32_t)cursor_varint(c);
		else if (plain && !strcmp(field->name, "type"))
			*kind = (uint8_t)cursor_varint(c);
		else
			jfr_skip_field(c, field);
	}
}

/* Frames of one method mostly come with the same line and type: the memo of the method's constant
 * holds the last frame, and stands for as long as line and type agree. */
static uint32_t frame_of(struct resolve *r, uint64_t method, uint32_t line, uint8_t kind)
{
	struct jfr_constant *constant =
		r->method_type ? jfr_pool_find(&r->method_type->pool, method) : NULL;
	const struct frame *frame;
	uint32_t id, want = r->args->lines ? line : 0;

	if (constant && constant->memo) {
		frame = intern_key(&r->profile->frames, constant->memo);
		if (frame->line == want && frame->type == r->types[kind & 63] && kind < 64)
			return constant->memo;
	}
	id = resolve_frame(r, method, line, kind);
	if (constant)
		constant->memo = id;
	return id;
}

static bool append_frames(struct resolve *r, uint64_t key)
{
	struct jfr_value value, frames;
	uint64_t count, method;
	struct cursor c;
	uint32_t line, id;
	uint8_t kind;

	if (!jfr_constant(r->chunk, r->stack_type, key, &value) ||
	    !jfr_get(r->chunk, &value, "frames", &frames))
		return false;
	c = (struct cursor){ frames.at, frames.end, false };
	for (count = cursor_varint(&c); count && !c.bad; count--) {
		const uint8_t *before = c.at;

		method = line = kind = 0;
		read_frame(&c, frames.type, &method, &line, &kind);
		id = frame_of(r, method, line, kind);
		if (c.at == before || c.bad || buf_append(&r->stack, &id, sizeof(id)))
			break;
	}
	return !c.bad;
}

static uint32_t class_frame(struct resolve *r, uint64_t class, enum frame_type type)
{
	struct frame frame = { .type = type };
	struct jfr_value value;

	buf_reset(&r->text);
	if (jfr_constant(r->chunk, r->class_type, class, &value)) {
		class_text(r, &value, &r->text);
		names_java_class(&r->text, r->args->simple);
	} else {
		buf_append_string(&r->text, "null");
	}
	names_clean(&r->text);
	frame.name = intern(&r->profile->names, r->text.data, r->text.length);
	return intern(&r->profile->frames, &frame, sizeof(frame));
}

uint32_t resolve_stack(struct resolve *r, uint64_t key, uint64_t class, enum frame_type leaf_type)
{
	struct jfr_constant *constant =
		r->stack_type ? jfr_pool_find(&r->stack_type->pool, key) : NULL;
	uint32_t id;

	if (!constant)
		return 0;
	if (!class && constant->memo)
		return constant->memo == MEMO_NOTHING ? 0 : constant->memo;
	buf_reset(&r->stack);
	if (class) {
		id = class_frame(r, class, leaf_type);
		buf_append(&r->stack, &id, sizeof(id));
	}
	id = append_frames(r, key) ? intern(&r->profile->stacks, r->stack.data, r->stack.length)
				   : 0;
	if (!class)
		constant->memo = id ? id : MEMO_NOTHING;
	return id;
}

/* Rename by the first expression that matches. */
static void rename_thread(struct resolve *r, struct thread_key *thread)
{
	const char *name = intern_text(&r->profile->names, thread->name);

	for (unsigned i = 0; i < r->args->rename_count; i++)
		if (!regexec(&r->args->renames[i].regex, name, 0, NULL, 0)) {
			thread->name = intern_string(&r->profile->names, r->args->renames[i].name);
			thread->tid = 0;
			return;
		}
}

uint32_t resolve_thread(struct resolve *r, uint64_t key)
{
	struct jfr_constant *constant =
		r->thread_type ? jfr_pool_find(&r->thread_type->pool, key) : NULL;
	struct thread_key thread = { .tid = (uint32_t)key, .labels = r->labels };
	struct jfr_value value, field;
	uint32_t id;

	if (constant && constant->memo)
		return constant->memo;
	if (constant && jfr_constant(r->chunk, r->thread_type, key, &value)) {
		if (jfr_get(r->chunk, &value, "osThreadId", &field) && jfr_long(&field))
			thread.tid = (uint32_t)jfr_long(&field);
		buf_reset(&r->text);
		if ((jfr_get(r->chunk, &value, "javaName", &field) &&
		     jfr_string(r->chunk, &field, &r->text)) ||
		    (jfr_get(r->chunk, &value, "osName", &field) &&
		     jfr_string(r->chunk, &field, &r->text))) {
			names_clean(&r->text);
			thread.name = intern(&r->profile->names, r->text.data, r->text.length);
		}
	}
	rename_thread(r, &thread);
	id = intern(&r->profile->threads, &thread, sizeof(thread));
	if (constant)
		constant->memo = id;
	return id;
}
