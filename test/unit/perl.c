/* engine/runtime/perl/perl_*.c: stacks of each Perl version, with and without threads, valid, torn and random. */
#include "engine/runtime/perl/perl.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "test/fixtures/made_frames.h"
#include "test/fixtures/suite.h"

static const uint8_t versions[] = { 32, 34, 36, 38, 40, 42 };

/* Each version with and without threads. */
#define LAYOUTS ((int)(2 * sizeof(versions)))

/* ---- An artificial Perl of any version ---- */

#define CONTEXT    104
#define SUBS       4
#define STATEMENTS 8
#define NATIVE     12

enum { MAIN_LINE, SELL_LINE, PRICE_LINE, BLOCK_LINE, COMPILING };
enum { SELL, PRICE, ANONYMOUS };
enum { TYPE_NONE, TYPE_SUB = 9, TYPE_FORMAT, TYPE_EVAL };
enum { CALLED = 0x10, BLOCK = 0x40, IN_PATTERN = 0x80 };

static pthread_key_t key;

static struct {
	struct perl perl;
	struct perl_work work;

	uint8_t text[4]
		    [4096]; /* the evaluator, the program's start, calls from C, an eval's call */

	_Alignas(16) uint8_t own[8192];
	uintptr_t first, stack, statement, operation, variables;
	uint32_t key;
	_Alignas(16) uint8_t stacks[3][64], contexts[3][8][CONTEXT];
	_Alignas(16) uint8_t subs[SUBS][24], sub_fields[SUBS][104];
	_Alignas(16) uint8_t globs[SUBS][24], glob_fields[SUBS][48];
	_Alignas(16) uint8_t package[24], package_fields[128], package_array[128];
	_Alignas(16) uint8_t statements[STATEMENTS][88], wholes[SUBS][40];
	_Alignas(16) uint8_t names[8][64];
	_Alignas(16) uint8_t file_glob[24], file_fields[48];
	char file[64];
	int name_count;

	uintptr_t pcs[NATIVE], sps[NATIVE], fps[NATIVE];
	struct native_frames native;
	uintptr_t out[64];
} * w;

#define EVALUATOR(n) ((uintptr_t)w->text[0] + 16 + (n))
#define RUN          ((uintptr_t)w->text[1] + 16)
#define CALL         ((uintptr_t)w->text[2] + 16)
#define PP_EVAL      ((uintptr_t)w->text[3] + 16)
#define OTHER        ((uintptr_t)w->text[3] + 2048) /* in Perl, without a name */
#define ELSEWHERE    ((uintptr_t)0x123450)

static uintptr_t name(const char *text, uint8_t flags)
{
	uint8_t *at = w->names[w->name_count++];
	size_t length = strlen(text);

	put4(at, 4, (uint32_t)length);
	memcpy(at + 8, text, length + 1);
	at[8 + length + 1] = flags;
	return (uintptr_t)at;
}

static void value(uint8_t *at, uint32_t type, const void *fields)
{
	put(at, 0, (uintptr_t)fields);
	put4(at, 8, 1);
	put4(at, 12, type);
}

static void make_package(const char *text)
{
	uint8_t *rest = w->perl.layout.hash_rest ? w->package_fields + w->perl.layout.hash_rest
						 : w->package_array + 64;

	value(w->package, 12 | 0x02000000, w->package_fields);
	put(w->package, 16, (uintptr_t)w->package_array);
	put(w->package_fields, 24, 7);
	put(rest, 0, name(text, 0));
}

static void make_sub(int i, const char *text)
{
	value(w->subs[i], 13, w->sub_fields[i]);
	put(w->sub_fields[i], 56, (uintptr_t)w->globs[i]);
	value(w->globs[i], 9, w->glob_fields[i]);
	put(w->glob_fields[i], 32, name(text, 0));
	put(w->glob_fields[i], 40, (uintptr_t)w->package);
}

static void make_statement(int i, uint32_t line)
{
	uint8_t *at = w->statements[i];

	put4(at, 32, w->perl.layout.statement | 0xfe00); /* with bits of other fields */
	put4(at, 36, line);
	put(at, 48, w->perl.key ? (uintptr_t)w->file : (uintptr_t)w->file_glob);
}

