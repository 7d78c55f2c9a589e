#!/bin/bash
# A thread of Python that waits for the global interpreter lock is recorded with that cause, and with the thread that
# holds it.
. "$(dirname "$0")/agent.inc"
have jfr
[ -x /usr/bin/python3 ] || skip "there is no /usr/bin/python3"
profiled "$work/out" builtin WALL_INTERVAL=10ms /usr/bin/python3 test/programs/wait_gil.py 4 >"$work/threads" ||
	fail "status $?"
jfr print --json --stack-depth 64 --events profiler.WallClockSample "$work/out"/python3*.jfr >"$work/events" ||
	fail "no report"
/usr/bin/python3 - "$work/threads" "$work/events" <<-'END' || fail "$(cat "$work/threads")"
	import collections, json, sys
	tids = {name: int(tid) for name, tid in (line.split() for line in open(sys.argv[1]))}
	causes, owners, stacks = collections.Counter(), collections.Counter(), collections.Counter()
	for event in json.load(open(sys.argv[2]))["recording"]["events"]:
	    event = event["values"]
	    if event["sampledThread"]["osThreadId"] != tids["wants"]:
	        continue
	    wait = dict(line.split("=", 1) for line in (event["wait"] or "").splitlines())
	    causes[wait.get("cause", wait.get("state"))] += event["samples"]
	    if wait.get("cause") != "gil":
	        continue
	    owners[int(wait.get("owner", 0))] += event["samples"]
	    if event["ownerStackTrace"]:
	        stacks["hog" in [frame["method"]["name"] for frame in event["ownerStackTrace"]["frames"]]] += 1
	print(causes, owners, stacks)
	futexes = sum(causes[cause] for cause in ("gil", "lock", "condition", "semaphore"))
	assert causes["gil"] >= 20 and causes["gil"] >= 0.8 * futexes
	assert owners[tids["hog"]] >= 0.9 * (sum(owners.values()) - owners[0]) > 0
	assert stacks[True] >= 0.9 * sum(stacks.values()) > 0
END
echo ok
