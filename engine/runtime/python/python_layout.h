/* Offsets in CPython's structures, by version. */
#ifndef ENGINE_RUNTIME_PYTHON_LAYOUT_H
#define ENGINE_RUNTIME_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How the frames of a thread are linked. */
enum python_chain {
	/* 3.8 to 3.10: frame objects, each run by a call of the evaluator. In 3.10 each such call
	 * has a "C frame" on the stack. */
	PYTHON_OBJECTS,
	/* 3.11: a call of the evaluator runs a row of frames. The row starts at the frame in its C
	 * frame and ends at a frame marked as its entry. */
	PYTHON_ENTRIES,
	/* Since 3.12: the row ends in a shim frame on the stack of that call. */
	PYTHON_SHIMS,
};

/* Offsets in bytes. */
struct python_layout {
	uint16_t version; /* major << 8 | minor */
	uint8_t chain;
	uint8_t shim_owner; /* frames with this owner or a higher one are shims */

	/* The runtime and its interpreters. RUNTIME_CURRENT is the thread that holds the lock of
	 * all interpreters, if there is such a lock; else 0. ENDING is not 0 during finalization. */
	uint32_t runtime_interpreters, runtime_current, runtime_ending;
	uint32_t interpreter_next, interpreter_threads;

	/* Thread state. FRAME or C_FRAME is 0 if it does not have one. */
	uint16_t thread_next, thread_interpreter, thread_id, thread_frame, thread_c_frame;
	uint16_t c_frame_frame, c_frame_previous;

	/* INSTRUCTION is an address, or an index in frame objects. ENTRY is the offset of the entry
	 * mark of 3.11. */
	uint16_t frame_previous, frame_code, frame_instruction, frame_owner, frame_entry;
	uint16_t frame_bytes; /* bytes of a frame that are read */

	/* The meaning of QUALNAME and LINES, and VERSION (0: none), depend on the Python version. */
	uint16_t code_file, code_name, code_qualname, code_lines, code_first_line, code_version;
	uint16_t code_start;

	/* Strings and bytes: size of the header before the characters. */
	uint16_t ascii_bytes, compact_bytes, bytes_bytes;
};

/* The fields that are read of a thread state, a frame and a code object are within these sizes. */
#define PYTHON_STATE_BYTES 192
#define PYTHON_FRAME_BYTES 128
#define PYTHON_CODE_BYTES  160

/* The layout of VERSION from the table; NULL if it is not there. */
const struct python_layout *python_layout_known(uint16_t version);

/* The bytes of _PyRuntime that are sufficient to read the layout since 3.13. */
#define PYTHON_OFFSETS_BYTES 1024

/* Read the layout from these bytes. Returns false if they hold no valid layout. */
bool python_layout_read(struct python_layout *layout, uint16_t version,
			const uint8_t offsets[PYTHON_OFFSETS_BYTES]);

#endif
