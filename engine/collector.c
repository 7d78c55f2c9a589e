/* From rings to chunks: takes samples out of the rings and writes them into the recording. */
#include "engine/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "engine/host_info.h"
#include "engine/jfr_write.h"
#include "engine/mem_events.h"
#include "engine/modules.h"
#include "engine/ring.h"
#include "engine/symbols.h"
#include "engine/threads.h"
#include "engine/user_events.h"
#include "engine/wall.h"

#define LOAD_INTERVAL_NS 5000000000u
#define LOOK_INTERVAL_NS 1000000000u

static struct {
	struct jfr_writer *jfr;
	collector_settings settings;
	/* Of native memory: JFR itself, or one with a file of its own for the chunk that is open. */
	struct jfr_writer *mem;
	collector_settings mem_settings;
	int mem_fd;
	struct symbols *symbols;
	/* Wall clock and monotonic clock read together at the start: a chunk's times follow the
	 * monotonic one, so that a clock that is set does not tear a hole. */
	uint64_t start_realtime_ns, start_monotonic_ns;
	uint64_t load_due_ns, look_due_ns;
	uint64_t samples, samples_before, lost_before;
} all = { .mem_fd = -1 };

static uint64_t wall_now_ns(void)
{
	return all.start_realtime_ns + clock_monotonic_ns() - all.start_monotonic_ns;
}

uint64_t collector_samples(void)
{
	return all.samples;
}

uint64_t collector_lost(void)
{
	return ring_lost();
}

static bool mem_is_apart(void)
{
	return all.mem != all.jfr;
}

static int begin_chunk_of(struct jfr_writer *jfr, const collector_settings settings)
{
	uint64_t ticks = clock_ticks();
	int err = jfr_chunk_begin(jfr, wall_now_ns(), ticks);

	for (const struct collector_setting *s = settings; !err && s->key; s++)
		jfr_setting(jfr, ticks, s->key, s->value);
	return err;
}

static void close_mem(void)
{
	if (mem_is_apart())
		jfr_writer_close(all.mem);
	if (all.mem_fd >= 0)
		close(all.mem_fd);
	all.mem_fd = -1;
	all.mem = all.jfr;
}

/* A writer for native memory alone. Where there is no room for that the other one takes it too:
 * its chunks are larger for it, and otherwise the same. */
static void open_mem(void)
{
	struct jfr_writer *mem;

	all.mem_fd = fd_raise(memfd_create("asprof-agent", MFD_CLOEXEC));
	if (all.mem_fd < 0 || jfr_writer_open(&mem, all.mem_fd, 0))
		return close_mem();
	jfr_writer_memory_only(mem, clock_microsecond_shift(), JFR_BESIDE_OURS);
	all.mem = mem;
}

static int begin_chunk(void)
{
	int err = begin_chunk_of(all.jfr, all.settings);

	if (!err && mem_is_apart() && begin_chunk_of(all.mem, all.mem_settings))
		close_mem();
	return err;
}

static int open_writers(int fd, const collector_settings *samples, const collector_settings *memory,
			bool beside_another)
{
	off_t end = lseek(fd, 0, SEEK_END);
	int err = end < 0 ? -errno : jfr_writer_open(&all.jfr, fd, end);

	if (err)
		return err;
	all.mem = all.jfr;
	memcpy(all.settings, samples ? samples : memory, sizeof(all.settings));
	if (!samples)
		jfr_writer_memory_only(all.jfr, clock_microsecond_shift(),
				       beside_another ? JFR_BESIDE_ANOTHERS : JFR_ALONE);
	if (samples && memory) {
		memcpy(all.mem_settings, memory, sizeof(all.mem_settings));
		open_mem();
	}
	return 0;
}

static void close_all(void)
{
	close_mem();
	jfr_writer_close(all.jfr);
	symbols_close(all.symbols);
	all.jfr = all.mem = NULL;
	all.symbols = NULL;
}

int collector_start(int fd, const collector_settings *samples, const collector_settings *memory,
		    bool beside_another)
{
	int err;

	all.start_realtime_ns = clock_realtime_ns();
	all.start_monotonic_ns = clock_monotonic_ns();
	all.lost_before = ring_lost();
	all.samples_before = all.samples;
	err = symbols_open(&all.symbols);
	if (!err)
		err = open_writers(fd, samples, memory, beside_another);
	if (!err)
		err = begin_chunk();
	if (err)
		close_all();
	return err;
}

static void set_name(pid_t tid, const char *name)
{
	jfr_thread(all.jfr, tid, name);
	if (mem_is_apart())
		jfr_thread(all.mem, tid, name);
}

/* Of a thread that lives; the others have left theirs in their slot. */
static void name_thread(pid_t tid)
{
	char path[48], name[JFR_THREAD_NAME_MAX + 1];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, name, sizeof(name) - 1);
	close(fd);
	if (length <= 0)
		return;
	name[length - 1] = '\0'; /* the newline */
	set_name(tid, name);
}

static void take_execution(const struct sample *s)
{
	uint32_t stack = jfr_stack(all.jfr, s->pcs, s->count, s->truncated);

	/* An ExecutionSample has no weight: shots that came late stand there one by one. */
	for (uint32_t i = 0; i < s->weight; i++)
		jfr_execution_sample(all.jfr, s->ticks, s->tid, stack, JFR_STATE_DEFAULT);
	all.samples += s->weight;
}

