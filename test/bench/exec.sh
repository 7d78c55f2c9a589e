#!/bin/sh
# What the preload adds to an exec of /bin/true, against an empty preload in the same run.
set -eu
B=$(cd "${B:-build}" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo 'int asprof_bench_nothing;' >"$work/empty.c"
${CC:-cc} -shared -fPIC -o "$work/empty.so" "$work/empty.c"
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -o "$work/in_turn" test/programs/in_turn.c

rounds=${ROUNDS:-2000}
echo "exec of /bin/true ($rounds rounds)"
"$work/in_turn" "$rounds" 1 \
	"empty preload:LD_PRELOAD=$work/empty.so" \
	"no preload:PATH=/bin" \
	"ENABLED=off:LD_PRELOAD=$B/libasprof_preload.so,ASPROF_AGENT_ENABLED=off" \
	"default:LD_PRELOAD=$B/libasprof_preload.so" \
	"default, builtin:LD_PRELOAD=$B/libasprof_preload.so,ASPROF_AGENT_ENGINE=builtin" \
	-- /bin/true
