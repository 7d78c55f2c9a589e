#!/bin/bash
# SQLite's own tests under the preload (suites.inc), with the test program from its source: files, locks, mapped
# memory, logs, crashes that it simulates in its own processes, threads. Omitted are tests of the language, and tests
# that take minutes (fuzzing, failing allocations of every statement, and crashes by the hundreds).
. "$(dirname "$0")/suites.inc"

have tclsh8.6 "${CC:-cc}"
[ -e /usr/lib/tcl8.6/tclConfig.sh ] || skip "tcl8.6-dev is not on this machine"
source_of sqlite3
fixture=$source/built/testfixture
if [ ! -x "$fixture" ]; then
	mkdir -p "$source/built"
	(cd "$source/built" && ../configure --with-tcl=/usr/lib/tcl8.6 CFLAGS=-O1 && make -j"$(nproc)" testfixture) \
		>"$work/built" 2>&1 || skip "its test program cannot be built: $(tail -n 3 "$work/built")"
fi

part() {
	local name=$1
	shift
	rm -rf "$work/tmp/run" && mkdir "$work/tmp/run"
	(cd "$work/tmp/run" && "$@" "${bounded[@]}" "$fixture" "$source/test/$name.test")
}

failing() {
	awk '/^! .* (expected|got):/ { print $2 } /^[0-9]+ errors out of [0-9]+ tests/ { ended = 1 }
		END { if (!ended) print "all" }'
}

compare thread001 thread002 thread003 thread004 thread005 thread1 thread2 wal wal3 walbak walmode walro walslow crash2 \
	crash5 crash8 lock lock2 lock4 lock5 lock6 lock7 mmap1 mmap2 pager1 pager2 shared shared2 notify1 backup busy \
	exclusive incrblob io journal1 memsubsys1 mutex1 savepoint symlink tempdb trans unixexcl vacuum
