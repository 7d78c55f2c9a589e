/* Walk of the PHP frames of the calling thread, in a signal handler or an allocation.
 *
 * Only the calling thread changes its frames, so they stay in place. It may have been interrupted
 * while it created or removed a frame, or all of them. Therefore the kernel copies what is read,
 * each function and string is checked to be one, and every loop is bounded.
 *
 * Names and positions identify a function: a script's functions are freed at the end of a request,
 * and other functions reuse their addresses. */
#include <string.h>
#include <ucontext.h>

#include "core/preload_code.h"
#include "engine/reading/words.h"
#include "engine/runtime/php/php.h"
#include "engine/runtime/script_text.h"

/* struct _zend_execute_data: a frame. */
#define FRAME_INSTRUCTION 0
#define FRAME_FUNCTION    24
#define FRAME_FLAGS       40 /* u1.type_info of This */
#define FRAME_PREVIOUS    48
#define FRAME_BYTES       56

#define FLAG_TOP (1u << 17) /* ZEND_CALL_TOP: the evaluator returns after this frame */

/* union _zend_function. */
#define FUNCTION_TYPE  0
#define FUNCTION_NAME  8
#define FUNCTION_SCOPE 16
#define FUNCTION_BYTES 24 /* the bytes that are read of PHP's internal functions, in C */

enum { TYPE_INTERNAL = 1, TYPE_USER = 2, TYPE_EVAL = 4 };

#define CLASS_NAME 8 /* struct _zend_class_entry */

/* struct _zend_string. */
#define STRING_TYPE   4
#define STRING_LENGTH 16
#define STRING_TEXT   24
#define TYPE_MASK     15
#define TYPE_STRING   6
#define LENGTH_MAX    65536 /* a longer string is not a name */

#define INSTRUCTION_BYTES 32 /* struct _zend_op */
#define INSTRUCTION_CODE  0  /* its handler */
#define INSTRUCTION_LINE  24

/* EG(vm_stack_page_size): 16 KiB in fibers, 256 KiB elsewhere. */
#define PART_MIN 4096
#define PART_MAX (16u << 20)

/* A longer chain is a loop. */
#define FRAMES_MAX 1024

struct walk {
	const struct php *php;
	struct php_work *work;
	const struct native_frames *native;
	uintptr_t *frames;
	size_t count, max;
	size_t rows; /* rows of frames, each run by a call of the evaluator */
	/* Whether the evaluator calls a handler for each instruction and has no inline handlers, as
	 * selected at compile time (ZEND_VM_KIND_CALL). */
	bool has_call_handlers;
	bool is_other_stack; /* the following frames are on another stack */
};

/* ---- Reading ---- */

static bool is_in_text(const struct walk *walk, uintptr_t pc)
{
	return pc - walk->php->base.text < walk->php->base.text_end - walk->php->base.text;
}

static bool walk_read(struct walk *walk, void *data, uintptr_t address, size_t size)
{
	return address % sizeof(uintptr_t) == 0 &&
	       memory_copies_read(&walk->work->copies, data, address, size);
}

/* Write the string at ADDRESS to TEXT, cut to SIZE - 1 bytes. Returns false if there is none. */
static bool read_string(struct walk *walk, uintptr_t address, char *text, size_t size)
{
	uint8_t head[STRING_TEXT];
	uint64_t length;

	if (!walk_read(walk, head, address, sizeof(head)) ||
	    (half_at(head, STRING_TYPE) & TYPE_MASK) != TYPE_STRING)
		return false;
	length = word_at(head, STRING_LENGTH);
	if (!length || length > LENGTH_MAX)
		return false;
	if (length > size - 1)
		length = size - 1;
	if (!walk_read(walk, text, address + STRING_TEXT, length))
		return false;
	text[length] = '\0';
	script_text_clean(text, length);
	return true;
}

/* ---- Functions ---- */