/* STATEMENT was compiled as part of SUB, with a root of TYPE. */
static void make_whole(int statement, int sub, uint32_t type)
{
	put4(w->wholes[sub], 32, type | 0xfe00);
	put(w->sub_fields[sub], 48, (uintptr_t)w->wholes[sub]);
	put(w->statements[statement], 8, (uintptr_t)w->wholes[sub]);
}

/* Context I of STACK: of TYPE and SUB, created at STATEMENT. If ROW, it is the last of a row and
 * has no return address. */
static void context(int stack, int i, uint8_t type, int sub, int statement, bool row)
{
	uint8_t *at = w->contexts[stack][i];

	memset(at, 0, CONTEXT);
	at[0] = type;
	put(at, 16, (uintptr_t)w->statements[statement]);
	put(at, 48, row ? 0 : 0x1000);
	put(at, 72, sub < 0 ? 0 : (uintptr_t)w->subs[sub]);
}

static void set_statement(uintptr_t address)
{
	if (w->perl.key)
		put(w->own, w->perl.layout.own_statement, address);
	else
		w->statement = address;
}

static void set_stack(uintptr_t address)
{
	if (w->perl.key)
		put(w->own, w->perl.layout.own_stack, address);
	else
		w->stack = address;
}

static void native(uintptr_t pc)
{
	size_t i = w->native.count++;

	w->pcs[i] = pc;
	w->sps[i] = 0x7000 + 64 * i;
}

static void make_stack(int i, int last)
{
	put(w->stacks[i], 8, (uintptr_t)w->contexts[i]);
	put(w->stacks[i], 16, i ? (uintptr_t)w->stacks[i - 1] : 0);
	put4(w->stacks[i], 32, (uint32_t)last);
	put4(w->stacks[i], 36, 7);
}

static void range(enum perl_function function, uintptr_t at)
{
	w->perl.functions[function] = (struct perl_range){ at - 16, at + 64 };
}

/* {main} calls Shop::sell, which sorts with Shop::price. */
static void make(int layout)
{
	memset(w, 0, sizeof(*w));
	w->perl.layout = *perl_layout_known(versions[layout / 2]);
	w->perl.base = (struct runtime){ .kind = RUNTIME_PERL,
					 .text = (uintptr_t)w->text,
					 .text_end = (uintptr_t)(w->text + 4),
					 .evaluator = (uintptr_t)w->text[0],
					 .evaluator_end = (uintptr_t)w->text[1] };
	range(PERL_RUN, RUN);
	range(PERL_CALL, CALL);
	range(PERL_OPERATION, PP_EVAL);
	if (layout % 2) {
		w->perl.stack = (uintptr_t)&w->stack;
		w->perl.statement = (uintptr_t)&w->statement;
		w->perl.compiling = (uintptr_t)w->statements[COMPILING];
		w->perl.operation = (uintptr_t)&w->operation;
		w->perl.variables = (uintptr_t)&w->variables;
	} else {
		w->perl.key = (uintptr_t)&w->key;
		w->perl.first = (uintptr_t)&w->first;
		w->first = (uintptr_t)w->own;
		w->key = (uint32_t)key;
		ck_assert_int_eq(pthread_setspecific(key, w->own), 0);
	}
	strcpy(w->file, "/srv/shop.pl");
	value(w->file_glob, 9, w->file_fields);
	put(w->file_fields, 32, name("_</srv/shop.pl", 0));
	make_package("Shop");
	make_sub(SELL, "sell");
	make_sub(PRICE, "price");
	for (int i = 0; i < COMPILING; i++)
		make_statement(i, 10u * (unsigned)i + 1);
	context(0, 0, 8, -1, MAIN_LINE, true); /* a loop */
	context(0, 1, TYPE_SUB, SELL, MAIN_LINE, false);
	context(0, 2, TYPE_EVAL | BLOCK, -1, SELL_LINE, false);
	context(1, 0, TYPE_SUB | CALLED, PRICE, SELL_LINE, true);
	make_stack(0, 2);
	make_stack(1, 0);
	set_stack((uintptr_t)w->stacks[1]);
	set_statement((uintptr_t)w->statements[PRICE_LINE]);
	native(EVALUATOR(0));
	native(OTHER);
	native(OTHER);
	native(OTHER);
	native(EVALUATOR(8));
	native(RUN);
	native(ELSEWHERE);
	w->native.pcs = w->pcs;
	w->native.sps = w->sps;
	w->native.fps = w->fps;
	w->native.is_exact = true;
}

