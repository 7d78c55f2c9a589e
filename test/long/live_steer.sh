#!/bin/sh
# test/system/live_steer.sh a thousand times over.
TIMES=1000 exec "$(dirname "$0")/../system/live_steer.sh"
