#!/bin/bash
# While an ending process waits for its last report, its other threads are stopped. Without the agent they would have
# ended, and the memory that they use may be gone.
. "$(dirname "$0")/agent.inc"

still=$(program still)
"$still" listen >"$work/port" &
listener=$!
trap 'kill $listener; rm -rf "$work"' EXIT
until [ -s "$work/port" ]; do sleep 0.05; done

export AWS_ACCESS_KEY_ID=none AWS_SECRET_ACCESS_KEY=none
# Two seconds, because the store never answers. (The rest of the exit is short, but on a busy machine the thread may
# run once more.)
profiled "$work" builtin EXIT_TIMEOUT=2s S3_BUCKET=none METADATA=none S3_REGION=none \
	S3_ENDPOINT="http://127.0.0.1:$(cat "$work/port")" "$still" run "$work/beat" 2>"$work/err" ||
	fail "status $?: $(cat "$work/err")"
stood=$("$still" "$work/beat")
[ "$stood" -ge 1500 ] || fail "a thread stood still for $stood ms only: $(cat "$work/err")"
