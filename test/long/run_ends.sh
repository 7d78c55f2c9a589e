#!/bin/bash
# `asprof-agent run` leaves a profile in every round, with default settings, when a program ends after three seconds:
# Node by Ctrl-C in a terminal, a cgo program by os.Exit, and a C program by SIGKILL. (test/system/run_killed.sh tests
# the details.)
#
#   ROUNDS=50   rounds of each
#   TRY="node go kill"  only these
. "$(dirname "$0")/../system/agent.inc"
rounds=${ROUNDS:-50}
tried=${TRY:-node go kill}
out=$work/out
export NO_COLOR=1 # in the terminal

cat >"$work/burns.js" <<'END'
const fs = require('fs')
function burn() { let x = 0; for (let i = 0; i < 1e6; i++) x += Math.sqrt(i); return x }
setInterval(burn, 1)
fs.writeFileSync(process.argv[2], 'ready')
END
cat >"$work/burns.c" <<'END'
#include <stdio.h>
volatile double sum;
__attribute__((noinline)) void burn(void) { for (int i = 1; i < 1000000; i++) sum += 1.0 / i; }
int main(int n, char **v)
{
	fclose(fopen(v[1], "w"));
	for (;;)
		burn();
	return n;
}
END
cat >"$work/burns.go" <<'END'
package main

// #include <stdlib.h>
import "C"
import (
	"os"
	"time"
)

var sum float64

//go:noinline
func burn() {
	for i := 1; i < 1000000; i++ {
		sum += 1 / float64(i)
	}
}

func main() {
	C.free(nil)
	for start := time.Now(); time.Since(start) < 3*time.Second; {
		burn()
	}
	os.Exit(7)
}
END

# started FILE: wait until the program has made FILE, then three seconds.
started() {
	for _ in {1..600}; do
		[ ! -e "$1" ] || break
		sleep 0.1
	done
	sleep 3
}

# Each of these runs a program once, with its profile in $1, and returns the status of `run`.
node_once() {
	(started "$1.ready" && printf '\003') |
		script -qec "exec '$agent' run -o '$1' -- node '$work/burns.js' '$1.ready'" /dev/null >"$1.text" 2>&1
}

go_once() {
	"$agent" run -o "$1" -- "$work/goes" >"$1.text" 2>&1
}

kill_once() {
	"$agent" run -o "$1" -- sh -c "echo \$\$ >'$1.pid'; exec '$work/burns' '$1.ready'" >"$1.text" 2>&1 &
	started "$1.ready"
	kill -KILL "$(cat "$1.pid")"
	wait $!
}

# ends NAME STATUS FUNCTION PROCESS: the rounds of one program. Print how many of them left a profile.
ends() {
	local good=0 status dir

	for round in $(seq "$rounds"); do
		dir=$out/$1.$round
		"$1_once" "$dir" 2>/dev/null
		status=$?
		if [ $status = "$2" ] && [ "$(find "$dir" -name "$4_*.jfr" | wc -l)" -eq 1 ] &&
			"$agent" top --cpu -n 3 "$dir" 2>&1 | grep -q " $3 " && grep -q " $3 " "$dir.text" &&
			[ -z "$(find "$dir" -name '.asprof*')" ]; then
			good=$((good + 1))
			rm -rf "$dir" "$dir".*
		else
			echo "$1, round $round: status $status: $(ls -AR "$dir") $(cat "$dir.text")"
		fi
	done
	echo "$1: a profile $good of $rounds times"
}

# wanted NAME COMMAND...: whether it is to be tried, and can be.
wanted() {
	[[ " $tried " == *" $1 "* ]] || return 1
	for command in "${@:2}"; do
		command -v "$command" >/dev/null || {
			echo "$1 is not tried: $command is not on this machine"
			return 1
		}
	done
}

mkdir "$out"
if wanted kill "${CC:-cc}"; then
	${CC:-cc} -g -O1 -o "$work/burns" "$work/burns.c" || exit 1
	ends kill 137 burn burns >"$work/kill" &
fi
if wanted node node script; then
	ends node 130 burn node >"$work/node" &
fi
if wanted go go "${CC:-cc}" && [ "$(uname -m)" = x86_64 ]; then
	if GO111MODULE=off CGO_ENABLED=1 go build -o "$work/goes" "$work/burns.go" 2>"$work/err"; then
		ends go 7 main.burn goes >"$work/go" &
	else
		echo "go is not tried: $(head -n 2 "$work/err")"
	fi
fi
wait
missing=0
for name in $tried; do
	[ ! -e "$work/$name" ] || {
		cat "$work/$name"
		tail -n 1 "$work/$name" | grep -q " $rounds of $rounds " || missing=1
	}
done
[ $missing = 0 ] || fail "a program left no profile"
echo ok
