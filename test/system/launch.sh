#!/bin/bash
# asprof-agent-launch and asprof-agent-entrypoint, the latter with each installed shell. They execute the program,
# with the preload if possible, otherwise without it and with a line that gives the reason.
. "$(dirname "$0")/agent.inc"

mkdir -p "$work/opt/bin" "$work/opt/lib" "$work/near" "$work/a b" "$work/far" "$work/path"
for place in opt/bin near 'a b' far; do
	cp "$B/asprof-agent-launch" launcher/asprof-agent-entrypoint "$work/$place/"
done
# An empty library, because the test only checks LD_PRELOAD.
echo 'int asprof_agent_nothing;' >"$work/empty.c"
${CC:-cc} -shared -fPIC -o "$work/opt/lib/libasprof_preload.so" "$work/empty.c" || exit 1
library=$work/opt/lib/libasprof_preload.so
for place in near 'a b'; do
	cp "$library" "$work/$place/"
done

# Programs: each prints the environment and ends with 7.
cat >"$work/good.c" <<'END'
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	printf("%s", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
	for (int i = 1; i < argc; i++)
		printf("|%s", argv[i]);
	printf("|%s\n", getenv("KEPT") ? getenv("KEPT") : "");
	return 7;
}
END
compile() {
	${CC:-cc} -o "$work/path/$1" "$work/good.c" "${@:2}" || exit 1
}
compile good
compile static -static
compile elsewhere -Wl,--dynamic-linker=/nowhere/ld-linux.so.2
printf '#!%s -x\n' "$work/path/good" >"$work/path/script"
printf '#!/usr/bin/env good\n' >"$work/path/by_env"
printf '#!%s\n' "$work/path/static" >"$work/path/of_static"
chmod +x "$work/path/script" "$work/path/by_env" "$work/path/of_static"
echo words >"$work/path/data"
PATH=$work/path:$PATH
export PATH KEPT='a b=c'

ways=("$work/WHERE/asprof-agent-launch")
for shell in dash bash 'busybox sh'; do
	! command -v "${shell%% *}" >/dev/null || ways+=("$shell $work/WHERE/asprof-agent-entrypoint")
done

# start WHERE ARGUMENT...: run the tested launcher from that folder; leaves $out, $err and $status.
start() {
	local words

	IFS=' ' read -ra words <<<"${way%%/*}"
	out=$("${words[@]}" "/${way#*/}" "${@:2}" 2>"$work/err")
	status=$?
	err=$(cat "$work/err")
}
where() {
	way=${each/WHERE/$1}
}

# expect WHAT OUTPUT ARGUMENT...: the launcher printed nothing, and the program's output is OUTPUT.
expect() {
	local what="$1 (${each%% *})" wanted=$2

	shift 2
	start - "$@"
	[ "$status $out" = "7 $wanted" ] && [ -z "$err" ] ||
		fail "$what: wanted '$wanted', got $status '$out' $err"
}

# refused WHAT PATTERN ARGUMENT...: one line matches, and the program runs without the preload.
refused() {
	local what="$1 (${each%% *})" pattern=$2

	shift 2
	start - "$@"
	[[ "$status $out" == "7 none|"* ]] || fail "$what: status $status, '$out' $err"
	[[ $err =~ ^asprof-agent-(launch|entrypoint):\ .*\ will\ not\ be\ profiled:\ .*$pattern ]] ||
		fail "$what: said '$err'"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "$what: more than a line: $err"
}

# ends WHAT STATUS ARGUMENT...
ends() {
	start - "${@:3}"
	[ "$status" = "$2" ] && [ -n "$err" ] || fail "$1 (${each%% *}): status $status, '$err'"
}

