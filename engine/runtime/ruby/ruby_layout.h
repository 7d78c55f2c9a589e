/* Where Ruby keeps what a walk looks for: the offsets of its structures, by version. */
#ifndef ENGINE_RUNTIME_RUBY_LAYOUT_H
#define ENGINE_RUNTIME_RUBY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How a class is asked for its path: "Shop::Till". */
enum ruby_class {
	RUBY_CLASS_TABLE,  /* up to 3.1: a variable of it, in a table */
	RUBY_CLASS_SHAPES, /* 3.2: a variable of it, in a place that its shape tells */
	RUBY_CLASS_FIELD,  /* from 3.3 on: a member */
};

/* Offsets in bytes. */
struct ruby_layout {
	uint16_t version; /* major << 8 | minor */

	/* An execution context and its thread lead to one another. */
	uint8_t context_thread, thread_context;
	/* 2.7: threads are in a list of the machine's. 0: a thread has its context in a variable of its own. */
	uint16_t machine_threads;
	uint8_t thread_id;

	uint8_t collector_flags;

	uint8_t frame_bytes;

	/* The code of a function. */
	uint8_t body_lines, body_line_count, body_line_index, body_bytes;
	uint8_t body_outer; /* of code that a string has become: the code around it; 0: it says that one's name itself */
	bool first_line_is_value; /* and not a plain int */
	uint8_t line_bytes;       /* of one in the table of lines */

	uint8_t last_operator;  /* of numbers of names: up to this one they are used as they are */
	bool string_has_length; /* also one that holds its characters */

	enum ruby_class class;
	uint16_t machine_shapes; /* where those are */
	uint8_t class_extension; /* what more there is of a class: 0: it has a pointer to that */
	uint8_t singleton;       /* the bit of a class's flags that says it is of one object */
};

/* The layout of VERSION; NULL where it is not known. */
const struct ruby_layout *ruby_layout_known(uint16_t version);

#endif