static size_t walk(void)
{
	return perl_walk(&w->perl, &w->work, &w->native, w->out, 64);
}

static void check(size_t i, const char *text, uint32_t line)
{
	check_frame(w->out[i], JFR_FRAME_PERL, text, "/srv/shop.pl", line);
}

static void check_anchor(size_t i, size_t at)
{
	ck_assert_uint_eq(w->out[i], w->sps[at] | RUNTIME_ANCHOR);
}

START_TEST(every_frame)
{
	make(_i);
	ck_assert_uint_eq(walk(), 5);
	check(0, "Shop::price", 21);
	check_anchor(1, 0);
	check(2, "Shop::sell", 11);
	check(3, "{main}", 1);
	check_anchor(4, 4);
}
END_TEST

START_TEST(no_layout)
{
	ck_assert_ptr_null(perl_layout_known(31));
	ck_assert_ptr_null(perl_layout_known(39));
	ck_assert_ptr_null(perl_layout_known(44));
}
END_TEST

START_TEST(nothing_runs)
{
	make(_i);
	set_stack(0);
	set_statement(0);
	ck_assert_uint_eq(walk(), 0);
	/* A thread without an interpreter, and one before any interpreter exists. */
	make(0);
	pthread_setspecific(key, NULL);
	ck_assert_uint_eq(walk(), 0);
	make(0);
	w->first = 0;
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

/* The block of a sort is called from C, and has no name. */
START_TEST(block_that_sorts)
{
	make(_i);
	context(1, 0, TYPE_NONE, -1, SELL_LINE, true);
	set_statement((uintptr_t)w->statements[BLOCK_LINE]);
	ck_assert_uint_eq(walk(), 5);
	check(0, "{block}", 31);
	check_anchor(1, 0);
	check(2, "Shop::sell", 11);
	check(3, "{main}", 1);
	check_anchor(4, 4);
	/* The sub that it calls last has no return address either. */
	context(1, 1, TYPE_SUB, PRICE, BLOCK_LINE, true);
	make_stack(1, 1);
	set_statement((uintptr_t)w->statements[PRICE_LINE]);
	ck_assert_uint_eq(walk(), 6);
	check(0, "Shop::price", 21);
	check(1, "{block}", 31);
	check_anchor(2, 0);
	check_anchor(5, 4);
	make_stack(1, 0);
	set_statement((uintptr_t)w->statements[BLOCK_LINE]);
	context(1, 0, TYPE_SUB | CALLED | IN_PATTERN, SELL, SELL_LINE, true);
	ck_assert_uint_eq(walk(), 5);
	check(0, "{block}", 31);
}
END_TEST

START_TEST(evals)
{
	make(_i);
	context(0, 2, TYPE_EVAL, -1, SELL_LINE, false);
	put4(w->statements[SELL_LINE], 36, 12);
	make_statement(BLOCK_LINE, 31);
	context(1, 0, TYPE_SUB | CALLED, PRICE, BLOCK_LINE, true);
	ck_assert_uint_eq(walk(), 6);
	check(2, "(eval)", 31);
	check(3, "Shop::sell", 12);
	put(w->contexts[0][2], 64, 0x1000);
	walk();
	check(2, "(require)", 31);
}
END_TEST

/* No code of a program runs during its compilation. */
START_TEST(compiling)
{
	make(_i);
	memcpy(w->own + 1720, w->statements[MAIN_LINE], 88);
	memcpy(w->statements[COMPILING], w->statements[MAIN_LINE], 88);
	put4(w->own + 1720, 32, 0);
	put4(w->statements[COMPILING], 32, 0);
	put(w->contexts[0][1], 16,
	    w->perl.key ? (uintptr_t)w->own + 1720 : (uintptr_t)w->statements[COMPILING]);
	ck_assert_uint_eq(walk(), 3);
	check(2, "Shop::sell", 11);
}
END_TEST

/* A module that creates constants while it is loaded: the compiled statement has no position. */
START_TEST(compiled_by_c)
{
	uintptr_t stand_in;

	make(_i);
	stand_in = w->perl.key ? (uintptr_t)w->own + 1720 : (uintptr_t)w->statements[COMPILING];
	memcpy((void *)stand_in, w->statements[MAIN_LINE], 88);
	put4((void *)stand_in, 36, UINT32_MAX);
	set_stack((uintptr_t)w->stacks[0]);
	set_statement(stand_in);
	put(w->sub_fields[SELL], 40, (uintptr_t)w->statements[SELL_LINE]);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 11);
	/* It has no first operation. */
	put(w->sub_fields[SELL], 40, (uintptr_t)w->names);
	ck_assert_uint_eq(walk(), 2);
	/* An eval has no line either. */
	context(0, 2, TYPE_EVAL, -1, SELL_LINE, false);
	ck_assert_uint_eq(walk(), 4);
	check(0, "(eval)", 0);
}
END_TEST

