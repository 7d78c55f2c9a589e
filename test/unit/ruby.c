/* engine/runtime/ruby/ruby_*.c: methods and blocks in Ruby's control frames, valid, torn and
 * random, and their positions among native frames. */
#include "engine/runtime/ruby/ruby.h"

#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "core/preload_code.h"
#include "engine/runtime/ruby/ruby_find.h"
#include "test/fixtures/made_frames.h"
#include "test/fixtures/suite.h"

#define HEAP_WORDS  16384
#define STACK_WORDS 512
#define FRAMES      16 /* at the end of the stack */

#define EVALUATOR 0x7100u
#define CORE      0x7200u
#define OTHER     0x9000u

/* The variable in which a thread finds its context. */
static __thread uintptr_t own_context;

static struct {
	uint64_t heap[HEAP_WORDS];
	uint64_t stack[STACK_WORDS];
	size_t used;
	uint64_t *frame;       /* the innermost control frame */
	uint64_t *environment; /* position of the next environment */
	uint64_t *context, *thread, *machine;
	struct ruby ruby;
	struct ruby_work work;
	uintptr_t frames[64], out[64];
	size_t count;
	bool cut;
} * w;

/* ---- Objects ---- */

static uint64_t *object(uint64_t flags, size_t words)
{
	uint64_t *at = w->heap + w->used;

	w->used += words;
	ck_assert_uint_le(w->used, HEAP_WORDS);
	at[0] = flags;
	return at;
}

static uint64_t string(const char *text)
{
	const size_t length = strlen(text), head = w->ruby.layout.string_has_length ? 3 : 2;
	uint64_t *at;

	/* Long ones are outside the object. */
	if (length > 20) {
		at = object(RUBY_STRING | 1 << 13, 5);
		at[2] = length;
		at[3] = (uintptr_t)object(0, length / 8 + 1);
		memcpy((void *)(uintptr_t)at[3], text, length);
		return (uintptr_t)at;
	}
	at = object(RUBY_STRING, head + length / 8 + 3);
	if (w->ruby.layout.string_has_length)
		at[2] = length;
	else
		at[0] |= length << 14;
	memcpy(at + head, text, length);
	return (uintptr_t)at;
}

static uint64_t internal(unsigned kind)
{
	return RUBY_INTERNAL | kind << 12;
}

#define PATH_SERIAL     300
#define ATTACHED_SERIAL 301

/* A class whose variable with that number is VALUE. */
static uint64_t *class_with(unsigned type, uint64_t path, uint64_t attached)
{
	uint64_t *at = object(type, 24), *table, *entries;

	switch (w->ruby.layout.class) {
	case RUBY_CLASS_FIELD:
		at[4 + 15] = path;
		at[4 + 12] = attached;
		break;
	case RUBY_CLASS_TABLE:
		at[3] = (uintptr_t)object(0, 8);
		table = object(0, 8);
		((uint64_t *)(uintptr_t)at[3])[1] = (uintptr_t)table;
		entries = object(0, 9);
		table[4] = 0;
		table[5] = 3;
		table[6] = (uintptr_t)entries;
		entries[1] = 77 << 4;
		entries[4] = PATH_SERIAL << 4 | 7;
		entries[5] = path;
		entries[7] = ATTACHED_SERIAL << 4 | 7;
		entries[8] = attached;
		break;
	case RUBY_CLASS_SHAPES:
		/* Shape 2 has both, shape 1 the path alone. */
		at[0] |= 2ull << 32;
		at[4] = (uintptr_t)object(0, 2);
		((uint64_t *)(uintptr_t)at[4])[0] = path;
		((uint64_t *)(uintptr_t)at[4])[1] = attached;
		break;
	}
	return at;
}

static uint64_t *class_named(const char *path)
{
	return class_with(RUBY_CLASS, string(path), 0);
}

/* The singleton class of class OF. */
static uint64_t *class_of(const uint64_t *of)
{
	return class_with(RUBY_CLASS | 1u << w->ruby.layout.singleton, 0, (uintptr_t)of);
}

/* TYPE: 0 is code, 1 a C function. */
static uint64_t *method(const uint64_t *class, unsigned type, uint64_t id)
{
	uint64_t *definition = object(type, 6), *at = object(internal(RUBY_KIND_METHOD), 5);

	definition[4] = id;
	at[1] = (uintptr_t) class;
	at[2] = (uintptr_t)definition;
	return at;
}

#define WORDS 1200 /* of code */