/* Write the name of the function in WORK to WORK's name. Returns false if it has none. */
static bool function_read_name(struct walk *walk, uint8_t type)
{
	struct php_work *work = walk->work;
	uintptr_t name = word_at(work->function, FUNCTION_NAME);
	uintptr_t scope = word_at(work->function, FUNCTION_SCOPE);
	size_t used = 0;

	if (!name) {
		/* The top-level code of a file, or of an eval string. */
		const char *code = type == TYPE_EVAL ? "{eval}" : "{main}";

		memcpy(work->name, code, strlen(code) + 1);
		return type != TYPE_INTERNAL;
	}
	if (scope) {
		if (!walk_read(walk, &scope, scope + CLASS_NAME, sizeof(scope)) ||
		    !read_string(walk, scope, work->name, sizeof(work->name) / 2))
			return false;
		used = strlen(work->name);
		work->name[used++] = ':';
		work->name[used++] = ':';
	}
	return read_string(walk, name, work->name + used, sizeof(work->name) - used);
}

/* Find the function at ADDRESS, whose first bytes stay in WORK. Returns false if there is none. */
static bool function_find(struct walk *walk, uintptr_t address)
{
	const struct php_layout *layout = &walk->php->layout;
	struct php_work *work = walk->work;
	uint32_t line = 0;
	uint64_t fingerprint;
	uint8_t type;
	bool fresh;

	/* Frequent in recursion. */
	if (address == work->function_at)
		return true;
	work->function_at = 0;
	memset(work->function, 0, FUNCTION_BYTES);
	if (!walk_read(walk, work->function, address, FUNCTION_BYTES))
		return false;
	type = work->function[FUNCTION_TYPE];
	work->file[0] = '\0';
	if (type == TYPE_USER || type == TYPE_EVAL) {
		if (!walk_read(walk, work->function, address, sizeof(work->function)) ||
		    !read_string(walk, word_at(work->function, layout->function_file), work->file,
				 sizeof(work->file)))
			return false;
		line = half_at(work->function, layout->function_line);
	} else if (type != TYPE_INTERNAL) {
		return false;
	}
	if (!function_read_name(walk, type))
		return false;
	fingerprint = script_text_fingerprint(script_text_mix(type, line), work->name);
	work->number =
		frame_table_function(script_text_fingerprint(fingerprint, work->file), &fresh);
	if (fresh)
		frame_table_describe(work->number, JFR_FRAME_PHP, work->name, work->file);
	work->function_at = address;
	return true;
}

/* Instruction in the registers, if they hold FRAME: gcc builds keep the frame and the evaluator's
 * instruction in two registers (ZEND_VM_FP_GLOBAL_REG in Zend/zend_execute.c). The frame itself
 * holds an instruction only if that may call a function. */
static uintptr_t register_instruction(const struct walk *walk, uintptr_t frame)
{
	const ucontext_t *context = walk->native->context;
	uintptr_t current, instruction;

	if (!context)
		return 0;
#if defined(__x86_64__)
	current = (uintptr_t)context->uc_mcontext.gregs[REG_R14];
	instruction = (uintptr_t)context->uc_mcontext.gregs[REG_R15];
#elif defined(__aarch64__)
	current = context->uc_mcontext.regs[27];
	instruction = context->uc_mcontext.regs[28];
#else
	current = instruction = 0;
#endif
	return current == frame ? instruction : 0;
}

/* Whether the function in WORK has an instruction at ADDRESS. */
static bool has_instruction(const struct walk *walk, uintptr_t address)
{
	const struct php_layout *layout = &walk->php->layout;
	const uint8_t *function = walk->work->function;
	uintptr_t offset = address - word_at(function, layout->function_code);
	uint64_t count = half_at(function, layout->function_count);

	return offset % INSTRUCTION_BYTES == 0 && offset / INSTRUCTION_BYTES < count;
}

/* Check where the handler of INSTRUCTION is. */
static void walk_note_handler(struct walk *walk, uintptr_t instruction)
{
	const struct runtime *base = &walk->php->base;
	uintptr_t code;

	if (walk_read(walk, &code, instruction + INSTRUCTION_CODE, sizeof(code)))
		walk->has_call_handlers =
			is_in_text(walk, code) &&
			code - base->evaluator >= base->evaluator_end - base->evaluator;
}

