/* Interposes malloc(3) and its variants: counts down, forwards to the next allocator, and records sampled
 * allocations.
 *
 * The next allocator (the C library, jemalloc, tcmalloc, mimalloc, another preload) allocates the memory, and sees
 * the same calls as without us. As long as allocations are not sampled, a call costs one load and a jump. Otherwise
 * an unsampled allocation costs one more subtraction, and a free one more load. */
#include "preload/interpose/allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/loaded_symbol.h"
#include "engine/memory/mem.h"
#include "preload/interpose/real.h"

#define EXPORT __attribute__((visibility("default"), section("asprof_calls")))
#define COLD   __attribute__((noinline, cold))
#define CALLER __builtin_return_address(0)

/* C23; the C library may not have them. */
void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t alignment, size_t size);

/* Functions of every C library, and those of C23. */
#define OLD_FUNCTIONS(X)                                              \
	X(malloc, void *, (size_t size))                              \
	X(calloc, void *, (size_t count, size_t size))                \
	X(realloc, void *, (void *p, size_t size))                    \
	X(reallocarray, void *, (void *p, size_t count, size_t size)) \
	X(free, void, (void *p))                                      \
	X(posix_memalign, int, (void **p, size_t align, size_t size)) \
	X(aligned_alloc, void *, (size_t align, size_t size))         \
	X(memalign, void *, (size_t align, size_t size))              \
	X(valloc, void *, (size_t size))                              \
	X(pvalloc, void *, (size_t size))
#define NEW_FUNCTIONS(X)                            \
	X(free_sized, void, (void *p, size_t size)) \
	X(free_aligned_sized, void, (void *p, size_t align, size_t size))

#define NEXT_FUNCTIONS(X) OLD_FUNCTIONS(X) NEW_FUNCTIONS(X)

#define DECLARE(name, type, args) static type first_##name args;
NEXT_FUNCTIONS(DECLARE)
#undef DECLARE

/* The next allocator. Until the first call each function is one that finds them all. */
static struct {
#define FIELD(name, type, args) type(*name) args;
	NEXT_FUNCTIONS(FIELD)
#undef FIELD
} next = {
#define FIRST(name, type, args) .name = first_##name,
	NEXT_FUNCTIONS(FIRST)
#undef FIRST
};

/* The next allocator's malloc_usable_size, or NULL. */
static size_t (*next_usable_size)(void *p);

/* The next reallocarray is the allocator's own. Otherwise it is the C library's, which calls the program's realloc:
 * ours, or an earlier one, which must see the call. */
static bool next_has_reallocarray;

/* Memory for allocations during the search of the next allocator, such as by a function of the C library that
 * selects its variants by the processor. It is never reused. */
#define POOL_BYTES 32768
static _Alignas(max_align_t) char pool[POOL_BYTES];
static _Atomic size_t pool_used;

static __thread bool is_searching __attribute__((tls_model("initial-exec")));

static void *pool_alloc(size_t size)
{
	size_t room = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
	size_t at;

	if (room < size || room > POOL_BYTES)
		goto full;
	at = atomic_fetch_add(&pool_used, room);
	if (at > POOL_BYTES - room)
		goto full;
	mem_table_watch(pool + at); /* so that free and realloc check it */
	mem_look();
	return pool + at;
full:
	errno = ENOMEM;
	return NULL;
}

static bool pool_contains(const void *p)
{
	return (const char *)p >= pool && (const char *)p < pool + POOL_BYTES;
}

