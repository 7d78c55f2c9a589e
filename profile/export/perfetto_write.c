/* Writer of Perfetto's trace (https://github.com/google/perfetto/tree/main/protos/perfetto/trace).
 * Each metric is a sequence of packets with perf samples. Names, frames and stacks are written
 * before the first sample that refers to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"
#include "profile/basics/text.h"
#include "profile/encode/proto.h"
#include "profile/export/export.h"

/* Field numbers, by message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_SAMPLE = 66,
};
enum {
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_PATH = 17,
	INTERNED_MAPPING = 19,
};
enum { DEFAULTS_SAMPLE = 12, SAMPLE_TIMEBASE = 1, TIMEBASE_PERIOD = 1, TIMEBASE_NAME = 10 };

#define FLAG_STATE_CLEARED 1
#define FLAG_NEEDS_STATE   2
#define MARK_SEQUENCE      (METRICS + 1)
#define MESSAGE_MAX        (1u << 26)

/* Track of the marks of a kind in a thread. */
struct track_key {
	uint32_t kind, thread;
};

/* Whether an entry of each table was written, by ID. */
struct written {
	uint8_t *flags;
	uint32_t capacity;
};

struct perfetto {
	FILE *file;
	const struct timed_store *store;
	struct written names, modules, frames, stacks;
	uint32_t *pids;       /* by thread */
	struct intern tracks; /* struct track_key */
	int64_t *track_ends;  /* end of the last slice, by track */
	uint32_t track_capacity;
	struct buf packet, interned;
	int err;
};

static void set_error(struct perfetto *t, int err)
{
	if (err && !t->err)
		t->err = err;
}

static void append_int(struct perfetto *t, struct buf *to, unsigned field, uint64_t value)
{
	set_error(t, proto_int(to, field, (int64_t)value));
}

/* Append MESSAGE and release it. */
static void append_message(struct perfetto *t, struct buf *to, unsigned field, struct buf *message)
{
	set_error(t, proto_message(to, field, message));
	buf_free(message);
}

static void packet_begin(struct perfetto *t, uint32_t sequence)
{
	buf_reset(&t->packet);
	append_int(t, &t->packet, PACKET_SEQUENCE, sequence);
}

static void packet_write(struct perfetto *t)
{
	struct buf whole = BUF_INIT(MESSAGE_MAX * 2);

	set_error(t, proto_message(&whole, TRACE_PACKET, &t->packet));
	fwrite(whole.data, 1, whole.length, t->file);
	buf_free(&whole);
}

/* Whether entry ID is written for the first time. */
static bool is_new(struct perfetto *t, struct written *table, uint32_t id)
{
	if (array_reserve(&table->flags, &table->capacity, id, 1)) {
		set_error(t, -ENOMEM);
		return false;
	}
	return !table->flags[id] && (table->flags[id] = 1);
}

static void forget_written(struct perfetto *t)
{
	struct written *tables[] = { &t->names, &t->modules, &t->frames, &t->stacks };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (tables[i]->capacity)
			memset(tables[i]->flags, 0, tables[i]->capacity);
}

static void intern_string_entry(struct perfetto *t, unsigned field, uint64_t id, const char *text)
{
	struct buf entry = BUF_INIT(MESSAGE_MAX);

	append_int(t, &entry, 1, id);
	set_error(t, proto_string(&entry, 2, text));
	append_message(t, &t->interned, field, &entry);
}

/* Frames without a library belong to a mapping of their own; so IDs are the module's plus 1. */
static void intern_module(struct perfetto *t, uint32_t module)
{
	struct buf entry = BUF_INIT(64);

	if (!is_new(t, &t->modules, module))
		return;
	intern_string_entry(t, INTERNED_PATH, (uint64_t)module + 1,
			    intern_text(&t->store->profile.names, module));
	append_int(t, &entry, 1, (uint64_t)module + 1);
	append_int(t, &entry, 7, (uint64_t)module + 1);
	append_message(t, &t->interned, INTERNED_MAPPING, &entry);
}

