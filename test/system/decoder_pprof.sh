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
exit $failed
