/* From rings to chunks: takes samples out of the rings and writes them into the recording. */
#include "engine/collect/collector.h"

#include <errno.h>
#include <time.h>

#include "core/clock.h"
#include "core/signal_share.h"
#include "engine/collect/chunk_facts.h"
#include "engine/collect/keeping.h"
#include "engine/collect/mem_events.h"
#include "engine/collect/program_stack.h"
#include "engine/collect/sample_context.h"
#include "engine/collect/thread_look.h"
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

#define LOAD_INTERVAL_NS    5000000000u
#define LOOK_INTERVAL_NS    1000000000u
#define MODULES_INTERVAL_NS 500000000u /* for those that went */

/* So many samples at most come of one signal. A thread that has blocked it for seconds owes thousands
 * when it comes: nobody saw where that time went, and it is more than a chunk should hold of one
 * place. What is beyond is counted as lost. */
#define WEIGHT_MAX 100

static struct {
	struct chunks chunks;
	struct symbols *symbols;
	uint64_t load_due_ns, look_due_ns, modules_due_ns;
	uint64_t samples, samples_before, lost_before;
	uint64_t late, late_before, refused_before, unreported_before;
	struct engine_losses in_chunks; /* what those had no room for, so far */
} all;

uint64_t collector_samples(void)
{
	return all.samples;
}

uint64_t collector_lost(void)
{
	return ring_lost() + all.late;
}

void collector_losses(struct engine_losses *losses)
{
	*losses = (struct engine_losses){
		.told = true,
		.ring_full = ring_lost(),
		.late = all.late,
		.timers = signal_share_refused(),
		.allocations = all.in_chunks.allocations,
		.stacks = all.in_chunks.stacks,
		.threads = all.in_chunks.threads,
		.events = all.in_chunks.events,
		.stalls = loop_iterations_unreported(),
	};
}

static void collector_close(void)
{
	chunks_close(&all.chunks);
	keeping_end();
	symbols_close(all.symbols);
	all.symbols = NULL;
}

int collector_start(int fd, const chunk_settings *samples, const chunk_settings *memory,
		    bool beside_another)
{
	int err;

	all.lost_before = ring_lost();
	all.samples_before = all.samples;
	all.late_before = all.late;
	err = chunks_open(&all.chunks, fd, samples, memory, beside_another);
	if (err)
		return err;
	err = symbols_open(&all.symbols);
	if (!err)
		err = chunks_begin(&all.chunks);
	if (err)
		collector_close();
	else
		keeping_begin(&all.chunks);
	return err;
}

/* What the events of S say of what its thread was working on. */
static void collector_use_context(const struct sample *s)
{
	jfr_use_context(all.chunks.jfr, sample_context_id(all.chunks.jfr, sample_context(s)));
}

static void collector_write_execution(const struct sample *s)
{
	uint32_t stack = program_stack(all.chunks.jfr, s->pcs, s->count, s->truncated);

	uint32_t weight = s->weight < WEIGHT_MAX ? s->weight : WEIGHT_MAX;

	collector_use_context(s);
	/* An ExecutionSample has no weight: shots that came late stand there one by one. */
	for (uint32_t i = 0; i < weight; i++)
		jfr_execution_sample(all.chunks.jfr, s->ticks, s->tid, stack, JFR_STATE_DEFAULT);
	all.samples += weight;
	all.late += s->weight - weight;
}

static void collector_write_sample(void *context, const struct sample *s)
{
	(void)context;
	if (!jfr_thread_named(all.chunks.jfr, s->tid))
		chunks_name_living_thread(&all.chunks, s->tid);
	switch ((enum sample_kind)s->kind) {
	case SAMPLE_CPU:
		collector_write_execution(s);
		break;
	case SAMPLE_WALL:
		wall_record(all.chunks.jfr, s);
		all.samples++;
		break;
	case SAMPLE_USER_EVENT:
		jfr_user_event(
			all.chunks.jfr, s->ticks, s->tid,
			jfr_user_event_type(all.chunks.jfr, user_event_name((int)s->args[0])),
			s->payload, s->count);
		break;
	case SAMPLE_CRASH:
		chunks_crash(&all.chunks, s);
		break;
	case SAMPLE_STALL:
		collector_use_context(s);
		jfr_stall(all.chunks.jfr, s->args[0], s->tid,
			  s->count ? program_stack(all.chunks.jfr, s->pcs, s->count, s->truncated)
				   : 0,
			  s->ticks - s->args[0], (int)(int64_t)s->args[1]);
		break;
	case SAMPLE_MALLOC:
		mem_events_malloc(all.chunks.mem, s);
		all.samples++;
		break;
	case SAMPLE_FREE:
		mem_events_free(all.chunks.mem, s);
		break;
	case SAMPLE_PAD:
		break;
	}
}

/* Threads are often named after they have begun to work. */
static void name_again(void *context, struct thread *t)
{
	(void)context;
	if (atomic_load(&t->sampled) && !atomic_load(&t->ended))
		chunks_name_living_thread(&all.chunks, atomic_load(&t->tid));
}

