/* The collector: writes the samples of the rings to the chunks of the recording. */
#include "engine/collect/collector.h"

#include <errno.h>
#include <time.h>

#include "core/clock.h"
#include "core/memory/account.h"
#include "core/signal_share.h"
#include "engine/collect/chunk_facts.h"
#include "engine/collect/drain_cost.h"
#include "engine/collect/lock_events.h"
#include "engine/collect/mem_events.h"
#include "engine/collect/program_stack.h"
#include "engine/collect/sample_context.h"
#include "engine/collect/thread_look.h"
#include "engine/collect/thread_times.h"
#include "engine/collect/wall.h"
#include "engine/context/contexts.h"
#include "engine/jfr/jfr_write.h"
#include "engine/memory/mem.h"
#include "engine/modules/modules.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/runtime/runtimes.h"
#include "engine/sample/ring.h"
#include "engine/sample/threads.h"
#include "engine/sample/loop_iterations.h"
#include "engine/sample/user_events.h"
#include "engine/symbols/symbols.h"
#include "engine/wait/wait_object.h"
#include "engine/wait/wait_stack.h"

#define LOAD_INTERVAL_NS    5000000000u
#define LOOK_INTERVAL_NS    1000000000u
#define NAMES_INTERVAL_NS   5000000000u
#define MODULES_INTERVAL_NS 500000000u /* for unmapped modules */

/* With 10,000 threads, a look or reading names takes many milliseconds. The pause after it is so
 * many times as long, or its interval. */
#define PAUSE_FACTOR 500

/* Maximum weight of one sample. A thread that has blocked the signal for seconds owes thousands of
 * samples when it arrives. Where that time was spent is unknown, and so many samples of one place
 * would distort the chunk. The rest is counted as lost. */
#define WEIGHT_MAX 100

/* Maximum number of early chunks per report, which bounds the report: with 1.5 MiB of stacks each
 * it has 12 MiB of them. Further stacks are lost and counted. */
#define EARLY_CHUNKS_MAX 7

static struct {
	struct chunks chunks;
	unsigned early;  /* early chunks since the last dump */
	int early_error; /* first error of an early chunk; the next dump returns it */
	struct symbols *symbols;
	uint64_t load_due_ns, look_due_ns, modules_due_ns, names_due_ns;
	uint64_t samples, samples_before, lost_before;
	uint64_t memory_before;
	uint64_t late, late_before, refused_before, unreported_before;
	struct engine_losses in_chunks; /* losses of the chunks so far */
	struct engine_counts at_start;  /* totals of the process when the collector started */
} collector;

/* The totals of this process. */
static void collector_read_totals(struct engine_counts *out)
{
	*out = (struct engine_counts){
		.taken = collector.samples,
		.lost = ring_lost() + collector.late,
		.losses = { .ring_full = ring_lost(),
			    .late = collector.late,
			    .timers = signal_share_refused(),
			    .allocations = collector.in_chunks.allocations,
			    .stacks = collector.in_chunks.stacks,
			    .threads = collector.in_chunks.threads,
			    .events = collector.in_chunks.events,
			    .stalls = loop_iterations_unreported() },
	};
}

uint64_t collector_samples(void)
{
	return collector.samples - collector.at_start.taken;
}

uint64_t collector_lost(void)
{
	return ring_lost() + collector.late - collector.at_start.lost;
}

void collector_losses(struct engine_losses *losses)
{
	const struct engine_losses *before = &collector.at_start.losses;
	struct engine_counts now;

	collector_read_totals(&now);
	*losses = (struct engine_losses){
		.is_reported = true,
		.ring_full = now.losses.ring_full - before->ring_full,
		.late = now.losses.late - before->late,
		.timers = now.losses.timers - before->timers,
		.allocations = now.losses.allocations - before->allocations,
		.stacks = now.losses.stacks - before->stacks,
		.threads = now.losses.threads - before->threads,
		.events = now.losses.events - before->events,
		.stalls = now.losses.stalls - before->stalls,
	};
}

