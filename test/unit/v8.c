/* engine/runtime/v8/v8_*.c: JavaScript functions in frames of V8, valid, torn and random. */
#include "engine/runtime/v8/v8.h"

#include <string.h>
#include <sys/mman.h>

#include "test/fixtures/made_frames.h"
#include "test/fixtures/suite.h"

/* Instance types: of a string with one byte per character, and arbitrary others. */
enum {
	STRING = 8 | 32,
	WIDE = 32,
	PAIR = 1 | 32,
	FUNCTION = 300,
	CONTEXT,
	SHARED,
	SCRIPT,
	SCOPE,
	BYTECODE,
	CODE,
	STREAM,
	FIXED,
	BYTES,
	TYPES
};

static const struct v8_layout layout = {
	.version = 0x0c04,
	.first_function = FUNCTION,
	.last_function = FUNCTION,
	.first_context = CONTEXT,
	.last_context = CONTEXT,
	.shared_info = SHARED,
	.script = SCRIPT,
	.scope_info = SCOPE,
	.bytecode_array = BYTECODE,
	.code = CODE,
	.instruction_stream = STREAM,
	.fixed_array = FIXED,
	.byte_array = BYTES,
	.map_instance_type = 12,
	.function_shared = 32,
	.shared_name = 16,
	.shared_script = 32,
	.script_source = 8,
	.script_name = 16,
	.script_line_offset = 24,
	.script_line_ends = 56,
	.script_id = 64,
	.bytecode_positions = 24,
	.bytecode_data = 64,
	.code_deopt = 8,
	.code_positions = 16,
	.code_start = 40,
	.code_flags = 48,
	.code_size = 52,
	.stream_bytes = 32,
	.stream_code = 8,
	.kind_baseline = 10,
	.kind_mask = 15,
	.deopt_literals = 2,
	.deopt_positions = 7,
};

#define HEAP_WORDS  8192
#define STACK_WORDS 64
#define TEXT        0x7000u /* of V8's module */

static struct {
	_Alignas(64) uint64_t heap[HEAP_WORDS];
	uint64_t stack[STACK_WORDS];
	size_t used;
	uintptr_t maps[TYPES];
	struct v8 v8;
	struct v8_work work;
	struct memory_reader reader;
	struct memory_block block;
	uintptr_t pcs[8], sps[8], fps[8], out[64];
	size_t count;
} * w;

#define SOURCE "function inner() {\n\treturn 1;\n}\n\nfunction outer() {\n\tinner();\n}\n"

/* Position of the call of `inner`, from 1 on. */
#define CALL ((uint32_t)sizeof("function inner() {\n\treturn 1;\n}\n\nfunction outer() {\n\t"))

/* ---- Objects ---- */

static uint64_t *object(unsigned type, size_t words)
{
	uint64_t *at = w->heap + w->used;

	w->used += (words + 7) / 8 * 8;
	ck_assert_uint_le(w->used, HEAP_WORDS);
	at[0] = type < TYPES ? w->maps[type] : 0;
	return at;
}

static uintptr_t tagged(const void *at)
{
	return (uintptr_t)at + 1;
}

static uint64_t small(int64_t value)
{
	return (uint64_t)value << 32;
}

static uintptr_t string(const char *text)
{
	uint64_t *at = object(STRING, 2 + strlen(text) / 8 + 1);

	at[1] = (uint64_t)strlen(text) << 32;
	memcpy(at + 2, text, strlen(text));
	return tagged(at);
}

/* With FIXED words or BYTES. */
static uint64_t *array(unsigned type, const void *data, size_t bytes)
{
	uint64_t *at = object(type, 2 + (bytes + 7) / 8);

	at[1] = small((int64_t)(type == FIXED ? bytes / 8 : bytes));
	memcpy(at + 2, data, bytes);
	return at;
}

static uint64_t *script(uintptr_t source)
{
	uint64_t *at = object(SCRIPT, 10);

	at[1] = source;
	at[2] = string("file:///app/a.mjs");
	at[8] = small(7);
	return at;
}

/* Flags: it has a name and does not use it. */
static uint64_t *shared(const char *name, const uint64_t *in, int start, int end)
{
	uint64_t *scope = object(SCOPE, 8), *at = object(SHARED, 8);

	scope[1] = small(3 << 12);
	scope[4] = string(name);
	scope[6] = small(start);
	scope[7] = small(end);
	at[2] = tagged(scope);
	at[4] = tagged(in);
	return at;
}

