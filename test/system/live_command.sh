#!/bin/sh
# ps, status, heap, profile, threads and the orders find a process by its pid, also after fork or exec, in namespaces,
# or as another user. Without permission, the message has the remedy.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have python3
program=$(program live)
export XDG_RUNTIME_DIR="$work" # one that belongs to this user

# told COMMAND...: print its output; it must succeed.
told() {
	"$agent" "$@" >"$work/told" 2>"$work/told.err" || fail "$*: status $?: $(cat "$work/told.err")"
	cat "$work/told"
}

# refused PATTERN COMMAND...: it must fail, with one line that matches.
refused() {
	pattern=$1
	shift
	"$agent" "$@" >"$work/told" 2>"$work/told.err" && fail "$*: it was to fail: $(cat "$work/told")"
	[ "$(wc -l <"$work/told.err")" -le 2 ] && grep -q "$pattern" "$work/told.err" ||
		fail "$*: $(cat "$work/told.err")"
}

# listens PID: wait until it has an endpoint.
listens() {
	until_true "$agent" status "$1" || fail "$1 has no endpoint: $("$agent" status "$1" 2>&1)"
}

held one NATIVE_MEM=32k CPU_INTERVAL=1ms "$program" 32
one=$pid
listens "$one"
until_true grep -q ready "$work/one.out" || fail "the program does not run"
told ps | grep -q "^ *$one live  *builtin " || fail "ps: $(cat "$work/told")"
! grep -q ' asprof-agent  *no live endpoint' "$work/told" || fail "ps lists itself: $(cat "$work/told")"
told ps --json | python3 -c 'import json, sys
assert any(row["pid"] == int(sys.argv[1]) and row["name"] == "live" and row["running"] for row in json.load(sys.stdin))' "$one" ||
	fail "ps --json: $(cat "$work/told")"
told --words status | grep -qx "$one" || fail "no PIDs to complete: $(cat "$work/told")"
told status "$one" | grep -q '^running  *yes$' || fail "status: $(cat "$work/told")"
told status "$one" --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["pid"] > 0' ||
	fail "status --json: $(cat "$work/told")"
# A thousand samples: their standard error is 3%.
told heap "$one" collapsed --total >"$work/folded"
within 16 $((32 << 20)) "$(samples 'main;hold' <"$work/folded")" "heap"
told profile "$one" -t 1s collapsed | grep -q 'main;spin' || fail "profile: $(cat "$work/told")"
told profile "$one" -t 0.5s --wall top >/dev/null
refused 'profile: -t 2: takes a duration' profile "$one" -t 2
told threads "$one" | grep -q '^ *wait_here' || fail "threads: $(cat "$work/told")"
[ "$(grep -c '^\[live tid=' "$work/told")" = 2 ] || fail "not two threads: $(cat "$work/told")"
told heap "$one" flamegraph -o "$work/heap.html"
sed -n 's/^<script id="stacks"[^>]*>\([^<]*\).*/\1/p' "$work/heap.html" | base64 -d | gunzip | grep -aq hold ||
	fail "no flame graph"
told heap "$one" pprof -o "$work/heap.pb.gz"
if command -v go >/dev/null; then
	go tool pprof -top -sample_index=inuse_space "$work/heap.pb.gz" >"$work/pprof" 2>&1 &&
		grep -q ' hold$' "$work/pprof" || fail "go tool pprof: $(cat "$work/pprof")"
fi
told stop "$one"
refused 'already stopped' stop "$one"
refused 'is stopped' heap "$one"
told ps | grep -q "^ *$one live  *stopped " || fail "ps: $(cat "$work/told")"
told start "$one"
refused 'already runs' start "$one"
refused '10 parsecs is not accepted' set "$one" CPU_INTERVAL='10 parsecs'
refused 'there is no option NONE' set "$one" NONE=1
refused 'cannot be set while' set "$one" S3_BUCKET=b
told set "$one" 'TAGS=sum=a&b=%,c=d' ASPROF_AGENT_CPU_INTERVAL=3ms
told status "$one" | grep -q '^last error  *none$' || fail "a refused setting is an error: $(cat "$work/told")"
told status "$one" | grep -q '^settings tags  *sum=a&b=%,c=d$' || fail "set: $(cat "$work/told")"
told status "$one" | grep -q '^settings cpu interval  *3 ms$' || fail "set: $(cat "$work/told")"
told flush "$one"

refused 'there is no process' status 4194303
refused 'is not profiled' status $$
refused 'not a process ID' status sh
"$agent" set "$one" CPU_INTERVAL >/dev/null 2>&1
[ $? = 2 ] || fail "no usage"

