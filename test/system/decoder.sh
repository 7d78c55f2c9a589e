#!/bin/sh
# The reading commands, compared with async-profiler's converter on recordings of async-profiler; all kinds of FILE;
# and the messages for damaged files and wrong arguments.
. "$(dirname "$0")/agent.inc"
data=test/fixtures/jfr

# same NAME FILE1 FILE2
same() {
	cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3" | head -n 5)"
}

for name in native chunks java; do
	for mode in cpu wall nativemem leak bytes cpu-threads; do
		case $mode in
		bytes) switches='--nativemem --total' ;;
		cpu-threads) switches='--cpu --threads' ;;
		*) switches=--$mode ;;
		esac
		# shellcheck disable=SC2086 # words on purpose
		"$agent" collapsed $switches "$data/$name.jfr" | LC_ALL=C sort >"$work/ours" ||
			fail "collapsed $switches $name"
		# async-profiler's converter shows its own allocation hooks.
		sed 's/;[a-z_]*alloc_hook \([0-9]*\)$/ \1/' "$data/$name.$mode.collapsed" | LC_ALL=C sort >"$work/theirs"
		same "collapsed $switches of $name" "$work/ours" "$work/theirs"
	done
done

# Messages do not get into a file that is opened while standard error is closed.
head -c 384000 "$data/chunks.jfr" >"$work/damaged.jfr"
"$agent" collapsed --cpu "$work/damaged.jfr" -o "$work/with" 2>"$work/err"
"$agent" collapsed --cpu "$work/damaged.jfr" -o "$work/without" 2>&-
[ -s "$work/err" ] || fail 'no message about a damaged file'
same 'standard error is closed' "$work/with" "$work/without"

# A file, standard input, a pipe and a directory give the same result. Two files add up.
"$agent" collapsed --leak "$data/native.jfr" >"$work/file"
"$agent" collapsed --leak - <"$data/native.jfr" >"$work/stdin"
# shellcheck disable=SC2002 # the test is about a pipe
cat "$data/native.jfr" | "$agent" collapsed --leak - >"$work/pipe"
mkdir -p "$work/dir/below"
cp "$data/native.jfr" "$work/dir/below/"
"$agent" collapsed --leak "$work/dir" >"$work/directory"
same 'standard input' "$work/file" "$work/stdin"
same 'pipe' "$work/file" "$work/pipe"
same 'directory' "$work/file" "$work/directory"
cp "$data/native.jfr" "$work/copy.jfr"
"$agent" collapsed --cpu "$data/native.jfr" "$work/copy.jfr" >"$work/twice"
"$agent" collapsed --cpu "$data/native.jfr" | awk '{ $NF *= 2; print }' >"$work/doubled"
same 'two files' "$work/twice" "$work/doubled"

# A file is read once, even if several names and links lead to it, also with cycles.
ln -s . "$work/dir/latest"
ln -s .. "$work/dir/below/up"
ln -s below "$work/dir/again"
ln -s below/native.jfr "$work/dir/latest.jfr"
ln "$work/dir/below/native.jfr" "$work/dir/hard.jfr"
gzip -kc "$work/dir/below/native.jfr" >"$work/dir/below/native.jfr.gz"
"$agent" collapsed --leak "$work/dir" >"$work/linked"
rm "$work/dir/below/native.jfr.gz"
same 'a directory of links, and a packed copy' "$work/file" "$work/linked"
"$agent" collapsed --leak "$work/dir/hard.jfr" "$work/dir/below/native.jfr" "$work/dir" \
	"$work/dir/latest" >"$work/linked"
same 'one file by four names' "$work/file" "$work/linked"
"$agent" collapsed --leak - "$work/dir" <"$work/dir/hard.jfr" >"$work/linked"
same 'standard input, and its file' "$work/file" "$work/linked"
rm "$work/dir/latest" "$work/dir/below/up" "$work/dir/again" "$work/dir/latest.jfr" \
	"$work/dir/hard.jfr"

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

# Names: short ones omit packages and arguments; lines separate functions with the same name.
"$agent" collapsed --cpu --simple "$data/java.jfr" | grep -q '[;_]java[./]' && fail 'simple'
"$agent" collapsed --cpu "$data/java.jfr" | grep -q 'java/lang/Thread.run' || fail 'not simple'
[ "$("$agent" collapsed --cpu --simple "$data/java.jfr" | awk '{ n += $NF } END { print n }')" = 108 ] ||
	fail 'simple loses samples'
