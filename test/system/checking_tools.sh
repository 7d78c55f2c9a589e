#!/bin/bash
# The agent does not profile a program under a tool that checks all threads and memory accesses, such as valgrind.
. "$(dirname "$0")/agent.inc"

cat >"$work/program.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *thread(void *unused)
{
	(void)unused;
	usleep(700000);
	free(malloc(100));
	return NULL;
}

int main(void)
{
	pthread_t id;

	if (pthread_create(&id, NULL, thread, NULL))
		return 1;
	for (volatile long i = 0; i < 30000000; i++)
		;
	return pthread_join(id, NULL) ? 1 : 5;
}
END

# looked_over NAME COMMAND...: skipped if COMMAND does not work without the agent.
tried=0
looked_over() {
	local name=$1
	shift
	"$@" >/dev/null 2>&1
	[ $? = 5 ] || return
	for engine in $(engines); do
		profiled "$work/reports" "$engine" CPU_INTERVAL=1ms "$@" >"$work/said" 2>&1
		status=$?
		[ $status = 5 ] && grep -q "program runs under $name; profiling is off" "$work/said" &&
			! grep -v '^asprof-agent' "$work/said" ||
			fail "$name, $engine: status $status, $(head -n 20 "$work/said")"
	done
	tried=$((tried + 1))
}

mkdir "$work/reports"
for sanitizer in thread leak; do
	mkdir "$work/$sanitizer"
	${CC:-cc} -O1 -g -pthread -fsanitize=$sanitizer -o "$work/$sanitizer/program" \
		"$work/program.c" 2>/dev/null && looked_over "the $sanitizer sanitizer" \
		"$work/$sanitizer/program"
done
${CC:-cc} -O1 -g -pthread -o "$work/program" "$work/program.c" || fail "cannot build"
command -v valgrind >/dev/null &&
	looked_over valgrind valgrind -q --trace-children=yes --error-exitcode=9 "$work/program"
[ $tried -gt 0 ] || {
	echo "there are no such tools"
	exit 77
}
echo "$tried tools"
