#!/bin/bash
# Millions of samples of programs whose functions are created and dropped: collected and created again, loaded again,
# deoptimized, run by threads that start and end, in children, and across exec(2). No crash, and no wrong name: each
# name in the samples must be one of the existing functions, according to the runtime or a parser of the sources.
#
# Each thread is visited a thousand times a second, and running threads are also sampled by CPU time. A thread that
# has not moved is counted with its last stack, so the output has the number of stacks and of samples.
#
# With WALKS=2 it counts walks, in two processes: some ten thousand per second of CPU time of each running thread,
# each from another instruction than the one before (walks_often.c, without the rest of the agent). A timer starts
# some of them, and each of these is followed by up to seven that are one instruction further each.
#
#   SAMPLES=10000000  so many for each runtime (300,000)
#   TRY="python node ruby php perl"  only these
#   PYTHON=… NODE=… RUBY=… PHP=… PERL=…  these interpreters
#   SECONDS_AT_MOST=600  time limit for each, if there are fewer samples by then
#   LEAVE_OUT=NAME  report this function as missing: to see the test fail
. "$(dirname "$0")/../system/agent.inc"
have python3
samples=${SAMPLES:-300000}
tried=${TRY:-python node ruby php perl}
seconds=${SECONDS_RUN:-20}
python=${PYTHON:-$(command -v python3)} node=${NODE:-$(command -v node)} ruby=${RUBY:-$(command -v ruby)}
php=${PHP:-$(command -v php)} perl=${PERL:-$(command -v perl)}
programs=$PWD/test/programs
left="" failed=""
# Number of threads of each process, most of which wait; and number of PHP processes.
python_threads=60 node_threads="16 16" ruby_threads=60 php_processes="churns churns $(yes stands | head -n 22)" perl_threads=40
if [ -n "${WALKS:-}" ]; then
	python_threads=$(yes 4 | head -n "$WALKS") node_threads=$(yes 1 | head -n "$WALKS") ruby_threads=$python_threads
	php_processes=$(yes churns | head -n "$WALKS") perl_threads=$(yes 2 | head -n "$WALKS")
	have "${CC:-cc}"
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -I. -O2 -fPIC -shared -pthread -Wl,-Bsymbolic -o "$work/walks_often.so" \
		test/programs/walks_often.c "$B/libasprof_test.a" -ldl -lm || exit 1
fi
[ -z "$python" ] || python=$("$python" -c 'import sys; print(sys.executable)')

# ends COMMAND...: it does not crash. (Threads that still run when the process restarts end with it.)
ends() {
	"$@" >>"$place/said" 2>&1 || {
		echo "status $? of $*: $(tail -n 20 "$place/said")"
		touch "$place/crashed"
	}
}

# again COMMAND...: repeat it until the stop file exists.
again() {
	until [ -e "$place/stop" ] || [ -e "$place/crashed" ]; do
		ends "$@"
	done
}

# by_us COMMAND...
by_us() {
	if [ -n "${WALKS:-}" ]; then
		WALKS_TO=$place/reports LD_PRELOAD=$work/walks_often.so "$@"
		return
	fi
	profiled "$place/reports" builtin CPU_INTERVAL=1ms WALL_INTERVAL=1ms REPORTING_INTERVAL=5s LOCAL_MAX_BYTES=0 \
		LISTEN=off PROCESS='python*,node*,ruby*,php*,perl*' "$@"
}

# met RUNTIME [WHO_ELSE...]: read the results in the background, until there are enough samples.
met() {
	local reader status programs_left

	echo "$1:"
	python3 "$programs/names_met.py" "$agent" "$place/reports" "$place/names" "$samples" "$place/stop" "${@:2}" \
		>"$place/met" 2>&1 &
	reader=$!
	# It waits until the programs have ended.
	until [ -e "$place/stop" ] || [ -e "$place/crashed" ] || ! kill -0 $reader 2>/dev/null; do
		sleep 0.2
	done
	touch "$place/stop"
	for programs_left in "${running[@]}"; do
		wait "$programs_left"
	done
	rm "$place/stop"
	if [ -e "$place/crashed" ]; then
		kill $reader
		wait $reader 2>/dev/null
		status=1
	else
		wait $reader
		status=$?
	fi
	cat "$place/met"
	[ $status = 0 ] || failed="$failed $1"
}

# begins RUNTIME COMMAND: whether it is selected, and installed.
begins() {
	[[ " $tried " == *" $1 "* ]] || return 1
	[ -n "$2" ] || {
		left="$left $1"
		return 1
	}
	place=$work/$1 running=()
	mkdir -p "$place/reports" "$place/names"
}

if begins python "$python"; then
	for threads in $python_threads; do
		ends by_us "$python" "$programs/churns.py" "$place" "$threads" "$seconds" &
		running+=($!)
	done
	met python
fi
if begins node "$node"; then
	for threads in $node_threads; do
		again by_us "$node" --expose-gc "$programs/churns.js" "$place" "$threads" "$seconds" &
		running+=($!)
	done
	cat >"$place/exist" <<-S
		exec "$node" --no-warnings --expose-internals "$programs/names_exist.js" "$programs/churns.js" "$place"/{odd,even,made}/*.js
	S
	met node bash "$place/exist"
fi
if begins ruby "$ruby"; then
	for threads in $ruby_threads; do
		ends by_us "$ruby" --disable=gems "$programs/churns.rb" "$place" "$threads" "$seconds" &
		running+=($!)
	done
	met ruby
fi
if begins php "$php"; then
	for how in $php_processes; do
		again by_us "$php" "$programs/churns.php" "$place" "$how" "$seconds" &
		running+=($!)
	done
	met php
fi
if begins perl "$perl"; then
	for threads in $perl_threads; do
		ends by_us "$perl" "$programs/churns.pl" "$place" "$threads" "$seconds" &
		running+=($!)
	done
	met perl
fi
[ -z "$left" ] || echo "left out:$left"
[ -z "$failed" ] || fail "wrong:$failed"
