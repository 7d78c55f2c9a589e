/* Walk of the Ruby frames of the calling thread, in a signal handler or an allocation.
 *
 * Only the calling thread changes its frames. The kernel copies what is read, so no read faults;
 * each context, code object and method is checked to be one; every loop is bounded. The collector
 * keeps the objects on a thread's stack, whichever thread runs it. */
#include <string.h>

#include "arch/arch.h"
#include "engine/reading/program_thread.h"
#include "engine/runtime/ruby/ruby.h"
#include "engine/runtime/script_text.h"

/* Limits for chains that may be loops. */
#define OUTER_MAX   32
#define TLS_WORDS   16
#define STACK_WORDS (1u << 24)

/* Flags of a frame: its kind, and whether the evaluator call ends with it. */
#define FLAGS_KIND     0x7fff0001u
#define KIND_NATIVE    0x55550001u
#define KIND_FUNCTION  0x66660001u /* a block in C: shown as its method */
#define KIND_DUMMY     0x79990001u
#define FLAG_LAST      0x0020u
#define FLAG_OUTERMOST 0x0002u /* it has no enclosing environment */

/* What a method definition refers to. */
#define DEFINED_BY_CODE  0
#define DEFINITION_TYPES 15

/* What code was compiled from. */
enum { CODE_METHOD = 1, CODE_BLOCK = 2, CODE_RESCUE = 4, CODE_ENSURE = 5, CODE_STRING = 6 };

/* Nesting depth of eval strings. */
#define STRINGS_MAX 8

/* Flags of the collector: its phase, and whether it moves objects. */
enum {
	COLLECTOR_MODE = 3,
	COLLECTOR_RESTS = 0,
	COLLECTOR_MARKS = 1,
	COLLECTOR_SWEEPS = 2,
	COLLECTOR_RUNS = 1 << 5,
	COLLECTOR_MOVES = 3 << 6,
};

/* ---- Execution context ---- */

struct context {
	uintptr_t address;
	uint8_t bytes[CONTEXT_BYTES];
	uintptr_t frame, end; /* from the innermost frame to the end of the stack */
};

/* Whether ADDRESS is a context that belongs to its thread. */
static bool read_context(const struct ruby *ruby, struct ruby_work *work, struct context *context,
			 uintptr_t address)
{
	const struct ruby_layout *l = &ruby->layout;
	uintptr_t stack, words, thread, back;

	if (!address || address % sizeof(uintptr_t) ||
	    !ruby_copy(work, context->bytes, address, sizeof(context->bytes)))
		return false;
	thread = word_at(context->bytes, l->context_thread);
	if (!ruby_read_word(work, thread + l->thread_context, &back) || back != address)
		return false;
	stack = word_at(context->bytes, CONTEXT_STACK);
	words = word_at(context->bytes, CONTEXT_STACK_WORDS);
	context->address = address;
	context->frame = word_at(context->bytes, CONTEXT_FRAME);
	context->end = stack + words * sizeof(uintptr_t);
	return stack && words && words < STACK_WORDS && stack % sizeof(uintptr_t) == 0 &&
	       context->frame % sizeof(uintptr_t) == 0 && context->frame > stack &&
	       context->frame < context->end;
}

/* Address of this thread's variable, once found. */
static __thread uintptr_t own_place;

/* Search the thread-local storage for the context. Other variables do not match, since a context
 * and its thread refer to each other. glibc has two words for each module, musl one. */
static bool find_by_variable(const struct ruby *ruby, struct ruby_work *work,
			     struct context *context)
{
	uintptr_t lists = *(const uintptr_t *)(program_thread_pointer() + ARCH_DTV_GLIBC);
	uintptr_t variables, value;

	for (unsigned words = 2; words; words--) {
		if (!ruby_read_word(work,
				    lists + (uintptr_t)ruby->tls_module * words * sizeof(lists),
				    &variables) ||
		    variables % sizeof(value))
			continue;
		for (uint32_t at = ruby->tls_first; at < ruby->tls_end; at += sizeof(value))
			if (ruby_read_word(work, variables + at, &value) &&
			    read_context(ruby, work, context, value)) {
				own_place = variables + at;
				return true;
			}
	}
	return false;
}

