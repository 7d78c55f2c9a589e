/* Prints "ready". After a byte of input it makes DIR its root directory, and drops its rights at once, by system calls of one
 * thread. At the end of its input it prints "ok".
 * Usage: changes_root DIR */
#include <grp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNPRIVILEGED_ID 65534

int main(int argc, char **argv)
{
	char byte;

	puts("ready");
	fflush(stdout);
	if (argc != 2 || read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	if (chroot(argv[1]) || chdir("/") || syscall(SYS_setgroups, 0, NULL) ||
	    syscall(SYS_setresgid, UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID) ||
	    syscall(SYS_setresuid, UNPRIVILEGED_ID, UNPRIVILEGED_ID, UNPRIVILEGED_ID)) {
		perror("changes_root");
		return 1;
	}
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	puts("ok");
	return 0;
}
