#!/bin/bash
# CPU time and memory of sending an aggregated report of 50 kB, by the Pyroscope and the OTLP reporter, to the tests'
# strict server; and the CPU time of the agent's threads, as a share of one core, in a program that is profiled with
# the default settings for SECONDS_RUN (60) and has all four reporters.
. "$(dirname "$0")/../system/agent.inc"
. test/system/push.inc
have openssl

# A recording of that length: about three of the program's seconds.
pushed=$(program pushed) || exit 1
profiled "$work/long" builtin REPORTING_INTERVAL=30s CPU_INTERVAL=1ms WALL_INTERVAL=10ms NATIVE_MEM=24k "$pushed" 3
recording=$(ls "$work"/long/*.jfr)
serve bench
printf 'a recording of %d bytes; ms of CPU: the first delivery, a later one; kB of memory; ms of adding up\n' \
	"$(wc -c <"$recording")"
for by in pyroscope otlp; do
	printf '  %-12s %s\n' $by "$(BY=$by URL=$url RECORDING=$recording "$B/test/bench/deliver")"
done

# Both stores, and the program, for a while.
mkdir "$work/objects"
/usr/bin/python3 test/system/store_server.py "$work/objects" >"$work/store.said" &
servers="$servers $!"
until store=$(sed -n 's/^ready //p' "$work/store.said") && [ -n "$store" ]; do sleep 0.1; done
export AWS_ACCESS_KEY_ID=tester AWS_SECRET_ACCESS_KEY=testing AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
profiled "$work/all" builtin S3_BUCKET=reports "S3_ENDPOINT=http://127.0.0.1:$store" METADATA=none \
	"PYROSCOPE_URL=$url" "OTLP_ENDPOINT=$url" "$pushed" "$((${SECONDS_RUN:-60} + 5))" &
program=$!
sleep "${SECONDS_RUN:-60}"
/usr/bin/python3 - "$(pgrep -P $program)" "${SECONDS_RUN:-60}" <<'END'
import glob, sys
total = 0
for task in glob.glob('/proc/%s/task/*/stat' % sys.argv[1]):
    text = open(task).read()
    name, rest = text[text.index('(') + 1:text.rindex(')')], text[text.rindex(')') + 2:].split()
    if name.startswith('asprof'):
        spent = open(task.replace('/stat', '/schedstat')).read().split()[0]
        total += int(spent)
        print('  %-16s %8.1f ms' % (name, int(spent) / 1e6))
print('  all of the agent: %.3f%% of one core' % (total / 1e7 / float(sys.argv[2])))
END
wait $program
echo "taken: $(wc -l <"$work/bench") messages, $(find "$work/objects" -type f | wc -l) objects, $(find "$work/all" -name '*.jfr' | wc -l) files"
