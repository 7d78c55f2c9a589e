#!/bin/sh
# `asprof-agent options`: complete, readable at 80 columns, valid JSON, and without secrets.
set -u
agent=${B:-build}/asprof-agent
fail() {
	echo "$*"
	exit 1
}

# The caller's environment must not matter.
for name in $(env | sed -n 's/^\(ASPROF_AGENT_[A-Z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done

plain=$("$agent" options) || fail "options: status $?"
json=$("$agent" options --json) || fail "options --json: status $?"
markdown=$("$agent" options --markdown) || fail "options --markdown: status $?"

long=$(echo "$plain" | awk 'length > 80')
[ -z "$long" ] || fail "longer than 80 columns: $long"

for name in ENABLED CPU_INTERVAL NATIVE_MEM_GROWTH S3_BUCKET_OWNER LISTEN_TOKEN LOG_FILE; do
	echo "$plain" | grep -q "^ASPROF_AGENT_$name\$" || fail "no $name in the list"
	echo "$markdown" | grep -q "^| \`ASPROF_AGENT_$name\` |" || fail "no $name in the table"
	echo "$json" | grep -q "\"name\": \"ASPROF_AGENT_$name\"" || fail "no $name in the JSON"
done
n=$(echo "$plain" | grep -c '^ASPROF_AGENT_')
[ "$(echo "$json" | grep -c '"name"')" = "$n" ] || fail "the JSON has other options than the list"
[ "$(echo "$markdown" | grep -c '^| `')" = "$n" ] || fail "the table has other options than the list"

here=$(ASPROF_AGENT_CPU_INTERVAL=20ms ASPROF_AGENT_LISTEN_TOKEN=hush \
	ASPROF_AGENT_S3_PROXY='http://me:hush@proxy:3128/?hush' \
	ASPROF_AGENT_WALL_INTERVAL='10 parsecs' ASPROF_AGENT_TAGS='a="b\c' "$agent" options)
printf '%s\n' "$here" | grep -q '^ASPROF_AGENT_CPU_INTERVAL=20ms$' || fail "the value here is not shown"
printf '%s\n' "$here" | grep -A1 '^ASPROF_AGENT_WALL_INTERVAL=10 parsecs$' | grep -q 'NOT ACCEPTED' ||
	fail "the wrong value is not told"
printf '%s\n' "$here" | grep -q '^ASPROF_AGENT_S3_PROXY=http://proxy:3128/$' || fail "the proxy is not shown"
printf '%s\n' "$here" | grep -q hush && fail "a secret is shown"

ASPROF_AGENT_CPU_INTERVAL='10 parsecs' "$agent" options >/dev/null 2>&1
[ $? = 1 ] || fail 'a wrong value is not status 1'
unknown=$(ASPROF_AGENT_FOO=geheim ASPROF_AGENT_CPU_INTERVL=1ms "$agent" options 2>/dev/null) ||
	fail 'an unknown name is not status 0, as the agent ignores it'
echo "$unknown" | grep -A 1 '^ASPROF_AGENT_FOO$' | grep -q 'NOT KNOWN' || fail 'an unknown name is not told'
echo "$unknown" | grep -A 2 '^ASPROF_AGENT_CPU_INTERVL$' | grep -q 'nearest name is ASPROF_AGENT_CPU_INTERVAL' ||
	fail 'a near name is not told'
echo "$unknown" | grep -q 'FORK is near\|nearest name is ASPROF_AGENT_FORK' && fail 'FOO is near FORK'
echo "$unknown" | grep -q geheim && fail 'the value of an unknown name is shown'

if command -v python3 >/dev/null; then
	got=$(ASPROF_AGENT_TAGS='a="b\c	' ASPROF_AGENT_LISTEN_TOKEN=hush "$agent" options --json |
		python3 -c '
import json, sys
rows = {r["name"]: r for r in json.load(sys.stdin)}
tags = rows["ASPROF_AGENT_TAGS"]
print(tags["value"] == "a=\"b\\c\t", tags["accepted"], tags["default"],
      rows["ASPROF_AGENT_LISTEN_TOKEN"]["value"])')
	[ "$got" = "True False None (not shown)" ] || fail "the JSON reads as: $got"
fi

"$agent" options --nonsense >/dev/null 2>&1
[ $? = 2 ] || fail "a wrong switch is not status 2"
"$agent" options --json more >/dev/null 2>&1
[ $? = 2 ] || fail "a word too many is not status 2"
[ ! -e /dev/full ] || ! "$agent" options >/dev/full 2>/dev/null || fail "a full disk is status 0"
echo ok
