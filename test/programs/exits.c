/* Ends as the first argument says, from the process or, with a second argument, only a child
 * of it, which then must not flush what is its parent's. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int end(const char *how)
{
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "_Exit"))
		_Exit(3);
	if (!strcmp(how, "quick_exit"))
		quick_exit(3);
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "vfork")) {
		if (!vfork())
			_exit(7);
	} else if (!strcmp(how, "fork")) {
		if (!fork())
			_exit(7);
	}
	while (wait(NULL) > 0)
		;
	return 3;
}

int main(int argc, char **argv)
{
	return argc > 1 ? end(argv[1]) : 0;
}
