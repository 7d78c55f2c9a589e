/* Resolver: converts constants of one chunk to stacks, threads and contexts of a profile. */
#include "profile/aggregate/resolve.h"

#include <string.h>

#include "profile/aggregate/frame_selection.h"
#include "profile/aggregate/hook_frames.h"
#include "profile/aggregate/preload_frames.h"
#include "profile/aggregate/resolve_frame.h"
#include "profile/basics/names.h"
#include "profile/jfr/labels.h"

#define TEXT_MAX (1u << 20)

/* Further frames of a stack, the outermost ones, are not shown: a recording refers to its stacks as often as it likes. */
#define FRAMES_MAX 4096

/* Memo of a constant that resolves to ID 0. */
#define MEMO_NONE UINT32_MAX

/* Returns the string of constant KEY of TYPE, in r->text; NULL if there is none. */
static const char *constant_text(struct resolve *r, const struct jfr_type *type, uint64_t key)
{
	struct jfr_value value;

	buf_reset(&r->text);
	if (!jfr_constant_get(r->chunk, type, key, &value) ||
	    !jfr_value_append_string(r->chunk, &value, &r->text))
		return NULL;
	return buf_string(&r->text);
}

static void read_frame_types(struct resolve *r)
{
	const struct jfr_constant_row *row;
	const char *text;

	memset(r->types, JFR_FRAME_NATIVE, sizeof(r->types));
	for (unsigned key = 0; r->frame_type && key < sizeof(r->types); key++) {
		text = constant_text(r, r->frame_type, key);
		row = text ? jfr_constant_named(JFR_T_FRAME_TYPE, text) : NULL;
		if (row)
			r->types[key] = (uint8_t)row->key;
		if (row && row->key == JFR_FRAME_KERNEL)
			r->kernel_frames = true;
	}
}

static bool is_default_state(const char *state)
{
	const struct jfr_constant_row *row = jfr_constant_named(JFR_T_THREAD_STATE, state);

	return row && row->key == JFR_STATE_DEFAULT;
}

/* Read the thread states of wall-clock samples. */
static void read_states(struct resolve *r)
{
	static const uint8_t states[] = {
		[JFR_STATE_RUNNABLE] = WAIT_RUNNING,
		[JFR_STATE_SLEEPING] = WAIT_WAITING,
	};
	const struct jfr_constant_row *row;
	const char *text;

	for (unsigned key = 0; r->state_type && key < sizeof(r->states); key++) {
		text = constant_text(r, r->state_type, key);
		row = text ? jfr_constant_named(JFR_T_THREAD_STATE, text) : NULL;
		if (row && row->key < sizeof(states))
			r->states[key] = states[row->key];
		r->default_state |= row && row->key == JFR_STATE_DEFAULT;
	}
}

void resolve_open(struct resolve *resolve, struct profile *profile, const struct query *query,
		  struct jfr_chunk *chunk, const struct feed_chunk *from)
{
	*resolve = (struct resolve){
		.profile = profile,
		.query = query,
		.chunk = chunk,
		.stack_type = jfr_type_by_name(chunk, "jdk.types.StackTrace"),
		.thread_type = jfr_type_by_name(chunk, "java.lang.Thread"),
		.class_type = jfr_type_by_name(chunk, "java.lang.Class"),
		.method_type = jfr_type_by_name(chunk, "jdk.types.Method"),
		.frame_type = jfr_type_by_name(chunk, "jdk.types.FrameType"),
		.state_type = jfr_type_by_name(chunk, "jdk.types.ThreadState"),
		.context_type = jfr_type_by_name(chunk, JFR_CONTEXT_TYPE),
		.wait_type = jfr_type_by_name(chunk, JFR_WAIT_TYPE),
		.text = BUF_INIT(TEXT_MAX),
		.text2 = BUF_INIT(TEXT_MAX),
		.stack = BUF_INIT(TEXT_MAX * 4),
	};
	labels_write(&resolve->text, from->file, from->labels);
	if (resolve->text.length)
		resolve->labels = intern(&profile->names, resolve->text.data, resolve->text.length);
	read_frame_types(resolve);
	read_states(resolve);
	if (query->lookup.frames || query->places)
		libraries_read_chunk(&resolve->libraries, chunk);
	if (query->lookup.frames)
		query->lookup.used(query->lookup.arg);
}

void resolve_close(struct resolve *resolve)
{
	libraries_free(&resolve->libraries);
	thread_stacks_free(&resolve->stacks);
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
	return text ? is_default_state(text) : event->kind == JFR_EXECUTION_SAMPLE;
}

bool resolve_is_sleeping(const struct resolve *r, const struct jfr_event *event)
{
	struct resolve *scratch = (struct resolve *)r;
	const char *text = constant_text(scratch, r->state_type, (uint64_t)event->slot[JFR_STATE]);
	const struct jfr_constant_row *row =
		text ? jfr_constant_named(JFR_T_THREAD_STATE, text) : NULL;

	return row && row->key == JFR_STATE_SLEEPING;
}

/* Append frame ID and the frames that it is inlined into to the stack. Returns false when out of
 * memory. */
static bool stack_append_frame(struct resolve *r, uint32_t id)
{
	while (id && !buf_append(&r->stack, &id, sizeof(id))) {
		id = profile_frame(r->profile, id)->caller;
		if (!id)
			return true;
	}
	return false;
}

