/* Error message of the last failed operation. */
#include "core/agent/failure.h"

#include <stdarg.h>
#include <stdio.h>

static char words[512];

int failed(int err, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(words, sizeof(words), format, list);
	va_end(list);
	return err;
}

const char *failure(void)
{
	return words;
}
