#!/bin/bash
# `asprof-agent run` leaves a profile however the program ends: Node with Ctrl-C, cgo with os.Exit, SIGKILL. Its private
# spool is removed afterwards, unless a process still uses it; then the next `run` recovers it.
. "$(dirname "$0")/agent.inc"
export ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_ENGINE=builtin TMPDIR=$work
out=$work/out

# begun NAME [PID]: wait until the recording of NAME has samples in a finished chunk; sets pid.
begun() {
	for _ in $(seq 1000); do
		for file in "$out"/.asprof-agent-run.*/."$1_${2:-}"*.running.chunks; do
			pid=${file##*".$1_"} pid=${pid%%_*}
			"$agent" top --cpu "$file" 2>/dev/null | grep -q burn && return 0
		done
		sleep 0.02
	done
	fail "no chunk: $(ls -AR "$out") $(cat "$work/err")"
}

# profile NAME FUNCTION: there is one profile of NAME, FUNCTION is in it, and the spool is gone.
profile() {
	[ "$(find "$out" -name "$1_*.jfr" | wc -l)" -eq 1 ] || fail "$1: profiles: $(ls -A "$out") $(cat "$work/err")"
	grep -q " $2 " "$work/err" || fail "$1: the heaviest functions lack $2: $(cat "$work/err")"
	[ -z "$(find "$out" -name '.asprof*')" ] || fail "$1: left: $(ls -AR "$out")"
	rm -rf "$out"
}

# gone PID: wait until all threads of the process have ended.
gone() {
	for _ in $(seq 1000); do
		grep -q '^State:.[^Z]' "/proc/$1/task"/*/status 2>/dev/null || return 0
		sleep 0.02
	done
	fail "process $1 does not end"
}

cat >"$work/burns.c" <<'END'
#include <stdio.h>
#include <unistd.h>
volatile double sum;
__attribute__((noinline)) void burn(void) { for (int i = 1; i < 1000000; i++) sum += 1.0 / i; }
int main(int n, char **v)
{
	if (n > 1 && fork())
		return pause();
	if (n > 1)
		dprintf(1, "%d %d\n", getppid(), getpid());
	for (;;)
		burn();
	return v[0] == 0;
}
END
${CC:-cc} -g -O1 -o "$work/burns" "$work/burns.c" || exit 1

# killed SIGNAL NAME COMMAND...: run COMMAND, send SIGNAL to it when it has samples. The status is that of `run`.
killed() {
	signal=$1 name=$2
	shift 2
	"$agent" run --cpu 1ms -o "$out" -- "$@" 2>"$work/err" &
	run=$!
	begun "$name"
	kill "-$signal" "$pid"
	wait $run
}

killed KILL burns "$work/burns" 2>/dev/null
status=$?
[ $status -eq 137 ] || fail "SIGKILL: status $status"
grep -q '1 profile in .*; 1 recovered' "$work/err" || fail "SIGKILL: $(cat "$work/err")"
profile burns burn

# `run` itself is killed: the next one recovers what the program leaves.
"$agent" run --cpu 1ms -o "$out" -- "$work/burns" 2>"$work/err" &
run=$!
begun burns
kill -KILL $run "$pid"
wait $run 2>/dev/null
gone "$pid"
"$agent" top "$out" >"$work/text" 2>&1
grep -q "no recording in this directory yet; .*asprof-agent recover -o $out $out" "$work/text" ||
	fail "top after SIGKILL of run: $(cat "$work/text")"
"$agent" run -o "$out" -- "$agent" --version >"$work/text" 2>"$work/err"
grep -q "^asprof-agent: run: recovered 1 profile of earlier programs in $out\$" "$work/err" ||
	fail "the next run: $(cat "$work/err")"
[ "$(find "$out" -name 'burns_*.jfr' | wc -l)" -eq 1 ] || fail "the next run: $(ls -A "$out")"
[ -z "$(find "$out" -name '.asprof*')" ] || fail "the next run leaves: $(ls -AR "$out")"
rm -rf "$out"

# A child continues after the program: its recording stays, and `recover` finds it in the directory of profiles.
"$agent" run --cpu 1ms -o "$out" -- "$work/burns" fork >"$work/pids" 2>"$work/err" &
run=$!
for _ in $(seq 1000); do
	! read -r parent child 2>/dev/null <"$work/pids" || break
	sleep 0.02
done
begun burns "$child"
kill -KILL "$parent"
wait $run 2>/dev/null
grep -q 'run: 1 process of the command still runs; if killed, the next' "$work/err" || fail "a child: $(cat "$work/err")"
kill -KILL "$child"
gone "$child"
"$agent" recover -o "$out" "$out" >"$work/text" || fail "recover: $(cat "$work/text")"
[ "$(find "$out" -name "burns_${child}_*.jfr" | wc -l)" -eq 1 ] || fail "the child's: $(ls -AR "$out") $(cat "$work/text")"
rm -rf "$out"

# A daemon that has not started its recording: `run` recognizes it by its environment. It reports later.
cat >"$work/daemon.c" <<'END'
#include <stdio.h>
#include <unistd.h>
int main(int n, char **v)
{
	char byte;
	FILE *file;

	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
	file = fopen(v[1], "w");
	fprintf(file, "%d\n", getpid());
	fclose(file);
	file = fopen(v[2], "r"); /* a FIFO: wait for the test */
	return n < 0 || fread(&byte, 1, 1, file) > 1;
}
END
${CC:-cc} -o "$work/daemon" "$work/daemon.c" || exit 1
mkfifo "$work/go"
ASPROF_AGENT_START_DELAY=1h "$agent" run -o "$out" -- "$work/daemon" "$work/pid" "$work/go" 2>"$work/err" ||
	fail "a daemon: status $?"
echo >"$work/go"
[ "$(grep -c '^asprof-agent: run: ' "$work/err")" -eq 1 ] &&
	grep -q 'run: 1 process of the command still runs; if killed' "$work/err" || fail "a daemon: $(cat "$work/err")"
gone "$(cat "$work/pid")"
"$agent" run -o "$out" -- true 2>"$work/err"
[ -z "$(find "$out" -name '.asprof*')" ] || fail "a daemon leaves: $(ls -AR "$out")"
rm -rf "$out"

# `run` keeps the user's own spool, but not the private spool of an outer `run`.
spool=$(ASPROF_AGENT_SPOOL_DIR=$work/own "$agent" run -o "$out" -- printenv ASPROF_AGENT_SPOOL_DIR 2>"$work/err")
[ "$spool" = "$work/own" ] || fail "its own spool: $spool"
spool=$("$agent" run -o "$out" -- "$agent" run -o "$work/inner" -- printenv ASPROF_AGENT_SPOOL_DIR 2>"$work/err")
case $spool in "$work/inner/.asprof-agent-run."*) ;; *) fail "in another run: $spool" ;; esac
mode=$("$agent" run -o "$out" -- sh -c 'stat -c %a "$ASPROF_AGENT_SPOOL_DIR"' 2>"$work/err")
[ "$mode" = 700 ] || fail "mode of the spool: $mode"
rm -rf "$out"

