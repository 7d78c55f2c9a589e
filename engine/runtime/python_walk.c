/* The frames of CPython that the calling thread runs, from a signal handler or an allocation.
 *
 * The thread itself is what changes them, and it is here: so they stay as they are. But it may have
 * been interrupted while it made one or took one down, and another thread may end the interpreter: all
 * memory is read so that it can be gone, what says that it is a code object has to be one, and every
 * loop has an end. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/runtime/frame_table.h"
#include "engine/runtime/python.h"

#define INTERPRETERS_MAX 64
#define THREADS_MAX      1024

/* From 3.14 on low bits of a reference say how it is counted. */
#define REFERENCE_BITS ((uintptr_t)7)

/* ---- Reading ---- */

static uintptr_t word_at(const uint8_t *bytes, unsigned offset)
{
	uintptr_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static bool read_word(uintptr_t address, uintptr_t *word)
{
	return memory_copy(word, address, sizeof(*word));
}

/* ---- The thread's state ---- */

/* Where threads had theirs. Any number of threads may share a slot: whose it is is looked at in the
 * state itself. */
#define SLOTS 256

static struct {
	_Atomic uintptr_t state;
} slots[SLOTS];

static _Atomic uintptr_t *slot_of(uintptr_t self)
{
	return &slots[(self * 0x9e3779b97f4a7c15u) >> 56].state;
}

struct state {
	uintptr_t address;
	uint8_t bytes[PYTHON_STATE_BYTES];
};

/* Read the state at ADDRESS, and whether it is thread SELF's. */
static bool is_of(const struct python_layout *layout, struct state *state, uintptr_t address,
		  uintptr_t self)
{
	state->address = address;
	return address && address % sizeof(uintptr_t) == 0 &&
	       memory_copy(state->bytes, address, PYTHON_STATE_BYTES) &&
	       word_at(state->bytes, layout->thread_id) == self &&
	       word_at(state->bytes, layout->thread_interpreter);
}

/* Write where the states of thread SELF are to FOUND, MAX at most. Returns how many; *STATE is the
 * last. */
static size_t find_in_lists(const struct python *python, struct state *state, uintptr_t self,
			    uintptr_t *found, size_t max)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t interpreter, thread;
	size_t count = 0;
	int looks = 0;

	if (!read_word(python->runtime + layout->runtime_interpreters, &interpreter))
		return 0;
	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		if (!read_word(interpreter + layout->interpreter_threads, &thread))
			break;
		while (thread && looks++ < THREADS_MAX) {
			if (is_of(layout, state, thread, self))
				found[count++] = thread;
			if (count == max || !read_word(thread + layout->thread_next, &thread))
				break;
		}
		if (count == max ||
		    !read_word(interpreter + layout->interpreter_next, &interpreter))
			break;
	}
	return count;
}

/* The thread's state goes to *STATE. A thread can have several: where there is one lock for all
 * interpreters, the one that holds it is the one that runs. */
static bool find_state(const struct python *python, struct state *state)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t self = (uintptr_t)pthread_self(), current;
	_Atomic uintptr_t *slot = slot_of(self);

	if (layout->runtime_current &&
	    read_word(python->runtime + layout->runtime_current, &current) &&
	    is_of(layout, state, current, self))
		return true;
	if (is_of(layout, state, atomic_load_explicit(slot, memory_order_relaxed), self))
		return true;
	if (!find_in_lists(python, state, self, &current, 1))
		return false;
	atomic_store_explicit(slot, state->address, memory_order_relaxed);
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

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}

/* What tells a code object from all that were, or will be, at its address: from 3.12 on a number that
 * is given once, before that what its name says and how its lines begin. */
static uint64_t print_of(const struct python_layout *layout, const struct python_pending *pending,
			 const uint8_t *view, uint8_t contents[2][64])
{
	uint64_t hash = mix(1, pending->code);
	uint32_t number;

	hash = mix(hash, word_at(view, 16)); /* its size */
	hash = mix(hash, word_at(view, layout->code_file));
	hash = mix(hash, word_at(view, layout->code_name));
	hash = mix(hash, word_at(view, layout->code_qualname));
	hash = mix(hash, word_at(view, layout->code_lines));
	memcpy(&number, view + layout->code_first_line, sizeof(number));
	hash = mix(hash, number);
	if (layout->code_version) {
		memcpy(&number, view + layout->code_version, sizeof(number));
		return mix(hash, number);
	}
	for (size_t i = 0; i < 2; i++)
		for (size_t at = 0; at < sizeof(contents[i]); at += sizeof(uint64_t))
			hash = mix(hash, word_at(contents[i], (unsigned)at));
	return hash;
}

/* Copy COUNT places into as many pieces of BYTES; those that cannot be read become zeros. */
static void copy_places(struct iovec *places, size_t count, uint8_t *out, size_t bytes)
{
	size_t done = 0;
	long n;

	for (size_t i = 0; i < count; i++)
		places[i].iov_len = bytes;
	memset(out, 0, count * bytes);
	while (done < count) {
		n = memory_copy_places(out + done * bytes, (count - done) * bytes, places + done,
				       count - done);
		if (n > 0)
			done += (size_t)n / bytes;
		if (done == count)
			break;
		/* That one is gone, or the call is refused. */
		if (!memory_copy(out + done * bytes, (uintptr_t)places[done].iov_base, bytes))
			memset(out + done * bytes, 0, bytes);
		done++;
	}
}

