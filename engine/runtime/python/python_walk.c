/* Walk of the CPython frames of the calling thread, in a signal handler or an allocation.
 *
 * Only the calling thread changes its frames, so frames and the objects that they refer to stay in
 * place. A handler may have interrupted the thread while it created or removed a frame; therefore
 * the kernel copies what is read. During an allocation all linked frames are complete. They are
 * read in place, after each page was checked to be mapped. While another thread finalizes the
 * interpreter, nothing is stable; then, and always for the states of other threads, the kernel
 * copies too. Each code object is checked to be one, and every loop is bounded. */
#include <stdatomic.h>
#include <string.h>

#include "engine/reading/program_thread.h"
#include "engine/reading/words.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/python/python.h"
#include "engine/runtime/script_text.h"

#define INTERPRETERS_MAX 64
#define THREADS_MAX      1024

/* Since 3.14 the low bits of a reference hold its kind of reference counting. */
#define REFERENCE_BITS ((uintptr_t)7)

/* ---- Reading ---- */

/* Copy data of this thread's frames, or of the interpreter, at ADDRESS. */
static bool walk_copy(struct python_work *work, void *data, uintptr_t address, size_t size)
{
	uintptr_t page = address & ~(MEMORY_PAGE - 1), *known;

	if (!work->is_stable)
		return memory_copies_read(&work->copies, data, address, size);
	/* Page 0 would mark an unused entry. */
	if (address < MEMORY_PAGE || address >> ARCH_ADDRESS_BITS)
		return false;
	for (; page < address + size; page += MEMORY_PAGE) {
		known = &work->pages[page / MEMORY_PAGE % PYTHON_PAGES];
		if (*known != page && !memory_probe(page))
			return false;
		*known = page;
	}
	memory_take(data, address, size);
	return true;
}

static bool read_word(struct python_work *work, uintptr_t address, uintptr_t *word)
{
	return walk_copy(work, word, address, sizeof(*word));
}

/* ---- Thread state ---- */

/* Address of the thread's state at the last walk. */
static __thread uintptr_t own_state;

_Atomic bool python_has_several;

struct state {
	uintptr_t address;
	uint8_t bytes[PYTHON_STATE_BYTES];
};

/* Whether STATE, a copy, belongs to thread SELF. */
static bool state_belongs_to(const struct python_layout *layout, const struct state *state,
			     uintptr_t self)
{
	return word_at(state->bytes, layout->thread_id) == self &&
	       word_at(state->bytes, layout->thread_interpreter);
}

/* Read the state at ADDRESS, which may belong to any thread. Returns whether it belongs to thread SELF. */
static bool state_read(const struct python_layout *layout, struct python_work *work,
		       struct state *state, uintptr_t address, uintptr_t self)
{
	state->address = address;
	return address && address % sizeof(uintptr_t) == 0 &&
	       memory_copies_read(&work->copies, state->bytes, address, PYTHON_STATE_BYTES) &&
	       state_belongs_to(layout, state, self);
}

static bool process_read_word(struct python_work *work, uintptr_t address, uintptr_t *word)
{
	return memory_copies_read(&work->copies, word, address, sizeof(*word));
}

/* Write the addresses of the states of thread SELF to FOUND, at most MAX. Returns their number;
 * *STATE is the last one. */
static size_t state_find_in_lists(const struct python *python, struct python_work *work,
				  struct state *state, uintptr_t self, uintptr_t *found, size_t max)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t interpreter, thread;
	size_t count = 0;
	int looks = 0;

	memory_copies_begin(&work->copies, 0); /* read their current content */
	if (!process_read_word(work, python->runtime + layout->runtime_interpreters, &interpreter))
		return 0;
	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		if (!process_read_word(work, interpreter + layout->interpreter_threads, &thread))
			break;
		while (thread && looks++ < THREADS_MAX) {
			if (state_read(layout, work, state, thread, self))
				found[count++] = thread;
			if (count == max ||
			    !process_read_word(work, thread + layout->thread_next, &thread))
				break;
		}
		if (count == max ||
		    !process_read_word(work, interpreter + layout->interpreter_next, &interpreter))
			break;
	}
	return count;
}

/* If all interpreters share one lock, the state that holds it is the running one of the thread's states. */
static bool state_find_running(const struct python *python, struct python_work *work,
			       struct state *state, uintptr_t self)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t current;

	return layout->runtime_current &&
	       atomic_load_explicit(&python_has_several, memory_order_relaxed) &&
	       process_read_word(work, python->runtime + layout->runtime_current, &current) &&
	       state_read(layout, work, state, current, self);
}

