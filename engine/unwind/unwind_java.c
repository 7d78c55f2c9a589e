/* Steps out of code that a Java virtual machine has generated, which marks no frames.
 *
 * Compiled methods use the frame pointer freely; tables of the machine describe their frames. But
 * every call into Java passes one stub of the machine, with a fixed frame layout (HotSpot,
 * StubGenerator::generate_call_stub). So all Java frames up to the stub are left in one step. */
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

/* How many words of the stack one walk searches; and how many if the end of the stack is unknown,
 * because the kernel then copies each word. */
#define SCAN_WORDS        65536
#define SCAN_WORDS_COPIED 1024

/* The call stub's frame, relative to its frame pointer, in words of 8 bytes. */
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

#define STUB_WORDS (STUB_FRAME_LAST - STUB_FRAME_FIRST + 1)

/* Limits of the stub's arguments: two of them point to its caller's frame on the stack. */
#define CALLER_REACH ((uintptr_t)1 << 20)
#define RESULT_TYPES 32
#define PARAMETERS   4096

/* True when FP may be the call stub's frame pointer: checks the fixed values of its frame. */
static bool is_stub(struct walk *walk, uintptr_t fp, uintptr_t words[])
{
	if (!walk_use(walk, STUB_WORDS))
		return false;
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
	uintptr_t words[STUB_WORDS];
	uintptr_t slot = (walk->sp + 7) & ~(uintptr_t)7;
	uintptr_t bytes_max;

	if (ARCH_RA != 16 || !text || !unwind_is_made_code(walk->pc - !walk->exact))
		return UNWIND_NO_RULE;
	walk_distrust(walk);
	bytes_max = 8 * (walk->memory.high ? SCAN_WORDS : SCAN_WORDS_COPIED);
	/* A frame further up the same stack continues where the last search ended. */
	if (slot - walk->no_stub < walk->no_stub_end - walk->no_stub)
		slot = walk->no_stub_end;
	else
		walk->no_stub = walk->no_stub_end = slot;
	for (; slot - walk->no_stub < bytes_max && slot != walk->memory.high && walk_use(walk, 1) &&
	       walk_read(walk, slot, &word);
	     slot += sizeof(word)) {
		walk->no_stub_end = slot + sizeof(word);
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
