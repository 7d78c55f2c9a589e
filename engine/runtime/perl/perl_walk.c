/* Walk of the Perl frames of the calling thread, in a signal handler or an allocation.
 *
 * Only the calling thread changes its frames, so they stay in place. It may have been interrupted
 * while it created or removed a frame, or all of them. Therefore the kernel copies what is read,
 * each sub and statement is checked to be one, and every loop is bounded.
 *
 * Name and file identify a function, since the memory of a sub is reused when nothing refers to it. */
#include <pthread.h>
#include <string.h>

#include "core/old_symbol.h"
#include "core/system.h"
#include "engine/reading/words.h"
#include "engine/runtime/perl/perl.h"
#include "engine/runtime/script_text.h"

OLD_SYMBOL(pthread_getspecific, "2.2.5")

/* Defined by the C library of each program with threads, which includes any Perl with several interpreters. */
extern void *pthread_getspecific(pthread_key_t key) __attribute__((weak));

/* struct stackinfo: a stack of contexts. */
#define STACK_CONTEXTS 8
#define STACK_OUTER    16
#define STACK_LAST     32 /* -1: none */
#define STACK_SIZE     36
#define STACK_BYTES    40

/* struct context. */
#define CONTEXT_TYPE      0
#define CONTEXT_STATEMENT 16 /* current statement when the context was created */
#define CONTEXT_RETURN    48 /* return address, of subs, formats and evals */
#define CONTEXT_REQUIRED  64 /* argument of a require; 0: an eval that is not a require */
#define CONTEXT_SUB       72
#define CONTEXT_READ      80
#define CONTEXT_BYTES     104

#define TYPE_MASK 15
/* (TYPE_NONE is the block of a sort.) */
enum { TYPE_NONE, TYPE_SUB = 9, TYPE_FORMAT, TYPE_EVAL };

#define FLAG_EVAL_BLOCK 0x40
#define FLAG_TRY_BLOCK  0x80
#define FLAG_IN_PATTERN 0x80 /* CXp_SUB_RE_FAKE: a block in a pattern */

/* struct op: an operation; and PL_op in an interpreter, the current operation. */
#define OWN_OPERATION   8
#define OWN_VARIABLES   16 /* PL_curpad: variables of the running sub */
#define OPERATION_OUTER 8  /* the sibling, or the parent of the last sibling; 0: the root */
#define OPERATION_TYPE  32
#define OPERATION_BYTES 36
#define TYPE_BITS       0x1ffu
#define GOTO_BEHIND     15u  /* distance from the number of the statement's operation */
#define SUB_BEFORE      10u  /* distance before it; this and the next number are roots of subs */
#define EVAL_BEHIND     151u /* distance after it: root of an eval, or of a file */
#define TREE_MAX        1024

/* A sub and its fields: lists of its variables, one for each active call of it. */
#define SUB_FIELDS  0
#define SUB_FIRST   40 /* first operation */
#define SUB_WHOLE   48
#define SUB_LISTS   72
#define SUB_DEPTH   96
#define LISTS_ARRAY 8
#define LIST_ARRAY  16
#define DEPTH_MAX   (1 << 20)

/* More stacks or contexts than this form a loop. */
#define STACKS_MAX   256
#define CONTEXTS_MAX 4096
#define SIZE_MAX_OF  (1 << 24)

struct walk {
	const struct perl *perl;
	struct perl_work *work;
	const struct native_frames *native;
	uintptr_t *frames;
	size_t count, max;
	size_t rows;     /* rows of frames, each run by a call of the evaluator */
	bool is_row_end; /* a row ends here, unless a block called its last sub */
	uintptr_t own, statement;
	uintptr_t current; /* current statement of the interpreter */
	bool has_context;  /* a relevant context was found */
	bool is_doubtful; /* the statement is uncertain: it comes from the innermost context, which may be incomplete */
	bool is_leaving;  /* see is_leaving() */
	uintptr_t begins; /* a sub that has no statement yet, or no longer has one; 0: none */
};

static int32_t number_at(const uint8_t *bytes, unsigned offset)
{
	int32_t number;

	memcpy(&number, bytes + offset, sizeof(number));
	return number;
}

