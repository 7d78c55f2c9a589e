/* Names of reports. */
#include "upload/files/name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/date.h"

/* Longest kept part of an executable's name: 255 minus "_", a pid, "_", a time, "-N" and the
 * longest suffix. */
#define EXECUTABLE_MAX 200

void name_time(char out[NAME_TIME_SIZE], uint64_t ms)
{
	const struct tm date = date_of_ms(ms);

	strftime(out, NAME_TIME_SIZE, "%Y-%m-%dT%H-%M-%SZ", &date);
}

/* Copy complete UTF-8 characters only. Replace characters that would select another directory or
 * hide the file: the name may come from another process. */
static void name_copy_executable(char out[EXECUTABLE_MAX + 1], const char *executable)
{
	size_t length = strnlen(executable, EXECUTABLE_MAX + 1);

	if (length > EXECUTABLE_MAX)
		for (length = EXECUTABLE_MAX; length && (executable[length] & 0xc0) == 0x80;)
			length--;
	memcpy(out, executable, length);
	out[length] = '\0';
	for (char *p = out; *p; p++)
		if (*p == '/' || iscntrl((unsigned char)*p))
			*p = '_';
	if (out[0] == '.')
		out[0] = '_';
}

void name_file(char out[NAME_FILE_SIZE], const struct report *report, const char *suffix,
	       unsigned int try)
{
	char time[NAME_TIME_SIZE], number[12] = "", executable[EXECUTABLE_MAX + 1];

	name_copy_executable(executable, report->executable);
	name_time(time, report->end_ms);
	if (try)
		snprintf(number, sizeof(number), "-%u", try);
	snprintf(out, NAME_FILE_SIZE, "%s_%d_%s%s%s", executable, (int)report->pid, time, number,
		 suffix);
}

/* The finalizer of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, 2014). */
static uint64_t name_mix(uint64_t into, uint64_t value)
{
	into = (into ^ value) + 0x9e3779b97f4a7c15u;
	into = (into ^ into >> 30) * 0xbf58476d1ce4e5b9u;
	into = (into ^ into >> 27) * 0x94d049bb133111ebu;
	return into ^ into >> 31;
}

/* Draw new randomness for each call: forked children and machines restored from one snapshot
 * would share a stored seed.
 *
 * Such machines may share the kernel's generator for a while, and early in a boot it may have no
 * entropy. Therefore add nanosecond clocks and the host name. */
uint32_t name_unique(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_BOOTTIME,
					    CLOCK_THREAD_CPUTIME_ID };
	uint64_t words[2 + 256 / 8] = { 0 }, mixed = (uint64_t)getpid();
	struct timespec now;

	if (getrandom(words, 2 * sizeof(words[0]), GRND_NONBLOCK) < 0)
		words[0] = 0;
	gethostname((char *)&words[2], sizeof(words) - 2 * sizeof(words[0]) - 1);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		mixed = name_mix(mixed, words[i]);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (!clock_read(clocks[i], &now))
			mixed = name_mix(mixed, (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec);
	return (uint32_t)(mixed >> 32);
}

bool name_matches(const char *text, const char *pattern, unsigned int *numbers)
{
	bool in_run = false;

	for (; *pattern; pattern++, text++) {
		bool digit = *pattern == 'd';

		if (digit             ? !isdigit((unsigned char)*text)
		    : *pattern == 'x' ? !strchr("0123456789abcdef", *text) || !*text
				      : *text != *pattern)
			return false;
		if (digit && !in_run)
			*numbers++ = 0;
		if (digit)
			numbers[-1] = numbers[-1] * 10 + (unsigned int)(*text - '0');
		in_run = digit;
	}
	return true;
}

bool name_parse(const char *name, const char *suffix, int64_t *seconds)
{
	static const char time[] = "_dddd-dd-ddTdd-dd-ddZ";
	size_t length = strlen(name), end = length - strlen(suffix), digits;
	unsigned int n[6];

	if (length <= strlen(suffix) || strcmp(name + end, suffix) != 0)
		return false;

	/* "-N" follows only the Z of the time, because parts of the time end in digits as well. */
	for (digits = 0; digits < end && isdigit((unsigned char)name[end - 1 - digits]);)
		digits++;
	if (digits && digits + 2 <= end && name[end - 1 - digits] == '-' &&
	    name[end - 2 - digits] == 'Z')
		end -= digits + 1;

	if (end < strlen(time) || !name_matches(name + end - strlen(time), time, n))
		return false;
	end -= strlen(time);
	for (digits = 0; digits < end && isdigit((unsigned char)name[end - 1 - digits]);)
		digits++;
	if (!digits || end - digits < 2 || name[end - 1 - digits] != '_')
		return false; /* no pid, or no executable in front of it */

	*seconds = date_seconds(n);
	return true;
}
