/* engine/cfi/cfi: entries assembled here, the C library's own, and truncated and damaged entries. */
#include "engine/cfi/cfi.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "test/fixtures/suite.h"

/* For its chains, which one test damages. */
#include "engine/cfi/cfi_rules.c"

#define TEXT  0x10000u  /* link address of the code */
#define FRAME 0x200000u /* and of .eh_frame */
#define SP    ARCH_SP
#define FP    ARCH_FP

/* A section under construction. */
struct section {
	uint8_t bytes[4096];
	size_t length;
};

static void put(struct section *section, const void *bytes, size_t size)
{
	ck_assert_uint_le(section->length + size, sizeof(section->bytes));
	memcpy(section->bytes + section->length, bytes, size);
	section->length += size;
}

static void put_u8(struct section *section, uint8_t value)
{
	put(section, &value, 1);
}

static void put_u32(struct section *section, uint32_t value)
{
	put(section, &value, 4);
}

/* End an entry that began at BEGIN, the place of its length: pad it, and fill the length in. */
static void put_end(struct section *section, size_t begin)
{
	uint32_t length;

	while (section->length % 8)
		put_u8(section, 0);
	length = (uint32_t)(section->length - begin - 4);
	memcpy(section->bytes + begin, &length, 4);
}

/* A CIE like a compiler's: at entry the CFA is sp + 8 with the return address below it. */
static void put_cie(struct section *section, const char *augmentation)
{
	static const uint8_t initial[] = { 0x0c, SP, 8, 0x80 | ARCH_RA, 1 };
	size_t begin = section->length;

	put_u32(section, 0);
	put_u32(section, 0);
	put_u8(section, 1);
	put(section, augmentation, strlen(augmentation) + 1);
	put_u8(section, 1);
	put_u8(section, 0x78); /* data alignment -8 */
	put_u8(section, ARCH_RA);
	if (*augmentation == 'z') {
		put_u8(section, 1);
		put_u8(section, 0x1b); /* pcrel, sdata4 */
	}
	put(section, initial, sizeof(initial));
	put_end(section, begin);
}

static void put_fde(struct section *section, size_t cie, uint32_t start, uint32_t size,
		    const void *code, size_t code_size)
{
	size_t begin = section->length;

	put_u32(section, 0);
	put_u32(section, (uint32_t)(section->length - cie));
	put_u32(section, start - (uint32_t)(FRAME + section->length));
	put_u32(section, size);
	put_u8(section, 0);
	put(section, code, code_size);
	put_end(section, begin);
}

static struct cfi_source source_of(const struct section *section)
{
	return (struct cfi_source){ .frame = section->bytes,
				    .frame_size = section->length,
				    .frame_address = FRAME,
				    .text_start = TEXT,
				    .text_end = TEXT + 0x40000 };
}

static struct unwind_rule rule_at(const struct unwind_table *table, uint32_t offset)
{
	return unwind_rules[unwind_table_find(table, offset)];
}

/* Instructions of an entry for [TEXT + 0x100, TEXT + 0x200), and the rule at one place. */
struct program {
	const char *what;
	uint8_t code[40];
	size_t size;
	uint32_t at;
	struct unwind_rule rule;
};

#define CODE(...) .code = { __VA_ARGS__ }, .size = sizeof((uint8_t[]){ __VA_ARGS__ })
#define RULE(...) .rule = { __VA_ARGS__ }

