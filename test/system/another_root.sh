#!/bin/bash
# A program that changes its root and its user before its engine starts is profiled. If `auto` cannot use
# async-profiler any more, the builtin engine profiles it. In a forked child's new root, the agent creates no directories
# and no log.
. "$(dirname "$0")/agent.inc"

[ "$(id -u)" -eq 0 ] || skip "only root can change the root"
cat >"$work/leaves.c" <<'C'
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Half a second of work, after the file PROFILED appears in the root of that time. */
int main(int argc, char **argv)
{
	clock_t end;
	int status;

	if (argc == 4 && !strcmp(argv[2], "fork") && fork())
		return wait(&status) < 0 || status;
	if (argc != 4 || (strcmp(argv[2], "user") && (chroot(argv[1]) || chdir("/"))))
		return 2;
	if ((!strcmp(argv[2], "user") || !strcmp(argv[2], "both")) && (setgid(65534) || setuid(65534)))
		return 2;
	for (int i = 0; i < 30000 && access(argv[3], F_OK); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
		;
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -o "$work/leaves" "$work/leaves.c" || exit 1
for_everybody
mkdir -m 0700 "$work/closed"
cp "${ASPROF_TEST_LIB:-$B/libasprof_preload.so}" "$work/closed/libasyncProfiler.so" || exit 1

# Without /proc, only later kernels report a process's user.
changes="user root both"
if [ "$(printf '6.13\n%s\n' "$(uname -r)" | sort -V | head -n 1)" != 6.13 ]; then
	echo "user and root at once are left out: Linux $(uname -r) does not tell the user"
	changes="user root"
fi

# let_work PATTERN: when standard error has PATTERN, the program may work.
let_work() {
	for _ in {1..300}; do
		! grep -qs "$1" "$work/said" || break
		sleep 0.1
	done
	touch "$work/root/profiled"
}

for what in $changes; do
	rm -rf "$work/root" && mkdir "$work/root" && mkdir -m 0777 "$work/root/reports"
	root=
	[ $what != user ] || root=$work/root
	profiled "$root/reports" auto START_DELAY=300ms CPU_INTERVAL=10ms LOG=info \
		LIB="$work/closed/libasyncProfiler.so" "$work/leaves" "$work/root" $what \
		"$root/profiled" 2>"$work/said" &
	let_work profiling
	wait $! || fail "$what: status $?"
	grep -q 'profiling leaves with builtin' "$work/said" || fail "$what: $(cat "$work/said")"
	"$agent" top --cpu "$work/root/reports" >"$work/top" || fail "$what: no report"
	! grep -q '^cpu: 0 samples' "$work/top" || fail "$what: no samples"
	# Names need /proc.
	[ $what != user ] || grep -q 'main \[leaves\]' "$work/top" || fail "$(cat "$work/top")"
done

for place in missing present; do
	rm -rf "$work/root" && mkdir -p "$work/root/tmp" "$work/root$work"
	[ $place = missing ] || mkdir "$work/root$work/reports"
	before=$(find "$work/root" | sort)
	profiled "$work/reports" builtin START_DELAY=300ms CPU_INTERVAL=10ms LOG=info LOG_FILE="$work/log" \
		SPOOL_DIR="$work/spool" "$work/leaves" "$work/root" fork /profiled 2>"$work/said" &
	let_work 'profiling leaves\|does not exist in'
	wait $! || fail "a child: status $?"
	after=$(find "$work/root" ! -name '*.jfr' ! -name profiled | sort)
	[ "$after" = "$before" ] || fail "a child left: $after"
	if [ $place = missing ]; then
		grep -q "$work/reports does not exist in the program's new root" "$work/said" || fail "a child: $(cat "$work/said")"
	else
		"$agent" top --cpu "$work/root$work/reports" >"$work/top" || fail "a child: no report"
		! grep -q '^cpu: 0 samples' "$work/top" || fail "a child: no samples"
	fi
done
echo ok