/* The name of its file is freed first. */
START_TEST(eval_is_being_freed)
{
	make(_i);
	context(0, 2, TYPE_EVAL, -1, SELL_LINE, false);
	context(1, 0, TYPE_SUB | CALLED, PRICE, BLOCK_LINE, true);
	ck_assert_uint_eq(walk(), 6);
	w->file[4] = (char)0x80;
	ck_assert_uint_eq(walk(), w->perl.key ? 5 : 6);
}
END_TEST

/* A thread's first sub is called from C, and so is the code that runs at the end. */
START_TEST(without_a_program)
{
	make(_i);
	w->pcs[5] = CALL;
	context(0, 1, TYPE_SUB, SELL, MAIN_LINE, true);
	ck_assert_uint_eq(walk(), 4);
	check_anchor(1, 0);
	check(2, "Shop::sell", 11);
	check_anchor(3, 4);
}
END_TEST

START_TEST(names)
{
	make(_i);
	/* It has a name instead of a glob. */
	put4(w->sub_fields[PRICE], 92, 0x8000);
	put(w->sub_fields[PRICE], 56, name("n\xe4", 0));
	put(w->sub_fields[PRICE], 32, (uintptr_t)w->package);
	walk();
	check(0, "Shop::n\xc3\xa4", 21);
	put(w->sub_fields[PRICE], 56, name("n\xc3\xa4", 1));
	walk();
	check(0, "Shop::n\xc3\xa4", 21);
	put(w->sub_fields[PRICE], 32, 0);
	walk();
	check(0, "n\xc3\xa4", 21);
}
END_TEST

START_TEST(several_names)
{
	uint8_t *rest;
	uintptr_t first;

	make(_i);
	rest = w->perl.layout.hash_rest ? w->package_fields + w->perl.layout.hash_rest
					: w->package_array + 64;
	memcpy(&first, rest, sizeof(first));
	put(w->package_array, 0, first);
	put(rest, 0, (uintptr_t)w->package_array);
	put4(rest, 28, 2);
	walk();
	check(0, "Shop::price", 21);
}
END_TEST

/* ---- Positions ---- */

