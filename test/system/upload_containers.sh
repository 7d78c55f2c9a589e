#!/bin/bash
# Six containers of one host, which know nothing of each other. In each the program is process 1, at the same time,
# with the same settings. Every report that the store accepts is a separate object.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
unshare --pid --fork --mount-proc true 2>/dev/null || skip "namespaces are not allowed here"
store

for container in 1 2 3 4 5 6; do
	env -i PATH="$PATH" AWS_ACCESS_KEY_ID="$access" AWS_SECRET_ACCESS_KEY="$secret" \
		AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true ASPROF_AGENT_S3_BUCKET=reports \
		ASPROF_AGENT_S3_ENDPOINT="$url" ASPROF_AGENT_ENGINE=builtin \
		ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_START_DELAY=0 \
		ASPROF_AGENT_EXIT_TIMEOUT=20s ASPROF_AGENT_LOG_FILE="$work/log" \
		ASPROF_AGENT_LOCAL_DIR="$work/local/$container" \
		unshare --pid --fork --mount-proc env LD_PRELOAD="$preload" sleep 2.5 &
	containers+=($!)
done
for container in "${containers[@]}"; do
	wait "$container" || fail "a program's status is $?"
done

made=$(find "$work/local" -name '*.jfr' | wc -l)
accepted=$(grep -c '^[0-9]* 200 ' "$work/objects.log")
left=$(list | wc -l)
echo "six containers made $made reports; the store accepted $accepted, and has $left"
[ -z "$(refused)" ] || fail "refused: $(refused)"
[ -z "$(list | grep -vE '^profile_sleep_unknown___1_2[-0-9T]+Z-[0-9a-f]{8}\.zip$')" ] ||
	fail "not their names: $(list)"
[ "$made" -ge 12 ] || fail "they made too few to tell"
[ "$accepted" -eq "$made" ] && [ "$left" -eq "$made" ] || fail "some took others' names"
