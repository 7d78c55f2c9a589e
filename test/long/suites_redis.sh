#!/bin/bash
# Redis's own tests under the preload (suites.inc), with the installed programs; the suite is in Tcl, and so is
# profiled too. Omitted are tests that need modules from its build, TLS, or minutes each (unit/type/*, replication's
# longer ones, corrupt-dump-fuzzer).
. "$(dirname "$0")/suites.inc"

have tclsh8.6 redis-server redis-cli redis-benchmark
source_of redis

tree=$work/tree
mkdir -p "$tree/src" "$tree/tests/tmp"
cp -r "$source/tests" "$source/redis.conf" "$source/sentinel.conf" "$tree/"
for name in redis-server redis-cli redis-benchmark redis-check-aof redis-check-rdb; do
	ln -s "$(type -P $name)" "$tree/src/$name"
done

part() {
	local name=$1
	shift
	(cd "$tree" && "$@" "${bounded[@]}" tclsh8.6 tests/test_helper.tcl --clients 1 --baseport "$base_port" \
		--portcount 500 --single "$name")
}

failing() {
	sed 's/\x1b\[[0-9;]*m//g' | awk '/^\[(err|exception|timeout)\]: / { sub(/ in tests\/.*/, ""); sub(/^\[[a-z]*\]: /, ""); print }
		/All tests passed|The following tests failed/ { ended = 1 } END { if (!ended) print "all" }'
}

base_port=$((24000 + $$ % 8000))
compare unit/protocol unit/keyspace unit/auth unit/acl unit/aofrw unit/dump unit/expire unit/info unit/introspection \
	unit/introspection-2 unit/latency-monitor unit/lazyfree unit/limits unit/maxmemory unit/memefficiency unit/multi \
	unit/networking unit/obuf-limits unit/other unit/pause unit/pubsub unit/quit unit/scripting unit/shutdown unit/slowlog \
	unit/tracking unit/wait unit/oom-score-adj unit/cluster unit/type/list unit/type/stream integration/aof integration/aof-multi-part \
	integration/rdb integration/logging integration/shutdown integration/redis-cli integration/redis-benchmark \
	integration/replication-2 integration/replication-psync integration/block-repl integration/dismiss-mem
