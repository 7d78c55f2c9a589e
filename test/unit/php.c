/* engine/runtime/php/php_*.c: frames of each PHP version, valid, torn and random. */
#include "engine/runtime/php/php.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/preload_code.h"
#include "engine/reading/words.h"
#include "test/fixtures/made_frames.h"
#include "test/fixtures/suite.h"

static const uint16_t versions[] = { 0x0704, 0x0800, 0x0801, 0x0802, 0x0803, 0x0804, 0x0805 };

#define VERSIONS ((int)(sizeof(versions) / sizeof(versions[0])))

/* ---- An artificial PHP of any version ---- */

#define FRAMES       8
#define INSTRUCTIONS 4
#define TOP          (1u << 17)
#define NATIVE       8

enum { INTERNAL = 1, USER = 2, EVAL = 4 };
/* One of each kind. */
enum { MAIN, SELL, PRICE, USORT, EVALED, FIBER, FUNCTIONS };

static struct {
	struct php php;
	struct php_work work;

	/* The module: its evaluator is the second page, and the evaluator's callers the third. */
	uint8_t text[4][4096];
	_Alignas(16) uint8_t globals[1024];
	_Alignas(16) uint8_t frames[FRAMES][128];
	_Alignas(16) uint8_t functions[FUNCTIONS][PHP_FUNCTION_BYTES + 8];
	_Alignas(16) uint8_t code[FUNCTIONS][INSTRUCTIONS][32];
	_Alignas(16) uint8_t scope[32];
	_Alignas(16) uint8_t strings[16][128];
	int string_count;

	uintptr_t pcs[NATIVE], sps[NATIVE], fps[NATIVE];
	struct native_frames native;
	uintptr_t stack_high;
	ucontext_t context;
	uintptr_t out[64];
} * w;

#define EVALUATOR(n) ((uintptr_t)w->text[1] + 16 + (n))
#define CALLER       ((uintptr_t)w->text[2] + 16)
#define HELPER       ((uintptr_t)w->text[0] + 16)
#define ELSEWHERE    ((uintptr_t)0x123450)

static uintptr_t string(const char *text)
{
	uint8_t *at = w->strings[w->string_count++];

	put4(at, 0, 1);
	put4(at, 4, 0x16); /* an interned string */
	put(at, 16, strlen(text));
	memcpy(at + 24, text, strlen(text) + 1);
	return (uintptr_t)at;
}

static void function(int i, uint8_t type, const char *name, uint32_t line)
{
	const struct php_layout *l = &w->php.layout;
	uint8_t *at = w->functions[i];

	at[0] = type;
	put(at, 8, name ? string(name) : 0);
	if (type == INTERNAL)
		return;
	put4(at, l->function_count, INSTRUCTIONS);
	put(at, l->function_code, (uintptr_t)w->code[i]);
	put(at, l->function_file, string("/srv/shop.php"));
	put4(at, l->function_line, line);
	for (uint32_t k = 0; k < INSTRUCTIONS; k++) {
		put(w->code[i][k], 0, EVALUATOR(100));
		put4(w->code[i][k], 24, line + 1 + k);
	}
}

/* Frame I runs FUNCTION at its instruction AT; the next frame called it. */
static void frame(int i, int function_number, int at, uint32_t flags)
{
	uint8_t *f = w->frames[i];

	memset(f, 0, sizeof(w->frames[i]));
	if (function_number >= 0) {
		put(f, 0, (uintptr_t)w->code[function_number][0] + (uintptr_t)(32 * at));
		put(f, 24, (uintptr_t)w->functions[function_number]);
	}
	put4(f, 40, flags);
	put(f, 48, (uintptr_t)w->frames[i + 1]);
}

static void native(uintptr_t pc)
{
	size_t i = w->native.count++;

	w->pcs[i] = pc;
	w->sps[i] = 0x7000 + 64 * i;
}