static const struct program programs[] = {
	{ "initial", CODE(0), .at = 0x100, RULE(.kind = RULE_SP, .offset = 8, .ra_words = -1) },
	{ "before", CODE(0), .at = 0xff, RULE(.kind = RULE_NONE) },
	{ "behind", CODE(0), .at = 0x200, RULE(.kind = RULE_NONE) },
	{ "last byte", CODE(0), .at = 0x1ff, RULE(.kind = RULE_SP, .offset = 8, .ra_words = -1) },
	{ "push fp", CODE(0x41, 0x0e, 16, 0x80 | FP, 2), .at = 0x101,
	  RULE(.kind = RULE_SP, .offset = 16, .ra_words = -1, .fp_save = SAVE_CFA,
	       .fp_words = -2) },
	{ "before the push", CODE(0x41, 0x0e, 16, 0x80 | FP, 2), .at = 0x100,
	  RULE(.kind = RULE_SP, .offset = 8, .ra_words = -1) },
	{ "frame pointer", CODE(0x41, 0x0e, 16, 0x80 | FP, 2, 0x43, 0x0d, FP), .at = 0x104,
	  RULE(.kind = RULE_FP, .offset = 16, .ra_words = -1, .fp_save = SAVE_CFA,
	       .fp_words = -2) },
	{ "advance1", CODE(0x02, 0x80, 0x0e, 64), .at = 0x180,
	  RULE(.kind = RULE_SP, .offset = 64, .ra_words = -1) },
	{ "advance2", CODE(0x03, 0x80, 0x00, 0x0e, 64), .at = 0x180,
	  RULE(.kind = RULE_SP, .offset = 64, .ra_words = -1) },
	{ "advance4", CODE(0x04, 0x80, 0, 0, 0, 0x0e, 64), .at = 0x180,
	  RULE(.kind = RULE_SP, .offset = 64, .ra_words = -1) },
	{ "remember", CODE(0x0a, 0x41, 0x0e, 64, 0x41, 0x0b), .at = 0x102,
	  RULE(.kind = RULE_SP, .offset = 8, .ra_words = -1) },
	{ "restore", CODE(0x80 | FP, 2, 0x41, 0xc0 | FP), .at = 0x101,
	  RULE(.kind = RULE_SP, .offset = 8, .ra_words = -1) },
	{ "big frame", CODE(0x0e, 0x80, 0x80, 0x80, 0x02), .at = 0x100,
	  RULE(.kind = RULE_SP, .offset = 0x400000, .ra_words = -1) },
	{ "signed factored", CODE(0x12, FP, 0x7e), .at = 0x100,
	  RULE(.kind = RULE_FP, .offset = 16, .ra_words = -1) },
	{ "base register", CODE(0x0d, ARCH_BASE), .at = 0x100,
	  RULE(.kind = RULE_BASE, .offset = 8, .ra_words = -1) },
	{ "scratch register", CODE(0x0c, 10, 0), .at = 0x100,
	  RULE(.kind = RULE_REGISTER, .reg = 10, .ra_words = -1) },
	{ "realigned", CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 2, 0x70 + FP, 0), .at = 0x100,
	  RULE(.kind = RULE_DEREF, .reg = FP, .offset = -8, .ra_words = -1, .fp_save = SAVE_FP) },
#if defined(__x86_64__)
	{ "stub", CODE(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
	  .at = 0x100, RULE(.kind = RULE_PLT, .offset = 8, .offset2 = 11, .ra_words = -1) },
#endif
	{ "load and add", CODE(0x0f, 5, 0x73, 40, 0x06, 0x23, 8), .at = 0x100,
	  RULE(.kind = RULE_DEREF, .reg = 3, .offset = 40, .offset2 = 8, .ra_words = -1) },
	{ "two loads", CODE(0x0f, 4, 0x73, 40, 0x06, 0x06), .at = 0x100, RULE(.kind = RULE_NONE) },
	{ "outermost", CODE(0x07, ARCH_RA), .at = 0x100, RULE(.kind = RULE_END) },
	{ "return address in a register", CODE(0x0e, 0, 0x09, ARCH_RA, 5), .at = 0x100,
	  RULE(.kind = RULE_MOVED, .reg = ARCH_SP, .ra_words = RULE_IN_REGISTER + 5) },
	{ "all but one in registers",
	  CODE(0x0c, 5, 0, 0x09, ARCH_SP, 8, 0x09, FP, 9, 0x09, ARCH_RA, 1, 0x05, ARCH_BASE, 0),
	  .at = 0x100,
	  RULE(.kind = RULE_MOVED, .reg = 5, .ra_words = RULE_IN_REGISTER + 1, .fp_save = SAVE_CFA,
	       .fp_words = RULE_IN_REGISTER + 9, .base_save = SAVE_CFA,
	       .sp_words = RULE_IN_REGISTER + 8) },
	{ "all in memory",
	  CODE(0x0c, 1, 0, 0x11, ARCH_SP, 0x6c, 0x11, FP, 0x71, 0x11, ARCH_RA, 0x6b), .at = 0x100,
	  RULE(.kind = RULE_MOVED, .reg = 1, .ra_words = 21, .fp_save = SAVE_CFA, .fp_words = 15,
	       .sp_words = 20) },
	{ "in a register that is none", CODE(0x09, ARCH_RA, 99), .at = 0x100,
	  RULE(.kind = RULE_NONE) },
	{ "returns to a handler", CODE(0x0c, FP, 16, 0x80 | ARCH_RESULT, 9), .at = 0x100,
	  RULE(.kind = RULE_THROW, .reg = FP, .offset = 16, .ra_words = -1) },
	{ "unknown operation", CODE(0x3f, 0x0e, 64), .at = 0x100, RULE(.kind = RULE_NONE) },
	{ "pop of nothing", CODE(0x0b), .at = 0x100, RULE(.kind = RULE_NONE) },
	{ "odd save", CODE(0x41, 0x05, FP, 0), .at = 0x101,
	  RULE(.kind = RULE_SP, .offset = 8, .ra_words = -1) },
	{ "arguments' size", CODE(0x2e, 0x20, 0x41, 0x0e, 16), .at = 0x101,
	  RULE(.kind = RULE_SP, .offset = 16, .ra_words = -1) },
	{ "advance past the end", CODE(0x04, 0xff, 0xff, 0xff, 0x7f, 0x0e, 64), .at = 0x1ff,
	  RULE(.kind = RULE_SP, .offset = 8, .ra_words = -1) },
};

