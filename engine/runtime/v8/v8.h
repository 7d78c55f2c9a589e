/* V8 as found in this process, in node.
 *
 * No function of V8 is called. Each of its frames has a frame pointer, and a slot below it refers
 * to the running function. The walk reads the name and position of the function from there, while
 * it is on the stack of the calling thread. Objects move, but V8 frees an object that the stack
 * refers to only after it has updated the stack. An object that was just moved holds its new
 * address. */
#ifndef ENGINE_RUNTIME_V8_H
#define ENGINE_RUNTIME_V8_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/reading/memory_copies.h"
#include "engine/reading/memory_reader.h"
#include "engine/runtime/frame_table.h"
#include "engine/runtime/runtime.h"

/* Offsets in bytes from the start of an object, and the meaning of numbers. V8 exports most of them
 * as constants for debuggers (v8dbg_*); v8_find.c has the others. */
struct v8_layout {
	uint16_t version; /* 10.2: 0x0a02 */

	/* Instance types. */
	uint16_t first_function, last_function, first_context, last_context;
	uint16_t shared_info, script, scope_info, bytecode_array, code, instruction_stream;
	uint16_t fixed_array, byte_array, trusted_byte_array, trusted_fixed_array,
		protected_fixed_array, weak_fixed_array, trusted_weak_fixed_array;

	uint8_t map_instance_type;
	uint8_t function_shared;
	uint8_t shared_name, shared_script;
	uint8_t script_source, script_name, script_line_offset, script_line_ends, script_id;
	uint8_t bytecode_positions, bytecode_data;
	/* struct Code. Its instructions follow a header: its own, or the one of its instruction
	 * stream, which refers to it. */
	uint8_t code_deopt, code_positions, code_start, code_flags, code_size;
	uint8_t stream_bytes, stream_code;
	uint8_t kind_baseline, kind_mask;
	uint8_t deopt_literals, deopt_positions;
	bool scope_positions_first; /* the start of a function precedes its names */
};

struct v8 {
	struct runtime base;
	struct v8_layout layout;
	uintptr_t bytecode_sizes; /* table of the lengths of bytecodes; 0: not known */
	uint32_t bytecodes;       /* number of bytecodes */
};

_Static_assert(sizeof(struct v8) <= RUNTIME_BYTES, "as much as is kept of each");

/* V8's own code without a name: copied builtins, and stubs. */
#define V8_STUB_NAME  "[V8]"
#define V8_STUB_PRINT 1

/* Functions that are inlined in an optimized one, one within another. */
#define V8_INLINED_MAX 32

/* Facts about a function: see v8_function(). */
struct v8_function {
	uintptr_t shared; /* its SharedFunctionInfo; 0: none */
	uintptr_t script; /* 0: none */
	uint32_t number;  /* in the frame table */
	int32_t start;    /* its start in the source of the script; -1: not known */
};