/* {main} calls usort(), which calls Shop::price(). */
static void make(int version)
{
	memset(w, 0, sizeof(*w));
	w->php.layout = *php_layout_known(versions[version]);
	w->php.globals = (uintptr_t)w->globals;
	w->php.base = (struct runtime){ .kind = RUNTIME_PHP,
					.text = (uintptr_t)w->text,
					.text_end = (uintptr_t)(w->text + 4),
					.evaluator = (uintptr_t)w->text[1],
					.evaluator_end = (uintptr_t)w->text[2] };
	w->php.callers[0].start = (uintptr_t)w->text[2];
	w->php.callers[0].end = (uintptr_t)w->text[3];
	function(MAIN, USER, NULL, 1);
	function(SELL, USER, "sell", 10);
	function(PRICE, USER, "price", 20);
	function(USORT, INTERNAL, "usort", 0);
	function(EVALED, EVAL, NULL, 1);
	function(FIBER, INTERNAL, NULL, 0);
	put(w->functions[PRICE], 16, (uintptr_t)w->scope);
	put(w->scope, 8, string("Shop"));
	frame(0, PRICE, 2, TOP);
	frame(1, USORT, 0, 0);
	frame(2, SELL, 1, 0);
	frame(3, MAIN, 3, TOP);
	put(w->frames[3], 48, 0);
	put(w->globals, w->php.layout.globals_current, (uintptr_t)w->frames[0]);
	put(w->globals, w->php.layout.globals_current - 8u, 256u << 10);
	native(EVALUATOR(0));
	native(CALLER);
	native(HELPER);
	native(EVALUATOR(8));
	native(ELSEWHERE);
	w->native.pcs = w->pcs;
	w->native.sps = w->sps;
	w->native.fps = w->fps;
	w->native.is_exact = true;
	w->stack_high = 0x8000;
}

static size_t walk(void)
{
	return php_walk(&w->php, &w->work, &w->native, w->stack_high, w->out, 64);
}

static void check(size_t i, const char *name, uint32_t line)
{
	check_frame(w->out[i], JFR_FRAME_PHP, name, line ? "/srv/shop.php" : "", line);
}

static void check_anchor(size_t i, size_t at)
{
	ck_assert_uint_eq(w->out[i], w->sps[at] | RUNTIME_ANCHOR);
}

START_TEST(every_frame)
{
	make(_i);
	ck_assert_uint_eq(walk(), 6);
	check(0, "Shop::price", 23);
	check_anchor(1, 0);
	check(2, "usort", 0);
	check(3, "sell", 12);
	check(4, "{main}", 5);
	check_anchor(5, 3);
}
END_TEST

START_TEST(no_layout)
{
	ck_assert_ptr_null(php_layout_known(0x0703));
	ck_assert_ptr_null(php_layout_known(0x0806));
}
END_TEST

