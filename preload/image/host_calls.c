/* Table of the host's functions that the image calls, by number. */
#include "preload/image/host_calls.h"

#include "core/agent.h"
#include "core/signal_share.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/cfi/cfi_rules.h"
#include "engine/memory/mem.h"
#include "engine/memory/mem_record.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/go/go_labels.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/sample/ring.h"
#include "engine/sample/sampler.h"
#include "engine/sample/thread_clock.h"
#include "engine/sample/threads.h"
#include "engine/sample/lock_waits.h"
#include "engine/sample/loop_iterations.h"
#include "engine/sample/user_events.h"
#include "engine/unwind/unwind_map.h"
#include "image/host_calls.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/sample.h"

void host_started(void)
{
	fatal_install();
}

void host_left(void)
{
	fatal_remove();
}

#define ADDRESS(name) (const void *)(uintptr_t)(name),

const void *const host_calls[] = { HOST_CALLS(ADDRESS) };
