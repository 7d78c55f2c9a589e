#!/bin/bash
# Five minutes of very many forks, with either engine: 64 threads, 1,000 forks a second, at the default settings; and
# as many as possible with each child just about to be profiled.
cd "$(dirname "$0")/../.." || exit 1
export STORM=${STORM:-64 1000 300}
SETTINGS=START_DELAY=100ms test/system/storm.sh && exec test/system/storm.sh
