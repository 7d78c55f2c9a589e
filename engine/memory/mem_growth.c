/* Detects growth of the retained memory by a share of its last measured size. */
#include "engine/memory/mem_growth.h"

#include <stdatomic.h>

/* Smaller growth is noise, and is not reported. */
#define FLOOR_BYTES (1u << 20)

#define NEVER INT64_MAX

static struct {
	_Atomic uint64_t permil; /* UINT64_MAX: off */
	_Atomic int64_t alarm;   /* growth is reported when retained exceeds this */
	_Atomic bool passed;
	/* On its own cache line: every sample of every thread writes it. */
	_Alignas(64) _Atomic int64_t retained;
} growth = { .permil = UINT64_MAX, .alarm = NEVER };

static bool is_watched(void)
{
	return atomic_load_explicit(&growth.permil, memory_order_relaxed) != UINT64_MAX;
}

void mem_growth_start(uint64_t permil)
{
	atomic_store(&growth.permil, permil);
	atomic_store(&growth.retained, 0);
	atomic_store(&growth.alarm, NEVER);
	atomic_store(&growth.passed, false);
}

bool mem_growth_add(uint64_t bytes)
{
	int64_t more = (int64_t)bytes, retained, alarm;

	if (!is_watched())
		return false;
	retained = atomic_fetch_add_explicit(&growth.retained, more, memory_order_relaxed) + more;
	alarm = atomic_load_explicit(&growth.alarm, memory_order_relaxed);
	if (retained <= alarm || !atomic_compare_exchange_strong(&growth.alarm, &alarm, NEVER))
		return false;
	atomic_store(&growth.passed, true);
	return true;
}

void mem_growth_subtract(uint64_t bytes)
{
	if (is_watched())
		atomic_fetch_sub_explicit(&growth.retained, (int64_t)bytes, memory_order_relaxed);
}

bool mem_growth_measure(void)
{
	bool passed = atomic_exchange(&growth.passed, false);
	int64_t base = atomic_load(&growth.retained), step;

	if (!is_watched() || (atomic_load(&growth.alarm) != NEVER && !passed))
		return passed;
	step = base / 1000 * (int64_t)atomic_load(&growth.permil);
	atomic_store(&growth.alarm, base + (step > FLOOR_BYTES ? step : FLOOR_BYTES));
	return passed;
}