/* Check the address of the thread's previous state. */
static bool state_find_cached(const struct python *python, struct python_work *work,
			      struct state *state, uintptr_t self)
{
	state->address = own_state;
	return own_state && walk_copy(work, state->bytes, own_state, PYTHON_STATE_BYTES) &&
	       state_belongs_to(&python->layout, state, self);
}

static bool state_find(const struct python *python, struct python_work *work, struct state *state,
		       uintptr_t self)
{
	uintptr_t found;

	/* A list may change during the search; therefore it is searched twice. */
	if (!state_find_in_lists(python, work, state, self, &found, 1) &&
	    !state_find_in_lists(python, work, state, self, &found, 1))
		return false;
	own_state = state->address;
	return true;
}

/* ---- Naming ---- */

struct walk {
	const struct python *python;
	struct python_work *work;
	struct memory_reader *stack;
	uintptr_t *frames;
	size_t count, max;
};

#define CONTENTS_PART 64u

/* Combine HASH with the length, the start and the end of the string or bytes object at ADDRESS.
 * HEAD is the size of its header. */
static uint64_t hash_contents(struct python_work *work, uint64_t hash, uintptr_t address,
			      size_t head)
{
	uint8_t parts[2 * CONTENTS_PART] = { 0 };
	uint64_t length, begin, end;

	if (!walk_copy(work, &length, address + 16, sizeof(length)))
		return hash;
	hash = script_text_mix(hash, length);
	begin = length < CONTENTS_PART ? length : CONTENTS_PART;
	end = length - begin < CONTENTS_PART ? length - begin : CONTENTS_PART;
	address += head;
	if ((begin && !walk_copy(work, parts, address, begin)) ||
	    (end && !walk_copy(work, parts + CONTENTS_PART, address + length - end, end)))
		return hash;
	for (size_t at = 0; at < begin + (end ? CONTENTS_PART : 0); at += sizeof(uint64_t))
		hash = script_text_mix(hash, word_at(parts, (unsigned)at));
	return hash;
}

/* Fingerprint that distinguishes a code object from all others that were or will be at its address.
 * Since 3.12 it is a unique number, before that it covers name, file and lines. */
static uint64_t code_fingerprint(struct python_work *work, const struct python_layout *layout,
				 uintptr_t code)
{
	const uint8_t *view = work->code;
	uint64_t hash = script_text_mix(1, code);
	uint32_t number;

	hash = script_text_mix(hash, word_at(view, 16)); /* its size */
	hash = script_text_mix(hash, word_at(view, layout->code_file));
	hash = script_text_mix(hash, word_at(view, layout->code_name));
	hash = script_text_mix(hash, word_at(view, layout->code_qualname));
	hash = script_text_mix(hash, word_at(view, layout->code_lines));
	memcpy(&number, view + layout->code_first_line, sizeof(number));
	hash = script_text_mix(hash, number);
	if (layout->code_version) {
		memcpy(&number, view + layout->code_version, sizeof(number));
		return script_text_mix(hash, number);
	}
	hash = hash_contents(work, hash, word_at(view, layout->code_qualname), layout->ascii_bytes);
	hash = hash_contents(work, hash, word_at(view, layout->code_file), layout->ascii_bytes);
	return hash_contents(work, hash, word_at(view, layout->code_lines), layout->bytes_bytes);
}

/* Offset in bytes of INSTRUCTION, an address or an index, in the code at CODE. */
static int64_t instruction_offset(const struct python_layout *layout, uintptr_t code,
				  uintptr_t instruction, const uint8_t *view)
{
	int64_t units = (int64_t)word_at(view, 16), offset;

	if (layout->chain == PYTHON_OBJECTS) {
		offset = (int32_t)instruction;
		return layout->version >= 0x030a ? offset * 2 : offset;
	}
	offset = (int64_t)(instruction - code - layout->code_start);
	/* A copy of the code, or no instruction yet, as in a frame that was only just created. */
	return offset >= 0 && offset / 2 < units ? offset : -1;
}

/* Whether VIEW is code that the interpreter inserts, as between a class and its __init__ since
 * 3.12. Its file is its own name, and it has no line. Python's own tracebacks omit it. */
static bool is_inserted_code(const struct python_layout *layout, const uint8_t *view)
{
	return word_at(view, layout->code_file) == word_at(view, layout->code_qualname);
}

