/* engine/runtime/jvm/jvm_mix.c, engine/unwind/unwind_java.c: what a Java machine runs is one frame, behind which is whoever
 * has called into it. */
#include "engine/runtime/jvm/jvm.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/preload_code.h"
#include "arch/code.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/modules/modules.h"
#include "engine/runtime/frame_table.h"
#include "engine/unwind/unwind.h"
#include "test/fixtures/suite.h"

static uintptr_t made; /* code of no module */

static void setup(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(code, MAP_FAILED);
	memset(code, 0x90, 4096);
	made = (uintptr_t)code + 256;
	cfi_lookup_init();
	ck_assert_int_eq(modules_open(), 0);
	ck_assert_int_eq(frame_table_open(), 0);
}

static void teardown(void)
{
	unwind_set_java(0, 0);
	modules_close();
}

START_TEST(one_frame_a_run)
{
	const uintptr_t own = (uintptr_t)&setup + 4;
	uintptr_t pcs[] = { made, made + 9, own, made, own, own, STACK_CALLERS_UNKNOWN };
	struct native_frames native = { .pcs = pcs, .count = 7, .exact = true };
	struct jvm jvm = { .named = false };
	struct script_frame frame;
	uintptr_t out[7];

	ck_assert_uint_eq(jvm_mix(&jvm, &native, out), 6);
	ck_assert(frame_table_find(out[0], &frame));
	ck_assert_str_eq(frame.name, "[Java]");
	ck_assert_uint_eq(out[1], own);
	ck_assert_uint_eq(out[2], out[0]);
	ck_assert_uint_eq(out[3], own);
	ck_assert_uint_eq(out[4], own);
	ck_assert_uint_eq(out[5], STACK_CALLERS_UNKNOWN);

	/* Nothing of it. */
	native.pcs += 4;
	native.count = 3;
	ck_assert_uint_eq(jvm_mix(&jvm, &native, out), 0);
	/* Another names what it runs. */
	native.pcs = pcs;
	native.count = 7;
	jvm.named = true;
	ck_assert_uint_eq(jvm_mix(&jvm, &native, out), 0);
}
END_TEST

static uintptr_t here;

__attribute__((noinline)) static void note_return(void)
{
	here = (uintptr_t)__builtin_return_address(0);
}

/* A stack on which Java runs: FP is the call stub's. */
static void put_stub(uintptr_t *fp, uintptr_t above)
{
	fp[-6] = (uintptr_t)(fp + 8); /* the wrapper */
	fp[-5] = (uintptr_t)(fp + 12);
	fp[-4] = 10; /* int */
	fp[-3] = made & ~(uintptr_t)7;
	fp[-2] = made + 64;
	fp[0] = above;
	fp[1] = here;
	fp[2] = 3;
}

START_TEST(left_by_the_stub)
{
	_Alignas(64) static uintptr_t stack[4096];
	ucontext_t context;
	uintptr_t pcs[8], *fp = stack + 1000, elsewhere;
	const struct module *own;
	bool truncated;

	note_return();
	elsewhere = here;
	note_return();
	own = modules_find(here);
	ck_assert_ptr_nonnull(own);
	unwind_set_java(own->start, own->end);
	memset(&context, 0, sizeof(context));
	*(uintptr_t *)((char *)&context + arch_pc_offset()) = made;
	*(uintptr_t *)((char *)&context + arch_register_offset(ARCH_SP)) = (uintptr_t)stack;
	*(uintptr_t *)((char *)&context + arch_register_offset(ARCH_FP)) = 12345;

	/* Addresses of that module that calls have left, and a frame that is not quite one. */
	for (int i = 10; i < 900; i += 7)
		stack[i] = elsewhere;
	put_stub(stack + 600, 0);
	stack[601] = elsewhere;
	stack[600 - 2] = here; /* it enters no code that was made */
	put_stub(fp, (uintptr_t)(stack + 2000));
	ck_assert_uint_ge(unwind_context(&context, (uintptr_t)(stack + 4096), pcs, 8, &truncated),
			  2);
	ck_assert_uint_eq(pcs[0], made);
	ck_assert_uint_eq(pcs[1], here);

	/* Without one there is no way on that could be known. */
	fp[-4] = 77;
	unwind_context(&context, (uintptr_t)(stack + 4096), pcs, 8, &truncated);
	ck_assert_uint_eq(pcs[0], made);
	ck_assert_uint_ne(pcs[1], here);
	ck_assert_uint_ne(pcs[1], elsewhere);
	/* Nor in a process without Java. */
	fp[-4] = 10;
	unwind_set_java(0, 0);
	unwind_context(&context, (uintptr_t)(stack + 4096), pcs, 8, &truncated);
	ck_assert_uint_ne(pcs[1], here);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("jvm");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, one_frame_a_run);
	if (ARCH_RA == 16)
		tcase_add_test(tcase, left_by_the_stub);
	return suite_run(tcase);
}
