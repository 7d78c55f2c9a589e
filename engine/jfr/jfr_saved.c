/* What only memory has of the chunk that is being written: told, and taken back. */
#include "engine/jfr/jfr_saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fd.h"
#include "engine/jfr/jfr_chunk.h"
#include "engine/jfr/jfr_encode.h"
#include "engine/jfr/jfr_index.h"

/* The header, and an event's length: see jfr_write.c. */
#define HEADER_BYTES 68
#define LENGTH_MAX   5

/* More than a table within JFR_STACKS_MAX_BYTES has. */
#define PCS_MAX   (JFR_STACKS_MAX_BYTES / 8)
#define WORDS_MAX (JFR_STACKS_MAX_BYTES / 4)

struct begin {
	uint64_t chunk_start, start_ns, start_ticks, ticks_per_second;
	uint32_t first_stack_id, base_id, coarse, timed_by_others;
};

struct pc {
	uint64_t pc;
	uint64_t is_return;
};

struct special {
	uint32_t which, number; /* as jfr_stacks.h has it: 1 + the number */
};

struct named_thread {
	int32_t tid;
	uint32_t used;
	char name[JFR_THREAD_NAME_MAX];
};

/* ---- Told ---- */

static int put_pcs(struct jfr_saved *saved, struct buf *out, uint8_t writer,
		   const struct jfr_stacks *s)
{
	size_t begun;
	int err = 0;

	if (saved->pcs == s->pc_count)
		return 0;
	begun = journal_put_begin(out);
	for (uint32_t i = saved->pcs; i < s->pc_count && !err; i++) {
		struct pc pc = { .pc = s->pcs[i], .is_return = s->is_return[i] };

		err = buf_append(out, &pc, sizeof(pc));
	}
	err = journal_put_end(out, begun, JOURNAL_PCS, writer, err);
	if (!err)
		saved->pcs = s->pc_count;
	return err;
}

static int put_stacks(struct jfr_saved *saved, struct buf *out, uint8_t writer,
		      const struct jfr_stacks *s)
{
	int err = put_pcs(saved, out, writer, s);

	if (!err && saved->words != s->word_count)
		err = journal_put(out, JOURNAL_STACKS, writer, s->words + saved->words,
				  (s->word_count - saved->words) * sizeof(*s->words));
	if (!err)
		saved->words = s->word_count;
	for (uint32_t i = 0; i < JFR_STACK_SPECIALS && !err; i++) {
		struct special special = { .which = i, .number = s->special[i] };

		if (saved->special[i] == s->special[i])
			continue;
		err = journal_put(out, JOURNAL_SPECIAL, writer, &special, sizeof(special));
		saved->special[i] = s->special[i];
	}
	return err;
}

static uint64_t hash_row(const struct jfr_thread_row *row)
{
	uint64_t hash = jfr_hash_step(row->used, (uint32_t)row->tid);

	for (const char *p = row->name; *p; p++)
		hash = jfr_hash_step(hash, (uint8_t)*p);
	return hash;
}

static int put_threads(struct jfr_saved *saved, struct buf *out, uint8_t writer,
		       const struct jfr_threads *t)
{
	int err = jfr_grow(&saved->threads, &saved->thread_capacity, t->count, JFR_THREADS_MAX,
			   sizeof(*saved->threads));

	for (uint32_t i = 0; i < t->count && !err; i++) {
		const struct jfr_thread_row *row = &t->rows[i];
		struct named_thread thread = { .tid = row->tid, .used = row->used };
		uint64_t hash = hash_row(row);

		if (i < saved->thread_count && saved->threads[i] == hash)
			continue;
		memcpy(thread.name, row->name, sizeof(thread.name));
		err = journal_put(out, JOURNAL_THREAD, writer, &thread, sizeof(thread));
		saved->threads[i] = hash;
	}
	if (!err)
		saved->thread_count = t->count;
	return err;
}

