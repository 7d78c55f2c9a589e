#!/bin/bash
# What a walk takes through twenty different functions of Python, and of JavaScript, with the interpreter's own frames on
# the way.
. "$(dirname "$0")/../system/agent.inc"
have "${CC:-cc}"

${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I. -O2 -fPIC -shared -pthread -Wl,-Bsymbolic -o "$work/walks.so" test/programs/walks.c \
	"$B/libasprof_test.a" -ldl -lm || exit 1

cat >"$work/walk.py" <<'P'
import ctypes, sys

walks = ctypes.PyDLL(sys.argv[1]).walks
space = {"bottom": walks}
for i in range(20):
    inner = "f%d" % (i - 1) if i else "bottom"
    exec(compile("\n" * i + "def f%d():\n    x = 1\n    return %s() or x\n" % (i, inner), "f%d.py" % i, "exec"), space)
space["f19"]()
P
cat >"$work/walk.js" <<'J'
const lines = [];
for (let i = 0; i < 20; i++)
	lines.push(`function f${i}(at) { const x = ${i ? `f${i - 1}(at)` : "at()"}; return x + 1; }`);
const f19 = new Function(lines.join("\n") + "\nreturn f19;")();
const times = Number(process.argv[3]);
for (let i = 0; i < times; i++)
	f19(() => i);
f19(() => process.dlopen({ exports: {} }, process.argv[2]));
J

# measure WHAT COMMAND...
measure() {
	what=$1
	shift
	printf 'frames: %s: ' "$what"
	"$@" || {
		echo "not measured"
		failed=1
	}
}

failed=0
for python in ${PYTHONS:-$(command -v python3)}; do
	measure "$("$python" --version)" "$python" "$work/walk.py" "$work/walks.so"
done
for node in ${NODES:-$(command -v node)}; do
	measure "node $("$node" --version), interpreted" "$node" "$work/walk.js" "$work/walks.so" 0
	measure "node $("$node" --version), compiled" "$node" "$work/walk.js" "$work/walks.so" 100000
done
exit $failed
