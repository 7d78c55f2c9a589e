/* States of threads by time, for the recording of another engine. */
#include "engine/collect/wait_log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/cost.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/text/hash.h"
#include "core/timer/thread_timer.h"
#include "engine/process/thread_count.h"
#include "engine/process/tids.h"
#include "engine/wait/wait_lines.h"
#include "engine/wait/wait_look.h"
#include "engine/wait/wait_object.h"
#include "engine/wait/wait_owner.h"

/* Different texts of waits. Further ones are not logged. */
#define TEXTS_MAX 4096

#define OWNER_LINE_MAX 64

/* Places of the texts' numbers, by the texts' hash. Half of them stay empty. */
#define TEXT_PLACES (2 * TEXTS_MAX)

/* A thread in one state. Times are in units of UNIT_NS from the log's start: 32 bits last for days. */
#define UNIT_NS 100000u
struct row {
	uint32_t from, to;
	pid_t tid;
	uint32_t text; /* its number from 1 on */
};

struct logged_thread {
	pid_t tid;
	bool is_waiting;  /* at the last look */
	uint64_t cpu_ns;  /* at that look */
	struct wait wait; /* at that look */
	struct row now;   /* the current state; TEXT 0: none */
	struct wait_seen seen;
};

static struct {
	uint64_t due_ns, interval_ns;
	uint64_t start_ns, start_monotonic_ns; /* of the log; 0: nothing is logged */
	struct logged_thread *threads;         /* sorted by thread ID */
	size_t thread_count;
	struct row *rows;
	size_t row_count, row_room;
	char *texts[TEXTS_MAX];
	uint32_t text_count;
	uint16_t places[TEXT_PLACES]; /* numbers of texts; 0: empty */
} waits;

static void log_full(void)
{
	static bool is_logged;

	if (!is_logged)
		log_warn("there are too many states of threads in one report: some wall-clock "
			 "samples have no state");
	is_logged = true;
}

/* Returns the place of TEXT, or the empty one where it belongs. */
static uint16_t *text_place(const char *text)
{
	uint32_t i = text_hash(text) % TEXT_PLACES;

	while (waits.places[i] && strcmp(waits.texts[waits.places[i] - 1], text))
		i = (i + 1) % TEXT_PLACES;
	return &waits.places[i];
}

/* Returns the number of TEXT, or 0 if there is no room. */
static uint32_t text_number(const char *text)
{
	uint16_t *place = text_place(text);
	char *copy;

	if (*place)
		return *place;
	copy = waits.text_count < TEXTS_MAX ? strdup(text) : NULL;
	if (!copy) {
		log_full();
		return 0;
	}
	waits.texts[waits.text_count++] = copy;
	*place = (uint16_t)waits.text_count;
	return *place;
}

static void row_store(const struct row *row)
{
	size_t room = waits.row_room ? 2 * waits.row_room : 1024;
	struct row *rows;

	if (!row->text)
		return;
	if (waits.row_count == WAIT_LOG_ROWS_MAX) {
		log_full();
		return;
	}
	if (waits.row_count == waits.row_room) {
		rows = realloc(waits.rows, room * sizeof(*rows));
		if (!rows)
			return;
		waits.rows = rows;
		waits.row_room = room;
	}
	waits.rows[waits.row_count++] = *row;
}

/* T is in the state TEXT at TIME. */
static void thread_set_state(struct logged_thread *t, uint32_t text, uint32_t time)
{
	if (text != t->now.text) {
		row_store(&t->now);
		t->now = (struct row){ .from = time, .tid = t->tid, .text = text };
	}
	t->now.to = time;
}

/* Functions that wait for a lock of each form, by the beginning of their names. */
static const char *const lock_functions[] = {
	[WAIT_OWNER_MUTEX] = "pthread_mutex_",
	[WAIT_OWNER_WORD] = "pthread_mutex_",
	[WAIT_OWNER_RWLOCK] = "pthread_rwlock_",
};

/* The owner is a guess until a reader finds such a function on the stack. */
static void add_owner_line(const struct wait *wait, char line[OWNER_LINE_MAX])
{
	for (size_t kind = WAIT_OWNER_MUTEX; kind <= WAIT_OWNER_RWLOCK; kind++)
		if (wait->owner && wait->owner_kinds == 1u << kind)
			snprintf(line, OWNER_LINE_MAX, WAIT_OWNER_IN "=%s\n", lock_functions[kind]);
}

static void thread_log_wait(struct logged_thread *t, uint32_t time)
{
	char lines[WAIT_LINES_MAX + OWNER_LINE_MAX] = "";
	size_t length = wait_lines(&t->wait, lines);

	add_owner_line(&t->wait, lines + length);
	thread_set_state(t, length ? text_number(lines) : 0, time);
}

static void thread_look_at(struct logged_thread *t, uint64_t cpu_ns, uint32_t time)
{
	wait_look(&t->wait, t->tid, cpu_ns, &t->seen);
	t->is_waiting = t->wait.state == WAIT_WAITING;
	t->cpu_ns = cpu_ns;
	if (t->wait.is_futex)
		wait_find_owner(&t->wait, t->tid);
	thread_log_wait(t, time);
}

