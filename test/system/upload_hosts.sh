#!/bin/bash
# On an EC2 instance, in an ECS task, and elsewhere: the names of uploads, and the sources of their credentials, with
# strict metadata services on loopback.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
have curl

/usr/bin/python3 "$here/metadata_server.py" >"$work/port" 2>"$work/refused" &
pids+=($!)
until_true [ -s "$work/port" ] || fail "no metadata services"
metadata=http://127.0.0.1:$(cat "$work/port")
store

# answers STATUS METHOD PATH [HEADER…]: check that the services are strict.
answers() {
	local status headers=()

	for header in "${@:4}"; do
		headers+=(-H "$header")
	done
	status=$(curl -s -o "$work/answer" -w '%{http_code}' --noproxy '*' -X "$2" "${headers[@]}" \
		"$metadata$3")
	[ "$status" = "$1" ] || fail "$2 $3 ${*:4} is answered with $status"
}
document=/latest/dynamic/instance-identity/document
ttl=X-aws-ec2-metadata-token-ttl-seconds
show=X-aws-ec2-metadata-token
answers 401 GET $document
answers 401 GET $document "$show: guess"
answers 400 PUT /latest/api/token
answers 400 PUT /latest/api/token "$ttl: 21601"
answers 403 PUT /latest/api/token "$ttl: 60" 'X-Forwarded-For: 10.0.0.1'
answers 401 GET /latest/api/token "$ttl: 60"
answers 405 POST /latest/api/token "$ttl: 60"
answers 200 PUT /latest/api/token "$ttl: 60"
answers 200 GET $document "$show: $(cat "$work/answer")"
answers 401 GET /creds
answers 401 GET /creds 'Authorization: other-word'
answers 405 POST /v4/abc/task

# named WHAT PATTERN [NAME=VALUE…]
named() {
	local what=$1 pattern=$2
	shift 2

	empty
	rm -f "$work/log"
	: >"$work/refused"
	profiled 2.5 "$@"
	[ "$(list | wc -l)" -ge 3 ] || fail "$what: $(list | wc -l) arrived"
	[ -z "$(list | grep -vE "^profile_svc_${pattern}_[0-9]+_2[-0-9TZ]+Z-[0-9a-f]{8}\.zip$")" ] ||
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
