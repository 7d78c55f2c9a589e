#!/bin/sh
# What `go tool pprof` shows of our profile.proto is what `top` shows of the recording. Needs Go.
. "$(dirname "$0")/agent.inc"
have go python3
# Newer releases of Go build it when it is first called.
export HOME="$work" GOCACHE="$B/go"

# check NAME TYPE SWITCHES...: flat and cum of every function, as "function flat cum".
check() {
	recording=test/fixtures/jfr/$1.jfr
	type=$2
	shift 2
	unit=minimum
	[ "${type%_space}" = "$type" ] || unit=B
	"$agent" pprof "$recording" -o "$work/p.pb.gz" || fail "pprof: status $?"
	go tool pprof -top -nodecount=0 -nodefraction=0 -unit=$unit \
		-sample_index="$type" "$work/p.pb.gz" 2>/dev/null |
		awk 'seen { flat = $1; cum = $4; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "");
			sub(/ \(inline\)$/, ""); gsub(/B$/, "", flat); gsub(/B$/, "", cum); print $0, flat, cum }
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
check native cpu --cpu
check native wall --wall
check native alloc_space --alloc
check native inuse_space --live
check chunks cpu --cpu
go tool pprof -raw "$work/p.pb.gz" 2>/dev/null >"$work/raw"
# The samples of the first column add up to what there is.
sum=$(awk '/^Locations/ { exit } /^ +[0-9]+ .*: / { n += $1 } END { print n }' "$work/raw")
[ "$sum" = 780 ] || fail "-raw adds up to $sum samples, not 780"
grep -q 'thread:\[' "$work/raw" || fail 'no thread labels'
# Labels: thread, and of an upload the process and its tags, as the agent packs them.
python3 - "$work" test/fixtures/jfr/native.jfr <<'END'
import sys, zipfile
name = sys.argv[1] + "/profile_group_unknown___4711_2026-11-21T02-30-00Z.zip"
with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
    z.write(sys.argv[2], "async_profiler_dump_0.jfr")
    z.writestr("metadata.json", '{"start":1,"end":2,"reporting_interval":3,'
               '"agent":{"tags":{"team":"blue","stage":"test"}}}')
END
cp test/fixtures/jfr/native.jfr "$work/work_4711_2026-11-21T02-30-00Z.jfr"
# labelled FILE LABEL: each sample of it has this label.
labelled() {
	"$agent" pprof --cpu "$1" -o "$work/labels.pb.gz" || fail "pprof: status $?"
	go tool pprof -raw "$work/labels.pb.gz" 2>/dev/null |
		sed '/^Locations/,$d' >"$work/raw"
	samples=$(grep -Ec '^ +[0-9]+: ' "$work/raw")
	with=$(grep -Fc "$2" "$work/raw")
	echo "$2: on $with of $samples samples"
	[ "$samples" -gt 0 ] && [ "$samples" = "$with" ] || fail 'some have no label'
}
labelled "$work"/*.zip 'team:[blue]'
labelled "$work"/*.zip 'stage:[test]'
labelled "$work/work_4711_2026-11-21T02-30-00Z.jfr" 'process:[work_4711]'
labelled "$work/work_4711_2026-11-21T02-30-00Z.jfr" 'thread:['