/* Code with lines 10, 11, 12 …, each of ten words. */
static uint64_t *code(unsigned type, const char *label, const char *base, const char *path)
{
	const struct ruby_layout *l = &w->ruby.layout;
	uint64_t *at = object(internal(RUBY_KIND_CODE), 5), *body = object(0, 22);
	uint64_t *index = object(0, 6 + 30);
	uint8_t *lines = (uint8_t *)object(0, WORDS / 10 * 12 / 8 + 2);
	uint32_t count = 0;

	at[2] = (uintptr_t)body;
	body[0] = type | (uint64_t)WORDS << 32;
	body[1] = 0x500000;
	body[8] = string(path);
	body[9] = string(base);
	body[10] = string(label);
	body[11] = l->first_line_is_value ? 10 * 2 + 1 : 10;
	body[l->body_lines / 8] = (uintptr_t)lines;
	body[l->body_line_index / 8] = (uintptr_t)index;
	for (uint32_t word = 0; word < WORDS; word++) {
		if (word % 10 == 0) {
			uint32_t line = 10 + count++;

			memcpy(lines + (size_t)(count - 1) * l->line_bytes, &line, sizeof(line));
		}
		if (word < 54) {
			index[word / 9] |= (uint64_t)count << word % 9 * 7;
		} else {
			uint32_t in = (word - 54) % 512;
			uint64_t *block = index + 6 + (word - 54) / 512 * 10;

			if (!in)
				block[0] = count - (word % 10 == 0);
			if (in && in % 64 == 0)
				block[1] |= (uint64_t)(count - (word % 10 == 0) - block[0])
					    << (in / 64 - 1) * 9;
			if (word % 10 == 0)
				block[2 + in / 64] |= 1ull << in % 64;
		}
	}
	memcpy((uint8_t *)body + l->body_line_count, &count, sizeof(count));
	return at;
}

/* ---- Frames ---- */

enum {
	METHOD = 0x11110001,
	BLOCK = 0x22220001,
	TOP = 0x44440001,
	NATIVE = 0x55550001,
	FUNCTION = 0x66660001,
	DUMMY = 0x79990001,
	LAST = 0x20,
	LOCAL = 2,
};

/* Push a frame with the method of its environment. */
static void push(uint64_t flags, const uint64_t *code, const uint64_t *method,
		 const uint64_t *outer, unsigned word)
{
	uint64_t *environment = w->environment;

	w->environment += 3;
	environment[0] = (uintptr_t)method;
	environment[1] = (uintptr_t)outer | 1;
	environment[2] = flags;
	w->frame -= w->ruby.layout.frame_bytes / 8;
	w->frame[0] = code ? 0x500000 + word * 8 : 0;
	w->frame[2] = (uintptr_t)code;
	w->frame[4] = (uintptr_t)(environment + 2);
	w->context[2] = (uintptr_t)w->frame;
}

/* The environment of the frame that was pushed last. */
static const uint64_t *environment_of(const uint64_t *frame)
{
	return (const uint64_t *)(uintptr_t)frame[4];
}

static int find_own(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	/* The program itself is first. */
	w->ruby.tls_module = (uint32_t)info->dlpi_tls_modid;
	w->ruby.tls_first = (uint32_t)((uintptr_t)&own_context - (uintptr_t)info->dlpi_tls_data);
	w->ruby.tls_end = w->ruby.tls_first + 8;
	return 1;
}

static void make(uint16_t version)
{
	const struct ruby_layout *l = ruby_layout_known(version);
	uint64_t *shapes;

	memset(w, 0, sizeof(*w));
	w->ruby.layout = *l;
	w->ruby.base = (struct runtime){ .kind = RUNTIME_RUBY,
					 .text = 0x7000,
					 .text_end = 0x8000,
					 .evaluator = EVALUATOR,
					 .evaluator_end = EVALUATOR + 0x80 };
	w->ruby.core = CORE;
	w->ruby.core_end = CORE + 0x80;
	w->ruby.path_serial = PATH_SERIAL;
	w->ruby.attached_serial = ATTACHED_SERIAL;
	w->context = object(0, 16);
	w->thread = object(0, 32);
	w->machine = object(0, 64);
	w->context[0] = (uintptr_t)w->stack;
	w->context[1] = STACK_WORDS;
	w->context[l->context_thread / 8] = (uintptr_t)w->thread;
	w->thread[l->thread_context / 8] = (uintptr_t)w->context;
	w->frame = w->stack + STACK_WORDS;
	w->environment = w->stack;
	own_context = (uintptr_t)w->context;
	dl_iterate_phdr(find_own, NULL);
	w->ruby.machine = (uintptr_t)object((uintptr_t)w->machine, 1);
	shapes = object(0, 12);
	if (l->machine_shapes)
		w->machine[l->machine_shapes / 8] = (uintptr_t)shapes;
	for (unsigned i = 1; i < 3; i++) {
		shapes[4 * i + 1] = (uint64_t)(i == 1 ? PATH_SERIAL : ATTACHED_SERIAL) << 4 | 7;
		shapes[4 * i + 2] = i;
		shapes[4 * i + 3] = 1 | (uint64_t)(i - 1) << 32;
	}
	push(DUMMY | LAST | LOCAL, NULL, NULL, NULL, 0);
}

