/* Where calls of the evaluator stand on the native stack.
 *
 * Code that YJIT made has neither unwind information nor frame pointers, so a walk ends there. But whatever catches
 * exceptions in Ruby keeps a tag on its stack, in which setjmp(3) or the compiler has left where to come back to: the
 * evaluator as well, each time it is called. */
#include "engine/runtime/ruby/ruby.h"

#define TAGS_MAX 256

/* No function of Ruby's has more on its stack. */
#define STACK_FRAME_MAX (64u << 10)

/* The two forms: three words that the compiler writes, or the eight of a C library. */
enum {
	TAG_SAVED = 16,
	BUILTIN_FP = TAG_SAVED,
	BUILTIN_PC = TAG_SAVED + 8,
	BUILTIN_SP = TAG_SAVED + 16,
	BUILTIN_PREVIOUS = TAG_SAVED + 40,
	LIBRARY_BASE = TAG_SAVED,
	LIBRARY_FP = TAG_SAVED + 8,
	LIBRARY_SP = TAG_SAVED + 48,
	LIBRARY_PC = TAG_SAVED + 56,
	LIBRARY_PREVIOUS = TAG_SAVED + 200,
	TAG_BYTES = LIBRARY_PREVIOUS + 8,
};

#if defined(__x86_64__)
/* glibc stirs addresses with a number of the process. */
static uintptr_t unscramble(uintptr_t value)
{
	uintptr_t guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return (value >> 17 | value << 47) ^ guard;
}

static bool is_in_text(const struct ruby *ruby, uintptr_t pc)
{
	return pc - ruby->base.text < ruby->base.text_end - ruby->base.text;
}

/* What is saved in TAG goes to *PLACE, and which tag was before it to *PREVIOUS. False where it is nothing
 * that is Ruby's. */
static bool tag_read(const struct ruby *ruby, const uint8_t tag[TAG_BYTES],
		     struct unwind_place *place, uintptr_t *previous)
{
	*place = (struct unwind_place){ .pc = word_at(tag, BUILTIN_PC),
					.sp = word_at(tag, BUILTIN_SP),
					.fp = word_at(tag, BUILTIN_FP) };
	*previous = word_at(tag, BUILTIN_PREVIOUS);
	if (is_in_text(ruby, place->pc)) {
		place->pc++; /* it is an instruction to come, and not behind a call */
		return true;
	}
	*place = (struct unwind_place){ .pc = word_at(tag, LIBRARY_PC),
					.sp = word_at(tag, LIBRARY_SP),
					.fp = word_at(tag, LIBRARY_FP),
					.base = word_at(tag, LIBRARY_BASE) };
	*previous = word_at(tag, LIBRARY_PREVIOUS);
	if (is_in_text(ruby, place->pc))
		return true;
	place->pc = unscramble(place->pc);
	place->sp = unscramble(place->sp);
	place->fp = unscramble(place->fp);
	return is_in_text(ruby, place->pc);
}

bool ruby_place(const struct ruby *ruby, struct ruby_work *work, uintptr_t sp,
		struct unwind_place *place)
{
	uintptr_t tag = work->tag, previous;
	uint8_t bytes[TAG_BYTES];

	for (int i = 0; tag && i < TAGS_MAX; i++, tag = previous) {
		if (tag % sizeof(tag) || !ruby_copy(work, bytes, tag, sizeof(bytes)) ||
		    !tag_read(ruby, bytes, place, &previous))
			return false;
		if (tag > sp && runtime_is_evaluator(&ruby->base, place->pc))
			return place->sp > sp && place->sp <= tag &&
			       tag - place->sp < STACK_FRAME_MAX &&
			       place->sp % sizeof(uintptr_t) == 0;
	}
	return false;
}
#else
bool ruby_place(const struct ruby *ruby, struct ruby_work *work, uintptr_t sp,
		struct unwind_place *place)
{
	(void)ruby;
	(void)work;
	(void)sp;
	(void)place;
	return false;
}
#endif
