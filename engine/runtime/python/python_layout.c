/* Offsets in CPython's structures, by version.
 *
 * The tables hold offsetof() results from the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and
 * 3.12.1, for 64 bits; these structures do not change within a minor version. Since 3.13 the
 * runtime begins with a table of offsets for this purpose (_Py_DebugOffsets,
 * Include/internal/pycore_debug_offsets.h). */
#include "engine/runtime/python/python_layout.h"

#include <string.h>

/* clang-format off */
static const struct python_layout known[] = {
	{ .version = 0x0308, .chain = PYTHON_OBJECTS,
	  .runtime_interpreters = 32, .runtime_ending = 16, .runtime_current = 1368,
	  .interpreter_next = 0, .interpreter_threads = 8,
	  .thread_next = 8, .thread_interpreter = 16, .thread_id = 176, .thread_frame = 24,
	  .frame_previous = 24, .frame_code = 32, .frame_instruction = 104,
	  .frame_bytes = 112,
	  .code_file = 104, .code_name = 112, .code_qualname = 112, .code_lines = 120,
	  .code_first_line = 40,
	  .ascii_bytes = 48, .compact_bytes = 72, .bytes_bytes = 32 },
	{ .version = 0x0309, .chain = PYTHON_OBJECTS,
	  .runtime_interpreters = 32, .runtime_ending = 16, .runtime_current = 568,
	  .interpreter_next = 0, .interpreter_threads = 8,
	  .thread_next = 8, .thread_interpreter = 16, .thread_id = 176, .thread_frame = 24,
	  .frame_previous = 24, .frame_code = 32, .frame_instruction = 104,
	  .frame_bytes = 112,
	  .code_file = 104, .code_name = 112, .code_qualname = 112, .code_lines = 120,
	  .code_first_line = 40,
	  .ascii_bytes = 48, .compact_bytes = 72, .bytes_bytes = 32 },
	{ .version = 0x030a, .chain = PYTHON_OBJECTS,
	  .runtime_interpreters = 32, .runtime_ending = 16, .runtime_current = 568,
	  .interpreter_next = 0, .interpreter_threads = 8,
	  .thread_next = 8, .thread_interpreter = 16, .thread_id = 176, .thread_frame = 24,
	  .thread_c_frame = 48, .c_frame_previous = 8,
	  .frame_previous = 24, .frame_code = 32, .frame_instruction = 96,
	  .frame_bytes = 104,
	  .code_file = 104, .code_name = 112, .code_qualname = 112, .code_lines = 120,
	  .code_first_line = 40,
	  .ascii_bytes = 48, .compact_bytes = 72, .bytes_bytes = 32 },
	{ .version = 0x030b, .chain = PYTHON_ENTRIES,
	  .runtime_interpreters = 40, .runtime_ending = 24, .runtime_current = 576,
	  .interpreter_next = 0, .interpreter_threads = 16,
	  .thread_next = 8, .thread_interpreter = 16, .thread_id = 152, .thread_c_frame = 56,
	  .c_frame_frame = 8, .c_frame_previous = 16,
	  .frame_previous = 48, .frame_code = 32, .frame_instruction = 56, .frame_owner = 69,
	  .frame_entry = 68, .frame_bytes = 72,
	  .code_file = 112, .code_name = 120, .code_qualname = 128, .code_lines = 136,
	  .code_first_line = 72, .code_start = 184,
	  .ascii_bytes = 48, .compact_bytes = 72, .bytes_bytes = 32 },
	{ .version = 0x030c, .chain = PYTHON_SHIMS, .shim_owner = 3,
	  .runtime_interpreters = 40, .runtime_ending = 24,
	  .interpreter_next = 0, .interpreter_threads = 72,
	  .thread_next = 8, .thread_interpreter = 16, .thread_id = 136, .thread_c_frame = 56,
	  .c_frame_frame = 0, .c_frame_previous = 8,
	  .frame_previous = 8, .frame_code = 0, .frame_instruction = 56, .frame_owner = 70,
	  .frame_bytes = 72,
	  .code_file = 112, .code_name = 120, .code_qualname = 128, .code_lines = 136,
	  .code_first_line = 68, .code_version = 92, .code_start = 192,
	  .ascii_bytes = 40, .compact_bytes = 56, .bytes_bytes = 32 },
};
/* clang-format on */

const struct python_layout *python_layout_known(uint16_t version)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == version)
			return &known[i];
	return NULL;
}

/* The table has 64-bit words: a head, then a group for each structure, which begins with its size.
 * New versions extend the groups. */
enum {
	HEAD_COOKIE,
	HEAD_VERSION, /* PY_VERSION_HEX */
	HEAD_FREE_THREADED,
	HEAD_WORDS,
};

enum {
	RUNTIME_ENDING = HEAD_WORDS + 1,
	RUNTIME_INTERPRETERS,
	RUNTIME_END,
};

/* Indexes within a group. */
enum {
	INTERPRETER_NEXT = 2,
	INTERPRETER_THREADS,

	THREAD_NEXT = 2,
	THREAD_INTERPRETER,
	THREAD_FRAME,