/* Find the function with the code object CODE, whose first bytes stay in WORK. Returns false if there is none. */
static bool function_find(struct walk *walk, uintptr_t code)
{
	const struct python_layout *layout = &walk->python->layout;
	struct python_work *work = walk->work;
	bool fresh;

	/* Frequent in recursion. */
	if (code == work->code_at)
		return true;
	work->code_at = 0;
	if (!walk_copy(work, work->code, code, sizeof(work->code)) ||
	    word_at(work->code, 8) != walk->python->code_type ||
	    is_inserted_code(layout, work->code))
		return false;
	work->function = frame_table_function(code_fingerprint(work, layout, code), &fresh);
	if (fresh) {
		python_code_names(layout, work, work->code);
		frame_table_describe(work->function, JFR_FRAME_PYTHON, work->name, work->file);
	}
	work->code_at = code;
	return true;
}

static void walk_put_word(struct walk *walk, uintptr_t frame)
{
	if (walk->count < walk->max)
		walk->frames[walk->count++] = frame;
}

/* Add a frame that runs CODE; a frame under construction or removal is left out. */
static void walk_add_frame(struct walk *walk, uintptr_t code, uintptr_t instruction)
{
	const struct python_layout *layout = &walk->python->layout;
	struct python_work *work = walk->work;
	uintptr_t frame;
	int64_t offset;
	bool fresh;

	code &= ~REFERENCE_BITS;
	if (!code || !function_find(walk, code))
		return;
	offset = instruction_offset(layout, code, instruction, work->code);
	frame = frame_table_place(work->function, (uint32_t)offset, &fresh);
	if (fresh)
		frame_table_line(frame, python_code_line(layout, work, work->code, offset));
	if (frame)
		walk_put_word(walk, frame);
}

static void walk_add_anchor(struct walk *walk, uintptr_t address)
{
	walk_put_word(walk, (address & ~(sizeof(uintptr_t) - 1)) | RUNTIME_ANCHOR);
}

/* ---- Walking ---- */

/* Read the frame at ADDRESS, valid until the next call; NULL if it cannot be read. */
static const uint8_t *frame_read(struct walk *walk, uintptr_t address)
{
	struct python_work *work = walk->work;
	const size_t size = walk->python->layout.frame_bytes;
	bool read;

	/* Only the shim at the end of a row is on the stack. */
	if (address - walk->stack->low < walk->stack->high - walk->stack->low)
		read = memory_read(walk->stack, work->frame, address, size);
	else
		read = walk_copy(work, work->frame, address, size);
	return read ? work->frame : NULL;
}

/* A longer chain of frames is a loop. */
#define FRAMES_MAX 1024

/* Walk frames up to 3.10. OUTER is the C frame of the call that runs the innermost frame, if there is one. */
static void walk_objects(struct walk *walk, const struct state *state)
{
	const struct python_layout *layout = &walk->python->layout;
	uintptr_t frame = word_at(state->bytes, layout->thread_frame), outer = 0;
	const uint8_t *bytes;
	uint32_t index;

	if (layout->thread_c_frame)
		outer = word_at(state->bytes, layout->thread_c_frame);
	for (int i = 0; frame && i < FRAMES_MAX && walk->count < walk->max; i++) {
		bytes = frame_read(walk, frame);
		if (!bytes)
			break;
		memcpy(&index, bytes + layout->frame_instruction, sizeof(index));
		frame = word_at(bytes, layout->frame_previous);
		walk_add_frame(walk, word_at(bytes, layout->frame_code), index);
		walk_add_anchor(walk, outer);
		if (outer &&
		    !memory_read_word(walk->stack, outer + layout->c_frame_previous, &outer))
			outer = 0;
	}
}

/* Upper limit of the size of a 3.11 state. */
#define STATE_SIZE 1024

/* Walk frames of 3.11. The outermost C frame is in the thread state and has no frames. */
static void walk_entries(struct walk *walk, const struct state *state)
{
	const struct python_layout *layout = &walk->python->layout;
	uintptr_t outer = word_at(state->bytes, layout->thread_c_frame), frame;
	const uint8_t *bytes;
	bool entry;

	for (int i = 0; outer && i < FRAMES_MAX && walk->count < walk->max;) {
		if (outer - state->address < STATE_SIZE || outer % sizeof(uintptr_t) ||
		    !memory_read_word(walk->stack, outer + layout->c_frame_frame, &frame))
			break;
		for (entry = false; !entry && frame && i < FRAMES_MAX; i++) {
			bytes = frame_read(walk, frame);
			if (!bytes)
				break;
			entry = bytes[layout->frame_entry];
			frame = word_at(bytes, layout->frame_previous);
			walk_add_frame(walk, word_at(bytes, layout->frame_code),
				       word_at(bytes, layout->frame_instruction));
		}
		walk_add_anchor(walk, outer);
		if (!entry ||
		    !memory_read_word(walk->stack, outer + layout->c_frame_previous, &outer))
			break;
	}
}

