#!/bin/sh
# Every command with every switch that selects samples: the command obeys the switch, or refuses it with status 2 and
# a line. It never ignores one. An empty result has a message with the reason.
. "$(dirname "$0")/agent.inc"
have python3
data=test/fixtures/jfr

# An upload, so that there are labels.
python3 - "$work" $data/native.jfr <<'END' || exit 1
import sys, zipfile
name = sys.argv[1] + "/profile_group_unknown___4711_2026-11-21T02-30-00Z.zip"
with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
    z.write(sys.argv[2], "async_profiler_dump_0.jfr")
    z.writestr("metadata.json", '{"agent":{"tags":{"team":"blue"},"hostname":"box7","executable":"work"}}')
END
zip=$work/profile_group_unknown___4711_2026-11-21T02-30-00Z.zip

# The table: a command, and the switches that it obeys.
filters='--thread --from --to --include --exclude'
waits='--state --cause'
table="top:$filters $waits
collapsed:$filters $waits
flamegraph:$filters $waits
heatmap:$filters $waits
pprof:$filters $waits
waits:$filters $waits
leaks:$filters
lifetimes:$filters
longpolls:$filters
nativemem:$filters
summary:--thread --from --to
duration:--from --to"

# try COMMAND SWITCH VALUE: its output is in $work/out and $work/err; returns its status.
try() {
	words=
	[ "$1" != longpolls ] || words=--include-non-pollcatch
	if [ -n "$3" ]; then
		"$agent" "$1" $words "$2" "$3" "$zip" >"$work/out" 2>"$work/err"
	else
		"$agent" "$1" $words "$2" "$zip" >"$work/out" 2>"$work/err"
	fi
}

# taken COMMAND SWITCH VALUE WORD...: no sample is left, and the line on stderr has the words.
taken() {
	try "$1" "$2" "$3" || fail "$1 $2 $3: status $?"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "$1 $2 $3: $(cat "$work/err")"
	grep -q -e "nothing left: .*$4" "$work/err" || fail "$1 $2 $3: $(cat "$work/err")"
	lines=$(grep -c 'burn\|malloc at\|thread [0-9]' "$work/out")
	[ "$lines" = 0 ] || fail "$1 $2 $3: $(head -n 3 "$work/out")"
}

# refused COMMAND SWITCH [VALUE]
refused() {
	try "$1" "$2" "${3:-}"
	[ $? = 2 ] || fail "$1 $2: not refused"
	[ -s "$work/out" ] && fail "$1 $2: printed $(head -n 1 "$work/out")"
	grep -q -e "$2 does not apply here" "$work/err" || fail "$1 $2: $(cat "$work/err")"
}

honoured=0
echo "$table" >"$work/table"
while IFS=: read -r command switches; do
	# All commands select recordings.
	taken "$command" --process nosuch 'no recording matches --process; they are of: .*4711 .*work'
	taken "$command" --host nosuch 'no recording matches --host; they are of: .*host=box7'
	taken "$command" --tag team=red 'no recording matches --tag; they are of: .*team=blue'
	for choice in --process=work --process=_4711 --host=box --tag=team=blue '--tag=^team='; do
		try "$command" "$choice" ''
		[ -s "$work/out" ] && ! grep -q 'nothing left' "$work/err" || fail "$command $choice"
	done
	for switch in $filters $waits; do
		value=nosuch
		[ "$switch" != --exclude ] || value=.
		[ "$switch" != --from ] || value=99h
		[ "$switch" != --to ] || value=2001-01-01T00:00
		[ "$switch" != --state ] || value=runnable
		[ "$switch" != --cause ] || value=gil
		case " $switches " in
		*" $switch "*) taken "$command" "$switch" "$value" "$switch" && honoured=$((honoured + 1)) ;;
		*) refused "$command" "$switch" "$value" ;;
		esac
	done
	# Switches for the weight and for splitting, for commands that weigh samples.
	for switch in --cpu --wall --alloc --live --leak --lock --total --threads; do
		case $command:$switch in
		pprof:--threads | pprof:--total | heatmap:--threads) refused "$command" "$switch" ;;
		top:* | collapsed:* | flamegraph:* | heatmap:* | pprof:*)
			try "$command" "$switch" '' || fail "$command $switch: status $?"
			[ -s "$work/out" ] || [ -s "$work/err" ] || fail "$command $switch: nothing" ;;
		*) refused "$command" "$switch" ;;
		esac
	done
	for switch in --lines --simple; do
		case $command in
		top | collapsed | flamegraph | heatmap | pprof | waits | leaks | lifetimes)
			try "$command" "$switch" '' || fail "$command $switch: status $?" ;;
		*) refused "$command" "$switch" ;;
		esac
	done
done <"$work/table"
echo "honoured $honoured times"

# says WORDS: check the line on stderr; the status is 0.
says() {
	text=$1
	shift
	"$agent" "$@" >"$work/out" 2>"$work/err" || fail "$*: status $?"
	grep -q -e "^asprof-agent: $text" "$work/err" || fail "$*: $(cat "$work/err")"
}
says 'top: no samples of locks were recorded; that needs run --lock 10ms, .*LOCK=10ms.*; there is: cpu (594), wall (154), alloc (944)$' top --lock "$zip"
says 'top: nothing left: no thread matches --thread; there are: .*tid=9499' top --thread nosuch "$zip"
says 'top: nothing left: nothing was recorded between --from and --to; there is 3.00 s, from 2026' \
	top --from 99h "$zip"
says 'leaks: nothing left: no sample passes --include' leaks --include nosuch "$zip"
says 'longpolls: no poll with a sample was recorded' longpolls "$zip"
"$agent" top "$zip" "$data/native.jfr" 2>&1 >/dev/null | grep . && fail 'a word where there is a result'

# The rest is right: both halves of the time, and all threads, add up to the whole.
for metric in --cpu --wall --alloc; do
	whole=$("$agent" collapsed $metric "$zip" | awk '{ n += $NF } END { print n }')
	parts=0
	for part in '--to 1.5s' '--from 1500000001ns'; do
		# shellcheck disable=SC2086 # words on purpose
		n=$("$agent" collapsed $metric $part "$zip" | awk '{ n += $NF } END { print n + 0 }')
		parts=$((parts + n))
	done
	[ "$whole" = "$parts" ] || fail "$metric: $whole, in halves $parts"
done
count() { "$agent" nativemem "$@" "$zip" | grep -c ' malloc at '; }
[ $(($(count --include burn) + $(count --exclude burn))) = "$(count)" ] || fail 'nativemem by frames'
threads=$("$agent" nativemem "$zip" | sed -n 's/.* thread \([0-9]*\) - malloc.*/\1/p' | sort -u)
sum=0
for tid in $threads; do sum=$((sum + $(count --thread "^$tid\$"))); done
[ "$sum" = "$(count)" ] || fail 'nativemem by threads'
# The time span is that of the selection.
"$agent" top --from -1s "$zip" | grep -q ', in 1 s,' || fail "$("$agent" top --from -1s "$zip" | head -n 1)"
[ "$("$agent" duration --from 1s --to 2s "$zip")" = 1 ] || fail 'duration of a part'
"$agent" summary --from 1s --to 2s "$zip" | grep -q '^Span *1 s' || fail 'summary of a part'
# Line numbers of Java that are unknown are not shown.
"$agent" top --lines -n 0 --threads $data/java.jfr | grep -q ':42949' && fail 'a line of four billion'
exit 0