/* T still waits: the lock may have another owner. */
static void thread_follow_owner(struct logged_thread *t, uint32_t time)
{
	pid_t before = t->wait.owner;

	if (before)
		wait_find_owner(&t->wait, t->tid);
	if (t->wait.owner == before)
		t->now.to = time;
	else
		thread_log_wait(t, time);
}

/* Returns false if the thread has ended. A thread that has used no CPU time still waits for the same. */
static bool thread_visit(struct logged_thread *t, uint32_t time)
{
	struct timespec cpu;
	uint64_t cpu_ns;

	if (clock_read(thread_timer_cpu_clock(t->tid), &cpu))
		return false;
	cpu_ns = clock_time_ns(&cpu);
	if (t->is_waiting && t->now.text && cpu_ns == t->cpu_ns && !wait_is_over(&t->seen))
		thread_follow_owner(t, time);
	else
		thread_look_at(t, cpu_ns, time);
	return true;
}

static void thread_forget(struct logged_thread *t)
{
	row_store(&t->now);
	wait_clear(&t->wait);
	wait_seen_clear(&t->seen);
}

/* Move the threads that still exist to the new list; the others have ended. */
static void threads_list(void)
{
	struct logged_thread *threads;
	pid_t *tids = NULL;
	ssize_t count = tids_list(&tids);
	size_t kept = 0, old = 0;

	threads = count > 0 ? calloc((size_t)count, sizeof(*threads)) : NULL;
	for (ssize_t i = 0; threads && i < count; i++) {
		if (own_thread_has_id(tids[i]))
			continue;
		while (old < waits.thread_count && waits.threads[old].tid < tids[i])
			thread_forget(&waits.threads[old++]);
		if (old < waits.thread_count && waits.threads[old].tid == tids[i])
			threads[kept++] = waits.threads[old++];
		else
			threads[kept++].tid = tids[i];
	}
	free(tids);
	if (!threads)
		return;
	while (old < waits.thread_count)
		thread_forget(&waits.threads[old++]);
	free(waits.threads);
	waits.threads = threads;
	waits.thread_count = kept;
}

static uint32_t log_time(void)
{
	if (!waits.start_ns) {
		waits.start_ns = clock_realtime_ns();
		waits.start_monotonic_ns = clock_monotonic_ns();
	}
	return (uint32_t)((clock_monotonic_ns() - waits.start_monotonic_ns) / UNIT_NS);
}

/* A thread that has ended may have made room for one that is not listed yet. */
static void threads_visit(void)
{
	bool all_live = true;

	if (thread_count() != waits.thread_count + own_thread_count())
		threads_list();
	for (size_t i = 0; i < waits.thread_count; i++)
		all_live &= thread_visit(&waits.threads[i], log_time());
	if (!all_live)
		threads_list();
}

uint64_t wait_log_service(uint64_t now_ns, uint64_t interval_ns)
{
	uint64_t begin_ns;

	if (interval_ns != waits.interval_ns)
		waits.due_ns = now_ns;
	waits.interval_ns = interval_ns;
	if (now_ns < waits.due_ns)
		return waits.due_ns;
	begin_ns = clock_cpu_ns();
	threads_visit();
	cost_add_agent(COST_WALL, clock_cpu_ns() - begin_ns);
	waits.due_ns = now_ns + interval_ns;
	return waits.due_ns;
}

static void row_write(struct jfr_writer *jfr, const struct row *row, uint64_t start_ns,
		      uint64_t start_ticks)
{
	uint64_t from_ns = waits.start_ns + (uint64_t)row->from * UNIT_NS,
		 to_ns = waits.start_ns + (uint64_t)row->to * UNIT_NS;
	const char *text;

	if (!row->text || to_ns < start_ns)
		return;
	text = waits.texts[row->text - 1];
	from_ns = from_ns > start_ns ? from_ns : start_ns;
	jfr_logged_state(jfr, start_ticks + from_ns - start_ns, to_ns - from_ns, row->tid,
			 jfr_wait_description(jfr, text, strlen(text)));
}

void wait_log_write(struct jfr_writer *jfr, uint64_t start_ns, uint64_t start_ticks)
{
	for (size_t i = 0; i < waits.row_count; i++)
		row_write(jfr, &waits.rows[i], start_ns, start_ticks);
	for (size_t i = 0; i < waits.thread_count; i++)
		row_write(jfr, &waits.threads[i].now, start_ns, start_ticks);
}

void wait_log_forget(void)
{
	for (uint32_t i = 0; i < waits.text_count; i++)
		free(waits.texts[i]);
	free(waits.rows);
	waits.rows = NULL;
	waits.row_count = waits.row_room = 0;
	waits.text_count = 0;
	waits.start_ns = 0;
	memset(waits.places, 0, sizeof(waits.places));
	for (size_t i = 0; i < waits.thread_count; i++)
		waits.threads[i].now.text = 0; /* it is looked at again */
	wait_object_forget();
}
