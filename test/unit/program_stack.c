/* engine/collect/program_stack: the preload's frames are removed, except the innermost call. */
#include "engine/collect/program_stack.h"

#include "core/shared.h"
#include "test/fixtures/suite.h"

/* The preload's code is from 0x1000 to 0x2000, its interposers from 0x1800 on. */
#define OURS 0x1100
#define CALL 0x1900
#define MAX  10

static const struct {
	uintptr_t pcs[MAX], left[MAX];
} cases[] = {
	/* No frame of the preload. */
	{ { 0x5000, 0x6000 }, { 0x5000, 0x6000 } },
	/* Between the program and its C library. */
	{ { 0x5000, CALL, 0x6000 }, { 0x5000, 0x6000 } },
	{ { 0x5000, OURS, CALL, 0x6000, OURS, 0x7000 }, { 0x5000, 0x6000, 0x7000 } },
	/* A call that the C library implements by another one; only the first leads to the C
	 * library's function of that name. */
	{ { 0x5000, CALL, CALL + 16, 0x6000 }, { 0x5000, CALL + 16, 0x6000 } },
	{ { 0x5000, OURS, CALL, OURS, CALL + 16, OURS, 0x6000, CALL, 0x7000 },
	  { 0x5000, CALL + 16, 0x6000, 0x7000 } },
	{ { OURS, 0x5000, CALL, CALL + 16, 0x6000 }, { 0x4fff, CALL + 16, 0x6000 } },
	/* The innermost frame is the call that the program made; its caller is still a return
	 * address. */
	{ { CALL, 0x6000 }, { CALL, 0x6000 } },
	{ { OURS, CALL, 0x6000 }, { CALL - 1, 0x6000 } },
	{ { CALL, CALL + 16, 0x6000 }, { CALL + 15, 0x6000 } },
	/* Not called by the program: the frame is its own instruction, before its return
	 * address. */
	{ { OURS, 0x6000, 0x7000 }, { 0x5fff, 0x7000 } },
	{ { OURS, OURS }, { 0 } },
	/* A call at the very end of the preload's code, and of its interposers. */
	{ { 0x5000, 0x2000, 0x6000 }, { 0x5000, 0x6000 } },
	{ { 0x2000, 0x6000 }, { 0x2000, 0x6000 } },
	{ { 0x5000, 0x1000, 0x6000 }, { 0x5000, 0x1000, 0x6000 } },
};

static size_t length(const uintptr_t *pcs)
{
	size_t n = 0;

	while (n < MAX && pcs[n])
		n++;
	return n;
}

START_TEST(strips)
{
	uintptr_t out[MAX];
	size_t count = length(cases[_i].pcs), left;

	shared->preload.code = 0x1000;
	shared->preload.calls = 0x1800;
	shared->preload.code_bytes = 0x1000;
	shared->preload.calls_bytes = 0x800;
	left = program_stack_strip(out, cases[_i].pcs, count);
	ck_assert_uint_eq(left, length(cases[_i].left));
	for (size_t i = 0; i < left; i++)
		ck_assert_uint_eq(out[i], cases[_i].left[i]);
}
END_TEST

START_TEST(takes_nothing_where_nothing_is_ours)
{
	static const uintptr_t pcs[] = { 0x1000, 1, UINTPTR_MAX };
	uintptr_t out[3];

	ck_assert_uint_eq(program_stack_strip(out, pcs, 3), 3);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("program_stack");

	tcase_add_loop_test(tcase, strips, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_test(tcase, takes_nothing_where_nothing_is_ours);
	return suite_run(tcase);
}
