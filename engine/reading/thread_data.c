/* Whether the calling thread has the thread-local data of the C library. Nothing here uses such data. */
#include "engine/reading/thread_data.h"

#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "core/kernel.h"

/* Older headers lack it. */
#ifndef AT_HWCAP2
#define AT_HWCAP2 26
#endif

/* Maximum distance of the list from the thread pointer: both are in the C library's description of the thread. */
#define DISTANCE_MAX 16384

static struct {
	_Atomic uintptr_t distance; /* of a thread's list from its pointer; 0: unknown */
	bool has_register;          /* the thread pointer can be read */
} begun;

/* Threads that were found to have the C library's pointer: pairs of that pointer and an alternate signal stack, which
 * no other thread has at the same time. */
#define PAIRS      512
#define PAIRS_BITS 9

static uint64_t pairs[PAIRS];

/* Return the list of the calling thread; 0: it has none. */
static uintptr_t list_registered(void)
{
	uintptr_t list = 0;
	size_t size;

	if (kernel_call4(SYS_get_robust_list, 0, (long)&list, (long)&size, 0))
		return 0;
	return list;
}

void thread_data_begin(void)
{
	uintptr_t list = list_registered(), distance = list - thread_pointer();

	begun.has_register =
		!ARCH_THREAD_POINTER_HWCAP2 || getauxval(AT_HWCAP2) & ARCH_THREAD_POINTER_HWCAP2;
	if (list && distance + DISTANCE_MAX < 2 * DISTANCE_MAX)
		atomic_store(&begun.distance, distance);
}

void thread_data_end(void)
{
	atomic_store(&begun.distance, 0);
}

/* Without the register, what the thread pointer leads to, where C libraries store the same. */
static uintptr_t pointer_now(void)
{
	return begun.has_register ? arch_thread_pointer() : thread_pointer();
}

/* The place and the word for a pair. */
static uint64_t *pair_place(uintptr_t pointer, uintptr_t stack, uint64_t *word)
{
	*word = (pointer ^ (stack << 32 | stack >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
	return &pairs[*word >> (64 - PAIRS_BITS)];
}

void thread_data_note(const void *stack)
{
	uint64_t word, *place = pair_place(pointer_now(), (uintptr_t)stack, &word);

	__atomic_store_n(place, word, __ATOMIC_RELAXED);
}

bool thread_data_is_own(const ucontext_t *context)
{
	uintptr_t distance = atomic_load_explicit(&begun.distance, memory_order_relaxed);
	uintptr_t pointer, stack = (uintptr_t)context->uc_stack.ss_sp;
	uint64_t word, *place;

	if (!distance)
		return true;
	pointer = pointer_now();
	place = pair_place(pointer, stack, &word);
	if (__builtin_expect(__atomic_load_n(place, __ATOMIC_RELAXED) == word, 1))
		return true;
	if (list_registered() != pointer + distance)
		return false;
	/* Threads without a stack would share a pair. */
	if (stack)
		__atomic_store_n(place, word, __ATOMIC_RELAXED);
	return true;
}