/* ---- Frames ---- */

static void walk_put_word(struct walk *walk, uintptr_t frame)
{
	if (walk->count < walk->max)
		walk->frames[walk->count++] = frame;
}

static void walk_end_row(struct walk *walk)
{
	walk_put_word(walk, RUNTIME_ANCHOR);
	walk->rows++;
	walk->is_row_end = false;
}

/* Find the function called NAME, or the sub at SUB, that contains STATEMENT. Returns false if there
 * is none. This includes a statement of an eval that is being freed: its file name goes first. */
static bool function_find(struct walk *walk, const char *name, uintptr_t sub,
			  const struct perl_statement *statement)
{
	struct perl_work *work = walk->work;
	bool fresh;

	/* Frequent in recursion. */
	if (work->number && sub && sub == work->sub && statement->file == work->file_at)
		return true;
	work->number = 0;
	if (name)
		memcpy(work->name, name, strlen(name) + 1);
	else if (!perl_sub_name(walk->perl, work, sub))
		return false;
	if (!perl_file_name(walk->perl, work, statement) ||
	    (name && *name == '(' && !work->file_is_text))
		return false;
	work->number = frame_table_function(
		script_text_fingerprint(script_text_fingerprint(RUNTIME_PERL, work->name),
					work->file),
		&fresh);
	if (fresh)
		frame_table_describe(work->number, JFR_FRAME_PERL, work->name, work->file);
	work->sub = sub;
	work->file_at = statement->file;
	return true;
}

/* Add a frame for NAME, or for the sub at SUB, at the current statement of the walk. */
static void walk_add_frame(struct walk *walk, const char *name, uintptr_t sub)
{
	struct perl_statement statement;
	uintptr_t frame;
	bool fresh;

	if (!perl_statement(walk->perl, walk->work, walk->own, walk->statement, &statement) ||
	    !function_find(walk, name, sub, &statement))
		return;
	frame = frame_table_place(walk->work->number, statement.line, &fresh);
	if (fresh)
		frame_table_line(frame, statement.line);
	if (frame)
		walk_put_word(walk, frame);
}

/* Whether the current variables belong to the sub at SUB. If not, its context is under construction
 * and may hold old data, or is about to be removed. */
static bool sub_is_current(struct walk *walk, uintptr_t sub)
{
	const struct perl *perl = walk->perl;
	struct perl_work *work = walk->work;
	uintptr_t at = perl->key ? walk->own + OWN_VARIABLES : perl->variables, current, fields,
		  list;
	int32_t depth;

	if (!at || !perl_read_word(work, at, &current) || !current ||
	    perl_is_compiling(perl, walk->own, walk->statement))
		return true;
	return perl_read_word(work, sub + SUB_FIELDS, &fields) &&
	       perl_read(work, &depth, fields + SUB_DEPTH, sizeof(depth)) && depth > 0 &&
	       depth < DEPTH_MAX && perl_read_word(work, fields + SUB_LISTS, &list) &&
	       perl_read_word(work, list + LISTS_ARRAY, &list) &&
	       perl_read_word(work, list + (uintptr_t)depth * sizeof(list), &list) &&
	       perl_read_word(work, list + LIST_ARRAY, &list) && list == current;
}

/* What the statement of the walk was compiled as part of. Statements of other parts, such as the
 * code of a substitution, are NOT_KNOWN. */
enum whole { NOT_KNOWN, WHOLE_SUB, WHOLE_EVAL };

static enum whole statement_find_whole(struct walk *walk, uintptr_t *whole)
{
	const struct perl_layout *layout = &walk->perl->layout;
	uint8_t operation[OPERATION_BYTES];
	uintptr_t outer = walk->statement;
	uint32_t type;
	int left = TREE_MAX;

	do {
		*whole = outer;
		if (!left-- || outer % sizeof(outer) ||
		    !perl_read(walk->work, operation, outer, sizeof(operation)))
			return NOT_KNOWN;
		outer = word_at(operation, OPERATION_OUTER);
	} while (outer);
	type = half_at(operation, OPERATION_TYPE) & TYPE_BITS;
	if (layout->statement - type - (SUB_BEFORE - 1) < 2)
		return WHOLE_SUB;
	return type == layout->statement + EVAL_BEHIND ? WHOLE_EVAL : NOT_KNOWN;
}