# A report that only a bucket lacks waits, and is not made a profile twice.
AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret ASPROF_AGENT_S3_BUCKET=bucket ASPROF_AGENT_S3_REGION=eu-west-1 \
	ASPROF_AGENT_S3_ENDPOINT=http://127.0.0.1:1 ASPROF_AGENT_METADATA=none ASPROF_AGENT_LOG=off \
	"$agent" run -o "$out" -- sh -c 'sleep 0.1; exit 3' 2>"$work/err"
status=$?
[ $status -eq 3 ] || fail "a bucket: status $status"
grep -q 'run: [1-9] reports* could not be delivered; .asprof-agent recover -o DIR ' "$work/err" ||
	fail "a bucket: $(cat "$work/err")"
[ "$(find "$out" -name 'sh_*.jfr' ! -name '*.spool.jfr' | wc -l)" -eq 1 ] || fail "a bucket: $(ls -AR "$out")"
[ "$(find "$out" -name 'sh_*.spool.jfr' | wc -l)" -eq 1 ] || fail "a bucket: $(ls -AR "$out")"
rm -rf "$out"

if command -v node >/dev/null; then
	echo 'function burn() { let x = 0; for (let i = 0; i < 1e6; i++) x += Math.sqrt(i); return x }
	      setInterval(burn, 1)' >"$work/burns.js"
	killed INT node "$(command -v node)" "$work/burns.js" 2>/dev/null
	status=$?
	[ $status -eq 130 ] || fail "Node: status $status: $(cat "$work/err")"
	profile node burn
fi

if command -v go >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	cat >"$work/burns.go" <<-'END'
		package main

		// #include <stdlib.h>
		import "C"
		import "os"

		var sum float64

		//go:noinline
		func burn() {
			for i := 1; i < 1000000; i++ {
				sum += 1 / float64(i)
			}
		}

		func main() {
			C.free(nil)
			for {
				burn()
				if _, err := os.Stat(os.Args[1]); err == nil {
					os.Exit(7)
				}
			}
		}
	END
	GO111MODULE=off CGO_ENABLED=1 go build -o "$work/goes" "$work/burns.go" 2>"$work/err" || {
		echo "Go is not tried: $(head -n 2 "$work/err")"
		exit 0
	}
	"$agent" run --cpu 1ms -o "$out" -- "$work/goes" "$work/stop" 2>"$work/err" &
	run=$!
	begun goes
	touch "$work/stop"
	wait $run
	status=$?
	[ $status -eq 7 ] || fail "Go: status $status: $(cat "$work/err")"
	profile goes main.burn
fi
