#!/bin/sh
# `go tool pprof` with addresses, build ids, inlined functions and lines. Needs Go.
set -u
. "$(dirname "$0")/agent.inc"
have go
# Newer releases of Go build pprof when it is first called.
export HOME="$work" GOCACHE="$B/go"
. test/system/symbols.inc

pprof() {
	PPROF_BINARY_PATH=/nowhere go tool pprof "$@" "$work/p.pb.gz" 2>"$work/said" ||
		fail "pprof $*: $(cat "$work/said")"
}
"$agent" pprof --cpu --symbols "$work/inlined.debug" "$work/profiles" -o "$work/p.pb.gz" 2>/dev/null ||
	fail 'pprof'
pprof -raw >"$work/raw"
pprof -sample_index=samples -top -nodecount=0 -nodefraction=0 >"$work/top"
pprof -sample_index=samples -list '^work::mix$' -source_path=. >"$work/list"

# The mapping: build id, and the data of the debug files.
read -r start _ offset <<-END
	$(sed -n "s|^1: 0x\([0-9a-f]*\)/0x\([0-9a-f]*\)/0x\([0-9a-f]*\) $work/inlined $build_id \[FN\]\[FL\]\[LN\]\[IN\]\$|\1 \2 \3|p" "$work/raw")
END
[ -n "$start" ] || fail "mapping: $(sed -n '/^Mappings/,$p' "$work/raw")"

# Other tools find the same function at the address of a location. (Some releases of pprof print a column after the
# line.)
address=$(sed -n "s/^ *[0-9]*: 0x\([0-9a-f]*\) M=1 work::mix .*inlined.cpp:$(line mixes)[: ].*/\1/p" "$work/raw" |
	head -n 1)
[ -n "$address" ] || fail "no location of work::mix: $(cat "$work/raw")"
at=$(printf '0x%x' $((0x$address - 0x$start + 0x$offset)))
addr2line -i -e "$work/inlined.debug" "$at" >"$work/lines"
for where in mixes 'calls mix' 'calls rounds'; do
	grep -q "inlined.cpp:$(line "$where")\>" "$work/lines" || fail "$at is $(cat "$work/lines")"
done

# Inlined functions are lines of one location, innermost first.
grep -A2 'M=1 work::mix /.*/inlined.cpp:[0-9]' "$work/raw" | grep -q 'work::crunch /.*inlined.cpp:' ||
	grep -A2 'M=1 work::mix test/.*inlined.cpp:[0-9]' "$work/raw" |
	grep -q 'work::crunch test/.*inlined.cpp:' || fail "no chain: $(cat "$work/raw")"
grep -q 'work::mix (inline)$' "$work/top" && grep -q 'work::rounds (inline)$' "$work/top" ||
	fail "not inlined: $(cat "$work/top")"

# Each source line has the weight of the samples that addr2line finds there.
weight=$(awk -v n="$(line mixes):" '$3 == n { print $1 }' "$work/list")
expected=$(samples ";work::mix \\(inlined.cpp:$(line mixes)\\)_\\[i\\]\$" <"$work/with.lines")
[ "$weight" = "$expected" ] ||
	fail "$weight samples, not $expected, are on the line: $(cat "$work/list")"

# pprof shows the same as top. (pprof merges functions of one name in two libraries.)
"$agent" top --cpu -n 0 --symbols "$work/inlined.debug" "$work/profiles" 2>/dev/null |
	awk '/% +work::/ { name = $0; sub(/^.*% +/, "", name); sub(/ \[[^]]*\]$/, "", name);
		# (Intervals, if there are any, are after the percentages.)
		for (i = 2; $i !~ /^[0-9]+$/; i++) {}
		print name, $1, $i }' |
	LC_ALL=C sort >"$work/ours"
awk 'seen { name = $0; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "", name);
	sub(/ \(inline\)$/, "", name); print name, $1, $4 } / flat%/ { seen = 1 }' "$work/top" |
	grep '^work::' | LC_ALL=C sort >"$work/theirs"
[ -s "$work/ours" ] && cmp "$work/ours" "$work/theirs" ||
	fail "top and pprof differ: $(diff "$work/ours" "$work/theirs")"
exit 0