static bool find_context(const struct ruby *ruby, struct ruby_work *work, struct context *context)
{
	uintptr_t address;

	return (own_place && ruby_read_word(work, own_place, &address) &&
		read_context(ruby, work, context, address)) ||
	       find_by_variable(ruby, work, context);
}

/* ---- Functions ---- */

struct walk {
	const struct ruby *ruby;
	struct ruby_work *work;
	uint64_t period; /* 0: nothing is cached */
	uintptr_t *frames;
	size_t count, max;
};

static void walk_put_word(struct walk *walk, uintptr_t frame)
{
	if (frame && walk->count < walk->max)
		walk->frames[walk->count++] = frame;
}

struct frame {
	uintptr_t pc, code;
	uintptr_t belongs; /* method field of its environment, or of an enclosing one */
	uint8_t environment[ENVIRONMENT_BYTES];
};

/* Replace ENVIRONMENT by the enclosing one. */
static bool environment_go_out(struct ruby_work *work, uint8_t environment[ENVIRONMENT_BYTES])
{
	uintptr_t outer = word_at(environment, ENVIRONMENT_OUTER) & ~(uintptr_t)3;

	return outer && outer % sizeof(outer) == 0 &&
	       ruby_copy(work, environment, outer - ENVIRONMENT_FLAGS, ENVIRONMENT_BYTES);
}

static bool environment_is_outermost(const uint8_t environment[ENVIRONMENT_BYTES])
{
	return word_at(environment, ENVIRONMENT_FLAGS) & FLAG_OUTERMOST;
}

/* Method field that distinguishes frames of the same code with different names. */
static uintptr_t environment_method_field(struct walk *walk,
					  const uint8_t innermost[ENVIRONMENT_BYTES])
{
	uint8_t environment[ENVIRONMENT_BYTES];

	memcpy(environment, innermost, sizeof(environment));
	for (int i = 0; i < OUTER_MAX && !word_at(environment, ENVIRONMENT_METHOD) &&
			!environment_is_outermost(environment);
	     i++)
		if (!environment_go_out(walk->work, environment))
			break;
	return word_at(environment, ENVIRONMENT_METHOD);
}

/* The method of the frame with environment INNERMOST; 0 if there is none. */
static uintptr_t environment_method(struct walk *walk, const uint8_t innermost[ENVIRONMENT_BYTES])
{
	struct ruby_work *work = walk->work;
	uint8_t environment[ENVIRONMENT_BYTES];
	uintptr_t method, flags;

	memcpy(environment, innermost, sizeof(environment));
	for (int i = 0; i < OUTER_MAX; i++) {
		method = word_at(environment, ENVIRONMENT_METHOD);
		flags = ruby_flags(work, method);
		if (ruby_is_kind(flags, RUBY_KIND_METHOD))
			return method;
		if (environment_is_outermost(environment)) {
			if (ruby_is_kind(flags, RUBY_KIND_SVAR) &&
			    ruby_read_word(work, method + 8, &method) &&
			    ruby_is_kind(ruby_flags(work, method), RUBY_KIND_METHOD))
				return method;
			return 0;
		}
		if (!environment_go_out(work, environment))
			return 0;
	}
	return 0;
}

struct method {
	uintptr_t class, id;
	uint8_t type;
};

static bool read_method(struct walk *walk, uintptr_t address, struct method *method)
{
	uint8_t bytes[METHOD_BYTES], definition[DEFINITION_BYTES];

	if (!ruby_copy(walk->work, bytes, address, sizeof(bytes)) ||
	    !ruby_copy(walk->work, definition, word_at(bytes, METHOD_DEFINITION),
		       sizeof(definition)))
		return false;
	method->class = word_at(bytes, METHOD_CLASS);
	method->id = word_at(definition, DEFINITION_ID);
	method->type = definition[DEFINITION_TYPE] & DEFINITION_TYPES;
	return true;
}