static size_t walk(void)
{
	w->count = ruby_walk(&w->ruby, &w->work, w->frames, 64, &w->cut);
	return w->count;
}

static void check(size_t i, const char *name, const char *file, uint32_t line)
{
	ck_assert_uint_lt(i, w->count);
	check_frame(w->frames[i], JFR_FRAME_RUBY, name, file, line);
}

static const uint16_t versions[] = { 0x0301, 0x0302, 0x0303, 0x0304 };

#define VERSIONS (int)(sizeof(versions) / sizeof(versions[0]))

#define LONG_PATH "/srv/app/releases/20260101/app/models/shop/till.rb"

/* main calls a method, which calls a C function, which runs a block. */
static void program(void)
{
	const uint64_t *sell, *of, *function;
	uint64_t *arrays = object(RUBY_ARRAY | 1 << 13, 5), *names = object(RUBY_ARRAY, 5);
	uint64_t *values = object(0, 1024);

	/* Name 5 of the second 512, with its kind in the low bits. */
	arrays[2] = 0;
	arrays[3] = (uintptr_t)names;
	names[2] = 1024;
	names[4] = (uintptr_t)values;
	values[10] = string("each");
	w->ruby.names = (uintptr_t)object((uintptr_t)arrays, 1);
	function = method(class_named("Array"), 1, 517 << 4 | 1);
	of = class_named("Shop::Till");
	sell = method(of, 0, 0);
	push(TOP | LAST | LOCAL, code(7, "<main>", "<main>", "main.rb"), NULL, NULL, 1);
	push(METHOD | LOCAL, code(1, "sell", "sell", LONG_PATH), sell, NULL, 25);
	sell = environment_of(w->frame);
	push(NATIVE | LOCAL, NULL, function, NULL, 0);
	push(FUNCTION, NULL, NULL, environment_of(w->frame), 0);
	push(FUNCTION, NULL, NULL, sell, 0); /* without a class */
	push(BLOCK | LAST, code(2, "block in sell", "sell", LONG_PATH), NULL, sell, 801);
}

START_TEST(methods)
{
	make(versions[_i]);
	program();
	ck_assert_uint_eq(walk(), 7);
	ck_assert(!w->cut);
	check(0, "block in Shop::Till#sell", LONG_PATH, 10 + 800 / 10);
	ck_assert_uint_eq(w->frames[1], RUNTIME_ANCHOR);
	check(2, "Array#each", "", 0);
	check(3, "Array#each", "", 0);
	check(4, "Shop::Till#sell", LONG_PATH, 10 + 24 / 10);
	check(5, "<main>", "main.rb", 10);
	ck_assert_uint_eq(w->frames[6], RUNTIME_ANCHOR);
}
END_TEST

/* Every instruction has a line; the current one precedes the position of the frame. */
START_TEST(lines)
{
	make(versions[_i]);
	push(TOP | LAST | LOCAL, code(7, "<main>", "<main>", "main.rb"), NULL, NULL, 1);
	for (unsigned word = 1; word <= WORDS; word++) {
		w->frame[0] = 0x500000 + word * 8;
		ck_assert_uint_eq(walk(), 2);
		check(0, "<main>", "main.rb", 10 + (word - 1) / 10);
	}
}
END_TEST

