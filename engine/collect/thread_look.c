/* Scan for threads of the program that did not register themselves. */
#include "engine/collect/thread_look.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel.h"
#include "core/log.h"
#include "core/own_thread.h"
#include "core/shared.h"
#include "engine/process/thread_count.h"
#include "engine/process/tids.h"
#include "engine/sample/threads.h"

/* The most of the main thread's stack that is taken as mapped. */
#define MAIN_STACK_MAX (64u << 20)

/* Unknown threads of the last scan. Such a thread may be about to register itself, and is adopted
 * only when the next scan finds it again. Without interposers no thread registers itself. */
static struct {
	pid_t *tids;
	size_t count;
	uint32_t foreign; /* how many of them are never adopted */
} unknown;

/* The main thread's stack begins below the environment strings and grows down to its limit. The
 * kernel maps nothing else there. */
static void threads_adopt_main(pid_t tid)
{
	uintptr_t top = getauxval(AT_EXECFN);
	struct rlimit limit;

	if (!top || getrlimit(RLIMIT_STACK, &limit))
		threads_adopt(tid, 0, 0);
	else
		threads_adopt(
			tid,
			top - (limit.rlim_cur < MAIN_STACK_MAX ? limit.rlim_cur : MAIN_STACK_MAX),
			top & ~(uintptr_t)15);
}

static bool thread_has_lock_list(pid_t tid)
{
	uintptr_t list = 0;
	size_t size;

	return !kernel_call4(SYS_get_robust_list, tid, (long)&list, (long)&size, 0) && list;
}

/* True if TID is surely a thread of clone(2) that the C library does not know. It may have no thread-local data, or that
 * of another thread, so it cannot be sampled. glibc registers a list of locks for each of its threads, and musl for
 * none before it is used. Samples in attached programs need no such data. */
static bool thread_is_foreign(pid_t tid)
{
	return !shared->is_attached && thread_has_lock_list(getpid()) && !thread_has_lock_list(tid);
}

static void threads_adopt_unknown(pid_t tid)
{
	if (tid == getpid())
		threads_adopt_main(tid);
	else
		threads_adopt(tid, 0, 0);
}

static void threads_count_one(void *count, struct thread *t)
{
	*(uint32_t *)count += !atomic_load(&t->ended);
}

static uint32_t threads_known(void)
{
	uint32_t known = own_thread_count();

	threads_each(threads_count_one, &known);
	return known;
}

struct listed {
	const pid_t *tids;
	size_t count;
	bool *known; /* same length as tids: true for a thread with a slot */
};

/* Mark threads that have a slot, and end found threads that are gone. */
static void threads_match_slot(void *context, struct thread *t)
{
	struct listed *listed = context;
	const pid_t *place;

	if (atomic_load(&t->ended))
		return;
	place = tids_find(listed->tids, listed->count, atomic_load(&t->tid));
	if (place)
		listed->known[place - listed->tids] = true;
	else if (t->found)
		atomic_store(&t->ended, SLOT_ENDED);
}

static void threads_log_foreign(uint32_t count)
{
	static bool is_logged;

	if (count && !is_logged)
		log_info("%u of the program's threads %s by clone(2), unknown to the C library, "
			 "and not sampled",
			 count, count == 1 ? "is" : "are");
	is_logged |= count > 0;
}

static void threads_adopt_unknowns(const struct listed *listed, pid_t *now)
{
	uint32_t foreign = 0;
	size_t count = 0;

	for (size_t i = 0; i < listed->count; i++) {
		pid_t tid = listed->tids[i];

		if (listed->known[i] || own_thread_has_id(tid))
			continue;
		if (!shared->is_attached && !tids_find(unknown.tids, unknown.count, tid)) {
			now[count++] = tid;
		} else if (thread_is_foreign(tid)) {
			now[count++] = tid;
			foreign++;
		} else {
			threads_adopt_unknown(tid);
		}
	}
	free(unknown.tids);
	unknown.tids = now;
	unknown.count = count;
	unknown.foreign = foreign;
	threads_log_foreign(foreign);
}

static void threads_match_main(void *found, struct thread *t)
{
	*(bool *)found |= !atomic_load(&t->ended) && atomic_load(&t->tid) == getpid();
}

/* Returns false when the main thread is known. */
static bool threads_adopt_main_alone(void)
{
	bool found = false;

	threads_each(threads_match_main, &found);
	if (!found)
		threads_adopt_unknown(getpid());
	return !found;
}

void thread_look(void)
{
	struct listed listed = { 0 };
	pid_t *tids = NULL, *now;
	uint32_t known = threads_known() + unknown.foreign;
	ssize_t count;

	if (thread_count() == known)
		return;
	/* If one thread is unknown and the main thread has no slot, it is that one. This avoids the
	 * list, which has another cost: the entry of a low-priority agent thread below /proc/self
	 * makes the parent spin when that thread ends (core/privileges.c). */
	if (thread_count() == known + 1 && threads_adopt_main_alone())
		return;
	count = tids_list(&tids);
	if (count <= 0) {
		/* A program that has changed its root may have no /proc, and a confined one may not
		 * be allowed to read it. Then only the main thread and threads that start later are
		 * sampled. */
		if (count == -ENOENT || count == -EACCES)
			threads_adopt_main_alone();
		return; /* out of memory: the next scan may succeed */
	}
	listed.tids = tids;
	listed.count = (size_t)count;
	listed.known = calloc(listed.count, sizeof(*listed.known));
	now = calloc(listed.count, sizeof(*now));
	if (listed.known && now) {
		threads_each(threads_match_slot, &listed);
		threads_adopt_unknowns(&listed, now);
		now = NULL;
	}
	free(now);
	free(listed.known);
	free(tids);
}

int thread_look_open(const struct thread_timers *timers)
{
	threads_open(timers);
	/* Two scans, because the second one adopts; and before any thread registers itself. */
	thread_look();
	thread_look();
	/* The list of threads may have become unreadable since the first scan, as in a sandbox. */
	if (threads_known() == own_thread_count())
		threads_adopt_main_alone();
	return threads_admit();
}
