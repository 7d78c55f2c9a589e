#!/bin/bash
# A recording reaches the program's limit for file sizes (RLIMIT_FSIZE). It loses what is above the limit, logs the
# reason once, and continues. The program gets no SIGXFSZ.
. "$(dirname "$0")/agent.inc"

file_limit=$(program file_limit)
for engine in $(engines); do
	rm -rf "$work/reports"
	out=$(profiled "$work/reports" "$engine" CPU_INTERVAL=1ms REPORTING_INTERVAL=1h \
		timeout 60 "$file_limit" 2>"$work/err")
	status=$?
	[ "$status $out" = "0 ok" ] || fail "$engine: status $status, $out, $(cat "$work/err")"
	[ "$(grep -c 'RLIMIT_FSIZE' "$work/err")" -le 2 ] || fail "$engine: $(cat "$work/err")"
	grep -q 'RLIMIT_FSIZE.*the recording continues' "$work/err" ||
		fail "$engine: does not say why: $(cat "$work/err")"
	"$agent" summary "$work/reports" >"$work/out" 2>"$work/damage" && [ ! -s "$work/damage" ] ||
		fail "$engine: a damaged recording: $(cat "$work/damage")"
	# 0.75 s of CPU time with samples every 1 ms come after the limit.
	found=$("$agent" collapsed --cpu "$work/reports" | samples main)
	[ "$found" -gt 100 ] || fail "$engine: $found samples: $(cat "$work/err")"

	# Nothing fits under the limit. (Output to a file would not either.)
	profiled "$work/none" "$engine" PROCESS=sleep bash -c 'ulimit -f 0; exec sleep 1' 2>&1 |
		cat >"$work/err"
	grep -q 'RLIMIT_FSIZE\|File too large' "$work/err" ||
		fail "$engine: a profile is lost without a line: $(cat "$work/err")"
done
echo ok
