/* Entries of the program's signal handlers. */
#include "preload/interpose/program_handler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/code.h"
#include "engine/reading/thread_data.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/sample.h"
#include "preload/interpose/sandbox.h"
#include "preload/interpose/unseen_call.h"

#define ENTRIES     256
#define ENTRY_BYTES 16

/* The handler of each entry; entries are used in order and never freed. */
static void *handlers[ENTRIES];

/* Bit SIGNO - 1 is set for each signal whose handler has SA_RESETHAND: before it runs, the kernel restores the
 * default action, which is not visible otherwise. */
static uint64_t resets;

void program_handler_note_reset(int signo, bool is_reset)
{
	uint64_t bit = signo > 0 && signo <= 64 ? UINT64_C(1) << (signo - 1) : 0;

	if (is_reset)
		__atomic_fetch_or(&resets, bit, __ATOMIC_RELAXED);
	else if (__atomic_load_n(&resets, __ATOMIC_RELAXED) & bit && !exit_is_vfork_child())
		__atomic_fetch_and(&resets, ~bit, __ATOMIC_RELAXED);
}

/* Each entry passes on the kernel's arguments, its own number, and the address of the context. */
extern const char program_handler_entries[] __attribute__((visibility("hidden")));

#define STRING(x)  STRING_(x)
#define STRING_(x) #x

__asm__(".pushsection .text\n"
	"	.balign 16\n"
	"	.globl program_handler_entries\n"
	"	.hidden program_handler_entries\n"
	"	.type program_handler_entries, @function\n"
	"program_handler_entries:\n"
	"	.cfi_startproc\n"
	"	.set index, 0\n"
	"	.rept " STRING(
		ENTRIES) "\n"
			 "	.balign " STRING(ENTRY_BYTES) "\n" ARCH_HANDLER_ENTRY(
				 program_handler_run) "	.set index, index + 1\n"
						      "	.endr\n"
						      "	.cfi_endproc\n"
						      "	.size program_handler_entries, . - "
						      "program_handler_entries\n"
						      "	.popsection\n");

void program_handler_run(int signo, siginfo_t *info, void *context, unsigned int index)
	__attribute__((visibility("hidden")));

static void handler_note(int signo, ucontext_t *context)
{
	program_handled++;
	unseen_call_end(context);
	if (!sandbox_is_entered()) {
		/* A sample that arrives as the handler returns does not continue the call. */
		if (!sample_has_ended_call(context))
			restart_program_handler((uintptr_t)CONTEXT_SP(context));
		else if (arch_call_has_just_ended(context))
			arch_mark_call(context);
	}
	sample_program_handler(signo, context);
}

__attribute__((used)) void program_handler_run(int signo, siginfo_t *info, void *context,
					       unsigned int index)
{
	if (__builtin_expect(thread_data_is_own(context), 1))
		handler_note(signo, context);
	if (__builtin_expect(!sandbox_is_entered(), 1))
		fatal_note_handled(signo);
	if (__builtin_expect(__atomic_load_n(&resets, __ATOMIC_RELAXED) >> (signo - 1) & 1, 0))
		fatal_reinstall(signo);
	((sample_handler)handlers[index])(signo, info, context);
}

static bool handler_is_entry(__sighandler_t handler)
{
	uintptr_t first = (uintptr_t)program_handler_entries;

	return (uintptr_t)handler - first < (uintptr_t)ENTRIES * ENTRY_BYTES;
}

__sighandler_t program_handler_visible(__sighandler_t handler)
{
	uintptr_t offset = (uintptr_t)handler - (uintptr_t)program_handler_entries;

	if (!handler_is_entry(handler))
		return handler;
	return (__sighandler_t)__atomic_load_n(&handlers[offset / ENTRY_BYTES], __ATOMIC_RELAXED);
}

static bool handler_is_function(__sighandler_t handler)
{
	return handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR &&
	       handler != SIG_HOLD;
}

__sighandler_t program_handler_entry(int signo, __sighandler_t handler)
{
	void *wanted = (void *)handler, *there;

	if (!handler_is_function(handler) || handler_is_entry(handler) ||
	    is_agent_code((const void *)handler) || sample_is_fault(signo))
		return handler;
	for (size_t i = 0; i < ENTRIES; i++) {
		there = __atomic_load_n(&handlers[i], __ATOMIC_ACQUIRE);
		if (!there && __atomic_compare_exchange_n(&handlers[i], &there, wanted, false,
							  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			there = wanted;
		if (there == wanted)
			return (__sighandler_t)(uintptr_t)&program_handler_entries[i * ENTRY_BYTES];
	}
	return handler;
}
