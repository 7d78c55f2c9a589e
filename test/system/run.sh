#!/bin/sh
# `asprof-agent run`: the environment that it sets, its exit status, and its lines at the end about the profiles.
set -u
build=$(cd "${B:-build}" && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "$*"
	exit 1
}
# expect WHAT WANTED GOT
expect() {
	[ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"
}

unset LD_PRELOAD
for name in $(env | sed -n 's/^\(ASPROF_AGENT_[A-Z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done

# Directories for the command, with empty libraries, because the test only checks `run`.
mkdir -p "$dir/tree/build" "$dir/prefix/bin" "$dir/prefix/lib" "$dir/alone" "$dir/a b"
for d in tree/build prefix/bin alone 'a b'; do
	cp "$build/asprof-agent" "$dir/$d/"
done
echo 'int asprof_agent_nothing;' >"$dir/empty.c"
${CC:-cc} -shared -fPIC -o "$dir/tree/build/libasprof_preload.so" "$dir/empty.c" || exit 1
for d in prefix/lib 'a b'; do
	cp "$dir/tree/build/libasprof_preload.so" "$dir/$d/"
done
cp "$dir/tree/build/libasprof_preload.so" "$dir/other.so"
run=$dir/tree/build/asprof-agent

# The library: in the command's directory, in ../lib, else by its soname.
expect "same directory" "$dir/tree/build/libasprof_preload.so" "$("$run" run -- printenv LD_PRELOAD)"
expect "in ../lib" "$dir/prefix/lib/libasprof_preload.so" \
	"$("$dir/prefix/bin/asprof-agent" run printenv LD_PRELOAD)"
expect "by soname" libasprof_preload.so \
	"$("$dir/alone/asprof-agent" run -- printenv LD_PRELOAD 2>/dev/null)"
expect "through a link" "$dir/tree/build/libasprof_preload.so" \
	"$(ln -s "$run" "$dir/link" && "$dir/link" run -- printenv LD_PRELOAD)"
expect "in front" "$dir/tree/build/libasprof_preload.so:$dir/other.so" \
	"$(LD_PRELOAD=$dir/other.so "$run" run -- printenv LD_PRELOAD)"
expect "once" "$dir/tree/build/libasprof_preload.so" \
	"$("$run" run -- "$run" run -- printenv LD_PRELOAD)"
"$dir/a b/asprof-agent" run -- true 2>"$dir/err"
expect "a path with a space" 125 $?
grep -q 'space or a colon' "$dir/err" || fail "a path with a space: $(cat "$dir/err")"

# The switches.
expect "switches" "10ms 100ms 512k 5ms builtin" "$("$run" run --cpu 10ms --wall=100ms --mem 512k \
	--lock 5ms --engine builtin -- sh -c 'echo $ASPROF_AGENT_CPU_INTERVAL \
	$ASPROF_AGENT_WALL_INTERVAL $ASPROF_AGENT_NATIVE_MEM $ASPROF_AGENT_LOCK $ASPROF_AGENT_ENGINE')"
expect "-o, made absolute" "$dir/out" \
	"$(cd "$dir" && "$run" run -o out -- printenv ASPROF_AGENT_LOCAL_DIR)"
[ -d "$dir/out" ] || fail "-o made no directory"
expect "the default interval of CPU time" 10ms "$("$run" run -- printenv ASPROF_AGENT_CPU_INTERVAL)"
expect "the user's own setting" 7ms \
	"$(ASPROF_AGENT_CPU_INTERVAL=7ms "$run" run -- printenv ASPROF_AGENT_CPU_INTERVAL)"
expect "the command's own switches" "-o --cpu" "$("$run" run -- echo -o --cpu)"
expect "without --" "-o --cpu" "$("$run" run echo -o --cpu)"

# It ends like the command, by status or signal; with one line of its own on stderr.
"$run" run -- sh -c 'exit 42'
expect "status" 42 $?
(
	"$run" run -- sh -c 'kill -TERM $$'
) 2>/dev/null
expect "signal" 143 $?
# Also where SIGCHLD is ignored, which the command inherits.
env --ignore-signal=CHLD "$run" run -- sh -c 'exit 42' 2>/dev/null
expect "status without SIGCHLD" 42 $?
expect "SIGCHLD of the command" "$(env --ignore-signal=CHLD grep SigIgn /proc/self/status)" \
	"$(env --ignore-signal=CHLD "$run" run -- grep SigIgn /proc/self/status 2>/dev/null)"
# It passes on signals of other processes. A terminal sends its signals to both.
mkfifo "$dir/ready"
"$run" run -- sh -c "trap 'exit 9' USR1; echo >\"$dir/ready\"; while :; do sleep 0.05; done" 2>/dev/null &
pid=$!
read -r _ <"$dir/ready"
kill -USR1 $pid
wait $pid
expect "a signal passed on" 9 $?
# Also one that is ignored here, as SIGINT is in a background job of a script.
printf 'import signal, time, sys\nsignal.signal(signal.SIGINT, lambda *_: sys.exit(9))\nprint("ready", flush=True)\ntime.sleep(60)\n' \
	>"$dir/interrupted.py"
env --ignore-signal=INT "$run" run -- python3 "$dir/interrupted.py" >"$dir/interrupted" 2>/dev/null &
pid=$!
until grep -q ready "$dir/interrupted"; do
	sleep 0.05
done
kill -INT $pid
wait $pid
expect "an ignored signal passed on" 9 $?
# It keeps the command's status if the reader of its messages has ended. The command has the default action of
# SIGPIPE.
{
	"$run" run -- sh -c "read -r _ <'$dir/ready'; exit 3" 2>&1
	echo $? >"$dir/status"
} | {
	exec <&-
	echo >"$dir/ready"
}
expect "status without a reader" 3 "$(cat "$dir/status")"
("$run" run -- sh -c 'kill -PIPE $$') 2>/dev/null
expect "SIGPIPE" 141 $?
"$run" run -- true >"$dir/out.txt" 2>"$dir/err"
[ ! -s "$dir/out.txt" ] || fail "it prints something by itself"
expect "one line at the end" 1 "$(wc -l <"$dir/err")"

# The directory of the profiles, or the reason why there are none: the real library, and all kinds of files.
# says WORDS STATUS COMMAND...
says() {
	words=$1 status=$2
	shift 2
	TMPDIR=$dir "$build/asprof-agent" run "$@" >"$dir/out.txt" 2>"$dir/err"
	expect "$words: status" "$status" $?
	grep -q -e "^asprof-agent: run: $words" "$dir/err" || fail "wanted '$words', got: $(cat "$dir/err")"
	expect "$words: one line" 1 "$(grep -v 'run: continue with' "$dir/err" | grep -c '^asprof-agent: run: ')"
}
echo '#include <unistd.h>
int main(int n, char **v) { return usleep(n > 1 ? 0 : 300000) || v[0] == 0; }' >"$dir/waits.c"
# compile NAME [FLAG...]
compile() {
	name=$1
	shift
	${CC:-cc} -g -o "$dir/$name" "$dir/waits.c" "$@" || exit 1
}
export ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_ENGINE=builtin
compile waits
says "1 profile in $dir/profiles\$" 0 --wall 10ms -o "$dir/profiles" -- "$dir/waits"
# Then the heaviest functions, and suggestions.
grep -q ' usleep \| clock_nanosleep ' "$dir/err" || fail "no heaviest functions: $(cat "$dir/err")"
# continues FIRST SECOND: these two commands are suggested.
continues() {
	grep -qxF "asprof-agent: run: continue with \`asprof-agent $1\` or \`asprof-agent $2\`" "$dir/err" ||
		fail "wanted '$1' and '$2', got: $(cat "$dir/err")"
}
continues "waits $dir/profiles" "flamegraph --wall -o flame.html $dir/profiles"
# A later run in the same directory shows its own profiles.
sleep 1
says "1 profile in $dir/profiles\$" 0 --wall 10ms -o "$dir/profiles" -- "$dir/waits"
from=$(sed -n 's/.*asprof-agent waits --from \([0-9:]*\) .*/\1/p' "$dir/err")
[ -n "$from" ] || fail "no time to begin from: $(cat "$dir/err")"
"$build/asprof-agent" summary --from "$from" "$dir/profiles" >/dev/null || fail "nothing from $from"
# The profiles of all processes are shown: in a pipeline the shell only waits.
echo '#include <time.h>
__attribute__((noinline)) static void burn(void) { while (clock() < CLOCKS_PER_SEC / 4) ; }
int main(void) { burn(); return 0; }' >"$dir/burns.c"
${CC:-cc} -g -o "$dir/burns" "$dir/burns.c" || exit 1
says "[123] profiles* in $dir/pipeline\(; [^;]*\)*\$" 0 --cpu 1ms --wall off -o "$dir/pipeline" -- sh -c "$dir/burns | $dir/burns; :"
grep -q ' burn ' "$dir/err" || fail "no heaviest function of a pipeline: $(cat "$dir/err")"
grep -q "^[23] processes: [0-9]*% burns_[0-9]*, [0-9]*% burns_" "$dir/err" || fail "not the heaviest process: $(cat "$dir/err")"
continues "top $dir/pipeline" "flamegraph -o flame.html $dir/pipeline"
says "[123] profiles* in $dir/all\(; [^;]*\)*\$" 0 --mem 64k --lock 10ms --wall off -o "$dir/all" -- "$dir/waits"
continues "leaks $dir/all" "top --lock $dir/all"
says "[12] profiles* in $dir/profiles2\(; [^;]*\)*\$" 7 --wall 10ms -o "$dir/profiles2" -- sh -c "$dir/waits; exit 7"
ASPROF_AGENT_START_DELAY=1h says 'no profile of sleep: it ended within ASPROF_AGENT_START_DELAY, 60.0 min$' 0 \
	-o "$dir/none" -- sleep 0
ASPROF_AGENT_PROCESS='!sleep' says 'no profile of sleep: ASPROF_AGENT_PROCESS excludes it$' 0 -- sleep 0
ASPROF_AGENT_ENABLED=off says 'no profile of sleep: ASPROF_AGENT_ENABLED is off$' 0 -- sleep 0
echo 'int main(void) { return 3; }' >"$dir/static.c"
if ${CC:-cc} -static -o "$dir/static" "$dir/static.c" 2>/dev/null; then
	reason='it is statically linked'
	[ ! -e "$build/libasprof_attach.so" ] || reason='it ended within ASPROF_AGENT_START_DELAY'
	ASPROF_AGENT_START_DELAY=1h says "no profile of $dir/static: $reason" 3 -- "$dir/static"
	printf '#!%s\n' "$dir/static" >"$dir/script"
	chmod +x "$dir/script"
	says "no profile of $dir/script: .*statically linked" 3 -- "$dir/script"
	cp "$dir/static" "$dir/child"
	says "[12] profiles* in $dir/profiles3" 0 --wall 10ms -o "$dir/profiles3" -- sh -c "$dir/child; $dir/waits"
fi

# A sandbox from the start on: the agent's log has the reason.
echo '#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) ? 1 : syscall(SYS_exit, 0);
}' >"$dir/sandbox.c"
${CC:-cc} -o "$dir/sandbox" "$dir/sandbox.c" || exit 1
ASPROF_AGENT_START_DELAY=1h ASPROF_AGENT_LOG=info "$build/asprof-agent" run -o "$dir/sandboxed" -- "$dir/sandbox" 2>"$dir/err" ||
	fail "sandbox: status $?"
grep -q 'the program enters a sandbox' "$dir/err" || fail "sandbox: $(cat "$dir/err")"

# Findings of doctor, in that line (doctor.sh has each finding): as text if there is no profile, otherwise by id.
# Notes on stacks and names are omitted, because a profile may be complete nevertheless. (The agent's own lines are
# ignored here.)
export ASPROF_AGENT_LOG=off
mkdir "$dir/go" "$dir/notes"
compile go/java -Wl,--build-id -Wl,--no-eh-frame-hdr -Wl,--export-dynamic-symbol=malloc -x c - <<'END'
static char memory[1 << 20];
static unsigned long used;
void *malloc(unsigned long n)
{
	used += n + 15 & ~15ul;
	return used > sizeof(memory) ? 0 : memory + used - (n + 15 & ~15ul);
}
void free(void *block)
{
	(void)block;
}
END
strip "$dir/go/java" && objcopy --remove-section .eh_frame --add-section .go.buildinfo=/dev/null "$dir/go/java" || exit 1
(
	unset ASPROF_AGENT_ENGINE
	says "1 profile in $dir/notes; .asprof-agent doctor $dir/go/java. has notes: java, go, malloc\$" 0 \
		--mem 64k --wall 10ms -o "$dir/notes" -- "$dir/go/java"
) || exit 1
# The notes are on the program that was profiled, not on a shell.
mkdir "$dir/bin" && cp "$dir/burns" "$dir/bin/java"
PATH=$dir/bin:$PATH says "[12] profiles* in $dir/shell; .asprof-agent doctor java. has notes: java\$" 0 \
	--engine builtin --cpu 1ms --wall off -o "$dir/shell" -- sh -c 'java; :'
grep -q 'ASPROF_AGENT_LIB' "$dir/err" && fail "a library: $(cat "$dir/err")"
(
	unset ASPROF_AGENT_ENGINE
	ASPROF_AGENT_LIB=$dir/missing.so "$build/asprof-agent" run --wall 10ms -o "$dir/library" -- "$dir/waits" 2>"$dir/err"
	grep -qx "asprof-agent: run: the builtin engine is used, as ASPROF_AGENT_LIB cannot be loaded: $dir/missing.so: No such file or directory" \
		"$dir/err"
) || fail "a missing library: $(cat "$dir/err")"
(
	unset ASPROF_AGENT_ENGINE ASPROF_AGENT_LOG
	ASPROF_AGENT_LIB=$dir/empty.c "$build/asprof-agent" run --wall 10ms -o "$dir/no_library" -- "$dir/waits" 2>"$dir/err"
	grep 'empty.c' "$dir/err" | grep -c '' | grep -qx 1
) || fail "not a library: $(cat "$dir/err")"
ASPROF_AGENT_CPU_INTERVAL=parsec "$build/asprof-agent" run -- "$dir/waits" once 2>"$dir/err"
grep -q '^asprof-agent: run: no profile, as a setting is invalid: .*parsec' "$dir/err" || fail "a setting: $(cat "$dir/err")"
says "no profile of $dir/waits: .*its library is not found" 0 --engine async-profiler -- "$dir/waits" once
ASPROF_AGENT_LOCAL_DIR=$dir/waits.c/x says "no profile of $dir/waits: .*waits.c/x: Not a directory" 0 -- "$dir/waits" once
if [ "$(id -u)" -eq 0 ]; then
	install -o 65534 -m 4755 "$dir/waits" "$dir/set_id"
	says "no profile of $dir/set_id: it gains privileges" 0 -- "$dir/set_id" once
fi
"$dir/alone/asprof-agent" run -- "$dir/waits" once 2>"$dir/err"
grep -q "^asprof-agent: run: no profile of $dir/waits: .*cannot be preloaded" "$dir/err" || fail "no library: $(cat "$dir/err")"
unset ASPROF_AGENT_LOG
unset ASPROF_AGENT_START_DELAY ASPROF_AGENT_ENGINE

# Errors have the status of env(1).
"$run" run -- "$dir/no-such-program" 2>/dev/null
expect "no such program" 127 $?
"$run" run -- "$dir/empty.c" 2>/dev/null
expect "not executable" 126 $?
"$run" run 2>/dev/null
expect "no command" 2 $?
"$run" run -- 2>/dev/null
expect "no command behind --" 2 $?
"$run" run --nonsense -- true 2>/dev/null
expect "unknown switch" 2 $?
"$run" run --cpu 2>/dev/null
expect "no value" 2 $?
"$run" run --cpu -- true 2>/dev/null
expect "-- as a value" 2 $?
"$run" run --cpu '10 parsecs' -- true 2>"$dir/err"
expect "wrong value" 2 $?
grep -q "10 parsecs is not accepted: give a duration" "$dir/err" || fail "$(cat "$dir/err")"
"$run" run -o "$dir/empty.c/x" -- true 2>"$dir/err"
expect "a directory that cannot be" 125 $?
grep -q "empty.c/x: Not a directory" "$dir/err" || fail "$(cat "$dir/err")"
"$run" run -o "$dir/missing/x" -- true 2>"$dir/err"
expect "a directory in a missing one" 125 $?
grep -q "missing/x: the directory above it does not exist" "$dir/err" || fail "$(cat "$dir/err")"
mkdir "$dir/full"
if unshare -r -m true 2>"$dir/err"; then
	unshare -r -m sh -c "mount -t tmpfs -o ro none '$dir/full' && exec '$run' run -o '$dir/full' -- true" 2>"$dir/err"
	expect "a read-only directory" 125 $?
	grep -q "full: Read-only file system" "$dir/err" || fail "$(cat "$dir/err")"
else
	echo "not mounted: $(cat "$dir/err")"
fi
"$run" run --help | grep -q -- '--cpu' || fail "--help does not tell the switches"
echo ok
