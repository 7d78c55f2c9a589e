/* Walk of the JavaScript frames of the calling thread, in a signal handler or an allocation.
 *
 * The slots below the frame pointer identify a frame of V8's code, compiled or built in. They hold
 * a number if the code is V8's own, or a context followed by the running function. A frame under
 * construction or removal is left as it is. */
#include <string.h>

#include "engine/runtime/v8/v8.h"

#define SLOT_CONTEXT  8
#define SLOT_FUNCTION 16
#define SLOT_BYTECODE 32 /* of bytecode, and of baseline code */
#define SLOT_OFFSET   40 /* bytecode only: offset of the current one */

/* Higher numbers are not frame kinds. */
#define KINDS_MAX 64

struct walk {
	const struct v8 *v8;
	struct v8_work *work;
	struct memory_reader *stack;
	const struct native_frames *native;
	uintptr_t *out;
	size_t length, max;
	bool found;
	uintptr_t
		inside; /* frames below this address are part of a function's frame and are left out */
};

static void walk_add_frame(struct walk *walk, uintptr_t frame)
{
	if (walk->length < walk->max)
		walk->out[walk->length] = frame;
	walk->length++;
}

/* ---- Functions ---- */

/* A function that is inlined in another is placed above it. */
static void walk_add_compiled(struct walk *walk, const struct v8_function *function,
			      const struct v8_code *code, struct v8_position position)
{
	const struct v8 *v8 = walk->v8;
	struct v8_work *work = walk->work;
	uintptr_t frames[V8_INLINED_MAX], shared;
	struct v8_function inlined;
	uint32_t number;
	size_t count = 0;

	while (position.inlined && count < V8_INLINED_MAX) {
		struct v8_position caller;

		number = position.inlined;
		if (!v8_inlined(v8, work, code, number, &shared, &caller) ||
		    /* An inlined function refers only to an earlier entry. */
		    caller.inlined >= number ||
		    !v8_function(v8, work, shared ? shared : function->shared, &inlined))
			break;
		frames[count++] = v8_place(v8, work, &inlined, position.offset);
		position = caller;
	}
	/* If the chain cannot be resolved to its end, none of it is added. */
	if (position.inlined) {
		count = 0;
		position.offset = -1;
	}
	for (size_t i = 0; i < count; i++)
		walk_add_frame(walk, frames[i]);
	walk_add_frame(walk, v8_place(v8, work, function, position.offset));
}

static void walk_add_bytecode(struct walk *walk, const struct v8_function *function,
			      uintptr_t array, int32_t offset)
{
	const struct v8 *v8 = walk->v8;
	struct v8_position position = { .offset = -1 };

	if (offset >= 0)
		position = v8_position_at(v8, walk->work, array + v8->layout.bytecode_positions,
					  (uint32_t)offset);
	walk_add_frame(walk, v8_place(v8, walk->work, function, position.offset));
}

static bool frame_read_slot(struct walk *walk, size_t i, uintptr_t slot, uintptr_t *value)
{
	uintptr_t at = walk->native->fps[i] - slot;

	/* Memory below the stack pointer holds old data. */
	return at >= walk->native->sps[i] && at % sizeof(*value) == 0 &&
	       memory_read_word(walk->stack, at, value);
}

/* Bytecode array of frame I, interpreted or as baseline code; 0 if it runs other code. */
static uintptr_t frame_bytecode(struct walk *walk, size_t i)
{
	uintptr_t slot, array;
	uint16_t type;

	if (!frame_read_slot(walk, i, SLOT_BYTECODE, &slot))
		return 0;
	array = v8_object(walk->v8, walk->work, slot, &type);
	return array && type == walk->v8->layout.bytecode_array ? array : 0;
}

static bool is_in_module(const struct walk *walk, uintptr_t pc)
{
	return pc - walk->v8->base.text < walk->v8->base.text_end - walk->v8->base.text;
}

