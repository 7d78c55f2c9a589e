#!/bin/bash
# Takes long.
# Every block of code in the guides (docs/, without the decisions) is run as it is written. A comment in the line
# before the block states how. A block without such a comment fails:
#
#   <!-- run -->                by bash, in a folder that has a program ./service; must end with status 0
#   <!-- run: STATUS -->        must end with that status
#   <!-- run: PATTERN -->       its output must match, too
#   <!-- run with TOOL: PATTERN -->  the same, unless this machine lacks TOOL
#   <!-- run of 1234: PATTERN -->    with the ID of a process without the agent instead of 1234, and short times
#   <!-- run of a profiled 1234: PATTERN -->  the same with a process that has the agent
#   <!-- file: NAME -->         becomes the file NAME there, for the blocks that follow
#   <!-- check: COMMAND -->     COMMAND, with the block on its standard input, must end with status 0
#   <!-- run by TEST -->        by that test, which names this guide (test/system/guide.inc)
#   <!-- not run: REASON -->
#
#   GUIDES="docs/install/attach.md"  only these guides
#
# Blocks of one guide are run in their order, in one folder. (readme.sh runs README's blocks, and fails on a block
# that nothing runs.)
. "$(dirname "$0")/agent.inc"
have python3
source=$PWD

# The tools as installed. The dynamic linker finds the library by its name.
mkdir -p "$work/tools" "$work/lib"
ln -s "$B/asprof-agent" "$B/asprof-agent-launch" "$source/launcher/asprof-agent-entrypoint" "$work/tools/"
cp "$preload" "$work/lib/"
cat >"$work/service.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void *wait(void *unused) { usleep(200000); return unused; }
__attribute__((noinline)) void *keep(size_t n) { return memset(malloc(n), 1, n); }
int main(int n, char **v)
{
	pthread_t id;
	for (alarm(300); n > 1; usleep(1000), keep(v[1][0]))
		for (int i = 0; i < 100; i++) free(keep(100000));
	pthread_create(&id, 0, wait, 0);
	for (int i = 0; i < 200; i++) keep(20000);
	while (clock() < CLOCKS_PER_SEC / 5) free(keep(1000));
	return pthread_join(id, 0);
}
END
${CC:-cc} -g -O1 -fno-builtin -pthread -o "$work/service" "$work/service.c" || exit 1

# Parts of a guide: NUMBER.how and NUMBER.block, for the block that begins in that line.
split() {
	awk -v out="$1" '
		inside == 2 { before = before "\n" $0; if (/ -->$/) inside = 0; next }
		/^<!-- / && !inside { before = $0; if (!/ -->$/) inside = 2; next }
		/^```/ && !inside {
			inside = 1; block = out "/" sprintf("%04d", NR)
			sub(/^<!-- /, "", before); sub(/ -->$/, "", before)
			print before >(block ".how"); close(block ".how")
			printf "" >(block ".block")
			next
		}
		/^```/ { inside = 0; close(block ".block"); before = ""; next }
		inside { print >(block ".block"); next }
		{ before = "" }' "$2"
}

# The programs that guides name, in the current folder.
program_of() {
	case $1 in
	docs/install/packages.md) (cd "$source" && B=$B PREFIX='' DESTDIR="$OLDPWD/asprof-agent" scripts/install >"$work/out") ;;
	docs/install/static.md) ${CC:-cc} -static -g -O1 -pthread -o service "$work/service.c" 2>"$work/err" || rm service ;;
	docs/languages/node.md)
		echo 'function work() { for (let end = Date.now() + 500; Date.now() < end;); } work()' >server.js
		;;
	docs/languages/ruby.md)
		printf '#!/usr/bin/env ruby\ndef work; t = Time.now; nil while Time.now - t < 0.5; end\nwork\n' >"$work/tools/puma"
		chmod +x "$work/tools/puma"
		;;
	docs/languages/php.md)
		mkdir -p bin
		echo '<?php function work() { $t = microtime(true); while (microtime(true) - $t < 0.5); } work();' >bin/console
		;;
	docs/languages/go.md)
		! command -v go >/dev/null || {
			printf 'package main\nimport ("os"; "time")\n%s\n' \
				'func main() { for t := time.Now(); time.Since(t) < 2*time.Second; { os.Getpid() } }' >shop.go
			GO111MODULE=off CGO_ENABLED=0 go build -o shop shop.go
		}
		;;
	docs/languages/java.md)
		! command -v javac jar >/dev/null || {
			echo 'public class Main { public static void main(String[] a) {
				for (long t = System.nanoTime(); System.nanoTime() - t < 500000000L;); } }' >Main.java
			javac Main.java && jar cfe service.jar Main Main.class
		}
		;;
	docs/reference/commands.md)
		echo 'import json, time
def work():
    while time.process_time() < 0.5: json.loads(json.dumps(list(range(100))))
work()' >work.py
		"$agent" run -o profiles -- /usr/bin/python3 work.py >"$work/out" 2>&1
		;;
	docs/questions/stalls.md)
		printf '#!%s\nimport asyncio, time\n%s\n' /usr/bin/python3 \
			'async def main(): await asyncio.sleep(0.3); time.sleep(0.1); await asyncio.sleep(0)
asyncio.run(main())' >service
		;;
	esac
}

# start_process PRELOAD: leaves its ID in $pid.
start_process() {
	LD_PRELOAD=$1 ASPROF_AGENT_LOCAL_DIR=$work/tmp ASPROF_AGENT_NATIVE_MEM=1k ASPROF_AGENT_START_DELAY=0 ./service loop &
	pid=$!
	[ -z "$1" ] || for _ in {1..300}; do
		! "$agent" status $pid >/dev/null 2>&1 || break
		sleep 0.1
	done
}