	FRAME_PREVIOUS = 1,
	FRAME_CODE,
	FRAME_INSTRUCTION,
	FRAME_OWNER = 5,

	CODE_FILE = 1,
	CODE_NAME,
	CODE_QUALNAME,
	CODE_LINES,
	CODE_FIRST_LINE,
	CODE_START = 9,
};

static const struct groups {
	uint16_t version;
	/* Lengths of the groups, and the index of a thread's identity in its group. */
	uint8_t interpreter, thread, thread_id, frame;
} groups[] = {
	{ 0x030d, 13, 9, 5, 6 },
	{ 0x030e, 16, 9, 5, 8 },
	{ 0x030f, 16, 16 + 1, 8, 8 }, /* and an unused group */
};

/* co_version is not in the table: five 32-bit numbers are between it and the first line. */
#define FIRST_LINE_TO_VERSION 24

/* Limit of an offset into structures that are not read as a whole. */
#define OFFSET_MAX (1u << 20)

/* Whether words FIRST to END of GROUP are offsets of fields within BYTES. */
static bool fields_within(const uint64_t *group, uint64_t bytes, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		if (group[i] > bytes - sizeof(uint64_t))
			return false;
	return true;
}

static uint16_t frame_bytes(const uint64_t *frame)
{
	uint64_t last = frame[FRAME_OWNER];

	for (unsigned i = FRAME_PREVIOUS; i <= FRAME_INSTRUCTION; i++)
		if (frame[i] > last)
			last = frame[i];
	return (uint16_t)(last + sizeof(uint64_t));
}

bool python_layout_read(struct python_layout *layout, uint16_t version,
			const uint8_t offsets[PYTHON_OFFSETS_BYTES])
{
	uint64_t table[PYTHON_OFFSETS_BYTES / sizeof(uint64_t)];
	const uint64_t *interpreter, *thread, *frame, *code;
	const struct groups *g = groups, *end = groups + sizeof(groups) / sizeof(groups[0]);

	memcpy(table, offsets, sizeof(table));
	while (g < end && g->version != version)
		g++;
	/* Builds without a global interpreter lock have larger objects and store code elsewhere. */
	if (g == end || memcmp(table, "xdebugpy", 8) || table[HEAD_VERSION] >> 16 != version ||
	    table[HEAD_FREE_THREADED])
		return false;
	interpreter = table + RUNTIME_END;
	thread = interpreter + g->interpreter;
	frame = thread + g->thread;
	code = frame + g->frame;
	*layout = (struct python_layout){
		.version = version,
		.chain = PYTHON_SHIMS,
		.shim_owner = 3,
		.runtime_interpreters = (uint32_t)table[RUNTIME_INTERPRETERS],
		.runtime_ending = (uint32_t)table[RUNTIME_ENDING],
		.interpreter_next = (uint32_t)interpreter[INTERPRETER_NEXT],
		.interpreter_threads = (uint32_t)interpreter[INTERPRETER_THREADS],
		.thread_next = (uint16_t)thread[THREAD_NEXT],
		.thread_interpreter = (uint16_t)thread[THREAD_INTERPRETER],
		.thread_frame = (uint16_t)thread[THREAD_FRAME],
		.thread_id = (uint16_t)thread[g->thread_id],
		.frame_previous = (uint16_t)frame[FRAME_PREVIOUS],
		.frame_code = (uint16_t)frame[FRAME_CODE],
		.frame_instruction = (uint16_t)frame[FRAME_INSTRUCTION],
		.frame_owner = (uint16_t)frame[FRAME_OWNER],
		.frame_bytes = frame_bytes(frame),
		.code_file = (uint16_t)code[CODE_FILE],
		.code_name = (uint16_t)code[CODE_NAME],
		.code_qualname = (uint16_t)code[CODE_QUALNAME],
		.code_lines = (uint16_t)code[CODE_LINES],
		.code_first_line = (uint16_t)code[CODE_FIRST_LINE],
		.code_version = (uint16_t)(code[CODE_FIRST_LINE] + FIRST_LINE_TO_VERSION),
		.code_start = (uint16_t)code[CODE_START],
		.ascii_bytes = 40,
		.compact_bytes = 56,
		.bytes_bytes = 32,
	};
	return fields_within(table, OFFSET_MAX, RUNTIME_ENDING, RUNTIME_END) &&
	       fields_within(interpreter, OFFSET_MAX, INTERPRETER_NEXT, INTERPRETER_THREADS + 1) &&
	       fields_within(thread, PYTHON_STATE_BYTES, THREAD_NEXT, g->thread_id + 1) &&
	       fields_within(frame, PYTHON_FRAME_BYTES, FRAME_PREVIOUS, FRAME_INSTRUCTION + 1) &&
	       fields_within(frame, PYTHON_FRAME_BYTES, FRAME_OWNER, FRAME_OWNER + 1) &&
	       fields_within(code, PYTHON_CODE_BYTES, CODE_FILE, CODE_FIRST_LINE + 1) &&
	       layout->code_version + sizeof(uint32_t) <= PYTHON_CODE_BYTES &&
	       code[CODE_START] < OFFSET_MAX;
}
