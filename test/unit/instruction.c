/* The decoder of x86-64 instructions: length, and effects on the general registers. */
#include <string.h>

#include "test/fixtures/suite.h"

#ifdef __x86_64__

#include "arch/x86_64/instruction.h"

#define CODE(text) (const uint8_t *)(text), sizeof(text) - 1

static const struct {
	const uint8_t *code;
	size_t size;
	struct instruction wanted; /* length 0: not known */
} cases[] = {
	/* mov %rsi,%rax; mov %eax,%r8d; movslq %edi,%rbp; mov 8(%rsp),%r9; mov -4(%rbp),%eax */
	{ CODE("\x48\x89\xf0"), { 3, .source = SOURCE_REGISTER, .from = 6, .writes = 1 } },
	{ CODE("\x41\x89\xc0"), { 3, .source = SOURCE_REGISTER, .to = 8, .writes = 1 << 8 } },
	{ CODE("\x48\x63\xef"),
	  { 3, .source = SOURCE_REGISTER, .to = 5, .from = 7, .writes = 1 << 5 } },
	{ CODE("\x4c\x8b\x4c\x24\x08"), { 5, 0, SOURCE_MEMORY, 9, 4, 8, 1 << 9, 0, 0, 0 } },
	{ CODE("\x8b\x45\xfc"), { 3, 0, SOURCE_MEMORY, 0, 5, -4, 1, 0, 0, 0 } },
	/* mov %fs:16,%rax; mov 4(%rip),%eax; mov (%rsp,%rcx),%eax; mov %ax,%bx */
	{ CODE("\x64\x48\x8b\x04\x25\x10\x00\x00\x00"), { 9, .writes = 1 } },
	{ CODE("\x8b\x05\x04\x00\x00\x00"), { 6, .writes = 1 } },
	{ CODE("\x8b\x04\x0c"), { 3, .writes = 1 } },
	{ CODE("\x66\x89\xc3"), { 3, .writes = 1 << 3 } },
	/* mov $232,%edi; mov $232,%rax; movabs $1,%rax; xor %r9d,%r9d; or $-1,%eax */
	{ CODE("\xbf\xe8\x00\x00\x00"), { 5, 0, SOURCE_CONSTANT, 7, 0, 232, 1 << 7, 0, 0, 0 } },
	{ CODE("\x48\xc7\xc0\xe8\x00\x00\x00"), { 7, 0, SOURCE_CONSTANT, 0, 0, 232, 1, 0, 0, 0 } },
	{ CODE("\x48\xb8\x01\x00\x00\x00\x00\x00\x00\x00"), { 10, .writes = 1 } },
	{ CODE("\x45\x31\xc9"), { 3, .source = SOURCE_CONSTANT, .to = 9, .writes = 1 << 9 } },
	{ CODE("\x83\xc8\xff"), { 3, .value = -1, .writes = 1 } },
	/* push $8; push %r14; pop %rbx; sub $88,%rsp; add $256,%rsp; push 48(%rsp); lea 8(%rsp),%rsp */
	{ CODE("\x6a\x08"), { 2, .value = 8, .stack = -8 } },
	{ CODE("\x41\x56"), { 2, .stack = -8 } },
	{ CODE("\x5b"), { 1, .stack = 8, .writes = 1 << 3 } },
	{ CODE("\x48\x83\xec\x58"), { 4, .value = 88, .stack = -88 } },
	{ CODE("\x48\x81\xc4\x00\x01\x00\x00"), { 7, .value = 256, .stack = 256 } },
	{ CODE("\xff\x74\x24\x30"), { 4, .stack = -8 } },
	{ CODE("\x48\x8d\x64\x24\x08"), { 5, .writes = 1 << 4 } },
	/* cmp $1,%eax; test %eax,%eax; nopw 0(%rax,%rax); movzbl (%rbx),%ecx; movaps %xmm0,(%rsp); vmovdqu (%rax),%ymm1 */
	{ CODE("\x83\xf8\x01"), { 3, .value = 1 } },
	{ CODE("\x85\xc0"), { .length = 2 } },
	{ CODE("\x66\x0f\x1f\x44\x00\x00"), { .length = 6 } },
	{ CODE("\x0f\xb6\x0b"), { 3, .writes = 1 << 1 } },
	{ CODE("\x0f\x29\x04\x24"), { .length = 4 } },
	{ CODE("\xc5\xfe\x6f\x08"), { .length = 4 } },
	/* mov %al,%dh: a part of dx */
	{ CODE("\x88\xc6"), { 2, .writes = 1 << 6 | 1 << 2 } },
	/* idiv %rcx; neg %esi; testb $16,(%rdi); cqto; cltq; shl $4,%r8; imul $100,%eax,%edi; sete %dh; movq %xmm0,%rbp */
	{ CODE("\x48\xf7\xf9"), { 3, .writes = 1 << 2 | 1 } },
	{ CODE("\xf7\xde"), { 2, .writes = 1 << 6 } },
	{ CODE("\xf6\x07\x10"), { 3, .value = 16 } },
	{ CODE("\x48\x99"), { 2, .writes = 1 << 2 } },
	{ CODE("\x48\x98"), { 2, .writes = 1 } },
	{ CODE("\x49\xc1\xe0\x04"), { 4, .value = 4, .writes = 1 << 8 } },
	{ CODE("\x6b\xf8\x64"), { 3, .value = 100, .writes = 1 << 7 } },
	{ CODE("\x0f\x94\xc6"), { 3, .writes = 1 << 6 | 1 << 2 } },
	{ CODE("\x66\x48\x0f\x7e\xc5"), { 5, .writes = 1 << 5 | 1 << 1 } },
	/* je +2; call -5; jmp *(%rax); ret; syscall */
	{ CODE("\x74\x02"), { 2, FLOW_BRANCH, 0, 0, 0, 2, 0, 0, true, 2 } },
	{ CODE("\xe8\xfb\xff\xff\xff"), { 5, FLOW_LEAVE, 0, 0, 0, -5, 0, 0, true, -5 } },
	{ CODE("\xff\x20"), { 2, FLOW_LEAVE, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ CODE("\xc3"), { 1, FLOW_LEAVE, 0, 0, 0, 0, 0, 0, 0, 0 } },
	/* Not complete; not known. */
	{ CODE("\xbf\xe8\x00"), { 0 } },
	{ CODE("\x48"), { 0 } },
	{ CODE("\x06"), { 0 } },
	{ CODE(""), { 0 } },
};

START_TEST(test_instruction)
{
	const struct instruction *wanted = &cases[_i].wanted;
	struct instruction got;

	ck_assert_int_eq(instruction_decode(&got, cases[_i].code, cases[_i].size),
			 wanted->length > 0);
	if (!wanted->length)
		return;
	ck_assert_uint_eq(got.length, wanted->length);
	ck_assert_int_eq(got.flow, wanted->flow);
	ck_assert_int_eq(got.source, wanted->source);
	ck_assert_uint_eq(got.to, wanted->to);
	ck_assert_uint_eq(got.from, wanted->from);
	ck_assert_int_eq(got.value, wanted->value);
	ck_assert_uint_eq(got.writes, wanted->writes);
	ck_assert_int_eq(got.stack, wanted->stack);
	ck_assert_int_eq(got.has_target, wanted->has_target);
	ck_assert_int_eq(got.target, wanted->target);
}
END_TEST

/* Any bytes: no more of them are read than there are. */
START_TEST(test_instruction_any)
{
	struct instruction got;
	uint8_t *code;

	for (int i = 0; i < 200000; i++) {
		size_t size = (size_t)(i % 20);

		code = malloc(size + 1);
		for (size_t j = 0; j < size; j++)
			code[j] = (uint8_t)rand();
		if (instruction_decode(&got, code, size))
			ck_assert(got.length > 0 && got.length <= size);
		free(code);
	}
}
END_TEST

#endif

int main(void)
{
	TCase *tcase = tcase_create("instruction");

#ifdef __x86_64__
	tcase_add_loop_test(tcase, test_instruction, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tcase, test_instruction_any);
#endif
	return suite_run(tcase);
}