START_TEST(nothing_runs)
{
	make(0);
	put(w->globals, w->php.layout.globals_current, 0);
	ck_assert_uint_eq(walk(), 0);
	/* Another version: the previous field has an invalid value. */
	make(0);
	put(w->globals, w->php.layout.globals_current - 8u, (uintptr_t)w->frames[0]);
	ck_assert_uint_eq(walk(), 0);
	make(0);
	w->php.globals = 0x10000;
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

START_TEST(code_of_a_string)
{
	make(0);
	frame(0, EVALED, 0, TOP);
	ck_assert_uint_eq(walk(), 6);
	check(0, "{eval}", 2);
}
END_TEST

/* The base frame of a call from C is a copy of the calling frame, with all its flags. */
START_TEST(frames_of_nothing)
{
	make(0);
	frame(1, -1, 0, TOP);
	ck_assert_uint_eq(walk(), 5);
	check(0, "Shop::price", 23);
	check_anchor(1, 0);
	check(2, "sell", 12);
}
END_TEST

/* ---- Instructions ---- */

START_TEST(registers)
{
	make(0);
	w->native.context = &w->context;
#if defined(__x86_64__)
	w->context.uc_mcontext.gregs[REG_R14] = (greg_t)w->frames[0];
	w->context.uc_mcontext.gregs[REG_R15] = (greg_t)w->code[PRICE][0];
#elif defined(__aarch64__)
	w->context.uc_mcontext.regs[27] = (uintptr_t)w->frames[0];
	w->context.uc_mcontext.regs[28] = (uintptr_t)w->code[PRICE][0];
#endif
	walk();
	check(0, "Shop::price", 21);
	/* Instructions of another function, or of none. */
	make(0);
	w->native.context = &w->context;
#if defined(__x86_64__)
	w->context.uc_mcontext.gregs[REG_R14] = (greg_t)w->frames[0];
	w->context.uc_mcontext.gregs[REG_R15] = (greg_t)w->code[SELL][0];
#elif defined(__aarch64__)
	w->context.uc_mcontext.regs[27] = (uintptr_t)w->frames[0];
	w->context.uc_mcontext.regs[28] = (uintptr_t)w->code[SELL][0];
#endif
	walk();
	check(0, "Shop::price", 23);
}
END_TEST

START_TEST(instructions_of_none)
{
	make(0);
	put(w->frames[0], 0, (uintptr_t)w->globals);
	put(w->frames[2], 0, (uintptr_t)w->code[SELL][0] + 8);
	ck_assert_uint_eq(walk(), 6);
	check(0, "Shop::price", 20);
	check(3, "sell", 10);
}
END_TEST

/* ---- Positions ---- */

START_TEST(about_to_return)
{
	make(0);
	put(w->globals, w->php.layout.globals_current, (uintptr_t)w->frames[1]);
	ck_assert_uint_eq(walk(), 4);
	check(0, "usort", 0);
	check_anchor(3, 3);
}
END_TEST

START_TEST(about_to_call)
{
	make(0);
	w->native.pcs++;
	w->native.sps++;
	w->native.count--;
	ck_assert_uint_eq(walk(), 4);
	check(0, "usort", 0);
	check_anchor(3, 3);
}
END_TEST

/* The native walk was lost in PHP's JIT code. */
START_TEST(compiled)
{
	make(0);
	w->pcs[3] = ELSEWHERE;
	w->pcs[4] = STACK_CALLERS_UNKNOWN;
	ck_assert_uint_eq(walk(), 5);
	check_anchor(1, 0);
	check(4, "{main}", 5);
	ck_assert_uint_eq(w->pcs[3], 0);
	ck_assert_uint_eq(w->pcs[4], 0);

	/* Immediately: then the bailout buffer decides. */
	make(0);
	w->pcs[0] = ELSEWHERE;
	w->native.count = 1;
	ck_assert_uint_eq(walk(), 0);
	put(w->globals, w->php.layout.globals_bailout, 0x7800);
	ck_assert_uint_eq(walk(), 4);
	ck_assert_uint_eq(w->pcs[0], 0);
	put(w->globals, w->php.layout.globals_bailout, 0x8800); /* another thread's */
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

START_TEST(fiber)
{
	make(0);
	frame(1, FIBER, 0, 0);
	frame(2, SELL, 1, TOP);
	w->native.count = 3;
	ck_assert_uint_eq(walk(), 4);
	check_anchor(1, 0);
	check(2, "sell", 12);
	check(3, "{main}", 5);
}
END_TEST

/* Handlers that execute one instruction each. */
START_TEST(instructions_apart)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0x27 };

	make(0);
	walk();
	ck_assert_uint_eq(w->pcs[2], HELPER);
#if defined(__x86_64__)
	memcpy((void *)EVALUATOR(8), jump, sizeof(jump));
	walk();
	ck_assert_uint_eq(w->pcs[2], 0);
	ck_assert_uint_eq(w->pcs[1], CALLER);
#else
	(void)jump;
#endif
	/* If it calls all of them. */
	make(0);
	put(w->code[PRICE][2], 0, HELPER);
	walk();
	ck_assert_uint_eq(w->pcs[2], 0);
}
END_TEST

/* ---- Invalid structures ---- */