# Native functions of Java count for the methods that call them, unless --native or a filter by function is given.
"$agent" top --cpu -n 0 "$data/java.jfr" >"$work/top"
grep -Eq '^ +31 .* Work\.lambda\$main\$0$' "$work/top" && grep -q -- '; --native shows them$' "$work/top" ||
	fail "top of Java: $(cat "$work/top")"
"$agent" top --cpu -n 0 --native "$data/java.jfr" >"$work/top"
grep -q ' Profiler::recordSample ' "$work/top" && grep -Eq '^ +1 .* Work\.lambda\$main\$0$' "$work/top" &&
	! grep -q -- '--native' "$work/top" || fail "top --native: $(cat "$work/top")"
"$agent" top --cpu --include recordSample "$data/java.jfr" | grep -q ' Profiler::recordSample ' || fail 'top --include'
# Frames can be omitted by category.
"$agent" collapsed --cpu --fold library,kernel "$data/native.jfr" >"$work/folded"
grep -q '^burner;outer;burn_hot 43[0-9]$' "$work/folded" && ! grep -q 'clone3;.*burn_hot' "$work/folded" ||
	fail "--fold: $(cat "$work/folded")"
# A function that only calls others has a large total, and no self. top shows own functions of that kind nevertheless.
"$agent" top --cpu -n 3 "$data/native.jfr" >"$work/top"
sed -n '/^own code/,$p' "$work/top" | grep -q ' outer \[work\]' && ! grep -q ' clone3 ' "$work/top" ||
	fail "no callers: $(cat "$work/top")"
"$agent" top --cpu -n 1 --cumulative "$data/native.jfr" | grep -q ' 594 .* clone3 ' || fail 'top --cumulative'
"$agent" top --cpu --json "$data/native.jfr" |
	grep -q '"name":"burn_hot","module":"work","category":"own"' || fail 'no category in JSON'
"$agent" top --cpu -n 3 --lines "$data/java.jfr" | grep -q ' 53 .*Work\.fib:3$' || fail 'lines'

# The output is the same each time, with any number of threads (files of 4 MB get two).
for copy in 1 2 3 4 5 6 7 8 9 10 11 12; do
	cp "$data/chunks.jfr" "$work/dir/below/$copy.jfr"
done
for command in summary top leaks lifetimes; do
	"$agent" "$command" --json "$work/dir" >"$work/json1"
	"$agent" "$command" --json "$work/dir" >"$work/json2"
	same "$command --json" "$work/json1" "$work/json2"
done

# --raw counts a sampled allocation as one.
"$agent" lifetimes --raw -n 0 --json "$data/native.jfr" | sed 's/{"count":/\n&/g' |
	sed -n 's/^{"count":\([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n }' >"$work/ours"
"$agent" nativemem "$data/native.jfr" | grep -c ' malloc at ' >"$work/wanted"
same 'lifetimes --raw' "$work/ours" "$work/wanted"

# Threads whose names the engine did not read are counted.
"$agent" summary test/fixtures/jfr/native.jfr | grep -qx 'Unnamed   5 of 7 threads: they ended before .*' ||
	fail "summary does not say that threads have no names: $("$agent" summary test/fixtures/jfr/native.jfr)"
"$agent" summary --json test/fixtures/jfr/native.jfr | grep -q '"threads_unnamed":5,' || fail 'summary --json: names'
"$agent" summary test/fixtures/jfr/chunks.jfr | grep '^Unnamed' && fail 'summary: all of them have names'

# A truncated file: whole chunks are read, and a message names the rest with its offset.
head -c 300000 "$data/chunks.jfr" >"$work/cut.jfr"
"$agent" summary "$work/cut.jfr" >"$work/out" 2>"$work/err"
[ $? = 1 ] || fail 'a cut file is told by the status'
grep -q '^Span' "$work/out" || fail 'the whole chunks of a cut file are read'
grep -q "cut.jfr: offset [0-9]*: a chunk that is cut off" "$work/err" || fail "cut: $(cat "$work/err")"

