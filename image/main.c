/* The image's main(): prepares the agent and runs it. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/agent.h"
#include "core/agent/agent_thread.h"
#include "core/environment.h"
#include "core/kernel.h"
#include "core/log.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "endpoint/listener.h"
#include "endpoint/server.h"
#include "engine/collect/stall_watch.h"
#include "image/ending.h"
#include "image/engines.h"
#include "image/host.h"
#include "image/memory.h"
#include "image/reporters.h"
#include "image/start.h"
#include "upload/queue/origin.h"

static struct image_start *start;

static int prepare(struct agent_equipment *equipment, const struct config *c, struct wake *wake)
{
	int err = engines_open(equipment, c, wake);

	if (!err)
		err = reporters_open(&equipment->reporters[0], c);
	if (!err)
		equipment->reporter_count = 1;
	equipment->version = origin_own_version();
	equipment->endpoint = &live_endpoint;
	equipment->stalls = &stall_watch;
	return err;
}

/* When the thread ends, the kernel clears the id that the host's side reads, not a word of the C library. */
static void begin_thread(void)
{
	kernel_call4(SYS_set_tid_address, (long)&shared->agent.id, 0, 0, 0);
	own_thread_adopt();
	if (own_fds_leave())
		log_share();
}

static _Noreturn void run(void)
{
	const struct agent_parts parts = { .config = start->config,
					   .prepare = prepare,
					   .started = host_started,
					   .left = host_left };

	agent_run(&parts);
	image_end_thread();
}

/* Entry of a later thread. Its descriptor table is its own and empty. */
static _Noreturn void run_again(void)
{
	own_fds_inherit(false);
	begin_thread();
	run();
}

/* Returns 0 or -ENOMEM. */
static int capture_environment(void)
{
	size_t count = 0;
	char **entries;

	for (const char *at = start->environment; *at; at += strlen(at) + 1)
		count++;
	entries = malloc((count + 1) * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	count = 0;
	for (const char *at = start->environment; *at; at += strlen(at) + 1)
		entries[count++] = (char *)(uintptr_t)at;
	entries[count] = NULL;
	environment_set_at_start(entries);
	if (start->config->listen)
		listener_capture(entries);
	return reporters_capture(start->config, entries);
}

/* The C library or a linked library has found corrupt memory. */
static void report_abort(void)
{
	agent_failed(-EFAULT);
}

int main(int count, char **arguments)
{
	int err;

	(void)count;
	start = (struct image_start *)(void *)arguments[1];
	if (start->version != IMAGE_VERSION)
		image_end_thread();
	shared = start->shared;
	image_memory_begin();
	host_connect(start);
	image_on_abort(report_abort);
	begin_thread();
	start->thread_pointer = (uintptr_t)__builtin_thread_pointer();
	atomic_store(&start->again, run_again);
	err = capture_environment();
	if (err)
		log_error("cannot copy the environment: %s; profiling is off in this process",
			  strerror(-err));
	if (!err)
		run();
	agent_set_ended();
	image_end_thread();
}