/* Path of the code's file, a string: the value itself, or the first of two. */
static uintptr_t code_path(struct walk *walk, const uint8_t *body)
{
	uintptr_t path = word_at(body, BODY_PATH);

	if ((ruby_flags(walk->work, path) & RUBY_TYPES) == RUBY_ARRAY)
		return ruby_first(walk->work, path);
	return path;
}

static uint32_t code_first_line(const struct ruby_layout *layout, const uint8_t *body)
{
	uintptr_t value = word_at(body, BODY_FIRST_LINE);

	return layout->first_line_is_value ? (uint32_t)(value >> 1) : (uint32_t)value;
}

/* Write the name of the code in WORK's body. Its label is a prefix ("block in ") and the method's
 * name; the class is inserted between them. CLASS is 0 if it is not known. */
static void code_write_name(struct walk *walk, uintptr_t class)
{
	const struct ruby *ruby = walk->ruby;
	struct ruby_work *work = walk->work;
	char base[FRAME_NAME_MAX];
	size_t all, length;

	all = ruby_string(ruby, work, word_at(work->body, BODY_LABEL), work->name, 0,
			  sizeof(work->name));
	if (!class)
		return;
	length = ruby_string(ruby, work, word_at(work->body, BODY_BASE_LABEL), base, 0,
			     sizeof(base));
	if (length > all || strcmp(work->name + all - length, base))
		return;
	all = ruby_class(ruby, work, class, work->name, all - length, sizeof(work->name));
	ruby_string(ruby, work, word_at(work->body, BODY_BASE_LABEL), work->name, all,
		    sizeof(work->name));
}

/* Fingerprint of the content of code, to distinguish it from all code that was or will be at its address. */
static uint64_t code_fingerprint(struct walk *walk, uintptr_t path, uintptr_t class)
{
	const struct ruby_layout *l = &walk->ruby->layout;
	struct ruby_work *work = walk->work;
	uint64_t hash = 1;
	uint32_t lines;

	hash = script_text_mix(hash, word_at(work->body, 0)); /* its type and size */
	hash = script_text_mix(hash, word_at(work->body, BODY_START));
	hash = script_text_mix(hash, word_at(work->body, l->body_lines));
	memcpy(&lines, work->body + l->body_line_count, sizeof(lines));
	hash = script_text_mix(hash, lines);
	hash = script_text_mix(hash, code_first_line(l, work->body));
	hash = script_text_mix(hash, ruby_string_fingerprint(walk->ruby, work, path));
	hash = script_text_mix(
		hash, ruby_string_fingerprint(walk->ruby, work, word_at(work->body, BODY_LABEL)));
	return script_text_mix(hash, class ? ruby_class_fingerprint(walk->ruby, work, class) : 0);
}

/* The class of the code of a method, or of code within one. */
static uintptr_t code_class(struct walk *walk, uintptr_t address)
{
	struct method method;
	uint32_t type;

	memcpy(&type, walk->work->body + BODY_TYPE, sizeof(type));
	if (!address || (type != CODE_METHOD && type != CODE_BLOCK && type != CODE_RESCUE &&
			 type != CODE_ENSURE))
		return 0;
	return read_method(walk, address, &method) && method.type == DEFINED_BY_CODE ? method.class
										     : 0;
}

/* Copy the body of CODE to WORK. */
static bool read_body(struct walk *walk, uintptr_t code)
{
	struct ruby_work *work = walk->work;
	uintptr_t body;

	return ruby_is_kind(ruby_flags(work, code), RUBY_KIND_CODE) &&
	       ruby_read_word(work, code + CODE_BODY, &body) &&
	       ruby_copy(work, work->body, body, walk->ruby->layout.body_bytes);
}

