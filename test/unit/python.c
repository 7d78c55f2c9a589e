/* engine/runtime/python/python_*.c: structures of each CPython version, valid, torn and random. */
#include "engine/runtime/python/python.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/fixtures/made_frames.h"
#include "test/fixtures/suite.h"

/* ---- Layouts ---- */

/* The start of _PyRuntime in 3.13.0, 3.14.10 and 3.15.2, up to the last word that is read. */
static const uint64_t tables[][64] = {
	{ 0,    51183856, 0,   283320, 608, 632,  194968, 7272, 7264, 7344, 7400, 7656,
	  7640, 7648,     16,  7752,   0,   7768, 7760,   304,  0,    8,    16,   72,
	  152,  160,      232, 32,     80,  8,    0,      56,   72,   70,   208,  112,
	  120,  128,      136, 68,     52,  96,   104,    200,  16,   8 },
	{ 0,    51251952, 0,   316616, 784, 808,  225864, 7280, 7272, 7344, 7360, 7408, 7688,
	  7672, 7680,     16,  7784,   0,   7800, 7792,   7992, 0,    832,  0,    8,    16,
	  72,   152,      160, 232,    32,  88,   8,      0,    56,   80,   74,   64,   0,
	  216,  112,      120, 128,    136, 68,   52,     96,   104,  208,  0,    16,   8 },
	{ 0,    51315440, 0,    346568, 912,  936, 226240, 7272, 7264, 7336, 7352, 7400,
	  7592, 7576,     7584, 16,     7736, 0,   7752,   7744, 7944, 0,    888,  0,
	  8,    16,       72,   80,     88,   96,  176,    184,  256,  32,   36,   40,
	  136,  288,      0,    88,     8,    0,   56,     80,   74,   64,   0,    216,
	  112,  120,      128,  136,    68,   52,  96,     104,  208,  0,    16,   8 },
};

#define KNOWN   5 /* 3.8 to 3.12 */
#define LAYOUTS (KNOWN + 3)

static void offsets_of(uint8_t offsets[PYTHON_OFFSETS_BYTES], int table)
{
	memset(offsets, 0, PYTHON_OFFSETS_BYTES);
	memcpy(offsets, tables[table], sizeof(tables[table]));
	memcpy(offsets, "xdebugpy", 8);
}

static struct python_layout layout_of(int i)
{
	uint16_t version = (uint16_t)(0x0308 + i);
	uint8_t offsets[PYTHON_OFFSETS_BYTES];
	struct python_layout layout;

	if (i < KNOWN) {
		ck_assert_ptr_nonnull(python_layout_known(version));
		return *python_layout_known(version);
	}
	offsets_of(offsets, i - KNOWN);
	ck_assert(python_layout_read(&layout, version, offsets));
	return layout;
}

START_TEST(offsets_that_are_told)
{
	const struct python_layout layout = layout_of(KNOWN); /* 3.13: offsetof() results */

	ck_assert_uint_eq(layout.runtime_interpreters, 632);
	ck_assert_uint_eq(layout.interpreter_next, 7264);
	ck_assert_uint_eq(layout.interpreter_threads, 7344);
	ck_assert_uint_eq(layout.thread_next, 8);
	ck_assert_uint_eq(layout.thread_interpreter, 16);
	ck_assert_uint_eq(layout.thread_id, 152);
	ck_assert_uint_eq(layout.thread_frame, 72);
	ck_assert_uint_eq(layout.frame_previous, 8);
	ck_assert_uint_eq(layout.frame_code, 0);
	ck_assert_uint_eq(layout.frame_instruction, 56);
	ck_assert_uint_eq(layout.frame_owner, 70);
	ck_assert_uint_eq(layout.code_file, 112);
	ck_assert_uint_eq(layout.code_name, 120);
	ck_assert_uint_eq(layout.code_qualname, 128);
	ck_assert_uint_eq(layout.code_lines, 136);
	ck_assert_uint_eq(layout.code_first_line, 68);
	ck_assert_uint_eq(layout.code_version, 92);
	ck_assert_uint_eq(layout.code_start, 200);
}
END_TEST

