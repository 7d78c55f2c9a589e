#!/bin/bash
# Reading from a store that is often busy and breaks connections; from one that forbids reading; by two readers at
# once, and by one that is killed.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
. "$here/bucket.inc"
fixture=$here/../fixtures/jfr/native.jfr

# 60 objects of 100 kB and more. The agent uploads the first one.
STORE_WITH=(--page 7)
store
profiled 1.2 ASPROF_AGENT_PROFILING_GROUP=svc
store_stop
for i in $(seq 10 68); do
	cp "$fixture" "$work/objects/$i.jfr"
done
count=$(find "$work/objects" -type f | wc -l)
[ "$count" -ge 60 ] || fail "only $count objects"

# gets PATTERN: number of matching lines in the store's list of GETs.
gets() {
	grep -c -- "$1" "$work/objects.gets"
}

again_with() {
	store_stop
	STORE_WITH=("$@")
	: >"$work/objects.gets"
	store
}

again_with --page 7
same 'a good day' s3://reports -- "$work/objects"
[ "$(gets '?$')" -eq $(((count + 6) / 7)) ] || fail "pages: $(gets '?$')"
[ "$(gets '^200 - [^?]')" -eq "$count" ] || fail "objects: $(gets '^200 - [^?]') of $count"
same 'the second time' s3://reports -- "$work/objects"
[ "$(gets '^200 - [^?]')" -eq "$count" ] || fail 'something was fetched twice'

# Only a replaced object is fetched again.
cp "$here/../fixtures/jfr/chunks.jfr" "$work/objects/30.jfr"
same 'one is replaced' s3://reports -- "$work/objects"
[ "$(gets '^200 - [^?]')" -eq $((count + 1)) ] || fail 'not one alone was fetched'

again_with --page 7 --broken 9
rm -rf "$work/cache"
same 'a bad day' s3://reports -- "$work/objects"
[ "$(gets '^503')" -gt 3 ] || fail "too few broken answers: $(gets '^503')"
# Data that had arrived was not fetched again.
[ "$(gets '^206 bytes=[1-9][0-9]*-')" -gt 3 ] || fail "ranges: $(gets '^206')"
[ -z "$(find "$work/cache" -name '.*' -type f)" ] || fail 'halves are left in the cache'

again_with --page 7
# Two readers at once: each reads all objects, and no incomplete one.
rm -rf "$work/cache"
reading collapsed --wall --total s3://reports >"$work/first" 2>&1 &
job=$!
reading collapsed --wall --total s3://reports >"$work/second" 2>&1 || fail "$(cat "$work/second")"
wait "$job" || fail "$(cat "$work/first")"
cmp "$work/first" "$work/near" && cmp "$work/second" "$work/near" || fail 'two at once'

# After a reader was killed, the next one continues: complete objects are not fetched again.
rm -rf "$work/cache"
again_with --page 7 --hold 50.jfr
as=(XDG_CACHE_HOME=/nowhere)
reading pull s3://reports -o "$work/pulled" >"$work/words" 2>&1 &
job=$!
until_true [ -e "$work/pulled/49.jfr" ] || fail 'nothing is pulled'
end "$(pgrep -P "$job" || echo "$job")"
wait "$job" 2>/dev/null
again_with --page 7
as=()
grep -q fetched "$work/words" && fail 'progress where there is no terminal'
for file in "$work/pulled"/*; do
	cmp "$file" "$work/objects/$(basename "$file")" || fail 'half a file'
done
reading pull s3://reports -o "$work/pulled" >"$work/words" || fail "$(cat "$work/words")"
grep -q "; $((count - 19)) existed" "$work/words" || fail "$(cat "$work/words")"
diff -r "$work/objects" "$work/pulled" || fail 'the pulled files differ'
cat "$work/words"

# Progress on a terminal: 41 objects, while one does not arrive.
if command -v script >/dev/null; then
	again_with --page 7 --hold 50.jfr
	rm -rf "$work/cache"
	{
		declare -f reading with_store
		declare -p work access secret url agent as
		echo 'reading top s3://reports'
	} >"$work/reading"
	script -qefc "bash $work/reading" "$work/terminal" >"$work/out" 2>&1 </dev/null &
	job=$!
	until_true grep -q "[0-9]* of $count fetched, [0-9.]* MiB" "$work/terminal" 2>/dev/null ||
		fail "no progress: $(cat "$work/terminal")"
	kill "$job"
	wait "$job" 2>/dev/null
	again_with --page 7
fi

# A small cache keeps its limit, and all objects are read nevertheless.
rm -rf "$work/cache"
same 'a small cache' --cache 2m s3://reports -- "$work/objects"
[ "$(du -k "$work/cache" | tail -n 1 | cut -f 1)" -le 2100 ] || fail "the cache: $(du -k "$work/cache")"
rm -rf "$work/cache"
printf 'no directory' >"$work/cache"
same 'no place for one' s3://reports -- "$work/objects"
rm "$work/cache"

again_with --deny list
fails '403 AccessDenied; .*s3:ListBucket' top s3://reports
again_with --deny get
reading top s3://reports >"$work/out" 2>"$work/words" && fail 'status 0'
grep -q '403 AccessDenied; .*s3:GetObject' "$work/words" || fail "$(cat "$work/words")"
# One error message, not one per object.
[ "$(gets '^403')" -lt 40 ] || fail "$(gets '^403') were asked for"

# A store that redirects to the bucket's location.
again_with --page 7
there=$url
# shellcheck disable=SC2034 # used by strict.inc
STORE_WITH=(--redirect 307 "$there")
store
same 'sent on' --cache 0 s3://reports -- "$work/objects"
