#!/bin/bash
# LOCK of the builtin engine: the totals of sampled waits for locks are those that the program measures, with the stacks of
# the owners; locks work as without the preload; a program without that setting calls the C library directly.
. "$(dirname "$0")/agent.inc"
seconds=${SECONDS_EACH:-8} percent=${PERCENT:-10}

# check NAME PLACES: the program $work/NAME, for the C library of $work/plugin_NAME.so. Samples are compared for PLACES.
check() {
	local name=$1 plugin=$work/plugin_$1.so program=$work/$1 place told measured

	timeout 60 "$program" checks "$plugin" >"$work/plain" || fail "$name: status $?"
	for lock in off 1us; do
		profiled "$work/checks_$name" builtin PROCESS="$name" LOCK=$lock timeout 60 "$program" checks "$plugin" >"$work/checked" 2>"$work/err" ||
			fail "$name, LOCK=$lock: status $?: $(cat "$work/err")"
		diff "$work/plain" "$work/checked" || fail "$name, LOCK=$lock: locks work otherwise"
		[ ! -s "$work/err" ] || fail "$name, LOCK=$lock: $(cat "$work/err")"
	done

	profiled "$work/$name.out" builtin PROCESS="$name" LOCK=1ms timeout 100 "$program" contend "$plugin" "$seconds" >"$work/measured" 2>"$work/err" ||
		fail "$name: status $?: $(cat "$work/err")"
	"$agent" collapsed --lock --total "$work/$name.out" >"$work/stacks" || fail "$name: no locks"
	while read -r place measured; do
		[[ " $2 " = *" $place "* ]] || continue
		told=$(awk -v place=";$place;" 'index($0, place) { sum += $NF } END { printf "%.6f", sum / 1e9 }' "$work/stacks")
		echo "$name: $place: measured $measured s, reported $told s"
		awk -v a="$measured" -v b="$told" -v percent="$percent" \
			'BEGIN { exit !(a > 0.2 && b > a * (1 - percent / 100) && b < a * (1 + percent / 100)) }' ||
			fail "$name: $place: $(cat "$work/stacks")"
	done <"$work/measured"
}

build() {
	"$1" -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -pthread -o "$work/$2" test/programs/lock_waits.c -ldl || fail "$1"
	"$1" -shared -fPIC -O2 -g -o "$work/plugin_$2.so" test/programs/lock_plugin.c || fail "$1"
}

build "${CC:-cc}" glibc
check glibc "locks_log locks_log_for_a_time reads_table writes_table locks_plugin"
"$agent" collapsed --lock --blocked-by "$work/glibc.out" >"$work/owners" || fail "no owners"
# The agent takes a bounded number of stacks in a second.
awk '{ all += $NF } /\[lock log_mutex held by .*;holds;/ { log_mutex += $NF } / held by / { held += $NF }
	END { print held " of " all " waits have an owner, " log_mutex " of log_mutex"; exit !(log_mutex > 20) }' "$work/owners" ||
	fail "owners: $(cat "$work/owners")"
grep ' held by ' "$work/owners" | grep -v ';holds;' && fail "an owner does not hold the lock"
if command -v musl-gcc >/dev/null; then
	build musl-gcc musl
	check musl "locks_log locks_log_for_a_time reads_table writes_table locks_plugin"
fi

# Without the setting, the import table has the C library's function.
cat >"$work/bound.c" <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int main(void)
{
	int (*volatile lock)(pthread_mutex_t *) = pthread_mutex_lock;
	Dl_info info;

	puts(dladdr((void *)lock, &info) ? info.dli_fname : "none");
	return 0;
}
C
${CC:-cc} -D_GNU_SOURCE -fPIE -pie -o "$work/bound" "$work/bound.c" -ldl -pthread || fail "cc"
for lock in off 10ms; do
	profiled "$work/bound.out" builtin LOCK=$lock "$work/bound" >"$work/bound.$lock" || fail "status $?"
done
grep -q preload "$work/bound.off" && fail "off: bound to $(cat "$work/bound.off")"
grep -q preload "$work/bound.10ms" || fail "on: bound to $(cat "$work/bound.10ms")"
echo ok