START_TEST(offsets_that_are_refused)
{
	uint8_t offsets[PYTHON_OFFSETS_BYTES];
	struct python_layout layout;
	uint64_t word;

	ck_assert_ptr_null(python_layout_known(0x0307));
	ck_assert_ptr_null(python_layout_known(0x030d));
	offsets_of(offsets, 0);
	ck_assert(!python_layout_read(&layout, 0x030c, offsets));
	ck_assert(!python_layout_read(&layout, 0x030e, offsets)); /* another version's */
	ck_assert(!python_layout_read(&layout, 0x0310, offsets));
	offsets[0] = 'X';
	ck_assert(!python_layout_read(&layout, 0x030d, offsets));
	offsets_of(offsets, 0);
	offsets[16] = 1; /* without a global interpreter lock */
	ck_assert(!python_layout_read(&layout, 0x030d, offsets));
	/* A structure that is read as a whole must contain all its fields. */
	for (size_t i = 5; i < 44; i++) {
		offsets_of(offsets, 0);
		word = UINT64_MAX - i;
		memcpy(offsets + i * sizeof(word), &word, sizeof(word));
		if (python_layout_read(&layout, 0x030d, offsets)) {
			ck_assert_uint_le(layout.thread_id, PYTHON_STATE_BYTES - 8);
			ck_assert_uint_le(layout.frame_bytes, PYTHON_FRAME_BYTES);
			ck_assert_uint_le(layout.code_lines, PYTHON_CODE_BYTES - 8);
		}
	}
}
END_TEST

/* ---- An artificial interpreter of any version ---- */

#define FRAMES 5

static struct {
	struct python python;
	struct python_work work;
	struct memory_reader stack;
	struct memory_block block;

	uint8_t runtime[2048], interpreter[8192], other_thread[256], thread[256];
	uint8_t codes[3][512], frames[FRAMES][128], shims[2][128], c_frames[3][64];
	uint8_t names[3][128], file[128], lines[128];
	uintptr_t out[64];
} * w;

/* A compact string of KIND bytes per character, 0: ASCII. */
static void put_string(uint8_t *at, const void *text, uint64_t length, unsigned kind)
{
	const struct python_layout *l = &w->python.layout;

	memset(at, 0, 128);
	put(at, 16, length);
	put(at, 24, UINT64_MAX); /* its hash, not computed yet */
	put4(at, 32, 1u << 5 | (kind ? kind << 2 : 1u << 2 | 1u << 6));
	memcpy(at + (kind ? l->compact_bytes : l->ascii_bytes), text, length * (kind ? kind : 1));
}

/* Line tables that the compilers of these versions wrote for the function in python_lines, from line 2 on. */
static const uint8_t lines_3_8[] = { 0, 1, 8, 2, 18, 2, 8, 1, 4, 1, 2, 255, 8, 2 };
static const uint8_t lines_3_10[] = { 8, 1, 18, 2, 8, 2, 4, 1, 2, 1, 8, 255, 4, 2 };
static const uint8_t lines_3_11[] = {
	128, 0,  216, 8,   9,  136, 65, 137, 5,   128, 65,  240, 4,   1,   9,   15,  240, 0,
	1,   9,  15,  149, 69, 152, 33, 145, 72,  148, 72,  240, 0,   1,   9,   15,  241, 0,
	1,   9,  15,  244, 0,  1,   9,  15,  128, 65,  224, 13,  14,  240, 0,   2,   5,   17,
	240, 0,  2,   5,   17, 136, 1,  216, 8,   9,   136, 97,  216, 14,  15,  241, 3,   1,
	15,  16, 241, 0,   1,  9,   17, 136, 1,   136, 1,   224, 11,  12,  128, 72
};

static void put_lines(void)
{
	const uint16_t version = w->python.layout.version;
	const uint8_t *table = version >= 0x030b   ? lines_3_11
			       : version == 0x030a ? lines_3_10
						   : lines_3_8;
	size_t size = version >= 0x030b   ? sizeof(lines_3_11)
		      : version == 0x030a ? sizeof(lines_3_10)
					  : sizeof(lines_3_8);

	put(w->lines, 16, size);
	memcpy(w->lines + w->python.layout.bytes_bytes, table, size);
}

