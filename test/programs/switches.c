/* Coroutines that change stacks by their own code ("hand", as libco does it) or by the C library's
 * ("ucontext"): each works in in_coroutine() for a while, and switches to the next one. Prints the
 * results. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "test/programs/check.h"

#define COROUTINES  64
#define TURNS       100
#define ROUNDS      60000
#define STACK_BYTES 16384

static struct coroutine {
	void *sp; /* while it does not run */
	ucontext_t context;
	uint64_t sum;
	int by_hand;
} all[COROUTINES + 1]; /* the last is the starting thread */

/* Registers that a callee must preserve go to the stack, and the stack is switched. */
void switch_stacks(void **from, void *to);

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".type switch_stacks, @function\n"
	"switch_stacks:\n\t"
	"push %rbp\n\t"
	"push %rbx\n\t"
	"push %r12\n\t"
	"push %r13\n\t"
	"push %r14\n\t"
	"push %r15\n\t"
	"mov %rsp, (%rdi)\n\t"
	"mov %rsi, %rsp\n\t"
	"pop %r15\n\t"
	"pop %r14\n\t"
	"pop %r13\n\t"
	"pop %r12\n\t"
	"pop %rbx\n\t"
	"pop %rbp\n\t"
	"ret\n"
	".size switch_stacks, . - switch_stacks\n"
	".popsection");
#define SAVED 6
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
	".type switch_stacks, %function\n"
	"switch_stacks:\n\t"
	"stp x19, x20, [sp, #-160]!\n\t"
	"stp x21, x22, [sp, #16]\n\t"
	"stp x23, x24, [sp, #32]\n\t"
	"stp x25, x26, [sp, #48]\n\t"
	"stp x27, x28, [sp, #64]\n\t"
	"stp x29, x30, [sp, #80]\n\t"
	"stp d8, d9, [sp, #96]\n\t"
	"stp d10, d11, [sp, #112]\n\t"
	"stp d12, d13, [sp, #128]\n\t"
	"stp d14, d15, [sp, #144]\n\t"
	"mov x9, sp\n\t"
	"str x9, [x0]\n\t"
	"mov sp, x1\n\t"
	"ldp x21, x22, [sp, #16]\n\t"
	"ldp x23, x24, [sp, #32]\n\t"
	"ldp x25, x26, [sp, #48]\n\t"
	"ldp x27, x28, [sp, #64]\n\t"
	"ldp x29, x30, [sp, #80]\n\t"
	"ldp d8, d9, [sp, #96]\n\t"
	"ldp d10, d11, [sp, #112]\n\t"
	"ldp d12, d13, [sp, #128]\n\t"
	"ldp d14, d15, [sp, #144]\n\t"
	"ldp x19, x20, [sp], #160\n\t"
	"ret\n"
	".size switch_stacks, . - switch_stacks\n"
	".popsection");
#define SAVED 20
#define LINK  11 /* the index of the return address in these */
#endif

static void go_from_to(struct coroutine *from, struct coroutine *to)
{
	if (from->by_hand)
		switch_stacks(&from->sp, to->sp);
	else
		CHECK(!swapcontext(&from->context, &to->context));
}

__attribute__((noinline)) static uint64_t work(uint64_t sum)
{
	for (int i = 0; i < ROUNDS; i++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	return sum;
}

__attribute__((noinline)) static void in_coroutine(struct coroutine *self)
{
	for (int turn = 0; turn < TURNS; turn++) {
		self->sum = work(self->sum);
		go_from_to(self, self + 1);
	}
}

static void begin(void)
{
	static int begun;

	in_coroutine(&all[begun++]);
	CHECK(!"a turn too many");
}

static char *stack(void)
{
	char *memory =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void make(struct coroutine *new, int by_hand)
{
	char *memory = stack();
	void **top = (void **)(void *)(memory + STACK_BYTES);

	new->sum = (uint64_t)(new - all);
	new->by_hand = by_hand;
	if (!by_hand) {
		CHECK(!getcontext(&new->context));
		new->context.uc_stack.ss_sp = memory;
		new->context.uc_stack.ss_size = STACK_BYTES;
		makecontext(&new->context, begin, 0);
		return;
	}
#if defined(__x86_64__)
	top--; /* the address to which begin() would return */
	*--top = (void *)begin;
	top -= SAVED;
#else
	top -= SAVED;
	top[LINK] = (void *)begin;
#endif
	new->sp = top;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	int by_hand;

	CHECK(argc == 2);
	by_hand = !strcmp(argv[1], "hand");
	for (int i = 0; i < COROUTINES; i++)
		make(&all[i], by_hand);
	all[COROUTINES].by_hand = by_hand;
	/* Each switches to the next, the last one to here. */
	for (int turn = 0; turn < TURNS; turn++)
		go_from_to(&all[COROUTINES], &all[0]);
	for (int i = 0; i < COROUTINES; i++)
		sum += all[i].sum;
	printf("%016llx\n", (unsigned long long)sum);
	return 5;
}
