/* Maps the image, and runs it in its own thread.
 *
 * Before it enters the image, the thread has the thread pointer of its creator, or none: no stack canary, no errno,
 * nothing of the C library. */
#include "arch/stacks.h"
#include "preload/image/image.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/agent.h"
#include "core/clock.h"
#include "core/executable.h"
#include "core/futex.h"
#include "core/kernel.h"
#include "core/loaded_symbol.h"
#include "core/privileges.h"
#include "core/shared.h"
#include "core/system.h"
#include "image/layout.h"
#include "image/start.h"
#include "preload/image/host_calls.h"

/* The thread shares the same as other threads, except undo lists of System V semaphores: it uses none, and kcmp(2)
 * would see the list, which the process would have from then on. (It shares the descriptor table until its first
 * system call. So there is never a copy of it, in which pipes of the program would have a second holder.) */
#define THREAD_FLAGS                                                                              \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_PARENT_SETTID | \
	 CLONE_CHILD_CLEARTID)

/* Symbols that recurse to libiberty's limit took up to 434 kB. */
#define STACK_SIZE (1u << 20)

/* Maximum wait of a new thread until the earlier one has ended. */
#define GONE_NS 1000000000u

/* Words at the top of the stack: argc, two arguments and their end, the end of the environment, and the auxiliary
 * vector. */
#define START_WORDS (5 + 2 * (IMAGE_AUXILIARY_MAX + 1))

extern unsigned char image_memory[] __attribute__((visibility("hidden")));
extern const unsigned char image_data[] __attribute__((visibility("hidden")));

static struct {
	struct image_start start;
	unsigned char *stack; /* STACK_SIZE and a guard page; for one thread at a time */
	unsigned char random[16];
	bool is_mapped, is_late; /* another thread has already waited a moment */
} image;

static const unsigned long kinds[] = {
	AT_PHDR,   AT_PHENT,  AT_PHNUM, AT_PAGESZ, AT_BASE, AT_ENTRY, AT_HWCAP,    AT_HWCAP2,
	AT_EXECFN, AT_CLKTCK, AT_UID,   AT_EUID,   AT_GID,  AT_EGID,  AT_PLATFORM, AT_SYSINFO_EHDR,
};

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) < IMAGE_AUXILIARY_MAX, "and the end");

static bool is_error(long result)
{
	return result < 0 && result > -4096;
}

/* Map the image's data from the file, followed by zeroed memory. */
static int image_map_data(void)
{
	unsigned char *data = image_memory + IMAGE_DATA_START;
	long got = kernel_call6(SYS_mmap, (long)data, IMAGE_DATA_END - IMAGE_DATA_START,
				PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				0);

	if (is_error(got))
		return (int)got;
	system_empty_in_children(data, IMAGE_DATA_END - IMAGE_DATA_START);
	memcpy(data, image_data, IMAGE_DATA_FILE_END - IMAGE_DATA_START);
	return 0;
}

static int stack_allocate(void)
{
	unsigned char *stack;

	if (image.stack)
		return 0;
	stack = system_map(IMAGE_PAGE + STACK_SIZE);
	if (!stack)
		return -ENOMEM;
	kernel_call4(SYS_mprotect, (long)stack, IMAGE_PAGE, PROT_NONE, 0);
	system_empty_in_children(stack + IMAGE_PAGE, STACK_SIZE);
	image.stack = stack;
	return 0;
}

static uintptr_t *words_push(uintptr_t *at, uintptr_t kind, uintptr_t value)
{
	at[0] = kind;
	at[1] = value;
	return at + 2;
}

/* Return the address of these words. The stack begins below it, aligned for all processors. */
static uintptr_t *start_words(void)
{
	uintptr_t end = (uintptr_t)image.stack + IMAGE_PAGE + STACK_SIZE;

	return (uintptr_t *)((end - START_WORDS * sizeof(uintptr_t)) & ~(uintptr_t)15);
}

/* Write what the kernel writes for a new program. Returns its address. */
static uintptr_t *start_words_write(void)
{
	const uintptr_t base = (uintptr_t)image_memory;
	uintptr_t *words = start_words(), *at = words;

	*at++ = 2;
	*at++ = (uintptr_t) "asprof-agent";
	*at++ = (uintptr_t)&image.start;
	*at++ = 0;
	*at++ = 0;
	at = words_push(at, AT_PHDR, base + IMAGE_PHDR);
	at = words_push(at, AT_PHNUM, IMAGE_PHNUM);
	at = words_push(at, AT_PHENT, sizeof(ElfW(Phdr)));
	at = words_push(at, AT_ENTRY, base + IMAGE_ENTRY);
	at = words_push(at, AT_RANDOM, (uintptr_t)image.random);
	for (size_t i = 0; image.start.auxiliary[i][0] != AT_NULL; i++) {
		uintptr_t kind = image.start.auxiliary[i][0];

		if (kind == AT_PAGESZ || kind == AT_SYSINFO_EHDR || kind == AT_HWCAP ||
		    kind == AT_HWCAP2)
			at = words_push(at, kind, image.start.auxiliary[i][1]);
	}
	words_push(at, AT_NULL, 0);
	return words;
}

static _Noreturn void thread_end(void)
{
	for (;;)
		kernel_call4(SYS_exit, 0, 0, 0, 0);
}

/* Wait a moment, in which the agent has no work: most programs that are shorter than the start delay are also
 * shorter than this. Later the thread checks its privileges. Returns false when it is to end. */
