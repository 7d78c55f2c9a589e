/* Offsets in the structures of the Ruby interpreter, by its version. Names in parentheses are Ruby's. */
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

/* Offsets in bytes, unless stated otherwise. */
struct ruby_layout {
	uint16_t version; /* major << 8 | minor */

	/* An execution context and its thread refer to each other. */
	uint8_t context_thread, thread_context;
	uint8_t collector_flags; /* in the garbage collector's object (rb_objspace) */

	uint8_t frame_bytes; /* size of a control frame */

	/* The code of a function (rb_iseq_constant_body), and its size. */
	uint8_t body_lines, body_line_count, body_line_index, body_bytes;
	/* The enclosing code of an eval string's code. 0: the label of that code is the enclosing code's anyway. */
	uint8_t body_outer;
	bool first_line_is_value; /* a Ruby integer (VALUE), and not an int */
	uint8_t line_bytes;       /* size of an entry in the table of lines */

	/* Highest ID of an operator (tLAST_OP_ID). The serial of a higher ID is in its upper bits. */
	uint8_t last_operator;
	bool string_has_length; /* embedded strings also have a length field */

	enum ruby_class class;
	uint16_t machine_shapes; /* the table of shapes, in the virtual machine (rb_vm_t) */
	uint8_t class_extension; /* the extension, in the class; 0: the class has a pointer to it */
	uint8_t singleton;       /* number of the flag bit of a singleton class */
};

/* The layout of VERSION; NULL if it is not known. */
const struct ruby_layout *ruby_layout_known(uint16_t version);

#endif
