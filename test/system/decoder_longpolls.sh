#!/bin/sh
# longpolls, nativemem and duration on the recordings test.jfr and test-nativemem.jfr of the async-profiler Rust
# agent, in the directory ASPROF_TEST_JFR_DIR. The output has the bytes that the tests of that agent's decoder expect.
. "$(dirname "$0")/agent.inc"
dir=${ASPROF_TEST_JFR_DIR:-}
[ -e "$dir/test.jfr" ] && [ -e "$dir/test-nativemem.jfr" ] ||
	skip 'ASPROF_TEST_JFR_DIR names no directory with test.jfr and test-nativemem.jfr'

# expect WORDS...: the whole output equals standard input.
expect() {
	cat >"$work/want"
	"$agent" "$@" >"$work/all" || fail "$*: status $?"
	same "$*" "$work/all"
}

# expect_first WORDS...: the output begins with standard input.
expect_first() {
	cat >"$work/want"
	"$agent" "$@" >"$work/all" || fail "$*: status $?"
	head -c "$(wc -c <"$work/want")" "$work/all" >"$work/first"
	same "$*" "$work/first"
}

same() {
	cmp -s "$work/want" "$2" || fail "$1: $(diff "$work/want" "$2" | head -n 10)"
}

expect longpolls "$dir/test.jfr" 200us --stack-depth 4 <<'END'
[95.789203] thread 1880 - poll of 219us
 -   1: libc.so.6.clock_nanosleep
 -   2: libc.so.6.nanosleep
 -   3: simple.std::thread::sleep
 -   4: simple.simple::slow::short_sleep
 -  55 more frame(s) (pass --stack-depth=59 to show)

[92.789145] thread 1881 - poll of 1733us
 -   1: libc.so.6.clock_nanosleep
 -   2: libc.so.6.nanosleep
 -   3: simple.std::thread::sleep_ms
 -   4: simple.simple::slow::accidentally_slow
 -  55 more frame(s) (pass --stack-depth=59 to show)

[96.789218] thread 1881 - poll of 203us
 -   1: libc.so.6.clock_nanosleep
 -   2: libc.so.6.nanosleep
 -   3: simple.std::thread::sleep
 -   4: simple.simple::slow::short_sleep
 -  55 more frame(s) (pass --stack-depth=59 to show)

[98.789191] thread 1881 - poll of 214us
 -   1: libc.so.6.clock_nanosleep
 -   2: libc.so.6.nanosleep
 -   3: simple.std::thread::sleep
 -   4: simple.simple::slow::short_sleep
 -  55 more frame(s) (pass --stack-depth=59 to show)

END
expect nativemem "$dir/test-nativemem.jfr" --stack-depth 1 <<'END'
[197.928096] thread 2082 - malloc at 0x7ffb08000cd0 (58782 bytes)
 -   1: libasyncProfiler.so.malloc_hook
 -  32 more frame(s) (pass --stack-depth=33 to show)

[197.927903] thread 2080 - malloc at 0x7ffb04000ba0 (32816 bytes)
 -   1: libasyncProfiler.so.malloc_hook
 -   6 more frame(s) (pass --stack-depth=7 to show)

[197.928316] thread 2067 - malloc at 0x7ffb40019b00 (256 bytes)
 -   1: libasyncProfiler.so.posix_memalign_hook
 -  73 more frame(s) (pass --stack-depth=74 to show)

END
expect duration "$dir/test.jfr" <<'END'
15.003104
END
expect_first longpolls "$dir/test.jfr" 200us --stack-depth 4 --include-non-pollcatch <<'END'
[87.831540] thread 1878 - sample with no pollcatch information
 -   1: libc.so.6.epoll_wait
 -   2: simple.mio::sys::unix::selector::Selector::select
 -   3: simple.mio::poll::Poll::poll
 -   4: simple.tokio::runtime::io::driver::Driver::turn
 -  49 more frame(s) (pass --stack-depth=53 to show)

END
expect_first longpolls "$dir/test.jfr" --stack-depth 4 <<'END'
[86.789064] thread 1878 - poll of 77us
 -   1: libc.so.6.clock_nanosleep
 -   2: libc.so.6.nanosleep
 -   3: simple.std::thread::sleep
 -   4: simple.simple::slow::short_sleep
 -  55 more frame(s) (pass --stack-depth=59 to show)

END
echo 'to the byte'
