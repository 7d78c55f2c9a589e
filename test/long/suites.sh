#!/bin/bash
# CPython's own tests of signals, processes, threads and sockets under the preload, with a sample each millisecond:
# what passes bare passes there, by either engine. A test that fails is tried once more, by itself.
#
#   PYTHON=/usr/bin/python3  by this one, which has to have its tests (Debian: libpython3.11-testsuite)
#   TESTS="test_signal"      only these
. "$(dirname "$0")/../system/agent.inc"

python=${PYTHON:-$(type -P python3)}
"${python:-false}" -c 'import test.test_signal' 2>/dev/null || skip "there is no Python with its tests here"
tests=${TESTS:-test_signal test_subprocess test_threading test_socket test_selectors test_os test_fork1
	test_posix test_time test_faulthandler test_concurrent_futures test_asyncio test_multiprocessing_fork
	test_multiprocessing_forkserver test_multiprocessing_spawn test_multiprocessing_main_handling}
mkdir "$work/tmp"
export TMPDIR=$work/tmp

# run FILE COMMAND...: the names of the tests that fail are in FILE; "all" where it did not come to its end.
run() {
	local file=$1
	shift
	"$@" >"$work/said" 2>&1 </dev/null
	grep -aE '^(ERROR|FAIL): ' "$work/said" | cut -d' ' -f2- | sort -u >"$file"
	grep -qaE '^(Tests result|Result): ' "$work/said" || echo all >>"$file"
}

bad=
for name in $tests; do
	"$python" -c "import test.$name" 2>/dev/null || continue
	run "$work/bare" timeout -k 10 900 "$python" -m test -v "$name"
	[ "$(cat "$work/bare")" != all ] || {
		echo "$name does not come to its end without us: left out"
		continue
	}
	for engine in $(engines); do
		with=(profiled "$work/out" "$engine" CPU_INTERVAL=1ms WALL_INTERVAL=1ms LOG=off EXIT_TIMEOUT=2s)
		run "$work/preloaded" "${with[@]}" timeout -k 10 900 "$python" -m test -v "$name"
		comm -13 "$work/bare" "$work/preloaded" >"$work/more"
		while read -r test rest; do
			run "$work/again" "${with[@]}" timeout -k 10 900 "$python" -m test -v -m "$test" "$name"
			[ ! -s "$work/again" ] || bad="$bad
$name, $engine: $test $rest"
		done <"$work/more"
		echo "$name, $engine: $(wc -l <"$work/more") that failed the first time, $(wc -l <"$work/bare") bare"
		rm -rf "$work/out"
	done
done
[ -z "$bad" ] || fail "these fail:$bad"
[ -n "${ASPROF_TEST_LIB:-}" ] || echo "async-profiler was left out: ASPROF_TEST_LIB is not set"
