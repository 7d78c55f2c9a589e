/* engine/modules/code_rules: aarch64 code from an assembler, and the state at each instruction. */
#include "engine/modules/code_rules.h"

#include <stdio.h>
#include <string.h>

#include "engine/cfi/cfi_rules.h"
#include "test/fixtures/suite.h"

#define WORDS 16

#define NOP 0xd503201f
#define RET 0xd65f03c0
#define BL  0x97ff0000 /* to a distant target */

/* State before an instruction: the CFA is sp (s) or fp (f) plus a number. The return address (r),
 * the frame pointer (f) and the base register (b) are saved at these offsets from it, unless they
 * are in their registers. */
static const struct {
	uint32_t code[WORDS];
	uint32_t starts; /* one bit per instruction */
	const char *rules;
} cases[] = {
	/* add x0,x0,x1 */
	{ { 0x8b010000, RET }, 1, "s0 s0 " },
	/* stp x29,x30,[sp,#-32]!; mov x29,sp; str x19,[sp,#16]; bl; ldr x19,[sp,#16]; ldp x29,x30,[sp],#32 */
	{ { 0xa9be7bfd, 0x910003fd, 0xf9000bf3, BL, 0xf9400bf3, 0xa8c27bfd, RET },
	  1,
	  "s0 s32r-24f-32 s32r-24f-32 s32r-24f-32b-16 s32r-24f-32b-16 s32r-24f-32 s0 " },
	/* str x30,[sp,#-16]!; bl; ldr x30,[sp],#16 */
	{ { 0xf81f0ffe, BL, 0xf84107fe, RET }, 1, "s0 s16r-16 s16r-16 s0 " },
	/* cbz x0,1f; sub sp,sp,#48; stp x19,x30,[sp,#16]; stp d8,d9,[sp,#-32]!; bl; ldp d8,d9,[sp],#32;
	 * ldp x19,x30,[sp,#16]; add sp,sp,#48; ret; 1: mov x0,#0 */
	{ { 0xb4000120, 0xd100c3ff, 0xa9017bf3, 0x6dbe27e8, BL, 0x6cc227e8, 0xa9417bf3, 0x9100c3ff,
	    RET, 0xd2800000, RET },
	  1,
	  "s0 s0 s48 s48r-24b-32 s80r-24b-32 s80r-24b-32 s48r-24b-32 s48 s0 s0 s0 " },
	/* A switch: stp x20,x30,[sp,#-16]!; br x1; bl; 2: ldp x20,x30,[sp],#16; ret; bl; b 2b */
	{ { 0xa9bf7bf4, 0xd61f0020, BL, 0xa8c17bf4, RET, BL, 0x17fffffd },
	  1,
	  "s0 s16r-8 s16r-8 s16r-8 s0 s16r-8 s16r-8 " },
	/* Such a jump before a function that nothing calls does not affect the following function. */
	{ { 0xa9bf7bf4, 0xd61f0020, RET, NOP }, 9, "s0 s16r-8 s16r-8 s0 " },
	/* alloca: stp x29,x30,[sp,#-16]!; mov x29,sp; sub sp,sp,x0; bl; mov sp,x29; ldp x29,x30,[sp],#16 */
	{ { 0xa9bf7bfd, 0x910003fd, 0xcb2063ff, BL, 0x910003bf, 0xa8c17bfd, RET },
	  1,
	  "s0 s16r-8f-16 s16r-8f-16 f16r-8f-16 f16r-8f-16 s16r-8f-16 s0 " },
	/* mov x12,#4128; sub sp,sp,x12; str x30,[sp]; bl; ldr x30,[sp]; mov x12,#4128; add sp,sp,x12 */
	{ { 0xd282040c, 0xcb2c63ff, 0xf90003fe, BL, 0xf94003fe, 0xd282040c, 0x8b2c63ff, RET },
	  1,
	  "s0 s0 s4128 s4128r-4128 s4128r-4128 s4128 s4128 s0 " },
	/* mov x16,#0x10; movk x16,#1,lsl #16; sub sp,sp,x16; add x16,x0,#1; sub sp,sp,x16 */
	{ { 0xd2800210, 0xf2a00030, 0xcb3063ff, 0x91000410, 0xcb3063ff, RET },
	  1,
	  "s0 s0 s0 s65552 s65552 chain " },
	/* sub sp,sp,#1,lsl #12; sub sp,sp,#16; stur x30,[sp,#8]; bl; brk #1 */
	{ { 0xd14007ff, 0xd10043ff, 0xf80083fe, BL, 0xd4200020 },
	  1,
	  "s0 s4096 s4112 s4112r-4104 s4112r-4104 " },
	/* mov x9,sp; and sp,x9,#-64; str x30,[sp,#-16]!; bl */
	{ { 0x910003e9, 0x927ae53f, 0xf81f0ffe, BL, RET }, 1, "s0 s0 chain chain chain " },
	/* A thread starts: svc #0; cbz x0,1f; ret; 1: ldp x1,x0,[sp],#16; blr x1; svc #0 */
	{ { 0xd4000001, 0xb4000040, RET, 0xa8c103e1, 0xd63f0020, 0xd4000001 },
	  1,
	  "s0 s0 s0 s0 end end " },
	/* Code without a known predecessor: ldr x30,[sp],#16; ret; udf #0 */
	{ { 0xf84107fe, RET, 0x00000001 }, 0, "s0 chain s0 " },
	/* A signal return: ret; mov x8,#139; svc #0; nop */
	{ { RET, 0xd2801168, 0xd4000001, NOP }, 1, "s0 signal signal s0 " },
	/* It ends in the following function, and a called one starts with a new state: str
	 * x30,[sp,#-16]!; tbz x0,#3,1f; b.eq 2f; ldr x30,[sp],#16; b 3f; 1: nop; 2: bl; 3: str
	 * x30,[sp,#-16]!; bl; ldr x30,[sp],#16 */
	{ { 0xf81f0ffe, 0x36180080, 0x54000080, 0xf84107fe, 0x14000003, NOP, BL, 0xf81f0ffe, BL,
	    0xf84107fe, RET },
	  1 | 1 << 7,
	  "s0 s16r-16 s16r-16 s16r-16 s0 s16r-16 s16r-16 s0 s16r-16 s16r-16 s0 " },
	/* A function that ends in a call, and one that nothing calls: str x30,[sp,#-16]!; bl; nop; sub sp,sp,#48;
	 * stp x29,x30,[sp]; ldp x29,x30,[sp],#48 */
	{ { 0xf81f0ffe, BL, NOP, 0xd100c3ff, 0xa9007bfd, 0xa8c37bfd, RET },
	  1,
	  "s0 s16r-16 s16r-16 s0 s48 s48r-40f-48 s0 " },
	/* Twice in one function: it continues. */
	{ { 0xf81f0ffe, 0xf81f0ffe, RET }, 1, "s0 s16r-16 s32r-16 " },
	/* A loop to its own start, and jumps to targets outside the code: b .; b.eq; b */
	{ { 0x14000000, 0x54ffff00, 0x15ffffff }, 1, "s0 s0 s0 " },
	/* The first save is the caller's value: stp x29,x30,[sp,#-32]!; str x19,[sp,#16]; str
	 * x19,[sp,#24]; ldr x19,[sp,#24]; ldr w19,[sp,#16]; ldr x19,[x0,#16]; str x30,[sp,#32] */
	{ { 0xa9be7bfd, 0xf9000bf3, 0xf9000ff3, 0xf9400ff3, 0xb94013f3, 0xf9400813, 0xf90013fe,
	    RET },
	  1,
	  "s0 s32r-24f-32 s32r-24f-32b-16 s32r-24f-32b-16 s32r-24f-32b-16 s32r-24f-32b-16 "
	  "s32r-24f-32b-16 "
	  "s32r-24f-32b-16 " },
};

