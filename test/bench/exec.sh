#!/bin/sh
# The cost of the preload for an exec of /bin/true, compared with an empty preload in the same run.
set -eu
. "$(dirname "$0")/../system/agent.inc"

echo 'int asprof_bench_nothing;' >"$work/empty.c"
${CC:-cc} -shared -fPIC -o "$work/empty.so" "$work/empty.c"
in_turn=$(program in_turn)

rounds=${ROUNDS:-2000}
echo "exec of /bin/true ($rounds rounds)"
"$in_turn" "$rounds" 1 \
	"empty preload:LD_PRELOAD=$work/empty.so" \
	"no preload:PATH=/bin" \
	"ENABLED=off:LD_PRELOAD=$preload,ASPROF_AGENT_ENABLED=off" \
	"default:LD_PRELOAD=$preload" \
	"default, builtin:LD_PRELOAD=$preload,ASPROF_AGENT_ENGINE=builtin" \
	"native memory:LD_PRELOAD=$preload,ASPROF_AGENT_ENGINE=builtin,ASPROF_AGENT_NATIVE_MEM=512k" \
	${ASPROF_TEST_LIB:+"async-profiler:LD_PRELOAD=$preload,ASPROF_AGENT_LIB=$ASPROF_TEST_LIB"} \
	-- /bin/true