/* Code object I of a function NAME. */
static void put_code(int i, const char *name)
{
	const struct python_layout *l = &w->python.layout;

	put_string(w->names[i], name, strlen(name), 0);
	put(w->codes[i], 8, w->python.code_type);
	put(w->codes[i], 16, 46); /* code units, if this field counts them */
	put(w->codes[i], l->code_name, (uintptr_t)w->names[i]);
	put(w->codes[i], l->code_qualname, (uintptr_t)w->names[i]);
	put(w->codes[i], l->code_file, (uintptr_t)w->file);
	put(w->codes[i], l->code_lines, (uintptr_t)w->lines);
	put4(w->codes[i], l->code_first_line, 2);
	if (l->code_version)
		put4(w->codes[i], l->code_version, 1000 + (uint32_t)i);
}

/* Frame I runs code CODE at byte OFFSET. */
static void put_frame(int i, int code, int offset)
{
	const struct python_layout *l = &w->python.layout;
	uintptr_t address = (uintptr_t)w->codes[code];

	put(w->frames[i], l->frame_code, address | (l->version >= 0x030e));
	if (l->chain != PYTHON_OBJECTS)
		put(w->frames[i], l->frame_instruction,
		    address + l->code_start + (uintptr_t)(intptr_t)offset);
	else
		put4(w->frames[i], l->frame_instruction,
		     (uint32_t)(l->version == 0x030a ? offset / 2 : offset));
}

static void link_frame(uint8_t *from, const uint8_t *to)
{
	put(from, w->python.layout.frame_previous, (uintptr_t)to);
}

/* One evaluator call runs frames 0 and 1, and an outer one runs frames 2 to 4, if the version has such rows. */
static void put_chain(void)
{
	const struct python_layout *l = &w->python.layout;

	for (int i = 0; i + 1 < FRAMES; i++)
		link_frame(w->frames[i], w->frames[i + 1]);
	if (l->thread_frame)
		put(w->thread, l->thread_frame, (uintptr_t)w->frames[0]);
	if (l->thread_c_frame)
		put(w->thread, l->thread_c_frame, (uintptr_t)w->c_frames[0]);
	if (l->chain == PYTHON_ENTRIES) {
		put(w->c_frames[0], l->c_frame_frame, (uintptr_t)w->frames[0]);
		put(w->c_frames[1], l->c_frame_frame, (uintptr_t)w->frames[2]);
		put(w->c_frames[0], l->c_frame_previous, (uintptr_t)w->c_frames[1]);
		put(w->c_frames[1], l->c_frame_previous, (uintptr_t)w->thread + 200);
		w->frames[1][l->frame_entry] = w->frames[4][l->frame_entry] = 1;
	} else if (l->chain == PYTHON_SHIMS) {
		if (l->thread_c_frame)
			put(w->c_frames[0], l->c_frame_frame, (uintptr_t)w->frames[0]);
		link_frame(w->frames[1], w->shims[0]);
		link_frame(w->shims[0], w->frames[2]);
		link_frame(w->frames[4], w->shims[1]);
		w->shims[0][l->frame_owner] = w->shims[1][l->frame_owner] = l->shim_owner;
	} else if (l->thread_c_frame) {
		for (int i = 0; i < 2; i++)
			put(w->c_frames[i], l->c_frame_previous, (uintptr_t)w->c_frames[i + 1]);
	}
}

static void make(int layout)
{
	const struct python_layout *l = &w->python.layout;
	static const char path[] = "/srv/shop.py";

	memset(w, 0, sizeof(*w));
	w->python.layout = layout_of(layout);
	w->python.runtime = (uintptr_t)w->runtime;
	w->python.code_type = (uintptr_t)&w->python;
	w->stack.block = &w->block;
	memory_block_init(&w->block);
	put(w->runtime, l->runtime_interpreters, (uintptr_t)w->interpreter);
	put(w->interpreter, l->interpreter_threads, (uintptr_t)w->other_thread);
	put(w->other_thread, l->thread_next, (uintptr_t)w->thread);
	put(w->other_thread, l->thread_interpreter, (uintptr_t)w->interpreter);
	put(w->thread, l->thread_interpreter, (uintptr_t)w->interpreter);
	put(w->thread, l->thread_id, (uintptr_t)pthread_self());
	put_string(w->file, path, strlen(path), 0);
	put_lines();
	put_code(0, "Shop.sell");
	put_code(1, "down");
	put_code(2, "main");
	put_frame(0, 0, 36);
	for (int i = 1; i < 4; i++)
		put_frame(i, 1, 9);
	put_frame(4, 2, -2);
	put_chain();
}

