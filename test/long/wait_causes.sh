#!/bin/bash
# Reported waits agree with the program's own measurement within five percentage points, over 30 seconds, also with eight
# threads that compute.
cd "$(dirname "$0")/../.." || exit 1
export POINTS=${POINTS:-5} SECONDS_EACH=${SECONDS_EACH:-30} THREADS=${THREADS:-8} VERBOSE=1 GO=1
exec test/system/wait_causes.sh
