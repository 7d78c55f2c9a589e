#!/bin/bash
# Programs with few resources: closed descriptors, few of them, small stacks, a proxy for the program only. Their
# reports arrive by HTTPS, and they behave as without the agent.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
have openssl
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -I"$here/../.." -O2 -pthread -o "$work/small_threads" \
	"$here/../programs/small_threads.c" || fail "cannot build"
certificate good
store good

# scarce GROUP [NAME=VALUE…] COMMAND…: under the preload, in the background.
scarce() {
	env -i PATH="$PATH" AWS_ACCESS_KEY_ID="$access" AWS_SECRET_ACCESS_KEY="$secret" \
		AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true AWS_CA_BUNDLE="$work/good.pem" \
		ASPROF_AGENT_S3_BUCKET=reports ASPROF_AGENT_S3_ENDPOINT="$url" \
		ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_REPORTING_INTERVAL=1s \
		ASPROF_AGENT_LOG_FILE="$work/$1.log" ASPROF_AGENT_EXIT_TIMEOUT=10s \
		ASPROF_AGENT_PROFILING_GROUP="$1" LD_PRELOAD="$preload" "${@:2}" &
	jobs+=($!)
	groups+=("$1")
}
bare() {
	env -i "$@" &
}

# The number of the program's next descriptor, after the first reports.
lowest='import os, time
time.sleep(2.5)
fd = os.open(os.environ["OUT"], os.O_WRONLY | os.O_CREAT, 0o600)
os.write(fd, str(fd).encode())'
scarce closed OUT="$work/lowest" /usr/bin/python3 -c "$lowest" <&- >&- 2>&-
bare OUT="$work/lowest_bare" /usr/bin/python3 -c "$lowest" <&- >&- 2>&-

# The number of descriptors that the program can open: the missing ones are the agent's, for a while.
most='import os, time
time.sleep(1.5)
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
assert len(held) >= 4, held
for fd in held:
    os.close(fd)
time.sleep(1.5)'
(ulimit -n 16 && scarce few /usr/bin/python3 -c "$most" && wait $!) &
jobs+=($!) groups+=(few)
# (Some programs cannot start in 16 KiB, with their environment.)
(ulimit -S -s 24 && scarce stack sleep 2.5 && wait $!) &
jobs+=($!) groups+=(stack)
scarce threads "$work/small_threads" 3
nobody=http://127.0.0.1:1
scarce proxy {http,https,all}_proxy=$nobody {HTTPS,ALL}_PROXY=$nobody no_proxy= sleep 2.5
scarce own_proxy ASPROF_AGENT_S3_PROXY=$nobody sleep 2.5

for i in "${!jobs[@]}"; do
	wait "${jobs[i]}" || fail "${groups[i]}: the program's status is $?"
done
for group in "${groups[@]}"; do
	arrived=$(list | grep -c "^profile_${group}_")
	echo "$group: $arrived reports arrived$(sed 's/^asprof-agent[^:]*: /; /' \
		"$work/$group.log" 2>/dev/null | head -n 2)"
	[ "$group" = own_proxy ] || [ "$arrived" -ge 2 ] || fail "$group: $arrived reports arrived"
done
[ "$(cat "$work/lowest")" = "$(cat "$work/lowest_bare")" ] ||
	fail "the lowest free descriptor is $(cat "$work/lowest")"
[ "$(list | grep -c '^profile_own_proxy_')" -eq 0 ] || fail "our own proxy was passed by"
grep -q 'no upload to the bucket' "$work/own_proxy.log" || fail "nothing is said of the proxy"
[ -z "$(refused)" ] || fail "refused: $(refused)"