static bool stack_append_frames(struct resolve *r, uint64_t key)
{
	struct jfr_value value, frames;
	struct stored_frame stored;
	struct cursor c;
	uint64_t count;

	if (!jfr_constant_get(r->chunk, r->stack_type, key, &value) ||
	    !jfr_value_get_field(r->chunk, &value, "frames", &frames))
		return false;
	c = (struct cursor){ frames.at, frames.end, false };
	count = cursor_varint(&c);
	for (count = count < FRAMES_MAX ? count : FRAMES_MAX; count && !c.bad; count--) {
		const uint8_t *before = c.at;

		stored_frame_read(&stored, &c, frames.type);
		if (c.at == before || c.bad || !stack_append_frame(r, resolve_frame(r, &stored)))
			break;
	}
	return !c.bad;
}

static uint32_t add_class_frame(struct resolve *r, uint64_t class, enum jfr_frame_type type)
{
	struct frame frame = { .type = type };
	struct jfr_value value;

	buf_reset(&r->text);
	if (jfr_constant_get(r->chunk, r->class_type, class, &value)) {
		resolve_class_text(r, &value, &r->text);
		names_format_java_class(&r->text, r->query->simple);
	} else {
		buf_append_string(&r->text, "null");
	}
	names_clean(&r->text);
	frame.name = intern(&r->profile->names, r->text.data, r->text.length);
	return intern(&r->profile->frames, &frame, sizeof(frame));
}

/* Returns the ID of the current stack; 0 if the profile's stacks have reached their maximum
 * size. */
static uint32_t resolve_intern_stack(struct resolve *r)
{
	struct profile *profile = r->profile;
	uint32_t before = profile->stacks.count, id;

	if (r->query->stack_bytes_max && profile->stack_bytes >= r->query->stack_bytes_max) {
		profile->stacks_cut++;
		return 0;
	}
	id = intern(&profile->stacks, r->stack.data, r->stack.length);
	if (profile->stacks.count != before)
		profile->stack_bytes += r->stack.length + sizeof(struct intern_entry);
	return id;
}

uint32_t resolve_stack(struct resolve *r, uint64_t key, uint64_t class,
		       enum jfr_frame_type leaf_type)
{
	struct jfr_constant *constant =
		r->stack_type ? jfr_pool_find(&r->stack_type->pool, key) : NULL;
	uint32_t id;

	if (!constant)
		return 0;
	if (!class && constant->memo)
		return constant->memo == MEMO_NONE ? 0 : constant->memo;
	buf_reset(&r->stack);
	if (class) {
		id = add_class_frame(r, class, leaf_type);
		buf_append(&r->stack, &id, sizeof(id));
	}
	id = 0;
	if (stack_append_frames(r, key)) {
		hook_frames_remove(r);
		preload_frames_remove(r);
		frame_selection_apply(r, class ? 1 : 0);
		id = resolve_intern_stack(r);
	}
	if (!class)
		constant->memo = id ? id : MEMO_NONE;
	return id;
}

/* Rename THREAD by the first matching expression of the query. */
static void rename_thread(struct resolve *r, struct thread_key *thread)
{
	const char *name = intern_text(&r->profile->names, thread->name);

	for (unsigned i = 0; i < r->query->rename_count; i++)
		if (!regexec(&r->query->renames[i].regex, name, 0, NULL, 0)) {
			thread->name = intern_string(&r->profile->names, r->query->renames[i].name);
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

	if (r->query->no_threads)
		return 0;
	if (constant && constant->memo)
		return constant->memo;
	if (constant && jfr_constant_get(r->chunk, r->thread_type, key, &value)) {
		if (jfr_value_get_field(r->chunk, &value, "osThreadId", &field) &&
		    jfr_value_integer(&field))
			thread.tid = (uint32_t)jfr_value_integer(&field);
		buf_reset(&r->text);
		if ((jfr_value_get_field(r->chunk, &value, "javaName", &field) &&
		     jfr_value_append_string(r->chunk, &field, &r->text)) ||
		    (jfr_value_get_field(r->chunk, &value, "osName", &field) &&
		     jfr_value_append_string(r->chunk, &field, &r->text))) {
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

/* Replace OUT by the sanitized lines of TEXT. */
static void sanitize_lines(const struct buf *text, struct buf *out)
{
	struct buf line = BUF_INIT(TEXT_MAX);

	buf_reset(out);
	for (size_t at = 0; at < text->length;) {
		const uint8_t *start = text->data + at;
		const uint8_t *end = memchr(start, '\n', text->length - at);
		size_t length = end ? (size_t)(end - start) : text->length - at;

		buf_reset(&line);
		if (!buf_append(&line, start, length)) {
			names_clean(&line);
			if (line.length && !buf_append(out, line.data, line.length))
				buf_append(out, "\n", 1);
		}
		at += length + 1;
	}
	buf_free(&line);
}

const char *resolve_lines(struct resolve *r, const struct jfr_type *type, uint64_t key)
{
	if (!constant_text(r, type, key))
		return NULL;
	sanitize_lines(&r->text, &r->text2);
	return r->text2.length ? buf_string(&r->text2) : NULL;
}

uint32_t resolve_context(struct resolve *r, uint64_t key)
{
	struct jfr_constant *constant =
		key && r->context_type ? jfr_pool_find(&r->context_type->pool, key) : NULL;
	const char *lines;
	uint32_t id;

	if (!constant)
		return 0;
	if (constant->memo)
		return constant->memo == MEMO_NONE ? 0 : constant->memo;
	lines = resolve_lines(r, r->context_type, key);
	id = lines ? intern_string(&r->profile->names, lines) : 0;
	constant->memo = id ? id : MEMO_NONE;
	return id;
}
