#!/bin/bash
# attach and detach: the agent is put into running programs, static and dynamic, and removed without a trace. The programs
# check their calls and results meanwhile. Whatever cannot be attached to gets one line, and continues.
. "$(dirname "$0")/agent.inc"
. test/system/input.inc
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"

# What a program has: mappings, threads, descriptors, timers, handlers.
traces() {
	cut -d' ' -f1,2,6- "/proc/$1/maps" | grep -v 'heap\|stack'
	ls "/proc/$1/task" "/proc/$1/fd"
	grep -E '^Sig(Cgt|Ign)' "/proc/$1/status"
	cat "/proc/$1/timers"
}

attached() { "$agent" attach "$pid" "$@" >"$work/err" 2>&1; }
detached() { "$agent" detach "$pid" >"$work/err" 2>&1; }

for flag in "" -static; do
	program=$(program attached $flag) || exit 1
	begin "$program"
	attached --cpu 5ms --wall 20ms || {
		grep -q 'yama\|ptrace_scope\|CAP_SYS_PTRACE' "$work/err" && skip "$(cat "$work/err")"
		fail "attach: $(cat "$work/err")"
	}
	grep -q "^TracerPid:[[:space:]]0" "/proc/$pid/status" || fail "it is still traced"
	! attached || fail "it was attached to twice"
	grep -q 'is profiled already' "$work/err" || fail "twice: $(cat "$work/err")"
	"$agent" profile "$pid" -t 2s -o "$work/stacks.collapsed" || fail "no profile"
	"$agent" status "$pid" | grep -q '^engine *builtin' || fail "no status"
	all=$(samples . <"$work/stacks.collapsed")
	hot=$(samples '(^|;)hot(;|$)' <"$work/stacks.collapsed")
	[ "$all" -ge 3 ] && [ $((hot * 10)) -ge $((all * 8)) ] ||
		fail "$flag: $hot of $all samples are in hot: $(head -c 2000 "$work/stacks.collapsed")"
	detached || fail "detach: $(cat "$work/err")"
	traces "$pid" >"$work/before"
	for i in {1..10}; do
		attached --cpu 1ms --wall 5ms || fail "attach $i: $(cat "$work/err")"
		detached || fail "detach $i: $(cat "$work/err")"
	done
	traces "$pid" >"$work/after"
	cmp -s "$work/before" "$work/after" || fail "traces: $(diff "$work/before" "$work/after")"
	end 0
done

