#!/bin/sh
# The reading commands on recordings of async-profiler, beside what its converter prints of them;
# where FILE comes from; and what wrong files and wrong words are answered with.
set -u
agent=${B:-build}/asprof-agent
data=test/fixtures/jfr
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

# same NAME FILE1 FILE2
same() {
	cmp -s "$2" "$3" && return
	fail "$1"
	diff "$2" "$3" | head -n 5
}

for name in native chunks java; do
	for mode in cpu wall nativemem leak bytes cpu-threads; do
		case $mode in
		bytes) switches='--nativemem --total' ;;
		cpu-threads) switches='--cpu --threads' ;;
		*) switches=--$mode ;;
		esac
		# shellcheck disable=SC2086 # words on purpose
		"$agent" collapsed $switches "$data/$name.jfr" | LC_ALL=C sort >"$tmp/ours" ||
			fail "collapsed $switches $name"
		LC_ALL=C sort "$data/$name.$mode.collapsed" >"$tmp/theirs"
		same "collapsed $switches of $name" "$tmp/ours" "$tmp/theirs"
	done
done

# A file, standard input, a pipe and a directory are read alike; two files add up.
"$agent" collapsed --leak "$data/native.jfr" >"$tmp/file"
"$agent" collapsed --leak - <"$data/native.jfr" >"$tmp/stdin"
# shellcheck disable=SC2002 # a pipe is what is tested
cat "$data/native.jfr" | "$agent" collapsed --leak - >"$tmp/pipe"
mkdir -p "$tmp/dir/below"
cp "$data/native.jfr" "$tmp/dir/below/"
"$agent" collapsed --leak "$tmp/dir" >"$tmp/directory"
same 'standard input' "$tmp/file" "$tmp/stdin"
same 'pipe' "$tmp/file" "$tmp/pipe"
same 'directory' "$tmp/file" "$tmp/directory"
"$agent" collapsed --cpu "$data/native.jfr" "$data/native.jfr" >"$tmp/twice"
"$agent" collapsed --cpu "$data/native.jfr" | awk '{ $NF *= 2; print }' >"$tmp/doubled"
same 'two files' "$tmp/twice" "$tmp/doubled"

# Filters.
[ "$("$agent" collapsed --cpu --include '^burn_hot$' "$data/native.jfr" | grep -vc burn_hot)" = 0 ] ||
	fail 'include'
[ "$("$agent" collapsed --cpu --exclude '^burn_hot$' "$data/native.jfr" | grep -c burn_hot)" = 0 ] ||
	fail 'exclude'
total() { "$agent" collapsed --cpu "$@" "$data/native.jfr" | awk '{ n += $NF } END { print n + 0 }'; }
[ "$(total)" = 594 ] || fail "all samples: $(total)"
[ $(($(total --to 1s) + $(total --from 1s))) = 594 ] || fail 'from and to'
[ "$(total --from 0 --to 02:29:39)" -lt 594 ] || fail 'time of day'
[ "$(total --thread 9499)" = "$("$agent" collapsed --cpu --threads "$data/native.jfr" |
	awk '/^\[tid=9499\]/ { n += $NF } END { print n }')" ] || fail 'thread'
"$agent" collapsed --cpu --threads --rename-threads '.*=all' "$data/native.jfr" |
	grep -qv '^\[all\];' && fail 'rename-threads'

# Names: short ones leave packages and arguments out; lines tell apart what names do not.
"$agent" collapsed --cpu --simple "$data/java.jfr" | grep -q '[;_]java[./]' && fail 'simple'
"$agent" collapsed --cpu "$data/java.jfr" | grep -q 'java/lang/Thread.run' || fail 'not simple'
[ "$("$agent" collapsed --cpu --simple "$data/java.jfr" | awk '{ n += $NF } END { print n }')" = 108 ] ||
	fail 'simple loses samples'
"$agent" top --cpu -n 3 --lines "$data/java.jfr" | grep -q ' 53 .*Work\.fib:3$' || fail 'lines'

# Printed alike each time, whoever of several threads read what (files of 4 MB get two).
for copy in 1 2 3 4 5 6 7 8 9 10 11 12; do
	cp "$data/chunks.jfr" "$tmp/dir/below/$copy.jfr"
done
for command in summary top leaks lifetimes; do
	"$agent" "$command" --json "$tmp/dir" >"$tmp/json1"
	"$agent" "$command" --json "$tmp/dir" >"$tmp/json2"
	same "$command --json" "$tmp/json1" "$tmp/json2"
done

# What is cut off: the whole chunks are read, the rest is named with its place.
head -c 300000 "$data/chunks.jfr" >"$tmp/cut.jfr"
"$agent" summary "$tmp/cut.jfr" >"$tmp/out" 2>"$tmp/err"
[ $? = 1 ] || fail 'a cut file is told by the status'
grep -q '^Span' "$tmp/out" || fail 'the whole chunks of a cut file are read'
grep -q "cut.jfr: offset [0-9]*: a chunk that is cut off" "$tmp/err" || fail "cut: $(cat "$tmp/err")"

# expect STATUS WORDS... : one line on stderr at least, nothing on stdout.
expect() {
	want=$1
	shift
	"$agent" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	[ "$got" = "$want" ] || fail "$*: status $got, not $want"
	[ -s "$tmp/err" ] || fail "$*: not a word"
	[ -s "$tmp/out" ] && fail "$*: printed $(head -n 1 "$tmp/out")"
}
echo 'This is not a recording at all, only some text.' >"$tmp/text.jfr"
: >"$tmp/empty.jfr"
printf 'PK\003\004 but no zip' >"$tmp/broken.zip"
for command in summary top collapsed flamegraph pprof duration longpolls nativemem; do
	expect 1 "$command" "$tmp/text.jfr"
	expect 1 "$command" "$tmp/missing.jfr"
	expect 1 "$command" "$tmp/empty.jfr"
	expect 1 "$command" "$tmp/broken.zip"
	expect 2 "$command"
	expect 2 "$command" --frobnicate "$data/native.jfr"
	"$agent" "$command" --help | grep -q '^Example:' || fail "$command --help"
	"$agent" "$command" --help | grep -q '.\{81\}' && fail "$command --help is wider than 80"
done
expect 2 top -n many "$data/native.jfr"
expect 2 nativemem --type calloc "$data/native.jfr"
expect 1 collapsed "$data/native.jfr" -o "$tmp/no/such/dir/out"

# A full disk is told of once, and by the status.
for command in summary top collapsed flamegraph pprof duration nativemem leaks lifetimes --help; do
	"$agent" "$command" "$data/native.jfr" >/dev/full 2>"$tmp/err"
	[ $? = 1 ] || fail "$command on a full disk: status 0"
	[ "$(sed "s,: [^:]*$,," "$tmp/err")" = "asprof-agent: standard output" ] ||
		fail "$command on a full disk: $(cat "$tmp/err")"
done

# JSON is JSON, where something is there to tell.
if command -v python3 >/dev/null; then
	for command in summary top leaks lifetimes; do
		"$agent" "$command" --json "$data/java.jfr" | python3 -m json.tool >/dev/null ||
			fail "$command --json"
		"$agent" "$command" --json "$data/native.jfr" | python3 -m json.tool >/dev/null ||
			fail "$command --json"
	done
fi
[ "$failed" = 0 ] && echo 'all as expected'
exit $failed
