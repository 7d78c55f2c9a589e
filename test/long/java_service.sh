#!/bin/bash
# Takes long. A Java server with each garbage collector answers every request while it is sampled each millisecond with
# both engines. It listens late, loads classes all the time and overflows stacks. All servers run at once.
#
#   SECONDS_EACH=60               1800 for half an hour
#   COLLECTORS='Serial G1 Z Shenandoah'
. "$(dirname "$0")/../system/agent.inc"
have java javac
seconds=${SECONDS_EACH:-60}
javac -d "$work" test/programs/JavaService.java || fail "javac"

# serve COLLECTOR ENGINE
serve() {
	local place=$work/$1.$2

	profiled "$place.reports" "$2" CPU_INTERVAL=1ms WALL_INTERVAL=1ms NATIVE_MEM=1m REPORTING_INTERVAL=30s PROCESS=java \
		LOCAL_MAX_BYTES=64m timeout $((seconds * 4 + 120)) java "-XX:+Use$1GC" -Xmx64m -cp "$work" JavaService \
		"$seconds" >"$place.out" 2>"$place.err"
	echo $? >"$place.status"
}

started=()
for collector in ${COLLECTORS:-Serial G1 Z Shenandoah}; do
	if ! java "-XX:+Use${collector}GC" -version >"$work/version" 2>&1; then
		echo "$collector is not in this JDK"
		continue
	fi
	for engine in $(engines); do
		serve "$collector" "$engine" &
		started+=("$collector.$engine")
	done
done
wait
failed=0
for name in "${started[@]}"; do
	last=$(ls -t "$work/$name.reports" | head -n 1)
	"$agent" collapsed --cpu "$work/$name.reports/$last" >"$work/stacks" 2>"$work/lost"
	case $name in
	*async-profiler) frame='JavaService\.' ;;
	*) frame='[[]Java[]]' ;;
	esac
	echo "$name: status $(cat "$work/$name.status"), $(cat "$work/$name.out"), $(ls "$work/$name.reports" | wc -l)" \
		"reports, $(samples "$frame" <"$work/stacks") Java samples in the last"
	[ "$(cat "$work/$name.status")" -eq 0 ] && [ "$(cat "$work/$name.out")" = "$((seconds * 20)) answers" ] &&
		[ "$(samples "$frame" <"$work/stacks")" -gt 0 ] && [ ! -s "$work/$name.err" ] && continue
	failed=1
	head -c 2000 "$work/$name.err"
done
exit $failed
