#!/bin/sh
# Tools for Go's profiles over HTTP can read the endpoint: redis with a known amount of data, by `go tool pprof
# http://…`, within 5% of redis's own value.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have curl python3 redis-server redis-cli go
go tool -n pprof >/dev/null 2>&1 || skip "go has no pprof"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
store=$work/redis.sock
held redis NATIVE_MEM=8k CPU_INTERVAL=1ms LISTEN="127.0.0.1:$port" \
	redis-server --port 0 --unixsocket "$store" --save '' --dir "$work"
until_true redis-cli -s "$store" ping || fail "no redis: $(cat "$work/redis.out" "$work/redis.err")"
until_true curl -sf "http://127.0.0.1:$port/status" || fail "no endpoint"

# shown PATH: the sum that pprof prints, in bytes.
shown() {
	go tool pprof -top -nodecount=0 -unit=B "http://127.0.0.1:$port$1" >"$work/top" 2>"$work/top.err" ||
		fail "$1: $(cat "$work/top.err")"
	awk '/^Showing nodes/ { sub(/B$/, "", $(NF - 1)); print $(NF - 1) }' "$work/top"
}
used() {
	redis-cli -s "$store" info memory | tr -d '\r' | sed -n 's/^used_memory://p'
}

before=$(shown /debug/pprof/heap) used_before=$(used)
# In parts: the handlers' limit leaves out samples of a thread that only allocates.
for part in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	redis-cli -s "$store" eval "for i = 1, 400 do redis.call('set', 'key$part.' .. i, string.rep('x', 8100)) end" 0 >/dev/null
	sleep 0.05
done
after=$(shown /debug/pprof/heap) used_after=$(used)
echo "redis: $((used_after - used_before)) bytes more; pprof: $((after - before))"
within 5 $((used_after - used_before)) $((after - before)) "the heap of redis"
grep -qi 'sds\|string\|zmalloc' "$work/top" || fail "no function of redis: $(head -n 20 "$work/top")"

touch "$work/busy"
(
	while [ -e "$work/busy" ]; do
		redis-cli -s "$store" eval 'local n = 0; for i = 1, 1000000 do n = n + i end; return n' 0 >/dev/null
	done
) &
busy=$!
shown '/debug/pprof/profile?seconds=2' >/dev/null
rm "$work/busy"
wait $busy
grep -q lua "$work/top" || fail "no CPU time in Lua: $(head -n 20 "$work/top")"