/* Its last samples are in the chunk by now. */
static void collector_end_thread(void *context, struct thread *t)
{
	(void)context;
	wall_end(all.chunks.jfr, t);
	if (atomic_load(&t->sampled) && t->name[0])
		chunks_name_thread(&all.chunks, atomic_load(&t->tid), t->name);
}

static void collector_spare_timer(void *context, struct thread *t)
{
	(void)context;
	if (!atomic_load(&t->ended))
		thread_clock_spare(&t->clock);
}

bool collector_is_kept(void)
{
	return all.chunks.kept != NULL;
}

void collector_drain(uint64_t now_ns)
{
	bool changed = false;

	if (!all.chunks.jfr)
		return;
	if (now_ns >= all.modules_due_ns || modules_have_grown()) {
		changed = modules_refresh() > 0;
		if (changed) {
			runtimes_scan();
			contexts_search_modules();
		}
		all.modules_due_ns = now_ns + MODULES_INTERVAL_NS;
	}
	runtimes_visit();
	contexts_update(now_ns);
	ring_drain(collector_write_sample, NULL);
	threads_reap(collector_end_thread, NULL);
	if (now_ns >= all.look_due_ns) {
		thread_look();
		threads_each(collector_spare_timer, NULL);
		all.look_due_ns = now_ns + LOOK_INTERVAL_NS;
	}
	if (now_ns >= all.load_due_ns) {
		chunk_load(all.chunks.jfr, clock_ticks());
		if (all.chunks.kept) /* there may be no end of the chunk */
			threads_each(name_again, NULL);
		all.load_due_ns = now_ns + LOAD_INTERVAL_NS;
	}
	keeping_mark(&all.chunks, changed, all.samples - all.samples_before,
		     collector_lost() - all.lost_before - all.late_before);
}

static void collector_write_losses(uint64_t ticks)
{
	uint64_t refused = signal_share_refused();
	uint64_t untold = loop_iterations_unreported();
	uint64_t lost = ring_lost(); /* once: more are lost meanwhile, and are the next chunk's */
	struct jfr_losses losses = {
		.samples = all.samples - all.samples_before,
		.ring_full = lost - all.lost_before,
		.timer_failures = refused - all.refused_before,
		.late = all.late - all.late_before,
		.stalls = untold - all.unreported_before,
	};
	struct jfr_losses mem_losses = { 0 };
	uint64_t *missed = chunks_mem_is_apart(&all.chunks) ? &mem_losses.table_evictions
							    : &losses.table_evictions;

	mem_events_chunk(all.chunks.mem, all.symbols, ticks, missed);
	jfr_losses(all.chunks.jfr, ticks, &losses);
	if (chunks_mem_is_apart(&all.chunks))
		jfr_losses(all.chunks.mem, ticks, &mem_losses);
	all.in_chunks.allocations += *missed;
	jfr_writer_add_losses(all.chunks.jfr, &all.in_chunks.stacks, &all.in_chunks.threads,
			      &all.in_chunks.events);
	if (chunks_mem_is_apart(&all.chunks))
		jfr_writer_add_losses(all.chunks.mem, &all.in_chunks.stacks, &all.in_chunks.threads,
				      &all.in_chunks.events);
	all.samples_before = all.samples;
	all.late_before = all.late;
	all.lost_before = lost;
	all.refused_before = refused;
	all.unreported_before = untold;
}

/* What this chunk has of frames is named by now. Stacks that outlive it are led to the new table. */
static void collector_move_stacks(void)
{
	if (!mixed_stack_turn() || !mem_keep_frames())
		return;
	wall_keep_frames();
	frame_table_drop();
}

static int collector_finish_chunk(void)
{
	uint64_t ticks;
	int err;

	collector_drain(clock_monotonic_ns());
	wall_flush(all.chunks.jfr);
	threads_each(name_again, NULL);
	ticks = clock_ticks();
	chunk_load(all.chunks.jfr, ticks);
	chunk_machine(all.chunks.jfr, ticks);
	collector_write_losses(ticks);
	err = chunks_end(&all.chunks, all.symbols, ticks);
	collector_move_stacks();
	symbols_release(all.symbols);
	modules_forget();
	return err;
}

int collector_rotate(void)
{
	int ended, err;

	if (!all.chunks.jfr)
		return -ESRCH;
	ended = collector_finish_chunk();
	err = chunks_begin(&all.chunks);
	if (!err)
		keeping_begin(&all.chunks);
	return ended ? ended : err;
}

/* A thread that was preempted while it filled in a sample holds up those behind it in the ring. No
 * new ones come, so it is soon done; after 10 ms what is left stays out of the recording. */
static void wait_for_producers(void)
{
	static const struct timespec a_moment = { .tv_nsec = 500000 };

	for (int i = 0; i < 20 && !ring_drain(collector_write_sample, NULL); i++)
		nanosleep(&a_moment, NULL);
}

int collector_stop(void)
{
	int err;

	if (!all.chunks.jfr)
		return 0;
	wait_for_producers();
	err = collector_finish_chunk();
	collector_close();
	return err;
}