static int put_user_types(struct jfr_saved *saved, struct buf *out, uint8_t writer,
			  const struct jfr_interned *interned)
{
	int err = 0;

	for (; saved->user_types < interned->user_type_count && !err; saved->user_types++) {
		const char *name = interned->user_types[saved->user_types];

		err = journal_put(out, JOURNAL_USER_TYPE, writer, name, strlen(name));
	}
	return err;
}

static int put_contexts(struct jfr_saved *saved, struct buf *out, uint8_t writer,
			const struct jfr_contexts *contexts)
{
	int err = 0;

	while (saved->contexts < contexts->count && !err) {
		struct jfr_context context = jfr_contexts_get(contexts, ++saved->contexts);
		size_t begun = journal_put_begin(out);

		err = buf_append(out, context.trace_id, JFR_TRACE_ID);
		if (!err)
			err = buf_append(out, context.span_id, JFR_SPAN_ID);
		if (!err)
			err = buf_append(out, context.labels, context.length);
		err = journal_put_end(out, begun, JOURNAL_CONTEXT, writer, err);
	}
	return err;
}

int jfr_saved_begin(struct jfr_saved *saved, struct buf *out, uint8_t writer,
		    const struct jfr_writer *w)
{
	const struct begin begin = {
		.chunk_start = (uint64_t)w->chunk_start,
		.start_ns = w->start_ns,
		.start_ticks = w->start_ticks,
		.ticks_per_second = w->ticks_per_second,
		.first_stack_id = w->interned.first_stack_id,
		.base_id = w->interned.base_id,
		.coarse = w->coarse,
		.timed_by_others = w->timed_by_others,
	};

	saved->pcs = saved->words = saved->user_types = saved->thread_count = 0;
	saved->contexts = 0;
	memset(saved->special, 0, sizeof(saved->special));
	return journal_put(out, JOURNAL_BEGIN, writer, &begin, sizeof(begin));
}

int jfr_saved_add(struct jfr_saved *saved, struct buf *out, uint8_t writer, struct jfr_writer *w,
		  uint64_t *events)
{
	int err = jfr_out_flush(&w->out);

	*events = jfr_chunk_bytes(w);
	if (!err)
		err = put_stacks(saved, out, writer, &w->interned.stacks);
	if (!err)
		err = put_threads(saved, out, writer, &w->interned.threads);
	if (!err)
		err = put_user_types(saved, out, writer, &w->interned);
	if (!err)
		err = put_contexts(saved, out, writer, &w->interned.contexts);
	return err;
}

void jfr_saved_free(struct jfr_saved *saved)
{
	free(saved->threads);
	*saved = (struct jfr_saved){ 0 };
}

/* ---- Taken back ---- */

static int load_begin(struct jfr_writer *w, const struct journal_record *record)
{
	struct begin begin;

	if (record->length != sizeof(begin))
		return -EBADMSG;
	memcpy(&begin, record->data, sizeof(begin));
	if (begin.chunk_start > INT64_MAX / 2 || begin.coarse > 32 || !begin.ticks_per_second ||
	    begin.first_stack_id - begin.base_id > JFR_IDS * 2)
		return -EBADMSG;
	jfr_interned_reset(&w->interned);
	w->chunk_start = (off_t)begin.chunk_start;
	w->start_ns = begin.start_ns;
	w->start_ticks = begin.start_ticks;
	w->ticks_per_second = begin.ticks_per_second;
	w->interned.first_stack_id = begin.first_stack_id;
	w->interned.base_id = begin.base_id;
	w->coarse = begin.coarse;
	w->timed_by_others = begin.timed_by_others != 0;
	return 0;
}

static int load_pcs(struct jfr_stacks *s, const struct journal_record *record)
{
	uint32_t count = (uint32_t)(record->length / sizeof(struct pc));
	struct pc pc;
	int err;

	if (record->length % sizeof(pc) || count > PCS_MAX - s->pc_count)
		return -EBADMSG;
	err = jfr_grow(&s->pcs, &s->pc_capacity, s->pc_count + count, PCS_MAX, sizeof(*s->pcs));
	if (!err)
		err = jfr_grow(&s->is_return, &s->flag_capacity, s->pc_count + count, PCS_MAX,
			       sizeof(*s->is_return));
	for (uint32_t i = 0; i < count && !err; i++) {
		memcpy(&pc, record->data + i * sizeof(pc), sizeof(pc));
		s->pcs[s->pc_count] = (uintptr_t)pc.pc;
		s->is_return[s->pc_count++] = pc.is_return != 0;
	}
	return err;
}