/* Whether the statement of the walk certainly does not belong to the sub at SUB. */
static bool statement_is_foreign(struct walk *walk, uintptr_t sub)
{
	uintptr_t whole, fields, own;

	return statement_find_whole(walk, &whole) != NOT_KNOWN &&
	       perl_read_word(walk->work, sub + SUB_FIELDS, &fields) &&
	       perl_read_word(walk->work, fields + SUB_WHOLE, &own) && own != whole;
}

/* While C code creates subs, as during the load of a module, the current statement has neither line
 * nor file. Then use the first operation of the sub at SUB. */
static void statement_use_sub_start(struct walk *walk, uintptr_t sub)
{
	uintptr_t fields, first;

	if (perl_is_compiling(walk->perl, walk->own, walk->statement) &&
	    perl_read_word(walk->work, sub + SUB_FIELDS, &fields) &&
	    perl_read_word(walk->work, fields + SUB_FIRST, &first))
		walk->statement = first;
}

/* Drop the innermost context: it is under construction and holds old data. The current statement
 * then belongs to the next context. */
static void walk_drop_innermost(struct walk *walk)
{
	walk->count = walk->rows = 0;
	walk->is_row_end = false;
	walk->begins = 0;
	walk->statement = walk->current;
}

/* Add the sub of CONTEXT. If the sub has just started, or is about to return, the statement belongs
 * to its caller, to the sub that it replaces, or to a sub that was left. The sub is then left out,
 * unless it is recursive. */
static void walk_add_sub(struct walk *walk, const uint8_t *context, bool innermost)
{
	uintptr_t called = word_at(context, CONTEXT_SUB), begins;
	bool first;

	if (walk->is_doubtful && statement_is_foreign(walk, called))
		walk_drop_innermost(walk);
	begins = walk->begins;
	walk->begins = 0;
	first = !walk->count && !walk->rows && !begins;
	if (first && ((innermost && walk->is_leaving) ||
		      walk->statement == word_at(context, CONTEXT_STATEMENT) ||
		      !sub_is_current(walk, called) || statement_is_foreign(walk, called))) {
		walk->begins = called;
		return;
	}
	if (first)
		statement_use_sub_start(walk, called);
	if (begins == called)
		walk_add_frame(walk, NULL, called);
	walk_add_frame(walk, NULL, called);
}

/* Whether CONTEXT is a block that C runs. C then also runs the sub that the block calls last, which
 * has no return address either. */
static bool is_block(const uint8_t *context)
{
	uint8_t type = context[CONTEXT_TYPE];

	return (type & TYPE_MASK) == TYPE_NONE ||
	       ((type & TYPE_MASK) == TYPE_SUB && type & FLAG_IN_PATTERN);
}

static void walk_add_context(struct walk *walk, const uint8_t *context)
{
	uint8_t type = context[CONTEXT_TYPE];
	bool block = is_block(context), innermost = !walk->has_context;
	uintptr_t whole;

	/* An eval block has no name, and its statements belong to the enclosing sub. The same is
	 * true for a loop. */
	if (!block && (type & TYPE_MASK) != TYPE_SUB && (type & TYPE_MASK) != TYPE_FORMAT &&
	    ((type & TYPE_MASK) != TYPE_EVAL || type & (FLAG_EVAL_BLOCK | FLAG_TRY_BLOCK)))
		return;
	walk->has_context = true;
	if (walk->is_row_end && !block)
		walk_end_row(walk);
	if (block)
		walk_add_frame(walk, "{block}", 0);
	else if ((type & TYPE_MASK) != TYPE_EVAL)
		walk_add_sub(walk, context, innermost);
	else if (walk->count || walk->rows ||
		 (!walk->is_leaving && walk->statement != word_at(context, CONTEXT_STATEMENT) &&
		  statement_find_whole(walk, &whole) != WHOLE_SUB))
		walk_add_frame(walk, word_at(context, CONTEXT_REQUIRED) ? "(require)" : "(eval)",
			       0);
	walk->statement = word_at(context, CONTEXT_STATEMENT);
	walk->is_doubtful = innermost;
	walk->is_row_end = block || !word_at(context, CONTEXT_RETURN);
}

