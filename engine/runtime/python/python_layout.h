/* Where CPython keeps what a walk looks for: the offsets of its structures, by version. */
#ifndef ENGINE_RUNTIME_PYTHON_LAYOUT_H
#define ENGINE_RUNTIME_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the frames of a thread hang together. */
enum python_chain {
	/* 3.8 to 3.10: frame objects, each run by a call of the evaluator. In 3.10 each such call has a
	 * "C frame" on the stack. */
	PYTHON_OBJECTS,
	/* 3.11: a call of the evaluator runs a row of frames, from that which its C frame names up to
	 * one that is marked as its entry. */
	PYTHON_ENTRIES,
	/* From 3.12 on: the row ends in a frame that is none, on the stack of that call. */
	PYTHON_SHIMS,
};

/* Offsets in bytes. */
struct python_layout {
	uint16_t version; /* major << 8 | minor */
	uint8_t chain;
	uint8_t shim_owner; /* frames with this owner, or a higher one, are none */

	/* The runtime, and its interpreters. RUNTIME_CURRENT is the thread that holds the lock of all
	 * interpreters, where there is such a lock; else 0. ENDING is other than 0 while it is taken
	 * down. */
	uint32_t runtime_interpreters, runtime_current, runtime_ending;
	uint32_t interpreter_next, interpreter_threads;

	/* A thread's state. FRAME or C_FRAME is 0 where it has none. */
	uint16_t thread_next, thread_interpreter, thread_id, thread_frame, thread_c_frame;
	uint16_t c_frame_frame, c_frame_previous;

	/* INSTRUCTION is an address, or in frame objects an index; ENTRY is where 3.11 has its mark. */
	uint16_t frame_previous, frame_code, frame_instruction, frame_owner, frame_entry;
	uint16_t frame_bytes; /* what has to be read of one */

	/* QUALNAME, LINES' form and VERSION (0: there is none) depend on the version. */
	uint16_t code_file, code_name, code_qualname, code_lines, code_first_line, code_version;
	uint16_t code_start;

	/* Strings and bytes: how long what stands before the characters is. */
	uint16_t ascii_bytes, compact_bytes, bytes_bytes;
};

/* What is read of a thread's state, a frame and a code object lies within so many bytes. */
#define PYTHON_STATE_BYTES 192
#define PYTHON_FRAME_BYTES 128
#define PYTHON_CODE_BYTES  160

/* The layout of VERSION, where a table has it; NULL else. */
const struct python_layout *python_layout_known(uint16_t version);

/* So much of _PyRuntime is enough to tell it from 3.13 on. */
#define PYTHON_OFFSETS_BYTES 1024

/* Read it from there. False when it does not say, or what it says is not to be used. */
bool python_layout_read(struct python_layout *layout, uint16_t version,
			const uint8_t offsets[PYTHON_OFFSETS_BYTES]);

#endif
