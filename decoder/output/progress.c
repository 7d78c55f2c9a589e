/* How far something is, in one line of the terminal. */
#include "decoder/output/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"

#define PATIENCE_NS 1000000000u
#define PAUSE_NS    100000000u

void progress_start(struct progress *p)
{
	*p = (struct progress){ .terminal = isatty(STDERR_FILENO) == 1,
				.started_ns = clock_monotonic_ns() };
}

void progress_show(struct progress *p, const char *format, ...)
{
	uint64_t now;
	va_list args;

	if (!p->terminal)
		return;
	now = clock_monotonic_ns();
	if (now - p->started_ns < PATIENCE_NS || now - p->shown_ns < PAUSE_NS)
		return;
	p->shown_ns = now;
	p->shown = true;
	fputc('\r', stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\033[K", stderr);
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