START_TEST(one_program)
{
	const struct program *program = &programs[_i];
	struct section section = { .length = 0 };
	struct unwind_table *table = NULL;
	struct cfi_source source;
	struct unwind_rule rule;

	put_cie(&section, "zR");
	put_fde(&section, 0, TEXT + 0x100, 0x100, program->code, program->size);
	/* Another entry, so that there is a table even if this one has no rule. */
	put_fde(&section, 0, TEXT + 0x300, 0x10, "", 0);
	put_u32(&section, 0);
	source = source_of(&section);
	ck_assert_int_eq(cfi_compile(&table, &source), 0);
	rule = rule_at(table, program->at);
	ck_assert_msg(!memcmp(&rule, &program->rule, sizeof(rule)),
		      "%s: kind %d reg %d offset %d %d ra %d fp %d %d base %d %d", program->what,
		      rule.kind, rule.reg, rule.offset, rule.offset2, rule.ra_words, rule.fp_save,
		      rule.fp_words, rule.base_save, rule.base_words);
	free(table);
}
END_TEST

/* Entries in any order, over several regions of 64 KiB, with and without gaps. */
START_TEST(many_entries)
{
	static const struct {
		uint32_t start, size;
		uint8_t offset;
	} entries[] = { { 0x30000, 0x10, 40 }, { 0x100, 0x20, 16 },    { 0x120, 0x20, 24 },
			{ 0x148, 0x10, 32 },   { 0xfff0, 0x8020, 48 }, { 0x20000, 0x10, 24 },
			{ 0x3fff0, 0x10, 56 } };
	static const struct {
		uint32_t at;
		int offset; /* 0: none */
	} places[] = { { 0, 0 },        { 0x100, 16 },   { 0x11f, 16 },   { 0x120, 24 },
		       { 0x13f, 24 },   { 0x148, 32 },   { 0x157, 32 },   { 0x159, 0 },
		       { 0xffef, 0 },   { 0xfff0, 48 },  { 0xffff, 48 },  { 0x10000, 48 },
		       { 0x1800f, 48 }, { 0x18010, 0 },  { 0x1ffff, 0 },  { 0x20000, 24 },
		       { 0x20010, 0 },  { 0x2ffff, 0 },  { 0x30000, 40 }, { 0x30010, 0 },
		       { 0x3fff0, 56 }, { 0x3ffff, 56 }, { 0x40000, 0 },  { 0x12345678, 0 } };
	struct section section = { .length = 0 };
	struct unwind_table *table = NULL;
	struct cfi_source source;

	put_cie(&section, "zR");
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		put_fde(&section, 0, TEXT + entries[i].start, entries[i].size,
			(uint8_t[]){ 0x0e, entries[i].offset }, 2);
	source = source_of(&section);
	ck_assert_int_eq(cfi_compile(&table, &source), 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		ck_assert_msg(rule_at(table, places[i].at).offset == places[i].offset, "at %#x: %d",
			      places[i].at, rule_at(table, places[i].at).offset);
	free(table);
}
END_TEST

START_TEST(signal_frame)
{
	struct section section = { .length = 0 };
	struct unwind_table *table = NULL;
	struct cfi_source source;

	put_cie(&section, "zRS");
	put_fde(&section, 0, TEXT, 0x10, "", 0);
	source = source_of(&section);
	ck_assert_int_eq(cfi_compile(&table, &source), 0);
	ck_assert_uint_eq(unwind_table_find(table, 0), RULE_INDEX_SIGNAL);
	free(table);
}
END_TEST

/* Equal rules of different modules are one. */
/* Code that its source marks as outermost, and the byte before it, which is looked up for a return
 * to its first instruction, unless that belongs to the function before. */
START_TEST(outermost_code)
{
	struct section section = { .length = 0 };
	struct unwind_table *table = NULL;
	struct cfi_source source;

	put_cie(&section, "zR");
	put_fde(&section, 0, TEXT, 0x18, "", 0);
	put_fde(&section, 0, TEXT + 0x20, 0x10, "\x41\x0e\x10", 3);
	put_fde(&section, 0, TEXT + 0x30, 0x10, "", 0);
	source = source_of(&section);
	source.outermost = TEXT + 0x20;
	ck_assert_int_eq(cfi_compile(&table, &source), 0);
	ck_assert_uint_eq(rule_at(table, 0x1e).kind, RULE_SP);
	ck_assert_uint_eq(rule_at(table, 0x1f).kind, RULE_END);
	ck_assert_uint_eq(rule_at(table, 0x20).kind, RULE_END);
	ck_assert_uint_eq(rule_at(table, 0x2f).kind, RULE_END);
	ck_assert_uint_eq(rule_at(table, 0x30).kind, RULE_SP);
	free(table);
	source.outermost = TEXT + 0x30;
	ck_assert_int_eq(cfi_compile(&table, &source), 0);
	ck_assert_uint_eq(rule_at(table, 0x2f).kind, RULE_SP);
	ck_assert_uint_eq(rule_at(table, 0x30).kind, RULE_END);
	free(table);
}
END_TEST

START_TEST(rules_are_shared)
{
	struct section section = { .length = 0 };
	struct unwind_table *first = NULL, *second = NULL;
	struct cfi_source source;
	size_t count;

	put_cie(&section, "zR");
	put_fde(&section, 0, TEXT, 0x10, (uint8_t[]){ 0x0e, 104 }, 2);
	source = source_of(&section);
	ck_assert_int_eq(cfi_compile(&first, &source), 0);
	count = cfi_rule_count();
	ck_assert_int_eq(cfi_compile(&second, &source), 0);
	ck_assert_uint_eq(cfi_rule_count(), count);
	ck_assert_uint_eq(unwind_table_find(first, 0), unwind_table_find(second, 0));
	free(first);
	free(second);
}
END_TEST

#define INTERNERS    4
#define INTERN_RULES 10000

/* Handlers add rules too, at any moment. */
static void *intern_all(void *argument)
{
	size_t stride = *(const size_t *)argument;
	struct unwind_rule rule = { .kind = RULE_SP };
	bool right = true;

	for (size_t i = 0; i < INTERN_RULES; i++) {
		rule.offset = (int32_t)(i * stride % INTERN_RULES);
		right &= !memcmp(&unwind_rules[cfi_rule_intern(&rule)], &rule, sizeof(rule));
	}
	return right ? argument : NULL;
}

START_TEST(rules_of_several_threads)
{
	/* Coprime to their number, so that each thread adds all. */
	static const size_t strides[INTERNERS] = { 1, 1, 7, 9999 };
	struct unwind_rule rule = { .kind = RULE_SP };
	pthread_t threads[INTERNERS];
	size_t count = cfi_rule_count();
	void *right;

	for (size_t i = 0; i < INTERNERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, intern_all, (void *)&strides[i]),
				 0);
	for (size_t i = 0; i < INTERNERS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &right), 0);
		ck_assert_ptr_nonnull(right);
	}
	ck_assert_uint_ge(cfi_rule_count(), count + INTERN_RULES);
	count = cfi_rule_count();
	for (int32_t i = 0; i < INTERN_RULES; i++) {
		rule.offset = i;
		ck_assert_mem_eq(&unwind_rules[cfi_rule_intern(&rule)], &rule, sizeof(rule));
	}
	ck_assert_uint_eq(cfi_rule_count(), count);
}
END_TEST