/* A walk in a signal handler finds the same frames as one in a call. */
static size_t walk(void)
{
	uintptr_t out[64];
	size_t count;

	w->work.is_at_call = true;
	count = python_walk(&w->python, &w->work, &w->stack, out, 64);
	w->work.is_at_call = false;
	ck_assert_uint_eq(python_walk(&w->python, &w->work, &w->stack, w->out, 64), count);
	ck_assert_mem_eq(w->out, out, count * sizeof(*out));
	return count;
}

static const struct {
	const char *name;
	int frame;
} wanted[] = { { "Shop.sell", 0 }, { "down", 1 }, { "down", 2 }, { "down", 3 }, { "main", 4 } };

/* Check the frames in OUT; anchors are between them. */
static void check_frames(size_t count, size_t from, size_t to)
{
	struct script_frame frame;
	size_t next = from;

	for (size_t i = 0; i < count; i++) {
		if (w->out[i] & RUNTIME_ANCHOR)
			continue;
		ck_assert(frame_table_find(w->out[i], &frame));
		ck_assert_uint_lt(next, to);
		ck_assert_str_eq(frame.name, wanted[next].name);
		ck_assert_str_eq(frame.file, "/srv/shop.py");
		next++;
	}
	ck_assert_uint_eq(next, to);
}

START_TEST(every_frame)
{
	struct script_frame frame;
	size_t count;

	make(_i);
	count = walk();
	check_frames(count, 0, FRAMES);
	switch (w->python.layout.chain) {
	case PYTHON_OBJECTS:
		ck_assert_uint_eq(count, 2 * FRAMES);
		for (size_t i = 0; i < FRAMES; i++)
			ck_assert_uint_eq(w->out[2 * i + 1],
					  (w->python.layout.thread_c_frame && i < 3
						   ? (uintptr_t)w->c_frames[i]
						   : 0) |
						  RUNTIME_ANCHOR);
		break;
	case PYTHON_ENTRIES:
		ck_assert_uint_eq(count, FRAMES + 2);
		ck_assert_uint_eq(w->out[2], (uintptr_t)w->c_frames[0] | RUNTIME_ANCHOR);
		ck_assert_uint_eq(w->out[6], (uintptr_t)w->c_frames[1] | RUNTIME_ANCHOR);
		break;
	case PYTHON_SHIMS:
		ck_assert_uint_eq(count, FRAMES + 2);
		ck_assert_uint_eq(w->out[2], (uintptr_t)w->shims[0] | RUNTIME_ANCHOR);
		ck_assert_uint_eq(w->out[6], (uintptr_t)w->shims[1] | RUNTIME_ANCHOR);
	}
	/* A frame that has not started is on the first line. */
	ck_assert(frame_table_find(w->out[count - 2], &frame));
	ck_assert_uint_eq(frame.line, 2);
}
END_TEST

/* Inserted code has its own name as its file, and is omitted. */
START_TEST(of_the_interpreter_itself)
{
	struct script_frame frame;
	size_t count, found = 0;

	make(_i);
	put(w->codes[1], w->python.layout.code_file, (uintptr_t)w->names[1]);
	count = walk();
	for (size_t i = 0; i < count; i++) {
		if (w->out[i] & RUNTIME_ANCHOR)
			continue;
		ck_assert(frame_table_find(w->out[i], &frame));
		ck_assert_str_eq(frame.name, found++ ? "main" : "Shop.sell");
	}
	ck_assert_uint_eq(found, 2);
}
END_TEST

/* ---- Lines ---- */

