/* Ruby, the implementation of ruby-lang.org, as found in this process.
 *
 * A thread has an execution context, and each fiber has its own. A context has a stack of control
 * frames: of methods, of blocks, and of C functions that are methods. No function of Ruby is
 * called. */
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
	/* vm_exec_core(), which rb_vm_exec() calls to execute instructions; both 0: not known. */
	uintptr_t core, core_end;

	/* Address of the variable ruby_current_vm_ptr; 0: not exported. */
	uintptr_t machine;
	/* Possible offsets of ruby_current_ec, in bytes, in the thread-local storage of its module,
	 * and the number of that module. */
	uint32_t tls_module, tls_first, tls_end;

	/* Addresses of the number of garbage collections and of the collector's flags; both 0: not known. */
	uintptr_t collections, collector_flags;
	uintptr_t counts; /* the function that returns that number */
	/* Variables of the module, which are searched for the table of names. */
	uintptr_t data;
	uint32_t data_bytes;
	/* Address of the variable that holds the names by number; 0: not found yet. */
	uintptr_t names;
	uint32_t visits; /* calls that could have searched for more */
	/* Numbers of "__classpath__" and "__attached__", for versions where classes have no fields for those. */
	uint32_t path_serial, attached_serial;
};

_Static_assert(sizeof(struct ruby) <= RUNTIME_BYTES, "as much as is kept of each");

/* Offsets that are the same in all versions. */
enum {
	CONTEXT_STACK = 0,
	CONTEXT_STACK_WORDS = 8,
	CONTEXT_FRAME = 16,
	CONTEXT_TAG = 24,
	CONTEXT_BYTES = 64,

	THREAD_MACHINE_BEFORE = 8, /* distance before its context, unless nt is between */

	FRAME_PC = 0,
	FRAME_CODE = 16,
	FRAME_ENVIRONMENT = 32,
	FRAME_BYTES = 40,

	/* Environment of a frame; the frame refers to its last word. */
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

/* Number of strings and classes that are cached in a walk. */
#define RUBY_NOTES 64

/* Workspace of one walk; the stack of a handler is too small for it. */
struct ruby_work {
	struct memory_copies copies;
	/* Fingerprints of strings and classes, to identify functions. */
	struct {
		uintptr_t value;
		uint64_t fingerprint;
	} notes[RUBY_NOTES];
	uint8_t body[BODY_BYTES];
	uintptr_t tag; /* the thread's innermost tag: see ruby_place() */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Write the frames of the calling thread to FRAMES, innermost first, in the form of frame_table.h.
 * A RUNTIME_ANCHOR follows the frames of each evaluator call. Returns the number of words, at most
 * MAX; 0 if the thread runs no Ruby. *CUT: there are more frames.
 *
 * Async-signal-safe: no locks, no allocation; the kernel copies what is read. */
size_t ruby_walk(const struct ruby *ruby, struct ruby_work *work, uintptr_t *frames, size_t max,
		 bool *cut);

/* Find the evaluator call that runs the code at SP on the thread's stack, to continue a native walk
 * across JIT code, which has no unwind information. Each evaluator call records its position for
 * exceptions. Valid for the thread that called ruby_walk() last. Returns false if the position is
 * not known. Async-signal-safe. */
bool ruby_place(const struct ruby *ruby, struct ruby_work *work, uintptr_t sp,
		struct unwind_place *place);

/* Merge FRAMES into the NATIVE frames; CUT means that FRAMES is incomplete. Returns the number of
 * frames in OUT, at most MAX. */
size_t ruby_merge(const struct ruby *ruby, const struct native_frames *native,
		  const uintptr_t *frames, size_t frame_count, bool cut, uintptr_t *out, size_t max,
		  bool *truncated);

/* Allocate the memory for data that is kept between walks. Not for a handler. Returns 0 or -ENOMEM.
 * It is never freed. */
int ruby_open(void);

/* ---- Shared by its files ---- */

bool ruby_copy(struct ruby_work *work, void *data, uintptr_t address, size_t size);
bool ruby_read_word(struct ruby_work *work, uintptr_t address, uintptr_t *word);

/* Types of objects. */
enum {
	RUBY_CLASS = 2,
	RUBY_MODULE = 3,
	RUBY_STRING = 5,
	RUBY_ARRAY = 7,
	RUBY_INTERNAL = 26, /* of several kinds */
	RUBY_INCLUDED = 28, /* a module included in a class */
	RUBY_TYPES = 31,    /* mask of the type */
};

/* Kinds of RUBY_INTERNAL. */
enum { RUBY_KIND_SVAR = 2, RUBY_KIND_METHOD = 6, RUBY_KIND_CODE = 7 };

static inline bool ruby_is_kind(uintptr_t flags, unsigned kind)
{
	return (flags & RUBY_TYPES) == RUBY_INTERNAL && (flags >> 12 & 15) == kind;
}

/* Flags of the object that VALUE refers to; 0 if there is none. */
uintptr_t ruby_flags(struct ruby_work *work, uintptr_t value);

/* Fingerprint of the string VALUE, or of the path of the class VALUE; 0 if there is none. */
uint64_t ruby_string_fingerprint(const struct ruby *ruby, struct ruby_work *work, uintptr_t value);
uint64_t ruby_class_fingerprint(const struct ruby *ruby, struct ruby_work *work, uintptr_t value);

/* Append the string VALUE, cut to the available space, to the LENGTH bytes in TEXT, which has SIZE
 * bytes. Returns the new length, without the NUL that follows. */
size_t ruby_string(const struct ruby *ruby, struct ruby_work *work, uintptr_t value, char *text,
		   size_t length, size_t size);

/* Same for "Shop::Till#", or "Shop::Till." if CLASS is the singleton class of an object; appends
 * nothing if the class has no path. */
size_t ruby_class(const struct ruby *ruby, struct ruby_work *work, uintptr_t class, char *text,
		  size_t length, size_t size);

/* The first value of ARRAY; 0 if there is none. */
uintptr_t ruby_first(struct ruby_work *work, uintptr_t array);

/* The string with the name of method ID; 0 if it is not known. */
uintptr_t ruby_name(const struct ruby *ruby, struct ruby_work *work, uintptr_t id);

/* Line of instruction AT, in words from the start, of the code with BODY; 0 if it is not known. */
uint32_t ruby_line(const struct ruby_layout *layout, struct ruby_work *work,
		   const uint8_t body[BODY_BYTES], uint64_t at);

/* A function in the frame table, and its code. */
struct ruby_function {
	uint32_t number;
	uint32_t size; /* in words */
	uintptr_t start;
};

/* Store the function of CODE, which belongs to METHOD, while PERIOD lasts. */
void ruby_cache_store(uint64_t period, uintptr_t code, uintptr_t method,
		      const struct ruby_function *function);
bool ruby_cache_find(uint64_t period, uintptr_t code, uintptr_t method,
		     struct ruby_function *function);

#endif