# Damage is reported in one line, with any way of reading, and any amount of damage.
python3 - "$data/chunks.jfr" "$work/damaged.jfr" <<'END' || exit 1
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for at in 5000, 100000, 200000, 300000:
    data[at:at + 200] = b"\xff" * 200
open(sys.argv[2], "wb").write(data)
END
for command in summary top 'top --live' collapsed flamegraph pprof leaks lifetimes longpolls nativemem; do
	# shellcheck disable=SC2086 # words on purpose
	"$agent" $command "$work/damaged.jfr" >/dev/null 2>"$work/err"
	[ $? = 1 ] || fail "$command: damage is not told by the status"
	[ "$(grep -c 'damaged.jfr: offset [0-9]*: ' "$work/err")" = 1 ] && [ "$(wc -l <"$work/err")" = 1 ] ||
		fail "$command: damage: $(cat "$work/err")"
done

# expect STATUS WORDS... : at least one line on stderr, nothing on stdout.
expect() {
	want=$1
	shift
	"$agent" "$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	[ "$got" = "$want" ] || fail "$*: status $got, not $want"
	[ -s "$work/err" ] || fail "$*: not a word"
	[ -s "$work/out" ] && fail "$*: printed $(head -n 1 "$work/out")"
}
echo 'This is not a recording at all, only some text.' >"$work/text.jfr"
: >"$work/empty.jfr"
printf 'PK\003\004 but no zip' >"$work/broken.zip"
for command in summary top collapsed flamegraph pprof duration longpolls nativemem; do
	expect 1 "$command" "$work/text.jfr"
	expect 1 "$command" "$work/missing.jfr"
	expect 1 "$command" "$work/empty.jfr"
	expect 1 "$command" "$work/broken.zip"
	expect 2 "$command"
	expect 2 "$command" --frobnicate "$data/native.jfr"
	"$agent" "$command" --help | grep -q '^Example:' || fail "$command --help"
	"$agent" "$command" --help | grep -q '.\{81\}' && fail "$command --help is wider than 80"
done
expect 2 top -n many "$data/native.jfr"
expect 2 top --fold kernel,x "$data/native.jfr"
expect 2 nativemem --type calloc "$data/native.jfr"
expect 1 collapsed "$data/native.jfr" -o "$work/no/such/dir/out"

# A full disk is reported once, and by the status.
for command in summary top collapsed flamegraph pprof duration nativemem leaks lifetimes --help; do
	"$agent" "$command" "$data/native.jfr" >/dev/full 2>"$work/err"
	[ $? = 1 ] || fail "$command on a full disk: status 0"
	[ "$(sed "s,: [^:]*$,," "$work/err")" = "asprof-agent: standard output" ] ||
		fail "$command on a full disk: $(cat "$work/err")"
done

# JSON is valid JSON, and not empty.
if command -v python3 >/dev/null; then
	for command in summary top 'top --by host' 'top --by time' leaks lifetimes nativemem 'nativemem --type free' \
		'longpolls --summary' 'longpolls --include-non-pollcatch' waits; do
		# shellcheck disable=SC2086 # words on purpose
		"$agent" $command --json "$data/java.jfr" 2>"$work/err" | python3 -m json.tool >/dev/null ||
			fail "$command --json"
		# shellcheck disable=SC2086
		"$agent" $command --json "$data/native.jfr" 2>"$work/err" | python3 -m json.tool >/dev/null ||
			fail "$command --json"
		# shellcheck disable=SC2086
		"$agent" $command --json --process none "$data/native.jfr" 2>"$work/err" | python3 -m json.tool >/dev/null ||
			fail "$command --json: not JSON if nothing is left"
	done
fi
# A row of locks is a place of the program, not the lock's class.
"$agent" top --lock "$data/java.jfr" 2>"$work/err" | grep -Eq '^ +2015  100.0% .* Work\.lambda' || fail 'no place of locks'
# Waits in which no function of the program is known come last: a JVM's threads without work wait the longest.
"$agent" waits $data/java.jfr >"$work/waits" || fail "waits: status $?"
grep -A3 '^no function of the program$' "$work/waits" | tail -n 2 | tr -s ' ' >"$work/last"
printf ' 18.8 s semaphore\n 4.05 s child\n' | cmp -s - "$work/last" && ! grep -q '^semaphore ' "$work/waits" ||
	fail "waits: $(cat "$work/waits")"
echo 'all as expected'
