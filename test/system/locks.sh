#!/bin/bash
# LOCK of the builtin engine: the totals of sampled waits for locks agree with the measurement of the program, and owners have
# stacks; locks work as without the preload; without that setting a program calls the C library directly.
. "$(dirname "$0")/agent.inc"
seconds=${SECONDS_EACH:-8} percent=${PERCENT:-10}

# compare NAME: the program measures a little more than its waits, and much more if it has no processor after a wait.
compare() {
	local name=$1 place told measured

	rm -rf "$work/$name.out"
	profiled "$work/$name.out" builtin LOCK=1ms timeout 100 "$work/$name" contend "$work/plugin_$name.so" "$seconds" \
		>"$work/measured" 2>"$work/err" || fail "$name: status $?: $(cat "$work/err")"
	"$agent" collapsed --lock --total "$work/$name.out" >"$work/stacks" || fail "$name: no locks"
	while read -r place measured; do
		told=$(awk -v place=";$place;" 'index($0, place) { sum += $NF } END { printf "%.6f", sum / 1e9 }' "$work/stacks")
		echo "$name: $place: measured $measured s, reported $told s"
		awk -v a="$measured" -v b="$told" -v percent="$percent" \
			'BEGIN { exit !(a > 0.2 && b > a * (1 - percent / 100) && b < a * (1 + percent / 100)) }' || return 1
	done <"$work/measured"
}

# check NAME: the program $work/NAME, for the C library of $work/plugin_NAME.so.
check() {
	local name=$1 plugin=$work/plugin_$1.so program=$work/$1

	timeout 60 "$program" checks "$plugin" >"$work/plain" || fail "$name: status $?"
	for lock in off 1us; do
		profiled "$work/checks_$name" builtin PROCESS="$name" LOCK=$lock timeout 60 "$program" checks "$plugin" >"$work/checked" 2>"$work/err" ||
			fail "$name, LOCK=$lock: status $?: $(cat "$work/err")"
		diff "$work/plain" "$work/checked" || fail "$name, LOCK=$lock: locks work otherwise"
		[ ! -s "$work/err" ] || fail "$name, LOCK=$lock: $(cat "$work/err")"
	done

	compare "$name" || compare "$name" || compare "$name" || fail "$name: $(cat "$work/stacks")"
}

build() {
	"$1" -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -pthread -o "$work/$2" test/programs/lock_waits.c -ldl || fail "$1"
	"$1" -shared -fPIC -O2 -g -o "$work/plugin_$2.so" test/programs/lock_plugin.c || fail "$1"
}

build "${CC:-cc}" glibc
check glibc
"$agent" collapsed --lock --blocked-by "$work/glibc.out" >"$work/owners" || fail "no owners"
# The agent takes a bounded number of stacks in a second.
awk '{ all += $NF } /\[lock log_mutex held by .*;holds;/ { log_mutex += $NF } / held by / { held += $NF }
	END { print held " of " all " waits have an owner, " log_mutex " of log_mutex"; exit !(log_mutex > 20) }' "$work/owners" ||
	fail "owners: $(cat "$work/owners")"
# (An owner may just have taken the lock, or be about to release it.)
awk '/ held by / { held += $NF } / held by .*;holds;/ { holds += $NF } END { exit holds < held * 0.95 }' "$work/owners" ||
	fail "owners do not hold the lock: $(grep ' held by ' "$work/owners" | grep -v ';holds;')"
if command -v musl-gcc >/dev/null; then
	build musl-gcc musl
	check musl
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
