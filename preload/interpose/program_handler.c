/* Entries in front of the program's handlers. */
#include "preload/interpose/program_handler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/interpose/restart.h"
#include "preload/interpose/context.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/real.h"
#include "preload/interpose/sample.h"

#define ENTRIES     256
#define ENTRY_BYTES 16

/* The handler behind each entry; they are taken in order, and never given back. */
static void *handlers[ENTRIES];

/* Each entry hands on what the kernel gave it, its own number, and where the context is: aarch64
 * tells no handler that has no SA_SIGINFO. The frame that the kernel wrote begins with the siginfo,
 * which is 128 bytes, and goes on with the context. */
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
	"	.rept " STRING(ENTRIES) "\n"
					"	.balign " STRING(
						ENTRY_BYTES) "\n"
#if defined(__x86_64__)
							     "	endbr64\n"
							     "	mov $index, %ecx\n"
							     "	jmp program_handler_run\n"
#elif defined(__aarch64__)
							     "	hint #34\n" /* bti c */
							     "	mov w3, #index\n"
							     "	add x2, sp, #128\n"
							     "	b program_handler_run\n"
#endif
							     "	.set index, index + 1\n"
							     "	.endr\n"
							     "	.cfi_endproc\n"
							     "	.size program_handler_entries, . - "
							     "program_handler_entries\n"
							     "	.popsection\n");

void program_handler_run(int signo, siginfo_t *info, void *context, unsigned int index)
	__attribute__((visibility("hidden")));

__attribute__((used)) void program_handler_run(int signo, siginfo_t *info, void *context,
					       unsigned int index)
{
	program_handled++;
	again_end(context);
	sample_program_handler(signo, context);
	fatal_note_handled(signo);
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