START_TEST(another_at_the_same_place)
{
	make(_i);
	walk();
	/* A request has ended, and the next one's script has its addresses. */
	memcpy((uint8_t *)word_at(w->functions[SELL], 8) + 24, "drop", 4);
	walk();
	check(3, "drop", 12);
}
END_TEST

START_TEST(names)
{
	char *name;

	make(0);
	name = (char *)word_at(w->functions[SELL], 8) + 24;
	memcpy(name, "a\x1b\xff\xc3\xa4", 5);
	put(name - 24, 16, 5);
	walk();
	check(3, "a??\xc3\xa4", 12);
	/* An anonymous class has its file after a NUL. */
	memcpy(name, "a\0cd", 4);
	walk();
	check(3, "a", 12);
	put(name - 24, 16, 1 << 20);
	ck_assert_uint_eq(walk(), 5);
	put(name - 24, 16, 0);
	ck_assert_uint_eq(walk(), 5);
	put(name - 24, 16, 4);
	put4(name - 24, 4, 7); /* an array */
	ck_assert_uint_eq(walk(), 5);
}
END_TEST

START_TEST(torn)
{
	make(_i);
	w->functions[SELL][0] = 0x70; /* freed */
	ck_assert_uint_eq(walk(), 5);
	put(w->frames[2], 24, 0x1010);
	ck_assert_uint_eq(walk(), 5);
	put(w->frames[2], 48, 0x10);
	ck_assert_uint_eq(walk(), 3);
	put(w->frames[2], 48, (uintptr_t)w->frames[3] + 4);
	ck_assert_uint_eq(walk(), 3);
}
END_TEST

START_TEST(without_an_end)
{
	make(0);
	put(w->frames[3], 48, (uintptr_t)w->frames[3]);
	ck_assert_uint_gt(walk(), 4);
	frame(3, -1, 0, 0);
	put(w->frames[3], 48, (uintptr_t)w->frames[3]);
	walk();
	make(0);
	ck_assert_uint_eq(php_walk(&w->php, &w->work, &w->native, 0, w->out, 1), 1);
	ck_assert_uint_eq(php_walk(&w->php, &w->work, &w->native, 0, w->out, 0), 0);
}
END_TEST

/* Replace words of all structures in turn: by an address of these structures, an invalid one, a
 * small number, or any value. Each result must be a frame, with any name. */
START_TEST(at_random)
{
	uint8_t *from = w->globals, *to = (uint8_t *)&w->string_count;

	for (int round = 0; round < 6000; round++) {
		if (round % 8 == 0)
			make(_i);
		for (int i = 0; i < 4; i++) {
			uint8_t *at = from + random_next() % (uint64_t)(to - from - 8);

			put(at, 0, random_word(from, (size_t)(to - from)));
		}
		put(w->globals, w->php.layout.globals_current - 8u, 256u << 10);
		check_known(w->out, walk());
	}
}
END_TEST

static void setup(void)
{
	w = made_frames_begin(sizeof(*w));
}

static void teardown(void)
{
	munmap(w, sizeof(*w));
}

int main(void)
{
	TCase *tcase = tcase_create("php");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, every_frame, 0, VERSIONS);
	tcase_add_test(tcase, no_layout);
	tcase_add_test(tcase, nothing_runs);
	tcase_add_test(tcase, code_of_a_string);
	tcase_add_test(tcase, frames_of_nothing);
	tcase_add_test(tcase, registers);
	tcase_add_test(tcase, instructions_of_none);
	tcase_add_test(tcase, about_to_return);
	tcase_add_test(tcase, about_to_call);
	tcase_add_test(tcase, compiled);
	tcase_add_test(tcase, fiber);
	tcase_add_test(tcase, instructions_apart);
	tcase_add_loop_test(tcase, another_at_the_same_place, 0, VERSIONS);
	tcase_add_test(tcase, names);
	tcase_add_loop_test(tcase, torn, 0, VERSIONS);
	tcase_add_test(tcase, without_an_end);
	tcase_add_loop_test(tcase, at_random, 0, VERSIONS);
	return suite_run(tcase);
}