static void take(void *context, const struct sample *s)
{
	(void)context;
	if (!jfr_thread_named(all.jfr, s->tid))
		name_thread(s->tid);
	switch ((enum sample_kind)s->kind) {
	case SAMPLE_CPU:
		take_execution(s);
		break;
	case SAMPLE_WALL:
		wall_take(all.jfr, s);
		all.samples++;
		break;
	case SAMPLE_USER_EVENT:
		jfr_user_event(all.jfr, s->ticks, s->tid,
			       jfr_user_event_type(all.jfr, user_event_name((int)s->args[0])),
			       s->payload, s->count);
		break;
	case SAMPLE_MALLOC:
		mem_events_malloc(all.mem, s);
		all.samples++;
		break;
	case SAMPLE_FREE:
		mem_events_free(all.mem, s);
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
		name_thread(atomic_load(&t->tid));
}

/* Its last samples are in the chunk by now. */
static void part_with(void *context, struct thread *t)
{
	(void)context;
	wall_end(all.jfr, t);
	if (atomic_load(&t->sampled) && t->name[0])
		set_name(atomic_load(&t->tid), t->name);
}

static void write_load(void)
{
	struct host_load load;

	if (!host_load_read(&load))
		jfr_cpu_load(all.jfr, clock_ticks(), load.user, load.system, load.machine);
}

void collector_drain(uint64_t now_ns)
{
	if (!all.jfr)
		return;
	modules_refresh();
	ring_drain(take, NULL);
	threads_reap(part_with, NULL);
	if (now_ns >= all.look_due_ns) {
		threads_look();
		all.look_due_ns = now_ns + LOOK_INTERVAL_NS;
	}
	if (now_ns >= all.load_due_ns) {
		write_load();
		all.load_due_ns = now_ns + LOAD_INTERVAL_NS;
	}
}

static int name_frames(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		       struct jfr_frame_name *out)
{
	struct symbol *found = calloc(count, sizeof(*found));
	uintptr_t *sites = calloc(count, sizeof(*sites));
	int err = -ENOMEM;

	(void)context;
	if (!found || !sites)
		goto out;
	for (size_t i = 0; i < count; i++)
		sites[i] = is_return[i] ? symbols_call_site(pcs[i]) : pcs[i];
	err = symbols_resolve(all.symbols, sites, count, found);
	for (size_t i = 0; !err && i < count; i++) {
		out[i].class_name = found[i].module;
		out[i].method_name = found[i].name;
		out[i].type = (uint8_t)found[i].type;
		/* Readers have 31 bits for it. */
		if (found[i].link_address <= INT32_MAX)
			out[i].address = (uint32_t)found[i].link_address;
	}
out:
	free(sites);
	free(found);
	return err;
}

static void write_modules(struct jfr_writer *jfr, uint64_t ticks)
{
	const struct module *const *list;
	size_t count = modules_list(&list);

	for (size_t i = 0; i < count; i++) {
		const struct jfr_library library = {
			.path = list[i]->path,
			.base = list[i]->start,
			.top = list[i]->end,
			.build_id = list[i]->build_id,
			.build_id_size = list[i]->build_id_size,
			.link_address = list[i]->start - list[i]->bias,
			.file_offset = list[i]->file_offset,
		};

		jfr_native_library(jfr, ticks, &library);
	}
}

static void write_machine(uint64_t ticks)
{
	struct host_cpu cpu;
	char version[256];

	host_os_version(version, sizeof(version));
	jfr_os_information(all.jfr, ticks, version);
	host_cpu_read(&cpu);
	jfr_cpu_information(all.jfr, ticks, cpu.model, cpu.model, cpu.sockets, cpu.cores,
			    cpu.threads);
}

static void write_losses(uint64_t ticks)
{
	struct jfr_losses losses = {
		.samples = all.samples - all.samples_before,
		.ring_full = ring_lost() - all.lost_before,
		.timer_failures = thread_clock_failures(),
	};
	struct jfr_losses mem_losses = { 0 };
	uint64_t *missed = mem_is_apart() ? &mem_losses.table_evictions : &losses.table_evictions;

	mem_events_chunk(all.mem, all.symbols, ticks, missed);
	jfr_losses(all.jfr, ticks, &losses);
	if (mem_is_apart())
		jfr_losses(all.mem, ticks, &mem_losses);
	all.samples_before = all.samples;
	all.lost_before = ring_lost();
}

static int end_chunk_of(struct jfr_writer *jfr, uint64_t ticks)
{
	write_modules(jfr, ticks);
	return jfr_chunk_end(jfr, wall_now_ns(), ticks, name_frames, NULL, NULL);
}

static int end_chunk(void)
{
	uint64_t ticks;
	int err;

	collector_drain(clock_monotonic_ns());
	wall_flush(all.jfr);
	threads_each(name_again, NULL);
	write_load();
	ticks = clock_ticks();
	write_machine(ticks);
	write_losses(ticks);
	err = end_chunk_of(all.jfr, ticks);
	if (!err && mem_is_apart())
		err = end_chunk_of(all.mem, ticks);
	if (!err && mem_is_apart())
		err = jfr_writer_take(all.jfr, all.mem, NULL);
	symbols_release(all.symbols);
	modules_forget();
	return err;
}

int collector_rotate(void)
{
	int ended, err;

	if (!all.jfr)
		return -ESRCH;
	ended = end_chunk();
	err = begin_chunk();
	return ended ? ended : err;
}

/* A thread that was preempted while it filled in a sample holds up those behind it. No new ones come,
 * so it is soon done; else they are not in the recording. */
static void wait_for_producers(void)
{
	static const struct timespec a_moment = { .tv_nsec = 500000 };

	for (int i = 0; i < 20 && !ring_drain(take, NULL); i++)
		nanosleep(&a_moment, NULL);
}

int collector_stop(void)
{
	int err;

	if (!all.jfr)
		return 0;
	wait_for_producers();
	err = end_chunk();
	close_all();
	return err;
}