/* ---- Walking ---- */

/* Find the interpreter's stack of contexts and its current statement. */
static bool interpreter_find_state(struct walk *walk, uintptr_t *stack)
{
	const struct perl *perl = walk->perl;
	struct perl_work *work = walk->work;
	uintptr_t first;
	uint32_t key;

	if (!perl->key)
		return perl_read_word(work, perl->stack, stack) &&
		       perl_read_word(work, perl->statement, &walk->statement);
	/* Before the first interpreter exists, the key may belong to other code. */
	if (!perl_read_word(work, perl->first, &first) || !first ||
	    !perl_read(work, &key, perl->key, sizeof(key)))
		return false;
	if (pthread_getspecific)
		walk->own = (uintptr_t)pthread_getspecific((pthread_key_t)key);
	else /* an attached program: the main thread's interpreter is the first one */
		walk->own = system_thread() == system_process() ? first : 0;
	return walk->own && perl_read_word(work, walk->own + perl->layout.own_stack, stack) &&
	       perl_read_word(work, walk->own + perl->layout.own_statement, &walk->statement);
}

/* Whether the innermost sub is about to be replaced by goto: the context then changes before the
 * statement. Also true if an eval has ended and its code is being freed. */
static bool is_leaving(struct walk *walk)
{
	const struct perl *perl = walk->perl;
	uintptr_t at = perl->key ? walk->own + OWN_OPERATION : perl->operation, operation;
	uint32_t type;

	return at && perl_read_word(walk->work, at, &operation) &&
	       perl_read(walk->work, &type, operation + OPERATION_TYPE, sizeof(type)) &&
	       ((type & TYPE_BITS) == perl->layout.statement + GOTO_BEHIND ||
		(type & TYPE_BITS) == perl->layout.statement + EVAL_BEHIND);
}

static void walk_stacks(struct walk *walk)
{
	uint8_t stack[STACK_BYTES], context[CONTEXT_READ];
	uintptr_t address, contexts;
	int32_t last;
	int left = CONTEXTS_MAX;

	if (!interpreter_find_state(walk, &address))
		return;
	walk->current = walk->statement;
	walk->is_leaving = is_leaving(walk);
	for (int i = 0; address && i < STACKS_MAX; i++) {
		if (address % sizeof(uintptr_t) ||
		    !perl_read(walk->work, stack, address, sizeof(stack)))
			return;
		contexts = word_at(stack, STACK_CONTEXTS);
		last = number_at(stack, STACK_LAST);
		if (last < -1 || last > number_at(stack, STACK_SIZE) || last > SIZE_MAX_OF)
			return;
		for (; last >= 0; last--) {
			if (!left-- || walk->count == walk->max ||
			    !perl_read(walk->work, context,
				       contexts + (uintptr_t)last * CONTEXT_BYTES, sizeof(context)))
				return;
			walk_add_context(walk, context);
		}
		if (walk->is_row_end)
			walk_end_row(walk);
		address = word_at(stack, STACK_OUTER);
	}
}

/* ---- Positions ---- */

static bool is_in_function(const struct walk *walk, uintptr_t pc, enum perl_function function)
{
	return pc > walk->perl->functions[function].start &&
	       pc <= walk->perl->functions[function].end;
}

static bool is_in_text(const struct walk *walk, uintptr_t pc)
{
	return pc - walk->perl->base.text < walk->perl->base.text_end - walk->perl->base.text;
}

static size_t next_evaluator(const struct walk *walk, size_t i)
{
	const struct native_frames *native = walk->native;

	while (i < native->count && !runtime_is_evaluator(&walk->perl->base, native->pcs[i]))
		i++;
	return i;
}

/* Whether PC is in Perl's code, but not in one of the functions that run something for C. */
static bool is_internal(const struct walk *walk, uintptr_t pc)
{
	return is_in_text(walk, pc) && !is_in_function(walk, pc, PERL_RUN) &&
	       !is_in_function(walk, pc, PERL_CALL) && !is_in_function(walk, pc, PERL_EVAL) &&
	       !is_in_function(walk, pc, PERL_OVERLOAD);
}

