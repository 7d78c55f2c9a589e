#!/bin/bash
# Takes long. Every stress-ng stressor whose verification passes bare also passes under the preload, with both
# engines, at default settings and at 1 ms.
#
#   STRESSORS='remap mincore'   only these
. "$(dirname "$0")/../system/agent.inc"

have stress-ng setpriv
[ "$(id -u)" -eq 0 ] || skip "this needs root, to run the stressors as another user"
for_everybody
mkdir -m 0777 "$work/tmp" "$work/reports"

# Stressors that change the machine, or that use all of its memory, are omitted.
left_out=" bigheap brk cpu-online cpu-hotplug oom-pipe softlockup watchdog "

# stress NAME MODE: run one stressor for a second; prints nothing, status as stress-ng's.
stress() {
	local name=$1 mode=$2 settings=()

	case $mode in
	default) settings=("ASPROF_AGENT_ENGINE=builtin") ;;
	builtin) settings=(ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_NATIVE_MEM=512k ASPROF_AGENT_STALLS=10ms) ;;
	async-profiler) settings=(ASPROF_AGENT_ENGINE=async-profiler) ;;
	esac
	case $mode in
	builtin | async-profiler)
		settings+=(ASPROF_AGENT_CPU_INTERVAL=1ms ASPROF_AGENT_WALL_INTERVAL=1ms ASPROF_AGENT_START_DELAY=0s)
		;;
	esac
	[ "$mode" = bare ] || settings+=("LD_PRELOAD=$preload" "ASPROF_AGENT_LOCAL_DIR=$work/reports"
		"ASPROF_AGENT_LIB=${ASPROF_TEST_LIB:-libasyncProfiler.so}")
	(cd "$work/tmp" && timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups \
		env "${settings[@]}" stress-ng "--$name" 1 --timeout 1s --verify --oomable \
		--temp-path "$work/tmp") >"$work/log" 2>&1 </dev/null
	local status=$?
	find "$work/reports" "$work/tmp" -mindepth 1 -delete 2>"$work/find"
	return $status
}

modes="default builtin"
case $(engines) in *async-profiler*) modes="$modes async-profiler" ;; esac
names=${STRESSORS:-$(stress-ng --stressors)}
total=0 faults=0
for name in $names; do
	case $left_out in *" $name "*) continue ;; esac
	stress "$name" bare || continue
	total=$((total + 1))
	for mode in $modes; do
		stress "$name" "$mode" && continue
		status=$?
		cp "$work/log" "$work/first"
		# A stressor that sometimes fails bare, too, is no evidence against the preload.
		again=0
		for _ in 1 2 3; do
			stress "$name" bare || continue 2
			stress "$name" "$mode" || again=$((again + 1))
		done
		echo "$name, $mode: status $status, then $again of 3: $(grep -v 'info:' "$work/first" | head -n 2)"
		[ $again -eq 0 ] || faults=$((faults + 1))
	done
done
echo "$total stressors pass bare; $faults fail under the preload"
[ $total -gt 0 ] && [ $faults -eq 0 ]
