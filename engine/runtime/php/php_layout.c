/* Offsets in PHP's structures, by version.
 *
 * They are offsetof() results from Zend/zend_globals.h and Zend/zend_compile.h of each version, for
 * 64 bits and without ZTS; these structures do not change within a minor version. Those of 7.4, 8.2
 * and 8.4 come from Debian's headers, those of 8.1, 8.3 and 8.5 from Ubuntu's, and all of these
 * were tested. For 8.0, the offset of the file is the one that the profiler phpspy publishes; the
 * others are as in 8.1. */
#include "engine/runtime/php/php_layout.h"

/* clang-format off */
static const struct php_layout known[] = {
	{ .version = 0x0704, .globals_current = 488, .globals_bailout = 416,
	  .function_count = 60, .function_code = 64, .function_file = 136,
	  .function_line = 144 },
	{ .version = 0x0800, .globals_current = 488, .globals_bailout = 416,
	  .function_count = 68, .function_code = 72, .function_file = 144,
	  .function_line = 152 },
	{ .version = 0x0801, .globals_current = 488, .globals_bailout = 416,
	  .function_count = 68, .function_code = 72, .function_file = 144,
	  .function_line = 152 },
	{ .version = 0x0802, .globals_current = 488, .globals_bailout = 416,
	  .function_count = 80, .function_code = 88, .function_file = 152,
	  .function_line = 160 },
	{ .version = 0x0803, .globals_current = 488, .globals_bailout = 416,
	  .function_count = 76, .function_code = 80, .function_file = 144,
	  .function_line = 152 },
	{ .version = 0x0804, .globals_current = 488, .globals_bailout = 416,
	  .function_count = 96, .function_code = 104, .function_file = 168,
	  .function_line = 176 },
	{ .version = 0x0805, .globals_current = 512, .globals_bailout = 416,
	  .function_count = 96, .function_code = 104, .function_file = 168,
	  .function_line = 176 },
};
/* clang-format on */

const struct php_layout *php_layout_known(uint16_t version)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == version)
			return &known[i];
	return NULL;
}
