#!/bin/bash
# A call with an invalid address fails as without the agent.
. "$(dirname "$0")/agent.inc"
bad_addresses=$(program bad_addresses)
[ "$("$bad_addresses")" = ok ] || fail "bare: $("$bad_addresses")"
for engine in $(engines); do
	said=$(profiled "$work/out" "$engine" "$bad_addresses") || fail "$engine: status $?, $said"
done
echo ok
