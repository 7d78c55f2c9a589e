/* Ends in the way of the argument, with status 3. With fork and vfork a child ends first, which
 * must not flush its parent's samples. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Execute a program without the preload. */
static void become(const char *how)
{
	char *const argv[] = { "sh", "-c", "exit 3", NULL }, *const none[] = { NULL };

	if (!strcmp(how, "execve"))
		execve("/bin/sh", argv, none);
	if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, "/bin/sh", argv, none, 0);
}

static int end(const char *how)
{
	become(how);
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
