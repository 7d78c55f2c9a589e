#!/bin/bash
# A FIFO or a device at the path of a file that the agent opens delays neither the start nor the exit.
. "$(dirname "$0")/agent.inc"

mkfifo "$work/fifo" && mkdir "$work/out" "$work/spool" || exit 1
chmod 0700 "$work/spool"
for dir in out spool; do
	mkfifo "$work/$dir/sleep_1_2026-11-21T02-10-00Z.jfr" "$work/$dir/1-1.jfr" \
		"$work/$dir/1-1.json" "$work/$dir/.1-1.jfr" || exit 1
done

# started WHAT [VARIABLE=value...]: run a program until it is profiled. It waits for a word in the file SAID, which
# has all messages.
said=$work/said
started() {
	local what=$1
	shift
	profiled "$work/out" builtin EXIT_TIMEOUT=300ms LOCAL_MAX_BYTES=64k LOG=info PROCESS=bash "$@" \
		timeout 30 bash -c 'until grep -q "profiling bash" "$0"; do :; done' "$said" \
		>"$said" 2>&1 || fail "$what: status $?, $(cat "$said")"
}

# read_by NAME FILE: start it with FILE as a file of settings. The agent does not read the FIFO.
read_by() {
	metadata=none
	[ "$1" != METADATA ] || metadata=file:$2
	export "$1=$2" AWS_ROLE_ARN=arn:aws:iam::1:role/none
	started "$1=$2" S3_BUCKET=none S3_ENDPOINT=https://127.0.0.1:1 \
		METADATA="$metadata" SPOOL_DIR="$work/spool"
}

export AWS_REGION=nowhere AWS_EC2_METADATA_DISABLED=true
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
count=0
for name in AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_CA_BUNDLE METADATA \
	AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE; do
	for file in "$work/fifo" /dev/zero; do
		count=$((count + 1))
		(
			said=$work/said.$count
			read_by $name "$file"
		) >"$work/failed.$count" || echo $count >>"$work/failed" &
	done
done
wait
[ ! -e "$work/failed" ] || fail "$(cat "$work"/failed.*)"

started "a log without a reader" LOG_FILE="$work/fifo"
grep -q 'cannot open ASPROF_AGENT_LOG_FILE=.*fifo: .*; stderr is used instead' "$said" ||
	fail "a log without a reader: $(cat "$said")"

# A FIFO with a reader gets the agent's lines, and the program continues.
exec {reader}<>"$work/fifo"
profiled "$work/out" builtin LOG=info LOG_FILE="$work/fifo" PROCESS=sleep sleep 30 2>"$said" &
read -r -t 20 line <&$reader || fail "a log that is read: nothing"
kill $!
wait $!
case $line in
asprof-agent*) ;;
*) fail "a log that is read: $line" ;;
esac
[ ! -s "$said" ] || fail "a log that is read: $(cat "$said")"
echo ok
