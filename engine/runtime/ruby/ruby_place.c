/* Stack positions of evaluator calls.
 *
 * YJIT's code has neither unwind information nor frame pointers, so a native walk ends there. But
 * each function of Ruby that catches exceptions keeps a tag on its stack, including each evaluator
 * call. setjmp(3) or the compiler stores the position to return to in the tag. */
#include "engine/runtime/ruby/ruby.h"

#define TAGS_MAX 256

/* No function of Ruby has a larger stack frame. */
#define STACK_FRAME_MAX (64u << 10)

/* Two forms: three words from the compiler, or eight from a C library. */
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
/* glibc scrambles addresses with a random number per process. */
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

/* Write the position in TAG to *PLACE, and the previous tag to *PREVIOUS. Returns false if the
 * position is not in Ruby's code. */
static bool tag_read(const struct ruby *ruby, const uint8_t tag[TAG_BYTES],
		     struct unwind_place *place, uintptr_t *previous)
{
	*place = (struct unwind_place){ .pc = word_at(tag, BUILTIN_PC),
					.sp = word_at(tag, BUILTIN_SP),
					.fp = word_at(tag, BUILTIN_FP) };
	*previous = word_at(tag, BUILTIN_PREVIOUS);
	if (is_in_text(ruby, place->pc)) {
		place->pc++; /* the position is the next instruction, not a return address */
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