# A process that cannot answer does not delay the command.
kill -STOP "$one"
until_true grep -q '^State:.*T' "/proc/$one/status" || fail "it is not stopped"
refused "kill -CONT $one" status "$one"
told ps | grep -q "^ *$one live  *no answer" || fail "ps: $(cat "$work/told")"
kill -CONT "$one"
told status "$one" >/dev/null

# Without an endpoint, the message names the process.
held off LISTEN=off "$program"
until_true sh -c "grep -q asprof-agent /proc/$pid/task/*/comm" || fail "it is not profiled"
refused 'has no live endpoint' status "$pid"

# Without its main thread, whose files in /proc are empty then.
held leader "$(program main_ends)"
until_true grep -q ready "$work/leader.out" || fail "the program does not run"
until_true grep -q '^State:.Z' "/proc/$pid/status" || fail "its main thread does not end"
listens "$pid"
told threads "$pid" | grep -q '^ *work' || fail "without its main thread: $(cat "$work/told")"

# If the reader of its output has ended, the command leaves no file.
mkdir "$work/tmp"
TMPDIR="$work/tmp" python3 -c 'import fcntl, signal, subprocess, sys
command = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
fcntl.fcntl(command.stdout, 1031, 4096) # F_SETPIPE_SZ: less than the page
command.stdout.read(1)
command.stdout.close()
assert command.wait() == -signal.SIGPIPE, command.returncode' "$agent" heap "$one" flamegraph 2>"$work/told.err" ||
	fail "no signal: $(cat "$work/told.err")"
[ -z "$(ls -A "$work/tmp")" ] || fail "a file stays: $(ls -A "$work/tmp")"

# After exec: another program, with its own endpoint.
held exec sh -c "sleep 0.2; exec '$program'"
until_true sh -c "'$agent' status $pid | grep -q '^executable  *live'" || fail "not after exec"

# After fork: each process has only its own endpoint.
held fork python3 -c 'import os, time
child = os.fork()
if child: print(child, flush=True)
time.sleep(60)'
until_true test -s "$work/fork.out" || fail "it does not fork"
child=$(cat "$work/fork.out")
running="$running $child"
listens "$pid"
listens "$child"
for each in "$pid" "$child"; do
	told status "$each" --json | grep -q "{\"pid\":$each," || fail "the endpoint of $each is another's"
done
kill "$child"
until_true sh -c "! '$agent' status $child" || fail "a child that has ended answers"
told status "$pid" >/dev/null

# In a pid namespace with its own root directory: two processes with pid 1 use one directory of sockets.
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2>/dev/null; then
	for name in ns1 ns2; do
		held $name unshare -pf --mount-proc "$program"
		shell=$pid
		until_true sh -c "pgrep -P $shell" || fail "no namespace"
		inside=$(pgrep -P "$shell")
		hard="$hard $inside" # the first process of a namespace gets no other signals
		listens "$inside"
		told status "$inside" | grep -q '^pid  *1$' || fail "in a pid namespace: $(cat "$work/told")"
		told ps | grep -q "^ *$inside live " || fail "ps: $(cat "$work/told")"
	done
fi

# Another user's process: root may ask; the other user may not, and gets a message.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	for_everybody
	chmod 755 "$work"
	mkdir -m 777 "$work/theirs"
	cp "$agent" "$work/client"
	chmod 755 "$work/client" "$program"
	held theirs LOCAL_DIR="$work/theirs" env -u XDG_RUNTIME_DIR TMPDIR="$work/theirs" \
		setpriv --reuid=65534 --regid=65534 --clear-groups env -u XDG_RUNTIME_DIR \
		TMPDIR="$work/theirs" "$program"
	listens "$pid"
	told ps | grep -q "^ *$pid live " || fail "ps: $(cat "$work/told")"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/client" status "$pid" >"$work/told" 2>&1 ||
		fail "its own user: $(cat "$work/told")"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/client" status "$one" >"$work/told" 2>&1 &&
		fail "another user was answered"
	grep -q 'its own user and root' "$work/told" || fail "another user: $(cat "$work/told")"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/client" ps >"$work/told" 2>&1
	grep -q 'of other users' "$work/told" || fail "ps of another user: $(cat "$work/told")"
	# In a user namespace that does not know this machine's root, as in a rootless container.
	if setpriv --reuid=65533 --regid=65533 --clear-groups unshare -U true 2>/dev/null; then
		mkdir -m 777 "$work/apart"
		held user LOCAL_DIR="$work/apart/reports" LISTEN="unix:$work/apart/s" setpriv --reuid=65533 \
			--regid=65533 --clear-groups unshare -U -r "$program"
		listens "$pid"
		chmod 666 "$work/apart/s" # now any user may connect
		refused 'no answer' status "$pid"
	fi
fi
