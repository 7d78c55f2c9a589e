#!/bin/bash
# The last report is written when a handler with SA_RESETHAND sends its signal again, as node's handlers of SIGTERM
# and SIGINT do, and when a handler aborts the program.
. "$(dirname "$0")/agent.inc"

resends=$(program resends)
node=$(command -v node)

# expect STATUS ENGINE COMMAND...: ends with STATUS, and there is one report.
expect() {
	status=$1 engine=$2
	shift 2
	rm -rf "$work/reports"
	{ profiled "$work/reports" "$engine" CPU_INTERVAL=1ms "$@"; } >"$work/said" 2>&1
	got=$?
	[ $got = "$status" ] || fail "$engine: $*: status $got: $(cat "$work/said")"
	reports=$(find "$work/reports" -name '*.jfr' | wc -l)
	[ "$reports" = 1 ] || fail "$engine: $*: $reports reports: $(cat "$work/said")"
} 2>/dev/null

cat >"$work/ends.js" <<'END'
const until = Date.now() + 300;
while (Date.now() < until);
process.kill(process.pid, process.argv[2]);
setTimeout(() => process.exit(9), 60000);
END

for engine in $(engines); do
	expect 143 "$engine" "$resends" 15
	expect 130 "$engine" "$resends" 2
	expect 134 "$engine" "$resends" 15 abort
	[ -n "$node" ] || continue
	expect 143 "$engine" "$node" "$work/ends.js" SIGTERM
	expect 130 "$engine" "$node" "$work/ends.js" SIGINT
done
[ -n "$node" ] || echo "node is not on this machine"
echo ok