# From start to end by one command. The process ID may be at any place. The report of the agent's end is delivered too.
program=$(program attached)
begin "$program" 50
"$agent" profile --attach -t 1s "$pid" --wall top >"$work/top" 2>"$work/err" || fail "profile --attach: $(cat "$work/err")"
grep -q nanosleep "$work/top" || fail "profile --attach: $(cat "$work/top")"
"$agent" attach -o "$work/for.html" --for 1s "$pid" 2>"$work/err" || fail "attach --for: $(cat "$work/err")"
grep -q '<html' "$work/for.html" || fail "no page"
env --ignore-signal=CHLD "$agent" attach "$pid" --for 1s >/dev/full 2>"$work/err" && fail "a full disk: $(cat "$work/err")"
grep -q 'No space left' "$work/err" || fail "a full disk: $(cat "$work/err")"
# The agent is removed before the result is read, which may take long in a pager.
if command -v script >/dev/null; then
	cat >"$work/pager" <<-END
		#!/bin/sh
		cat >"$work/paged"
		grep -lx asprof-agent /proc/$pid/task/*/comm >"$work/threads"
		echo left >>"$work/paged"
	END
	chmod +x "$work/pager"
	TERM=xterm PAGER=$work/pager timeout 60 script -qec "$agent attach $pid --for 1s" /dev/null >"$work/screen" 2>&1 </dev/null
	grep -q hot "$work/paged" && grep -qx left "$work/paged" || fail "the pager: $(cat "$work/paged" "$work/screen")"
	[ ! -s "$work/threads" ] || fail 'the agent stays while a pager shows the result'
fi
# A signal for the command alone, as of a service manager: it removes the agent before it ends.
"$agent" profile "$pid" --attach -t 30s >"$work/top" 2>&1 &
until_true sh -c "grep -qx asprof-live /proc/$pid/task/*/comm" || fail 'profile --attach: no agent'
sleep 0.2
kill -TERM $!
wait $!
[ $? = 143 ] || fail "profile --attach: a signal: $(cat "$work/top")"
grep -lx asprof-agent "/proc/$pid"/task/*/comm && fail 'profile --attach: the agent stays after a signal'
"$agent" attach --cpu 10ms LOCAL_DIR="$work" REPORTING_INTERVAL=1h "$pid" 2>"$work/err" &&
	"$agent" set CPU_INTERVAL=9ms "$pid" && "$agent" profile --cpu 5ms -t 1s top -n 5 "$pid" >"$work/top" &&
	"$agent" threads top -n 1 "$pid" >"$work/threads" && detached || fail "the process ID last: $(cat "$work/err")"
grep -q hot "$work/top" || fail "the process ID last: $(cat "$work/top")"
ls "$work"/attached_"$pid"_*.jfr >/dev/null || fail "no last report: $(ls "$work")"
! attached CPU_INTERVAL=often || fail "a wrong setting was accepted"
! attached --nonsense || fail "a wrong option was accepted"

end 0

# What cannot be attached to. (A stop ends epoll_wait(2) of any program, and so does a tracer.)
begin sh -c 'echo ready; while read -r line; do :; done; echo ok'
kill -STOP "$pid"
until_true grep -q '^State:.*T' "/proc/$pid/status"
! attached && grep -q 'is stopped by a signal' "$work/err" || fail "stopped: $(cat "$work/err")"
kill -CONT "$pid"
if command -v strace >/dev/null; then
	strace -o "$work/trace" -p "$pid" 2>/dev/null &
	tracer=$!
	until_true grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$pid/status"
	! attached && grep -q 'is traced by process' "$work/err" || fail "traced: $(cat "$work/err")"
	kill -INT $tracer
	wait $tracer
fi
end 0
# Stopped at any moment of an attach, which ends at once; then the program continues as if nothing had happened.
for i in {1..12}; do
	begin sh -c 'echo ready; i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done; read -r line; echo ok'
	attached &
	attach=$!
	sleep "0.0$(printf %02d $((i * 3)))"
	kill -STOP "$pid"
	wait $attach
	grep -q 'is stopped by a signal\|is profiled now' "$work/err" || fail "stopped meanwhile: $(cat "$work/err")"
	kill -CONT "$pid"
	end 0
done
! "$agent" attach "$pid" 2>"$work/err" && grep -q 'does not exist' "$work/err" || fail "ended: $(cat "$work/err")"
! "$agent" detach $$ 2>"$work/err" && grep -q 'is not profiled' "$work/err" || fail "detach: $(cat "$work/err")"
LD_PRELOAD=$preload ASPROF_AGENT_START_DELAY=0s ASPROF_AGENT_LOCAL_DIR=$work begin "$program"
until_true "$agent" status "$pid"
! detached && grep -q 'was started with the agent' "$work/err" || fail "preloaded: $(cat "$work/err")"
end 0
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	begin "$program"
	for_everybody
	cp "$B/asprof-agent" "$B/libasprof_attach.so" "$work/"
	! setpriv --reuid 65534 --regid 65534 --clear-groups "$work/asprof-agent" attach "$pid" 2>"$work/err" &&
		grep -q 'belongs to user root' "$work/err" || fail "another user's: $(cat "$work/err")"
	end 0
fi

# A program whose headers cannot be read.
begin "$(program no_headers -static)"
attached || fail "no headers: $(cat "$work/err")"
detached || fail "no headers: $(cat "$work/err")"
end 0

# The agent's address space counts for the program's limit, also for one that it sets later.
for limit in 'ulimit -v 900000' :; do
	begin sh -c "$limit; echo ready; while read -r line; do :; done; echo ok"
	attached || fail "a limit of address space: $limit: $(cat "$work/err")"
	size=$(awk '/^VmSize/ { print int($2 / 1024) }' "/proc/$pid/status")
	[ "$size" -lt 150 ] || fail "a limit of address space: $limit: $size MiB"
	detached || fail "a limit of address space: $limit: $(cat "$work/err")"
	size=$(awk '/^VmSize/ { print int($2 / 1024) }' "/proc/$pid/status")
	[ "$size" -lt 20 ] || fail "a limit of address space: $limit: $size MiB after detach"
	end 0
done

# A handler of the program that has interrupted a continued wait is not left without its memory.
begin "$(program deep_handler)" $((2 << 20))
attached --wall 20ms || fail "attach: $(cat "$work/err")"
sleep 0.3
kill -USR1 "$pid"
detached || fail "detach during a handler: $(cat "$work/err")"
end 0
# The agent's threads have another root and working directory than the program's threads.
program=$(program enters_mounts)
mkdir "$work/static"
static=$(work=$work/static program enters_mounts -static)
if "$program" bare >"$work/err" 2>&1; then
	begin "$program"
	attached || fail "mounts: $(cat "$work/err")"
	end 0
	"$agent" run -o "$work/run" -- "$static" </dev/null >"$work/out" 2>"$work/err" || fail "run, mounts: $(cat "$work/err")"
else
	echo "setns(2) is not permitted here: $(cat "$work/err")"
fi

# They follow it into another root directory, before they lose the right to.
roots() { readlink /proc/"$pid"/task/*/root | sort -u; }
if [ "$(id -u)" = 0 ]; then
	mkdir "$work/root"
	program=$(program changes_root)
	begin "$program" "$work/root"
	attached || fail "root: $(cat "$work/err")"
	echo >&7
	for _ in {1..1500}; do
		[ "$(roots)" != "$work/root" ] || break
		sleep 0.02
	done
	[ "$(roots)" = "$work/root" ] || fail "root: $(roots) $(cat "$work/out")"
	end 0
