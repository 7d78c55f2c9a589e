/* Account of the agent's own memory in the program's process, and its bound. */
#include "core/memory/account.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/fd.h"
#include "core/memory/region.h"
#include "core/shared.h"
#include "core/system.h"

const char *const memory_use_names[MEMORY_USES] = { "caches", "captures", "stacks", "work" };

/* Share of the bound up to which each use is granted, in eighths. */
static const unsigned char eighths[MEMORY_USES] = { 4, 6, 7, 8 };

static uint64_t not_negative(int64_t bytes)
{
	return bytes > 0 ? (uint64_t)bytes : 0;
}

void memory_account_open(uint64_t limit, size_t page)
{
	shared->memory.page = page;
	for (int i = 0; i < MEMORY_USES; i++)
		atomic_store(&shared->memory.refused[i], 0);
	atomic_store(&shared->memory.captures, 0);
	memory_measure();
	atomic_store(&shared->memory.limit, limit);
}

uint64_t memory_room(enum memory_use use)
{
	uint64_t limit = atomic_load(&shared->memory.limit) / 8 * eighths[use];
	uint64_t room = limit + (use == MEMORY_WORK ? MEMORY_RESERVE_BYTES : 0);
	uint64_t used = not_negative(atomic_load(&shared->agent.memory_bytes)) +
			not_negative(atomic_load(&shared->memory.captures)) +
			atomic_load(&shared->memory.tables);

	if (!limit)
		return UINT64_MAX;
	return used < room ? room - used : 0;
}

void memory_count_refusal(enum memory_use use)
{
	atomic_fetch_add(&shared->memory.refused[use], 1);
}

uint64_t memory_eighths(unsigned count, uint64_t bytes)
{
	uint64_t share = atomic_load(&shared->memory.limit) / 8 * count;

	return share && share < bytes ? share : bytes;
}

uint64_t memory_of_entries(uint64_t count, uint64_t bytes)
{
	uint64_t used = count * shared->memory.page;

	return used < bytes ? used : bytes;
}

bool memory_is_granted(enum memory_use use, uint64_t bytes)
{
	if (bytes <= memory_room(use))
		return true;
	memory_count_refusal(use);
	return false;
}

uint64_t memory_refusals(void)
{
	uint64_t all = 0;

	for (int i = MEMORY_CACHE + 1; i < MEMORY_USES; i++)
		all += atomic_load(&shared->memory.refused[i]);
	return all;
}

void memory_add_capture(int64_t bytes)
{
	atomic_fetch_add(&shared->memory.captures, bytes);
}

void memory_set_unused(uint64_t (*unused)(void))
{
	atomic_store(&shared->memory.unused, unused);
}

static uint64_t unused_bytes(void)
{
	uint64_t (*unused)(void) = atomic_load(&shared->memory.unused);

	return unused ? unused() : 0;
}

static void measure(unsigned kinds, uint64_t bytes[REGION_KINDS])
{
	int pagemap = fd_of_thread(system_thread(), "pagemap", 0);

	region_measure(shared->memory.page, pagemap, kinds, bytes);
	if (pagemap >= 0)
		system_close(pagemap);
	else
		bytes[REGION_TABLES] =
			not_negative((int64_t)(bytes[REGION_TABLES] - unused_bytes()));
	atomic_store(&shared->memory.tables, bytes[REGION_TABLES]);
}

void memory_measure(void)
{
	uint64_t bytes[REGION_KINDS];

	measure(1u << REGION_TABLES, bytes);
}

void memory_account_read(struct memory_account *account)
{
	uint64_t bytes[REGION_KINDS];

	measure((1u << REGION_KINDS) - 1, bytes);
	*account = (struct memory_account){
		.limit = atomic_load(&shared->memory.limit),
		.heap = not_negative(atomic_load(&shared->agent.memory_bytes)),
		.tables = bytes[REGION_TABLES],
		.captures = not_negative(atomic_load(&shared->memory.captures)),
		.signal_stacks = bytes[REGION_STACKS],
		.engine = bytes[REGION_ENGINE],
	};
	for (int i = 0; i < MEMORY_USES; i++)
		account->refused[i] = atomic_load(&shared->memory.refused[i]);
}
