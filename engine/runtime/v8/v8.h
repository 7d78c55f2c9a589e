/* V8, as node has it, as it was found in this process.
 *
 * Nothing of V8 is called. Its frames have a frame pointer each, and the function that runs in them is a
 * slot below it: from there a walk reads what the function is called and where it stands, while it is on
 * the stack of the thread that asks. Objects move, but no object that the stack leads to is given up
 * before the stack has been told where it went; one that was moved a moment ago says so. */
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

/* Where things are, in bytes from an object's beginning, and what numbers stand for. V8 says most of it
 * itself, in constants for debuggers (v8dbg_*); v8_find.c has the rest. */
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
	/* Of struct Code. Its instructions begin behind a header: its own, or that of its stream, which
	 * leads to it. */
	uint8_t code_deopt, code_positions, code_start, code_flags, code_size;
	uint8_t stream_bytes, stream_code;
	uint8_t kind_baseline, kind_mask;
	uint8_t deopt_literals, deopt_positions;
	bool scope_positions_first; /* where a function begins stands before the names */
};

struct v8 {
	struct runtime base;
	struct v8_layout layout;
	uintptr_t bytecode_sizes; /* how long each bytecode is; 0: not known */
	uint32_t bytecodes;       /* how many there are */
};

_Static_assert(sizeof(struct v8) <= RUNTIME_BYTES, "as much as is kept of each");

/* V8's own code, where it has no name: builtins that it has copied, and stubs. */
#define V8_STUB_NAME  "[V8]"
#define V8_STUB_PRINT 1

/* Functions that an optimised one has taken in, of which one stands in another. */
#define V8_INLINED_MAX 32

/* What is looked at of a function: see v8_function(). */
struct v8_function {
	uintptr_t shared; /* its SharedFunctionInfo; 0: none */
	uintptr_t script; /* 0: it has none */
	uint32_t number;  /* in the frame table */
	int32_t start;    /* where it begins in the script's source; -1: not known */
};

/* Room for one walk; a handler's stack has little. */
struct v8_work {
	struct memory_copies copies;
	struct v8_function last;
	unsigned looks; /* for code, in this walk */
	uint32_t stub;  /* what stands for V8's own code, in the frame table */
	char name[FRAME_NAME_MAX], file[FRAME_FILE_MAX];
};

/* Put NATIVE frames into OUT, with functions of JavaScript where V8 runs them. STACK reads the thread's own
 * stack. Returns how many there are then, of which at most MAX are in OUT; 0 where there is none of
 * V8. Async-signal-safe: no lock, no allocation; what lies in the heap is copied by the kernel. */
size_t v8_walk(const struct v8 *v8, struct v8_work *work, struct memory_reader *stack,
	       const struct native_frames *native, uintptr_t *out, size_t max, bool *truncated);

/* Make room for what is remembered between walks. Not in a handler. Returns 0 or -ENOMEM; once open it
 * stays. */
int v8_open(void);

/* ---- What its files share ---- */

#define V8_BEGIN_BITS  12
#define V8_SCRIPT_BITS 8     /* scripts whose lines have been counted */
#define V8_STEP        16384 /* characters between two counts */
#define V8_STEPS       1024  /* of a script: what lies beyond has no lines */

struct v8_counted {
	atomic_flag busy;
	_Atomic uint64_t key; /* of the script */
	_Atomic uint32_t known;
	_Atomic uint32_t before[V8_STEPS + 1]; /* line ends before each step */
};

struct v8_memory {
	_Atomic uint64_t begins[1 << V8_BEGIN_BITS]; /* of code: see v8_code_at() */
	struct v8_counted scripts[1 << V8_SCRIPT_BITS];
};

/* Never NULL where there is a struct v8. */
extern struct v8_memory *v8_memory;

/* Copy what is at ADDRESS, in V8's heap. False when it is not there. */
bool v8_copy(struct v8_work *work, void *data, uintptr_t address, size_t size);
bool v8_read_word(struct v8_work *work, uintptr_t address, uintptr_t *word);

/* The address of the object that VALUE refers to, where it is by now, and its instance type; 0 where it
 * refers to none. */
uintptr_t v8_object(const struct v8 *v8, struct v8_work *work, uintptr_t value, uint16_t *type);

/* Likewise of the word at FIELD, where it is of TYPE. */
uintptr_t v8_field(const struct v8 *v8, struct v8_work *work, uintptr_t field, uint16_t type);

static inline bool v8_is_small_integer(uintptr_t value)
{
	return !(value & 1);
}

static inline int32_t v8_small_integer(uintptr_t value)
{
	return (int32_t)(value >> 32);
}

/* Write the string that VALUE refers to to TEXT, cut to SIZE - 1 bytes; "" where there is none. */
void v8_string(const struct v8 *v8, struct v8_work *work, uintptr_t value, char *text, size_t size);

/* A string whose characters lie in one piece. */
struct v8_flat {
	uintptr_t at;
	uint32_t length;
	bool wide; /* two bytes each */
};

bool v8_flat(const struct v8 *v8, struct v8_work *work, uintptr_t value, struct v8_flat *flat);

/* Fill in *FUNCTION for the SharedFunctionInfo at SHARED, and have its name in the frame table. False where
 * it is none. */
bool v8_function(const struct v8 *v8, struct v8_work *work, uintptr_t shared,
		 struct v8_function *function);

/* The frame that stands at POSITION, in characters, of FUNCTION's script; -1: where it begins. */
uintptr_t v8_place(const struct v8 *v8, struct v8_work *work, const struct v8_function *function,
		   int32_t position);

/* The line, from 1 on, that POSITION of SCRIPT is on; 0 where it is not known, or not yet: long scripts
 * are read through in the course of several walks. */
uint32_t v8_line(const struct v8 *v8, struct v8_work *work, uintptr_t script, int32_t position);

/* Compiled code. */
struct v8_code {
	uintptr_t object, start;
	uint32_t size;
	uint8_t kind;
};

/* The code that PC is in. False where there is none. */
bool v8_code_at(const struct v8 *v8, struct v8_work *work, uintptr_t pc, struct v8_code *code);

/* Positions as code has them: in which of the functions that were taken in, if any. */
struct v8_position {
	int32_t offset;   /* -1: not known */
	uint32_t inlined; /* 0: in none */
};

/* What TABLE, which an object at FIELD refers to, has for OFFSET bytes of code. */
struct v8_position v8_position_at(const struct v8 *v8, struct v8_work *work, uintptr_t field,
				  uint32_t offset);

/* Byte code: the offset in ARRAY that instruction OFFSET of baseline CODE carries out; -1: not known. */
int32_t v8_baseline_offset(const struct v8 *v8, struct v8_work *work, const struct v8_code *code,
			   uintptr_t array, uint32_t offset);

/* Where function NUMBER (from 1 on) of those that CODE has taken in stands: its SharedFunctionInfo (0: that
 * of the code itself), and where it is called. */
bool v8_inlined(const struct v8 *v8, struct v8_work *work, const struct v8_code *code,
		uint32_t number, uintptr_t *shared, struct v8_position *caller);

#endif
