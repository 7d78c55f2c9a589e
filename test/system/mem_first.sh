#!/bin/bash
# The first allocation of a process may happen under a lock of the C library. The search for the next malloc then
# leaves that lock as it was.
. "$(dirname "$0")/mem.inc"

${CC:-cc} -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/locale_first.so" test/programs/locale_first.c ||
	exit 1
# (Of two preloads, the second is initialized first. echo has no library that allocates earlier.)
for setting in ENABLED=off ENABLED=on NATIVE_MEM=64k; do
	out=$(timeout -s KILL 20 env "ASPROF_AGENT_$setting" LC_ALL=C.UTF-8 \
		LD_PRELOAD="$B/libasprof_preload.so $work/locale_first.so" /bin/echo said 2>&1) ||
		fail "$setting: status $?"
	[ "$out" = said ] || fail "$setting: printed $out"
done