# A library that needs a function that no C library has.
echo 'void nothing(void) {}' >"$work/stub.c"
echo 'GLIBC_2.99 { nothing; };' >"$work/stub.map"
echo 'void nothing(void); void asprof_agent_call(void) { nothing(); }' >"$work/new.c"
mkdir "$work/stub" "$work/new"
${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script="$work/stub.map" \
	-o "$work/stub/libc.so.6" "$work/stub.c" &&
	${CC:-cc} -shared -fPIC -nostdlib -o "$work/new/libasprof_preload.so" "$work/new.c" \
		"$work/stub/libc.so.6" || exit 1
# A library for another architecture.
mkdir "$work/other"
cp "$library" "$work/other/"
printf '\10\0' | dd of="$work/other/libasprof_preload.so" bs=1 seek=18 conv=notrunc 2>"$work/dd" || exit 1
cp "$B/asprof-agent-launch" launcher/asprof-agent-entrypoint "$work/new/"
cp "$B/asprof-agent-launch" launcher/asprof-agent-entrypoint "$work/other/"

for each in "${ways[@]}"; do
	where opt/bin
	expect "good" "$library|one|two words|$KEPT" good one 'two words'
	expect "by path" "$library|$KEPT" "$work/path/good"
	expect "script" "$library|-x|$work/path/script|$KEPT" script
	expect "script by env" "$library|$work/path/by_env|$KEPT" by_env
	LD_PRELOAD=$work/near/other.so
	cp "$library" "$LD_PRELOAD"
	export LD_PRELOAD
	expect "others stay" "$library:$LD_PRELOAD|$KEPT" good
	LD_PRELOAD=$work/near/libasprof_preload.so
	expect "not twice" "$LD_PRELOAD|$KEPT" good
	LD_PRELOAD=
	expect "an empty one" "$library|$KEPT" good
	unset LD_PRELOAD
	where near
	expect "library in the same folder" "$work/near/libasprof_preload.so|$KEPT" good
	where far
	LD_LIBRARY_PATH=$work/opt/lib
	export LD_LIBRARY_PATH
	expect "library by its name" "libasprof_preload.so|$KEPT" good
	unset LD_LIBRARY_PATH

	where opt/bin
	refused "static" "is statically linked" static
	refused "script of a static program" "is statically linked" of_static
	if command -v musl-gcc >/dev/null; then
		[ -e "$work/path/musl" ] || musl-gcc -o "$work/path/musl" "$work/good.c" || exit 1
		expect "musl" "$library|$KEPT" musl
	fi
	where new
	refused "a newer C library" "GLIBC_2.99" good
	case $each in
	*launch) ;; # knows its own architecture
	*)
		where other
		refused "architecture" "another architecture" good
		;;
	esac
	case $each in
	busybox*) ;; # it is its own
	*)
		where 'a b'
		[ "${each%% *}" = bash ] || refused "space" "space or a colon" good
		;;
	esac
	where opt/bin
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		chmod 0755 "$work"
		install -o 1 -g 1 -m 4755 "$work/path/good" "$work/path/set_id"
		# root may not know: mounts without set-user-ID
		refused "set-user-ID" "gains privileges" set_id
	fi
	ends "no such program" 127 nowhere
	ends "not executable" 126 "$work/path/data"
	ends "no linker" 127 elsewhere
	ends "no program" 2
done

# --copy-to copies the launcher, the library and the files for Java, also over an earlier copy.
mkdir -p "$work/to" "$work/opt/lib/asprof-agent/java"
echo old >"$work/to/libasprof_preload.so"
"$work/opt/bin/asprof-agent-launch" --copy-to "$work/to" || fail "--copy-to: status $?"
cmp "$library" "$work/to/libasprof_preload.so" && cmp "$work/opt/bin/asprof-agent-launch" "$work/to/asprof-agent-launch" ||
	fail "--copy-to copies something else"
[ "$("$work/to/asprof-agent-launch" good)" = "$work/to/libasprof_preload.so|$KEPT" ] || fail "the copy does not start a program"
[ ! -e "$work/to/asprof-agent" ] || fail "--copy-to: there is nothing for Java"
echo java >"$work/opt/lib/asprof-agent/java/libasyncProfiler.so"
"$work/opt/bin/asprof-agent-launch" --copy-to "$work/to" || fail "--copy-to again: status $?"
[ "$(cat "$work/to/asprof-agent/java/libasyncProfiler.so")" = java ] || fail "--copy-to: no library for Java"
"$work/opt/bin/asprof-agent-launch" --copy-to "$work/nowhere" 2>"$work/err"
[ $? = 1 ] && grep -q "cannot copy .* to $work/nowhere: there is no such directory" "$work/err" ||
	fail "--copy-to nowhere: $(cat "$work/err")"
"$work/far/asprof-agent-launch" --copy-to "$work/to" 2>"$work/err"
[ $? = 1 ] && grep -q 'libasprof_preload.so to .*: it is missing' "$work/err" || fail "--copy-to, no library: $(cat "$work/err")"

# For the other processor: it cannot run this machine's programs.
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
	make -s CROSS=aarch64-linux-gnu- B="$work/aarch64" "$work/aarch64/asprof-agent-launch" >"$work/log" 2>&1 ||
		fail "aarch64: $(cat "$work/log")"
	qemu-aarch64 "$work/aarch64/asprof-agent-launch" nowhere 2>"$work/err"
	[ $? = 127 ] && grep -q 'nowhere: no such program' "$work/err" || fail "aarch64: $(cat "$work/err")"
	qemu-aarch64 "$work/aarch64/asprof-agent-launch" "$work/path/good" >"$work/out" 2>"$work/err"
	[ "$(cat "$work/out")" = "none|$KEPT" ] && grep -q 'another architecture' "$work/err" ||
		fail "aarch64: $(cat "$work/out" "$work/err")"
fi
echo ok
