#!/bin/bash
# A bucket is created after the program's start, and a policy allows access a moment later. Every report arrives, and
# each cause has one line.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
LATE=1 store
# Until both have happened: at its end a program does not wait for refused reports.
env -i AWS_ACCESS_KEY_ID="$access" AWS_SECRET_ACCESS_KEY="$secret" AWS_REGION=us-east-1 \
	AWS_EC2_METADATA_DISABLED=true ASPROF_AGENT_S3_BUCKET=reports \
	ASPROF_AGENT_S3_ENDPOINT="$url" ASPROF_AGENT_ENGINE=builtin \
	ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_LOCAL_DIR="$work/local" \
	ASPROF_AGENT_EXIT_TIMEOUT=20s ASPROF_AGENT_LOG_FILE="$work/log" LD_PRELOAD="$preload" \
	/usr/bin/python3 -c '
import sys, time
for _ in range(600):
    if len(open(sys.argv[1]).readlines()) >= 2:
        break
    time.sleep(0.1)' "$work/objects.log" || fail "the program's status is $?"
made=$(find "$work/local" -name '*.jfr' | wc -l)
echo "$(refused | wc -l) were refused; $(list | wc -l) of $made arrived"
[ "$(refused | cut -d' ' -f2 | tr '\n' ' ')" = '404 403 ' ] || fail "refused: $(refused)"
[ "$made" -ge 2 ] && [ "$(list | wc -l)" -eq "$made" ] || fail "not all arrived"
said NoSuchBucket
said AccessDenied
said 'work again'
