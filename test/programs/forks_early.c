/* Forks twenty children as soon as it runs, slowly, because much memory must be copied. Each waits
 * a little and ends with 0. If a child ends otherwise, the program prints how, and the status is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 20
#define BYTES    (48u << 20)

int main(void)
{
	char *memory = malloc(BYTES);
	int status, bad = 0;

	if (!memory)
		return 2;
	memset(memory, 1, BYTES);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child < 0)
			return 3;
		if (!child) {
			usleep(20000);
			_exit(memory[i] != 1);
		}
	}
	for (int i = 0; i < CHILDREN; i++) {
		if (wait(&status) < 0)
			return 4;
		if (status)
			printf("status %x\n", (unsigned)status);
		bad += status != 0;
	}
	free(memory);
	return bad != 0;
}
