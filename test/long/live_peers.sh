#!/bin/sh
# test/system/live_peers.sh for ten minutes.
FUZZ=600 exec "$(dirname "$0")/../system/live_peers.sh"
