#!/bin/bash
# Another preload gives the program another time, by the C library. The agent uses the kernel's time, and samples and
# reports as usual, in any order of the preloads.
. "$(dirname "$0")/agent.inc"

low_stacks=$(program low_stacks)
other_time=$(program other_time -shared -fPIC)
ours=$preload
faketime=$(find /usr/lib* -name libfaketime.so.1 2>/dev/null | head -n 1)

# expect ENGINE PRELOADS [VARIABLE=value...]
expect() {
	engine=$1 preloads=$2
	shift 2
	rm -rf "$work/reports"
	from=$(date -u +%Y%m%d%H%M%S)
	preload=$preloads
	out=$(profiled "$work/reports" "$engine" CPU_INTERVAL=1ms \
		env "$@" "$low_stacks" coroutines 2>"$work/err")
	status=$?
	preload=$ours
	to=$(date -u +%Y%m%d%H%M%S)
	[ "$status $out$(cat "$work/err")" = "0 ok" ] ||
		fail "$engine, $preloads $*: status $status, $out, $(cat "$work/err")"
	file=$(find "$work/reports" -name 'low_stacks_*.jfr')
	time=$(basename "$file" | sed 's/.*_//; s/[^0-9]//g')
	[[ $time =~ ^[0-9]{14}$ && ! $time < $from && ! $time > $to ]] ||
		fail "$engine, $preloads: the report is of $time, not of $from to $to"
	found=$("$agent" collapsed --cpu "$file" | samples turn)
	[ "$found" -gt 0 ] || fail "$engine, $preloads $*: no sample of CPU time"
}

for engine in $(engines); do
	expect "$engine" "$other_time:$ours"
	expect "$engine" "$ours:$other_time"
	[ -n "$faketime" ] || continue
	expect "$engine" "$ours:$faketime" FAKETIME=-10d
	expect "$engine" "$faketime:$ours" FAKETIME=+10d
	expect "$engine" "$faketime:$ours" FAKETIME=+10d DONT_FAKE_MONOTONIC=1
done
echo ok
