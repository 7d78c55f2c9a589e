/* Replacements for the C library's functions on memory, for async-profiler. */
#include "asyncprof/memory_calls.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asyncprof/block_allocator.h"
#include "asyncprof/import_table.h"
#include "core/system.h"
#include "preload/interpose/allocator.h"

/* Older headers lack it. */
#ifndef MADV_FREE
#define MADV_FREE 8
#endif
#define LARGE_BYTES ((size_t)1 << 20)

/* The program's functions, which the library was bound to. */
_Static_assert(sizeof(struct memory_functions) == 4 * sizeof(void *), "as look_at_bound() has it");

static struct memory_functions program;

static atomic_bool interposes_program; /* async-profiler interposes the program's functions */

static void (*out_of_memory)(void);

void memory_calls_set_program(const struct memory_functions *functions)
{
	program = *functions;
}

void memory_calls_use_program_heap(void)
{
	atomic_store(&interposes_program, true);
}

static bool uses_program_heap(void)
{
	return atomic_load_explicit(&interposes_program, memory_order_relaxed);
}

void memory_calls_on_out_of_memory(void (*call)(void))
{
	out_of_memory = call;
}

void memory_calls_out_of_memory(void)
{
	if (out_of_memory)
		out_of_memory();
}

static void *allocated(void *block)
{
	if (!block)
		memory_calls_out_of_memory();
	return block;
}

void *engine_malloc(size_t bytes)
{
	return allocated(uses_program_heap() ? program.malloc(bytes) : block_allocate(bytes));
}

void *engine_calloc(size_t count, size_t bytes)
{
	return allocated(uses_program_heap() ? program.calloc(count, bytes)
					     : block_allocate_zeroed(count, bytes));
}

void *engine_realloc(void *block, size_t bytes)
{
	if (block_is_ours(block))
		return allocated(block_resize(block, bytes));
	if (!block && !uses_program_heap())
		return engine_malloc(bytes);
	block = program.realloc(block, bytes);
	return bytes ? allocated(block) : block;
}

void engine_free(void *block)
{
	if (block_is_ours(block))
		block_free(block);
	else if (block)
		program.free(block);
}

char *engine_strndup(const char *text, size_t max)
{
	return allocated(block_copy_text(text, max));
}

char *engine_strdup(const char *text)
{
	return allocated(block_copy_text(text, SIZE_MAX));
}

/* async-profiler zeroes its table of stacks before each recording. memset(3) makes the whole table resident, 1.5 MB
 * and later more, though it may have few stacks; and each fork of the program copies it. So here the kernel discards
 * whole pages, which are zero afterwards. MADV_FREE succeeds only for private anonymous memory, where that is true. */
void *engine_memset(void *memory, int byte, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)memory;
	uintptr_t first = (start + page - 1) & -page, end = (start + bytes) & -page;

	if (byte || bytes < LARGE_BYTES ||
	    kernel_call4(SYS_madvise, (long)first, (long)(end - first), MADV_FREE, 0))
		return memset(memory, byte, bytes);
	memset(memory, 0, first - start);
	system_empty((void *)first, end - first);
	memset((void *)end, 0, start + bytes - end);
	return memory;
}

struct sort {
	char *scratch; /* for half of the elements */
	size_t bytes;  /* of an element */
	int (*compare)(const void *, const void *);
};

/* Merge the sorted left half, which is in the scratch memory, and the sorted right half of ARRAY. Stable. */
static void merge_halves(const struct sort *sort, char *array, size_t half, size_t count)
{
	char *left = sort->scratch, *right = array + half * sort->bytes;
	char *left_end = left + half * sort->bytes, *end = array + count * sort->bytes;

	for (; left < left_end && right < end; array += sort->bytes) {
		char **next = sort->compare(right, left) < 0 ? &right : &left;

		memcpy(array, *next, sort->bytes);
		*next += sort->bytes;
	}
	memcpy(array, left, (size_t)(left_end - left));
}

static void merge_sort(const struct sort *sort, char *array, size_t count)
{
	size_t half = count / 2;

	if (count < 2)
		return;
	merge_sort(sort, array, half);
	merge_sort(sort, array + half * sort->bytes, count - half);
	memcpy(sort->scratch, array, half * sort->bytes);
	merge_halves(sort, array, half, count);
}

/* For a large array, the C library's function allocates memory from the program's heap, which maps it at an address
 * that the program may map again. */
void engine_qsort(void *array, size_t count, size_t bytes,
		  int (*compare)(const void *, const void *))
{
	struct sort sort = { .bytes = bytes, .compare = compare };

	if (count < 2)
		return;
	sort.scratch = block_allocate(count / 2 * bytes);
	if (sort.scratch) {
		merge_sort(&sort, array, count);
		block_free(sort.scratch);
	} else {
		qsort(array, count, bytes, compare);
	}
}

/* Read the program's functions, before they are replaced. */
static int program_functions_read(const void *inside)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free" };
	void *found[sizeof(names) / sizeof(names[0])];
	int err = import_table_read(inside, names, found, sizeof(names) / sizeof(names[0]));

	if (!err)
		memcpy(&program, found, sizeof(program));
	return err;
}

int memory_calls_install(const void *inside)
{
	static const struct import calls[] = {
		{ "malloc", (void *)engine_malloc },   { "calloc", (void *)engine_calloc },
		{ "realloc", (void *)engine_realloc }, { "free", (void *)engine_free },
		{ "strdup", (void *)engine_strdup },   { "__strdup", (void *)engine_strdup },
		{ "strndup", (void *)engine_strndup }, { "__strndup", (void *)engine_strndup },
		{ "memset", (void *)engine_memset },   { "qsort", (void *)engine_qsort },
	};

	int err = program.malloc ? 0 : program_functions_read(inside);

	return err ? err : import_table_redirect(inside, calls, sizeof(calls) / sizeof(calls[0]));
}
