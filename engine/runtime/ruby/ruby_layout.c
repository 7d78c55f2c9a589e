/* Offsets in Ruby's structures, by version.
 *
 * The table holds offsetof() results from vm_core.h, iseq.h, method.h, shape.h and internal/class.h
 * of 3.1.0, 3.2.0, 3.3.0, 3.3.5 and 3.4.0, with the config.h of Debian's and Ubuntu's packages, for
 * 64 bits. The offset of the collector's flags comes from gc.c of the same versions. Offsets that
 * all versions share are in ruby.h. */
#include "engine/runtime/ruby/ruby_layout.h"

#include <stddef.h>

/* clang-format off */
static const struct ruby_layout known[] = {
	{ .version = 0x0301,
	  .context_thread = 48, .thread_context = 40,
	  .collector_flags = 16,
	  .frame_bytes = 64,
	  .body_lines = 120, .body_line_count = 136, .body_line_index = 144, .body_bytes = 152,
	  .first_line_is_value = true, .line_bytes = 12,
	  .last_operator = 169,
	  .class = RUBY_CLASS_TABLE, .singleton = 12 },
	{ .version = 0x0302,
	  .context_thread = 48, .thread_context = 48,
	  .collector_flags = 16,
	  .frame_bytes = 64,
	  .body_lines = 112, .body_line_count = 128, .body_line_index = 136, .body_bytes = 144,
	  .line_bytes = 12, .string_has_length = true,
	  .last_operator = 169,
	  .class = RUBY_CLASS_SHAPES, .machine_shapes = 376, .class_extension = 32, .singleton = 12 },
	{ .version = 0x0303,
	  .context_thread = 48, .thread_context = 48,
	  .collector_flags = 16,
	  .frame_bytes = 56,
	  .body_lines = 112, .body_line_count = 128, .body_line_index = 136, .body_bytes = 144,
	  .line_bytes = 12, .string_has_length = true,
	  .last_operator = 169,
	  .class = RUBY_CLASS_FIELD, .class_extension = 32, .singleton = 12 },
	{ .version = 0x0304,
	  .context_thread = 48, .thread_context = 48,
	  .collector_flags = 20,
	  .frame_bytes = 56,
	  .body_lines = 112, .body_line_count = 128, .body_line_index = 136, .body_bytes = 144,
	  .body_outer = 160, .line_bytes = 12, .string_has_length = true,
	  .last_operator = 170,
	  .class = RUBY_CLASS_FIELD, .class_extension = 32, .singleton = 13 },
};
/* clang-format on */

const struct ruby_layout *ruby_layout_known(uint16_t version)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == version)
			return &known[i];
	return NULL;
}
