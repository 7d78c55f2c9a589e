/* What a command tells its user on stderr. */
#include "decoder/say.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool say_nothing;

void say(const char *format, ...)
{
	va_list args;

	if (say_nothing)
		return;
	flockfile(stderr);
	fputs("asprof-agent: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void say_damage(const char *file, const struct jfr_error *error)
{
	say("%s: offset %" PRIu64 ": %s", file, error->offset,
	    error->what ? error->what : "damaged");
}
