#!/bin/bash
# Static programs under `run` and asprof-agent-launch: the agent is put into them when they are executed. Their output and
# status are as without it, they are profiled, and no call that waits ends because of a sample.
# Takes long.
. "$(dirname "$0")/agent.inc"
[ -e "$B/libasprof_attach.so" ] || skip "static programs are profiled on x86-64 alone"
program static -static >"$work/err" 2>&1 || skip "no static C library: $(head -n 1 "$work/err")"

# same NAME COMMAND...: its output and status are the same under `run`, which leaves its stacks in $work/NAME.stacks.
same() {
	name=$1
	shift
	bare=$("$@" 2>&1 && echo 0 || echo $?)
	out=$("$agent" run -o "$work/$name.out" --cpu 1ms --wall 10ms -- "$@" 2>"$work/err" && echo 0 || echo $?)
	[ "$out" = "$bare" ] || fail "$name: bare: $bare; profiled: $out; $(cat "$work/err")"
	"$agent" collapsed --cpu --frames all "$work/$name.out" >"$work/$name.stacks" ||
		fail "$name: no profile: $(cat "$work/err")"
}

# hot NAME PATTERN: nine of ten samples are in that function.
hot() {
	all=$(samples . <"$work/$1.stacks")
	got=$(samples "$2" <"$work/$1.stacks")
	[ "$all" -ge 20 ] && [ $((got * 10)) -ge $((all * 9)) ] ||
		fail "$1: $got of $all samples are in $2: $(head -c 4000 "$work/$1.stacks")"
}

same static "$work/static" 600
hot static '(^|;)hot$'
program static -static-pie >/dev/null 2>&1 && {
	same pie "$work/static" 600
	hot pie '(^|;)hot$'
}
! command -v musl-gcc >/dev/null || {
	CC=musl-gcc program static -static >/dev/null
	same musl "$work/static" 600
	hot musl '(^|;)hot$'
}
program static -static >/dev/null

! { file -L "$(command -v busybox)" | grep -q static; } 2>/dev/null || {
	# shellcheck disable=SC2016 # for that shell
	same busybox busybox sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo $i | busybox sed s/0/x/; sleep 0.1; exit 5'
}

if command -v go >/dev/null && CGO_ENABLED=0 GO111MODULE=off go build -o "$work/go" test/programs/static.go 2>"$work/err"; then
	same go "$work/go"
	[ "$(samples 'main[.]main;main[.]hot$' <"$work/go.stacks")" -ge 20 ] ||
		fail "go: no samples of hot: $(head -c 4000 "$work/go.stacks")"
	# Without a build ID no note shows that it is of Go.
	CGO_ENABLED=0 GO111MODULE=off go build -ldflags='-s -w -buildid=' -o "$work/gobare" test/programs/static.go 2>"$work/err" ||
		fail "go build: $(cat "$work/err")"
	same gobare "$work/gobare"
	[ "$(samples 'main[.]main;main[.]hot$' <"$work/gobare.stacks")" -ge 20 ] ||
		fail "gobare: no samples of hot: $(head -c 4000 "$work/gobare.stacks")"
	# It names a dynamic linker, but no library. In such a program the preload, which has its C library, stays off.
	CGO_ENABLED=0 GO111MODULE=off go build -buildmode=pie -o "$work/gopie" test/programs/static.go 2>"$work/err" ||
		fail "go build: $(cat "$work/err")"
	same gopie "$work/gopie"
	[ "$(samples 'main[.]main;main[.]hot$' <"$work/gopie.stacks")" -ge 20 ] ||
		fail "gopie: no samples of hot: $(head -c 4000 "$work/gopie.stacks")"
	bare=$("$work/gopie" 2>&1 && echo 0 || echo $?)
	out=$(profiled "$work/none" builtin START_DELAY=0s "$work/gopie" 2>"$work/err" && echo 0 || echo $?)
	[ "$out" = "$bare" ] || fail "gopie with the preload: bare: $bare; preloaded: $out; $(cat "$work/err")"
	grep -q 'gopie is statically linked, .* profiling is off in this process' "$work/err" ||
		fail "gopie with the preload: $(cat "$work/err")"
else
	echo "Go was left out: $(head -n 1 "$work/err")"
fi

# Calls that wait. In one attempt of a few another handler may meet a sample: docs/install/static.md.
# An alternate signal stack of 8 KiB is what Rust gives to each thread.
for name in waits interrupts; do
	program $name -static >/dev/null 2>&1 || fail "$name cannot be linked statically"
done
for arguments in "waits 200" "interrupts 200" "interrupts 200 8192"; do
	read -r -a command <<<"$arguments"
	good=0 bad=0
	while [ $good -lt 2 ]; do
		out=$("$agent" run -o "$work/waited.out" --wall 50ms -- "$work/${command[0]}" "${command[@]:1}" 2>"$work/err")
		[ "$out" = ok ] && good=$((good + 1)) || bad=$((bad + 1))
		[ $bad -le 2 ] || fail "$arguments: $out; $(cat "$work/err")"
	done
done

# A program that takes all signals, as an init process does, gets none of the agent's. Threads that blocked them are
# sampled afterwards.
program takes_signals -static >/dev/null 2>&1 || fail "takes_signals cannot be linked statically"
for how in sigtimedwait signalfd; do
	same takes_signals "$work/takes_signals" $how
done
[ "$(samples ';hot_later(;|$)' <"$work/takes_signals.stacks")" -ge 20 ] ||
	fail "takes_signals: no samples: $(head -c 4000 "$work/takes_signals.stacks")"

# Without a signal that it can use, the agent says so once.
out=$("$agent" run -o "$work/busy" -- "$work/takes_signals" handlers 2>"$work/err")
[ "$out" = ok ] && [ "$(grep -c 'uses the sampling signal itself' "$work/err")" = 1 ] || fail "handlers: $out; $(cat "$work/err")"

# A program that gains privileges from its file runs without an agent.
if [ "$(id -u)" = 0 ] && chown nobody "$work/static" && chmod 4755 "$work/static"; then
	chmod 711 "$work"
	bare=$("$work/static" 10)
	out=$("$agent" run -o "$work/other.out" -- "$work/static" 10 2>"$work/err")
	[ "$out" = "$bare" ] || fail "set-user-ID: bare: $bare; under run: $out"
	grep -q 'gains privileges' "$work/err" || fail "set-user-ID: no reason: $(cat "$work/err")"
	chown root "$work/static" && chmod 755 "$work/static"
fi

# The launcher. The program has the launcher's pid.
bare=$("$work/static" 10 && echo 0 || echo $?)
out=$(ASPROF_AGENT_LOCAL_DIR=$work/launched ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_START_DELAY=0 \
	ASPROF_AGENT_CPU_INTERVAL=1ms "$B/asprof-agent-launch" "$work/static" 2500 2>"$work/err" && echo 0 || echo $?)
[ "$out" = "$bare" ] && [ ! -s "$work/err" ] || fail "launch: bare: $bare; launched: $out; $(cat "$work/err")"
"$agent" collapsed --cpu "$work/launched" 2>/dev/null | grep -q 'compute;hot ' || fail "launch: no profile of hot"

# It can be stopped and continued at any time, also while it is traced.
for _ in {1..20}; do
	ASPROF_AGENT_LOCAL_DIR=$work/stopped "$B/asprof-agent-launch" "$work/static" 1 >/dev/null 2>"$work/err" &
	kill -STOP $! && kill -CONT $!
	wait $!
	status=$?
	[ $status = 7 ] && [ ! -s "$work/err" ] || fail "stopped and continued: status $status: $(cat "$work/err")"
done
