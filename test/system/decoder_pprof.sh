#!/bin/sh
# `go tool pprof` shows the same for the agent's profile.proto as `top` for the recording. Needs Go.
. "$(dirname "$0")/agent.inc"
have go python3
# Newer releases of Go build pprof when it is first called.
export HOME="$work" GOCACHE="$B/go"

# check NAME TYPE SWITCHES...: flat and cum of every function, as "function flat cum".
check() {
	recording=test/fixtures/jfr/$1.jfr
	type=$2
	shift 2
	unit=minimum
	[ "${type%_space}" = "$type" ] || unit=B
	case $type in cpu | wall) unit=ns ;; esac
	"$agent" pprof "$recording" -o "$work/p.pb.gz" || fail "pprof: status $?"
	go tool pprof -top -nodecount=0 -nodefraction=0 -unit=$unit \
		-sample_index="$type" "$work/p.pb.gz" 2>/dev/null |
		awk 'seen { flat = $1; cum = $4; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "");
			sub(/ \(inline\)$/, ""); gsub(/(B|ns)$/, "", flat); gsub(/(B|ns)$/, "", cum); print $0, flat, cum }
			/ flat%/ { seen = 1 }' | LC_ALL=C sort >"$work/theirs"
	"$agent" top -n 0 --json "$@" "$recording" | python3 -c '
import json, sys
rows = {}
for f in json.load(sys.stdin)["functions"]:
    self, total = rows.get(f["name"], (0, 0))
    rows[f["name"]] = (self + f["self"], max(total, f["total"]))
for name, (self, total) in rows.items():
    print(name, int(self + .5), int(total + .5))' | LC_ALL=C sort >"$work/ours"
	[ -s "$work/ours" ] && cmp -s "$work/ours" "$work/theirs" ||
		fail "$recording $type: $(diff "$work/ours" "$work/theirs" | head -n 6)"
	echo "$recording $type: $(wc -l <"$work/ours") functions"
}
check native samples --cpu
check native wall_samples --wall
check native cpu --cpu --total
check native wall --wall --total
check native alloc_space --alloc
check native inuse_space --live
check chunks samples --cpu
check chunks cpu --cpu --total
go tool pprof -raw "$work/p.pb.gz" 2>/dev/null >"$work/raw"
# The samples of the first column have the right sum.
sum=$(awk '/^Locations/ { exit } /^ +[0-9]+ .*: / { n += $1 } END { print n }' "$work/raw")
[ "$sum" = 780 ] || fail "-raw adds up to $sum samples, not 780"
grep -q 'thread:\[' "$work/raw" || fail 'no thread labels'

# opens NAME SWITCHES TYPE PERIOD-TYPE PERIOD FILE: what readers find: the types, the default type, the period, and
# the program's name.
opens() {
	# shellcheck disable=SC2086 # words on purpose
	"$agent" pprof $2 "$1" -o "$work/p.pb.gz" || fail "pprof $2: status $?"
	HOME=$work go tool pprof -raw "$work/p.pb.gz" >"$work/raw" 2>/dev/null
	HOME=$work go tool pprof -top -nodecount=1 "$work/p.pb.gz" 2>/dev/null >"$work/top"
	sed -n 's/^PeriodType: //p; s/^Period: //p' "$work/raw" | tr '\n' ' ' >"$work/period"
	sed -n 's/^Type: //p; s/^File: //p' "$work/top" | tr '\n' ' ' >"$work/type"
	echo "$1 $2: $(cat "$work/period")$(cat "$work/type")$(grep -A 1 '^Samples:' "$work/raw" | tail -n 1)"
	[ "$(cat "$work/period")" = "$4 $5 " ] || fail "the period, wanted $4 $5"
	[ "$(cat "$work/type")" = "$6 $3 " ] || fail "the file and type, wanted $6 $3"
	grep -A 1 '^Samples:' "$work/raw" | grep -Fqw "$7" || fail "the types, wanted $7"
	grep -q '^Time: 2' "$work/raw" && grep -q '^Duration: ' "$work/raw" || fail 'no time'
}
opens test/fixtures/jfr/native.jfr '' cpu 'cpu nanoseconds' 10000000 work \
	'samples/count cpu/nanoseconds'
