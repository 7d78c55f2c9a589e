#!/bin/bash
# What README shows works as it stands there: its commands, with a program of ours as the service, the
# settings that it gives to services and containers, and the variables that it names.
set -u
. "$(dirname "$0")/agent.inc"
source=$PWD readme=$PWD/README.md

# The text of the first block of LANGUAGE that has WORDS in it.
block() {
	awk -v language="$1" -v words="$2" '
		/^```/ && inside { if (index(text, words)) { printf "%s", text; exit } inside = 0; next }
		/^```/ { inside = $0 == "```" language; text = ""; next }
		inside { text = text $0 "\n" }' "$readme" >"$work/block"
	[ -s "$work/block" ] || fail "README has no block of $1 with: $2"
	cat "$work/block"
}

# A service, in a place where README's names mean what they say; it is profiled from its first moment.
mkdir -p "$work/here" "$work/lib"
cp "$preload" "$work/lib/"
ln -s "$B" "$work/here/build"
cat >"$work/service.c" <<'END'
#include <time.h>
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		;
	return 7;
}
END
${CC:-cc} -o "$work/here/service" "$work/service.c" || exit 1
cd "$work/here" || exit 1

# shown WHAT LANGUAGE WORDS: run the block; `…` stands for the library's name.
shown() {
	block "$2" "$3" | sed "s|LD_PRELOAD=… |LD_PRELOAD=$work/lib/libasprof_preload.so |" >"$work/commands"
	LD_LIBRARY_PATH=$work/lib ASPROF_AGENT_START_DELAY=0 TMPDIR=$work/tmp \
		PATH=$B:$PATH bash "$work/commands" >"$work/out" 2>"$work/err"
	status=$?
	[ ! -s "$work/err" ] || ! grep -q 'not found\|No such file\|cannot be preloaded' "$work/err" ||
		fail "$1: $(cat "$work/commands" "$work/err")"
}

mkdir "$work/tmp"
shown "once" sh 'asprof-agent run'
[ $status = 0 ] && grep -q ' main \[service\]' "$work/out" || fail "once: $(cat "$work/out" "$work/err")"

export ASPROF_AGENT_LOCAL_DIR=$work/always
shown "always" sh 'LD_PRELOAD=libasprof_preload.so ./service'
[ $status = 7 ] && [ -n "$(ls "$work/always")" ] || fail "always: $status, $(cat "$work/err")"

# (Where it uploads to is not there.)
export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b AWS_REGION=r ASPROF_AGENT_EXIT_TIMEOUT=20s
export ASPROF_AGENT_S3_ENDPOINT=http://127.0.0.1:1 ASPROF_AGENT_METADATA=none
sed "s|/var/spool/service|$work/spool|" "$readme" >"$work/README.md"
readme=$work/README.md
shown "uploads" sh 'ASPROF_AGENT_S3_BUCKET='
[ $status = 7 ] && [ -n "$(find "$work/spool" -type f)" ] || fail "uploads: $status, $(cat "$work/err")"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION ASPROF_AGENT_EXIT_TIMEOUT \
	ASPROF_AGENT_S3_ENDPOINT ASPROF_AGENT_METADATA ASPROF_AGENT_LOCAL_DIR

# The engine that is brought; the line before it brings it.
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	sed -i "s|\$PWD/build/async-profiler/lib/libasyncProfiler.so|$ASPROF_TEST_LIB|; /^scripts\/setup/d" \
		"$readme"
	ASPROF_AGENT_LOCAL_DIR=$work/engine shown "engine" sh 'ASPROF_AGENT_LIB='
	[ $status = 7 ] && "$agent" summary "$work/engine" | grep -q '^Engine .* [0-9]*\.[0-9]' ||
		fail "engine: $status, $(cat "$work/err")"
fi

# A service's unit and a container: nothing but their environment, and no other program than the service.
# Each takes its words apart itself.
environment() {
	"$@" | sed "s|/usr/local/lib/|$work/lib/|g; s|=libasprof_preload|=$work/lib/libasprof_preload|
		s|/var/lib/asprof-agent|$work/lib|; s|/profiles|$work/lib/profiles|" | xargs -n 1
}
unit() {
	block ini '[Service]' | sed -n 's/^Environment=//p'
}
example() {
	sed -n 's/^Environment=//p' "$source/docs/profile.conf" | sed 's|/%N|/example|'
}
image() {
	block dockerfile ENTRYPOINT | sed -n 's/^ENV //p'
}
block dockerfile ENTRYPOINT | grep -qx 'ENTRYPOINT \["/service"\]' ||
	fail "the container starts another program"
for kind in unit example image; do
	mapfile -t settings < <(environment $kind)
	directory=$(printf '%s\n' "${settings[@]}" | sed -n 's/^ASPROF_AGENT_LOCAL_DIR=//p')
	env -i ASPROF_AGENT_START_DELAY=0 "${settings[@]}" ./service 2>"$work/err"
	[ $? = 7 ] && [ ! -s "$work/err" ] && [ -n "$(ls "$directory")" ] ||
		fail "$kind: ${settings[*]}: $(cat "$work/err")"
done

# Each variable is one of the agent's.
known=$("$agent" options | sed -n 's/^\(ASPROF_AGENT_[A-Z0-9_]*\).*/\1/p')
for name in $(grep -o 'ASPROF_AGENT_[A-Z][A-Z0-9_]*' "$readme" | sort -u); do
	grep -qx "$name" <<<"$known" || fail "README names $name, which there is not"
done
echo ok
