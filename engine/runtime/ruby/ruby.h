/* Ruby, as ruby-lang.org has it, as it was found in this process.
 *
 * A thread has an execution context (each fiber one of its own), and that a stack of control frames: of
 * methods, blocks, and functions of C that are methods. Nothing of Ruby is called. */
#ifndef ENGINE_RUNTIME_RUBY_H
#define ENGINE_RUNTIME_RUBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/reading/memory_copies.h"
#include "engine/reading/memory_reader.h"
#include "engine/reading/words.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/ruby/ruby_layout.h"
#include "engine/runtime/runtime.h"
#include "engine/unwind/unwind.h"

struct ruby {
	struct runtime base; /* its evaluator is rb_vm_exec() */
	struct ruby_layout layout;
	/* vm_exec_core(), which that one has carry out instructions; both 0: it is not known. */
	uintptr_t core, core_end;

	/* The variables ruby_current_vm_ptr (0: not exported) and, in 2.7, ruby_current_execution_context_ptr,
	 * which is of the thread that holds the lock. */
	uintptr_t machine, current;
	/* Where ruby_current_ec may be among the thread's own variables of that module, in bytes; and the
	 * module's number (0: in 2.7). */
	uint32_t tls_module, tls_first, tls_end;

	/* How often the collector has run, and its flags; both 0: not known. */
	uintptr_t collections, collector_flags;
	uintptr_t counts; /* the function that tells */
	/* The module's variables, in which names are looked for. */
	uintptr_t data;
	uint32_t data_bytes;
	/* What names have which number: the variable that holds that array; 0: not found yet. */
	uintptr_t names;
	uint32_t visits; /* in which more could have been looked for */
	/* The numbers of "__classpath__" and "__attached__", where classes have no members for those. */
	uint32_t path_serial, attached_serial;
};

_Static_assert(sizeof(struct ruby) <= RUNTIME_BYTES, "as much as is kept of each");

/* What is the same in all versions: where it is. */
enum {
	CONTEXT_STACK = 0,
	CONTEXT_STACK_WORDS = 8,
	CONTEXT_FRAME = 16,
	CONTEXT_TAG = 24,
	CONTEXT_BYTES = 64,

	THREAD_MACHINE_BEFORE = 8, /* so many bytes before its context, but where nt is between */

	FRAME_PC = 0,
	FRAME_CODE = 16,
	FRAME_ENVIRONMENT = 32,
	FRAME_BYTES = 40,

	/* Of what a frame's environment leads to, which is the last of these. */
	ENVIRONMENT_METHOD = 0,
	ENVIRONMENT_OUTER = 8,
	ENVIRONMENT_FLAGS = 16,
	ENVIRONMENT_BYTES = 24,

	CODE_BODY = 16,
	BODY_TYPE = 0,
	BODY_SIZE = 4,
	BODY_START = 8,
	BODY_PATH = 64,
	BODY_BASE_LABEL = 72,
	BODY_LABEL = 80,
	BODY_FIRST_LINE = 88,
	BODY_BYTES = 152,

	METHOD_CLASS = 8,
	METHOD_DEFINITION = 16,
	METHOD_BYTES = 24,
	DEFINITION_TYPE = 0,
	DEFINITION_ID = 32,
	DEFINITION_BYTES = 40,
};

/* How many strings and classes are remembered in a walk. */
#define RUBY_NOTES 64