START_TEST(class_methods)
{
	const uint64_t *shop;
	uint64_t *included;

	make(versions[_i]);
	shop = class_named("Shop");
	push(METHOD | LAST | LOCAL, code(1, "price", "price", "a.rb"), method(class_of(shop), 0, 0),
	     NULL, 1);
	/* A method of a module that is included in a class. */
	included = object(RUBY_INCLUDED, 24);
	included[1] = (uintptr_t)class_with(RUBY_MODULE, string("Prices"), 0);
	push(METHOD | LOCAL, code(1, "sum", "sum", "a.rb"), method(included, 0, 0), NULL, 1);
	/* A class without a name, and one with a temporary name. */
	push(METHOD | LOCAL, code(1, "nameless", "nameless", "a.rb"),
	     method(class_with(RUBY_CLASS, 8, 0), 0, 0), NULL, 1);
	push(METHOD | LOCAL, code(1, "fresh", "fresh", "a.rb"),
	     method(class_named("#<Class:0x00007f12>"), 0, 0), NULL, 1);
	ck_assert_uint_eq(walk(), 5);
	check(0, "fresh", "a.rb", 10);
	check(1, "nameless", "a.rb", 10);
	check(2, "Prices#sum", "a.rb", 10);
	check(3, "Shop.price", "a.rb", 10);
}
END_TEST

/* A method in a variable of special variables, as after a match. */
START_TEST(special)
{
	uint64_t *svar;

	make(0x0303);
	svar = object(internal(RUBY_KIND_SVAR), 5);
	svar[1] = (uintptr_t)method(class_named("Shop"), 0, 0);
	push(METHOD | LAST | LOCAL, code(1, "sell", "sell", "a.rb"), svar, NULL, 1);
	ck_assert_uint_eq(walk(), 2);
	check(0, "Shop#sell", "a.rb", 10);
}
END_TEST

/* Blocks that are methods, and code evaluated in one, have their own names. */
START_TEST(no_method)
{
	make(0x0303);
	push(BLOCK | LAST | LOCAL, code(2, "block in <main>", "<main>", "a.rb"),
	     method(class_named("Shop"), 4, 0), NULL, 1);
	push(METHOD | LOCAL, code(6, "sell", "sell", "(eval)"), method(class_named("Shop"), 0, 0),
	     NULL, 1);
	ck_assert_uint_eq(walk(), 3);
	check(0, "sell", "(eval)", 10);
	check(1, "block in <main>", "a.rb", 10);
}
END_TEST

/* Two functions that use one address in turn. */
START_TEST(reused)
{
	uint64_t *body, *one;

	make(0x0303);
	push(TOP | LAST | LOCAL, one = code(1, "one", "one", "a.rb"), NULL, NULL, 1);
	ck_assert_uint_eq(walk(), 2);
	check(0, "one", "a.rb", 10);
	body = (uint64_t *)(uintptr_t)one[2];
	memcpy((char *)(uintptr_t)body[10] + 24, "two", 3);
	ck_assert_uint_eq(walk(), 2);
	check(0, "two", "a.rb", 10);
	memcpy((char *)(uintptr_t)body[8] + 24, "b.rb", 4);
	ck_assert_uint_eq(walk(), 2);
	check(0, "two", "b.rb", 10);
}
END_TEST

/* A cached function is valid until the collector can have freed it; that depends on its count and phase. */
START_TEST(remembered)
{
	static const struct {
		uint64_t count;
		uint32_t flags;
		const char *says, *is;
	} steps[] = {
		{ 7, 1, "one", "one" },                                  /* mark phase */
		{ 7, 1 | 1 << 5, "two", "one" }, { 7, 2, "two", "two" }, /* sweep phase */
		{ 7, 0, "six", "two" },                                  /* idle */
		{ 8, 1 << 5, "six", "six" }, /* counted, mark phase not started */
		{ 8, 1 << 5, "fox", "fox" },     { 8, 1, "ten", "ten" },
		{ 8, 1 | 1 << 6, "cat", "cat" }, /* compaction */
		{ 8, 1, "dog", "ten" },
	};
	uint64_t *body, *one, *collector;

	ck_assert_int_eq(ruby_open(), 0);
	make(0x0303);
	collector = object(0, 2);
	w->ruby.collections = (uintptr_t)collector;
	w->ruby.collector_flags = (uintptr_t)(collector + 1);
	push(TOP | LAST | LOCAL, one = code(1, "one", "one", "a.rb"), NULL, NULL, 1);
	body = (uint64_t *)(uintptr_t)one[2];
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		collector[0] = steps[i].count;
		memcpy(collector + 1, &steps[i].flags, sizeof(steps[i].flags));
		memcpy((char *)(uintptr_t)body[10] + 24, steps[i].says, 3);
		ck_assert_uint_eq(walk(), 2);
		check(0, steps[i].is, "a.rb", 10);
	}
	/* A frame of the same code with another method. */
	w->environment[-3] = (uintptr_t)method(class_named("Shop"), 0, 0);
	ck_assert_uint_eq(walk(), 2);
	check(0, "dog", "a.rb", 10);
	/* More is known after the names are known. */
	memcpy((char *)(uintptr_t)body[10] + 24, "elk", 3);
	w->ruby.names = (uintptr_t)collector;
	ck_assert_uint_eq(walk(), 2);
	check(0, "elk", "a.rb", 10);
}
END_TEST