/* Walk frames since 3.12. */
static void walk_shims(struct walk *walk, const struct state *state)
{
	const struct python_layout *layout = &walk->python->layout;
	uintptr_t frame, here;
	const uint8_t *bytes;

	if (layout->thread_c_frame) {
		frame = word_at(state->bytes, layout->thread_c_frame);
		if (!memory_read_word(walk->stack, frame + layout->c_frame_frame, &frame))
			return;
	} else {
		frame = word_at(state->bytes, layout->thread_frame);
	}
	for (int i = 0; frame && i < FRAMES_MAX && walk->count < walk->max; i++) {
		here = frame;
		bytes = frame_read(walk, here);
		if (!bytes)
			break;
		frame = word_at(bytes, layout->frame_previous);
		if (bytes[layout->frame_owner] >= layout->shim_owner)
			walk_add_anchor(walk, here);
		else
			walk_add_frame(walk, word_at(bytes, layout->frame_code),
				       word_at(bytes, layout->frame_instruction));
	}
}

/* A thread that runs one interpreter within a call of another has a state for each. */
#define STATES_MAX 8

/* End of the innermost row of frames of STATE; UINTPTR_MAX if it has none. */
static uintptr_t state_innermost_end(struct walk *walk, const struct state *state)
{
	const size_t before = walk->count;
	uintptr_t end = UINTPTR_MAX;

	walk_shims(walk, state);
	for (size_t i = before; i < walk->count && end == UINTPTR_MAX; i++)
		if (walk->frames[i] & RUNTIME_ANCHOR)
			end = walk->frames[i];
	walk->count = before;
	return end;
}

/* Walk the frames of all states, the innermost state first. */
static void walk_states(struct walk *walk, struct state *state)
{
	const struct python_layout *layout = &walk->python->layout;
	uintptr_t self = program_thread_self(), found[STATES_MAX], ends[STATES_MAX];
	size_t count = state_find_in_lists(walk->python, walk->work, state, self, found,
					   STATES_MAX),
	       next;

	for (size_t i = 0; i < count; i++)
		ends[i] = state_read(layout, walk->work, state, found[i], self)
				  ? state_innermost_end(walk, state)
				  : UINTPTR_MAX;
	for (size_t done = 0; done < count; done++) {
		next = 0;
		for (size_t i = 1; i < count; i++)
			if (ends[i] < ends[next])
				next = i;
		if (ends[next] != UINTPTR_MAX &&
		    state_read(layout, walk->work, state, found[next], self))
			walk_shims(walk, state);
		ends[next] = UINTPTR_MAX;
	}
}

size_t python_walk(const struct python *python, struct python_work *work,
		   struct memory_reader *stack, uintptr_t *frames, size_t max)
{
	static void (*const walks[])(struct walk * walk, const struct state *state) = {
		[PYTHON_OBJECTS] = walk_objects,
		[PYTHON_ENTRIES] = walk_entries,
		[PYTHON_SHIMS] = walk_shims,
	};
	struct walk walk = {
		.python = python, .work = work, .stack = stack, .frames = frames, .max = max
	};
	uintptr_t self = program_thread_self(), ending;
	struct state state;

	memset(work->pages, 0, sizeof(work->pages));
	work->code_at = 0;
	work->is_stable = work->is_at_call;
	work->is_stable =
		work->is_stable &&
		read_word(work, python->runtime + python->layout.runtime_ending, &ending) &&
		!ending;
	memory_copies_begin(&work->copies, work->is_stable ? 0 : self);
	if (python->layout.chain == PYTHON_SHIMS &&
	    atomic_load_explicit(&python_has_several, memory_order_relaxed))
		walk_states(&walk, &state);
	else if (state_find_running(python, work, &state, self) ||
		 state_find_cached(python, work, &state, self))
		walks[python->layout.chain](&walk, &state);
	/* The state of an ended thread may match a new thread with the same identity and address;
	 * such a state runs no frames. */
	if (!walk.count && state_find(python, work, &state, self))
		walks[python->layout.chain](&walk, &state);
	if (!work->is_stable)
		memory_copies_end(&work->copies, self);
	return walk.count;
}
