/* Prints its number of threads in /proc/self/stat, opened by fopen(3), once it is profiled: alone,
 * with three more, in a forked child, and after a rewind; and whether the rest is what the file
 * has. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "test/programs/check.h"
#include "test/programs/profiled.h"

#define TEXT_BYTES 1024

/* Remove the number of threads from the line, and the values after it that change with time. */
static int cut_count(char *text)
{
	char *at = strrchr(text, ')');
	int count;

	for (int field = 2; field < 20; field++) {
		at = strchr(at + 1, ' ');
		CHECK(at);
	}
	count = atoi(at + 1);
	*at = '\0';
	/* Faults and times are fields 10 to 17. */
	at = strrchr(text, ')');
	for (int field = 2; field < 10; field++)
		at = strchr(at + 1, ' ');
	*at = '\0';
	return count;
}

static void use_cpu(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 10;

	while (clock() < end)
		;
}

/* The stream is an ordinary one of that file, with a descriptor. */
static void use_stream(void)
{
	char text[TEXT_BYTES] = "", again[TEXT_BYTES] = "";
	FILE *stream = fopen("/proc/self/stat", "r"), *other;
	int fd = open("/proc/self/stat", O_RDONLY), copy;
	struct stat is, shown;

	CHECK(stream && fd >= 0 && fileno(stream) >= 0 && fileno(stream) < fd);
	CHECK(!fstat(fd, &is) && !fstat(fileno(stream), &shown));
	CHECK(is.st_dev == shown.st_dev && is.st_mode == shown.st_mode);
	copy = dup(fileno(stream));
	CHECK(copy >= 0 && pread(copy, text, sizeof(text) - 1, 0) > 0);
	other = fdopen(copy, "r");
	CHECK(other && !fclose(other));

	CHECK(fscanf(stream, "%*d %s", text) == 1 && ftell(stream) > 0);
	CHECK(!fseek(stream, 0, SEEK_SET) && ftell(stream) == 0);
	CHECK(fread(text, 1, sizeof(text) - 1, stream) > 0 && feof(stream));
	use_cpu();
	CHECK(!fseek(stream, 0, SEEK_SET) && fgets(again, sizeof(again), stream));
	CHECK(strcmp(text, again)); /* its times are current */
	CHECK(cut_count(text) == cut_count(again) && !strcmp(text, again));
	copy = fileno(stream);
	stream = freopen("/dev/null", "r", stream);
	CHECK(stream && fileno(stream) == copy && fgetc(stream) == EOF && !fclose(stream));

	/* As a stream of C++ does. */
	stream = fopen("/proc/self/stat", "re");
	CHECK(stream && read(fileno(stream), text, sizeof(text)) > 0 && !fclose(stream));
	CHECK(!close(fd));
}

static void tell(const char *when)
{
	char shown[TEXT_BYTES] = "", again[TEXT_BYTES] = "", is[TEXT_BYTES] = "";
	FILE *stream = fopen("/proc/self/stat", "r");
	int fd = open("/proc/self/stat", O_RDONLY), count;

	CHECK(stream && fd >= 0);
	CHECK(fread(shown, 1, sizeof(shown) - 1, stream));
	rewind(stream);
	CHECK(fread(again, 1, sizeof(again) - 1, stream));
	CHECK(feof(stream) && !fclose(stream));
	CHECK(read(fd, is, sizeof(is) - 1) > 0 && !close(fd));
	count = cut_count(shown);
	CHECK(cut_count(again) == count);
	CHECK(!strcmp(shown, again));
	cut_count(is);
	printf("%s: %d, %s\n", when, count, strcmp(shown, is) ? "not as it is" : "as it is");
	fflush(stdout);
}

static void *wait_here(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

int main(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[3];
	int status;
	pid_t child;

	wait_for_agent(30000);
	use_stream();
	tell("alone");
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&threads[i], NULL, wait_here, &barrier));
	tell("four");
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (!child) {
		tell("child");
		wait_for_agent(30000);
		tell("child");
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	return 0;
}