START_TEST(eval_in_an_evaluator_of_its_own)
{
	make(_i);
	/* Within a call from C without a name: Perl_pp_entertry calls it, or jumps there. */
	w->native.count = 0;
	native(EVALUATOR(0));
	native(OTHER);
	native(PP_EVAL);
	native(EVALUATOR(4));
	native(OTHER);
	native(OTHER);
	native(OTHER);
	native(EVALUATOR(8));
	native(RUN);
	ck_assert_uint_eq(walk(), 5);
	check_anchor(1, 3);
	check_anchor(4, 7);
	/* And if it is farther out. */
	w->native.count = 0;
	native(EVALUATOR(0));
	native(OTHER);
	native(OTHER);
	native(OTHER);
	native(EVALUATOR(4));
	native(OTHER);
	native(EVALUATOR(8));
	native(RUN);
	ck_assert_uint_eq(walk(), 5);
	check_anchor(1, 0);
	check_anchor(4, 6);
	/* A call from C is different. */
	w->native.count = 0;
	native(EVALUATOR(0));
	native(OTHER);
	native(PP_EVAL);
	native(EVALUATOR(4));
	native(OTHER);
	native(OTHER);
	native(OTHER);
	native(EVALUATOR(8));
	native(RUN);
	w->pcs[1] = CALL;
	w->pcs[2] = OTHER;
	walk();
	check_anchor(1, 3);
	check_anchor(4, 7);
	w->native.count = 0;
	native(EVALUATOR(0));
	native(OTHER);
	native(EVALUATOR(4));
	native(CALL);
	native(EVALUATOR(8));
	native(RUN);
	walk();
	check_anchor(1, 2);
	check_anchor(4, 4);
}
END_TEST

START_TEST(operations_without_names)
{
	make(_i);
	ck_assert_uint_eq(walk(), 5);
	ck_assert_uint_eq(w->pcs[3], OTHER);
	w->perl.functions[PERL_OPERATION].start = 0;
	ck_assert_uint_eq(walk(), 5);
	ck_assert_uint_eq(w->pcs[3], 0);
	ck_assert_uint_eq(w->pcs[2], OTHER);
}
END_TEST

START_TEST(about_to_call)
{
	make(_i);
	w->pcs[0] = CALL;
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 11);
	check_anchor(2, 4);
}
END_TEST

/* A sub that has not reached its first statement. */
START_TEST(just_called)
{
	make(_i);
	set_stack((uintptr_t)w->stacks[0]);
	set_statement((uintptr_t)w->statements[MAIN_LINE]);
	ck_assert_uint_eq(walk(), 2);
	check(0, "{main}", 1);
	check_anchor(1, 4);
	/* A recursive sub may be in the same statement. */
	make_stack(0, 4);
	context(0, 3, TYPE_SUB, SELL, SELL_LINE, false);
	context(0, 4, TYPE_SUB, SELL, SELL_LINE, false);
	set_statement((uintptr_t)w->statements[SELL_LINE]);
	ck_assert_uint_eq(walk(), 5);
	for (size_t i = 0; i < 3; i++)
		check(i, "Shop::sell", 11);
}
END_TEST

/* While goto replaces a sub, the context may already belong to the new sub, but the statement does not. */
START_TEST(leaves_for_another)
{
	uint8_t operation[40] = { 0 };

	make(_i);
	set_stack((uintptr_t)w->stacks[0]);
	set_statement((uintptr_t)w->statements[PRICE_LINE]);
	put4(operation, 32, (uint32_t)w->perl.layout.statement + 15);
	if (w->perl.key)
		put(w->own, 8, (uintptr_t)operation);
	else
		w->operation = (uintptr_t)operation;
	ck_assert_uint_eq(walk(), 2);
	check(0, "{main}", 1);
	check_anchor(1, 4);
	put4(operation, 32, (uint32_t)w->perl.layout.statement + 16);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 21);
	/* The same is true for an eval that has ended. */
	context(0, 2, TYPE_EVAL, -1, SELL_LINE, false);
	ck_assert_uint_eq(walk(), 4);
	put4(operation, 32, (uint32_t)w->perl.layout.statement + 151);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 11);
}
END_TEST

