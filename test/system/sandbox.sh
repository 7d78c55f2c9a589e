#!/bin/bash
# A program that enters a seccomp sandbox is not killed because of the agent, and samples from before are reported.
# The same holds for a program that is started with few allowed calls. A program that only asks whether seccomp exists
# stays profiled.
. "$(dirname "$0")/agent.inc"

sandbox=$(program sandbox)
"$sandbox" prctl exit >/dev/null
[ $? = 4 ] || {
	echo "there is no seccomp here"
	exit 77
}

# ended COMMAND...: its output, and its status or signal.
ended() {
	{
		"$@" 2>&1
		echo "status $?"
	} 2>/dev/null
}

for way in "prctl exit" "seccomp _exit" "threads killed" "asks exit"; do
	read -r how end <<<"$way"
	plain=$(ended "$sandbox" "$how" "$end")
	for engine in $(engines); do
		rm -rf "$work/reports" && mkdir "$work/reports"
		said=$(ended profiled "$work/reports" "$engine" CPU_INTERVAL=1ms NATIVE_MEM=16k STALLS=10ms \
			"$sandbox" "$how" "$end")
		[ "$said" = "$plain" ] || fail "$way, $engine: $said"
		[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "$way, $engine: no report"
		"$agent" collapsed --cpu "$work/reports" >"$work/stacks" || fail "$way, $engine: not readable"
		inside=$(samples ';inside(;|$)' <"$work/stacks")
		if [ "$how" = asks ]; then
			[ "$inside" -ge 1 ] || fail "$way, $engine: $inside samples inside"
		else
			[ "$inside" -eq 0 ] || fail "$way, $engine: $inside samples inside"
		fi
	done
done

# filtered WHAT COMMAND...: a shell that counts, started by COMMAND, and profiled.
filtered() {
	local what=$1
	shift
	for engine in $(engines); do
		rm -rf "$work/reports" && mkdir "$work/reports"
		said=$(ended profiled "$work/reports" "$engine" "$@" bash -c \
			'for ((i = 0; i < 300000; i++)); do :; done; exit 6')
		[ "$said" = "status 6" ] || fail "$what, $engine: $said"
		[ -n "$(find "$work/reports" -name 'bash*.jfr')" ] || fail "$what, $engine: no report"
	done
}
filtered "a filter" "$(program filtered)"

# calls SET: the names of the calls in one of systemd's sets.
calls() {
	systemd-analyze syscall-filter "$1" | sed 1d | while read -r name _; do
		case $name in
		@*) calls "$name" ;;
		[a-z_]*) echo "$name" ;;
		esac
	done
}
if command -v systemd-analyze >/dev/null; then
	calls @system-service | sort -u | sed 's/.*/#ifdef SYS_&\nON_CALL(SYS_&, SECCOMP_RET_ALLOW),\n#endif/' >"$work/allowed.h"
	[ -s "$work/allowed.h" ] || fail "systemd tells no calls"
	filtered "systemd's services" "$(program filtered "-DALLOWED=\"$work/allowed.h\"")"
else
	echo "systemd's set of calls was left out: it is not on this machine"
fi
echo ok