/* Entries end with the frame table that they refer to, even without a collection. */
START_TEST(remembered_in_one_table)
{
	uint64_t *collector;
	bool fresh;

	ck_assert_int_eq(ruby_open(), 0);
	make(0x0303);
	collector = object(0, 2);
	w->ruby.collections = (uintptr_t)collector;
	w->ruby.collector_flags = (uintptr_t)(collector + 1);
	push(TOP | LAST | LOCAL, code(7, "one", "one", "a.rb"), NULL, NULL, 1);
	ck_assert_uint_eq(walk(), 2);
	for (uint64_t others = 1; !frame_table_renew(); others++)
		frame_table_function(others << 32, &fresh);
	ck_assert_uint_eq(walk(), 2);
	check(0, "one", "a.rb", 10);
	frame_table_drop();
	check(0, "one", "a.rb", 10);
	ck_assert_uint_eq(walk(), 2);
	check(0, "one", "a.rb", 10);
}
END_TEST

/* Threads store entries, and find only entries that one of them stored completely. */
static void *remember(void *seed)
{
	uint64_t next = (uintptr_t)seed * 7919;
	uintptr_t found = 0;

	for (int i = 0; i < 100000; i++) {
		uintptr_t code = 8 * (1 + next % 6000);
		struct ruby_function function = { (uint32_t)code, (uint32_t)code * 2, code * 3 };
		uint64_t period = 4 + next / 64 % 2;

		next = next * 6364136223846793005u + 1442695040888963407u;
		ruby_cache_store(period, code, code + 1, &function);
		code = 8 * (1 + (next >> 20) % 6000);
		if (!ruby_cache_find(period, code, code + 1, &function))
			continue;
		if (function.number != code || function.size != code * 2 ||
		    function.start != code * 3)
			return (void *)(uintptr_t)-1;
		found++;
	}
	return (void *)found;
}

START_TEST(remembered_by_threads)
{
	pthread_t threads[4];
	void *found;

	ck_assert_int_eq(ruby_open(), 0);
	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, remember, (void *)(i + 1)), 0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], &found);
		ck_assert_int_gt((intptr_t)found, 0);
	}
}
END_TEST

/* Invalid data is omitted, and frames that it runs stay. */
/* Number of visits until more is known, after many without success. */
static int visits_until(struct ruby *ruby, int most)
{
	for (int i = 1; i <= most; i++)
		if (ruby_find_more(ruby))
			return i;
	return 0;
}

/* Data that Ruby creates late is searched less and less often, as long as it is missing. */
/* The code of an eval string is named after the enclosing code, even if it has a label. */
START_TEST(code_of_a_string)
{
	uint64_t *within, *first, *second;

	make(0x0304);
	within = code(2, "block in sell", "sell", LONG_PATH);
	first = code(6, "<compiled>", "sell", "(eval)");
	second = code(6, "<compiled>", "sell", "(eval)");
	((uint64_t *)(uintptr_t)first[2])[20] = (uintptr_t)within;
	((uint64_t *)(uintptr_t)second[2])[20] = (uintptr_t)first;
	push(TOP | LAST | LOCAL, code(7, "<main>", "<main>", "main.rb"), NULL, NULL, 1);
	push(BLOCK, first, NULL, environment_of(w->frame), 1);
	push(BLOCK, second, NULL, environment_of(w->frame), 1);
	ck_assert_uint_eq(walk(), 4);
	check(0, "block in sell", "(eval)", 10);
	check(1, "block in sell", "(eval)", 10);
	/* If the link is invalid, its own label is used. */
	((uint64_t *)(uintptr_t)first[2])[20] = 8;
	ck_assert_uint_eq(walk(), 4);
	check(1, "<compiled>", "(eval)", 10);
	/* Without an end. */
	((uint64_t *)(uintptr_t)first[2])[20] = (uintptr_t)second;
	ck_assert_uint_eq(walk(), 4);
	check(1, "<compiled>", "(eval)", 10);
	/* In other versions before 3.4 its own label is used. */
	make(0x0303);
	push(TOP | LAST | LOCAL, code(6, "sell", "sell", "(eval)"), NULL, NULL, 1);
	ck_assert_uint_eq(walk(), 2);
	check(0, "sell", "(eval)", 10);
}
END_TEST

