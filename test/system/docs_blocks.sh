#!/bin/bash
# Every block of code in the guides (docs/, without the decisions) is run as it is written. A comment in the line
# before the block states how. A block without such a comment fails:
#
#   <!-- run -->                by bash, in a folder that has a program ./service; must end with status 0
#   <!-- run: STATUS -->        must end with that status
#   <!-- run: PATTERN -->       its output must match, too
#   <!-- file: NAME -->         becomes the file NAME there, for the blocks that follow
#   <!-- check: COMMAND -->     COMMAND, with the block on its standard input, must end with status 0
#   <!-- long: ... -->          is run by test/long/containers.sh, in a root directory of its own
#   <!-- not run: REASON -->
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
int main(void)
{
	pthread_t id;
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

# run_block GUIDE:LINE HOW BLOCK
run_block() {
	local at=$1 how=$2 block=$3 status wanted=0 pattern=

	case $how in
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
	'long: '* | 'not run: '?*) return ;;
	*) fail "$at: nothing says how this block is run: '$how'" ;;
	esac
	PATH=$work/tools:$PATH LD_LIBRARY_PATH=$work/lib ASPROF_AGENT_START_DELAY=0 TMPDIR=$work/tmp \
		AWS_EC2_METADATA_DISABLED=true bash -e "$block" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ $status = "$wanted" ] || fail "$at: status $status: $(cat "$block" "$work/out" "$work/err")"
	! grep -q 'cannot be preloaded\|command not found' "$work/err" || fail "$at: $(cat "$work/err")"
	[ -z "$pattern" ] || grep -qE -- "$pattern" "$work/out" "$work/err" ||
		fail "$at: no '$pattern' in: $(cat "$work/out" "$work/err")"
}

mkdir "$work/tmp"
blocks=0
for guide in $(find docs -name decisions -prune -o -name '*.md' -print | sort); do
	name=${guide%.md}
	mkdir -p "$work/parts/$name" "$work/$name"
	split "$work/parts/$name" "$source/$guide"
	cp "$work/service" "$work/$name/"
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
[ $blocks -gt 20 ] || fail "only $blocks blocks are found"
echo "ok: $blocks blocks"
