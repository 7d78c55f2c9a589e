#!/bin/bash
# Five minutes of a storm of forks, by either engine: 64 threads, 1,000 forks a second.
cd "$(dirname "$0")/../.." || exit 1
STORM=${STORM:-64 1000 300} exec test/system/storm.sh