static bool thread_wait_a_moment(void)
{
	uint64_t until = clock_monotonic_ns() + PRIVILEGES_CHECK_NS;

	if (until > shared->agent.due_ns)
		until = shared->agent.due_ns;

	while (!agent_stop_is_requested() && !wake_is_pending(&shared->agent.wake))
		if (futex_wait_until(&shared->agent.wake.pending, 0, until) == -ETIMEDOUT)
			break;
	return !agent_stop_is_requested();
}

static _Noreturn void image_enter(void)
{
	int err;

	if (image.is_mapped)
		arch_thread_continue(image.start.thread_pointer, atomic_load(&image.start.again));
	err = image_map_data();
	if (!err) {
		image.is_mapped = true;
		arch_thread_enter((uintptr_t)image_memory + IMAGE_ENTRY, start_words_write());
	}
	agent_failed(err);
	thread_end();
}

/* The new thread. The descriptor table comes first, so that the program's pipes never have a second holder. If the
 * kernel refuses, the image detects and logs it. */
static _Noreturn void image_run(void)
{
	kernel_call4(SYS_close_range, 0, UINT_MAX, CLOSE_RANGE_UNSHARE, 0);
	kernel_call4(SYS_prctl, PR_SET_NAME, (long)"asprof-agent", 0, 0);
	clock_permit_ticks();
	system_thread_reset_scheduling();
	if (image.is_late ? !agent_stop_is_requested() : thread_wait_a_moment())
		image_enter();
	agent_set_ended();
	thread_end();
}

/* Defined by the linker: the start of the library, and the section of the interposers. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern const char __start_asprof_calls[] __attribute__((visibility("hidden")));
extern const char __stop_asprof_calls[] __attribute__((visibility("hidden")));

static void describe_code(void)
{
	const uintptr_t base = (uintptr_t)&__ehdr_start;
	const ElfW(Phdr) *part = (const void *)(base + __ehdr_start.e_phoff);

	for (size_t i = 0; i < __ehdr_start.e_phnum; i++)
		if (part[i].p_type == PT_LOAD && part[i].p_flags & PF_X) {
			shared->preload.code = base + part[i].p_vaddr;
			shared->preload.code_bytes = part[i].p_memsz;
		}
	shared->preload.calls = (uintptr_t)__start_asprof_calls;
	shared->preload.calls_bytes =
		(uintptr_t)__stop_asprof_calls - (uintptr_t)__start_asprof_calls;
	shared->preload.c_library = (uintptr_t)&getauxval;
}

static void describe_process(void)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		unsigned long value = kinds[i] == AT_EXECFN ? (unsigned long)executable_started_as()
							    : getauxval(kinds[i]);

		if (value)
			words_push(image.start.auxiliary[n++], kinds[i], value);
	}
	words_push(image.start.auxiliary[n], AT_NULL, 0);
	if (getauxval(AT_RANDOM))
		memcpy(image.random, (const void *)getauxval(AT_RANDOM), sizeof(image.random));
	shared->loader_debug = loaded_debug();
	describe_code();
}

/* The stack and the image's memory belong to the earlier thread until it has ended. */
static int thread_wait_until_gone(void)
{
	uint64_t until = clock_monotonic_ns() + GONE_NS;
	struct timespec end = { .tv_sec = (time_t)(until / 1000000000u),
				.tv_nsec = (long)(until % 1000000000u) };
	_Atomic pid_t *id = &shared->agent.id;
	pid_t there;

	/* The kernel wakes a shared futex. */
	while ((there = atomic_load(id)))
		if (kernel_call6(SYS_futex, (long)id, FUTEX_WAIT_BITSET, there, (long)&end, 0,
				 FUTEX_BITSET_MATCH_ANY) == -ETIMEDOUT)
			return atomic_load(id) ? -EAGAIN : 0;
	return 0;
}

static int image_prepare(const struct config *config, const char *environment)
{
	int err = thread_wait_until_gone();

	if (err)
		return err;
	describe_process();
	image.start.version = IMAGE_VERSION;
	image.start.shared = shared;
	image.start.config = config;
	image.start.environment = environment;
	image.start.host = host_calls;
	return 0;
}

static int thread_start(bool is_late)
{
	uint64_t every = UINT64_MAX, before;
	int err = stack_allocate();

	if (err)
		return err;
	image.is_late = is_late;
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&every, (long)&before, sizeof(every));
	err = arch_thread_start(THREAD_FLAGS, image_run, start_words(), &shared->agent.id);
	if (err == -EINVAL) /* QEMU accepts only the flags that C libraries use */
		err = arch_thread_start(THREAD_FLAGS | CLONE_SYSVSEM, image_run, start_words(),
					&shared->agent.id);
	kernel_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before));
	return err;
}

int image_start_thread(const struct config *config, const char *environment)
{
	int err = image_prepare(config, environment);

	return err ? err : thread_start(false);
}

static void start_in_a_moment(void)
{
	int err;

	if (!thread_wait_a_moment()) {
		agent_set_ended();
		return;
	}
	err = thread_start(true);
	if (err)
		agent_failed(err);
}

int image_start_thread_by(bool (*by)(void (*call)(void)), const struct config *config,
			  const char *environment)
{
	int err = image_prepare(config, environment);

	if (err || by(start_in_a_moment))
		return err;
	return thread_start(false);
}

void image_reset_in_child(void)
{
	image.is_mapped = false;
}