#define FIND(name, type, args)                     \
	found = loaded_symbol_next(#name).address; \
	if (found)                                 \
		__atomic_store_n(&next.name, (__typeof__(next.name))found, __ATOMIC_RELAXED);

static void find_old(void)
{
	void *found;

	OLD_FUNCTIONS(FIND)
}

static void find_new(void)
{
	void *found;

	NEW_FUNCTIONS(FIND)
}
#undef FIND

/* Any thread, any number of times: all find the same. */
static COLD void allocator_search(void (*find)(void), _Atomic bool *is_found)
{
	int saved = errno;

	is_searching = true;
	find();
	is_searching = false;
	atomic_store(is_found, true);
	errno = saved;
}

/* The older functions are found at the first call of any, while the program has one thread: a search waits for a
 * thread that loads a library. The C23 functions are found separately: few programs call them, and many C libraries
 * lack them. */
static bool allocator_has_next(const void *entry, const void *first, void (*find)(void))
{
	static _Atomic bool is_old_found, is_new_found;
	_Atomic bool *is_found = find == find_old ? &is_old_found : &is_new_found;

	if (!is_searching && !atomic_load(is_found))
		allocator_search(find, is_found);
	return *(const void *const *)entry != first;
}
#define FOUND(name)     allocator_has_next(&next.name, (const void *)first_##name, find_old)
#define FOUND_NEW(name) allocator_has_next(&next.name, (const void *)first_##name, find_new)

static void *first_malloc(size_t size)
{
	return FOUND(malloc) ? next.malloc(size) : pool_alloc(size);
}

static void *first_calloc(size_t count, size_t size)
{
	size_t total;

	if (FOUND(calloc))
		return next.calloc(count, size);
	return __builtin_mul_overflow(count, size, &total) ? NULL : pool_alloc(total);
}

static void *first_realloc(void *p, size_t size)
{
	if (FOUND(realloc))
		return next.realloc(p, size);
	return p ? NULL : pool_alloc(size);
}

static void *first_reallocarray(void *p, size_t count, size_t size)
{
	if (FOUND(reallocarray))
		return next.reallocarray(p, count, size);
	errno = ENOMEM;
	return NULL;
}

static void first_free(void *p)
{
	if (p && FOUND(free))
		next.free(p);
}

static int first_posix_memalign(void **p, size_t align, size_t size)
{
	return FOUND(posix_memalign) ? next.posix_memalign(p, align, size) : ENOMEM;
}

#define FIRST_ALIGNED(name)                                  \
	static void *first_##name(size_t align, size_t size) \
	{                                                    \
		if (FOUND(name))                             \
			return next.name(align, size);       \
		errno = ENOMEM;                              \
		return NULL;                                 \
	}
FIRST_ALIGNED(aligned_alloc)
FIRST_ALIGNED(memalign)

#define FIRST_PAGES(name)                       \
	static void *first_##name(size_t size)  \
	{                                       \
		if (FOUND(name))                \
			return next.name(size); \
		errno = ENOMEM;                 \
		return NULL;                    \
	}
FIRST_PAGES(valloc)
FIRST_PAGES(pvalloc)

/* Without them, free needs no size: the program's free, which may not be the next one. */
static void first_free_sized(void *p, size_t size)
{
	if (FOUND_NEW(free_sized))
		next.free_sized(p, size);
	else
		free(p);
}

static void first_free_aligned_sized(void *p, size_t align, size_t size)
{
	if (FOUND_NEW(free_aligned_sized))
		next.free_aligned_sized(p, align, size);
	else
		free(p);
}

static inline bool allocation_is_skipped(size_t size)
{
	return !mem_looks() || mem_sample_passes(size);
}

static inline bool block_is_watched(const void *p)
{
	return mem_looks() && mem_table_watches(p);
}

/* musl's calloc calls malloc, and its posix_memalign calls aligned_alloc, both by their names, which are ours. What CALL
 * allocates was counted before, so it is not counted again. */
#define CALL_UNCOUNTED(call)                     \
	do {                                     \
		uint64_t left = mem_thread.left; \
		mem_thread.left = UINT64_MAX;    \
		call;                            \
		mem_thread.left = left;          \
	} while (0)

/* A sampled allocation: CALL makes it and sets P. */
#define ALLOCATE(p, size, caller, call, refusal)                   \
	do {                                                       \
		bool sampled;                                      \
		if (!mem_on_alloc_begin(size, caller, &sampled)) { \
			errno = ENOMEM;                            \
			return refusal;                            \
		}                                                  \
		CALL_UNCOUNTED(call);                              \
		mem_on_alloc_end(p, size, caller, sampled);        \
	} while (0)

static COLD void *malloc_due(size_t size, const void *caller)
{
	void *p;

	ALLOCATE(p, size, caller, p = next.malloc(size), NULL);
	return p;
}

EXPORT void *malloc(size_t size)
{
	if (allocation_is_skipped(size))
		return next.malloc(size);
	return malloc_due(size, CALLER);
}

static COLD void *calloc_due(size_t count, size_t size, const void *caller)
{
	void *p;

	ALLOCATE(p, count * size, caller, p = next.calloc(count, size), NULL);
	return p;
}

EXPORT void *calloc(size_t count, size_t size)
{
	size_t total;
	void *p;

	if (!mem_looks() || __builtin_mul_overflow(count, size, &total))
		return next.calloc(count, size);
	if (!mem_sample_passes(total))
		return calloc_due(count, size, CALLER);
	CALL_UNCOUNTED(p = next.calloc(count, size));
	return p;
}

static COLD int posix_memalign_due(void **p, size_t align, size_t size, const void *caller)
{
	int err;

	ALLOCATE(err ? NULL : *p, size, caller, err = next.posix_memalign(p, align, size), ENOMEM);
	return err;
}

EXPORT int posix_memalign(void **p, size_t align, size_t size)
{
	int err;

	if (!mem_looks())
		return next.posix_memalign(p, align, size);
	if (!mem_sample_passes(size))
		return posix_memalign_due(p, align, size, CALLER);
	CALL_UNCOUNTED(err = next.posix_memalign(p, align, size));
	return err;
}

typedef void *allocate_aligned(size_t align, size_t size);
typedef void *allocate_pages(size_t size);

static COLD void *aligned_due(allocate_aligned *allocate, size_t align, size_t size,
			      const void *caller)
{
	void *p;

	ALLOCATE(p, size, caller, p = allocate(align, size), NULL);
	return p;
}

static COLD void *pages_due(allocate_pages *allocate, size_t size, const void *caller)
{
	void *p;

	ALLOCATE(p, size, caller, p = allocate(size), NULL);
	return p;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	if (allocation_is_skipped(size))
		return next.aligned_alloc(align, size);
	return aligned_due(next.aligned_alloc, align, size, CALLER);
}

EXPORT void *memalign(size_t align, size_t size)
{
	void *p;

	if (!mem_looks())
		return next.memalign(align, size);
	if (!mem_sample_passes(size))
		return aligned_due(next.memalign, align, size, CALLER);
	CALL_UNCOUNTED(p = next.memalign(align, size));
	return p;
}

EXPORT void *valloc(size_t size)
{
	void *p;

	if (!mem_looks())
		return next.valloc(size);
	if (!mem_sample_passes(size))
		return pages_due(next.valloc, size, CALLER);
	CALL_UNCOUNTED(p = next.valloc(size));
	return p;
}

EXPORT void *pvalloc(size_t size)
{
	if (allocation_is_skipped(size))
		return next.pvalloc(size);
	return pages_due(next.pvalloc, size, CALLER);
}

static COLD void block_note_free(const void *p)
{
	mem_on_free(p);
}

EXPORT void free(void *p)
{
	if (block_is_watched(p)) {
		if (pool_contains(p))
			return;
		block_note_free(p); /* before the real free: p may be allocated again immediately */
	}
	next.free(p);
}

EXPORT void free_sized(void *p, size_t size)
{
	if (block_is_watched(p)) {
		if (pool_contains(p))
			return;
		block_note_free(p);
	}
	next.free_sized(p, size);
}

EXPORT void free_aligned_sized(void *p, size_t align, size_t size)
{
	if (block_is_watched(p)) {
		if (pool_contains(p))
			return;
		block_note_free(p);
	}
	next.free_aligned_sized(p, align, size);
}

static void *realloc_from_pool(void *p, size_t size)
{
	size_t left = (size_t)(pool + POOL_BYTES - (char *)p);
	void *moved = malloc(size);

	if (moved)
		memcpy(moved, p, size < left ? size : left);
	return moved;
}

static COLD void *realloc_sampled(void *p, size_t size, const struct mem_resize *resize,
				  const void *caller)
{
	size_t growth = size > resize->was.size ? size - resize->was.size : 0;
	void *moved;

	CALL_UNCOUNTED(moved = next.realloc(p, size)); /* it may call malloc */
	mem_on_realloc_end(p, moved, size, growth, resize, caller);
	return moved;
}

static COLD void *realloc_due(void *p, size_t size, const void *caller)
{
	bool sampled;
	void *moved;

	if (!mem_on_alloc_begin(size, caller, &sampled)) {
		errno = ENOMEM;
		return NULL;
	}
	moved = next.realloc(p, size);
	mem_on_alloc_end(moved, size, caller, sampled);
	return moved;
}

static inline bool below_limit(size_t size)
{
	return size < atomic_load_explicit(&mem_limit_bytes, memory_order_relaxed);
}

/* Only the growth of P is counted, in usable bytes: the bytes that it had were counted before. So P is sampled with the
 * probability of its new size. The growth beyond the usable bytes would be too little: an allocation that the kernel maps
 * has almost a page more than was requested, and some programs let it grow by a page each time. */
static __attribute__((noinline)) void *realloc_growing(void *p, size_t size, const void *caller)
{
	size_t has = p && next_usable_size ? next_usable_size(p) : 0, growth = size;
	void *moved;

	if (!below_limit(size))
		return realloc_due(p, size, caller);
	CALL_UNCOUNTED(moved = next.realloc(p, size));
	if (!moved || size <= has)
		return moved;
	if (has)
		growth = next_usable_size(moved) - has;
	if (!mem_sample_passes(growth))
		mem_on_growth(moved, size, growth, caller);
	return moved;
}

static COLD void *realloc_watched(void *p, size_t size, const void *caller)
{
	struct mem_resize resize;

	if (pool_contains(p))
		return realloc_from_pool(p, size);
	if (below_limit(size) && mem_on_realloc_begin(p, &resize))
		return realloc_sampled(p, size, &resize, caller);
	return realloc_growing(p, size, caller);
}

static inline void *realloc_from(void *p, size_t size, const void *caller)
{
	if (mem_table_watches(p))
		return realloc_watched(p, size, caller);
	if (atomic_load_explicit(&mem_sampling, memory_order_relaxed))
		return realloc_growing(p, size, caller);
	if (mem_sample_passes(size))
		return next.realloc(p, size);
	return realloc_due(p, size, caller);
}

EXPORT void *realloc(void *p, size_t size)
{
	if (!mem_looks())
		return next.realloc(p, size);
	return realloc_from(p, size, CALLER);
}

EXPORT void *reallocarray(void *p, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!mem_looks() || !__atomic_load_n(&next_has_reallocarray, __ATOMIC_RELAXED))
		return next.reallocarray(p, count, size);
	return realloc_from(p, total, CALLER);
}

