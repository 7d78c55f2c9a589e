#!/bin/bash
# A thousand reports of 50 kB in OpenStack Swift: top over all of them, directly from the bucket, and from a directory
# after the AWS command line has copied them. Once with an empty cache, and once more. Seconds, and the peak of
# resident pages. The store, a single process, takes most of the time.
B=$(cd "${B:-build}" && pwd)
cd "$(dirname "$0")/../.." || exit 1
. test/system/upload.inc
. test/system/swift.inc
command -v aws >/dev/null || skip "no aws here (scripts/setup bench brings it)"
store
python3 - "$work" <<'END' || fail 'no reports'
import json, os, random, sys, zipfile
random.seed(1)
os.makedirs(sys.argv[1] + '/reports')
with open('test/fixtures/jfr/native.jfr', 'rb') as file:
    recording = file.read()
for i in range(1000):
    name = 'profile_svc_ec2_i-%04d__%d_2026-11-21T02-%02d-%02dZ-%08x.zip' % (
        i % 20, 100 + i % 20, i // 20 % 60, i % 60, random.getrandbits(32))
    with zipfile.ZipFile(os.path.join(sys.argv[1], 'reports', name), 'w', zipfile.ZIP_DEFLATED) as out:
        out.writestr('async_profiler_dump_0.jfr', recording)
        out.writestr('metadata.json', json.dumps({'agent': {'hostname': 'host-%d' % (i % 20)}}))
END
find "$work/reports" -type f | sort | xargs -n 250 -P 4 env AWS_ACCESS_KEY_ID="$access" \
	AWS_SECRET_ACCESS_KEY="$secret" /usr/bin/python3 test/system/s3.py put "$url/reports" 2>/dev/null
[ "$(find "$work/reports" -type f | wc -l)" -eq 1000 ] || fail 'not a thousand'
export AWS_ACCESS_KEY_ID=$access AWS_SECRET_ACCESS_KEY=$secret AWS_REGION=us-east-1 \
	AWS_EC2_METADATA_DISABLED=true XDG_CACHE_HOME=$work/cache ASPROF_AGENT_S3_ENDPOINT=$url

# timed WHAT COMMAND…
timed() {
	local what=$1
	shift
	/usr/bin/time -o "$work/time" -f '%e %M' "$@" >"$work/out" 2>&1 || fail "$what: $(cat "$work/out")"
	awk -v what="$what" '{ printf "%-28s %6.2f s %7d kB\n", what, $1, $2 }' "$work/time"
}

for round in 'the first time' again; do
	timed "ours, $round" "$B/asprof-agent" top --cpu s3://reports
	cp "$work/out" "$work/ours"
	timed "aws s3 sync, $round" aws --endpoint-url "$url" s3 sync s3://reports "$work/synced" --quiet
	timed "and top of the directory" "$B/asprof-agent" top --cpu "$work/synced"
	cmp "$work/ours" "$work/out" || fail 'they differ'
done
