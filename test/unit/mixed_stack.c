/* engine/runtime/mixed_stack.c: positions of script frames among native ones. */
#include "engine/runtime/mixed_stack.h"

#include "engine/modules/modules.h"
#include "test/fixtures/suite.h"

/* Native frames are numbered from 1, innermost first, and 16 bytes apart; frames 0x100 to 0x1ff are
 * the evaluator. Script frames are multiples of 16 from 0x1000. */
#define E(n)  (0x100 + (n))
#define SP(i) (0x7000 + 16 * (uintptr_t)(i))
#define AT(i) ((SP(i) + 8) | RUNTIME_ANCHOR)
#define NO_AT RUNTIME_ANCHOR
#define NONE  0xf00 /* omitted by the walk */
#define F(n)  (0x1000 + 16 * (n))

static const struct runtime runtime = { .evaluator = 0xff, .evaluator_end = 0x1ff };

static const struct {
	const char *what;
	uintptr_t native[8], frames[12], mixed[16];
} cases[] = {
	{ "one row", { 1, E(1), 3 }, { F(1), F(2), AT(1) }, { 1, F(1), F(2), 3 } },
	{ "the evaluator itself", { E(1), 2 }, { F(1), AT(0) }, { F(1), 2 } },
	{ "native code between",
	  { 1, E(1), 3, E(2), 5 },
	  { F(1), AT(1), F(2), F(3), AT(3) },
	  { 1, F(1), 3, F(2), F(3), 5 } },
	{ "a call that runs nothing yet", { E(1), 2, E(2), 4 }, { F(1), AT(2) }, { 2, F(1), 4 } },
	{ "an empty row", { E(1), 2, E(2), 4 }, { AT(0), F(1), AT(2) }, { 2, F(1), 4 } },
	{ "an evaluator of another name", { 1, 2, 3 }, { F(1), AT(1) }, { 1, F(1), 3 } },
	{ "a walk that ended before it", { 1, 2 }, { F(1), 0x9001 }, { 1, 2, F(1) } },
	{ "a walk that ended there", { 1, E(1) }, { F(1), 0x9001 }, { 1, F(1) } },
	{ "a thread's own end", { 1, E(1), 3 }, { F(1), AT(1), 0x9001 }, { 1, F(1), 3 } },
	{ "a row without an end", { 1, E(1), 3 }, { F(1), AT(1), F(2) }, { 1, F(1), 3, F(2) } },
	{ "a call without a row further out",
	  { E(1), 2, E(2), 4, E(3), 6 },
	  { F(1), AT(0), F(2), AT(4) },
	  { F(1), 2, E(2), 4, F(2), 6 } },
	{ "left out", { NONE, E(1), NONE, 4 }, { F(1), AT(1) }, { F(1), 4 } },
	{ "no frames", { 1, E(1) }, { 0 }, { 1, E(1) } },

	/* By order alone. */
	{ "in order",
	  { 1, E(1), 3, E(2), 5 },
	  { F(1), NO_AT, F(2), NO_AT },
	  { 1, F(1), 3, F(2), 5 } },
	{ "one more call, which has just begun",
	  { E(1), 2, E(2), 4 },
	  { F(1), NO_AT },
	  { 2, F(1), 4 } },
	{ "more calls that belong to another stack",
	  { 1, E(1), 3, E(2), 5 },
	  { F(1), NO_AT },
	  { 1, F(1), 3, E(2), 5 } },
	{ "fewer calls", { 1, E(1) }, { F(1), NO_AT, F(2), NO_AT }, { 1, F(1), F(2) } },
};

static size_t length(const uintptr_t *words, size_t max)
{
	size_t n = 0;

	while (n < max && words[n])
		n++;
	return n;
}

START_TEST(places)
{
	uintptr_t pcs[8], sps[8], out[16];
	size_t native = length(cases[_i].native, 8), wanted = length(cases[_i].mixed, 16), got;
	bool truncated = false;

	for (size_t i = 0; i < native; i++)
		sps[i] = SP(i), pcs[i] = cases[_i].native[i] == NONE ? 0 : cases[_i].native[i];
	/* The end of the last frame is not known; an address beyond all stacks is in none. */
	got = mixed_stack_merge(
		&runtime, &(struct native_frames){ .pcs = pcs, .sps = sps, .count = native },
		cases[_i].frames, length(cases[_i].frames, 12), out, 16, &truncated);
	ck_assert_msg(got == wanted, "%s: %zu frames", cases[_i].what, got);
	for (size_t i = 0; i < got; i++)
		ck_assert_msg(out[i] == cases[_i].mixed[i], "%s: frame %zu is %#lx", cases[_i].what,
			      i, out[i]);
	ck_assert(!truncated);
}
END_TEST

START_TEST(cut_at_the_end)
{
	uintptr_t native[] = { 1, E(1), 3 }, sps[] = { SP(0), SP(1), SP(2) }, out[4] = { 0 };
	uintptr_t frames[] = { F(1), F(2), F(3), AT(1) };
	bool truncated = false;

	ck_assert_uint_eq(
		mixed_stack_merge(&runtime,
				  &(struct native_frames){ .pcs = native, .sps = sps, .count = 3 },
				  frames, 4, out, 3, &truncated),
		3);
	ck_assert(truncated);
	ck_assert_uint_eq(out[0], 1);
	ck_assert_uint_eq(out[2], F(2));
	ck_assert_uint_eq(out[3], 0);
}
END_TEST

/* Without an interpreter these are native walks of the same functions. */
static __attribute__((noinline)) size_t here(uintptr_t *pcs, bool *truncated)
{
	size_t count = mixed_stack_here(0, 0, pcs, 64, truncated);

	__asm__ volatile("" ::: "memory");
	return count;
}

START_TEST(nothing_to_mix)
{
	uintptr_t pcs[64];
	bool truncated;

	ck_assert_int_eq(modules_open(), 0);
	ck_assert_uint_gt(here(pcs, &truncated), 0);
	/* The caller of the calling function. */
	ck_assert_uint_lt(pcs[0] - (uintptr_t)&nothing_to_mix_fn, 4096);
	ck_assert(!truncated);
}
END_TEST

/* An interpreter's library may be loaded at a new place again and again. */
START_TEST(any_number_of_runtimes)
{
	struct runtime again = { .finds_own_frames = false };

	for (uintptr_t i = 0; i < 100; i++) {
		again.text = again.text_end = 0x1000 * i;
		ck_assert_int_eq(mixed_stack_look_for(RUNTIME_PERL, &again, sizeof(again)), 0);
		ck_assert_int_eq(mixed_stack_look_for(RUNTIME_PERL, NULL, 0), 0);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mixed_stack");

	tcase_add_loop_test(tcase, places, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, cut_at_the_end);
	tcase_add_test(tcase, nothing_to_mix);
	tcase_add_test(tcase, any_number_of_runtimes);
	return suite_run(tcase);
}
