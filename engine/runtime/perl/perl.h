/* Perl as found in this process.
 *
 * No function of Perl is called. Perl runs a stack of contexts, of subs and evals among others, and
 * a further stack for each call from C that needs one. A context describes its sub and the calling
 * statement. One call of Perl_runops_standard runs a row of contexts, up to one without a return
 * address. */
#ifndef ENGINE_RUNTIME_PERL_H
#define ENGINE_RUNTIME_PERL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/reading/memory_copies.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/perl/perl_layout.h"
#include "engine/runtime/runtime.h"

struct perl_range {
	uintptr_t start, end;
};

/* Functions of Perl that a walk identifies among native frames. */
enum perl_function {
	PERL_RUN, /* runs the program */
	/* These run a sub, or other code, for C. */
	PERL_CALL,
	PERL_EVAL,
	PERL_OVERLOAD,
	PERL_OPERATION, /* any that executes an operation */
	PERL_FUNCTIONS,
};

struct perl {
	struct runtime base; /* its evaluator is Perl_runops_standard */
	struct perl_layout layout;
	/* If there may be several interpreters: the variable with the address of the first one, and
	 * the variable with the thread-specific data key of each thread's interpreter. */
	uintptr_t first, key;
	/* Else the addresses of the variables PL_curstackinfo, PL_curcop, PL_compiling, PL_op and PL_curpad. */
	uintptr_t stack, statement, compiling, operation, variables;
	struct perl_range functions[PERL_FUNCTIONS];
};

_Static_assert(sizeof(struct perl) <= RUNTIME_BYTES, "as much as is kept of each");

/* Workspace of one walk; the stack of a handler is too small for it. */
struct perl_work {
	struct memory_copies copies;
	/* The function that was found last: its sub and its file. */
	uintptr_t sub, file_at;
	uint32_t number;   /* in the frame table; 0: none yet */
	bool file_is_text; /* unchanged from Perl's */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Write the frames of the calling thread to FRAMES, innermost first, in the form of frame_table.h.
 * A RUNTIME_ANCHOR follows the frames of each evaluator call among the NATIVE frames. Returns the
 * number of words, at most MAX; 0 if the thread runs no Perl. Async-signal-safe: no locks, no
 * allocation; the kernel copies what is read. */
size_t perl_walk(const struct perl *perl, struct perl_work *work,
		 const struct native_frames *native, uintptr_t *frames, size_t max);

/* ---- Shared by its files ---- */

bool perl_read(struct perl_work *work, void *data, uintptr_t address, size_t size);
bool perl_read_word(struct perl_work *work, uintptr_t address, uintptr_t *word);

/* Write the name of the sub (a CV) at ADDRESS to WORK, with its package. Returns false if it is not a sub. */
bool perl_sub_name(const struct perl *perl, struct perl_work *work, uintptr_t address);

/* Facts about a statement (a COP). */
struct perl_statement {
	uintptr_t file; /* address of its name, or of the object that holds it */
	uint32_t line;
};

/* Read the statement at ADDRESS. Returns false if there is none. OWN is the interpreter, or 0; it
 * contains a statement that stands for code under compilation. */
bool perl_statement(const struct perl *perl, struct perl_work *work, uintptr_t own,
		    uintptr_t address, struct perl_statement *statement);

/* Whether ADDRESS is the statement that stands for code under compilation. */
bool perl_is_compiling(const struct perl *perl, uintptr_t own, uintptr_t address);

/* Write the file name of STATEMENT to WORK. Returns false if it has none. */
bool perl_file_name(const struct perl *perl, struct perl_work *work,
		    const struct perl_statement *statement);

#endif
