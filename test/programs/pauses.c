/* Computes with one thread, and measures how long it is kept from that. After each byte of its input it prints the byte before
 * and the longest pause since then, in microseconds: all of it, and without the time in which it waited for a processor. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* How long it has waited for a processor. */
static uint64_t waited_ns(int schedstat)
{
	uint64_t run, waited = 0;
	char text[128] = "";

	if (pread(schedstat, text, sizeof(text) - 1, 0) > 0)
		sscanf(text, "%" SCNu64 " %" SCNu64, &run, &waited);
	return waited;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int main(void)
{
	int schedstat = open("/proc/self/schedstat", O_RDONLY);
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t last = now_ns(), last_waited = waited_ns(schedstat), longest = 0, own = 0;
	char label = 0, next;

	puts("ready");
	fflush(stdout);
	for (;;) {
		bool has_input = poll(&input, 1, 0) > 0;
		uint64_t waited = waited_ns(schedstat), now = now_ns();
		uint64_t pause = now - last, for_processor = waited - last_waited;

		longest = larger(longest, pause);
		own = larger(own, pause > for_processor ? pause - for_processor : 0);
		last = now;
		last_waited = waited;
		if (!has_input)
			continue;
		if (read(STDIN_FILENO, &next, 1) != 1)
			break;
		if (label)
			printf("%c %" PRIu64 " %" PRIu64 "\n", label, longest / 1000, own / 1000);
		fflush(stdout);
		label = next;
		longest = own = 0;
		last = now_ns();
	}
	return puts("ok") < 0;
}
