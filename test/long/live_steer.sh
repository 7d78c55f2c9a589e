#!/bin/sh
# test/system/live_steer.sh a thousand times over, with either engine.
steer=$(dirname "$0")/../system/live_steer.sh
TIMES=1000 "$steer" || exit
[ -z "${ASPROF_TEST_LIB:-}" ] || ENGINE=async-profiler TIMES=1000 "$steer"
