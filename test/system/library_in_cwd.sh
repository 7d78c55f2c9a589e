#!/bin/bash
# If async-profiler is missing, a library of its name in the working directory is not loaded.
. "$(dirname "$0")/agent.inc"

echo '__attribute__((constructor)) static void run(void) { *(volatile int *)0 = 1; }' >"$work/bad.c"
mkdir "$work/cwd"
${CC:-cc} -shared -fPIC -o "$work/cwd/libasyncProfiler.so" "$work/bad.c" || exit 1

for directories in : . /nowhere: :/nowhere; do
	for engine in auto async-profiler; do
		rm -rf "$work/out"
		(
			cd "$work/cwd" || exit 1
			LD_LIBRARY_PATH=$directories profiled "$work/out" "$engine" \
				LIB=libasyncProfiler.so LOG=info sleep 0.5
		) >"$work/said" 2>&1 || fail "$engine, $directories: status $?, $(cat "$work/said")"
		case $engine in
		auto) grep -q 'profiling sleep with builtin' "$work/said" ;;
		*) grep -q 'cannot find libasyncProfiler.so' "$work/said" ;;
		esac || fail "$engine, $directories: $(cat "$work/said")"
	done
done
echo ok