static void intern_frame(struct perfetto *t, uint32_t id)
{
	const struct frame *frame = profile_frame(&t->store->profile, id);
	struct buf entry = BUF_INIT(64);

	if (!is_new(t, &t->frames, id))
		return;
	intern_module(t, frame->module);
	if (is_new(t, &t->names, frame->name))
		intern_string_entry(t, INTERNED_FUNCTION, (uint64_t)frame->name + 1,
				    intern_text(&t->store->profile.names, frame->name));
	append_int(t, &entry, 1, id);
	append_int(t, &entry, 2, (uint64_t)frame->name + 1);
	append_int(t, &entry, 3, (uint64_t)frame->module + 1);
	append_int(t, &entry, 4, frame->address);
	append_int(t, &entry, 6, frame->line);
	append_message(t, &t->interned, INTERNED_FRAME, &entry);
}

static void intern_stack(struct perfetto *t, uint32_t id)
{
	struct buf entry = BUF_INIT(MESSAGE_MAX);
	uint32_t depth;
	const uint32_t *frames = export_stack(t->store, id, &depth);

	if (!id || !is_new(t, &t->stacks, id))
		return;
	append_int(t, &entry, 1, id);
	for (uint32_t i = depth; i; i--) { /* outermost first */
		intern_frame(t, frames[i - 1]);
		append_int(t, &entry, 2, frames[i - 1]);
	}
	append_message(t, &t->interned, INTERNED_STACK, &entry);
}

static uint32_t thread_pid(const struct perfetto *t, uint32_t thread)
{
	return thread && thread <= t->store->profile.threads.count ? t->pids[thread] : 1;
}

/* Greater than each process ID of Linux. */
#define PID_LIMIT (1u << 22)

/* Returns the ID of THREAD's process in PROCESSES, by its label and host; 0 when out of memory. Sets *PID to its process ID. */
static uint32_t intern_process(const struct perfetto *t, struct intern *processes, uint32_t thread,
			       uint32_t *pid)
{
	const struct profile *p = &t->store->profile;
	const struct thread_key *key = intern_key(&p->threads, thread);
	const char *host = text_find_line(intern_text(&p->names, key->labels), "host", true);
	char process[128], text[512];

	timed_store_process(t->store, thread, process, sizeof(process));
	*pid = export_pid(process);
	if (!*pid)
		*pid = 1;
	snprintf(text, sizeof(text), "%s\n%.*s", process, host ? (int)strcspn(host, "\n") : 0,
		 host ? host : "");
	return intern_string(processes, text);
}

/* Set the process ID of each thread. Processes of different hosts or containers may have equal IDs, which Perfetto takes
 * for one process. So only the first of them keeps it. */
static int assign_pids(struct perfetto *t)
{
	uint32_t count = t->store->profile.threads.count, pid;
	struct intern processes = INTERN_INIT, pids = INTERN_INIT;
	uint32_t *pid_of = calloc((size_t)count + 1, sizeof(*pid_of)); /* by process */
	int err = 0;

	t->pids = calloc((size_t)count + 1, sizeof(*t->pids));
	if (!t->pids || !pid_of)
		err = -ENOMEM;
	for (uint32_t thread = 1; thread <= count && !err; thread++) {
		uint32_t known = processes.count, used = pids.count;
		uint32_t process = intern_process(t, &processes, thread, &pid);

		if (!process || !intern(&pids, &pid, sizeof(pid)))
			err = -ENOMEM;
		else if (processes.count != known)
			pid_of[process] = pids.count != used ? pid : PID_LIMIT + process;
		if (!err)
			t->pids[thread] = pid_of[process];
	}
	free(pid_of);
	intern_free(&processes);
	intern_free(&pids);
	return err;
}

static uint32_t thread_tid(const struct perfetto *t, uint32_t thread)
{
	const struct thread_key *key = intern_key(&t->store->profile.threads, thread);

	return key->tid ? key->tid : thread_pid(t, thread);
}

static uint64_t thread_track(uint32_t thread)
{
	return (uint64_t)thread + 1;
}

