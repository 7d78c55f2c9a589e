#!/bin/sh
# A recording names its origin: every report of either engine, and of both at once, has the tags, the host and the
# executable. The command selects by them, and a JDK's jfr reads it.
. "$(dirname "$0")/agent.inc"

naps=$(program naps) || exit 1
sleep=$work/sleep
mv "$naps" "$sleep"

for engine in $(engines); do
	place=$work/$engine
	profiled "$place/blue" "$engine" WALL_INTERVAL=10ms REPORTING_INTERVAL=1s NATIVE_MEM=64k \
		NATIVE_MEM_ENGINE=builtin 'TAGS=team=blue,owner=Ann Ö.,sum=a=b,none=' "$sleep" 1.2 ||
		fail "$engine: status $?"
	profiled "$place/plain" "$engine" WALL_INTERVAL=10ms "$sleep" 0.8 || fail "$engine: status $?"
	rm -rf "$work/named" && mkdir "$work/named"
	for file in "$place"/blue/*.jfr; do
		# By its contents, not by its name.
		cp "$file" "$work/named/x.jfr" || fail "$engine: no report"
		for words in '--tag ^team=blue$' '--tag ^owner=Ann.Ö[.]$' '--tag ^sum=a=b$' '--tag ^none=$' \
			'--label team=blue' '--label sum=a=b' '--label none=' \
			"--label host=$(uname -n) --label executable=sleep" \
			'--label team=red --label team=blue --label executable=sleep' \
			"--host ^$(uname -n)\$" '--process ^sleep$' \
			"--tag team --host $(uname -n) --process sleep"; do
			# shellcheck disable=SC2086
			"$agent" summary $words "$work/named/x.jfr" >"$work/summary" 2>"$work/err" ||
				fail "$engine: summary $words: $(cat "$work/err")"
			grep -q '^Span' "$work/summary" && [ ! -s "$work/err" ] ||
				fail "$engine: summary $words: $(cat "$work/err")"
		done
		"$agent" summary "$work/named/x.jfr" | grep -q 'asprof.Labels\|UserEvent' &&
			fail "$engine: an event that the program did not make"
		! command -v jfr >/dev/null || jfr summary "$work/named/x.jfr" >"$work/jfr" ||
			fail "$engine: jfr cannot read it"
		! command -v jfr >/dev/null || jfr print --events jdk.ActiveSetting "$work/named/x.jfr" |
			grep -q '"agent.tag.team"' || fail "$engine: jfr does not show the tag"
	done
	# The version from OpenTelemetry's variable; a tag has precedence.
	for version in 7 8; do
		OTEL_RESOURCE_ATTRIBUTES="team=red,service.version=1%2C$version" profiled "$place.v/$version" "$engine" \
			WALL_INTERVAL=10ms "$sleep" 0.8 || fail "$engine: status $?"
	done
	OTEL_RESOURCE_ATTRIBUTES=service.version=7 profiled "$place.v/9" "$engine" WALL_INTERVAL=10ms TAGS=version=9 \
		"$sleep" 0.8 || fail "$engine: status $?"
	"$agent" top --wall --by version "$place.v" >"$work/out" || fail "$engine: top --by version: status $?"
	for version in 1,7 1,8 9; do
		[ "$("$agent" collapsed --wall --label "version=$version" "$place.v" | samples .)" = \
			"$("$agent" collapsed --wall "$place.v/${version#1,}" | samples .)" ] ||
			fail "$engine: version $version: $(cat "$work/out")"
		grep -q "[ ,]$version " "$work/out" || fail "$engine: $version is not in $(cat "$work/out")"
	done
	# All at once: the recording without a tag is omitted, and a message gives the reason if nothing is left.
	all=$("$agent" collapsed --wall "$place" | samples .)
	blue=$("$agent" collapsed --wall --tag team=blue "$place" | samples .)
	plain=$("$agent" collapsed --wall "$place/plain" | samples .)
	echo "$engine: $all samples, $blue of them team=blue, $plain without a tag"
	[ "$blue" -gt 0 ] && [ "$plain" -gt 0 ] && [ "$all" = $((blue + plain)) ] ||
		fail "$engine: not the tagged ones"
	for words in '--label team=blu' '--label team=' '--label team=blue --label owner=Bob'; do
		# shellcheck disable=SC2086
		"$agent" top --wall $words "$place" >"$work/out" 2>"$work/err"
		grep -q 'no recording matches --label' "$work/err" || fail "$engine: $words: $(cat "$work/out")"
	done
	"$agent" top --wall --tag team=red "$place" >"$work/out" 2>"$work/err" ||
		fail "$engine: a tag that there is not: status $?"
	grep -q "nothing left: no recording matches --tag; they are of: .*host=$(uname -n) executable=sleep profiled_since=[0-9]* team=blue" \
		"$work/err" || fail "$engine: a tag that there is not: $(cat "$work/err")"
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