/* Room for one walk; a handler's stack has little. */
struct ruby_work {
	struct memory_copies copies;
	/* What a string or a class says, as a number, to tell functions apart. */
	struct {
		uintptr_t value;
		uint64_t print;
	} notes[RUBY_NOTES];
	uint8_t body[BODY_BYTES];
	uintptr_t tag; /* the thread's innermost: see ruby_place() */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Write the frames of the calling thread to FRAMES, innermost first, as frame_table.h has them, and a
 * RUNTIME_ANCHOR behind those of each call of the evaluator. Returns how many words, at most MAX; none where
 * the thread runs no Ruby. *CUT: there are more.
 * Async-signal-safe: no lock, no allocation; the kernel copies what is read. */
size_t ruby_walk(const struct ruby *ruby, struct ruby_work *work, uintptr_t *frames, size_t max,
		 bool *cut);

/* Where the call of the evaluator stands that runs what is at SP on the thread's stack, and made code that says
 * nothing of itself run; each call notes that, to have exceptions come back. For the thread that ruby_walk() was
 * called in last. False where it is not known. Async-signal-safe. */
bool ruby_place(const struct ruby *ruby, struct ruby_work *work, uintptr_t sp,
		struct unwind_place *place);

/* Put FRAMES, of which there are more if CUT, in their places among NATIVE ones. Returns how many there are
 * in OUT, at most MAX. */
size_t ruby_merge(const struct ruby *ruby, const struct native_frames *native,
		  const uintptr_t *frames, size_t frame_count, bool cut, uintptr_t *out, size_t max,
		  bool *truncated);

/* Make room for what is remembered between walks. Not in a handler. Returns 0 or -ENOMEM; once open it
 * stays. */
int ruby_open(void);

/* ---- What its files share ---- */

bool ruby_copy(struct ruby_work *work, void *data, uintptr_t address, size_t size);
bool ruby_read_word(struct ruby_work *work, uintptr_t address, uintptr_t *word);

/* Types of objects. */
enum {
	RUBY_CLASS = 2,
	RUBY_MODULE = 3,
	RUBY_STRING = 5,
	RUBY_ARRAY = 7,
	RUBY_INTERNAL = 26, /* of several kinds */
	RUBY_INCLUDED = 28, /* a module's place among the classes of another */
	RUBY_TYPES = 31,    /* all bits of a type */
};

/* Kinds of RUBY_INTERNAL. */
enum { RUBY_KIND_SVAR = 2, RUBY_KIND_METHOD = 6, RUBY_KIND_CODE = 7 };

static inline bool ruby_is_kind(uintptr_t flags, unsigned kind)
{
	return (flags & RUBY_TYPES) == RUBY_INTERNAL && (flags >> 12 & 15) == kind;
}

/* The flags of the object that VALUE refers to; 0 where it refers to none. */
uintptr_t ruby_flags(struct ruby_work *work, uintptr_t value);

/* What tells the string VALUE from others, or the path of class VALUE; 0 where there is none. */
uint64_t ruby_string_fingerprint(const struct ruby *ruby, struct ruby_work *work, uintptr_t value);
uint64_t ruby_class_fingerprint(const struct ruby *ruby, struct ruby_work *work, uintptr_t value);

/* Append the string VALUE, as far as there is room, to the LENGTH bytes in TEXT, of SIZE. Returns how many
 * there are then, without the NUL that follows. */
size_t ruby_string(const struct ruby *ruby, struct ruby_work *work, uintptr_t value, char *text,
		   size_t length, size_t size);

/* Likewise "Shop::Till#", or "Shop::Till." where CLASS is that of one object; nothing where it has no
 * path. */
size_t ruby_class(const struct ruby *ruby, struct ruby_work *work, uintptr_t class, char *text,
		  size_t length, size_t size);

/* The first value of ARRAY; 0 where there is none. */
uintptr_t ruby_first(struct ruby_work *work, uintptr_t array);

/* The string that method ID is called; 0 where it is not known. */
uintptr_t ruby_name(const struct ruby *ruby, struct ruby_work *work, uintptr_t id);

/* The line that instruction AT, in words from the beginning, of the code with BODY belongs to; 0 where it is
 * not known. */
uint32_t ruby_line(const struct ruby_layout *layout, struct ruby_work *work,
		   const uint8_t body[BODY_BYTES], uint64_t at);

/* A function as it is in the frame table, and its code. */
struct ruby_function {
	uint32_t number;
	uint32_t size; /* in words */
	uintptr_t start;
};

/* Remember what CODE is that belongs to METHOD, for as long as PERIOD lasts. */
void ruby_cache_store(uint64_t period, uintptr_t code, uintptr_t method,
		      const struct ruby_function *function);
bool ruby_cache_find(uint64_t period, uintptr_t code, uintptr_t method,
		     struct ruby_function *function);

#endif