static void write_thread_track(struct perfetto *t, uint32_t thread)
{
	const struct profile *p = &t->store->profile;
	const struct thread_key *key = intern_key(&p->threads, thread);
	struct buf track = BUF_INIT(MESSAGE_MAX), part = BUF_INIT(MESSAGE_MAX);

	packet_begin(t, MARK_SEQUENCE);
	append_int(t, &track, 1, thread_track(thread));
	append_int(t, &part, 1, thread_pid(t, thread));
	append_int(t, &part, 2, thread_tid(t, thread));
	set_error(t, proto_string(&part, 5, intern_text(&p->names, key->name)));
	append_message(t, &track, 4, &part);
	append_message(t, &t->packet, PACKET_TRACK, &track);
	packet_write(t);
}

static void write_process_track(struct perfetto *t, uint32_t thread, uint64_t uuid)
{
	struct buf track = BUF_INIT(MESSAGE_MAX), part = BUF_INIT(MESSAGE_MAX);
	char process[128];

	timed_store_process(t->store, thread, process, sizeof(process));
	packet_begin(t, MARK_SEQUENCE);
	append_int(t, &track, 1, uuid);
	append_int(t, &part, 1, thread_pid(t, thread));
	set_error(t, proto_string(&part, 6, *process ? process : "process"));
	append_message(t, &track, 3, &part);
	append_message(t, &t->packet, PACKET_TRACK, &track);
	packet_write(t);
}

/* Describe each process and each thread that has samples or marks. */
static void write_tracks(struct perfetto *t)
{
	const struct profile *p = &t->store->profile;
	struct intern processes = INTERN_INIT;

	for (uint32_t thread = 1; thread <= p->threads.count; thread++) {
		uint32_t pid = thread_pid(t, thread), before = processes.count;
		uint32_t id = intern(&processes, &pid, sizeof(pid));

		if (processes.count != before)
			write_process_track(t, thread, (uint64_t)1 << 40 | id);
		write_thread_track(t, thread);
	}
	intern_free(&processes);
}

/* Start a sequence of METRIC's samples. Samples of memory stand for bytes, others for time. */
static void write_sequence_start(struct perfetto *t, uint32_t metric)
{
	struct buf defaults = BUF_INIT(256), sample = BUF_INIT(256), timebase = BUF_INIT(256);
	int64_t period = t->store->profile.periods[metric];

	forget_written(t);
	packet_begin(t, metric + 1);
	append_int(t, &t->packet, PACKET_FLAGS, FLAG_STATE_CLEARED);
	append_int(t, &timebase, TIMEBASE_PERIOD, period > 0 ? (uint64_t)period : 1);
	set_error(t, proto_string(&timebase, TIMEBASE_NAME, metric_texts[metric].name));
	append_message(t, &sample, SAMPLE_TIMEBASE, &timebase);
	append_message(t, &defaults, DEFAULTS_SAMPLE, &sample);
	append_message(t, &t->packet, PACKET_DEFAULTS, &defaults);
	packet_write(t);
}

static void write_sample(struct perfetto *t, const struct timed_sample *s)
{
	double value = metric_is_memory((enum metric)s->metric) ? s->total : s->count;
	struct buf sample = BUF_INIT(256);

	buf_reset(&t->interned);
	intern_stack(t, s->stack);
	packet_begin(t, (uint32_t)s->metric + 1);
	append_int(t, &t->packet, PACKET_TIME, (uint64_t)s->time_ns);
	append_int(t, &t->packet, PACKET_FLAGS, FLAG_NEEDS_STATE);
	if (t->interned.length)
		set_error(t, proto_message(&t->packet, PACKET_INTERNED, &t->interned));
	append_int(t, &sample, 2, thread_pid(t, s->thread));
	append_int(t, &sample, 3, thread_tid(t, s->thread));
	append_int(t, &sample, 4, s->stack);
	append_int(t, &sample, 6, value < 9e18 ? (uint64_t)value : INT64_MAX);
	append_message(t, &t->packet, PACKET_SAMPLE, &sample);
	packet_write(t);
}