/* Whether the evaluator call at AT continues the row of the next outer call. An eval makes such a
 * call to catch errors, in S_docatch of pp_ctl.c, which the eval's operation calls or jumps to. All
 * other functions that call the evaluator are farther from the next call, have a name, or belong to
 * another module. */
static bool call_continues_row(const struct walk *walk, size_t at)
{
	const uintptr_t *pcs = walk->native->pcs;
	size_t outer = next_evaluator(walk, at + 1);

	if (outer == walk->native->count || outer - at < 2 || outer - at > 3)
		return false;
	for (size_t i = at + 1; i < outer; i++)
		if (!is_internal(walk, pcs[i]))
			return false;
	return true;
}

/* The next call, from AT on, that starts a row. */
static size_t call_next_row(const struct walk *walk, size_t at)
{
	at = next_evaluator(walk, at);
	while (at < walk->native->count && call_continues_row(walk, at))
		at = next_evaluator(walk, at + 1);
	return at;
}

/* One more call, outside all others, runs the main program. A thread, and code that runs while Perl
 * starts or ends, have no such call. */
static void walk_add_program(struct walk *walk)
{
	bool runs = false;
	uintptr_t whole;

	for (size_t i = 0; i < walk->native->count; i++)
		runs |= is_in_function(walk, walk->native->pcs[i], PERL_RUN);
	if (!runs || !walk->statement ||
	    perl_is_compiling(walk->perl, walk->own, walk->statement) ||
	    ((!walk->count || walk->is_doubtful) &&
	     statement_find_whole(walk, &whole) != NOT_KNOWN))
		return;
	walk_add_frame(walk, "{main}", 0);
	walk_end_row(walk);
}

/* Leave out the functions that the evaluator calls for an operation: without symbols they are of no use. */
static void natives_leave_out(struct walk *walk, size_t at)
{
	uintptr_t *pcs = walk->native->pcs;

	if (at && !walk->perl->functions[PERL_OPERATION].start && is_internal(walk, pcs[at - 1]) &&
	    !runtime_is_evaluator(&walk->perl->base, pcs[at - 1]))
		pcs[at - 1] = 0;
}

/* Set each row's anchor to the stack address of the call that runs it. The innermost call may have
 * lost its row, as it is about to return; the innermost row may have no call yet and is then left
 * out. */
static void rows_set_anchors(struct walk *walk)
{
	const struct native_frames *native = walk->native;
	size_t calls = 0, skip, drop, kept = 0, row = 0, at = call_next_row(walk, 0);

	for (size_t i = at; i < native->count; i = call_next_row(walk, i + 1))
		calls++;
	skip = calls > walk->rows ? calls - walk->rows : 0;
	drop = calls && walk->rows == calls + 1 && native->is_exact &&
	       is_in_text(walk, native->pcs[0]);
	for (; skip; skip--)
		at = call_next_row(walk, at + 1);
	for (size_t i = 0; i < walk->count; i++) {
		bool anchor = walk->frames[i] == RUNTIME_ANCHOR;

		if (anchor && row >= drop && at < native->count) {
			natives_leave_out(walk, at);
			walk->frames[kept++] =
				(native->sps[at] & ~(sizeof(uintptr_t) - 1)) | RUNTIME_ANCHOR;
			at = call_next_row(walk, at + 1);
		} else if (!anchor && row >= drop) {
			walk->frames[kept++] = walk->frames[i];
		}
		row += anchor;
	}
	walk->count = kept;
}

/* Its address identifies the thread. */
static __thread char self;

size_t perl_walk(const struct perl *perl, struct perl_work *work,
		 const struct native_frames *native, uintptr_t *frames, size_t max)
{
	struct walk walk = {
		.perl = perl, .work = work, .native = native, .frames = frames, .max = max
	};

	memory_copies_begin(&work->copies, (uintptr_t)&self);
	work->number = 0;
	walk_stacks(&walk);
	if (walk.statement)
		walk_add_program(&walk);
	memory_copies_end(&work->copies, (uintptr_t)&self);
	if (native->count)
		rows_set_anchors(&walk);
	return walk.count;
}
