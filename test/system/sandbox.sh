#!/bin/bash
# A program that locks itself into a seccomp sandbox is not killed there for what the agent does, and
# what was sampled before is reported; nor is one that is started where few calls are allowed.
. "$(dirname "$0")/agent.inc"

sandbox=$(program sandbox)
"$sandbox" prctl exit >/dev/null
[ $? = 4 ] || {
	echo "there is no seccomp here"
	exit 77
}

# ended COMMAND...: its output, and how it ended.
ended() {
	{
		"$@" 2>&1
		echo "status $?"
	} 2>/dev/null
}

for way in "prctl exit" "seccomp _exit" "threads killed"; do
	read -r how end <<<"$way"
	plain=$(ended "$sandbox" "$how" "$end")
	for engine in $(engines); do
		rm -rf "$work/reports" && mkdir "$work/reports"
		said=$(ended profiled "$work/reports" "$engine" CPU_INTERVAL=1ms \
			"$sandbox" "$how" "$end")
		[ "$said" = "$plain" ] || fail "$way, $engine: $said"
		[ -n "$(find "$work/reports" -name '*.jfr')" ] || fail "$way, $engine: no report"
	done
done
filtered=$(program filtered)
for engine in $(engines); do
	rm -rf "$work/reports" && mkdir "$work/reports"
	said=$(ended profiled "$work/reports" "$engine" "$filtered" bash -c \
		'for ((i = 0; i < 300000; i++)); do :; done; exit 6')
	[ "$said" = "status 6" ] || fail "filtered, $engine: $said"
	[ -n "$(find "$work/reports" -name 'bash*.jfr')" ] || fail "filtered, $engine: no report"
done
echo ok