static void write_metric(struct perfetto *t, uint32_t metric)
{
	bool any = false;

	for (uint32_t i = 0; i < t->store->group_count; i++) {
		const struct timed_group *group = &t->store->groups[i];

		if (group->metric != metric)
			continue;
		if (!any)
			write_sequence_start(t, metric);
		any = true;
		for (uint64_t at = group->from; at < group->to && !t->err; at++)
			write_sample(t, &t->store->samples[at]);
	}
}

/* Returns the track of MARK, which is described if it is new; 0 when out of memory. */
static uint32_t mark_track(struct perfetto *t, const struct timed_mark *mark)
{
	const struct track_key key = { .kind = mark->kind, .thread = mark->thread };
	uint32_t before = t->tracks.count, id = intern(&t->tracks, &key, sizeof(key));
	struct buf track = BUF_INIT(256);

	if (!id || array_reserve(&t->track_ends, &t->track_capacity, id, sizeof(*t->track_ends))) {
		set_error(t, -ENOMEM);
		return 0;
	}
	if (t->tracks.count == before)
		return id;
	t->track_ends[id] = INT64_MIN;
	packet_begin(t, MARK_SEQUENCE);
	append_int(t, &track, 1, (uint64_t)1 << 41 | id);
	if (mark->thread)
		append_int(t, &track, 5, thread_track(mark->thread));
	set_error(t, proto_string(&track, 2, timed_mark_names[mark->kind]));
	append_message(t, &t->packet, PACKET_TRACK, &track);
	packet_write(t);
	return id;
}

enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3 };

static void write_event(struct perfetto *t, int64_t time_ns, int type, uint32_t track,
			const struct timed_mark *mark)
{
	const char *text = intern_text(&t->store->profile.names, mark->text);
	struct buf event = BUF_INIT(MESSAGE_MAX), note = BUF_INIT(MESSAGE_MAX);

	packet_begin(t, MARK_SEQUENCE);
	append_int(t, &t->packet, PACKET_TIME, (uint64_t)time_ns);
	append_int(t, &event, 9, (uint64_t)type);
	append_int(t, &event, 11, (uint64_t)1 << 41 | track);
	if (type != EVENT_END) {
		set_error(t, proto_string(&event, 22, "asprof"));
		set_error(t, proto_string(&event, 23, timed_mark_names[mark->kind]));
	}
	if (type != EVENT_END && *text) {
		set_error(t, proto_string(&note, 10, "details"));
		set_error(t, proto_string(&note, 6, text));
		set_error(t, proto_message(&event, 4, &note));
	}
	buf_free(&note);
	append_message(t, &t->packet, PACKET_TRACK_EVENT, &event);
	packet_write(t);
}

static void write_mark(struct perfetto *t, const struct timed_mark *mark)
{
	uint32_t track = mark_track(t, mark);
	int64_t start;

	if (!track)
		return;
	if (mark->duration_ns <= 0) {
		write_event(t, mark->time_ns, EVENT_INSTANT, track, mark);
	} else if (export_clip_mark(mark, &t->track_ends[track], &start)) {
		write_event(t, start, EVENT_BEGIN, track, mark);
		write_event(t, t->track_ends[track], EVENT_END, track, mark);
	}
}

int perfetto_write(FILE *file, const struct timed_store *store)
{
	struct perfetto t = { .file = file,
			      .store = store,
			      .packet = BUF_INIT(MESSAGE_MAX),
			      .interned = BUF_INIT(MESSAGE_MAX) };

	set_error(&t, assign_pids(&t));
	packet_begin(&t, MARK_SEQUENCE);
	append_int(&t, &t.packet, PACKET_FLAGS, FLAG_STATE_CLEARED);
	packet_write(&t);
	if (!t.err)
		write_tracks(&t);
	for (uint32_t metric = METRIC_CPU; metric < METRICS && !t.err; metric++)
		write_metric(&t, metric);
	for (size_t i = 0; i < store->mark_count && !t.err; i++)
		write_mark(&t, &store->marks[i]);
	free(t.names.flags);
	free(t.modules.flags);
	free(t.frames.flags);
	free(t.stacks.flags);
	free(t.track_ends);
	free(t.pids);
	intern_free(&t.tracks);
	buf_free(&t.packet);
	buf_free(&t.interned);
	return t.err;
}
