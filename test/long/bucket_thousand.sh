#!/bin/bash
# A thousand reports in a bucket: reading them there is at least as fast as copying them by the AWS command line and
# reading the copy, in less than 100 MiB, the first time and again. (test/system/bucket.inc checks that nothing is
# fetched again.) Both are measured in the same run.
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
