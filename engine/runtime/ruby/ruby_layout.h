/* Offsets in Ruby's structures, by version. */
#ifndef ENGINE_RUNTIME_RUBY_LAYOUT_H
#define ENGINE_RUNTIME_RUBY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Location of a class's path: "Shop::Till". */
enum ruby_class {
	RUBY_CLASS_TABLE,  /* 3.1: an instance variable, in a table */
	RUBY_CLASS_SHAPES, /* 3.2: an instance variable, at a position that its shape defines */
	RUBY_CLASS_FIELD,  /* since 3.3: a field */
};

/* Offsets in bytes. */
struct ruby_layout {
	uint16_t version; /* major << 8 | minor */

	/* An execution context and its thread refer to each other. */
	uint8_t context_thread, thread_context;
	uint8_t collector_flags;

	uint8_t frame_bytes;

	/* The code of a function. */
	uint8_t body_lines, body_line_count, body_line_index, body_bytes;
	uint8_t body_outer; /* code of an eval string: the enclosing code; 0: the string's code has that name itself */
	bool first_line_is_value; /* and not an int */
	uint8_t line_bytes;       /* size of an entry in the table of lines */

	uint8_t last_operator;  /* numbers up to this one are used without a shift */
	bool string_has_length; /* embedded strings also have a length field */

	enum ruby_class class;
	uint16_t machine_shapes; /* offset of the shapes */
	uint8_t class_extension; /* offset of a class's extension; 0: the class has a pointer to it */
	uint8_t singleton;       /* flag of a singleton class */
};

/* The layout of VERSION; NULL if it is not known. */
const struct ruby_layout *ruby_layout_known(uint16_t version);

#endif