/* Offsets and lines as in dis and co_lines(). */
static const struct {
	uint16_t version;
	struct {
		int offset;
		uint32_t line;
	} at[12];
} lines_expected[] = {
	{ 0x0308,
	  { { 0, 3 },
	    { 7, 3 },
	    { 8, 5 },
	    { 25, 5 },
	    { 26, 7 },
	    { 34, 8 },
	    { 38, 9 },
	    { 40, 8 },
	    { 47, 8 },
	    { 48, 10 },
	    { 51, 10 },
	    { -2, 2 } } },
	{ 0x030a,
	  { { 0, 3 },
	    { 6, 3 },
	    { 8, 5 },
	    { 24, 5 },
	    { 26, 7 },
	    { 34, 8 },
	    { 38, 9 },
	    { 40, 8 },
	    { 46, 8 },
	    { 48, 10 },
	    { 50, 10 },
	    { -2, 2 } } },
	{ 0x030b,
	  { { 0, 2 },
	    { 2, 3 },
	    { 10, 3 },
	    { 12, 5 },
	    { 60, 5 },
	    { 62, 7 },
	    { 68, 7 },
	    { 70, 8 },
	    { 74, 9 },
	    { 76, 8 },
	    { 88, 10 },
	    { -2, 2 } } },
};

START_TEST(lines)
{
	make(lines_expected[_i].version - 0x0308);
	for (size_t i = 0; i < 12; i++)
		ck_assert_msg(python_code_line(&w->python.layout, &w->work, w->codes[0],
					       lines_expected[_i].at[i].offset) ==
				      lines_expected[_i].at[i].line,
			      "3.%d: line at %d", lines_expected[_i].version & 255,
			      lines_expected[_i].at[i].offset);
}
END_TEST

START_TEST(lines_that_cannot_be_told)
{
	make(_i);
	/* After the end of the table: the line of the last entry. */
	ck_assert_uint_gt(python_code_line(&w->python.layout, &w->work, w->codes[0], INT32_MAX), 0);
	put(w->lines, 16, UINT64_MAX);
	ck_assert_uint_eq(python_code_line(&w->python.layout, &w->work, w->codes[0], 20), 2);
	put(w->codes[0], w->python.layout.code_lines, 8);
	ck_assert_uint_eq(python_code_line(&w->python.layout, &w->work, w->codes[0], 20), 2);
}
END_TEST

/* ---- Strings ---- */

START_TEST(strings)
{
	static const uint8_t latin[] = { 'n', 0xe4 };
	static const uint16_t wide[] = { 0x20ac, 'x', 0xdc80 };
	static const uint32_t widest[] = { 0x1f40d, 0 };
	char longest[200];

	make(_i);
	put_string(w->names[0], latin, 2, 1);
	python_code_names(&w->python.layout, &w->work, w->codes[0]);
	ck_assert_str_eq(w->work.name, "n\xc3\xa4");
	put_string(w->names[0], wide, 3, 2);
	python_code_names(&w->python.layout, &w->work, w->codes[0]);
	ck_assert_str_eq(w->work.name, "\xe2\x82\xacx?");
	put_string(w->names[0], widest, 2, 4);
	python_code_names(&w->python.layout, &w->work, w->codes[0]);
	ck_assert_str_eq(w->work.name, "\xf0\x9f\x90\x8d?");

	/* A string at the end of memory, and one with a wrong length. */
	memset(longest, 'a', sizeof(longest));
	put_string(w->names[0], longest, 60, 0);
	put(w->names[0], 16, UINT64_MAX);
	python_code_names(&w->python.layout, &w->work, w->codes[0]);
	ck_assert_uint_lt(strlen(w->work.name), FRAME_NAME_MAX);
	put4(w->names[0], 32, 0); /* not compact */
	python_code_names(&w->python.layout, &w->work, w->codes[0]);
	ck_assert_str_eq(w->work.name, "");
	put(w->codes[0], w->python.layout.code_qualname, 16);
	python_code_names(&w->python.layout, &w->work, w->codes[0]);
	ck_assert_str_eq(w->work.name, "");
	ck_assert_str_eq(w->work.file, "/srv/shop.py");
}
END_TEST

/* ---- Invalid structures ---- */

