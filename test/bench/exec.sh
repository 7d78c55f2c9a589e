#!/bin/sh
# What the preload adds to an exec of /bin/true, against an empty preload in the same run.
set -eu
B=$(cd "${B:-build}" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo 'int asprof_bench_nothing;' >"$work/empty.c"
${CC:-cc} -shared -fPIC -o "$work/empty.so" "$work/empty.c"
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -o "$work/exec_cost" test/programs/exec_cost.c

echo "exec of /bin/true (median of ${ROUNDS:-200} rounds of 10)"
"$work/exec_cost" "${ROUNDS:-200}" /bin/true \
	"empty preload:LD_PRELOAD=$work/empty.so" \
	"no preload:PATH=/bin" \
	"ENABLED=off:LD_PRELOAD=$B/libasprof_preload.so,ASPROF_AGENT_ENABLED=off" \
	"default:LD_PRELOAD=$B/libasprof_preload.so" \
	"default, builtin:LD_PRELOAD=$B/libasprof_preload.so,ASPROF_AGENT_ENGINE=builtin"
