#!/bin/bash
# Every switch in the help of a command that reads profiles is accepted, and every setting with its default. What
# they do is tested elsewhere.
. "$(dirname "$0")/agent.inc"
cat >"$work/service.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int n, char **ms)
{
	while (clock() < atoi(ms[n - 1]) * (CLOCKS_PER_SEC / 1000))
		memset(malloc(10000), 1, 10000);
	return 0;
}
END
${CC:-cc} -g -O1 -fno-builtin -o "$work/service" "$work/service.c" || exit 1
profiled "$work/profiles" builtin CPU_INTERVAL=1ms WALL_INTERVAL=10ms NATIVE_MEM=16k "$work/service" 200 ||
	fail "service: status $?"
unset DEBUGINFOD_URLS

# value ARGUMENT: a value of that form.
value() {
	case $1 in
	*'|'*) echo "${1%%|*}" ;;
	TIME) echo 1s ;;
	N | SHARE) echo 1 ;;
	REGEX) echo . ;;
	REGEX=NAME) echo .=text ;;
	FILE*) echo "$work/profiles" ;;
	OUT) echo "$work/out" ;;
	DIR) echo "$work" ;;
	SIZE) echo 1m ;;
	KEY=VALUE) echo key=value ;;
	ID) echo 4bf92f3577b34da6a3ce929d0e0e4736 ;;
	URL) echo http://127.0.0.1:1 ;;
	NAME | TEXT) echo text ;;
	FORMAT) echo firefox ;;
	CAUSE) echo lock ;;
	esac
}

# accepted COMMAND WORD...: the command ends with status 0, or with 1 after a message.
accepted() {
	timeout 60 "$agent" "$@" >"$work/said" 2>"$work/err"
	status=$?
	[ $status = 0 ] || { [ $status = 1 ] && [ -s "$work/err" ]; } ||
		fail "$*: status $status: $(head -c 2000 "$work/said" "$work/err")"
}

switches=0
for command in summary cost top collapsed waits longpolls nativemem duration pprof timeline export leaks lifetimes flamegraph \
	heatmap; do
	"$agent" $command --help >"$work/help" || fail "$command --help: status $?"
	while read -r switch argument; do
		set -- "$switch"
		[ -z "$argument" ] || set -- "$switch" "$(value "$argument")"
		[ -z "$argument" ] || [ -n "$2" ] || fail "$command $switch: what is a value of $argument?"
		case $command$switch in # --live needs a format without single samples
		export--live | export--leak | export--retained) set -- "$@" --format pprof ;;
		export--total | export--threads) set -- "$@" --format collapsed ;;
		export*) set -- "$@" --format speedscope ;;
		esac
		[ $switch = -o ] || ! grep -q '^  -o OUT' "$work/help" || set -- "$@" -o "$work/out"
		case $switch in # it needs another one
		--for) set -- "$@" --at 0s ;;
		--base-*) set -- "$@" --base "$work/profiles" ;;
		esac
		accepted $command "$work/profiles" "$@"
		switches=$((switches + 1))
	done < <(sed -nE 's/^  (--?[a-z-]+)( ([^ ]+))?(  .*)?$/\1 \3/p' "$work/help")
done
[ $switches -gt 300 ] || fail "only $switches switches are found"

settings=0
while IFS=' ' read -r setting default; do
	env "ASPROF_AGENT_LOCAL_DIR=$work/settings" ASPROF_AGENT_START_DELAY=0 "$setting=$default" LD_PRELOAD="$preload" \
		"$work/service" 10 >"$work/said" 2>&1 || fail "$setting: status $?: $(cat "$work/said")"
	[ ! -s "$work/said" ] || fail "$setting=$default: $(cat "$work/said")"
	settings=$((settings + 1))
done < <("$agent" options --json | sed -nE 's/^ *\{"name": "([A-Z0-9_]*)", "default": "([^"]*)", .*/\1 \2/p')
[ $settings -gt 30 ] || fail "only $settings settings are found"
echo "ok: $switches switches, $settings settings"
