#!/bin/bash
# If the agent has no processor when the program ends, a line names the lost reports, for each kind of exit.
. "$(dirname "$0")/agent.inc"

export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b AWS_EC2_METADATA_DISABLED=true
holds_agent=$(program holds_agent)
lost='[0-9]* reports* w[a-z]* not delivered and [a-z]* lost; set ASPROF_AGENT_SPOOL_DIR to keep them'

for engine in $(engines); do
	for end in 'exit 0' 'signal 143' 'both 143'; do
		for log in '' "$work/log"; do
			rm -f "$work/err" "$work/log"
			# No server listens at that port.
			{ profiled "$work/reports" "$engine" FORK=off EXIT_TIMEOUT=1s S3_BUCKET=b S3_REGION=r \
				S3_ENDPOINT=http://127.0.0.1:1 ${log:+"LOG_FILE=$log"} METADATA=none \
				"$holds_agent" ${end% *}; } 2>"$work/err"
			status=$?
			[ $status != 77 ] || skip "no process may be traced here"
			[ $status = ${end#* } ] || fail "$engine, $end: status $status: $(cat "$work/err")"
			[ "$(grep -c "$lost" "${log:-$work/err}")" = 1 ] ||
				fail "$engine, $end: $log: $(cat "$work/err" "$work/log")"
		done
	done
done 2>/dev/null
echo ok
