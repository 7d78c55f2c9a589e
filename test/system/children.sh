#!/bin/bash
# With ASPROF_AGENT_CHILDREN=off, programs that a profiled one starts have no preload of the agent, but keep other
# preloads. This holds for each function that starts programs.
. "$(dirname "$0")/agent.inc"

cat >"$work/doors.c" <<'C'
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *arguments[] = { "sh", "-c", "echo \"${LD_PRELOAD-none}\"; grep -c asprof /proc/$$/maps; :",
			     NULL };

static void start(const char *door)
{
	if (!strcmp(door, "execve"))
		execve("/bin/sh", arguments, environ);
	else if (!strcmp(door, "execvp"))
		execvp("sh", arguments);
	else if (!strcmp(door, "execl"))
		execl("/bin/sh", "sh", "-c", arguments[2], (char *)NULL);
	else if (!strcmp(door, "syscall"))
		syscall(SYS_execve, "/bin/sh", arguments, environ);
	_exit(9);
}

int main(int argc, char **argv)
{
	const char *door = argv[argc - 1];
	char line[4096];
	FILE *stream;
	pid_t pid;

	if (!strcmp(door, "system"))
		return system(arguments[2]);
	if (!strcmp(door, "popen")) {
		stream = popen(arguments[2], "r");
		while (stream && fgets(line, sizeof(line), stream))
			fputs(line, stdout);
		return !stream || pclose(stream);
	}
	if (!strcmp(door, "posix_spawn")) {
		if (posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ))
			return 9;
	} else if (!strcmp(door, "vfork")) {
		pid = vfork();
		if (!pid)
			start("execve");
	} else {
		pid = fork();
		if (!pid)
			start(door);
	}
	return waitpid(pid, NULL, 0) != pid;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -w -o "$work/doors" "$work/doors.c" || exit 1
echo 'int nothing_at_all;' >"$work/other.c"
${CC:-cc} -shared -fPIC -o "$work/other.so" "$work/other.c" || exit 1

# tries PRELOADS WANTED DOOR [VARIABLE=value...]: check LD_PRELOAD and the mappings of the started program.
tries() {
	local preloads=$1 wanted=$2 door=$3
	shift 3
	got=$(env "$@" ASPROF_AGENT_LOCAL_DIR="$work/out" ASPROF_AGENT_ENGINE=builtin \
		LD_PRELOAD="$preloads" "$work/doors" "$door" | xargs)
	[ "$got" = "$wanted" ] || fail "$door of $preloads: $got, not $wanted"
}

doors="execve execvp execl syscall system popen posix_spawn vfork"
for door in $doors; do
	tries "$preload" "none 0" "$door" ASPROF_AGENT_CHILDREN=off
done
tries "$preload:$work/other.so" "$work/other.so 0" system ASPROF_AGENT_CHILDREN=off
tries "$work/other.so $preload" "$work/other.so 0" popen ASPROF_AGENT_CHILDREN=off
tries "$preload:$work/other.so:$preload " "$work/other.so: 0" execl ASPROF_AGENT_CHILDREN=off

# keeps VARIABLE=value...: the started programs still have the preload.
keeps() {
	got=$(env "$@" ASPROF_AGENT_LOCAL_DIR="$work/out" LD_PRELOAD="$preload" "$work/doors" execve | xargs)
	[[ $got == "$preload "[1-9]* ]] || fail "$*: $got"
}
keeps ASPROF_AGENT_CHILDREN=on
# A program that is not profiled, such as a shell, still passes the preload to the programs that it starts.
keeps ASPROF_AGENT_CHILDREN=off ASPROF_AGENT_PROCESS=service
echo ok
