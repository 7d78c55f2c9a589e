/* The frames of PHP that the calling thread runs, from a signal handler or an allocation.
 *
 * The thread itself is what changes them, and it is here: so they stay as they are. It may have been
 * interrupted while it made one or took one down, or the whole of it: so the kernel copies what is read, what
 * says that it is a function or a string has to be one, and every loop has an end.
 *
 * Functions are told apart by what they are called and where they stand, as a script's are freed when a request
 * ends, and others come to be where they were. */
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

#define FLAG_TOP (1u << 17) /* ZEND_CALL_TOP: the evaluator returns when it is done */

/* union _zend_function. */
#define FUNCTION_TYPE  0
#define FUNCTION_NAME  8
#define FUNCTION_SCOPE 16
#define FUNCTION_BYTES 24 /* as far as those of PHP itself, in C, are read */

enum { TYPE_INTERNAL = 1, TYPE_USER = 2, TYPE_EVAL = 4 };

#define CLASS_NAME 8 /* struct _zend_class_entry */

/* struct _zend_string. */
#define STRING_TYPE   4
#define STRING_LENGTH 16
#define STRING_TEXT   24
#define TYPE_MASK     15
#define TYPE_STRING   6
#define LENGTH_MAX    65536 /* nothing that is longer is a name */

#define INSTRUCTION_BYTES 32 /* struct _zend_op */
#define INSTRUCTION_CODE  0  /* that carries it out */
#define INSTRUCTION_LINE  24

/* EG(vm_stack_page_size): 16 KiB in fibers, 256 KiB elsewhere. */
#define PART_MIN 4096
#define PART_MAX (16u << 20)

/* A chain that is said to be longer is a loop. */
#define FRAMES_MAX 1024

struct walk {
	const struct php *php;
	struct php_work *work;
	const struct native_frames *native;
	uintptr_t *frames;
	size_t count, max;
	size_t rows; /* of frames, each run by a call of the evaluator */
	/* Whether the evaluator calls the code of each instruction, and has none itself: as it was compiled
	 * (ZEND_VM_KIND_CALL). */
	bool has_call_handlers;
	bool is_other_stack; /* what comes now is on another stack */
};

/* ---- Reading ---- */

static bool is_in_text(const struct walk *walk, uintptr_t pc)
{
	return pc - walk->php->base.text < walk->php->base.text_end - walk->php->base.text;
}

static bool read(struct walk *walk, void *data, uintptr_t address, size_t size)
{
	return address % sizeof(uintptr_t) == 0 &&
	       memory_copies_read(&walk->work->copies, data, address, size);
}

/* Write the string at ADDRESS to TEXT, cut to SIZE - 1 bytes. False where there is none. */
static bool read_string(struct walk *walk, uintptr_t address, char *text, size_t size)
{
	uint8_t head[STRING_TEXT];
	uint64_t length;

	if (!read(walk, head, address, sizeof(head)) ||
	    (half_at(head, STRING_TYPE) & TYPE_MASK) != TYPE_STRING)
		return false;
	length = word_at(head, STRING_LENGTH);
	if (!length || length > LENGTH_MAX)
		return false;
	if (length > size - 1)
		length = size - 1;
	if (!read(walk, text, address + STRING_TEXT, length))
		return false;
	text[length] = '\0';
	script_text_clean(text, length);
	return true;
}

/* ---- Functions ---- */

/* Write what the function in WORK is called to its name. False where it has none. */
static bool function_read_name(struct walk *walk, uint8_t type)
{
	struct php_work *work = walk->work;
	uintptr_t name = word_at(work->function, FUNCTION_NAME);
	uintptr_t scope = word_at(work->function, FUNCTION_SCOPE);
	size_t used = 0;

	if (!name) {
		/* The code of a file, or of a string. */
		const char *code = type == TYPE_EVAL ? "{eval}" : "{main}";

		memcpy(work->name, code, strlen(code) + 1);
		return type != TYPE_INTERNAL;
	}
	if (scope) {
		if (!read(walk, &scope, scope + CLASS_NAME, sizeof(scope)) ||
		    !read_string(walk, scope, work->name, sizeof(work->name) / 2))
			return false;
		used = strlen(work->name);
		work->name[used++] = ':';
		work->name[used++] = ':';
	}
	return read_string(walk, name, work->name + used, sizeof(work->name) - used);
}

/* The function at ADDRESS; its first bytes stay in WORK. False where there is none. */
static bool function_find(struct walk *walk, uintptr_t address)
{
	const struct php_layout *layout = &walk->php->layout;
	struct php_work *work = walk->work;
	uint32_t line = 0;
	uint64_t print;
	uint8_t type;
	bool fresh;

	/* As in a recursion. */
	if (address == work->function_at)
		return true;
	work->function_at = 0;
	memset(work->function, 0, FUNCTION_BYTES);
	if (!read(walk, work->function, address, FUNCTION_BYTES))
		return false;
	type = work->function[FUNCTION_TYPE];
	work->file[0] = '\0';
	if (type == TYPE_USER || type == TYPE_EVAL) {
		if (!read(walk, work->function, address, sizeof(work->function)) ||
		    !read_string(walk, word_at(work->function, layout->function_file), work->file,
				 sizeof(work->file)))
			return false;
		line = half_at(work->function, layout->function_line);
	} else if (type != TYPE_INTERNAL) {
		return false;
	}
	if (!function_read_name(walk, type))
		return false;
	print = script_text_fingerprint(script_text_mix(type, line), work->name);
	work->number = frame_table_function(script_text_fingerprint(print, work->file), &fresh);
	if (fresh)
		frame_table_describe(work->number, JFR_FRAME_PHP, work->name, work->file);
	work->function_at = address;
	return true;
}