/* More rules than there are indices: the rest is walked by frame pointer. */
START_TEST(rules_run_out)
{
	struct section section;
	struct unwind_table *table = NULL;
	struct cfi_source source;
	uint8_t code[5] = { 0x0e };
	int err;

	for (uint32_t i = 0; i < RULES_MAX + 300; i++) {
		section.length = 0;
		code[1] = (uint8_t)(i | 0x80);
		code[2] = (uint8_t)(i >> 7 | 0x80);
		code[3] = (uint8_t)(i >> 14 | 0x80);
		put_cie(&section, "zR");
		put_fde(&section, 0, TEXT, 0x10, code, sizeof(code));
		source = source_of(&section);
		err = cfi_compile(&table, &source);
		ck_assert(!err || err == -ENOENT);
		if (!err)
			free(table);
	}
	ck_assert_uint_eq(cfi_rule_count(), RULES_MAX);
}
END_TEST

/* A memory test of the program, as in a crash handler, writes to all pages, also while samples are
 * taken: chains become cycles, and rows of a table lie outside it. */
START_TEST(damaged_chain)
{
	struct unwind_rule first = { .kind = RULE_SP, .offset = 8 }, other = first;
	uint16_t row;

	rule_index.next[UINT16_MAX] = UINT16_MAX;
	for (int i = 0; i < 2; i++) {
		row = cfi_rule_intern(&first);
		rule_index.next[row] = i ? UINT16_MAX : row;
		do
			other.offset++;
		while (chain_of(&other) != chain_of(&first));
		row = cfi_rule_intern(&other);
		ck_assert_mem_eq(&unwind_rules[row], &other, sizeof(other));
		ck_assert_uint_eq(cfi_rule_intern(&other), row);
	}
}
END_TEST

