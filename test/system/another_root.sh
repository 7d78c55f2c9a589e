#!/bin/bash
# A program that changes its root and its user before its engine starts is profiled all the same: where
# `auto` cannot have async-profiler any more, by the builtin engine.
. "$(dirname "$0")/agent.inc"

[ "$(id -u)" -eq 0 ] || skip "only root can change the root"
cat >"$work/leaves.c" <<'C'
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	time_t end;

	if (argc != 3 || (strcmp(argv[2], "user") && (chroot(argv[1]) || chdir("/"))))
		return 2;
	if (strcmp(argv[2], "root") && (setgid(65534) || setuid(65534)))
		return 2;
	for (end = time(NULL) + 2; time(NULL) < end;)
		;
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -o "$work/leaves" "$work/leaves.c" || exit 1
for_everybody
mkdir -m 0700 "$work/closed"
cp "${ASPROF_TEST_LIB:-$B/libasprof_preload.so}" "$work/closed/libasyncProfiler.so" || exit 1

for what in user root both; do
	rm -rf "$work/root" && mkdir "$work/root" && mkdir -m 0777 "$work/root/reports"
	dir=/reports
	[ $what != user ] || dir=$work/root/reports
	profiled "$dir" auto START_DELAY=300ms LOG=info LIB="$work/closed/libasyncProfiler.so" \
		"$work/leaves" "$work/root" $what 2>"$work/said" || fail "$what: status $?"
	grep -q 'profiling leaves with builtin' "$work/said" || fail "$what: $(cat "$work/said")"
	"$agent" top --cpu "$work/root/reports" >"$work/top" || fail "$what: no samples"
	# Names are to be had where /proc is.
	[ $what != user ] || grep -q 'main \[leaves\]' "$work/top" || fail "$(cat "$work/top")"
done
echo ok