/* Workspace of one walk; the stack of a handler is too small for it. */
struct v8_work {
	struct memory_copies copies;
	struct v8_function last;
	unsigned looks; /* lookups of code in this walk */
	uint32_t stub;  /* number in the frame table of V8's own code */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Write the NATIVE frames to OUT, with JavaScript functions for V8's frames. STACK reads the
 * thread's own stack. Returns the number of frames, of which at most MAX are in OUT; 0 if there is
 * no V8 frame. Async-signal-safe: no locks, no allocation; the kernel copies data of the heap. */
size_t v8_walk(const struct v8 *v8, struct v8_work *work, struct memory_reader *stack,
	       const struct native_frames *native, uintptr_t *out, size_t max, bool *truncated);

/* Allocate the memory for data that is kept between walks. Not for a handler. Returns 0 or -ENOMEM.
 * It is never freed. */
int v8_open(void);

/* ---- Shared by its files ---- */

#define V8_BEGIN_BITS  12
#define V8_SCRIPT_BITS 8     /* scripts with counted lines */
#define V8_STEP        16384 /* characters between two counts */
#define V8_STEPS       1024  /* per script: positions beyond have no lines */

struct v8_counted {
	atomic_flag busy;
	_Atomic uint64_t key; /* of the script */
	_Atomic uint32_t known;
	_Atomic uint32_t before[V8_STEPS + 1]; /* line ends before each step */
};

struct v8_memory {
	_Atomic uint64_t begins[1 << V8_BEGIN_BITS]; /* code starts: see v8_code_at() */
	struct v8_counted scripts[1 << V8_SCRIPT_BITS];
};

/* Never NULL if there is a struct v8. */
extern struct v8_memory *v8_memory;

/* Copy data at ADDRESS in V8's heap. Returns false if it is not mapped. */
bool v8_copy(struct v8_work *work, void *data, uintptr_t address, size_t size);
bool v8_read_word(struct v8_work *work, uintptr_t address, uintptr_t *word);

/* Current address of the object that VALUE refers to, and its instance type; 0 if there is none. */
uintptr_t v8_object(const struct v8 *v8, struct v8_work *work, uintptr_t value, uint16_t *type);

/* Same for the word at FIELD, if it refers to an object of TYPE. */
uintptr_t v8_field(const struct v8 *v8, struct v8_work *work, uintptr_t field, uint16_t type);

static inline bool v8_is_small_integer(uintptr_t value)
{
	return !(value & 1);
}

static inline int32_t v8_small_integer(uintptr_t value)
{
	return (int32_t)(value >> 32);
}

/* Write the string VALUE to TEXT, cut to SIZE - 1 bytes; "" if it is not a string. */
void v8_string(const struct v8 *v8, struct v8_work *work, uintptr_t value, char *text, size_t size);

/* A string whose characters are contiguous. */
struct v8_flat {
	uintptr_t at;
	uint32_t length;
	bool is_wide; /* two bytes per character */
};

bool v8_flat(const struct v8 *v8, struct v8_work *work, uintptr_t value, struct v8_flat *flat);

/* Fill in *FUNCTION for the SharedFunctionInfo at SHARED, and describe it in the frame table.
 * Returns false if it is not one. */
bool v8_function(const struct v8 *v8, struct v8_work *work, uintptr_t shared,
		 struct v8_function *function);

/* The frame at POSITION, in characters, of the script of FUNCTION; -1: its start. */
uintptr_t v8_place(const struct v8 *v8, struct v8_work *work, const struct v8_function *function,
		   int32_t position);

/* Line, from 1, of POSITION in SCRIPT; 0 if not known, or not yet: long scripts are scanned over several walks. */
uint32_t v8_line(const struct v8 *v8, struct v8_work *work, uintptr_t script, int32_t position);

/* Compiled code. */
struct v8_code {
	uintptr_t object, start;
	uint32_t size;
	uint8_t kind;
};

/* Find the code that contains PC. Returns false if there is none. */
bool v8_code_at(const struct v8 *v8, struct v8_work *work, uintptr_t pc, struct v8_code *code);

/* Positions in code, with the inlined function to which they belong. */
struct v8_position {
	int32_t offset;   /* -1: not known */
	uint32_t inlined; /* 0: not inlined */
};

/* Entry for OFFSET, in bytes of code, in the table that an object at FIELD refers to. */
struct v8_position v8_position_at(const struct v8 *v8, struct v8_work *work, uintptr_t field,
				  uint32_t offset);

/* Position of the instruction at OFFSET of optimized CODE. V8 stores positions of all instructions
 * if its embedder wants that, as node does; otherwise only of calls. None if the table has no
 * neighbouring entries without a call between them: then it may have only calls. */
struct v8_position v8_instruction_position(const struct v8 *v8, struct v8_work *work,
					   const struct v8_code *code, uint32_t offset);

/* Offset in the bytecode ARRAY that belongs to instruction OFFSET of baseline CODE; -1: not known. */
int32_t v8_baseline_offset(const struct v8 *v8, struct v8_work *work, const struct v8_code *code,
			   uintptr_t array, uint32_t offset);

/* Inlined function NUMBER (from 1) of CODE: its SharedFunctionInfo (0: that of the code itself) and
 * the position of the call. */
bool v8_inlined(const struct v8 *v8, struct v8_work *work, const struct v8_code *code,
		uint32_t number, uintptr_t *shared, struct v8_position *caller);

#endif