static void look_at_contents(const struct python_layout *layout, struct python_work *work,
			     size_t count)
{
	/* Behind the type of a string or of bytes; both are longer than that. */
	const size_t skip = 16;

	for (size_t i = 0; i < count; i++) {
		const uint8_t *view = work->codes[i];

		work->places[2 * i].iov_base =
			(void *)(word_at(view, layout->code_qualname) + skip);
		work->places[2 * i + 1].iov_base =
			(void *)(word_at(view, layout->code_lines) + skip);
	}
	copy_places(work->places, 2 * count, work->contents[0], sizeof(work->contents[0]));
	/* Of a string that ends there, only its characters. */
	for (size_t i = 0; i < 2 * count; i++) {
		uint8_t *content = work->contents[i];
		uint64_t length = word_at(content, 0);
		size_t used = i % 2 ? layout->bytes_bytes - skip : layout->ascii_bytes - skip;

		memset(content + 8, 0, 8); /* the hash, which is kept once it is asked for */
		if (length < sizeof(work->contents[0]) - used)
			memset(content + used + length, 0,
			       sizeof(work->contents[0]) - used - length);
	}
}

/* The offset in bytes of the instruction that PENDING is at, in its code. */
static int64_t offset_of(const struct python_layout *layout, const struct python_pending *pending,
			 const uint8_t *view)
{
	int64_t units = (int64_t)word_at(view, 16), offset;

	if (layout->chain == PYTHON_OBJECTS) {
		offset = (int32_t)pending->instruction;
		return layout->version >= 0x030a ? offset * 2 : offset;
	}
	offset = (int64_t)(pending->instruction - pending->code - layout->code_start);
	/* A copy of the code, or nothing yet: as in a frame that has only just been made. */
	return offset >= 0 && offset < units * 2 ? offset : -1;
}

/* PENDING, whose code object is number I of those that were read. */
static void name_pending(struct walk *walk, const struct python_pending *pending, size_t i)
{
	const struct python_layout *layout = &walk->python->layout;
	struct python_work *work = walk->work;
	const uint8_t *view = work->codes[i];
	uintptr_t frame;
	uint32_t function;
	int64_t offset;
	bool fresh;

	if (word_at(view, 8) != walk->python->code_type)
		return;
	function = frame_table_function(print_of(layout, pending, view, &work->contents[2 * i]),
					&fresh);
	if (fresh) {
		python_code_names(layout, work, view);
		frame_table_describe(function, work->name, work->file);
	}
	offset = offset_of(layout, pending, view);
	frame = frame_table_place(function, (uint32_t)offset, &fresh);
	if (fresh)
		frame_table_line(frame, python_code_line(layout, work, view, offset));
	if (frame)
		walk->frames[walk->count++] = frame;
}

/* Name what is pending; anchors go between. */
static void flush(struct walk *walk)
{
	struct python_work *work = walk->work;
	size_t codes = 0;

	for (size_t i = 0; i < work->pending_count; i++)
		if (work->pending[i].code)
			work->places[codes++].iov_base = (void *)work->pending[i].code;
	copy_places(work->places, codes, work->codes[0], sizeof(work->codes[0]));
	if (!walk->python->layout.code_version)
		look_at_contents(&walk->python->layout, work, codes);
	codes = 0;
	for (size_t i = 0; i < work->pending_count && walk->count < walk->max; i++) {
		if (work->pending[i].code)
			name_pending(walk, &work->pending[i], codes++);
		else
			walk->frames[walk->count++] = work->pending[i].instruction;
	}
	work->pending_count = 0;
}

static void add_pending(struct walk *walk, uintptr_t code, uintptr_t instruction)
{
	struct python_work *work = walk->work;

	work->pending[work->pending_count].code = code;
	work->pending[work->pending_count++].instruction = instruction;
	if (work->pending_count == PYTHON_BATCH)
		flush(walk);
}

static void add(struct walk *walk, uintptr_t code, uintptr_t instruction)
{
	if (code & ~REFERENCE_BITS)
		add_pending(walk, code & ~REFERENCE_BITS, instruction);
}

static void anchor(struct walk *walk, uintptr_t address)
{
	add_pending(walk, 0, (address & ~(sizeof(uintptr_t) - 1)) | PYTHON_ANCHOR);
}

/* ---- Walking ---- */

