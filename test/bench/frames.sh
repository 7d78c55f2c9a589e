#!/bin/bash
# The time of a walk through twenty different functions of Python, JavaScript, Ruby, PHP and Perl, with the
# interpreter's own frames between them.
#
#   PYTHONS="python3.8 …" NODES=… RUBIES=… PHPS=… PERLS=…  these interpreters; missing ones are omitted
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
cat >"$work/walk.rb" <<'R'
20.times do |i|
  body = i == 0 ? "require ARGV[0]" : "f#{i - 1}"
  eval("def f#{i}\n  x = 1\n  #{body} || x\nend", TOPLEVEL_BINDING, "f#{i}.rb", i + 1)
end
f19
R
cat >"$work/walk.php" <<'H'
<?php
$walks = FFI::cdef('void walks(void);', $argv[1]);
for ($i = 0; $i < 20; $i++) {
	$body = $i ? 'f' . ($i - 1) . '()' : '$GLOBALS["walks"]->walks()';
	eval(str_repeat("\n", $i) . "function f$i() {\n\t\$x = 1;\n\treturn $body ?: \$x;\n}");
}
f19();
H
cat >"$work/walk.pl" <<'L'
use DynaLoader;
my $library = DynaLoader::dl_load_file($ARGV[0]) or die DynaLoader::dl_error();
DynaLoader::dl_install_xsub('main::walks', DynaLoader::dl_find_symbol($library, 'walks'));
for my $i (0 .. 19) {
	my $body = $i ? 'f' . ($i - 1) . '()' : 'walks()';
	eval qq{#line 1 "f$i.pl"\n} . "\n" x $i . qq{sub f$i {\n\tmy \$x = 1;\n\treturn $body || \$x;\n}\n} or 1;
}
f19();
L

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
for ruby in ${RUBIES:-$(command -v ruby)}; do
	measure "$("$ruby" --version)" "$ruby" "$work/walk.rb" "$work/walks.so"
done
for php in ${PHPS:-$(command -v php)}; do
	[ "$("$php" -r 'echo extension_loaded("FFI");')" ] || continue
	measure "$("$php" --version | head -n 1)" "$php" -d ffi.enable=true "$work/walk.php" "$work/walks.so"
done
for perl in ${PERLS:-$(command -v perl)}; do
	measure "perl $("$perl" -e 'print $^V')" "$perl" "$work/walk.pl" "$work/walks.so"
done
exit $failed