opens test/fixtures/jfr/native.jfr --cpu cpu 'cpu nanoseconds' 10000000 work 'samples/count cpu/nanoseconds'
opens test/fixtures/jfr/native.jfr --wall wall 'wall nanoseconds' 100000000 work 'samples/count wall/nanoseconds'
opens test/fixtures/jfr/native.jfr --alloc alloc_space 'space bytes' 65536 work 'alloc_objects/count alloc_space/bytes'
opens test/fixtures/jfr/native.jfr --live inuse_space 'space bytes' 65536 work 'inuse_objects/count inuse_space/bytes'
# A Java program is not named after a class or a library; if it has a label, that is its name.
opens test/fixtures/jfr/java.jfr --cpu cpu 'cpu nanoseconds' 5000000 java 'samples/count cpu/nanoseconds'
cp test/fixtures/jfr/java.jfr "$work/shop_12_2026-11-21T02-30-00Z.jfr"
opens "$work/shop_12_2026-11-21T02-30-00Z.jfr" --cpu cpu 'cpu nanoseconds' 5000000 shop 'samples/count cpu/nanoseconds'
# Only --leak omits young allocations.
bytes() {
	"$agent" pprof "$@" test/fixtures/jfr/native.jfr -o "$work/p.pb.gz" || fail "pprof $*"
	HOME=$work go tool pprof -top -sample_index=inuse_space -unit=B "$work/p.pb.gz" 2>/dev/null |
		sed -n 's/.* of \([0-9.e+]*\)B total$/\1/p'
}
echo "live $(bytes --live), leak $(bytes --leak --tail 90%), all of it $(bytes --leak --tail 0)"
[ "$(bytes --leak --tail 90%)" != "$(bytes --live)" ] && [ "$(bytes --leak --tail 0)" = "$(bytes --live)" ] ||
	fail '--leak leaves nothing out'
# Labels: the thread, and for an upload the process and its tags, as the agent writes them.
python3 - "$work" test/fixtures/jfr/native.jfr <<'END'
import sys, zipfile
name = sys.argv[1] + "/profile_group_unknown___4711_2026-11-21T02-30-00Z.zip"
with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
    z.write(sys.argv[2], "async_profiler_dump_0.jfr")
    z.writestr("metadata.json", '{"start":1,"end":2,"reporting_interval":3,'
               '"agent":{"tags":{"team":"blue","stage":"test"}}}')
END
cp test/fixtures/jfr/native.jfr "$work/work_4711_2026-11-21T02-30-00Z.jfr"
# labelled FILE LABEL [SWITCHES]: each sample of it has this label.
labelled() {
	"$agent" pprof ${3:---cpu} "$1" -o "$work/labels.pb.gz" || fail "pprof: status $?"
	go tool pprof -raw "$work/labels.pb.gz" 2>/dev/null |
		sed '/^Locations/,$d' >"$work/raw"
	samples=$(grep -Ec '^ +[0-9][0-9 ]*: ' "$work/raw")
	with=$(grep -Fc "$2" "$work/raw")
	echo "$2: on $with of $samples samples"
	[ "$samples" -gt 0 ] && [ "$samples" = "$with" ] || fail 'some have no label'
}
labelled "$work"/*.zip 'team:[blue]'
labelled "$work"/*.zip 'stage:[test]'
labelled "$work/work_4711_2026-11-21T02-30-00Z.jfr" 'process:[work_4711]'
labelled "$work/work_4711_2026-11-21T02-30-00Z.jfr" 'thread:['
labelled test/fixtures/jfr/native.jfr 'state:[running]' --state=running
labelled test/fixtures/jfr/native.jfr 'cause:[sleep]' --cause=sleep