/* The frame at ADDRESS, until the next call; NULL when it cannot be read. */
static const uint8_t *look(struct walk *walk, uintptr_t address)
{
	struct python_work *work = walk->work;
	const size_t size = walk->python->layout.frame_bytes, most = sizeof(work->window);
	uintptr_t from = address + size - most;

	/* On the stack there is none but what ends a row. */
	if (address - walk->stack->low < walk->stack->high - walk->stack->low)
		return memory_read(walk->stack, work->on_stack, address, size) ? work->on_stack
									       : NULL;
	if (address - work->window_at < work->window_bytes &&
	    size <= work->window_bytes - (address - work->window_at))
		return work->window + (address - work->window_at);
	/* What comes next lies below, mostly. */
	if (address > most && memory_copy_some(work->window, from, most) == (long)most) {
		work->window_at = from;
		work->window_bytes = most;
	} else if (memory_copy(work->window, address, size)) {
		work->window_at = address;
		work->window_bytes = size;
	} else {
		work->window_bytes = 0;
		return NULL;
	}
	return work->window + (address - work->window_at);
}

/* A frame that is said to be one more than this is a loop. */
#define FRAMES_MAX 1024

/* Frames up to 3.10. OUTER is the C frame of the call that runs the innermost, where there are such. */
static void walk_objects(struct walk *walk, const struct state *state)
{
	const struct python_layout *layout = &walk->python->layout;
	uintptr_t frame = word_at(state->bytes, layout->thread_frame), outer = 0;
	const uint8_t *bytes;
	uint32_t index;

	if (layout->thread_c_frame)
		outer = word_at(state->bytes, layout->thread_c_frame);
	for (int i = 0; frame && i < FRAMES_MAX && walk->count < walk->max; i++) {
		bytes = look(walk, frame);
		if (!bytes)
			break;
		memcpy(&index, bytes + layout->frame_instruction, sizeof(index));
		frame = word_at(bytes, layout->frame_previous);
		add(walk, word_at(bytes, layout->frame_code), index);
		anchor(walk, outer);
		if (outer &&
		    !memory_read_word(walk->stack, outer + layout->c_frame_previous, &outer))
			outer = 0;
	}
	flush(walk);
}

/* More than a state of 3.11 has. */
#define STATE_SIZE 1024

/* Frames of 3.11. The outermost C frame is in the thread's state, and has none. */
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
			bytes = look(walk, frame);
			if (!bytes)
				break;
			entry = bytes[layout->frame_entry];
			frame = word_at(bytes, layout->frame_previous);
			add(walk, word_at(bytes, layout->frame_code),
			    word_at(bytes, layout->frame_instruction));
		}
		anchor(walk, outer);
		if (!entry ||
		    !memory_read_word(walk->stack, outer + layout->c_frame_previous, &outer))
			break;
	}
	flush(walk);
}

/* Frames from 3.12 on. */
static void walk_shims(struct walk *walk, const struct state *state)
{
	const struct python_layout *layout = &walk->python->layout;
	uintptr_t frame, here;
	const uint8_t *bytes;

	if (layout->thread_c_frame) {
		frame = word_at(state->bytes, layout->thread_c_frame);
		if (!read_word(frame + layout->c_frame_frame, &frame))
			return;
	} else {
		frame = word_at(state->bytes, layout->thread_frame);
	}
	for (int i = 0; frame && i < FRAMES_MAX && walk->count < walk->max; i++) {
		here = frame;
		bytes = look(walk, here);
		if (!bytes)
			break;
		frame = word_at(bytes, layout->frame_previous);
		if (bytes[layout->frame_owner] >= layout->shim_owner)
			anchor(walk, here);
		else
			add(walk, word_at(bytes, layout->frame_code),
			    word_at(bytes, layout->frame_instruction));
	}
	flush(walk);
}

_Atomic bool python_has_several;

/* A thread that runs one interpreter within another's call has a state for each. */
#define STATES_MAX 8

/* Where the innermost row of frames ends that STATE has; UINTPTR_MAX where it has none. */
static uintptr_t innermost(struct walk *walk, const struct state *state)
{
	const size_t before = walk->count;
	uintptr_t end = UINTPTR_MAX;

	walk_shims(walk, state);
	for (size_t i = before; i < walk->count && end == UINTPTR_MAX; i++)
		if (walk->frames[i] & PYTHON_ANCHOR)
			end = walk->frames[i];
	walk->count = before;
	return end;
}

/* The frames of all states, the innermost state first. */
static void walk_states(struct walk *walk, struct state *state)
{
	const struct python_layout *layout = &walk->python->layout;
	uintptr_t self = (uintptr_t)pthread_self(), found[STATES_MAX], ends[STATES_MAX];
	size_t count = find_in_lists(walk->python, state, self, found, STATES_MAX), next;

	for (size_t i = 0; i < count; i++)
		ends[i] =
			is_of(layout, state, found[i], self) ? innermost(walk, state) : UINTPTR_MAX;
	for (size_t done = 0; done < count; done++) {
		next = 0;
		for (size_t i = 1; i < count; i++)
			if (ends[i] < ends[next])
				next = i;
		if (ends[next] != UINTPTR_MAX && is_of(layout, state, found[next], self))
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
	struct state state;

	work->window_bytes = work->pending_count = 0;
	if (python->layout.chain == PYTHON_SHIMS &&
	    atomic_load_explicit(&python_has_several, memory_order_relaxed))
		walk_states(&walk, &state);
	else if (find_state(python, &state))
		walks[python->layout.chain](&walk, &state);
	return walk.count;
}