static uint64_t pause_after(uint64_t began_cpu_ns, uint64_t interval_ns)
{
	uint64_t pause_ns = PAUSE_FACTOR * (clock_cpu_ns() - began_cpu_ns);

	return pause_ns > interval_ns ? pause_ns : interval_ns;
}

static void collector_close(void)
{
	wall_open(NULL, NULL);
	lock_events_stop();
	chunks_close(&collector.chunks);
	symbols_close(collector.symbols);
	collector.symbols = NULL;
}

int collector_start(int fd, const chunk_settings *samples, const chunk_settings *memory,
		    bool has_other_engine)
{
	int err;

	collector.early = 0;
	collector.early_error = 0;
	collector_read_totals(&collector.at_start);
	collector.samples_before = collector.samples;
	collector.late_before = collector.late;
	collector.memory_before = memory_refusals();
	err = chunks_open(&collector.chunks, fd, samples, memory, has_other_engine);
	if (err)
		return err;
	err = symbols_open(&collector.symbols);
	wall_open(collector.chunks.jfr, err ? NULL : collector.symbols);
	if (!err)
		err = chunks_begin(&collector.chunks);
	if (err)
		collector_close();
	return err;
}

/* Set the context of the next events to that of S. */
static void collector_use_context(const struct sample *s)
{
	jfr_use_context(collector.chunks.jfr,
			sample_context_id(collector.chunks.jfr, sample_context(s)));
}

static void collector_write_execution(const struct sample *s)
{
	uint32_t stack = program_stack(collector.chunks.jfr, s->pcs, s->count, s->truncated);

	uint32_t weight = s->weight < WEIGHT_MAX ? s->weight : WEIGHT_MAX;

	collector_use_context(s);
	/* An ExecutionSample has no weight, so late samples are written one by one. */
	for (uint32_t i = 0; i < weight; i++)
		jfr_execution_sample(collector.chunks.jfr, s->ticks, s->tid, stack,
				     JFR_STATE_DEFAULT);
	collector.samples += weight;
	collector.late += s->weight - weight;
}

static void collector_write_sample(void *context, const struct sample *s)
{
	(void)context;
	drain_cost_count((enum sample_kind)s->kind);
	if (!jfr_thread_named(collector.chunks.jfr, s->tid))
		chunks_name_living_thread(&collector.chunks, s->tid);
	switch ((enum sample_kind)s->kind) {
	case SAMPLE_CPU:
		collector_write_execution(s);
		break;
	case SAMPLE_WALL:
		wall_record(collector.chunks.jfr, s);
		collector.samples++;
		break;
	case SAMPLE_USER_EVENT:
		jfr_user_event(
			collector.chunks.jfr, s->ticks, s->tid,
			jfr_user_event_type(collector.chunks.jfr, user_event_name((int)s->args[0])),
			s->payload, s->count);
		break;
	case SAMPLE_CRASH:
		chunks_crash(&collector.chunks, s);
		break;
	case SAMPLE_STALL:
		collector_use_context(s);
		jfr_stall(collector.chunks.jfr, s->args[0], s->tid,
			  s->count ? program_stack(collector.chunks.jfr, s->pcs, s->count,
						   s->truncated)
				   : 0,
			  s->ticks - s->args[0], (int)(int64_t)s->args[1]);
		break;
	case SAMPLE_MALLOC:
		mem_events_malloc(collector.chunks.mem, s);
		collector.samples++;
		break;
	case SAMPLE_FREE:
		mem_events_free(collector.chunks.mem, s);
		break;
	case SAMPLE_LOCK:
		lock_events_add(collector.chunks.jfr, collector.symbols, s);
		collector.samples++;
		break;
	case SAMPLE_LOCK_OWNER:
		lock_events_add(collector.chunks.jfr, collector.symbols, s);
		break;
	case SAMPLE_PAD:
		break;
	}
}

/* Threads often get their names after they have started to work. */
static void collector_name_thread(void *context, struct thread *t)
{
	(void)context;
	if (atomic_load(&t->sampled) && !atomic_load(&t->ended))
		chunks_name_living_thread(&collector.chunks, atomic_load(&t->tid));
}

