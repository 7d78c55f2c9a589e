#!/bin/sh
# test/system/handlers.sh a thousand times over.
TIMES=1000 "$(dirname "$0")/../system/handlers.sh"
