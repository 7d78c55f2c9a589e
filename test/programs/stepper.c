/* Walks the stack from every instruction that a program executes: the processor's trap flag raises
 * SIGTRAP after each. */
#include "test/programs/stepper.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unwind.h>

#include "engine/cfi/cfi_lookup.h"
#include "engine/cfi/cfi_rules.h"
#include "engine/modules/modules.h"
#include "engine/unwind/unwind.h"
#include "test/fixtures/compile_modules.h"

#define FRAMES 256

/* ---- Places ---- */

#define PLACE_BITS 16

struct place {
	_Atomic uintptr_t pc;
	_Atomic unsigned steps, wrong;
	uintptr_t callers[4]; /* as the first failed walk has them */
};

/* Shared with forked children, which continue to step. */
static struct tally {
	_Atomic unsigned long steps;
	struct place places[1 << PLACE_BITS];
} * tally;

static struct place *place_of(uintptr_t pc)
{
	size_t slot = (pc * 0x9e3779b97f4a7c15u) >> (64 - PLACE_BITS);
	uintptr_t none = 0;

	while (!atomic_compare_exchange_strong(&tally->places[slot].pc, &none, pc) && none != pc) {
		slot = (slot + 1) % (1 << PLACE_BITS);
		none = 0;
	}
	return &tally->places[slot];
}

static void print_address(uintptr_t pc)
{
	const ElfW(Sym) * symbol;
	const char *name;
	Dl_info info;

	if (!dladdr1((void *)pc, &info, (void **)&symbol, RTLD_DL_SYMENT)) {
		printf(" %#lx", pc);
		return;
	}
	name = strrchr(info.dli_fname, '/');
	printf(" %s+%#lx", name ? name + 1 : info.dli_fname, pc - (uintptr_t)info.dli_fbase);
	if (symbol && pc - (uintptr_t)info.dli_saddr < symbol->st_size)
		printf("(%s)", info.dli_sname);
}

static void print_places(void)
{
	const struct place *place;
	unsigned places = 0, wrong = 0;

	for (place = tally->places; place < tally->places + (1 << PLACE_BITS); place++) {
		places += place->pc != 0;
		if (!place->wrong)
			continue;
		wrong++;
		printf("wrong %u of %u:", place->wrong, place->steps);
		print_address(place->pc);
		for (size_t i = 0; i < sizeof(place->callers) / sizeof(place->callers[0]); i++)
			print_address(place->callers[i]);
		printf("\n");
	}
	printf("%lu steps, %u places, %u wrong\n", tally->steps, places, wrong);
}

/* ---- Walks ---- */

/* The first thread's stack, and the frames that stay on it meanwhile, according to libgcc's
 * unwinder. */
static struct {
	uintptr_t low, high, sp;
	uintptr_t pcs[FRAMES];
	size_t count;
} base;

static _Unwind_Reason_Code base_frame(struct _Unwind_Context *context, void *data)
{
	(void)data;
	if (base.count < FRAMES && _Unwind_GetIP(context))
		base.pcs[base.count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static bool is_outermost(uintptr_t pc)
{
	struct memory_block block;
	struct unwind_rule rule;

	memory_block_init(&block);
	return cfi_lookup(&rule, pc, &block) && rule.kind == RULE_END;
}

static bool is_right(const uintptr_t *pcs, size_t count, uintptr_t sp)
{
	if (!is_outermost(count > 1 ? pcs[count - 1] - 1 : pcs[0]))
		return false;
	if (sp < base.low || sp > base.sp)
		return true;
	return count > base.count &&
	       !memcmp(pcs + (count - base.count), base.pcs, base.count * sizeof(base.pcs[0]));
}

static void walk(const ucontext_t *context)
{
	uintptr_t pcs[FRAMES] = { 0 }, sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	struct place *place;
	bool truncated;
	size_t count;

	cfi_rules_init(); /* a forked child has none */
	count = unwind_context(context, sp >= base.low && sp < base.high ? base.high : 0, pcs,
			       FRAMES, &truncated);
	place = place_of(pcs[0]);
	place->steps++;
	tally->steps++;
	/* If the C library blocks all signals, as around clone(2), no sample is taken. */
	if (sigismember(&context->uc_sigmask, SIGRTMAX - 1) ||
	    (!truncated && is_right(pcs, count, sp)))
		return;
	if (!place->wrong++)
		memcpy(place->callers, pcs + 1, sizeof(place->callers));
}

/* ---- Steps ---- */

#define SYSCALL_BYTES 2

/* Emulate the next rt_sigprocmask(2), without SIGTRAP: blocked, it kills. */
static void set_mask(ucontext_t *context)
{
	greg_t *registers = context->uc_mcontext.gregs;
	const uint64_t *set = (const uint64_t *)registers[REG_RSI];
	uint64_t *old = (uint64_t *)registers[REG_RDX], mask;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	if (old)
		*old = mask;
	if (set && registers[REG_RDI] == SIG_BLOCK)
		mask |= *set;
	else if (set && registers[REG_RDI] == SIG_UNBLOCK)
		mask &= ~*set;
	else if (set)
		mask = *set;
	mask &= ~(UINT64_C(1) << (SIGTRAP - 1));
	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
	registers[REG_RAX] = 0;
	registers[REG_RIP] += SYSCALL_BYTES;
}

static void on_trap(int signo, siginfo_t *info, void *uc)
{
	ucontext_t *context = uc;
	greg_t *registers = context->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	walk(context);
	if (memcmp((const void *)registers[REG_RIP], "\x0f\x05", SYSCALL_BYTES) ||
	    registers[REG_RAX] == SYS_rt_sigreturn)
		return;
	/* The instruction after a system call is executed before the next trap. */
	registers[REG_RIP] += SYSCALL_BYTES;
	walk(context);
	registers[REG_RIP] -= SYSCALL_BYTES;
	if (registers[REG_RAX] == SYS_rt_sigprocmask)
		set_mask(context);
}

#define FLAGS(name, change)                                           \
	__asm__(".globl " #name "\n"                                  \
		".type " #name ", @function\n" #name ":\n"            \
		"	.cfi_startproc\n"                                   \
		"	pushfq\n"                                           \
		"	.cfi_adjust_cfa_offset 8\n" change "	popfq\n" \
		"	.cfi_adjust_cfa_offset -8\n"                        \
		"	ret\n"                                              \
		"	.cfi_endproc\n")

FLAGS(step_again, "	orl $0x100, (%rsp)\n");
FLAGS(clear_trap_flag, "	andl $~0x100, (%rsp)\n");

void clear_trap_flag(void);

void step_on(void)
{
	pthread_attr_t attributes;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attributes))
		abort();
	pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_destroy(&attributes);
	base.low = (uintptr_t)low;
	base.high = base.low + size;
	base.count = 0;
	_Unwind_Backtrace(base_frame, NULL);
	/* Except this one, and its caller, which continues. */
	base.count -= 2;
	memmove(base.pcs, base.pcs + 2, base.count * sizeof(base.pcs[0]));
	base.sp = (uintptr_t)__builtin_frame_address(0);
	step_again();
}

void step_off(void)
{
	clear_trap_flag();
	base.sp = 0;
}

/* ---- Start and end ---- */

__attribute__((constructor)) static void stepper_open(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	cfi_lookup_init();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED || modules_open() || sigaction(SIGTRAP, &action, NULL))
		abort();
	if ((!getenv("STEPPER_TABLES") || strcmp(getenv("STEPPER_TABLES"), "off")) &&
	    compile_modules() != 1)
		abort();
}

__attribute__((destructor)) static void stepper_close(void)
{
	step_off();
	print_places();
}