/* Small numbers of seven bits, with the sign in the lowest bit. */
static uint8_t vlq(int value)
{
	return (uint8_t)(value < 0 ? -value * 2 + 1 : value * 2);
}

static void make(void)
{
	memset(w, 0, sizeof(*w));
	for (unsigned type = 0; type < TYPES; type++) {
		uint64_t *map = object(TYPES, 2);

		map[0] = tagged(map);
		map[1] = (uint64_t)type << 32;
		w->maps[type] = tagged(map);
	}
	w->v8 = (struct v8){ .base = { .kind = RUNTIME_V8, .text = TEXT, .text_end = TEXT + 0x100 },
			     .layout = layout };
	memory_block_init(&w->block);
	w->reader = (struct memory_reader){ .low = (uintptr_t)w->stack,
					    .high = (uintptr_t)(w->stack + STACK_WORDS),
					    .block = &w->block };
}

/* ---- Frames ---- */

/* A frame whose frame pointer is at word FP of the stack, with WORDS below it. */
static void frame(uintptr_t pc, size_t fp, size_t words)
{
	w->pcs[w->count] = pc;
	w->fps[w->count] = (uintptr_t)(w->stack + fp);
	w->sps[w->count++] = (uintptr_t)(w->stack + fp - words);
}

static void function_at(size_t fp, const uint64_t *info)
{
	uint64_t *function = object(FUNCTION, 8);

	function[4] = tagged(info);
	w->stack[fp - 1] = tagged(object(CONTEXT, 2));
	w->stack[fp - 2] = tagged(function);
}

static size_t walk(void)
{
	struct native_frames native = {
		.pcs = w->pcs, .sps = w->sps, .fps = w->fps, .count = w->count, .is_exact = true
	};
	bool truncated = false;

	return v8_walk(&w->v8, &w->work, &w->reader, &native, w->out, 64, &truncated);
}

static void check(size_t i, const char *name, uint32_t line)
{
	check_frame(w->out[i], JFR_FRAME_JAVASCRIPT, name, *name == '[' ? "" : "/app/a.mjs", line);
}

/* The interpreter runs `outer` at the call of `inner`, and was interrupted in one of its handlers. */
static uint64_t *interpreted(void)
{
	uint64_t *in = script(string(SOURCE)), *bytecode = object(BYTECODE, 16);
	uint8_t table[4] = { vlq(4), 0, 0, 0 };
	uint32_t position = CALL * 2;

	/* The difference of the position takes two bytes. */
	table[1] = (uint8_t)(0x80 | (position * 2 & 0x7f));
	table[2] = (uint8_t)(position * 2 >> 7);
	bytecode[1] = small(20);
	bytecode[3] = tagged(array(BYTES, table, 3));
	function_at(40, shared("outer", in, 46, 60));
	w->stack[36] = tagged(bytecode);
	w->stack[35] = small(64 - 1 + 5);
	frame(TEXT + 1, 40, 8);
	frame(TEXT + 2, 40, 6);
	frame(0x123456, 50, 2);
	w->fps[2] = 0;
	return in;
}

START_TEST(interpreter)
{
	make();
	interpreted();
	ck_assert_uint_eq(walk(), 3);
	/* It has a name and keeps it. */
	ck_assert_uint_eq(w->out[0], TEXT + 1);
	check(1, "outer", 6);
	ck_assert_uint_eq(w->out[2], 0x123456);
}
END_TEST

START_TEST(begins)
{
	make();
	interpreted();
	w->stack[35] = 1; /* position not known */
	ck_assert_uint_eq(walk(), 3);
	check(1, "outer", 5);
}
END_TEST

START_TEST(stub)
{
	make();
	interpreted();
	w->pcs[0] = 0x7f0000000000;
	frame(0x7f0000000100, 60, 2);
	w->stack[59] = 4; /* a kind of frame */
	ck_assert_uint_eq(walk(), 4);
	check(0, V8_STUB_NAME, 0);
	check(3, V8_STUB_NAME, 0);
}
END_TEST

