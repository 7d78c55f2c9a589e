#!/bin/bash
# A program that is built for musl is left alone: its loader finds all that it needs in the preload.
. "$(dirname "$0")/agent.inc"

command -v musl-gcc >/dev/null || {
	echo "this needs musl-gcc"
	exit 77
}
cat >"$work/program.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *thread(void *text)
{
	char *copy = malloc(100);

	usleep(1000);
	snprintf(copy, 100, "%s", (char *)text);
	puts(copy);
	free(copy);
	return NULL;
}

int main(void)
{
	pthread_t id;

	if (pthread_create(&id, NULL, thread, "out") || pthread_join(id, NULL))
		return 1;
	return 5;
}
END
musl-gcc -o "$work/program" "$work/program.c" || fail "cannot build"
mkdir "$work/reports"
said=$(profiled "$work/reports" auto NATIVE_MEM=1k "$work/program" 2>&1)
status=$?
[ "$status $said" = "5 out" ] || fail "status $status: $said"
echo ok
