#!/bin/bash
# A store that redirects requests: the agent follows them to another port of the same host, with a new signature. It
# sends nothing to another host.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
store
real=$url

# door STATUS URL: a store that redirects all requests; the settings have it as the endpoint.
door() {
	: >"$work/door.ready"
	rm -f "$work/door.log"
	/usr/bin/python3 "$here/store_server.py" --redirect "$1" "$2" "$work/door" \
		>"$work/door.ready" &
	door_pid=$!
	pids+=("$door_pid")
	until_true grep -q ready "$work/door.ready" || fail "no door"
	url=http://127.0.0.1:$(sed 's/ready //' "$work/door.ready")
}

for status in 307 301; do
	empty
	door $status "$real"
	profiled 1.5 ASPROF_AGENT_LOCAL_DIR="$work/local.$status" ASPROF_AGENT_EXIT_TIMEOUT=20s
	made=$(find "$work/local.$status" -name '*.jfr' | wc -l)
	echo "$status: $(list | wc -l) of $made arrived, $(wc -l <"$work/door.log") were sent on"
	[ "$made" -ge 2 ] && [ "$(list | wc -l)" -eq "$made" ] || fail "not all arrived"
	[ -z "$(refused)" ] || fail "refused: $(refused)"
	# A temporary redirect is requested each time, a permanent one once.
	[ "$(wc -l <"$work/door.log")" -eq $((status == 307 ? made : 1)) ] ||
		fail "it was asked so often: $(cat "$work/door.log")"
	end $door_pid
done

empty
rm -f "$work/log"
door 307 "${real/127.0.0.1/localhost}"
profiled 1.5
said 'it names http://localhost:'
[ -z "$(list)" ] && [ ! -s "$work/objects.log" ] ||
	fail "something was sent to another host: $(cat "$work/objects.log")"
echo "another host: $(grep 'answers 307' "$work/log" | sed 's/^asprof-agent[^:]*: //')"