/* Where the processor has the frame and the instruction that the evaluator is at: in two registers, where it
 * was compiled by gcc (ZEND_VM_FP_GLOBAL_REG in Zend/zend_execute.c). In its frame an instruction stands only
 * when it may call something. */
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

/* Look at where the code of INSTRUCTION is. */
static void walk_note_handler(struct walk *walk, uintptr_t instruction)
{
	const struct runtime *base = &walk->php->base;
	uintptr_t code;

	if (read(walk, &code, instruction + INSTRUCTION_CODE, sizeof(code)))
		walk->has_call_handlers =
			is_in_text(walk, code) &&
			code - base->evaluator >= base->evaluator_end - base->evaluator;
}

/* The line that the frame at ADDRESS, of which the first bytes are FRAME, is at. */
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
	/* A frame that has not begun, or that an exception leaves, is at an instruction of no function. */
	if (!has_instruction(walk, instruction) ||
	    !read(walk, &line, instruction + INSTRUCTION_LINE, sizeof(line)))
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

/* The frame at ADDRESS, of which the first bytes are FRAME; what is none is left out. */
static void walk_add_frame(struct walk *walk, uintptr_t address, const uint8_t *frame)
{
	uintptr_t function = word_at(frame, FRAME_FUNCTION), place;
	uint32_t line;
	bool fresh;

	/* A generator that has another yield for it, or what a call from C stands on. */
	if (!function)
		return;
	if (!function_find(walk, function)) {
		/* The last frame of a fiber (zend_fiber_function), which has a stack of its own. */
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

/* Where the innermost frame is; 0: there is none. Before that stands how large the parts are in which memory for
 * frames is taken. False where that cannot be: then the structure is another. */
static bool read_current(struct walk *walk, uintptr_t *frame)
{
	uintptr_t words[2];

	if (!read(walk, words,
		  walk->php->globals + walk->php->layout.globals_current - sizeof(words[0]),
		  sizeof(words)))
		return false;
	*frame = words[1];
	return words[0] >= PART_MIN && words[0] <= PART_MAX && !(words[0] & (words[0] - 1));
}

/* Write all frames, with an anchor that has no address yet behind each row of them that is on this stack. */
static void walk_frames(struct walk *walk)
{
	uint8_t frame[FRAME_BYTES];
	uintptr_t address;

	if (!read_current(walk, &address))
		return;
	for (int i = 0; address && i < FRAMES_MAX && walk->count < walk->max; i++) {
		if (!read(walk, frame, address, sizeof(frame)))
			break;
		walk_add_frame(walk, address, frame);
		address = word_at(frame, FRAME_PREVIOUS);
		/* (What a call from C stands on is a copy of the frame that called that.) */
		if (half_at(frame, FRAME_FLAGS) & FLAG_TOP && word_at(frame, FRAME_FUNCTION) &&
		    !walk->is_other_stack) {
			walk_put_word(walk, RUNTIME_ANCHOR);
			walk->rows++;
		}
	}
}

/* ---- Places ---- */

static size_t next_evaluator(const struct walk *walk, size_t i)
{
	const struct native_frames *native = walk->native;

	while (i < native->count && !runtime_is_evaluator(&walk->php->base, native->pcs[i]))
		i++;
	return i;
}

/* Whether a function is interrupted that makes a frame before it calls the evaluator. */
static bool is_about_to_call(const struct walk *walk)
{
	uintptr_t pc = walk->native->pcs[0];

	for (size_t i = 0; walk->native->exact && i < PHP_CALLERS; i++)
		if (pc >= walk->php->callers[i].start && pc < walk->php->callers[i].end)
			return true;
	return false;
}

/* Whether what the evaluator, which goes on at PC, has called is all of an instruction: then it goes on with the
 * next one at once, by a jump to where the register of instructions leads to. */
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

/* What the call of the evaluator at AT has called for an instruction is part of it. */
static void natives_leave_out(struct walk *walk, size_t at)
{
	uintptr_t *pcs = walk->native->pcs;

	if (at && is_in_text(walk, pcs[at - 1]) &&
	    !runtime_is_evaluator(&walk->php->base, pcs[at - 1]) &&
	    is_whole_instruction(walk, pcs[at]))
		pcs[at - 1] = 0;
}

/* Frames stand behind the last native one. What the native walk says of its callers is not so then; and where it
 * has LOST its way it was in code that PHP has compiled itself, which stands in for the evaluator. */
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

/* Tell each row's anchor where on the stack the call is that runs it. A call that has lost its own row, as it
 * is about to return, is the innermost; and so is a row that has no call yet, which is left out. Where calls
 * are missing otherwise, the native walk has lost its way, and the outermost are. */
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

/* One thread runs PHP. It is this one where its stack comes through PHP's code; where the native walk has got no
 * further than code that PHP has compiled, where errors go to says it. */
static bool thread_runs_php(struct walk *walk, uintptr_t stack_high)
{
	const struct native_frames *native = walk->native;
	uintptr_t bailout;

	for (size_t i = 0; i < native->count; i++)
		if (is_in_text(walk, native->pcs[i]))
			return true;
	return native->count &&
	       read(walk, &bailout, walk->php->globals + walk->php->layout.globals_bailout,
		    sizeof(bailout)) &&
	       bailout >= native->sps[0] && bailout < stack_high;
}

/* Its address tells threads apart. */
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