/* A frame under construction holds old data. */
START_TEST(torn)
{
	make();
	interpreted();
	w->count = 2;
	w->sps[1] = w->fps[1] - 8;
	w->sps[0] = w->sps[1] - 8;
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

START_TEST(no_function)
{
	make();
	interpreted();
	w->stack[38] = tagged(object(SCOPE, 8));
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

START_TEST(no_context)
{
	make();
	interpreted();
	w->stack[39] = tagged(object(SCOPE, 8));
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

/* An object that the collector moved holds its new address. */
START_TEST(moved)
{
	uint64_t *from, *to;

	make();
	interpreted();
	from = (uint64_t *)(w->stack[38] - 1);
	to = object(FUNCTION, 8);
	memcpy(to, from, 64);
	from[0] = (uintptr_t)to;
	from[4] = 0;
	ck_assert_uint_eq(walk(), 3);
	check(1, "outer", 6);
}
END_TEST

/* A value below the end of a complete frame that looks like a return address is ignored. */
START_TEST(inside)
{
	make();
	interpreted();
	w->pcs[2] = w->pcs[1];
	w->fps[2] = w->fps[1];
	w->sps[2] = w->sps[1];
	w->pcs[1] = TEXT + 9;
	w->fps[1] = 0;
	w->fps[0] = w->fps[2];
	w->sps[0] = w->fps[0] - 7 * 8;
	w->sps[1] = w->fps[0] - 6 * 8;
	ck_assert_uint_eq(walk(), 1);
	check(0, "outer", 6);
}
END_TEST

/* Append an entry to TABLE, of BYTES: DELTA bytes of code after the one before, and DIFFERENCE from its position. */
static void entry(uint8_t *table, size_t *bytes, int delta, uint64_t difference)
{
	uint64_t left = difference * 2;

	table[(*bytes)++] = vlq(delta);
	do {
		table[(*bytes)++] = (uint8_t)((left & 0x7f) | (left >> 7 ? 0x80 : 0));
		left >>= 7;
	} while (left);
}

/* In the second line, of the first inlined function. */
#define IN_INNER ((uint64_t)21 << 1 | (uint64_t)1 << 31)

/* Code of `outer` with `inner` inlined, and its TABLE of positions. Returns its instructions. */
static uint8_t *optimized(const uint8_t *table, size_t bytes)
{
	uint64_t *in = script(string(SOURCE)), *infos[2], *stream, *code;
	uint64_t literals[1], deopts[8] = { 0 };
	struct {
		uint64_t position;
		int64_t function;
	} inlining = { (uint64_t)CALL << 1, 0 };

	infos[0] = shared("inner", in, 14, 31);
	infos[1] = shared("outer", in, 46, 60);
	function_at(40, infos[1]);
	literals[0] = tagged(infos[0]) | 2;
	deopts[2] = tagged(array(FIXED, literals, sizeof(literals)));
	deopts[7] = tagged(array(BYTES, &inlining, sizeof(inlining)));
	code = object(CODE, 16);
	code[1] = tagged(array(FIXED, deopts, sizeof(deopts)));
	code[2] = tagged(array(BYTES, table, bytes));
	/* Instructions start at a multiple of 64. */
	w->used = (w->used + 7) / 8 * 8 + 4;
	stream = w->heap + w->used;
	w->used += 60;
	stream[0] = w->maps[STREAM];
	stream[1] = tagged(code);
	code[5] = (uintptr_t)(stream + 4);
	code[6] = 12 | (uint64_t)200 << 32;
	return (uint8_t *)(stream + 4);
}

START_TEST(inlined)
{
	uint8_t table[16];
	size_t bytes = 0;

	make();
	entry(table, &bytes, 5, IN_INNER);
	frame(0x123456, 30, 2);
	w->fps[0] = 0;
	frame((uintptr_t)optimized(table, bytes) + 130, 40, 6);
	ck_assert_uint_eq(walk(), 3);
	check(1, "inner", 2);
	check(2, "outer", 6);
}
END_TEST

/* A call of eight bytes. */
static const uint8_t call[8] =
#if defined(__x86_64__)
	"\x90\x90\x90\xe8";
#else
	"\x1f\x20\x03\xd5\x00\x00\x00\x94";
#endif

/* The interrupted instruction has a position if some entry is not a call. */
START_TEST(instructions)
{
	uint8_t table[16], *code;
	size_t bytes = 0;

	make();
	entry(table, &bytes, 5, IN_INNER);
	entry(table, &bytes, 8, 0);
	code = optimized(table, bytes);
	frame((uintptr_t)code + 130, 40, 6);
	ck_assert_uint_eq(walk(), 2);
	check(0, "inner", 2);
	check(1, "outer", 6);
	w->pcs[0] = (uintptr_t)code + 3;
	ck_assert_uint_eq(walk(), 1);
	check(0, "outer", 5);

	memcpy(code + 4, call, sizeof(call));
	w->pcs[0] = (uintptr_t)code + 130;
	ck_assert_uint_eq(walk(), 1);
	check(0, "outer", 5);
}
END_TEST

/* ---- Lines ---- */

static uint32_t line_of(const char *text, int position)
{
	make();
	return v8_line(&w->v8, &w->work, (uintptr_t)script(string(text)), position);
}

START_TEST(line_ends)
{
	static const char filler[] = "0123456789abcde\n";
	static char text[20001 * 2];

	ck_assert_uint_eq(line_of("a\nb\nc", 0), 1);
	ck_assert_uint_eq(line_of("a\nb\nc", 1), 1);
	ck_assert_uint_eq(line_of("a\nb\nc", 2), 2);
	ck_assert_uint_eq(line_of("a\r\nb\rc\n\n", 3), 2);
	ck_assert_uint_eq(line_of("a\r\nb\rc\n\n", 5), 3);
	ck_assert_uint_eq(line_of("a\r\nb\rc\n\n", 7), 4);
	ck_assert_uint_eq(line_of("a", 2), 0);
	ck_assert_uint_eq(line_of("a", -1), 0);
	/* Across two stored counts. */
	for (size_t i = 0; i < 40000; i++)
		text[i] = filler[i % 16];
	for (int position = 39990; position > 0; position -= 777)
		ck_assert_uint_eq(line_of(text, position), (unsigned)position / 16 + 1);
}
END_TEST

START_TEST(line_table)
{
	uint64_t ends[] = { small(3), small(10), small(20) }, *in;

	make();
	in = script(string("anything"));
	in[7] = tagged(array(FIXED, ends, sizeof(ends)));
	in[3] = small(100);
	ck_assert_uint_eq(v8_line(&w->v8, &w->work, (uintptr_t)in, 3), 101);
	ck_assert_uint_eq(v8_line(&w->v8, &w->work, (uintptr_t)in, 4), 102);
	ck_assert_uint_eq(v8_line(&w->v8, &w->work, (uintptr_t)in, 20), 103);
}
END_TEST

START_TEST(strings)
{
	char text[16];
	uint64_t *pair, *wide;

	make();
	pair = object(PAIR, 4);
	pair[1] = 7ull << 32;
	pair[2] = string("abc");
	pair[3] = string("defg");
	v8_string(&w->v8, &w->work, tagged(pair), text, sizeof(text));
	ck_assert_str_eq(text, "abcdefg");
	v8_string(&w->v8, &w->work, tagged(pair), text, 8);
	ck_assert_str_eq(text, "abcde");
	wide = object(WIDE, 3);
	wide[1] = 3ull << 32;
	wide[2] = 0x20ac00e90041;
	memory_copies_begin(&w->work.copies, 0); /* cached until then */
	v8_string(&w->v8, &w->work, tagged(wide), text, sizeof(text));
	ck_assert_str_eq(text, "A\xc3\xa9\xe2\x82\xac");
	/* A pair that contains itself. */
	pair[2] = pair[3] = tagged(pair);
	memory_copies_begin(&w->work.copies, 0);
	v8_string(&w->v8, &w->work, tagged(pair), text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

/* ---- At random ---- */

START_TEST(at_random)
{
	struct script_frame got;

	for (int round = 0; round < 5000; round++) {
		if (round % 16 == 0) {
			make();
			interpreted();
		}
		for (int i = 0; i < 6; i++) {
			uint64_t r = random_next();
			uint64_t *at = r & 1 ? w->heap + (r >> 1) % w->used
					     : w->stack + (r >> 1) % STACK_WORDS;

			*at = r & 2 ? small((int64_t)(r >> 52))
				    : random_word(w->heap, sizeof(w->heap));
		}
		for (size_t i = 0, count = walk(); i < count; i++)
			ck_assert(w->out[i] < 0x200000 || frame_table_find(w->out[i], &got));
	}
}
END_TEST

static void setup(void)
{
	ck_assert_int_eq(v8_open(), 0);
	w = made_frames_begin(sizeof(*w));
}

static void teardown(void)
{
	munmap(w, sizeof(*w));
}

int main(void)
{
	TCase *tcase = tcase_create("v8");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, interpreter);
	tcase_add_test(tcase, begins);
	tcase_add_test(tcase, stub);
	tcase_add_test(tcase, torn);
	tcase_add_test(tcase, no_function);
	tcase_add_test(tcase, no_context);
	tcase_add_test(tcase, moved);
	tcase_add_test(tcase, inside);
	tcase_add_test(tcase, inlined);
	tcase_add_test(tcase, instructions);
	tcase_add_test(tcase, line_ends);
	tcase_add_test(tcase, line_table);
	tcase_add_test(tcase, strings);
	tcase_add_test(tcase, at_random);
	return suite_run(tcase);
}