/* Current line of the frame at ADDRESS. FRAME holds its first bytes. */
static uint32_t frame_line(struct walk *walk, uintptr_t address, const uint8_t *frame)
{
	uintptr_t instruction = 0;
	uint32_t line;

	if (walk->work->function[FUNCTION_TYPE] == TYPE_INTERNAL)
		return 0;
	if (!walk->count)
		instruction = register_instruction(walk, address);
	if (!instruction || !has_instruction(walk, instruction))
		instruction = word_at(frame, FRAME_INSTRUCTION);
	/* A frame that has not started, or that an exception leaves, has an instruction outside its function. */
	if (!has_instruction(walk, instruction) ||
	    !walk_read(walk, &line, instruction + INSTRUCTION_LINE, sizeof(line)))
		return half_at(walk->work->function, walk->php->layout.function_line);
	if (!walk->has_call_handlers)
		walk_note_handler(walk, instruction);
	return line;
}

/* ---- Walking ---- */

static void walk_put_word(struct walk *walk, uintptr_t frame)
{
	if (walk->count < walk->max)
		walk->frames[walk->count++] = frame;
}

/* Add the frame at ADDRESS. FRAME holds its first bytes; a frame without a function is left out. */
static void walk_add_frame(struct walk *walk, uintptr_t address, const uint8_t *frame)
{
	uintptr_t function = word_at(frame, FRAME_FUNCTION), place;
	uint32_t line;
	bool fresh;

	/* A generator that delegates to another, or the base frame of a call from C. */
	if (!function)
		return;
	if (!function_find(walk, function)) {
		/* The last frame of a fiber (zend_fiber_function), which has its own stack. */
		walk->is_other_stack |= walk->work->function[FUNCTION_TYPE] == TYPE_INTERNAL &&
					!word_at(walk->work->function, FUNCTION_NAME);
		return;
	}
	line = frame_line(walk, address, frame);
	place = frame_table_place(walk->work->number, line, &fresh);
	if (fresh)
		frame_table_line(place, line);
	if (place)
		walk_put_word(walk, place);
}

/* Read the address of the innermost frame; 0: there is none. The field before it holds the
 * allocation size of frame memory. Returns false if that is invalid: then the structure is not the
 * expected one. */
static bool read_current(struct walk *walk, uintptr_t *frame)
{
	uintptr_t words[2];

	if (!walk_read(walk, words,
		       walk->php->globals + walk->php->layout.globals_current - sizeof(words[0]),
		       sizeof(words)))
		return false;
	*frame = words[1];
	return words[0] >= PART_MIN && words[0] <= PART_MAX && !(words[0] & (words[0] - 1));
}

/* Write all frames. An anchor without an address follows each row of frames on this stack. */
static void walk_frames(struct walk *walk)
{
	uint8_t frame[FRAME_BYTES];
	uintptr_t address;

	if (!read_current(walk, &address))
		return;
	for (int i = 0; address && i < FRAMES_MAX && walk->count < walk->max; i++) {
		if (!walk_read(walk, frame, address, sizeof(frame)))
			break;
		walk_add_frame(walk, address, frame);
		address = word_at(frame, FRAME_PREVIOUS);
		/* (The base frame of a call from C is a copy of the calling frame.) */
		if (half_at(frame, FRAME_FLAGS) & FLAG_TOP && word_at(frame, FRAME_FUNCTION) &&
		    !walk->is_other_stack) {
			walk_put_word(walk, RUNTIME_ANCHOR);
			walk->rows++;
		}
	}
}

/* ---- Positions ---- */

static size_t next_evaluator(const struct walk *walk, size_t i)
{
	const struct native_frames *native = walk->native;

	while (i < native->count && !runtime_is_evaluator(&walk->php->base, native->pcs[i]))
		i++;
	return i;
}

/* Whether the interrupted function is one that creates a frame and then calls the evaluator. */
static bool is_about_to_call(const struct walk *walk)
{
	uintptr_t pc = walk->native->pcs[0];

	for (size_t i = 0; walk->native->is_exact && i < PHP_CALLERS; i++)
		if (pc >= walk->php->callers[i].start && pc < walk->php->callers[i].end)
			return true;
	return false;
}

/* Whether the code that the evaluator called, with return address PC, is a whole instruction. If
 * so, the evaluator then jumps to the address in the instruction register. */