START_TEST(found_late)
{
	static const int after[] = { 0, 10, 10 * 64 + 7 }, until[] = { 1, 1, 64 - 7 + 1 };
	uint64_t *data, *arrays, *all, *names, *values;

	make(0x0303);
	data = object(0, 64);
	arrays = object(RUBY_ARRAY, 5);
	all = object(0, 2);
	names = object(RUBY_ARRAY, 5);
	values = object(0, 1024);
	all[0] = (uintptr_t)names;
	all[1] = (uintptr_t)object(RUBY_ARRAY, 5); /* empty so far */
	arrays[2] = 2;
	arrays[4] = (uintptr_t)all;
	names[2] = 1024;
	names[4] = (uintptr_t)values;
	values[2 * '+'] = string("+");
	values[2 * 300] = string("each");
	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		struct ruby ruby = { .data = (uintptr_t)data, .data_bytes = 64 * 8 };

		ruby.layout = w->ruby.layout;
		memset(data, 0, 64 * 8);
		ck_assert_int_eq(visits_until(&ruby, after[i]), 0);
		ck_assert_int_eq(ruby_is_beginning(&ruby), after[i] < 30);
		data[20] = 600; /* the last number */
		data[21] = (uintptr_t)values;
		data[22] = (uintptr_t)arrays;
		ck_assert_int_eq(visits_until(&ruby, 1000), until[i]);
		ck_assert_uint_eq(ruby.names, (uintptr_t)&data[22]);
		ck_assert(!ruby_is_beginning(&ruby));
	}
}
END_TEST

START_TEST(torn)
{
	make(0x0303);
	program();
	((uint64_t *)(uintptr_t)w->frame[2])[0] = internal(RUBY_KIND_METHOD);
	ck_assert_uint_eq(walk(), 6);
	ck_assert_uint_eq(w->frames[0], RUNTIME_ANCHOR);
	check(1, "Array#each", "", 0);
	/* An address in other code. */
	make(0x0303);
	program();
	w->frame[0] = 0x500000 + (WORDS + 1) * 8;
	ck_assert_uint_eq(walk(), 6);
	w->frame[0] = 0x4ffff8;
	ck_assert_uint_eq(walk(), 6);
	/* Without an environment, the method is unknown. */
	w->frame[4] = 16;
	ck_assert_uint_eq(walk(), 0);
	ck_assert(w->cut);
}
END_TEST

/* A context and its thread refer to each other. */
START_TEST(no_context)
{
	for (int i = 0; i < VERSIONS; i++) {
		make(versions[i]);
		program();
		w->thread[w->ruby.layout.thread_context / 8] += 8;
		ck_assert_uint_eq(walk(), 0);
	}
	make(0x0303);
	program();
	own_context = 0;
	ck_assert_uint_eq(walk(), 0);
	make(0x0303);
	program();
	w->context[1] = 1ull << 40;
	ck_assert_uint_eq(walk(), 0);
}
END_TEST

START_TEST(names_are_text)
{
	make(0x0303);
	push(TOP | LAST | LOCAL, code(1, "a\n\xff\xc3\xa9\xc3", "a", "a.rb"), NULL, NULL, 1);
	ck_assert_uint_eq(walk(), 2);
	check(0, "a??\xc3\xa9?", "a.rb", 10);
}
END_TEST

#if defined(__x86_64__)
/* ---- Stack positions of evaluator calls ---- */

enum { BUILTIN, LIBRARY, STIRRED };

static uint64_t stirred(uint64_t value)
{
	uint64_t guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	value ^= guard;
	return value << 17 | value >> 47;
}

/* A tag at word AT of the stack, of a function that calls at PC with its stack pointer four words below. */
static void tag(int form, unsigned at, uint64_t pc, uint64_t *previous)
{
	uint64_t *words = w->stack + at, sp = (uintptr_t)(words - 4), fp = (uintptr_t)(words + 40);

	memset(words, 0, 28 * sizeof(*words));
	if (form == BUILTIN) {
		words[2] = fp;
		words[3] = pc;
		words[4] = sp;
		words[7] = (uintptr_t)previous;
		return;
	}
	words[2] = 0xba5e;
	words[3] = form == STIRRED ? stirred(fp) : fp;
	words[8] = form == STIRRED ? stirred(sp) : sp;
	words[9] = form == STIRRED ? stirred(pc) : pc;
	words[27] = (uintptr_t)previous;
}