static bool is_in_module_of(const struct loaded_symbol *symbol, const char *name)
{
	return symbol->module && symbol->module == loaded_symbol_next(name).module;
}

static void allocator_examine_next(void)
{
	const struct loaded_symbol usable = loaded_symbol_next("malloc_usable_size"),
				   array = loaded_symbol_next("reallocarray");

	/* Another allocator's would read a header that is not there. */
	if (is_in_module_of(&usable, "malloc"))
		__atomic_store_n(&next_usable_size, (size_t(*)(void *))usable.address,
				 __ATOMIC_RELAXED);
	if (is_in_module_of(&array, "realloc") && !is_in_module_of(&array, "getpid"))
		__atomic_store_n(&next_has_reallocarray, true, __ATOMIC_RELAXED);
}

/* True if the program's calls of malloc come here. The address of a symbol does not show it: in an executable at a
 * fixed address it is a stub. */
static bool allocator_receives_calls(void)
{
	/* By a volatile pointer: otherwise the compiler assumes that malloc does not change our variables. */
	void *(*volatile allocate)(size_t) = malloc;
	uint64_t left;
	void *p;
	bool counted;

	mem_look();
	left = mem_thread.left;
	p = allocate(1);
	counted = mem_thread.left != left;
	free(p);
	return counted;
}

