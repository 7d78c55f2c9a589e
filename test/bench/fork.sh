#!/bin/bash
# The cost of the agent for a fork in a program that does nothing else, and for its child's life: without the agent,
# with children that are not profiled, and with children that would be profiled if they lived longer.
set -eu
. "$(dirname "$0")/../system/agent.inc"

cost=$(program fork_cost)
echo 'int main(void) { return 0; }' >"$work/nothing.c"
${CC:-cc} -O1 -static -o "$work/nothing" "$work/nothing.c"
forks=${FORKS:-1000} rounds=${ROUNDS:-9}

median() {
	sort -n | awk '{ all[NR] = $1 } END { printf "%s", all[int((NR + 1) / 2)] }'
}

# once NAME THREADS COMMAND [VARIABLE=value...]: append "FORK WHOLE" to $work/NAME.
once() {
	local name=$1 threads=$2 command=$3
	shift 3
	# shellcheck disable=SC2086
	env "$@" "$cost" "$forks" "$threads" $command >>"$work/$name"
}

printf '%-24s %14s %20s %20s\n' "us: fork, with its child" bare 'FORK=off' 'FORK=on'
for threads in 0 64; do
	for command in "" "$work/nothing"; do
		rm -f "$work/bare" "$work/off" "$work/on"
		for _ in $(seq "$rounds"); do
			once bare "$threads" "$command"
			for fork in off on; do
				once $fork "$threads" "$command" LD_PRELOAD="$preload" \
					ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_FORK=$fork \
					ASPROF_AGENT_CHILDREN=off ASPROF_AGENT_LOCAL_DIR="$work/out"
			done
		done
		printf '%-24s' "$threads threads, ${command:+exec}${command:-_exit}" | sed "s|$work/nothing||"
		for name in bare off on; do
			printf ' %9s %9s' "$(cut -d' ' -f1 "$work/$name" | median)" \
				"$(cut -d' ' -f2 "$work/$name" | median)"
		done
		echo
	done
done
