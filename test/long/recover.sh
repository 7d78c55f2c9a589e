#!/bin/bash
# test/system/recover.sh with a hundred programs killed.
KILLS=100 exec "$(dirname "$0")/../system/recover.sh"