/* Add FUNCTION, which runs in frame I. */
static void walk_add_function(struct walk *walk, size_t i, const struct v8_function *function)
{
	const struct v8_layout *l = &walk->v8->layout;
	bool exact = !i && walk->native->is_exact;
	uintptr_t pc = walk->native->pcs[i] - !exact, array = frame_bytecode(walk, i), slot;
	struct v8_code code;
	uint32_t offset;
	int32_t at = -1;

	if (array) {
		if (frame_read_slot(walk, i, SLOT_OFFSET, &slot) && v8_is_small_integer(slot))
			at = v8_small_integer(slot) - (l->bytecode_data - 1);
		else if (!is_in_module(walk, pc) && v8_code_at(walk->v8, walk->work, pc, &code) &&
			 code.kind == l->kind_baseline)
			at = v8_baseline_offset(walk->v8, walk->work, &code, array,
						(uint32_t)(pc - code.start));
		walk_add_bytecode(walk, function, array, at);
		return;
	}
	if (is_in_module(walk, pc) || !v8_code_at(walk->v8, walk->work, pc, &code) ||
	    code.kind <= l->kind_baseline) {
		walk_add_frame(walk, v8_place(walk->v8, walk->work, function, -1));
		return;
	}
	offset = (uint32_t)(pc - code.start);
	walk_add_compiled(walk, function, &code,
			  exact ? v8_instruction_position(walk->v8, walk->work, &code, offset)
				: v8_position_at(walk->v8, walk->work,
						 code.object + l->code_positions, offset));
}

/* ---- Frames ---- */

/* Add a frame of V8's own code, which is not part of the program. If it has a name, it keeps it. */
static void walk_add_stub(struct walk *walk, size_t i)
{
	uintptr_t pc = walk->native->pcs[i];
	bool fresh;

	if (is_in_module(walk, pc)) {
		walk_add_frame(walk, pc);
		return;
	}
	if (!walk->work->stub) {
		walk->work->stub = frame_table_function(V8_STUB_PRINT, &fresh);
		if (fresh)
			frame_table_describe(walk->work->stub, JFR_FRAME_JAVASCRIPT, V8_STUB_NAME,
					     "");
	}
	walk_add_frame(walk, frame_table_place(walk->work->stub, 0, &fresh));
}

/* Find the function that runs in frame I, if there is one. */
static bool find_function(struct walk *walk, size_t i, uintptr_t context,
			  struct v8_function *function)
{
	const struct v8_layout *l = &walk->v8->layout;
	uintptr_t slot, object;
	uint16_t type;

	if (!v8_object(walk->v8, walk->work, context, &type) || type < l->first_context ||
	    type > l->last_context || !frame_read_slot(walk, i, SLOT_FUNCTION, &slot))
		return false;
	object = v8_object(walk->v8, walk->work, slot, &type);
	if (!object || type < l->first_function || type > l->last_function)
		return false;
	object = v8_field(walk->v8, walk->work, object + l->function_shared, l->shared_info);
	return object && v8_function(walk->v8, walk->work, object, function);
}

/* Frame I is complete: its caller is next to its frame pointer and return address. Before that, a
 * slot may hold the data of an older frame, which the walk may have used. */
static void walk_note_complete(struct walk *walk, size_t i)
{
	walk->found = true;
	walk->inside = walk->native->fps[i] + 2 * sizeof(uintptr_t);
}

static void walk_add_native(struct walk *walk, size_t i)
{
	const struct native_frames *native = walk->native;
	struct v8_function function;
	uintptr_t context;

	if (native->sps[i] < walk->inside)
		return;
	if (!native->fps[i]) {
		walk_add_frame(walk, native->pcs[i]);
		return;
	}
	/* Of frames with the same frame pointer, the outermost has set it. The others are V8's own
	 * code, or have not set theirs yet. */
	if (i + 1 < native->count && native->fps[i + 1] == native->fps[i]) {
		walk_add_stub(walk, i);
		return;
	}
	if (!frame_read_slot(walk, i, SLOT_CONTEXT, &context)) {
		walk_add_frame(walk, native->pcs[i]);
	} else if (!(context & 1) && context && context / 2 < KINDS_MAX) {
		walk_note_complete(walk, i);
		walk_add_stub(walk, i);
	} else if (find_function(walk, i, context, &function)) {
		walk_note_complete(walk, i);
		walk_add_function(walk, i, &function);
	} else {
		walk_add_frame(walk, native->pcs[i]);
	}
}

/* Its address identifies the thread. */
static __thread char self;

size_t v8_walk(const struct v8 *v8, struct v8_work *work, struct memory_reader *stack,
	       const struct native_frames *native, uintptr_t *out, size_t max, bool *truncated)
{
	struct walk walk = {
		.v8 = v8, .work = work, .stack = stack, .native = native, .out = out, .max = max
	};

	memory_copies_begin(&work->copies, (uintptr_t)&self);
	work->last.shared = 0;
	work->looks = 0;
	work->stub = 0; /* the table may have been renewed */
	for (size_t i = 0; i < native->count; i++)
		walk_add_native(&walk, i);
	memory_copies_end(&work->copies, (uintptr_t)&self);
	if (!walk.found)
		return 0;
	*truncated |= walk.length > max;
	return walk.length < max ? walk.length : max;
}
