#!/bin/bash
# A program drops root by each of the functions for that. Then no thread of the agent keeps the rights, and profiling
# continues.
. "$(dirname "$0")/agent.inc"

[ "$(id -u)" -eq 0 ] || skip "this needs root"
drops=$(program drops)
"$drops" call >/dev/null || skip "no right to change the user here"
chmod 0711 "$work"

for how in library call threads kernel capabilities; do
	[ "$("$drops" $how)" = 'ok, at once' ] || fail "$how: fails by itself"
	for engine in $(engines); do
		for try in 1 2 3 4 5; do
			mkdir -m 0777 "$work/reports"
			out=$(profiled "$work/reports" "$engine" WALL_INTERVAL=10ms STALLS=10ms \
				"$drops" $how 2>"$work/err")
			status=$?
			[ "$status ${out%, at once}$(cat "$work/err")" = "0 ok" ] ||
				fail "$engine, $how: status $status, $out, $(cat "$work/err")"
			[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "$engine, $how: no report"
			rm -rf "$work/reports"
			# The agent follows a function's call before it returns. But on a busy machine its threads may
			# wait longer than the program is held.
			case $how:$out in
			kernel:* | capabilities:* | *once) break ;;
			esac
			[ $try -lt 5 ] || fail "$engine, $how: not at once"
		done
	done
done
echo ok