/* Name the code of an eval string after the enclosing CODE: copy the label of that code to WORK's body. */
static void code_use_outer_label(struct walk *walk, uintptr_t code)
{
	struct ruby_work *work = walk->work;
	uint8_t outer = walk->ruby->layout.body_outer;
	uintptr_t body, label;
	uint32_t type;

	memcpy(&type, work->body + BODY_TYPE, sizeof(type));
	for (int i = 0; outer && type == CODE_STRING && i < STRINGS_MAX; i++) {
		if (!ruby_read_word(work, code + CODE_BODY, &body) ||
		    !ruby_read_word(work, body + outer, &code) ||
		    !ruby_is_kind(ruby_flags(work, code), RUBY_KIND_CODE) ||
		    !ruby_read_word(work, code + CODE_BODY, &body) ||
		    !ruby_read_word(work, body + BODY_LABEL, &label) ||
		    !ruby_copy(work, &type, body + BODY_TYPE, sizeof(type)))
			return;
		memcpy(work->body + BODY_LABEL, &label, sizeof(label));
	}
}

/* Find the function whose code FRAME runs; its body is in WORK afterwards. */
static bool describe_code(struct walk *walk, const struct frame *frame,
			  struct ruby_function *function)
{
	struct ruby_work *work = walk->work;
	uintptr_t class, path;
	bool fresh;

	if (!read_body(walk, frame->code))
		return false;
	code_use_outer_label(walk, frame->code);
	path = code_path(walk, work->body);
	class = code_class(walk, environment_method(walk, frame->environment));
	if (!ruby_string_fingerprint(walk->ruby, work, word_at(work->body, BODY_LABEL)) ||
	    !ruby_string_fingerprint(walk->ruby, work, path))
		return false;
	function->start = word_at(work->body, BODY_START);
	memcpy(&function->size, work->body + BODY_SIZE, sizeof(function->size));
	function->number = frame_table_function(code_fingerprint(walk, path, class), &fresh);
	if (fresh) {
		code_write_name(walk, class);
		ruby_string(walk->ruby, work, path, work->file, 0, sizeof(work->file));
		frame_table_describe(function->number, JFR_FRAME_RUBY, work->name, work->file);
	}
	return true;
}

/* Same for a method that is a C function. */
static bool describe_native(struct walk *walk, const struct frame *frame,
			    struct ruby_function *function)
{
	const struct ruby *ruby = walk->ruby;
	struct ruby_work *work = walk->work;
	uintptr_t name, address = environment_method(walk, frame->environment);
	uint64_t fingerprint = 2;
	struct method method;
	size_t length;
	bool fresh;

	if (!address || !read_method(walk, address, &method) || method.type == DEFINED_BY_CODE)
		return false;
	name = ruby_name(ruby, work, method.id);
	if (!name || !ruby_string_fingerprint(ruby, work, name))
		return false;
	fingerprint = script_text_mix(fingerprint, ruby_string_fingerprint(ruby, work, name));
	fingerprint =
		script_text_mix(fingerprint, ruby_class_fingerprint(ruby, work, method.class));
	function->start = function->size = 0;
	function->number = frame_table_function(fingerprint, &fresh);
	if (fresh) {
		length = ruby_class(ruby, work, method.class, work->name, 0, sizeof(work->name));
		ruby_string(ruby, work, name, work->name, length, sizeof(work->name));
		frame_table_describe(function->number, JFR_FRAME_RUBY, work->name, "");
	}
	return true;
}

/* Find the function that FRAME runs; a C function has no CODE (0). */
static bool function_find(struct walk *walk, const struct frame *frame,
			  struct ruby_function *function)
{
	if (walk->period && ruby_cache_find(walk->period, frame->code, frame->belongs, function))
		return true;
	if (!(frame->code ? describe_code : describe_native)(walk, frame, function))
		return false;
	if (walk->period)
		ruby_cache_store(walk->period, frame->code, frame->belongs, function);
	return true;
}

