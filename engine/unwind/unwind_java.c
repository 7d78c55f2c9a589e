/* Leaves code that a Java machine has made, in which no frame is marked.
 *
 * Compiled methods use the frame pointer as they like, and tell what their frames are in tables of the machine's own. But
 * whoever calls into Java goes through one piece of its code, which lays out its frame in one way (HotSpot,
 * StubGenerator::generate_call_stub). So all of Java up to there is left in one step. */
#include "engine/cfi/cfi_lookup.h"
#include "engine/unwind/unwind.h"
#include "engine/unwind/unwind_map.h"
#include "engine/unwind/unwind_walk.h"

static _Atomic uintptr_t java_text, java_text_end;

void unwind_set_java(uintptr_t text, uintptr_t text_end)
{
	atomic_store(&java_text, 0);
	atomic_store(&java_text_end, text_end);
	atomic_store(&java_text, text);
}

bool unwind_is_made_code(uintptr_t pc)
{
	return pc >= MEMORY_PAGE && !unwind_map_has_module(pc) && !cfi_lookup_header(pc);
}

/* So far up the stack it is looked for; and up one that ends nobody knows where, of which the kernel copies each
 * word. */
#define SCAN_WORDS        16384
#define SCAN_WORDS_COPIED 1024

/* What the call stub has below and above its frame pointer, in words of 8 bytes. */
enum {
	STUB_RBX = -7,
	STUB_WRAPPER = -6,
	STUB_RESULT = -5,
	STUB_RESULT_TYPE = -4,
	STUB_METHOD = -3,
	STUB_ENTRY = -2,
	STUB_RETURN = 1,
	STUB_PARAMETERS = 2,
	STUB_FRAME_FIRST = STUB_RBX,
	STUB_FRAME_LAST = STUB_PARAMETERS
};

/* Of its caller's, which are on the stack. */
#define CALLER_REACH ((uintptr_t)1 << 20)
#define RESULT_TYPES 32
#define PARAMETERS   4096

/* Whether the call stub's frame pointer was FP: what must be so there. */
static bool is_stub(struct walk *walk, uintptr_t fp, uintptr_t words[])
{
	for (int i = STUB_FRAME_FIRST; i <= STUB_FRAME_LAST; i++)
		if (!walk_read(walk, fp + (uintptr_t)(intptr_t)(8 * i),
			       &words[i - STUB_FRAME_FIRST]))
			return false;
#define WORD(name) words[(name)-STUB_FRAME_FIRST]
	return WORD(STUB_WRAPPER) - fp < CALLER_REACH && WORD(STUB_RESULT) - fp < CALLER_REACH &&
	       (uint32_t)WORD(STUB_RESULT_TYPE) < RESULT_TYPES && WORD(STUB_METHOD) % 8 == 0 &&
	       WORD(STUB_METHOD) >= MEMORY_PAGE && (uint32_t)WORD(STUB_PARAMETERS) < PARAMETERS &&
	       unwind_is_made_code(WORD(STUB_ENTRY)) && walk_follows_call(WORD(STUB_RETURN));
}

int walk_step_java(struct walk *walk)
{
	uintptr_t text = atomic_load_explicit(&java_text, memory_order_acquire), word, fp;
	uintptr_t bytes = atomic_load_explicit(&java_text_end, memory_order_relaxed) - text;
	uintptr_t words[STUB_FRAME_LAST - STUB_FRAME_FIRST + 1];
	uintptr_t slot = (walk->sp + 7) & ~(uintptr_t)7;

	int words_max = walk->memory.high && !walk->memory.next ? SCAN_WORDS : SCAN_WORDS_COPIED;

	if (ARCH_RA != 16 || !text || !unwind_is_made_code(walk->pc - !walk->exact))
		return UNWIND_NO_RULE;
	walk_distrust(walk);
	for (int i = 0; i < words_max && walk_read(walk, slot, &word); i++, slot += sizeof(word)) {
		fp = slot - sizeof(word);
		if (word - text >= bytes || !is_stub(walk, fp, words))
			continue;
		walk->pc = word;
		walk->sp = slot + sizeof(word);
		walk->fp = words[-STUB_FRAME_FIRST];
		walk->base = WORD(STUB_RBX);
		walk->context = 0;
		walk->exact = false;
		return STEP_ON;
	}
	return UNWIND_NO_RULE;
}