/* The context of a call under construction holds old data, but the current variables do not belong to that sub. */
START_TEST(context_is_being_made)
{
	static uintptr_t lists[3], array[3];
	uint8_t variables[24] = { 0 };

	make(_i);
	set_stack((uintptr_t)w->stacks[0]);
	set_statement((uintptr_t)w->statements[PRICE_LINE]);
	lists[1] = (uintptr_t)array;
	array[2] = (uintptr_t)variables;
	put(variables, 16, 0x4440);
	put(w->sub_fields[SELL], 72, (uintptr_t)lists);
	put4(w->sub_fields[SELL], 96, 2);
	put(w->own, 16, 0x4440);
	w->variables = 0x4440;
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 21);
	put(w->own, 16, 0x8880);
	w->variables = 0x8880;
	ck_assert_uint_eq(walk(), 2);
	check(0, "{main}", 1);
	check_anchor(1, 4);
	put(w->sub_fields[SELL], 72, 8);
	ck_assert_uint_eq(walk(), 2);
}
END_TEST

/* A sub's context is removed one instruction before its statement is, and by `die` much earlier. */
START_TEST(statement_of_another)
{
	make(_i);
	set_stack((uintptr_t)w->stacks[0]);
	set_statement((uintptr_t)w->statements[PRICE_LINE]);
	make_whole(SELL_LINE, SELL, w->perl.layout.statement - 10u);
	make_whole(PRICE_LINE, PRICE, w->perl.layout.statement - 9u);
	ck_assert_uint_eq(walk(), 2);
	check(0, "{main}", 1);
	set_statement((uintptr_t)w->statements[SELL_LINE]);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 11);
	make_whole(PRICE_LINE, PRICE, w->perl.layout.statement + 151u);
	set_statement((uintptr_t)w->statements[PRICE_LINE]);
	ck_assert_uint_eq(walk(), 2);
	/* An incomplete tree may be part of any sub. */
	make_whole(PRICE_LINE, PRICE, w->perl.layout.statement - 8u);
	set_statement((uintptr_t)w->statements[PRICE_LINE]);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 21);
	/* A tree without an end. */
	put(w->wholes[PRICE], 8, (uintptr_t)w->wholes[PRICE]);
	ck_assert_uint_eq(walk(), 3);
	/* Neither an eval nor the program has statements of a sub. */
	put(w->wholes[PRICE], 8, 0);
	make_whole(PRICE_LINE, PRICE, w->perl.layout.statement - 10u);
	context(0, 1, TYPE_EVAL, -1, MAIN_LINE, false);
	ck_assert_uint_eq(walk(), 2);
	check(0, "{main}", 1);
	make_stack(0, 0);
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

/* The innermost context is under construction, and its statement belongs to an earlier context. */
START_TEST(caller_of_before)
{
	make(_i);
	set_stack((uintptr_t)w->stacks[0]);
	set_statement((uintptr_t)w->statements[SELL_LINE]);
	make_whole(SELL_LINE, SELL, w->perl.layout.statement - 10u);
	make_whole(BLOCK_LINE, ANONYMOUS, w->perl.layout.statement - 10u);
	make_stack(0, 3);
	context(0, 3, TYPE_SUB, PRICE, BLOCK_LINE, false);
	put(w->sub_fields[PRICE], 48, (uintptr_t)w->wholes[PRICE]);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 11);
	check(1, "{main}", 1);
	/* The same for the block of a sort. */
	context(0, 3, TYPE_NONE, -1, BLOCK_LINE, true);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 11);
	/* The program has not called it there either. */
	context(0, 1, TYPE_NONE, -1, BLOCK_LINE, true);
	make_stack(0, 1);
	ck_assert_uint_eq(walk(), 2);
}
END_TEST

START_TEST(about_to_return)
{
	make(_i);
	set_stack((uintptr_t)w->stacks[0]);
	set_statement((uintptr_t)w->statements[SELL_LINE]);
	ck_assert_uint_eq(walk(), 3);
	check(0, "Shop::sell", 11);
	check_anchor(2, 4);
}
END_TEST

/* ---- Invalid structures ---- */

START_TEST(another_at_the_same_place)
{
	make(_i);
	walk();
	make_sub(SELL, "drop");
	walk();
	check(2, "Shop::drop", 11);
}
END_TEST

