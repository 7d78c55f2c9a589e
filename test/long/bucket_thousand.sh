#!/bin/bash
# A thousand reports in a bucket: to read them there is at least as fast as to bring them here by the AWS command
# line and read them then, in less than 100 MiB, the first time and again. (That nothing is fetched again is
# test/system/bucket.inc's.) What is compared was measured side by side.
B=$(cd "${B:-build}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
out=$(B=$B bash test/bench/bucket.sh) || {
	status=$?
	echo "$out"
	exit $status
}
echo "$out"
awk '
	/^ours, / { ours = $(NF - 3); if ($(NF - 1) >= 102400) bad = "memory" }
	/^aws s3 sync/ { theirs = $(NF - 3) }
	/^and top/ { rounds++; if (ours > theirs + $(NF - 3)) bad = "time" }
	END { if (bad || rounds != 2) { print "FAILED: " bad; exit 1 } }' <<<"$out"