START_TEST(damaged_table)
{
	struct section section = { .length = 0 };
	struct unwind_table *table = NULL;
	struct cfi_source source;

	put_cie(&section, "zR");
	put_fde(&section, 0, TEXT + 0x100, 0x100, "", 0);
	put_u32(&section, 0);
	source = source_of(&section);
	ck_assert_int_eq(cfi_compile(&table, &source), 0);
	ck_assert_uint_ne(unwind_table_find(table, 0x180), RULE_INDEX_NONE);
	for (int i = 0; i < 2; i++) {
		memset(table->first, i ? 0xff : 0x55, (table->regions + 1) * sizeof(uint32_t));
		ck_assert_uint_eq(unwind_table_find(table, 0x180), RULE_INDEX_NONE);
		ck_assert_uint_eq(unwind_table_row_begin(table, 0x20180, 1), table->low[0]);
		table->first[0] = 0;
		ck_assert_uint_eq(unwind_table_find(table, 0x180), RULE_INDEX_NONE);
	}
	free(table);
}
END_TEST

START_TEST(nothing_there)
{
	struct section section = { .length = 0 };
	struct unwind_table *table = NULL;
	struct cfi_source source = source_of(&section);

	ck_assert_int_eq(cfi_compile(&table, &source), -ENOENT);
	put_u32(&section, 0);
	source = source_of(&section);
	ck_assert_int_eq(cfi_compile(&table, &source), -ENOENT);
	source.text_end = source.text_start + (UINT64_C(1) << 33);
	ck_assert_int_eq(cfi_compile(&table, &source), -EFBIG);
}
END_TEST

/* Every truncation and every single damaged byte: any result, no fault. */
START_TEST(spoilt)
{
	struct section whole = { .length = 0 }, section;
	struct unwind_table *table;
	struct cfi_source source;

	put_cie(&whole, "zPLR");
	put_cie(&whole, "zR");
	for (size_t i = 0; i < 8; i++)
		put_fde(&whole, i % 2 ? 0 : 32, TEXT + 0x100 * (uint32_t)i, 0x100, programs[i].code,
			programs[i].size);
	for (size_t length = 0; length < whole.length; length++) {
		source = source_of(&whole);
		source.frame_size = length;
		if (!cfi_compile(&table, &source))
			free(table);
	}
	for (size_t i = 0; i < whole.length * 5; i++) {
		static const uint8_t wrong[] = { 0, 1, 0x7f, 0x80, 0xff };

		section = whole;
		section.bytes[i / 5] = wrong[i % 5];
		source = source_of(&section);
		if (!cfi_compile(&table, &source)) {
			rule_at(table, 0x110);
			free(table);
		}
	}
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("tables");

	tcase_add_checked_fixture(tests, cfi_rules_init, NULL);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, one_program, 0, sizeof(programs) / sizeof(programs[0]));
	tcase_add_test(tests, many_entries);
	tcase_add_test(tests, signal_frame);
	tcase_add_test(tests, outermost_code);
	tcase_add_test(tests, rules_are_shared);
	tcase_add_test(tests, rules_of_several_threads);
	tcase_add_test(tests, rules_run_out);
	tcase_add_test(tests, damaged_chain);
	tcase_add_test(tests, damaged_table);
	tcase_add_test(tests, nothing_there);
	tcase_add_test(tests, spoilt);
	return suite_run(tests);
}