/* Add FRAME; a frame under construction or removal is left out. */
static void walk_add_function(struct walk *walk, const struct frame *frame)
{
	struct ruby_function function;
	uintptr_t place;
	uint64_t at = 0;
	bool fresh;

	if (!function_find(walk, frame, &function))
		return;
	if (frame->code) {
		at = (frame->pc - function.start) / sizeof(uintptr_t);
		if (frame->pc < function.start || at > function.size)
			return;
		/* The position is after the current instruction. */
		at -= at != 0;
	}
	place = frame_table_place(function.number, (uint32_t)at, &fresh);
	if (fresh && frame->code && read_body(walk, frame->code))
		frame_table_line(place,
				 ruby_line(&walk->ruby->layout, walk->work, walk->work->body, at));
	walk_put_word(walk, place);
}

/* ---- Walking ---- */

/* Add the control frame at ADDRESS. Returns false if it cannot be read. */
static bool walk_add_frame(struct walk *walk, uintptr_t address)
{
	uint8_t bytes[FRAME_BYTES];
	struct frame frame;
	uintptr_t environment, flags, kind;
	bool is_native;

	if (!ruby_copy(walk->work, bytes, address, sizeof(bytes)))
		return false;
	environment = word_at(bytes, FRAME_ENVIRONMENT);
	if (environment % sizeof(environment) ||
	    !ruby_copy(walk->work, frame.environment, environment - ENVIRONMENT_FLAGS,
		       sizeof(frame.environment)))
		return false;
	flags = word_at(frame.environment, ENVIRONMENT_FLAGS);
	kind = flags & FLAGS_KIND;
	if (kind == KIND_DUMMY)
		return true;
	frame.pc = word_at(bytes, FRAME_PC);
	is_native = kind == KIND_NATIVE || kind == KIND_FUNCTION;
	frame.code = is_native ? 0 : word_at(bytes, FRAME_CODE);
	if (is_native || (frame.pc && frame.code)) {
		frame.belongs = environment_method_field(walk, frame.environment);
		walk_add_function(walk, &frame);
	}
	if (flags & FLAG_LAST)
		walk_put_word(walk, RUNTIME_ANCHOR);
	return true;
}

/* Period in which memory of objects is not reused and objects do not move: see ruby_cache.c; 0 if there is none. */
static uint64_t collection_period(const struct ruby *ruby, struct ruby_work *work)
{
	/* New facts about Ruby add names to functions that were found earlier. Cached functions of
	 * a dropped frame table are invalid. Both start a new period. */
	const uint64_t known = (ruby->names != 0) ^ (uint64_t)frame_table_renewals() << 48;
	uintptr_t count;
	uint32_t flags;

	if (!ruby->collections || !ruby_copy(work, &flags, ruby->collector_flags, sizeof(flags)) ||
	    !ruby_read_word(work, ruby->collections, &count) || flags & COLLECTOR_MOVES)
		return 0;
	switch (flags & COLLECTOR_MODE) {
	case COLLECTOR_MARKS:
		return (4 * count + 4) ^ known;
	case COLLECTOR_SWEEPS:
		return (4 * count + 6) ^ known;
	case COLLECTOR_RESTS:
		/* The collector increments its count shortly before it sets the flag of the mark phase. */
		return flags & COLLECTOR_RUNS ? 0 : (4 * count + 6) ^ known;
	}
	return 0;
}

/* Its address identifies the thread. */
static __thread char self;

size_t ruby_walk(const struct ruby *ruby, struct ruby_work *work, uintptr_t *frames, size_t max,
		 bool *cut)
{
	struct walk walk = { .ruby = ruby, .work = work, .frames = frames, .max = max };
	struct context context;
	uintptr_t at;

	*cut = false;
	work->tag = 0;
	memory_copies_begin(&work->copies, (uintptr_t)&self);
	memset(work->notes, 0, sizeof(work->notes));
	if (find_context(ruby, work, &context)) {
		walk.period = collection_period(ruby, work);
		work->tag = word_at(context.bytes, CONTEXT_TAG);
		for (at = context.frame; at + FRAME_BYTES <= context.end && walk.count < max &&
					 walk_add_frame(&walk, at);
		     at += ruby->layout.frame_bytes)
			;
		*cut = at + FRAME_BYTES <= context.end;
	}
	memory_copies_end(&work->copies, (uintptr_t)&self);
	return walk.count;
}