/* Each stack's number, and that its frames are there. */
static int check_stacks(struct jfr_stacks *s, const uint32_t *words, uint32_t count)
{
	struct jfr_stack_head head;
	uint32_t depth;

	for (uint32_t at = 0; at < count; at += depth) {
		if (count - at < JFR_STACK_HEAD_WORDS)
			return -EBADMSG;
		memcpy(&head, words + at, sizeof(head));
		at += JFR_STACK_HEAD_WORDS;
		depth = head.depth / 2;
		if (depth > count - at || head.number >= WORDS_MAX)
			return -EBADMSG;
		for (uint32_t i = 0; i < depth; i++)
			if (words[at + i] >= s->pc_count)
				return -EBADMSG;
		if (head.number >= s->count)
			s->count = head.number + 1;
	}
	return 0;
}

static int load_stacks(struct jfr_stacks *s, const struct journal_record *record)
{
	uint32_t count = (uint32_t)(record->length / sizeof(*s->words));
	int err;

	if (record->length % sizeof(*s->words) || count > WORDS_MAX - s->word_count)
		return -EBADMSG;
	err = jfr_grow(&s->words, &s->word_capacity, s->word_count + count, WORDS_MAX,
		       sizeof(*s->words));
	if (err || !count)
		return err;
	memcpy(s->words + s->word_count, record->data, record->length);
	err = check_stacks(s, s->words + s->word_count, count);
	if (!err)
		s->word_count += count;
	return err;
}

static int load_special(struct jfr_stacks *s, const struct journal_record *record)
{
	struct special special;

	if (record->length != sizeof(special))
		return -EBADMSG;
	memcpy(&special, record->data, sizeof(special));
	if (special.which >= JFR_STACK_SPECIALS || !special.number || special.number > WORDS_MAX)
		return -EBADMSG;
	s->special[special.which] = special.number;
	if (s->count < special.number)
		s->count = special.number;
	return 0;
}

static int load_thread(struct jfr_threads *t, const struct journal_record *record)
{
	struct named_thread thread;

	if (record->length != sizeof(thread))
		return -EBADMSG;
	memcpy(&thread, record->data, sizeof(thread));
	thread.name[sizeof(thread.name) - 1] = '\0';
	if (thread.name[0])
		jfr_threads_name(t, thread.tid, thread.name);
	if (thread.used)
		jfr_threads_use(t, thread.tid);
	return 0;
}

/* They are told anew with each chunk, as a writer's first has them. */
static int load_user_type(struct jfr_writer *w, const struct journal_record *record)
{
	char name[256];

	if (!record->length || record->length >= sizeof(name))
		return -EBADMSG;
	memcpy(name, record->data, record->length);
	name[record->length] = '\0';
	return strlen(name) == record->length && jfr_user_event_type(w, name) ? 0 : -EBADMSG;
}

/* Each gets the id that it had: they come in the order of these. */
static int load_context(struct jfr_contexts *contexts, const struct journal_record *record)
{
	struct jfr_context context = { .labels = (const char *)record->data + JFR_TRACE_ID +
						 JFR_SPAN_ID };
	uint32_t before = contexts->count;

	if (record->length < JFR_TRACE_ID + JFR_SPAN_ID)
		return -EBADMSG;
	memcpy(context.trace_id, record->data, JFR_TRACE_ID);
	memcpy(context.span_id, record->data + JFR_TRACE_ID, JFR_SPAN_ID);
	context.length = record->length - JFR_TRACE_ID - JFR_SPAN_ID;
	if (memchr(context.labels, '\0', context.length))
		return -EBADMSG;
	return jfr_contexts_intern(contexts, &context) == before + 1 ? 0 : -EBADMSG;
}

