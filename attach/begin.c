/* Beginning of the attached host's side: what preload/init.c is for the preload. It runs in a thread of its own, which the
 * tracer has created in a stopped program. */
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "arch/attached.h"
#include "attach/begin.h"
#include "attach/channel.h"
#include "attach/handler.h"
#include "attach/modules.h"
#include "attach/thread_area.h"
#include "core/agent.h"
#include "core/clock.h"
#include "core/error_text.h"
#include "core/futex.h"
#include "core/loaded_symbol.h"
#include "core/log.h"
#include "core/memory/region.h"
#include "core/options/admit.h"
#include "core/options/config.h"
#include "core/own_fds.h"
#include "core/shared.h"
#include "core/start_environment.h"
#include "core/system.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/process/thread_count.h"
#include "engine/sample/sampler.h"
#include "preload/image/image.h"
#include "preload/interpose/fatal.h"

/* Go's runtime handles all other signals, and a program can be notified of them. It leaves this one to musl: it neither
 * blocks nor handles it. Source: sigtab_linux_generic.go since Go 1.15. */
#define GO_SIGNAL 34

static struct config config;
static char **environment;
static const ElfW(auxv_t) * auxiliary;

/* Room for the thread-local variables of the thread that runs this. */
static unsigned char area[4096] __attribute__((aligned(64)));

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* ---- What the C library and the interposers do for the preload ---- */

unsigned long getauxval(unsigned long kind)
{
	for (const ElfW(auxv_t) *at = auxiliary; at && at->a_type != AT_NULL; at++)
		if (at->a_type == kind)
			return at->a_un.a_val;
	return 0;
}

struct loaded_symbol loaded_symbol_first(const char *name)
{
	(void)name;
	return (struct loaded_symbol){ 0 };
}

const struct r_debug *loaded_debug(void)
{
	return attach_modules();
}

/* The section of the interposers, of which there are none. */
__asm__(".pushsection asprof_calls, \"ax\", @progbits\n.popsection\n");

/* Ends are not noticed. A report of a program that ends comes from its spool. */
void fatal_install(void)
{
}

void fatal_remove(void)
{
}

static const ElfW(Dyn) * dynamic_section(void)
{
	const uintptr_t base = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *part = (const void *)(base + __ehdr_start.e_phoff);

	while (part->p_type != PT_DYNAMIC)
		part++;
	return (const void *)(base + part->p_vaddr);
}

/* The linker keeps only relative relocations (scripts/check-attach). */
static void relocate(void)
{
	const uintptr_t base = (uintptr_t)&__ehdr_start;
	const ElfW(Rela) *at = NULL;
	size_t bytes = 0;

	for (const ElfW(Dyn) *entry = dynamic_section(); entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_RELA)
			at = (const void *)(base + entry->d_un.d_ptr);
		else if (entry->d_tag == DT_RELASZ)
			bytes = entry->d_un.d_val;
	for (const ElfW(Rela) *end = at + bytes / sizeof(*at); at < end; at++)
		*(uintptr_t *)(base + at->r_offset) = base + (uintptr_t)at->r_addend;
}

/* STACK is as the kernel has written it. */
static void read_initial_stack(uintptr_t *stack)
{
	environment = (char **)(void *)(stack + 1 + *stack + 1);
	for (auxiliary = (void *)environment; *(const uintptr_t *)(const void *)auxiliary;)
		auxiliary = (const void *)((const uintptr_t *)(const void *)auxiliary + 1);
	auxiliary = (const void *)((const uintptr_t *)(const void *)auxiliary + 1);
}

/* ---- Steps. Each returns 0; otherwise there is no agent, and a line is logged unless the settings want that ---- */

static const struct attach_channel *channel;

static int read_settings(void)
{
	return config_begin(&config, environment, getauxval(AT_SECURE));
}

static int check_ticks(void)
{
	if (clock_ticks_fault())
		clock_forbid_ticks();
	return 0;
}

/* From then on this thread opens no file in the program's descriptor table, where numbers count. (If the kernel refuses, the
 * image logs it.) */
static int open_log(void)
{
	log_open(config.log, NULL);
	own_fds_leave();
	if (config.log_file)
		log_use_path(config.log_file);
	config_warn(environment);
	return 0;
}

/* These need interposers. */
static int limit_settings(void)
{
	if (config.native_mem_bytes != OPTION_OFF)
		log_warn("native memory is not sampled in a program without the preload");
	config.engine = ENGINE_BUILTIN;
	config.engine_options = NULL;
	config.native_mem_bytes = OPTION_OFF;
	config.stalls_ns = OPTION_OFF;
	config.crash = false;
	return 0;
}

