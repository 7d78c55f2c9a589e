#!/bin/sh
# What `go tool pprof` shows of our profile.proto is what `top` shows of the recording. Needs Go.
set -u
agent=${B:-build}/asprof-agent
command -v go >/dev/null || {
	echo 'no Go on this machine'
	exit 77
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# check NAME TYPE SWITCHES...: flat and cum of every function, as "function flat cum".
check() {
	recording=test/fixtures/jfr/$1.jfr
	type=$2
	shift 2
	unit=minimum
	[ "${type%_space}" = "$type" ] || unit=B
	"$agent" pprof "$recording" -o "$tmp/p.pb.gz" || failed=1
	HOME=$tmp go tool pprof -top -nodecount=0 -nodefraction=0 -unit=$unit \
		-sample_index="$type" "$tmp/p.pb.gz" 2>/dev/null |
		awk 'seen { flat = $1; cum = $4; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "");
			sub(/ \(inline\)$/, ""); gsub(/B$/, "", flat); gsub(/B$/, "", cum); print $0, flat, cum }
			/ flat%/ { seen = 1 }' | LC_ALL=C sort >"$tmp/theirs"
	"$agent" top -n 0 --json "$@" "$recording" | python3 -c '
import json, sys
rows = {}
for f in json.load(sys.stdin)["functions"]:
    self, total = rows.get(f["name"], (0, 0))
    rows[f["name"]] = (self + f["self"], max(total, f["total"]))
for name, (self, total) in rows.items():
    print(name, int(self + .5), int(total + .5))' | LC_ALL=C sort >"$tmp/ours"
	if cmp -s "$tmp/ours" "$tmp/theirs" && [ -s "$tmp/ours" ]; then
		echo "ok: $recording $type, $(wc -l <"$tmp/ours") functions"
	else
		echo "FAIL: $recording $type"
		diff "$tmp/ours" "$tmp/theirs" | head -n 6
		failed=1
	fi
}
check native cpu --cpu
check native wall --wall
check native alloc_space --alloc
check native inuse_space --live
check chunks cpu --cpu
HOME=$tmp go tool pprof -raw "$tmp/p.pb.gz" 2>/dev/null >"$tmp/raw"
# The samples of the first column add up to what there is.
sum=$(awk '/^Locations/ { exit } /^ +[0-9]+ .*: / { n += $1 } END { print n }' "$tmp/raw")
[ "$sum" = 780 ] || {
	echo "FAIL: -raw adds up to $sum samples, not 780"
	failed=1
}
grep -q 'thread:\[' "$tmp/raw" || {
	echo 'FAIL: no thread labels'
	failed=1
}
# Labels: thread, and of an upload the process and its tags, as the agent packs them.
python3 - "$tmp" test/fixtures/jfr/native.jfr <<'END'
import sys, zipfile
name = sys.argv[1] + "/profile_group_unknown___4711_2026-11-21T02-30-00Z.zip"
with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
    z.write(sys.argv[2], "async_profiler_dump_0.jfr")
    z.writestr("metadata.json", '{"start":1,"end":2,"reporting_interval":3,'
               '"agent":{"tags":{"team":"blue","stage":"test"}}}')
END
cp test/fixtures/jfr/native.jfr "$tmp/work_4711_2026-11-21T02-30-00Z.jfr"
# labelled FILE LABEL: each sample of it has this label.
labelled() {
	"$agent" pprof --cpu "$1" -o "$tmp/labels.pb.gz" || failed=1
	HOME=$tmp go tool pprof -raw "$tmp/labels.pb.gz" 2>/dev/null |
		sed '/^Locations/,$d' >"$tmp/raw"
	samples=$(grep -Ec '^ +[0-9]+: ' "$tmp/raw")
	with=$(grep -Fc "$2" "$tmp/raw")
	if [ "$samples" -gt 0 ] && [ "$samples" = "$with" ]; then
		echo "ok: $2 on $with samples"
	else
		echo "FAIL: $2 on $with of $samples samples"
		failed=1
	fi
}
labelled "$tmp"/*.zip 'team:[blue]'
labelled "$tmp"/*.zip 'stage:[test]'
labelled "$tmp/work_4711_2026-11-21T02-30-00Z.jfr" 'process:[work_4711]'
labelled "$tmp/work_4711_2026-11-21T02-30-00Z.jfr" 'thread:['
exit $failed
