/* Relies on its descriptors' numbers, and on its environment, as its own.
 *
 * usage: own_numbers WHAT MILLISECONDS
 *   replace      opens files at chosen numbers, reads them and closes them, as shells do
 *   lowest       opens and closes: the number must be the same each time
 *   closeall     closes all descriptors that it did not open, as daemons do, halfway; then opens
 * and reads
 *   environment  builds its environment again and again, and frees the old one
 * Ends with 0; or with 1 after a line with the error. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NUMBERS 5
#define LINE    "mine, and nobody else's\n"

extern char **environ;

static double end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A file of lines, whose number no other code uses. */
static int own_file(void)
{
	char path[] = "/tmp/own-numbers-XXXXXX";
	int low = mkstemp(path), fd = fcntl(low, F_DUPFD_CLOEXEC, 200);

	unlink(path);
	for (int i = 0; i < 100; i++)
		if (write(fd, LINE, strlen(LINE)) < 0)
			return -1;
	close(low);
	return fd;
}

static const char *read_own(int fd)
{
	char text[sizeof(LINE)] = "";

	if (pread(fd, text, strlen(LINE), 0) != (ssize_t)strlen(LINE))
		return "cannot read its own file";
	return strcmp(text, LINE) ? "reads what is not its own" : NULL;
}

static const char *replace(void)
{
	int file = own_file(), low = dup(file);
	const char *wrong = NULL;

	close(low);
	while (!wrong && now() < end) {
		for (int fd = low; fd < low + NUMBERS; fd++)
			dup2(file, fd);
		for (int fd = low; !wrong && fd < low + NUMBERS; fd++)
			wrong = read_own(fd);
		for (int fd = low; fd < low + NUMBERS; fd++)
			if (close(fd) && !wrong)
				wrong = "its own number was closed";
	}
	return wrong;
}

static const char *lowest(void)
{
	int first = open("/dev/null", O_RDONLY), fd;

	close(first);
	while (now() < end) {
		fd = open("/dev/null", O_RDONLY);
		if (fd != first)
			return "the lowest number is another's";
		close(fd);
	}
	return NULL;
}

static void sleep_to(double time)
{
	while (now() < time)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static const char *closeall(void)
{
	double middle = now() + (end - now()) / 2;
	int fds[2] = { -1, -1 };
	const char *wrong = NULL;

	sleep_to(middle);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 2; i++)
		fds[i] = own_file();
	sleep_to(end);
	for (int i = 0; i < 2 && !wrong; i++)
		wrong = read_own(fds[i]);
	return wrong;
}

static const char *environment(void)
{
	char **first = environ, **copy, **before = NULL;
	size_t count = 0;

	while (first[count])
		count++;
	while (now() < end) {
		copy = mmap(NULL, (count + 1) * sizeof(*copy), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t i = 0; i < count; i++)
			copy[i] = strdup(first[i]);
		environ = copy;
		for (size_t i = 0; before && i < count; i++) {
			memset(before[i], 1, 4);
			free(before[i]);
		}
		if (before)
			munmap(before, (count + 1) * sizeof(*before));
		before = copy;
	}
	return NULL;
}

static const struct {
	const char *name;
	const char *(*run)(void);
} modes[] = {
	{ "replace", replace },
	{ "lowest", lowest },
	{ "closeall", closeall },
	{ "environment", environment },
};

int main(int argc, char **argv)
{
	const char *wrong = "usage: own_numbers WHAT MILLISECONDS";

	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[1], modes[i].name)) {
			end = now() + atof(argv[2]) / 1000;
			wrong = modes[i].run();
		}
	if (wrong)
		puts(wrong);
	return wrong != NULL;
}
