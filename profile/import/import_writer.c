/* Recording that an import writes. */
#include "profile/import/import_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/hex.h"

#define SECOND 1000000000u

/* Largest sum of the samples' weights of a file: readers add them up. */
#define WEIGHT_MAX (UINT64_MAX >> 3)

/* Threads without an ID get one from here on, above those of Linux. */
#define FIRST_TID (1u << 22)

/* Interned by its bytes, so it has no padding. */
struct import_frame_key {
	uint32_t name, module, line, type;
};

static void set_error(struct import_writer *w, int err)
{
	if (err && !w->err)
		w->err = err;
}

/* Limit for the sum of all stacks and labels of an input: so many bytes, and so many for each of its
 * own. */
#define SIZE_MAX_FIXED    (UINT64_C(256) << 20)
#define SIZE_MAX_PER_BYTE 64

int import_writer_open(struct import_writer *w, int fd, size_t length)
{
	*w = (struct import_writer){
		.next_address = 4096,
		.size_left = SIZE_MAX_FIXED + SIZE_MAX_PER_BYTE * (uint64_t)length,
	};
	w->pcs = calloc(IMPORT_DEPTH_MAX, sizeof(*w->pcs));
	set_error(w, w->pcs ? jfr_writer_open(&w->jfr, fd, 0) : -ENOMEM);
	if (!w->err)
		jfr_writer_calibrated(w->jfr, SECOND); /* a tick is a nanosecond */
	return w->err;
}

void import_writer_set_intervals(struct import_writer *w, uint64_t cpu_ns, uint64_t wall_ns)
{
	w->interval_ns = cpu_ns;
	w->wall_ns = wall_ns;
}

static uint32_t intern_text_of(struct import_writer *w, const struct import_text *text)
{
	uint32_t id = text->length ? intern(&w->names, text->text, text->length) : 0;

	if (text->length && !id)
		set_error(w, -ENOMEM);
	return id;
}

bool import_take_size(struct import_writer *w, size_t size)
{
	w->size_left -= size < w->size_left ? size : w->size_left;
	return w->size_left;
}

uint32_t import_frame_id(struct import_writer *w, const struct import_frame *frame)
{
	struct import_frame_key key = { .line = frame->line, .type = frame->type };
	uint32_t id;

	if (!import_take_size(w, frame->name.length + frame->module.length))
		return 0;
	key.name = intern_text_of(w, &frame->name);
	key.module = intern_text_of(w, &frame->module);
	id = intern(&w->frames, &key, sizeof(key));
	if (!id)
		set_error(w, -ENOMEM);
	return id;
}

void import_stack_begin(struct import_writer *w)
{
	w->depth = 0;
}

void import_stack_add_id(struct import_writer *w, uint32_t id)
{
	if (id && w->pcs && w->depth < IMPORT_DEPTH_MAX && import_take_size(w, sizeof(*w->pcs)))
		w->pcs[w->depth++] = id;
}

void import_stack_add(struct import_writer *w, const struct import_frame *frame)
{
	import_stack_add_id(w, import_frame_id(w, frame));
}

static int name_frames(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		       struct jfr_frame_name *out)
{
	const struct import_writer *w = context;

	(void)is_return;
	for (size_t i = 0; i < count; i++) {
		const struct import_frame_key *key = intern_key(&w->frames, (uint32_t)pcs[i]);

		out[i] = (struct jfr_frame_name){
			.class_name = key->module ? intern_text(&w->names, key->module) : NULL,
			.method_name = key->name ? intern_text(&w->names, key->name) : NULL,
			.type = (uint8_t)key->type,
			.line = key->line,
		};
	}
	return 0;
}

static void write_interval(struct import_writer *w, const char *name, uint64_t ns)
{
	char text[32];

	if (!ns)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)ns);
	jfr_setting(w->jfr, w->first_ns, name, text);
}

static void begin_chunk(struct import_writer *w, uint64_t time_ns)
{
	set_error(w, jfr_chunk_begin(w->jfr, time_ns, time_ns));
	w->is_open = !w->err;
	w->first_ns = w->last_ns = time_ns;
	if (w->err)
		return;
	jfr_setting(w->jfr, time_ns, "engine", "imported");
	write_interval(w, "interval", w->interval_ns);
	write_interval(w, "wall", w->wall_ns);
}

static void end_chunk(struct import_writer *w)
{
	set_error(w, jfr_chunk_end(w->jfr, w->last_ns, w->last_ns, name_frames, w, NULL));
	w->is_open = false;
}

static uint32_t sample_tid(struct import_writer *w, const struct import_sample *s)
{
	uint32_t id, tid = s->tid;
	char name[JFR_THREAD_NAME_MAX] = "";

	if (!tid && s->thread.length) {
		id = intern(&w->threads, s->thread.text, s->thread.length);
		if (!id)
			set_error(w, -ENOMEM);
		tid = FIRST_TID + id;
	}
	snprintf(name, sizeof(name), "%.*s",
		 s->thread.length < sizeof(name) ? (int)s->thread.length : (int)sizeof(name),
		 s->thread.text ? s->thread.text : "");
	if (*name && !jfr_thread_named(w->jfr, (pid_t)tid))
		jfr_thread(w->jfr, (pid_t)tid, name);
	return tid;
}