/* A thread that sleeps all the time has no sample that would cause it to be named. */
static void collector_name_unnamed_thread(void *context, struct thread *t)
{
	if (!jfr_thread_named(collector.chunks.jfr, atomic_load(&t->tid)))
		collector_name_thread(context, t);
}

/* The last samples of the ended thread are already in the chunk. */
static void collector_end_thread(void *context, struct thread *t)
{
	(void)context;
	thread_times_end(collector.chunks.jfr, t, wall_queue_ns(t));
	collector.late += wall_end(collector.chunks.jfr, t);
	if (atomic_load(&t->sampled) && t->name[0])
		chunks_name_thread(&collector.chunks, atomic_load(&t->tid), t->name);
}

static void collector_check_timers(void *context, struct thread *t)
{
	(void)context;
	if (atomic_load(&t->ended))
		return;
	thread_clock_follow_mask(&t->clock);
	thread_clock_spare(&t->clock);
}

static void collector_look(uint64_t now_ns)
{
	uint64_t began_ns = clock_cpu_ns();

	thread_look();
	threads_each(collector_check_timers, NULL);
	collector.look_due_ns = now_ns + pause_after(began_ns, LOOK_INTERVAL_NS);
}

void collector_drain(uint64_t now_ns)
{
	if (!collector.chunks.jfr)
		return;
	if (now_ns >= collector.modules_due_ns || modules_have_grown()) {
		if (modules_refresh() > 0) {
			runtimes_scan();
			contexts_search_modules();
		}
		collector.modules_due_ns = now_ns + MODULES_INTERVAL_NS;
	}
	runtimes_visit();
	contexts_update(now_ns);
	drain_cost_begin();
	ring_drain(collector_write_sample, NULL);
	lock_events_write(collector.chunks.jfr, collector.symbols, false);
	drain_cost_end();
	threads_reap(collector_end_thread, NULL);
	if (now_ns >= collector.look_due_ns) {
		collector_look(now_ns);
	}
	if (now_ns >= collector.load_due_ns) {
		chunk_load(collector.chunks.jfr, clock_ticks());
		collector.load_due_ns = now_ns + LOAD_INTERVAL_NS;
	}
}

uint64_t collector_mem_bytes(void)
{
	return chunks_mem_is_apart(&collector.chunks) ? jfr_chunk_bytes(collector.chunks.mem) : 0;
}

/* LAST: the chunk is the last of a report. */
static void collector_write_losses(uint64_t ticks, bool last)
{
	uint64_t refused = signal_share_refused();
	uint64_t unreported = loop_iterations_unreported();
	uint64_t memory = memory_refusals();
	uint64_t lost = ring_lost(); /* read once: later losses belong to the next chunk */
	struct jfr_losses losses = {
		.samples = collector.samples - collector.samples_before,
		.ring_full = lost - collector.lost_before,
		.timer_failures = refused - collector.refused_before,
		.late = collector.late - collector.late_before,
		.stalls = unreported - collector.unreported_before,
		.memory = memory - collector.memory_before,
	};
	struct jfr_losses mem_losses = { 0 };
	struct jfr_losses *of_memory =
		chunks_mem_is_apart(&collector.chunks) ? &mem_losses : &losses;

	if (last)
		mem_events_chunk(collector.chunks.mem, collector.symbols, ticks, of_memory);
	jfr_losses(collector.chunks.jfr, ticks, &losses);
	if (chunks_mem_is_apart(&collector.chunks))
		jfr_losses(collector.chunks.mem, ticks, &mem_losses);
	collector.in_chunks.allocations += of_memory->table_evictions;
	collector.in_chunks.stacks += of_memory->retained_stacks;
	jfr_writer_add_losses(collector.chunks.jfr, &collector.in_chunks.stacks,
			      &collector.in_chunks.threads, &collector.in_chunks.events);
	if (chunks_mem_is_apart(&collector.chunks))
		jfr_writer_add_losses(collector.chunks.mem, &collector.in_chunks.stacks,
				      &collector.in_chunks.threads, &collector.in_chunks.events);
	collector.samples_before = collector.samples;
	collector.late_before = collector.late;
	collector.lost_before = lost;
	collector.refused_before = refused;
	collector.unreported_before = unreported;
	collector.memory_before = memory;
}