uint64_t jfr_load_start(const struct jfr_writer *w)
{
	return (uint64_t)w->chunk_start;
}

int jfr_load(struct jfr_writer *w, const struct journal_record *record)
{
	switch (record->kind) {
	case JOURNAL_BEGIN:
		return load_begin(w, record);
	case JOURNAL_PCS:
		return load_pcs(&w->interned.stacks, record);
	case JOURNAL_STACKS:
		return load_stacks(&w->interned.stacks, record);
	case JOURNAL_SPECIAL:
		return load_special(&w->interned.stacks, record);
	case JOURNAL_THREAD:
		return load_thread(&w->interned.threads, record);
	case JOURNAL_USER_TYPE:
		return load_user_type(w, record);
	case JOURNAL_CONTEXT:
		return load_context(&w->interned.contexts, record);
	default:
		return -EBADMSG;
	}
}

/* The length of the event that BYTES begin, COUNT of them; 0 where they are none. */
static uint64_t event_length(const uint8_t *bytes, size_t count)
{
	uint64_t length = 0;

	for (size_t i = 0; i < count && i < LENGTH_MAX; i++) {
		length |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
		if (!(bytes[i] & 0x80))
			return length > i + 1 ? length : 0;
	}
	return 0;
}

/* Where the last whole event of those in FD from START to END ends. */
static int find_end(int fd, off_t start, off_t end, off_t *out)
{
	uint8_t bytes[4096 + LENGTH_MAX];
	off_t at = start, base = start;
	size_t have = 0;
	uint64_t length;

	while (at < end) {
		if (at < base || (size_t)(at - base) + LENGTH_MAX > have) {
			base = at;
			have = (uint64_t)(end - at) < sizeof(bytes) ? (size_t)(end - at)
								    : sizeof(bytes);
			if (fd_read(fd, bytes, have, base))
				return -EIO;
		}
		length = event_length(bytes + (at - base), have - (size_t)(at - base));
		if (!length || length > (uint64_t)(end - at))
			break;
		at += (off_t)length;
	}
	*out = at;
	return 0;
}

/* The metadata, which is the first event of a chunk, has to be ours to the byte: what is to be added is
 * written as ours has it. Another version's may differ. */
static int check_metadata(const struct jfr_writer *w, int fd, off_t event, off_t end)
{
	uint8_t bytes[LENGTH_MAX], *there = NULL;
	uint64_t length;
	int err;

	if (end - event < (off_t)sizeof(bytes))
		return -EBADMSG;
	err = fd_read(fd, bytes, sizeof(bytes), event);
	length = event_length(bytes, sizeof(bytes));
	if (!err && (length < w->metadata.length || length > (uint64_t)(end - event)))
		err = -EPROTO;
	if (!err) {
		there = malloc(w->metadata.length);
		err = there ? fd_read(fd, there, w->metadata.length,
				      event + (off_t)(length - w->metadata.length))
			    : -ENOMEM;
	}
	if (!err && memcmp(there, w->metadata.data, w->metadata.length))
		err = -EPROTO;
	free(there);
	return err;
}

int jfr_resume(struct jfr_writer *w, int fd, off_t chunk_start, uint64_t events, uint64_t *kept)
{
	off_t end = chunk_start;
	char magic[4];
	int err;

	if (events < HEADER_BYTES || events > INT64_MAX / 2)
		return -EBADMSG;
	err = fd_read(fd, magic, sizeof(magic), chunk_start);
	if (!err && memcmp(magic, "FLR", sizeof(magic)))
		err = -EBADMSG;
	if (!err)
		err = find_end(fd, chunk_start + HEADER_BYTES, chunk_start + (off_t)events, &end);
	if (!err)
		err = check_metadata(w, fd, chunk_start + HEADER_BYTES, end);
	if (err)
		return err;
	*kept = (uint64_t)(end - chunk_start);
	w->chunk_start = chunk_start;
	w->out.fd = fd;
	jfr_out_seek(&w->out, end);
	w->dropped = 0;
	w->open = true;
	return 0;
}
