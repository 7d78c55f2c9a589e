#!/bin/bash
# On an EC2 instance, in an ECS task, and elsewhere: what uploads are called, and where their
# credentials come from, by strict metadata services on loopback.
. "$(dirname "$0")/upload.inc"
. "$here/swift.inc"

/usr/bin/python3 "$here/metadata_server.py" >"$work/port" 2>"$work/refused" &
pids+=($!)
for _ in $(seq 50); do
	[ -s "$work/port" ] && break
	sleep 0.1
done
metadata=http://127.0.0.1:$(cat "$work/port")
store

# named WHAT PATTERN [NAME=VALUE…]
named() {
	local what=$1 pattern=$2
	shift 2

	empty
	rm -f "$work/log"
	: >"$work/refused"
	profiled 2.5 "$@"
	[ "$(list | wc -l)" -ge 3 ] || fail "$what: $(list | wc -l) arrived"
	[ -z "$(list | grep -vE "^profile_svc_${pattern}_[0-9]+_2[-0-9TZ]+\.zip$")" ] ||
		fail "$what: $(list)"
	[ ! -s "$work/refused" ] || fail "$what: $(cat "$work/refused")"
	echo "$what: $(list | head -n 1)"
}

group=ASPROF_AGENT_PROFILING_GROUP=svc
named 'EC2, with the role of the instance' 'ec2_i-0123-45-6_' $group AWS_EC2_METADATA_DISABLED= \
	AWS_EC2_METADATA_SERVICE_ENDPOINT="$metadata/" AWS_ACCESS_KEY_ID= AWS_REGION=
grep -q "come from the instance's role" "$work/log" || fail "the role was not used"
named 'ECS, with the credentials of the task' \
	'ecs_arn:aws:ecs:eu-west-1:123456789012:task-my-cluster-0b69_' $group \
	ECS_CONTAINER_METADATA_URI_V4="$metadata/v4/abc" AWS_ACCESS_KEY_ID= \
	AWS_CONTAINER_CREDENTIALS_FULL_URI="$metadata/creds" \
	AWS_CONTAINER_AUTHORIZATION_TOKEN=container-word
grep -q "come from the container's agent" "$work/log" || fail "the agent was not asked"
named 'neither' 'unknown__' $group
named 'not to be asked' 'unknown__' $group ASPROF_AGENT_METADATA=none AWS_EC2_METADATA_DISABLED= \
	AWS_EC2_METADATA_SERVICE_ENDPOINT="$metadata"
printf '{"ec2_instance_id":"i-file"}' >"$work/metadata"
named 'from a file' 'ec2_i-file_' $group ASPROF_AGENT_METADATA="file:$work/metadata"
