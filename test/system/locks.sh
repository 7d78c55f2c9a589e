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

# An import table on the last page of RELRO, which the program writes to: the linker's pages are smaller than the kernel's. A
# program without RELRO gets one for its import table.
cat >"$work/shares_page.c" <<'C'
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long numbers[] = { 1, 2, 3 };

int main(void)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 3; i++)
		numbers[i]++;
	pthread_mutex_unlock(&mutex);
	puts("written");
	return 0;
}
C
${CC:-cc} -fPIE -pie -fno-plt -Wl,-z,norelro,-z,now -o "$work/shares_page" "$work/shares_page.c" -pthread || fail "cc"
python3 - "$work/shares_page" <<'PYTHON' || fail "no import table"
import struct, sys

with open(sys.argv[1], "r+b") as file:
    elf = bytearray(file.read())
    headers, sections = struct.unpack_from("<QQ", elf, 32)
    size, count, section_size, section_count, names = struct.unpack_from("<5H", elf, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", elf, headers + i * size) for i in range(count)]
    data = next(s for s in segments if s[0] == 1 and s[1] & 2)
    note = next(i for i, s in enumerate(segments) if s[0] == 4)
    rows = [struct.unpack_from("<IIQQQQIIQQ", elf, sections + i * section_size) for i in range(section_count)]
    name = lambda row: elf[rows[names][4] + row[0]:].split(b"\0", 1)[0]
    got = next(row for row in rows if name(row) == b".got")
    end = got[3] + got[5]
    assert end % 4096
    struct.pack_into("<IIQQQQQQ", elf, headers + note * size, 0x6474E552, 4, data[2], data[3], data[3], end - data[3],
                     end - data[3], 1)
    file.seek(0)
    file.write(elf)
PYTHON
[ "$("$work/shares_page")" = written ] || fail "without the agent"
[ "$(profiled "$work/shares_page.out" builtin LOCK=10ms "$work/shares_page")" = written ] || fail "the page of an import table is write-protected"

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