START_TEST(places)
{
	struct unwind_place place;

	make(0x0303);
	tag(_i, 300, EVALUATOR + 8, NULL);
	tag(_i, 200, 0x7300, w->stack + 300); /* of another function */
	tag(_i, 100, EVALUATOR + 8, w->stack + 200);
	w->work.tag = (uintptr_t)(w->stack + 100);
	memory_copies_begin(&w->work.copies, 0);
	ck_assert(ruby_place(&w->ruby, &w->work, (uintptr_t)(w->stack + 50), &place));
	ck_assert_uint_eq(place.sp, (uintptr_t)(w->stack + 96));
	ck_assert_uint_eq(place.fp, (uintptr_t)(w->stack + 140));
	/* The next instruction is looked up like a return address. */
	ck_assert_uint_eq(place.pc, EVALUATOR + 8 + (_i == BUILTIN));
	ck_assert_uint_eq(place.base, _i == BUILTIN ? 0 : 0xba5e);
	ck_assert(ruby_place(&w->ruby, &w->work, (uintptr_t)(w->stack + 150), &place));
	ck_assert_uint_eq(place.sp, (uintptr_t)(w->stack + 296));
	/* No outer tag; a tag not reached yet; a loop. */
	ck_assert(!ruby_place(&w->ruby, &w->work, (uintptr_t)(w->stack + 350), &place));
	ck_assert(!ruby_place(&w->ruby, &w->work, (uintptr_t)(w->stack + 97), &place));
	tag(_i, 200, 0x10, w->stack + 300);
	memory_copies_begin(&w->work.copies, 0);
	ck_assert(!ruby_place(&w->ruby, &w->work, (uintptr_t)(w->stack + 150), &place));
	tag(_i, 100, 0x7300, w->stack + 100);
	memory_copies_begin(&w->work.copies, 0);
	ck_assert(!ruby_place(&w->ruby, &w->work, (uintptr_t)(w->stack + 50), &place));
}
END_TEST
#endif

/* ---- Merge with native frames ---- */

static size_t merged(const uintptr_t *list, size_t native, const uintptr_t *frames, size_t count,
		     bool cut)
{
	uintptr_t pcs[16];
	struct native_frames stack = { .pcs = pcs, .count = native, .is_exact = true };
	bool truncated = false;

	memcpy(pcs, list, native * sizeof(*pcs));
	make(0x0303);
	w->count = ruby_merge(&w->ruby, &stack, frames, count, cut, w->out, 64, &truncated);
	return w->count;
}

static void is(const uintptr_t *want, size_t count)
{
	ck_assert_uint_eq(w->count, count);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(w->out[i] == want[i], "%zu: %lx, not %lx", i, w->out[i], want[i]);
}

#define A             RUNTIME_ANCHOR
#define LIST(...)     ((const uintptr_t[]){ __VA_ARGS__ })
#define COUNTED(list) list, sizeof(list) / sizeof(uintptr_t)

#define ROWS LIST(0x10, 0x20, A, 0x30, A)

START_TEST(in_place)
{
	merged(COUNTED(LIST(CORE + 4, EVALUATOR + 4, OTHER, CORE + 8, EVALUATOR + 4, OTHER + 1)),
	       COUNTED(ROWS), false);
	is(COUNTED(LIST(0x10, 0x20, OTHER, 0x30, OTHER + 1)));
}
END_TEST

/* A call without a row, before or after it: the outermost belong together. */
START_TEST(call_before_row)
{
	merged(COUNTED(LIST(OTHER + 2, EVALUATOR + 4, OTHER + 3, EVALUATOR + 4, OTHER, CORE + 8,
			    EVALUATOR + 4, OTHER + 1)),
	       COUNTED(ROWS), false);
	is(COUNTED(LIST(OTHER + 2, OTHER + 3, 0x10, 0x20, OTHER, 0x30, OTHER + 1)));
}
END_TEST

