#!/bin/sh
# Debug files from a server: Debian's debuginfod, on loopback. Needs its package.
set -u
. "$(dirname "$0")/agent.inc"
have debuginfod curl python3
. test/system/symbols.inc
. test/system/guide.inc

unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
DEBUGINFOD_TIMEOUT=10 DEBUGINFOD_CACHE_PATH=$work/cache
export DEBUGINFOD_TIMEOUT DEBUGINFOD_CACHE_PATH

"$agent" top --debuginfod "$work/profiles" >"$work/out" 2>"$work/said" && fail 'no server is fine'
grep -q 'DEBUGINFOD_URLS names no server' "$work/said" || fail "no server: $(cat "$work/said")"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
DEBUGINFOD_URLS=http://127.0.0.1:$port/
export DEBUGINFOD_URLS
expect_stacks 'a server that is not there' addresses --lines --debuginfod
grep -q 'debuginfod: inlined: ' "$work/said" || fail "not said: $(cat "$work/said")"

mkdir "$work/served"
mv "$work/inlined.debug" "$work/served/"
DEBUGINFOD_URLS='' debuginfod -p "$port" -d "$work/index" -F "$work/served" >"$work/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
tries=0
until curl -sf -m 5 -o /dev/null "${DEBUGINFOD_URLS}buildid/$build_id/debuginfo"; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || fail "the server does not serve: $(tail -n 5 "$work/log")"
	sleep 0.1
done

rm -rf "$work/cache" # the cache of missing files
expect_stacks 'from the server' with.lines --lines --debuginfod
# As the guide says.
cp "$work/profiles"/*.jfr "$work/service.jfr"
guide_block docs/reference/commands.md | sed "s|/srv/debug|$work/served|; s|https://debuginfod.example.com|$DEBUGINFOD_URLS|" \
	>"$work/block"
(cd "$work" && PATH=$B:$PATH sh -e block) >"$work/out" 2>&1 || fail "the guide: $(cat "$work/out")"
grep -q crunch "$work/out" && grep -q '<html' "$work/f.html" || fail "the guide: $(cat "$work/out")"
kill $server
wait $server 2>/dev/null
expect_stacks 'from the cache' with.names --debuginfod
exit 0