START_TEST(another_at_the_same_place)
{
	struct script_frame frame;

	make(_i);
	check_frames(walk(), 0, FRAMES);
	/* A code object at the address of a freed one, with all its parts at the same addresses. */
	put_code(0, "Cart.drop");
	if (w->python.layout.code_version)
		put4(w->codes[0], w->python.layout.code_version, 7777);
	ck_assert_uint_gt(walk(), 0);
	ck_assert(frame_table_find(w->out[0], &frame));
	ck_assert_str_eq(frame.name, "Cart.drop");
	/* A code object that differs only in its file, as generated code does. */
	put_string(w->file, "/srv/cart.py", 12, 0);
	if (w->python.layout.code_version)
		put4(w->codes[0], w->python.layout.code_version, 7778);
	ck_assert_uint_gt(walk(), 0);
	ck_assert(frame_table_find(w->out[0], &frame));
	ck_assert_str_eq(frame.file, "/srv/cart.py");
}
END_TEST

START_TEST(not_of_this_thread)
{
	make(_i);
	put(w->thread, w->python.layout.thread_id, (uintptr_t)pthread_self() + 64);
	ck_assert_uint_eq(walk(), 0);

	/* The state is gone, and another thread's state has its address. */
	make(_i);
	ck_assert_uint_gt(walk(), 0);
	put(w->thread, w->python.layout.thread_id, 1);
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

/* Another thread had the same address, and its old state still has its data. */
START_TEST(left_by_a_thread)
{
	const struct python_layout *l = &w->python.layout;

	make(_i);
	ck_assert_uint_gt(walk(), 0);
	memcpy(w->other_thread, w->thread, sizeof(w->thread));
	put(w->other_thread, l->thread_next, 0);
	put(w->interpreter, l->interpreter_threads, (uintptr_t)w->other_thread);
	if (l->thread_frame)
		put(w->thread, l->thread_frame, 0);
	if (l->thread_c_frame)
		put(w->thread, l->thread_c_frame, 0);
	check_frames(walk(), 0, FRAMES);
	check_frames(walk(), 0, FRAMES);
}
END_TEST

START_TEST(holds_the_lock)
{
	const struct python_layout *l = &w->python.layout;

	make(_i);
	if (!l->runtime_current)
		return;
	/* The thread's second state, which is in no list that is searched first. */
	memcpy(w->other_thread, w->thread, sizeof(w->thread));
	if (l->thread_frame)
		put(w->thread, l->thread_frame, 0);
	if (l->thread_c_frame)
		put(w->thread, l->thread_c_frame, 0);
	put(w->interpreter, l->interpreter_threads, (uintptr_t)w->thread);
	put(w->runtime, l->runtime_current, (uintptr_t)w->other_thread);
	python_has_several = true;
	check_frames(walk(), 0, FRAMES);
	python_has_several = false;
}
END_TEST

/* Two states, of an interpreter that runs within a call of another: the inner's frames come first,
 * at any position in the lists. */
START_TEST(an_interpreter_within_another)
{
	const struct python_layout *l = &w->python.layout;

	for (int place = 0; place < 2; place++) {
		uint8_t *state = place ? w->thread : w->other_thread;
		uint8_t *other = place ? w->other_thread : w->thread;

		make(_i);
		if (l->chain != PYTHON_SHIMS)
			return;
		/* Its last three frames belong to another state. */
		link_frame(w->shims[0], NULL);
		put(w->other_thread, l->thread_id, (uintptr_t)pthread_self());
		if (l->thread_c_frame) {
			put(state, l->thread_c_frame, (uintptr_t)w->c_frames[0]);
			put(other, l->thread_c_frame, (uintptr_t)w->c_frames[1]);
			put(w->c_frames[1], l->c_frame_frame, (uintptr_t)w->frames[2]);
		} else {
			put(state, l->thread_frame, (uintptr_t)w->frames[0]);
			put(other, l->thread_frame, (uintptr_t)w->frames[2]);
		}
		python_has_several = true;
		check_frames(walk(), 0, FRAMES);
		python_has_several = false;
	}
}
END_TEST

START_TEST(lists_without_an_end)
{
	const struct python_layout *l = &w->python.layout;

	make(_i);
	put(w->thread, l->thread_id, 0);
	put(w->other_thread, l->thread_next, (uintptr_t)w->other_thread);
	put(w->interpreter, l->interpreter_next, (uintptr_t)w->interpreter);
	ck_assert_uint_eq(walk(), 0);

	make(_i);
	link_frame(w->frames[0], w->frames[0]);
	ck_assert_uint_eq(walk(), 64);
	/* A row that leads only to its own end. */
	make(_i);
	link_frame(w->shims[0], w->shims[0]);
	put(w->c_frames[1], l->c_frame_previous, (uintptr_t)w->c_frames[1]);
	walk();
}
END_TEST

/* Frames under construction or removal are omitted, or end the walk. */
START_TEST(torn)
{
	const struct python_layout *l = &w->python.layout;

	make(_i);
	put(w->codes[1], 8, 0); /* freed */
	ck_assert_uint_gt(walk(), 0);
	for (size_t i = 0; i < 3; i++)
		if (!(w->out[i] & RUNTIME_ANCHOR)) {
			struct script_frame frame;

			ck_assert(frame_table_find(w->out[i], &frame));
			ck_assert_str_ne(frame.name, "down");
		}

	make(_i);
	put(w->frames[2], l->frame_code, 0);
	put(w->frames[3], l->frame_code, 0x1010); /* unmapped, or page 0 */
	put(w->frames[1], l->frame_code, 0x10);
	ck_assert_uint_gt(walk(), 0);
	make(_i);
	put(w->frames[1], l->frame_previous, 0x10);
	/* In 3.11 the next row is still found. */
	check_frames(walk(), 0, l->chain == PYTHON_ENTRIES ? FRAMES : 2);
}
END_TEST

START_TEST(cut)
{
	make(_i);
	ck_assert_uint_eq(python_walk(&w->python, &w->work, &w->stack, w->out, 3), 3);
	ck_assert_uint_eq(python_walk(&w->python, &w->work, &w->stack, w->out, 0), 0);
}
END_TEST

/* Replace words of all structures in turn: by an address of these structures, an invalid one, a
 * small number, or any value. Each result must be a frame, with any name. */
START_TEST(at_random)
{
	uint8_t *from = w->runtime, *to = (uint8_t *)w->out;

	for (int round = 0; round < 3000; round++) {
		if (round % 16 == 0)
			make(_i);
		for (int i = 0; i < 6; i++) {
			uint8_t *at = from + random_next() % (uint64_t)(to - from - 8);

			put(at, 0, random_word(from, (size_t)(to - from)));
		}
		put(w->thread, w->python.layout.thread_id, (uintptr_t)pthread_self());
		/* (The state that is chosen of the two depends on the previous walk.) */
		w->work.is_at_call = round % 2;
		check_known(w->out, python_walk(&w->python, &w->work, &w->stack, w->out, 64));
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
	TCase *tcase = tcase_create("python");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, offsets_that_are_told);
	tcase_add_test(tcase, offsets_that_are_refused);
	tcase_add_loop_test(tcase, every_frame, 0, LAYOUTS);
	tcase_add_loop_test(tcase, of_the_interpreter_itself, 0, LAYOUTS);
	tcase_add_loop_test(tcase, lines, 0, sizeof(lines_expected) / sizeof(lines_expected[0]));
	tcase_add_loop_test(tcase, lines_that_cannot_be_told, 0, LAYOUTS);
	tcase_add_loop_test(tcase, strings, 0, LAYOUTS);
	tcase_add_loop_test(tcase, another_at_the_same_place, 0, LAYOUTS);
	tcase_add_loop_test(tcase, not_of_this_thread, 0, LAYOUTS);
	tcase_add_loop_test(tcase, left_by_a_thread, 0, LAYOUTS);
	tcase_add_loop_test(tcase, holds_the_lock, 0, LAYOUTS);
	tcase_add_loop_test(tcase, an_interpreter_within_another, 0, LAYOUTS);
	tcase_add_loop_test(tcase, lists_without_an_end, 0, LAYOUTS);
	tcase_add_loop_test(tcase, torn, 0, LAYOUTS);
	tcase_add_loop_test(tcase, cut, 0, LAYOUTS);
	tcase_add_loop_test(tcase, at_random, 0, LAYOUTS);
	return suite_run(tcase);
}