static bool is_whole_instruction(struct walk *walk, uintptr_t pc)
{
	uint8_t code[8];

	if (walk->has_call_handlers)
		return true;
	if (!memory_copies_read(&walk->work->copies, code, pc, sizeof(code)))
		return false;
#if defined(__x86_64__)
	/* jmp *(%r15) */
	return !memcmp(code + (code[0] == 0x3e), "\x41\xff\x27", 3);
#elif defined(__aarch64__)
	/* ldr xN, [x28]; br xN */
	return (half_at(code, 0) & ~31u) == 0xf9400380 &&
	       half_at(code, 4) == (0xd61f0000 | (half_at(code, 0) & 31) << 5);
#else
	return false;
#endif
}

/* Leave out the native frames that the evaluator call at AT called to carry out an instruction. */
static void natives_leave_out(struct walk *walk, size_t at)
{
	uintptr_t *pcs = walk->native->pcs;

	if (at && is_in_text(walk, pcs[at - 1]) &&
	    !runtime_is_evaluator(&walk->php->base, pcs[at - 1]) &&
	    is_whole_instruction(walk, pcs[at]))
		pcs[at - 1] = 0;
}

/* Frames follow the last native one, so the native walk was wrong about its callers. If it was
 * LOST, it ended in PHP's JIT code, which replaces the evaluator. */
static void natives_leave_out_last(struct walk *walk, bool lost)
{
	const struct native_frames *native = walk->native;
	size_t last = native->count - 1;

	if (native->pcs[last] == STACK_CALLERS_UNKNOWN) {
		native->pcs[last] = 0;
		last -= last != 0;
	}
	if (lost && native->pcs[last] && !is_in_text(walk, native->pcs[last]))
		native->pcs[last] = 0;
}

/* Set each row's anchor to the stack address of the call that runs it. The innermost call may have
 * lost its row, as it is about to return; the innermost row may have no call yet and is then left
 * out. If other calls are missing, the native walk was lost, and the outermost calls are missing. */
static void rows_set_anchors(struct walk *walk)
{
	size_t calls = 0, skip, drop, kept = 0, row = 0, at = next_evaluator(walk, 0);

	for (size_t i = at; i < walk->native->count; i = next_evaluator(walk, i + 1))
		calls++;
	skip = calls > walk->rows ? calls - walk->rows : 0;
	drop = calls && walk->rows == calls + 1 && is_about_to_call(walk);
	for (; skip; skip--)
		at = next_evaluator(walk, at + 1);
	for (size_t i = 0; i < walk->count; i++) {
		bool anchor = walk->frames[i] == RUNTIME_ANCHOR;

		if (anchor && row >= drop && at < walk->native->count) {
			natives_leave_out(walk, at);
			walk->frames[kept++] =
				(walk->native->sps[at] & ~(sizeof(uintptr_t) - 1)) | RUNTIME_ANCHOR;
			at = next_evaluator(walk, at + 1);
		} else if (!anchor && row >= drop) {
			walk->frames[kept++] = walk->frames[i];
		}
		row += anchor;
	}
	walk->count = kept;
	if (kept && walk->frames[kept - 1] & RUNTIME_ANCHOR)
		return;
	natives_leave_out_last(walk, walk->rows > calls + drop);
}

/* Whether this thread runs PHP, which has only one such thread. It does if its stack has frames of
 * PHP's code. If the native walk ended in PHP's JIT code, the address of the bailout buffer
 * decides. */
static bool thread_runs_php(struct walk *walk, uintptr_t stack_high)
{
	const struct native_frames *native = walk->native;
	uintptr_t bailout;

	for (size_t i = 0; i < native->count; i++)
		if (is_in_text(walk, native->pcs[i]))
			return true;
	return native->count &&
	       walk_read(walk, &bailout, walk->php->globals + walk->php->layout.globals_bailout,
			 sizeof(bailout)) &&
	       bailout >= native->sps[0] && bailout < stack_high;
}

/* Its address identifies the thread. */
static __thread char self;

size_t php_walk(const struct php *php, struct php_work *work, const struct native_frames *native,
		uintptr_t stack_high, uintptr_t *frames, size_t max)
{
	struct walk walk = {
		.php = php, .work = work, .native = native, .frames = frames, .max = max
	};

	memory_copies_begin(&work->copies, (uintptr_t)&self);
	work->function_at = 0;
	if (thread_runs_php(&walk, stack_high)) {
		walk_frames(&walk);
		rows_set_anchors(&walk);
	}
	memory_copies_end(&work->copies, (uintptr_t)&self);
	return walk.count;
}
