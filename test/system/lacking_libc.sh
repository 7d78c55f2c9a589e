#!/bin/bash
# If the C library lacks a function, as older ones do, the program behaves as without the agent, and is profiled
# fully. Tested one by one for each function that the preload uses if it exists, or interposes; for all functions that
# are younger than glibc 2.17; and for all that were in separate libraries before glibc 2.34. The C library is a copy
# of this machine's, without these functions in its table.
. "$(dirname "$0")/agent.inc"
. test/system/lacking.inc
have python3 readelf

# imports FILE KIND: print the imported names, of nm's kinds.
imports() {
	nm -D --undefined-only --format=posix "$1" | awk -v kind="$2" '$2 ~ kind { sub(/@.*/, "", $1); print $1 }' | sort -u
}

# Functions that may be missing: weak ones, and those found by name at run time.
{
	imports "$preload" '[wv]'
	grep -rhoE 'loaded_symbol_(next|first)\("[^"]*"\)' core engine preload asyncprof | sed 's/.*"\(.*\)".*/\1/'
} | sort -u >"$work/optional"
nm -D --defined-only --format=posix "$preload" | sed 's/[@ ].*//' | sort -u >"$work/interposed"
imports "$preload" U >"$work/needed"

cat >"$work/single.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/programs/profiled.h"

static volatile unsigned long sum;
static char *volatile kept;

__attribute__((noinline)) static void burn(void)
{
	while (clock() < CLOCKS_PER_SEC / 5)
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
}

__attribute__((noinline)) static void keep(void)
{
	kept = memset(malloc(1 << 20), 1, 1 << 20);
}

static void work(void)
{
	keep();
	burn();
}

int main(void)
{
	wait_for_agent(3000);
	work();
	return puts("out") < 0 ? 1 : 5;
}
END
everyday=$(program everyday)
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O1 -fno-optimize-sibling-calls -fno-inline -fno-builtin -g -o "$work/single" "$work/single.c" || exit 1

# lacks ENGINE WHAT PROGRAM <NUMBERS: run it without these functions. The program is profiled fully, except for the
# cases below.
lacks() {
	local what="without $2, $1" engine=$1 program=$3 own status line='' function='work;burn'
	case $2 in
	__register_atfork) line='cannot hook into the program: Function not implemented; profiling is off' ;;
	# (Then threads are found by a scan, so only at the next scan.)
	pthread_key_create | pthread_setspecific) function='main;burn' ;;
	esac
	own=$(mktemp -d "$work/XXXXXX")
	without "$libc" "$own/$(basename "$libc")" || exit 1
	if [ "$kind" = musl ]; then
		set -- "$own/$(basename "$libc")" "$program"
	else
		set -- "$program"
		export LD_LIBRARY_PATH=$own
	fi
	profiled "$own/reports" "$engine" CPU_INTERVAL=5ms NATIVE_MEM=1k FORK=off "$@" >"$own/out" 2>"$own/err"
	status=$?
	unset LD_LIBRARY_PATH
	rm "$own/$(basename "$libc")"
	[ "$status $(cat "$own/out")" = "5 out" ] || fail "$kind, $what: status $status, $(cat "$own/out" "$own/err")"
	if [ -n "$line" ]; then
		grep -q "$line" "$own/err" && [ "$(wc -l <"$own/err")" -eq 1 ] || fail "$kind, $what: $(cat "$own/err")"
		return 0
	fi
	[ ! -s "$own/err" ] || fail "$kind, $what: $(cat "$own/err")"
	"$agent" collapsed --cpu "$own/reports" | grep -q "$function" || fail "$kind, $what: it is not there"
	"$agent" collapsed --nativemem "$own/reports" | grep -q 'work;keep' || fail "$kind, $what: its memory is not there"
}