/* A row that has no call yet. */
START_TEST(row_before_call)
{
	merged(COUNTED(LIST(OTHER, CORE + 8, EVALUATOR + 4, OTHER + 1)), COUNTED(ROWS), false);
	is(COUNTED(LIST(0x10, 0x20, OTHER, 0x30, OTHER + 1)));
	merged(COUNTED(LIST(EVALUATOR, EVALUATOR + 4, OTHER + 1)), COUNTED(ROWS), false);
	is(COUNTED(LIST(0x10, 0x20, EVALUATOR, 0x30, OTHER + 1)));
}
END_TEST

/* If the native walk was lost, the innermost belong together, and the others follow. */
START_TEST(native_lost)
{
	merged(COUNTED(LIST(CORE + 4, EVALUATOR + 4, OTHER, STACK_CALLERS_UNKNOWN)), COUNTED(ROWS),
	       false);
	is(COUNTED(LIST(0x10, 0x20, OTHER, 0x30)));
	merged(COUNTED(LIST(CORE + 4, EVALUATOR + 4, OTHER, EVALUATOR + 4, OTHER + 1,
			    STACK_CALLERS_UNKNOWN)),
	       COUNTED(ROWS), false);
	is(COUNTED(LIST(0x10, 0x20, OTHER, 0x30, OTHER + 1, STACK_CALLERS_UNKNOWN)));
}
END_TEST

/* More frames than there was space for. */
START_TEST(cut_short)
{
	merged(COUNTED(LIST(CORE + 4, EVALUATOR + 4, OTHER, EVALUATOR + 4, OTHER + 1, EVALUATOR + 4,
			    OTHER + 2)),
	       COUNTED(ROWS), true);
	is(COUNTED(LIST(0x10, 0x20, OTHER, 0x30, OTHER + 1, OTHER + 2)));
}
END_TEST

/* C functions that no evaluator runs. */
START_TEST(rest)
{
	merged(COUNTED(LIST(EVALUATOR + 4, OTHER)), COUNTED(LIST(0x10, A, 0x20)), false);
	is(COUNTED(LIST(0x10, 0x20, OTHER)));
}
END_TEST

/* ---- At random ---- */

START_TEST(at_random)
{
	uintptr_t pcs[] = { CORE + 4,      EVALUATOR + 4, OTHER,     CORE + 8,
			    EVALUATOR + 4, OTHER + 1,     EVALUATOR, STACK_CALLERS_UNKNOWN };
	struct script_frame got;

	for (int round = 0; round < 3000; round++) {
		struct native_frames native = { .pcs = pcs, .count = (size_t)round % 9 };
		bool truncated = false;
		size_t count;

		if (round % 16 == 0) {
			make(versions[round / 16 % VERSIONS]);
			program();
		}
		for (int i = 0; i < 4; i++) {
			uint64_t r = random_next();
			uint64_t *at = r & 1 ? w->heap + (r >> 1) % w->used
					     : w->stack + (r >> 1) % STACK_WORDS;

			*at = random_word(w->heap, sizeof(w->heap));
		}
		count = walk();
		for (size_t i = 0; i < count; i++)
			ck_assert(w->frames[i] == RUNTIME_ANCHOR ||
				  frame_table_find(w->frames[i], &got));
		ck_assert_uint_le(ruby_merge(&w->ruby, &native, w->frames, count, w->cut, w->out, 8,
					     &truncated),
				  8);
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
	TCase *tcase = tcase_create("ruby");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60); /* threads that wait for each other, under a sanitizer */
	tcase_add_loop_test(tcase, methods, 0, VERSIONS);
	tcase_add_loop_test(tcase, lines, 0, VERSIONS);
	tcase_add_loop_test(tcase, class_methods, 0, VERSIONS);
	tcase_add_test(tcase, special);
	tcase_add_test(tcase, no_method);
	tcase_add_test(tcase, reused);
	tcase_add_test(tcase, remembered);
	tcase_add_test(tcase, remembered_in_one_table);
	tcase_add_test(tcase, remembered_by_threads);
	tcase_add_test(tcase, code_of_a_string);
	tcase_add_test(tcase, found_late);
	tcase_add_test(tcase, torn);
	tcase_add_test(tcase, no_context);
	tcase_add_test(tcase, names_are_text);
#if defined(__x86_64__)
	tcase_add_loop_test(tcase, places, 0, 3);
#endif
	tcase_add_test(tcase, in_place);
	tcase_add_test(tcase, call_before_row);
	tcase_add_test(tcase, row_before_call);
	tcase_add_test(tcase, native_lost);
	tcase_add_test(tcase, cut_short);
	tcase_add_test(tcase, rest);
	tcase_add_test(tcase, at_random);
	return suite_run(tcase);
}
