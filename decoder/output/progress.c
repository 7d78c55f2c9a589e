/* Progress line on the terminal. */
#include "decoder/output/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text/text_clean.h"

#define FIRST_DELAY_NS  1000000000u
#define MIN_INTERVAL_NS 100000000u

void progress_start(struct progress *p)
{
	*p = (struct progress){ .is_terminal = isatty(STDERR_FILENO) == 1,
				.started_ns = clock_monotonic_ns() };
}

void progress_show(struct progress *p, const char *format, ...)
{
	uint64_t now;
	char line[4400];
	va_list args;

	if (!p->is_terminal)
		return;
	now = clock_monotonic_ns();
	if (now - p->started_ns < FIRST_DELAY_NS || now - p->shown_ns < MIN_INTERVAL_NS)
		return;
	p->shown_ns = now;
	p->is_shown = true;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_clean_string(line);
	fprintf(stderr, "\r%s\033[K", line);
}

void progress_clear(struct progress *p)
{
	if (p->is_shown)
		fputs("\r\033[K", stderr);
	p->is_shown = false;
}