/* Address space of tables, which are mostly untouched: 58 MiB for script functions, 19 MiB for workspaces of walks, 5 MiB
 * for labels, and the rest for threads. */
#define TABLES_BYTES ((size_t)112 << 20)

/* A stack for a continued call (attach/thread_area.h). Stacks may use three quarters of the region. */
#define THREAD_BYTES ((size_t)128 << 10)

/* Return the size of the region. It is smaller than the preload's: there are no signal stacks and there is no async-profiler,
 * and setrlimit(2) is not interposed, so that a program that limits its address space later must have room. */
static size_t region_bytes(void)
{
	size_t threads = thread_count(), bytes = TABLES_BYTES + threads * THREAD_BYTES;

	if (!threads || !config.memory_bytes || bytes >= REGION_BYTES ||
	    config.memory_bytes >= REGION_BYTES - bytes)
		return REGION_BYTES;
	return bytes + config.memory_bytes;
}

/* The tracer has reserved a region of the maximum size. */
static int use_reserved_region(void)
{
	const uintptr_t reserved_end = channel->region + channel->region_bytes;
	size_t bytes = region_bytes();
	int err;

	if (bytes > channel->region_bytes)
		bytes = channel->region_bytes;
	err = region_begin_at(channel->region, bytes);
	if (!err) {
		uintptr_t end = shared->region.start + shared->region.bytes;

		kernel_call4(SYS_munmap, (long)end, (long)(reserved_end - end), 0, 0);
	}
	return err;
}

static int prepare_memory(void)
{
	int err = channel->region ? use_reserved_region() : region_begin(region_bytes());

	shared->is_attached = true;
	shared->attached = (struct attached_range){
		.start = channel->start,
		.bytes = channel->bytes,
		.region = shared->region.start,
		.region_bytes = shared->region.bytes,
	};
	thread_area_describe(&shared->attached);
	if (!err)
		err = start_environment_capture(environment);
	if (err)
		log_error("cannot reserve memory: %s; profiling is off in this process",
			  error_text(-err));
	return err;
}

/* The note of Go's linker has the build ID (cmd/link, elfgobuildid). A program without one still has Go's function table. */
static bool program_is_go(void)
{
	return attach_program_has_note("Go", 4) || attach_program_has_section(".gopclntab") ||
	       attach_program_has_section(".data.rel.ro.gopclntab");
}

static int agent_begin(void)
{
	cfi_lookup_init();
	return image_start_thread(&config, start_environment());
}

static void on_agent_ended(void)
{
}

static int start_profiling(void)
{
	int err;

	sampler_install_by(attach_handler_install, attach_handler_remove, attach_handler_forward,
			   attach_handler_is_free);
	if (program_is_go())
		sampler_prefer(GO_SIGNAL);
	else
		attach_handler_continue_calls();
	err = agent_start(clock_monotonic_ns() + config.start_delay_ns, agent_begin,
			  on_agent_ended);
	if (err)
		log_error("cannot start a thread: %s; profiling is off in this process",
			  error_text(-err));
	return err;
}

static int (*const steps[])(void) = {
	read_settings, check_ticks, open_log, limit_settings, prepare_memory, start_profiling,
};

/* The tracer of a program at its beginning is a child of this process. When it has ended, the program may begin. */
static void release_program(struct attach_channel *held)
{
	while (kernel_call4(SYS_wait4, held->tracer, 0, __WALL, 0) == -EINTR)
		;
	atomic_store(&held->released, 1);
	futex_wake(&held->released);
}

void attach_begin(uintptr_t *initial_stack, struct attach_channel *from_tracer)
{
	static const uint64_t all = ~UINT64_C(0);

	/* All others are blocked already (attach/tracing/stopped.h). No handler of the program may run here. */
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, sizeof(all));
	relocate();
	/* From now on, until the agent ends, a thread has this name: the next ones inherit it. */
	kernel_call4(SYS_prctl, PR_SET_NAME, (long)"asprof-agent", 0, 0);
	atomic_store(&from_tracer->is_named, 1);
	channel = from_tracer;
	read_initial_stack(initial_stack);
	arch_exchange_thread_pointer(thread_area_init(area));
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (steps[i]())
			break;
	if (!channel->region)
		release_program(from_tracer);
	for (;;)
		kernel_call4(SYS_exit, 0, 0, 0, 0);
}
