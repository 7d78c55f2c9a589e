/* engine/runtime/jvm/jvm_mix.c, engine/unwind/unwind_java.c: a run of Java frames is one frame,
 * followed by its native caller. */
#include "engine/runtime/jvm/jvm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/preload_code.h"
#include "arch/arch.h"
#include "arch/code.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/modules/modules.h"
#include "engine/reading/walk_budget.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/jvm/jvm_find.h"
#include "engine/unwind/unwind.h"
#include "test/fixtures/suite.h"

static uintptr_t made; /* code in no module */

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
	struct native_frames native = { .pcs = pcs, .count = 7, .is_exact = true };
	struct jvm jvm = { .has_names = false };
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

	/* No Java frame. */
	native.pcs += 4;
	native.count = 3;
	ck_assert_uint_eq(jvm_mix(&jvm, &native, out), 0);
	/* Another agent names its functions. */
	native.pcs = pcs;
	native.count = 7;
	jvm.has_names = true;
	ck_assert_uint_eq(jvm_mix(&jvm, &native, out), 0);
}
END_TEST

static void write_list(const char *path)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs("1000 10 name\n", file);
	ck_assert_int_eq(fclose(file), 0);
}

/* Any user may create a file with that name. */
START_TEST(names_of_its_own)
{
	struct jvm jvm = { .has_names = false };
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	ck_assert(!jvm_find_names(&jvm));
	write_list(path);
	if (!chown(path, 12345, 12345))
		ck_assert(!jvm_find_names(&jvm));
	ck_assert_int_eq(unlink(path), 0);
	write_list(path);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
	ck_assert(!jvm_find_names(&jvm));
	write_list(path);
	ck_assert(jvm_find_names(&jvm));
	ck_assert(jvm.has_names);
	ck_assert_int_eq(unlink(path), 0);
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

	/* Old return addresses of that module, and a frame that is almost valid. */
	for (int i = 10; i < 900; i += 7)
		stack[i] = elsewhere;
	put_stub(stack + 600, 0);
	stack[601] = elsewhere;
	stack[600 - 2] = here; /* its target is not generated code */
	put_stub(fp, (uintptr_t)(stack + 2000));
	ck_assert_uint_ge(unwind_context(&context, (uintptr_t)(stack + 4096), pcs, 8, &truncated),
			  2);
	ck_assert_uint_eq(pcs[0], made);
	ck_assert_uint_eq(pcs[1], here);

	/* Without a stub, the caller is unknown. */
	fp[-4] = 77;
	unwind_context(&context, (uintptr_t)(stack + 4096), pcs, 8, &truncated);
	ck_assert_uint_eq(pcs[0], made);
	ck_assert_uint_ne(pcs[1], here);
	ck_assert_uint_ne(pcs[1], elsewhere);
	/* Neither in a process without Java. */
	fp[-4] = 10;
	unwind_set_java(0, 0);
	unwind_context(&context, (uintptr_t)(stack + 4096), pcs, 8, &truncated);
	ck_assert_uint_ne(pcs[1], here);
}
END_TEST

enum { WORDS = 1 << 17, FRAMES = 1000 };

/* Frames of generated code, linked by frame pointers, on a stack full of WORD. Returns the part of
 * its budget that a walk uses. */
static uint32_t walk_chain(uintptr_t word)
{
	static uintptr_t stack[WORDS], pcs[FRAMES];
	struct walk_budget budget;
	ucontext_t context;
	bool truncated;

	for (size_t i = 0; i < WORDS; i++)
		stack[i] = word;
	for (size_t i = 0; i <= FRAMES; i++) {
		stack[8 * i] = (uintptr_t)(stack + 8 * (i + 1));
		stack[8 * i + 1] = made + 64;
	}
	memset(&context, 0, sizeof(context));
	*(uintptr_t *)((char *)&context + arch_pc_offset()) = made;
	*(uintptr_t *)((char *)&context + arch_register_offset(ARCH_SP)) = (uintptr_t)stack;
	*(uintptr_t *)((char *)&context + arch_register_offset(ARCH_FP)) = (uintptr_t)stack;
	walk_budget_init(&budget);
	walk_budget_set(&budget);
	/* (Each walk adds knowledge about the stack.) */
	for (int i = 0; i < 16; i++) {
		walk_budget_init(&budget);
		unwind_context(&context, (uintptr_t)(stack + WORDS), pcs, FRAMES, &truncated);
	}
	walk_budget_set(NULL);
	return walk_budget_is_spent(&budget)
		       ? WALK_BUDGET_WORDS
		       : WALK_BUDGET_WORDS - budget.words - budget.until_check;
}

/* A failed search for the stub is not repeated for each frame, and one on a hostile stack ends. */
START_TEST(many_frames_without_a_stub)
{
	const struct module *own;

	note_return();
	own = modules_find(here);
	ck_assert_ptr_nonnull(own);
	unwind_set_java(own->start, own->end);
	ck_assert_uint_lt(walk_chain(0), WORDS + FRAMES * 2 * WALK_BUDGET_COPY / 8);
	ck_assert_uint_eq(walk_chain(here), WALK_BUDGET_WORDS);
	unwind_set_java(0, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("jvm");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, one_frame_a_run);
	tcase_add_test(tcase, names_of_its_own);
	if (ARCH_RA == 16) {
		tcase_add_test(tcase, left_by_the_stub);
		tcase_add_test(tcase, many_frames_without_a_stub);
	}
	return suite_run(tcase);
}
