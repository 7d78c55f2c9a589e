#!/bin/bash
# The Pyroscope and the OTLP reporter with servers that are unavailable, busy, slow, strict about sizes, or break
# connections. Every report arrives once, and one line names each that cannot be delivered.
. "$(dirname "$0")/agent.inc"
. test/system/push.inc

pushed=$(program pushed) || exit 1
# push NAME [VARIABLE=value...]: run a program that pushes to $url.
push() {
	name=$1
	shift
	profiled "$work/$name.out" builtin REPORTING_INTERVAL=1s CPU_INTERVAL=1ms WALL_INTERVAL=10ms \
		NATIVE_MEM=16k METADATA=none LOG_FILE="$work/$name.log" PYROSCOPE_URL="$url" \
		OTLP_ENDPOINT="$url" "$@" "$pushed" "${SECONDS_RUN:-2.2}" || fail "$name: status $?"
}

# said NAME WORDS: the log has it once for each reporter, or just once.
said() {
	[ "$(grep -c "$2" "$work/$1.log")" -ge 1 ] && [ "$(grep -c "$2" "$work/$1.log")" -le "${3:-2}" ] ||
		fail "$1: '$2' is not in the log as it should be: $(cat "$work/$1.log")"
}

arrived() {
	[ ! -s "$work/$1.refused" ] || fail "$1: refused: $(cat "$work/$1.refused")"
	compare "$work/$1" "$work/$1.out" pprof
	compare "$work/$1" "$work/$1.out" otlp
}

# Temporary failures are retried; an accepted part is not sent again.
serve passing --plan 503,429,0,502,0,503,408,504,0,0,429
push passing &
jobs=$!
serve small --max 1500
push small &
jobs="$jobs $!"
serve slow --slow 0.4
push slow &
jobs="$jobs $!"

# The server accepts a part and closes the connection without a response: a new connection, and a kept one, for which
# curl retries by itself.
serve lost --plan lose,lose,0,0,0,0,lose,lose
push lost &
jobs="$jobs $!"

# The server accepts one part of a report, and is busy from then on. Another process delivers the rest.
serve half --plan "0$(printf ',503%.0s' $(seq 400))"
half=${servers##* } half_port=$port
push half OTLP_ENDPOINT= SPOOL_DIR="$work/half.spool" PROFILING_GROUP=half &
jobs="$jobs $!"

# Unavailable for a while.
away=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
url=http://127.0.0.1:$away
push away &
jobs="$jobs $!"
# From a spool, by another process: the report has the origin of the process that made it.
(
	push spool SPOOL_DIR="$work/spool" PROFILING_GROUP=first
	[ -n "$(find "$work/spool" -type f)" ] || fail 'the spool is empty'
	until [ -s "$work/served" ]; do sleep 0.1; done
	SECONDS_RUN=4 push spool SPOOL_DIR="$work/spool" PROFILING_GROUP=second
) &
jobs="$jobs $!"

# The server's Retry-After is two seconds for each of the two.
serve later --plan 503:2,503:2
push later &
jobs="$jobs $!"

# A part that is never accepted is given up, and so is a part that the server reports as rejected. (There must be one
# more report, also on a busy machine.)
serve never --plan 400,415
SECONDS_RUN=5 push never &
jobs="$jobs $!"
serve part --plan part,part,part,part,part,part,part,part,part,part
push part PYROSCOPE_URL= &
jobs="$jobs $!"

# The identity is unknown at first, and then known: with a space and a comma in it, as far as each protocol can have
# them.
serve header --header 'X-Scope-OrgID=a b'
push header 'PYROSCOPE_HEADERS=X-Scope-OrgID=a b' 'OTLP_HEADERS=X-Other=1,X-Scope-OrgID=a%20b' &
jobs="$jobs $!"
push wrong 'PYROSCOPE_HEADERS=X-Scope-OrgID=secret' &
jobs="$jobs $!"

sleep 2
serve away --port "$away"
echo >"$work/served"
for job in $jobs; do
	wait "$job" || fail 'a program failed'
done
grep -q '"begun"' "$work/half.spool"/*.json || fail "half: $(cat "$work/half.spool"/*.json)"
kill "$half"
serve half --port "$half_port"
push rest OTLP_ENDPOINT= SPOOL_DIR="$work/half.spool" PROFILING_GROUP=rest
grep '"service": "half"' "$work/half" >"$work/of.half"
compare "$work/of.half" "$work/half.out" pprof
! grep 'messages twice' "$work"/{half,rest}.log || fail 'half: it reports messages that arrived once'
for name in passing small slow later header; do
	arrived $name
done
for group in first second; do
	[ "$(grep '"pprof"' "$work/away" | grep -c "\"service\": \"$group\"")" -ge 6 ] ||
		fail "spool: not what $group has made"
done
grep '"service": "pushed"' "$work/away" >"$work/of.away"
compare "$work/of.away" "$work/away.out" pprof
compare "$work/of.away" "$work/away.out" otlp
# Repeated messages are omitted, and are no more than the agent reports.
/usr/bin/python3 - "$work/lost" "$work/lost.log" <<-'END' || fail 'lost: what came twice is not told'
	import json, re, sys
	met = {}
	with open(sys.argv[1] + '.once', 'w') as once:
	    for line in open(sys.argv[1]):
	        m = json.loads(line)
	        key = json.dumps([m['time'], m['types'], m['totals'], m.get('ids')])
	        met[key] = met.get(key, 0) + 1
	        if met[key] == 1:
	            once.write(line)
	told = sum(int(n) for n in re.findall(r'may count (\d+) of a report', open(sys.argv[2]).read()))
	print('%d messages, %d copies, %d told' % (len(met), sum(met.values()) - len(met), told))
	assert sum(met.values()) - len(met) == 4 and len([n for n in met.values() if n > 1]) == told, (met.values(), told)
END
compare "$work/lost.once" "$work/lost.out" pprof
compare "$work/lost.once" "$work/lost.out" otlp
! grep 'messages twice' "$work"/{small,slow,later,header,never}.log || fail 'it reports messages that arrived once'
[ "$(requests small)" -gt "$(requests slow)" ] || fail "small: $(requests small) requests, nothing was split"
# Seven of the planned responses are failures, each different from the one before, in four rows. Each reporter may get
# all of them.
said passing 'no delivery to otlp: ' 7
said passing 'deliveries to pyroscope work again' 4
said away 'no delivery to otlp: '
said away 'deliveries to pyroscope work again'
said away 'no delivery to pyroscope: http://127.0.0.1:' 1
[ -z "$(find "$work/spool" -type f)" ] || fail "the spool holds $(find "$work/spool" -type f)"
/usr/bin/python3 - "$work/later.requests" <<-'END' || fail 'later: asked too early'
	import sys
	times = [float(line.split()[0]) for line in open(sys.argv[1])]
	told = [float(line.split()[0]) for line in open(sys.argv[1]) if '503:2' in line]
	assert len(told) == 2 and not [t for t in times if max(told) < t < min(told) + 1], times
END
said never 'this part of a report is dropped' 4
[ "$(wc -l <"$work/never")" -gt 0 ] || fail 'never: nothing came after the rejected part'
said part 'no delivery to otlp: taken in part: 1 profiles rejected: one was odd' 1
said wrong 'answers 401: who are you; check the credentials in the headers' 2
! grep -q secret "$work/wrong.log" || fail 'a header is in the log'
[ ! -s "$work/header.log" ] || fail "header: $(cat "$work/header.log")"