static void print(char *out, size_t size, uint16_t index)
{
	const struct unwind_rule *rule = &unwind_rules[index];
	int n;

	switch (rule->kind) {
	case RULE_SP:
	case RULE_FP:
		n = snprintf(out, size, "%c%d", rule->kind == RULE_SP ? 's' : 'f', rule->offset);
		if (rule->ra_words)
			n += snprintf(out + n, size - (size_t)n, "r%d", rule->ra_words * 8);
		if (rule->fp_save == SAVE_CFA)
			n += snprintf(out + n, size - (size_t)n, "f%d", rule->fp_words * 8);
		if (rule->base_save == SAVE_CFA)
			n += snprintf(out + n, size - (size_t)n, "b%d", rule->base_words * 8);
		snprintf(out + n, size - (size_t)n, " ");
		break;
	case RULE_CHAIN:
		snprintf(out, size, "chain ");
		break;
	case RULE_SIGNAL:
		snprintf(out, size, "signal ");
		break;
	case RULE_END:
		snprintf(out, size, "end ");
		break;
	default:
		snprintf(out, size, "? ");
	}
}

START_TEST(follows)
{
	uint16_t rules[WORDS] = { 0 };
	uint8_t starts[WORDS / 8];
	char text[512] = "";
	size_t count = WORDS, length;

	while (!cases[_i].code[count - 1])
		count--;
	memcpy(starts, &cases[_i].starts, sizeof(starts));
	cfi_rules_init();
	code_rules_find(rules, cases[_i].code, count, starts);
	for (size_t i = 0; i < count; i++) {
		length = strlen(text);
		print(text + length, sizeof(text) - length, rules[i]);
	}
	ck_assert_str_eq(text, cases[_i].rules);
}
END_TEST

START_TEST(begins_where_it_is_called)
{
	/* bl 2; ret; bl -1 of here; bl out; b 0 */
	static const uint32_t code[] = { 0x94000002, RET, 0x97ffffff, 0x94000100, 0x17fffffc };
	uint8_t starts = 0;

	code_rules_mark_called(&starts, code, sizeof(code) / sizeof(code[0]));
	ck_assert_uint_eq(starts, 1 << 2 | 1 << 1);
}
END_TEST

/* With any bytes. */
START_TEST(takes_anything)
{
	static uint32_t code[4096];
	static uint16_t rules[4096];
	static uint8_t starts[4096 / 8];
	uint64_t seed = 88172645463325252u;

	cfi_rules_init();
	for (size_t i = 0; i < 4096; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		/* Half of them use sp. */
		code[i] = (uint32_t)(seed >> 32) | (seed & 1 ? 31u << 5 : 0);
	}
	code_rules_mark_called(starts, code, 4096);
	code_rules_find(rules, code, 4096, starts);
	for (size_t i = 0; i < 4096; i++)
		ck_assert_uint_ne(rules[i], RULE_INDEX_NONE);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("code_rules");

	tcase_add_loop_test(tcase, follows, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_test(tcase, begins_where_it_is_called);
	tcase_add_test(tcase, takes_anything);
	return suite_run(tcase);
}
