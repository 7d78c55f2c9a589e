#!/bin/bash
# CPython's own tests of signals, processes, threads and sockets under the preload (suites.inc).
#
#   PYTHON=/usr/bin/python3  this interpreter, which must have its tests (Debian: libpython3.11-testsuite)
. "$(dirname "$0")/suites.inc"

python=${PYTHON:-$(type -P python3)}
"${python:-false}" -c 'import test.test_signal' 2>/dev/null || skip "there is no Python with its tests here"

# Omitted are tests that hang if a machine has sockets for its host and no host (VSOCK), and tests that hang bare if
# daemon threads start slowly.
part() {
	local name=$1
	shift
	"$@" "${bounded[@]}" "$python" -m test -v -i '*VSOCK*' -i test_4_daemon_threads "$name"
}

failing() {
	awk '/^(ERROR|FAIL): / { sub(/^[A-Z]*: /, ""); print } /^(Tests result|Result): / { ended = 1 }
		END { if (!ended) print "all" }'
}

compare test_signal test_subprocess test_threading test_socket test_selectors test_os test_fork1 test_posix test_time \
	test_faulthandler test_concurrent_futures test_asyncio test_multiprocessing_fork test_multiprocessing_forkserver \
	test_multiprocessing_spawn test_multiprocessing_main_handling