/* Return the file whose malloc the program calls instead of this one; NULL when the calls come here. */
static const char *allocator_find_bypass(void)
{
	const struct loaded_symbol bound = loaded_symbol_first("malloc");
	const char *executable = (const char *)getauxval(AT_EXECFN);

	if (!bound.address || is_agent_code(bound.address) || allocator_receives_calls())
		return NULL;
	if (bound.in_file && *bound.in_file)
		return bound.in_file;
	return executable ? executable : "the program";
}

void allocator_find_next(void)
{
	static bool is_found;

	if (is_found)
		return;
	allocator_examine_next();
	mem_pass_by(allocator_find_bypass());
	is_found = true;
}

/* Other names of our functions, bound within this library: by their own names they are the executable's stubs. In
 * assembly, because compilers want an alias to have all attributes of malloc. */
#define OURS(name)                                                                          \
	__asm__(".globl our_" #name "\n.hidden our_" #name "\n.set our_" #name ", " #name); \
	extern __typeof__(name) our_##name __attribute__((visibility("hidden")));

OURS(malloc)
OURS(calloc)
OURS(realloc)
OURS(free)
OURS(posix_memalign)
OURS(aligned_alloc)

const struct memory_functions allocator_functions = {
	.malloc = our_malloc,
	.calloc = our_calloc,
	.realloc = our_realloc,
	.free = our_free,
};
