/* Areas with the layout of variant II: variables end at the thread pointer, where the C library's own data begins. */
#include "attach/thread_area.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "core/memory/region.h"
#include "core/shared.h"
#include "core/system.h"

/* Of musl's struct pthread, of which only errno is used. Its first word is its address. */
#define LIBRARY_BYTES 512

#define AREA_ALIGN  64
#define STACK_BYTES (64u << 10)

#define BLOCK_AREAS 256
#define BLOCKS_MAX  256
#define SPARE_BLOCK (BLOCKS_MAX - 1)

_Static_assert(sizeof(struct thread_area) <= AREA_ALIGN, "variables follow it");

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

__thread uintptr_t attached_thread_pointer;

static unsigned char *_Atomic blocks[BLOCKS_MAX];

static size_t align_up(size_t bytes, size_t align)
{
	return (bytes + align - 1) & ~(align - 1);
}

static const ElfW(Phdr) * variables_segment(void)
{
	const uintptr_t base = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *part = (const void *)(base + __ehdr_start.e_phoff);

	for (size_t i = 0; i < __ehdr_start.e_phnum; i++)
		if (part[i].p_type == PT_TLS)
			return &part[i];
	return NULL;
}

static size_t variables_bytes(const ElfW(Phdr) * segment)
{
	return segment ? align_up(segment->p_memsz, AREA_ALIGN) : 0;
}

size_t thread_area_bytes(void)
{
	return variables_bytes(variables_segment()) + LIBRARY_BYTES;
}

uintptr_t thread_area_init(void *area)
{
	const ElfW(Phdr) *segment = variables_segment();
	unsigned char *pointer = (unsigned char *)area + variables_bytes(segment);

	memset(area, 0, thread_area_bytes());
	if (segment)
		memcpy(pointer - align_up(segment->p_memsz, segment->p_align),
		       (const char *)&__ehdr_start + segment->p_vaddr, segment->p_filesz);
	*(uintptr_t *)(void *)pointer = (uintptr_t)pointer;
	return (uintptr_t)pointer;
}

static size_t place_bytes(void)
{
	return AREA_ALIGN + thread_area_bytes();
}

static unsigned char *block_get(unsigned char *_Atomic *place)
{
	unsigned char *block = atomic_load(place), *none = NULL;
	size_t bytes = BLOCK_AREAS * place_bytes();

	if (block)
		return block;
	block = system_map(bytes);
	if (!block)
		return NULL;
	system_empty_in_children(block, bytes);
	if (atomic_compare_exchange_strong(place, &none, block))
		return block;
	system_unmap(block, bytes);
	return none;
}

static struct thread_area *area_at(uint32_t index)
{
	unsigned char *block = block_get(&blocks[index / BLOCK_AREAS]);

	return block ? (void *)(block + index % BLOCK_AREAS * place_bytes()) : NULL;
}

static void area_begin(struct thread_area *area)
{
	area->pointer = thread_area_init((unsigned char *)area + AREA_ALIGN);
	atomic_store(&area->frame, 0);
}

/* Find the spare area of thread TID, or take the first one that no living thread has; NULL without one. */
static struct thread_area *spare_area_find(pid_t tid, bool take)
{
	struct thread_area *area;
	pid_t holder = -1;

	for (uint32_t i = 0; holder && i < BLOCK_AREAS; i++) {
		area = area_at(SPARE_BLOCK * BLOCK_AREAS + i);
		if (!area)
			return NULL;
		holder = atomic_load(&area->tid);
		if (holder == tid)
			return area;
		if (take && (!holder || system_thread_is_gone(holder)) &&
		    atomic_compare_exchange_strong(&area->tid, &holder, tid)) {
			area_begin(area);
			return area;
		}
	}
	return NULL;
}

struct thread_area *thread_area_of(uint32_t index, pid_t tid)
{
	struct thread_area *area = index / BLOCK_AREAS < SPARE_BLOCK ? area_at(index) : NULL;
	pid_t last = area ? atomic_load(&area->tid) : tid;

	if (last == tid)
		return area;
	/* The slots of living threads change when profiling is started again. */
	if (atomic_load(&area->frame) && !system_thread_is_gone(last))
		return (area = spare_area_find(tid, false)) ? area : spare_area_find(tid, true);
	area_begin(area);
	atomic_store(&area->tid, tid);
	return area;
}

uintptr_t thread_area_stack_top(struct thread_area *area)
{
	if (!area->stack) {
		if (region_has_room_for_stacks(STACK_BYTES))
			area->stack = system_map(STACK_BYTES);
		if (!area->stack)
			return 0;
		system_empty_in_children(area->stack, STACK_BYTES);
	}
	return (uintptr_t)area->stack + STACK_BYTES;
}

void thread_area_describe(struct attached_range *range)
{
	range->areas = (uintptr_t)blocks;
	range->area_blocks = BLOCKS_MAX;
	range->block_areas = BLOCK_AREAS;
	range->area_bytes = place_bytes();
}
