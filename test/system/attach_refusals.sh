#!/bin/bash
# Processes that cannot be attached to get one line, and continue; `doctor PID` agrees. With --force, a seccomp filter is no
# reason to refuse. (attach.sh: other users, other tracers, and processes that are stopped or gone.)
. "$(dirname "$0")/agent.inc"
. test/system/input.inc
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"
[ "$(id -u)" = 0 ] || skip "without root, only child processes may be traceable"
refuses=$(program refuses) || exit 1

# refused TEXT [OPTION]: attaching prints one line with TEXT.
refused() {
	! "$agent" attach "$pid" "${@:2}" >"$work/err" 2>&1 || fail "$1: attached"
	grep -q "$1" "$work/err" && [ "$(wc -l <"$work/err")" = 1 ] || fail "$1: $(cat "$work/err")"
}

# doctored TEXT: `doctor PID` says so.
doctored() {
	"$agent" doctor "$pid" >"$work/doctor" 2>&1
	grep -q "$1" "$work/doctor" || fail "doctor: $1: $(cat "$work/doctor")"
}

begin "$refuses" vfork
refused 'waits for a disk, or for a child of vfork'
doctored 'cannot be attached to: it waits for a disk'
end

begin "$refuses" strict
refused 'permits itself four system calls'
refused 'permits itself four system calls' --force
doctored 'cannot be attached to: it permits itself four system calls'
end

for mode in kill error allow; do
	begin "$refuses" $mode
	refused 'has a seccomp filter'
	doctored 'cannot be attached to: it has a seccomp filter'
	[ $mode != error ] || refused 'Operation not permitted' --force
	[ $mode != allow ] || {
		"$agent" attach "$pid" --force 2>"$work/err" || fail "forced: $(cat "$work/err")"
		"$agent" detach "$pid" 2>"$work/err" || fail "detach: $(cat "$work/err")"
	}
	end
done

# One thread alone has it.
begin "$refuses" worker
refused 'has a thread that has a seccomp filter'
doctored 'cannot be attached to: it has a thread that has a seccomp filter'
end
begin "$refuses" strictly
refused 'has a thread that permits itself four system calls'
refused 'has a thread that permits itself four system calls' --force
end

# Calls that are not made, and answered with SIGSYS: the program's handler does not see the answer.
for mode in trap clone; do
	begin "$refuses" $mode
	refused 'has a seccomp filter'
	refused 'Operation not permitted' --force
	end
