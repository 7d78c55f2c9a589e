#!/bin/bash
# ps, status, heap and profile on redis, python and a Java program at the same time, each with its own functions. Also
# after fork and exec of python, in a pid namespace, and of another user, as root.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have redis-server redis-cli /usr/bin/python3
export XDG_RUNTIME_DIR="$work"

told() {
	"$agent" "$@" >"$work/told" 2>"$work/told.err" || fail "$*: status $?: $(cat "$work/told.err")"
	cat "$work/told"
}
# shows PID FUNCTION: a profile of it has FUNCTION, once it has had a processor.
shows() {
	"$agent" profile "$1" -t 0.5s collapsed >"$work/told" 2>&1
	grep -q "$2" "$work/told"
}
listens() {
	until_true "$agent" status "$1" || fail "$1 has no endpoint: $("$agent" status "$1" 2>&1)"
}

held redis NATIVE_MEM=4k CPU_INTERVAL=1ms redis-server --port 0 --unixsocket "$work/socket" --save '' --dir "$work"
redis=$pid
cat >"$work/busy.py" <<'END'
import os, sys, time
kept = [bytes(100000) for _ in range(100)]
def burn_in_python():
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
if sys.argv[1:] == ['fork']:
    child = os.fork()
    if child:
        print(child, flush=True)
    else:
        os.execv(sys.executable, [sys.executable, sys.argv[0]])
while True:
    burn_in_python()
END
held python NATIVE_MEM=64k CPU_INTERVAL=5ms /usr/bin/python3 "$work/busy.py" fork
python=$pid
java=
if [ -n "${ASPROF_TEST_LIB:-}" ] && command -v javac >/dev/null; then
	cat >"$work/Busy.java" <<'END'
public class Busy {
	static long sink;
	static void burnInJava() {
		long end = System.nanoTime() + 100000000L;
		while (System.nanoTime() < end)
			sink += System.nanoTime() % 7;
	}
	public static void main(String[] arguments) {
		while (true)
			burnInJava();
	}
}
END
	javac -d "$work" "$work/Busy.java" || fail 'no program of Java'
	held java ENGINE=async-profiler LIB="$ASPROF_TEST_LIB" CPU_INTERVAL=5ms NATIVE_MEM=64k java -cp "$work" Busy
	java=$pid
fi
until_true test -s "$work/python.out" || fail "python does not fork: $(cat "$work/python.err")"
child=$(cat "$work/python.out")
running="$running $child"
for each in $redis $python $child $java; do
	listens "$each"
done
told ps >"$work/ps"
for each in "$redis redis-server builtin" "$python python3 builtin" "$child python3 builtin" ${java:+"$java java async-profiler"}; do
	read -r number name engine <<<"$each"
	grep -Eq "^ *$number  *${name}[0-9.]*  *$engine " "$work/ps" || fail "ps has no $each: $(cat "$work/ps")"
	told status "$number" | grep -q '^running  *yes$' || fail "status of $each: $(cat "$work/told")"
done

# The memory and the functions of each.
redis-cli -s "$work/socket" eval 'for i = 1, 3000 do redis.call("set", "key" .. i, string.rep("x", 8100)) end' 0 >/dev/null ||
	fail "redis: $(cat "$work/redis.out")"
told heap "$redis" collapsed --total >"$work/folded"
[ "$(samples . <"$work/folded")" -gt $((3000 * 8000)) ] || fail "the heap of redis: $(head -n 5 "$work/folded")"
touch "$work/busy"
(while [ -e "$work/busy" ]; do
	redis-cli -s "$work/socket" eval 'local n = 0; for i = 1, 1000000 do n = n + i end; return n' 0 >/dev/null
done) &
running="$running $!"
until_true shows "$redis" lua || fail "the profile of redis: $(head -n 5 "$work/told")"
rm "$work/busy"
# (Ten million bytes; the estimate is off by half a million one time in three.)
for each in $python $child; do
	told heap "$each" collapsed --total >"$work/folded"
	[ "$(samples . <"$work/folded")" -gt $((7 << 20)) ] || fail "the heap of python $each: $(head -n 5 "$work/folded")"
	until_true shows "$each" burn_in_python || fail "the profile of python $each: $(head -n 5 "$work/told")"
done
if [ -n "$java" ]; then
	until_true shows "$java" burnInJava || fail "the profile of Java: $(head -n 5 "$work/told")"
	"$agent" heap "$java" >"$work/told" 2>&1 && fail "async-profiler tells what is retained: $(head -n 5 "$work/told")"
	grep -q 'native memory.*NATIVE_MEM_ENGINE=builtin' "$work/told" || fail "the heap of Java: $(cat "$work/told")"
	kill -0 "$java" || fail 'Java has ended'
fi
echo "redis, python, its child${java:+, Java}: seen"

# In a pid namespace, and as another user.
[ "$(id -u)" = 0 ] || exit 0
for_everybody
chmod 0777 "$work"
if unshare -pf --mount-proc true 2>/dev/null; then
	held namespace CPU_INTERVAL=5ms unshare -pf --mount-proc /usr/bin/python3 "$work/busy.py"
	inside=
	found() {
		inside=$(pgrep -P "$pid")
		[ -n "$inside" ]
	}
	until_true found || fail 'no process in the namespace'
	hard="$hard $inside"
	listens "$inside"
	until_true shows "$inside" burn_in_python || fail "in a namespace: $(head -n 5 "$work/told")"
fi
if command -v setpriv >/dev/null; then
	held other XDG_RUNTIME_DIR= CPU_INTERVAL=5ms setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 "$work/busy.py"
	other=$pid
	listens "$other"
	until_true shows "$other" burn_in_python || fail "of another user: $(head -n 5 "$work/told")"
	setpriv --reuid 65533 --regid 65533 --clear-groups "$agent" status "$other" >"$work/told" 2>&1 &&
		fail "a third user: $(cat "$work/told")"
fi
echo 'in a pid namespace, and of another user: seen'
