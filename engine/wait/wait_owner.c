/* Owners of locks, from the words of the C library's locks. */
#include "engine/wait/wait_owner.h"

#include "core/own_thread.h"
#include "core/system.h"
#include "engine/reading/process_memory.h"

/* The bits of a futex that hold a thread's id (FUTEX_TID_MASK). */
#define TID_MASK 0x3fffffffu

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A read-write lock has two futexes, at offsets 8 and 12; its writer is at offset 24. Sources:
 * sysdeps/nptl/bits/struct_mutex.h and struct_rwlock.h of glibc, src/internal/pthread_impl.h of
 * musl. */
static const struct {
	uint8_t word; /* from the futex on */
	uint8_t kind;
} places[] = {
	{ 2, WAIT_OWNER_MUTEX },
	{ 0, WAIT_OWNER_WORD },
	{ 4, WAIT_OWNER_RWLOCK },
	{ 3, WAIT_OWNER_RWLOCK },
};

pid_t wait_owner_of_words(const uint32_t words[WAIT_OWNER_WORDS], size_t count,
			  bool (*is_thread)(void *context, pid_t tid), void *context,
			  uint8_t *kinds)
{
	for (size_t i = 0; i < COUNT(places); i++) {
		pid_t tid = places[i].word < count ? (pid_t)(words[places[i].word] & TID_MASK) : 0;

		if (tid && *kinds & 1u << places[i].kind && is_thread(context, tid)) {
			*kinds = (uint8_t)(1u << places[i].kind);
			return tid;
		}
	}
	return 0;
}

static bool is_other_thread(void *waiter, pid_t tid)
{
	return tid != *(pid_t *)waiter && !system_thread_is_gone(tid) && !own_thread_has_id(tid);
}

/* Words of glibc's read-write lock, from its first one on. Readers wait at the third one. */
enum { READERS = 0, READERS_FUTEX = 2, WRITER = 6, PREFERENCE = 12, RWLOCK_WORDS = 13 };

#define WRITE_PHASE  1u
#define WRITE_LOCKED 2u

#define PREFERS_READERS 0 /* PTHREAD_RWLOCK_PREFER_READER_NP */

/* The last reader gives the lock to a waiting writer, which stores its id when it runs. Readers wait until that writer
 * unlocks, unless the lock prefers writers: then the next one may be another writer. */
static bool is_handed_over(uintptr_t futex)
{
	uint32_t words[RWLOCK_WORDS];

	return !process_memory_read(futex - READERS_FUTEX * sizeof(*words), words, sizeof(words)) &&
	       (words[READERS] & (WRITE_PHASE | WRITE_LOCKED)) == (WRITE_PHASE | WRITE_LOCKED) &&
	       !words[WRITER] && words[PREFERENCE] == PREFERS_READERS;
}

void wait_find_owner(struct wait *wait, pid_t tid)
{
	uint32_t words[WAIT_OWNER_WORDS];
	size_t count = WAIT_OWNER_WORDS;

	/* The lock may end at the end of a mapping. */
	while (count && process_memory_read(wait->lock, words, count * sizeof(*words)))
		count--;
	wait->owner = wait_owner_of_words(words, count, is_other_thread, &tid, &wait->owner_kinds);
	wait->is_handed_over = !wait->owner && wait->owner_kinds & 1u << WAIT_OWNER_RWLOCK &&
			       is_handed_over(wait->lock);
}
