#!/bin/bash
# The descriptor table belongs to the program: it never has a descriptor of the agent among the program's numbers, at
# any time and with any engine.
. "$(dirname "$0")/agent.inc"

numbers=$(program own_numbers -w) || exit 1
watch=$(program watch_fds) || exit 1
quiet=$(program no_descriptors -ldl) || exit 1

# A helper that prints no credentials. So nothing is sent, but the files for an attempt are opened.
printf '[default]\ncredential_process = echo none\n' >"$work/config"
export AWS_CONFIG_FILE=$work/config AWS_SHARED_CREDENTIALS_FILE=$work/none AWS_REGION=nowhere

# watched ENGINE [VARIABLE=value...]
watched() {
	local engine=$1 status
	shift
	(
		export WATCHED_PRELOAD=$preload
		preload=
		profiled "$work/watched" "$engine" REPORTING_INTERVAL=1s CPU_INTERVAL=10ms \
			NATIVE_MEM=64k METADATA=none EXIT_TIMEOUT=500ms LOG=debug \
			LOG_FILE="$work/log" SPOOL_DIR="$work/spool" "$@" \
			timeout 60 "$watch" 400 "$quiet" 1.5
	) >"$work/seen" 2>&1
	status=$?
	[ $status != 77 ] || { cat "$work/seen"; return; }
	[ $status = 0 ] || fail "$engine: status $status: $(head -n 20 "$work/seen")"
	! grep -q '^0 descriptors' "$work/seen" || fail "$engine: it did nothing"
	[ -s "$work/log" ] || fail "$engine: no log"
}

for engine in $(engines); do
	watched "$engine" S3_BUCKET=none S3_ENDPOINT=http://127.0.0.1:1
	for what in replace lowest closeall environment; do
		for setting in START_DELAY=100ms "START_DELAY=0s CPU_INTERVAL=1ms WALL_INTERVAL=1ms"; do
			# shellcheck disable=SC2086 # several
			profiled "$work/out" "$engine" $setting "$numbers" $what 500 \
				>"$work/said" 2>&1 ||
				fail "$engine, $setting, $what: $(cat "$work/said")"
		done
	done
done
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