running=()
# in_turn WORDS... <NUMBERS: run these in parallel, at most two more than there are processors.
in_turn() {
	local numbers

	numbers=$(cat)
	if [ ${#running[@]} -ge $(($(nproc) + 2)) ]; then
		wait "${running[0]}" || exit 1
		running=("${running[@]:1}")
	fi
	"$@" <<<"$numbers" &
	running+=($!)
}

# Functions of the C library that nothing on this machine can run without.
kind=glibc
libc=$(ldd "$everyday" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
[ -e "$libc" ] || skip "this is for glibc"
candidates() {
	# (It refers to some of its own functions by name, and its loader to malloc and related ones.)
	{
		printf '%s\n' malloc calloc realloc free
		LC_ALL=C readelf -rW "$libc" | awk '$5 { sub(/@.*/, "", $5); print $5 }'
	} >"$work/own"
	entries "$libc" | sort -k 2,2 | awk 'FILENAME != "-" { wanted[$1] = 1; next } !($2 in wanted)' "$@" "$work/own" -
}
imports "$everyday" . >"$work/of_everyday"
imports "$work/single" . >"$work/of_single"

# One by one, except for functions that the program itself calls.
cat "$work/optional" "$work/interposed" | sort -u >"$work/asked"
count=0
while read -r name numbers; do
	in_turn lacks builtin "$name" "$everyday" <<<"$numbers"
	count=$((count + 1))
done < <(candidates "$work/of_everyday" "$work/needed" | awk -v asked="$work/asked" -v optional="$work/optional" '
	BEGIN {
		while ((getline name <asked) > 0) known[name] = 1
		while ((getline name <optional) > 0) one_by_one[name] = 1
	}
	!($2 in known) { next }
	{ numbers[$2] = numbers[$2] " " $1 }
	$3 !~ /^GLIBC_2\.([0-9]|1[0-7])(\.[0-9]+)?$/ { younger[$2] = 1 }
	{ if ($3 ~ /^GLIBC_2\.([0-9]|1[0-7])(\.[0-9]+)?$/) old[$2] = 1 }
	END { for (name in numbers) if (name in one_by_one || !(name in old)) print name, numbers[name] }')
[ $count -gt 15 ] || fail "only $count functions were taken away"

# All together.
# those PROGRAM CONDITION: print the numbers of functions that it does not call itself and for which CONDITION, of
# awk, is true.
those() {
	candidates "$1" "$work/needed" | awk -v asked="$work/asked" -v optional="$work/optional" '
		BEGIN {
			while ((getline name <asked) > 0) known[name] = 1
			while ((getline name <optional) > 0) can_be_without[name] = 1
		}
		function younger() { return $3 ~ /^GLIBC_2\./ && $3 !~ /^GLIBC_2\.([0-9]|1[0-7])(\.[0-9]+)?$/ }
		function asked_for() { return $2 in known && $2 !~ /^(__register_atfork|pthread_atfork|pthread_key_create|pthread_setspecific)$/ }
		'"$2"' { print $1 }'
}
for engine in $(engines); do
	in_turn lacks "$engine" "what glibc 2.17 has not" "$everyday" < <(those "$work/of_everyday" 'younger()')
done
in_turn lacks builtin "all that it might call" "$everyday" < <(those "$work/of_everyday" 'asked_for()')
in_turn lacks builtin "threads and libraries" "$work/single" < <(those "$work/of_single" '
	$2 ~ /^(pthread|sem|thrd|mtx|cnd|tss|call_once|timer|mq|aio|lio|shm)_/ ||
	$2 ~ /^(dlopen|dlmopen|dlsym|dlvsym|dlclose|dlerror|dladdr|dladdr1|dlinfo)$/')
if command -v musl-gcc >/dev/null; then
	for one in "${running[@]}"; do
		wait "$one" || exit 1
	done
	running=() kind=musl
	musl-gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -o "$work/musl" test/programs/everyday.c || exit 1
	libc=$(readlink -f "$(LC_ALL=C readelf -lW "$work/musl" | sed -n 's/.*interpreter: \(.*\)].*/\1/p')")
	imports "$work/musl" . >"$work/of_musl"
	# (Its list of modules existed in all versions.)
	in_turn lacks builtin "all that it can be without" "$work/musl" < <(those "$work/of_musl" '
		asked_for() && $2 in can_be_without && $2 != "_dl_debug_addr"')
fi
for one in "${running[@]}"; do
	wait "$one" || exit 1
done
echo "ok: $count one by one"