# run_of_process HOW BLOCK: leaves the block with this process in $work/block.
run_of_process() {
	case $1 in
	*profiled*) start_process "$preload" ;;
	*) start_process '' ;;
	esac
	sed "s/1234/$pid/g; s/30s/1s/g; s|/var/lib|$work/tmp|" "$2" >"$work/block"
}

# run_block GUIDE:LINE HOW BLOCK
run_block() {
	local at=$1 how=$2 block=$3 status wanted=0 pattern='' pid=''

	case $how in
	'run by '*)
		grep -qsF "guide_block $guide" "$source/${how#run by }" || fail "$at: ${how#run by } does not run it"
		return
		;;
	'run with '*)
		pattern=${how#*: } how=${how#run with }
		if ! command -v "${how%%: *}" >/dev/null; then
			echo "$at is not run: ${how%%: *} is not on this machine"
			return 0
		fi
		how='run with'
		;;
	'run of '*)
		pattern=${how#*: }
		run_of_process "$how" "$block"
		block=$work/block how='run of'
		;;
	esac
	case $how in
	'run with' | 'run of') ;;
	'run') ;;
	'run: '[0-9] | 'run: '[0-9][0-9]*) wanted=${how#run: } ;;
	'run: '*) pattern=${how#run: } ;;
	'file: '*)
		mkdir -p "$(dirname "${how#file: }")"
		cp "$block" "${how#file: }"
		return
		;;
	'check: '*)
		bash -c "${how#check: }" <"$block" >"$work/out" 2>&1 || fail "$at: ${how#check: }: $(cat "$work/out")"
		return
		;;
	'not run: '?*) return ;;
	*) fail "$at: nothing says how this block is run: '$how'" ;;
	esac
	PATH=$work/tools:$PATH LD_LIBRARY_PATH=$work/lib ASPROF_AGENT_START_DELAY=0 TMPDIR=$work/tmp \
		AWS_EC2_METADATA_DISABLED=true bash -e "$block" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ -z "$pid" ] || kill $pid 2>"$work/killed"
	[ $status = "$wanted" ] || fail "$at: status $status: $(cat "$block" "$work/out" "$work/err")"
	! grep -q 'cannot be preloaded\|command not found' "$work/err" || fail "$at: $(cat "$work/err")"
	[ -z "$pattern" ] || grep -qE -- "$pattern" "$work/out" "$work/err" ||
		fail "$at: no '$pattern' in: $(cat "$work/out" "$work/err")"
}

# switches GUIDE: the help of each command has the switches that the guide uses with it, also in text and in blocks that
# are not run.
switches() {
	local command switch

	tr '\n' ' ' <"$1" | sed 's/asprof-agent /\n&/g' | sed -nE 's/^asprof-agent ([a-z]+)([^`|;&>#$]*).*/\1 \2/p' |
		sed 's/ -- .*//' | while read -r command words; do
		for switch in $words; do
			case $switch in
			-[a-z] | --[a-z]*) ;;
			*) continue ;;
			esac
			switch=${switch%%=*} switch=${switch%[.,)]}
			"$agent" "$command" --help 2>&1 | grep -qE -- "^ *$switch( |\[|\$)|[[ ]$switch( |\[|])" ||
				echo "$1: asprof-agent $command has no $switch"
		done
	done >"$work/switches"
	[ ! -s "$work/switches" ] || fail "$(cat "$work/switches")"
}

mkdir "$work/tmp"
blocks=0
switches README.md
for guide in ${GUIDES:-$(find docs -name decisions -prune -o -name "*.md" -print | sort)}; do
	name=${guide%.md}
	mkdir -p "$work/parts/$name" "$work/$name"
	split "$work/parts/$name" "$source/$guide"
	cp "$work/service" "$work/$name/"
	(cd "$work/$name" && program_of "$guide") || fail "$guide: its program"
	for how in "$work/parts/$name"/*.how; do
		[ -e "$how" ] || continue
		line=${how##*/}
		text=$(cat "$how")
		(cd "$work/$name" && run_block "$guide:$((10#${line%.how}))" "$text" "${how%.how}.block") || exit 1
		blocks=$((blocks + 1))
	done
	# All variables, pages and commands in the guides exist.
	known=${known:-$("$agent" options | sed -n 's/^\(ASPROF_AGENT_[A-Z0-9_]*\).*/\1/p')}
	for variable in $(grep -o 'ASPROF_AGENT_[A-Z][A-Z0-9_]*' "$guide" | sort -u); do
		grep -qx "$variable" <<<"$known" || [ "$variable" = ASPROF_AGENT_CPU_INTERVALL ] ||
			fail "$guide names $variable, which there is not"
	done
	switches "$guide"
	for command in $(grep -oE 'asprof-agent [a-z]+' "$guide" | sed 's/.* //' | sort -u); do
		"$agent" "$command" --help >"$work/out" 2>&1 || fail "$guide: there is no asprof-agent $command"
	done
done
for page in README.md CONTRIBUTING.md SECURITY.md $(find docs -name '*.md'); do
	for link in $(grep -oE '\]\([^):#]+' "$page" | cut -c3-); do
		[ -e "$(dirname "$page")/$link" ] || fail "$page leads to $link, which there is not"
	done
done
for page in docs/internals/decisions/*.md; do
	[ "${page##*/}" = README.md ] || grep -q "(${page##*/})" docs/internals/decisions/README.md ||
		fail "$page is not in the index"
done
[ $blocks -gt 20 ] || [ -n "${GUIDES:-}" ] || fail "only $blocks blocks are found"
echo "ok: $blocks blocks"