START_TEST(torn)
{
	make(_i);
	put4(w->subs[SELL], 12, 0xff); /* freed */
	ck_assert_uint_eq(walk(), 4);
	put(w->contexts[0][1], 72, 0x1010);
	ck_assert_uint_eq(walk(), 4);
	/* A former statement. */
	put4(w->statements[PRICE_LINE], 32, 7);
	ck_assert_uint_eq(walk(), 3);
	check_anchor(0, 0);
	put4(w->stacks[0], 32, 9);
	walk();
	put(w->stacks[1], 16, 0x10);
	walk();
}
END_TEST

START_TEST(without_an_end)
{
	make(_i);
	put(w->stacks[0], 16, (uintptr_t)w->stacks[1]);
	ck_assert_uint_gt(walk(), 4);
	ck_assert_uint_le(perl_walk(&w->perl, &w->work, &w->native, w->out, 1), 1);
	ck_assert_uint_eq(perl_walk(&w->perl, &w->work, &w->native, w->out, 0), 0);
}
END_TEST

/* Replace words of all structures in turn: by an address of these structures, an invalid one, a
 * small number, or any value. Each result must be a frame, with any name. */
START_TEST(at_random)
{
	uint8_t *from = w->own, *stacks = (uint8_t *)w->stacks, *to = (uint8_t *)&w->name_count;

	for (int round = 0; round < 6000; round++) {
		if (round % 8 == 0)
			make(_i);
		for (int i = 0; i < 4; i++) {
			uint64_t r = random_next();
			uint8_t *at = from + r % (uint64_t)(to - from - 8);

			if (r % 4)
				at = stacks + r % (uint64_t)(to - stacks - 8);
			put(at, 0, random_word(from, (size_t)(to - from)));
		}
		w->key = (uint32_t)key;
		check_known(w->out, walk());
	}
}
END_TEST

static void setup(void)
{
	ck_assert_int_eq(pthread_key_create(&key, NULL), 0);
	w = made_frames_begin(sizeof(*w));
}

static void teardown(void)
{
	pthread_key_delete(key);
	munmap(w, sizeof(*w));
}

int main(void)
{
	TCase *tcase = tcase_create("perl");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, every_frame, 0, LAYOUTS);
	tcase_add_test(tcase, no_layout);
	tcase_add_loop_test(tcase, nothing_runs, 0, 2);
	tcase_add_loop_test(tcase, block_that_sorts, 0, 2);
	tcase_add_loop_test(tcase, evals, 0, 2);
	tcase_add_loop_test(tcase, compiling, 0, 2);
	tcase_add_loop_test(tcase, without_a_program, 0, 2);
	tcase_add_loop_test(tcase, names, 0, LAYOUTS);
	tcase_add_loop_test(tcase, several_names, 0, LAYOUTS);
	tcase_add_loop_test(tcase, eval_in_an_evaluator_of_its_own, 0, 2);
	tcase_add_loop_test(tcase, operations_without_names, 0, 2);
	tcase_add_loop_test(tcase, about_to_call, 0, 2);
	tcase_add_loop_test(tcase, just_called, 0, 2);
	tcase_add_loop_test(tcase, leaves_for_another, 0, LAYOUTS);
	tcase_add_loop_test(tcase, context_is_being_made, 0, LAYOUTS);
	tcase_add_loop_test(tcase, statement_of_another, 0, LAYOUTS);
	tcase_add_loop_test(tcase, caller_of_before, 0, LAYOUTS);
	tcase_add_loop_test(tcase, compiled_by_c, 0, LAYOUTS);
	tcase_add_loop_test(tcase, eval_is_being_freed, 0, LAYOUTS);
	tcase_add_loop_test(tcase, about_to_return, 0, 2);
	tcase_add_loop_test(tcase, another_at_the_same_place, 0, LAYOUTS);
	tcase_add_loop_test(tcase, torn, 0, LAYOUTS);
	tcase_add_loop_test(tcase, without_an_end, 0, 2);
	tcase_add_loop_test(tcase, at_random, 0, LAYOUTS);
	return suite_run(tcase);
}
