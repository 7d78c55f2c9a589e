/* engine/collect/wall_place: a stack is recognized by its return addresses. The stacks are arrays here. */
#include "engine/collect/wall_place.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "test/fixtures/suite.h"

#define PC 0x1000

enum { LOCAL = 3, INNER = 4, OLD = 6, OUTER = 9, ABOVE = 12, WORDS = 16 };

static const uintptr_t pcs[] = { PC, 0x2000, 0x3000 };

/* A stack with two return addresses, and an old copy of the second one. */
static uintptr_t stack[WORDS];
static struct wait call;
static struct wall_place place, seen;

static void setup(void)
{
	memset(stack, 0, sizeof(stack));
	stack[INNER] = pcs[1];
	stack[OUTER] = stack[OLD] = pcs[2];
	call = (struct wait){ .number = 1, .sp = (uintptr_t)stack, .pc = PC };
}

static void learn(const uintptr_t *frames, size_t depth)
{
	wall_place_see(&seen, &call);
	wall_place_learn(&place, &seen, frames, depth);
	ck_assert_ptr_null(seen.copy);
	ck_assert_ptr_null(place.copy);
}

START_TEST(nothing_is_known_at_first)
{
	ck_assert(!wall_place_is_same(&place, &call));
	wall_place_learn(&place, &seen, pcs, 3);
	ck_assert(!wall_place_is_same(&place, &call));
}
END_TEST

START_TEST(the_same_stack)
{
	learn(pcs, 3);
	ck_assert(wall_place_is_same(&place, &call));
	stack[LOCAL] = stack[ABOVE] = 7;
	call.first = 5;
	ck_assert(wall_place_is_same(&place, &call));
	wall_place_clear(&place);
	ck_assert(!wall_place_is_same(&place, &call));
}
END_TEST

START_TEST(another_caller)
{
	static const size_t words[] = { INNER, OUTER, OLD };

	learn(pcs, 3);
	stack[words[_i]] = 0x4000;
	ck_assert(!wall_place_is_same(&place, &call));
}
END_TEST

START_TEST(another_call)
{
	struct wait others[] = { call, call, call };

	learn(pcs, 3);
	others[0].number++;
	others[1].pc++;
	others[2].sp += sizeof(*stack);
	for (size_t i = 0; i < 3; i++)
		ck_assert(!wall_place_is_same(&place, &others[i]));
}
END_TEST

START_TEST(a_call_that_is_restarted)
{
	const uintptr_t restarted[] = { PC - ARCH_SYSTEM_CALL_BYTES, 0x2000, 0x3000 };

	learn(restarted, 3);
	ck_assert(wall_place_is_same(&place, &call));
}
END_TEST

/* An interpreter's frame; a thread that left the call before its signal; a stack that is too deep. */
START_TEST(stacks_that_are_not_recognized)
{
	static const uintptr_t interpreted[] = { PC, 0x2000, 0x5000, 0x3000 },
			       elsewhere[] = { 0x1100, 0x2000, 0x3000 },
			       deep[WALL_PLACE_FRAMES_MAX + 1] = { PC, 0x2000 };

	learn(interpreted, 4);
	ck_assert(!wall_place_is_same(&place, &call));
	learn(elsewhere, 3);
	ck_assert(!wall_place_is_same(&place, &call));
	learn(deep, WALL_PLACE_FRAMES_MAX + 1);
	ck_assert(!wall_place_is_same(&place, &call));
	learn(pcs, 1);
	ck_assert(!wall_place_is_same(&place, &call));
}
END_TEST

/* The memory of a stack may end, and be unmapped. */
START_TEST(a_stack_at_the_end_of_memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + page, page, PROT_NONE), 0);
	call.sp = (uintptr_t)memory + page - sizeof(stack);
	memcpy(memory + page - sizeof(stack), stack, sizeof(stack));
	learn(pcs, 3);
	ck_assert(wall_place_is_same(&place, &call));
	munmap(memory, 2 * page);
	ck_assert(!wall_place_is_same(&place, &call));
}
END_TEST

START_TEST(few_stacks_are_copied_at_a_time)
{
	static struct wall_place many[WALL_PLACE_COPIES_MAX];

	for (size_t i = 0; i < WALL_PLACE_COPIES_MAX; i++)
		wall_place_see(&many[i], &call);
	learn(pcs, 3);
	ck_assert(!wall_place_is_same(&place, &call));
	wall_place_clear(&many[0]);
	learn(pcs, 3);
	ck_assert(wall_place_is_same(&place, &call));
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, nothing_is_known_at_first);
	tcase_add_test(tests, the_same_stack);
	tcase_add_loop_test(tests, another_caller, 0, 3);
	tcase_add_test(tests, another_call);
	tcase_add_test(tests, a_call_that_is_restarted);
	tcase_add_test(tests, stacks_that_are_not_recognized);
	tcase_add_test(tests, a_stack_at_the_end_of_memory);
	tcase_add_test(tests, few_stacks_are_copied_at_a_time);
	return suite_run(tests);
}