/* The frames of this chunk have names now. Move stacks that outlive the chunk to the new frame
 * table. */
static void collector_move_stacks(void)
{
	if (!mixed_stack_turn() || !mem_keep_frames())
		return;
	wall_keep_frames();
	frame_table_drop();
}

/* Reading the names of a thousand threads is slow, so chunks of one second do it only for threads that have none in this
 * report. */
static void collector_name_threads(uint64_t now_ns, bool last)
{
	uint64_t began_ns = clock_cpu_ns();

	if (!last && now_ns < collector.names_due_ns) {
		threads_each(collector_name_unnamed_thread, NULL);
		return;
	}
	threads_each(collector_name_thread, NULL);
	collector.names_due_ns = now_ns + pause_after(began_ns, NAMES_INTERVAL_NS);
}

/* LAST: the chunk is the last of a report. It holds what a report needs once: CPU load, machine,
 * and retained memory. */
static int collector_finish_chunk(bool last)
{
	uint64_t ticks, now_ns = clock_monotonic_ns();
	int err;

	collector_drain(now_ns);
	lock_events_write(collector.chunks.jfr, collector.symbols, true);
	if (last)
		wall_write_waits(collector.chunks.jfr);
	wall_flush(collector.chunks.jfr);
	collector_name_threads(now_ns, last);
	ticks = clock_ticks();
	if (last) {
		thread_times_write(collector.chunks.jfr);
		chunk_load(collector.chunks.jfr, ticks);
		chunk_machine(collector.chunks.jfr, ticks);
	}
	collector_write_losses(ticks, last);
	err = chunks_end(&collector.chunks, collector.symbols, ticks);
	if (last)
		chunks_forget_threads(&collector.chunks);
	collector_move_stacks();
	symbols_release(collector.symbols);
	wait_stack_forget();
	wait_object_forget();
	modules_forget();
	return err;
}

static int collector_rotate_chunks(bool last)
{
	int ended = collector_finish_chunk(last), err;

	err = chunks_begin(&collector.chunks);
	return ended ? ended : err;
}

int collector_rotate(void)
{
	int before = collector.early_error, err;

	if (!collector.chunks.jfr)
		return -ESRCH;
	collector.early = 0;
	collector.early_error = 0;
	err = collector_rotate_chunks(true);
	return err ? err : before;
}

int collector_end_chunk(void)
{
	int err = collector.chunks.jfr ? collector_rotate_chunks(false) : -ESRCH;

	if (err && !collector.early_error)
		collector.early_error = err;
	return err;
}

int collector_change_settings(const chunk_settings samples, const chunk_settings memory)
{
	chunks_set_settings(&collector.chunks, samples, memory);
	return collector_end_chunk();
}

void collector_split_if_full(void)
{
	if (collector.early == EARLY_CHUNKS_MAX || !chunks_are_crowded(&collector.chunks))
		return;
	collector.early++;
	collector.names_due_ns = 0;
	collector_end_chunk();
}

/* A thread that was preempted while it fills in a sample delays the samples after it in the ring.
 * No new samples arrive, so it finishes soon. After 10 ms the remaining samples are dropped. */
static void wait_for_producers(void)
{
	static const struct timespec a_moment = { .tv_nsec = 500000 };

	for (int i = 0; i < 20 && !ring_drain(collector_write_sample, NULL); i++)
		nanosleep(&a_moment, NULL);
}

int collector_stop(void)
{
	int err;

	if (!collector.chunks.jfr)
		return 0;
	wait_for_producers();
	wall_write_waits(collector.chunks.jfr);
	collector.late += wall_owed();
	err = collector_finish_chunk(true);
	collector_close();
	return err ? err : collector.early_error;
}