/* Hexadecimal digits of LINE's value to BYTES; 0 bytes remain if there is anything else. */
static void decode_id(const char *text, size_t length, uint8_t *bytes, size_t size)
{
	if (!hex_decode(text, length, bytes, size))
		memset(bytes, 0, size);
}

/* Split LABELS: the IDs of trace and span go to CONTEXT, the other lines to REST. */
static void split_labels(const struct import_text *labels, struct jfr_context *context,
			 struct buf *rest)
{
	static const char trace[] = "trace_id=", span[] = "span_id=";
	const char *at = labels->text, *end = at + labels->length;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);

		if (length > strlen(trace) && !memcmp(at, trace, strlen(trace)))
			decode_id(at + strlen(trace), length - strlen(trace), context->trace_id,
				  sizeof(context->trace_id));
		else if (length > strlen(span) && !memcmp(at, span, strlen(span)))
			decode_id(at + strlen(span), length - strlen(span), context->span_id,
				  sizeof(context->span_id));
		else if (newline)
			buf_append(rest, at, length + 1);
		at += length + 1;
	}
}

static void use_labels(struct import_writer *w, const struct import_text *labels)
{
	struct jfr_context context = { 0 };
	struct buf rest = BUF_INIT(JFR_STRING_MAX / 2);

	if (labels->length)
		split_labels(labels, &context, &rest);
	context.labels = rest.data ? (const char *)rest.data : "";
	context.length = rest.length;
	jfr_use_context(w->jfr, labels->length ? jfr_context(w->jfr, &context) : 0);
	buf_free(&rest);
}

/* Write one event, whatever the count is: only the reader of this program reads the recording. */
static void write_counted(struct import_writer *w, const struct import_sample *s, uint64_t time_ns,
			  uint32_t tid, uint32_t stack)
{
	enum jfr_thread_state state =
		s->kind == IMPORT_CPU ? JFR_STATE_DEFAULT : JFR_STATE_RUNNABLE;

	if (s->kind == IMPORT_CPU && s->count == 1)
		jfr_execution_sample(w->jfr, time_ns, (pid_t)tid, stack, state);
	else if (s->count)
		/* Readers distinguish CPU time by the state, so this form can count it too. */
		jfr_wall_sample(w->jfr, time_ns, (pid_t)tid, stack, state, s->count, 0);
}

/* Write one allocation that stands for all of the sample's. */
static void write_memory(struct import_writer *w, const struct import_sample *s, uint64_t time_ns,
			 uint32_t tid, uint32_t stack)
{
	uint64_t count = s->count ? s->count : 1, size = (s->bytes + count - 1) / count;

	if (!size)
		return;
	jfr_malloc(w->jfr, time_ns, (pid_t)tid, stack, w->next_address, size, s->bytes);
	if (s->is_freed)
		jfr_free(w->jfr, time_ns, (pid_t)tid, stack, w->next_address, s->bytes, time_ns);
	w->next_address += 16;
}

/* Add WEIGHT to SUM. Returns false if it becomes too large. */
static bool add_weight(uint64_t *sum, uint64_t weight)
{
	return !__builtin_add_overflow(*sum, weight, sum) && *sum <= WEIGHT_MAX;
}

int import_write_sample(struct import_writer *w, const struct import_sample *s)
{
	uint64_t time_ns = s->time_ns > 0 ? (uint64_t)s->time_ns : 0;
	uint32_t tid, stack;

	if (w->err)
		return 0;
	if (time_ns > INT64_MAX / 2 || !add_weight(&w->count, s->count) ||
	    !add_weight(&w->bytes, s->bytes) || !import_take_size(w, s->labels.length))
		return -ERANGE;
	if (w->is_open && jfr_stacks_are_crowded(w->jfr))
		end_chunk(w);
	if (!w->is_open)
		begin_chunk(w, time_ns);
	if (w->err)
		return 0;
	if (time_ns > w->last_ns)
		w->last_ns = time_ns;
	tid = sample_tid(w, s);
	stack = jfr_stack(w->jfr, w->pcs, w->depth, false);
	use_labels(w, &s->labels);
	if (s->kind == IMPORT_MEMORY)
		write_memory(w, s, time_ns, tid, stack);
	else
		write_counted(w, s, time_ns, tid, stack);
	return 0;
}

void import_writer_set_duration(struct import_writer *w, uint64_t duration_ns)
{
	uint64_t end;

	if (w->is_open && !__builtin_add_overflow(w->first_ns, duration_ns, &end) &&
	    end > w->last_ns && end < INT64_MAX)
		w->last_ns = end;
}

int import_writer_close(struct import_writer *w)
{
	/* A recording has at least one chunk. */
	if (!w->first_ns && !w->is_open && !w->err)
		begin_chunk(w, 1);
	if (w->is_open)
		end_chunk(w);
	jfr_writer_close(w->jfr);
	intern_free(&w->names);
	intern_free(&w->frames);
	intern_free(&w->threads);
	free(w->pcs);
	w->pcs = NULL;
	return w->err;
}
