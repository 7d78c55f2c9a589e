#!/bin/bash
# profile --attach and attach --for of a JVM that runs already: it loads async-profiler itself, so methods have names. It
# continues, also if it belongs to another user, and nothing of the commands is left.
. "$(dirname "$0")/agent.inc"
. test/system/input.inc
have java javac
[ -n "${ASPROF_TEST_LIB:-}" ] || skip "ASPROF_TEST_LIB names no async-profiler"
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"
[ "$(id -u)" = 0 ] || skip "without root, only child processes may be traceable"
for_everybody
export ASPROF_AGENT_LIB=$ASPROF_TEST_LIB

cat >"$work/Turns.java" <<'J'
public class Turns {
	static double turn(double x) {
		for (int i = 0; i < 1000; i++)
			x = x * 1.000001 + i;
		return x;
	}

	static volatile boolean isEnded;

	public static void main(String[] arguments) throws Exception {
		Thread worker = new Thread(() -> {
			double x = 0;
			while (!isEnded)
				x = turn(x);
		});
		worker.start();
		System.out.println("ready");
		while (System.in.read() >= 0)
			;
		isEnded = true;
		worker.join();
		System.out.println("ok");
	}
}
J
javac -d "$work" "$work/Turns.java" || fail "javac"
chmod 644 "$work"/*.class

turns=(-XX:+UseSerialGC -cp "$work" Turns)

# end_whole: it has printed what it prints alone.
end_whole() {
	end
	[ "$(tr '\n' ' ' <"$work/out")" = "ready ok " ] || fail "its output: $(cat "$work/out")"
}

# left: files of the commands.
left() { find /tmp -maxdepth 1 \( -name ".attach_pid$pid" -o -name 'asprof-agent-*' -newer "$work/Turns.class" -empty \); }

# hot FILE: nine of ten samples are in the method.
hot() {
	all=$(samples . <"$1") got=$(samples 'Turns[.]turn' <"$1")
	[ "$all" -ge 3 ] && [ $((got * 10)) -ge $((all * 8)) ] ||
		fail "$got of $all samples are in the method: $(head -c 3000 "$1" "$work/err")"
}

begin java "${turns[@]}"
for _ in 1 2; do
	"$agent" profile "$pid" --attach -t 2s collapsed >"$work/stacks" 2>"$work/err" || fail "profile: $(cat "$work/err")"
	hot "$work/stacks"
done
"$agent" attach "$pid" --for 1s --wall top >"$work/top" 2>"$work/err" || fail "attach --for: $(cat "$work/err")"
grep -q 'Turns.turn' "$work/top" || fail "no method: $(cat "$work/top")"

# Only one profiler at a time; the command can be interrupted.
"$agent" profile "$pid" --attach -t 100s >/dev/null 2>&1 &
first=$!
for _ in {1..500}; do
	ls -d /tmp/asprof-agent-*/recording.jfr >/dev/null 2>&1 && break
	sleep 0.02
done
! "$agent" profile "$pid" --attach -t 1s >/dev/null 2>"$work/err" || fail "two profilers"
[ "$(wc -l <"$work/err")" = 1 ] && grep -qi 'already started' "$work/err" || fail "two profilers: $(cat "$work/err")"
kill $first
wait $first
for _ in {1..500}; do
	"$agent" profile "$pid" --attach -t 1s collapsed >"$work/stacks" 2>"$work/err" && break
	sleep 0.02
done
grep -q 'Turns.turn' "$work/stacks" || fail "after an interruption: $(cat "$work/err")"

# The agent itself can still be put into it, with a line on what it lacks.
"$agent" attach "$pid" 2>"$work/err" && "$agent" detach "$pid" || fail "attach: $(cat "$work/err")"
grep -q "process $pid is a JVM: its Java methods are one frame, \[Java\]" "$work/err" || fail "no hint: $(cat "$work/err")"
end_whole
[ -z "$(left)" ] || fail "left: $(left)"

command -v setpriv >/dev/null && {
	begin setpriv --reuid 65534 --regid 65534 --clear-groups java "${turns[@]}"
	"$agent" profile "$pid" --attach -t 2s collapsed >"$work/stacks" 2>"$work/err" || fail "another user: $(cat "$work/err")"
	hot "$work/stacks"
	end_whole
}

# A JVM that tools may not attach to gets the agent, and prints no list of its threads.
begin java -XX:+DisableAttachMechanism "${turns[@]}"
"$agent" profile "$pid" --attach -t 1s collapsed >"$work/stacks" 2>"$work/err" || fail "disabled: $(cat "$work/err")"
grep -q '\[Java\]' "$work/stacks" || fail "disabled: $(head -c 2000 "$work/stacks")"
end_whole