fi

# By several commands at the same time: one is let in.
for i in {1..4}; do
	begin sh -c 'echo ready; while read -r line; do :; done; echo ok'
	traces "$pid" >"$work/before"
	commands=
	for k in {1..4}; do
		"$agent" attach "$pid" 2>"$work/err.$k" &
		commands+=" $!"
	done
	let_in=0
	for k in $commands; do
		! wait "$k" || let_in=$((let_in + 1))
	done
	[ $let_in = 1 ] && [ "$(grep -l 'is profiled already; asprof-agent profile' "$work"/err.? | wc -l)" = 3 ] ||
		fail "at the same time: $let_in were let in: $(cat "$work"/err.?)"
	detached || fail "detach: $(cat "$work/err")"
	traces "$pid" >"$work/after"
	cmp -s "$work/before" "$work/after" || fail "at the same time: traces: $(diff "$work/before" "$work/after")"
	end 0
done

# No thread of the agent makes a descriptor in the program's table, where others rely on the lowest free number.
program=$(program opens)
if "$program" bare; then
	for setting in LOG_FILE="$work/log" CPU_INTERVAL=5ms; do
		begin "$program"
		attached --force "$setting" || fail "descriptors: $(cat "$work/err")"
		detached || fail "descriptors: $(cat "$work/err")"
		end 0
	done
else
	echo "the kernel does not ask about system calls, or has no kcmp(2)"
fi

# Frames of an interpreter.
if command -v python3 >/dev/null; then
	cat >"$work/hot.py" <<-'END'
		import sys, threading
		ended = False
		def hot():
		    return sum(i * i for i in range(2000))
		def work():
		    while not ended:
		        hot()
		thread = threading.Thread(target=work)
		thread.start()
		print("ready", flush=True)
		sys.stdin.read()
		ended = True
		thread.join()
		print("ok", flush=True)
	END
	begin python3 "$work/hot.py"
	"$agent" attach "$pid" --for 2s collapsed >"$work/stacks" 2>"$work/err" || fail "Python: $(cat "$work/err")"
	[ "$(samples 'Thread.run;work;hot' <"$work/stacks")" -ge 3 ] || fail "Python: $(head -c 3000 "$work/stacks")"
	end 0
fi