done
if [ "$(printf '6.4\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.4 ]; then
	for mode in dispatch dispatches; do
		begin "$refuses" $mode
		refused 'uses Syscall User Dispatch'
		refused 'uses Syscall User Dispatch' --force
		end
	done
else
	echo "this kernel does not say which threads have Syscall User Dispatch"
fi

# One thread adds one later.
begin "$refuses" adds
"$agent" attach "$pid" 2>"$work/err" || fail "adds: $(cat "$work/err")"
echo >&7
for _ in {1..1500}; do
	grep -q 'filters its system calls' "$work/out" && break
	sleep 0.02
done
grep -q 'filters its system calls' "$work/out" || fail "adds: not noticed: $(cat "$work/out")"
end

# A filter that ends it at the agent's first call: --force risks that.
begin "$refuses" kill
refused 'Operation not permitted' --force
exec 7>&-
wait "$pid"
[ $? = 159 ] || fail "its filter did not end it: $(cat "$work/out")"

# Whether this finds it between two programs or in one is a matter of time. (An agent ends with its program.)
begin "$refuses" execs
for _ in {1..3}; do
	"$agent" attach "$pid" 2>"$work/err" && continue
	[ "$(wc -l <"$work/err")" = 1 ] || fail "execs: $(cat "$work/err")"
done
end

# It executes another program when the agent, which never answers, is in it. The command does not wait for longer.
begin "$refuses" leaves
refused 'has ended, or executed another program; it is not profiled' "LISTEN=unix:$work/none/socket"
end

# It could not be ended, so it is not begun.
begin "$refuses" exits
! "$agent" attach "$pid" LISTEN=off 2>"$work/err" || fail 'LISTEN=off: attached'
grep -q 'with LISTEN=off no command could reach the agent' "$work/err" || fail "LISTEN=off: $(cat "$work/err")"
! grep -q asprof "/proc/$pid/maps" || fail 'LISTEN=off: the agent is in the process'
! "$agent" attach "$pid" LISTEN=127.0.0.1:7091 2>"$work/err" || fail 'LISTEN without a token: attached'
grep -q 'LISTEN=127.0.0.1:7091 needs LISTEN_TOKEN=' "$work/err" || fail "LISTEN without a token: $(cat "$work/err")"
! grep -q asprof "/proc/$pid/maps" || fail 'LISTEN without a token: the agent is in the process'
end

# A paused container: its threads stop for a tracer, but make no call. It continues later as if nothing had happened.
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/asprof-agent-test-$$
if mkdir "$group" 2>/dev/null && [ -e "$group/cgroup.freeze" ]; then
	begin sh -c 'echo ready; while read -r line; do :; done; echo ok'
	echo "$pid" >"$group/cgroup.procs" && echo 1 >"$group/cgroup.freeze" &&
		until_true grep -q 'frozen 1' "$group/cgroup.events"
	refused 'its control group is frozen'
	echo 0 >"$group/cgroup.freeze"
	"$agent" attach "$pid" 2>"$work/err" || fail "no longer frozen: $(cat "$work/err")"
	"$agent" detach "$pid" 2>"$work/err" || fail "no longer frozen: $(cat "$work/err")"
	end
	rmdir "$group"
else
	rmdir "$group" 2>/dev/null
	echo "no control group can be made here"
fi

# A limit, which the kernel answers with EAGAIN: another attempt would be of no use.
if command -v setpriv >/dev/null; then
	begin setpriv --reuid 65534 --regid 65534 --clear-groups \
		bash -c 'ulimit -u 1; echo ready; while read -r line; do :; done; echo ok'
	refused 'a limit of the process forbids memory or a thread'
	end
fi

# An agent that ends at once, as it can open no file. The command does not wait for it.
begin sh -c 'ulimit -n 3; echo ready; while read -r line; do :; done; echo ok'
! timeout 40 "$agent" attach "$pid" 2>"$work/err" && grep -q 'does not answer' "$work/err" ||
	fail "no descriptors: $(cat "$work/err")"
end

if grep -q '^Kthread:.1' /proc/2/status 2>/dev/null; then
	pid=2
	refused 'is a thread of the kernel'
fi

# It has no memory and no file any more, but its PID.
begin "$refuses" exits
program=$pid
pid=$(head -n 1 "$work/out")
refused 'has ended$'
kill -0 "$pid" || fail "it has ended"
pid=$program
end

# await_zombie: until the first thread of $pid has ended.
await_zombie() {
	for _ in {1..500}; do
		grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null && return
		sleep 0.02
	done
	fail "process $pid does not end"
}

begin "$refuses" zombie
await_zombie
refused 'has ended its first thread'
end

rm "$work/out"
# (Not at once: the shell would take its status.)
sh -c 'sleep 2 & echo $!; exec sleep 100' >"$work/out" &
parent=$!
until [ -s "$work/out" ]; do
	sleep 0.02
done
pid=$(cat "$work/out")
await_zombie
refused 'has ended$'
kill $parent
wait $parent

# pause(2), repeatedly.
printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0\124\200\4\10\64\0\0\0\0\0\0\0\0\0\0\0\64\0\40\0\1\0\50\0\0\0\0\0' >"$work/narrow"
printf '\1\0\0\0\0\0\0\0\0\200\4\10\0\200\4\10\135\0\0\0\135\0\0\0\5\0\0\0\0\20\0\0' >>"$work/narrow"
printf '\270\35\0\0\0\315\200\353\367' >>"$work/narrow"
chmod +x "$work/narrow"
"$work/narrow" &
pid=$!
sleep 0.2
if grep -q narrow "/proc/$pid/maps" 2>/dev/null; then
	refused 'is a 32-bit program'
	doctored 'cannot be attached to: it is a 32-bit program'
	kill $pid || fail "the 32-bit program has ended"
	wait $pid
	[ $? = 143 ] || fail "the 32-bit program has ended"
else
	echo "this kernel runs no 32-bit programs"
fi
