/* Perl, as it was found in this process.
 *
 * Nothing of it is called. What runs is a stack of contexts, of subs and evals among others, for each call from C
 * that needs one of its own; each sub, and the statement that called it, is told by its context. One call of
 * Perl_runops_standard runs a row of them, up to one that has nowhere to return to. */
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

/* Functions of its own that a walk looks for among native frames. */
enum perl_function {
	PERL_RUN, /* runs the program */
	/* These run a sub, or code, for C. */
	PERL_CALL,
	PERL_EVAL,
	PERL_OVERLOAD,
	PERL_OPERATION, /* any that carries out an operation */
	PERL_FUNCTIONS,
};

struct perl {
	struct runtime base; /* its evaluator is Perl_runops_standard */
	struct perl_layout layout;
	/* Where there may be several interpreters: what has the first one's address, and the number that threads
	 * know theirs by. */
	uintptr_t first, key;
	/* Else where the variables are: PL_curstackinfo, PL_curcop, PL_compiling, PL_op and PL_curpad. */
	uintptr_t stack, statement, compiling, operation, variables;
	struct perl_range functions[PERL_FUNCTIONS];
};

_Static_assert(sizeof(struct perl) <= RUNTIME_BYTES, "as much as is kept of each");

/* Room for one walk; a handler's stack has little. */
struct perl_work {
	struct memory_copies copies;
	/* The function that was met last: of which sub, and in which file. */
	uintptr_t sub, file_at;
	uint32_t number;   /* in the frame table; 0: none yet */
	bool file_is_text; /* as Perl has it */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Write the frames that the calling thread runs to FRAMES, innermost first, as frame_table.h has them, with
 * a RUNTIME_ANCHOR behind those of each call of the evaluator that is among NATIVE frames. Returns how many
 * words, at most MAX; none where the thread runs no Perl.
 * Async-signal-safe: no lock, no allocation, and what is read is copied by the kernel. */
size_t perl_walk(const struct perl *perl, struct perl_work *work,
		 const struct native_frames *native, uintptr_t *frames, size_t max);

/* ---- What its files share ---- */

bool perl_read(struct perl_work *work, void *data, uintptr_t address, size_t size);
bool perl_read_word(struct perl_work *work, uintptr_t address, uintptr_t *word);

/* Write the name of the sub (a CV) at ADDRESS to WORK, with its package. False where it is none. */
bool perl_sub_name(const struct perl *perl, struct perl_work *work, uintptr_t address);

/* What a statement (a COP) says of itself. */
struct perl_statement {
	uintptr_t file; /* of its name, or of what has it */
	uint32_t line;
};

/* Look at the statement at ADDRESS. False where there is none. OWN is the interpreter, which has one in it that stands
 * for what is being compiled, or 0. */
bool perl_statement(const struct perl *perl, struct perl_work *work, uintptr_t own,
		    uintptr_t address, struct perl_statement *statement);

/* Whether ADDRESS is what stands for what is being compiled. */
bool perl_is_compiling(const struct perl *perl, uintptr_t own, uintptr_t address);

/* Write the name of STATEMENT's file to WORK. False where it has none. */
bool perl_file_name(const struct perl *perl, struct perl_work *work,
		    const struct perl_statement *statement);

#endif
