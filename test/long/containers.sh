#!/bin/bash
# The examples of docs/install/containers.md and static.md, without Docker: each line of a Dockerfile is executed in a
# separate root directory, and its entry point is started there as process 1, by chroot. The same for the Kubernetes pod
# with an init container, a read-only root and a user without rights.
. "$(dirname "$0")/../system/agent.inc"
. test/long/root.inc
. test/system/guide.inc

have python3 setpriv
# The context of the builds: the unpacked archive of make dist, and the service.
context=$work/context
B=$B PREFIX='' DESTDIR=$context/asprof-agent scripts/install >"$work/log" || fail "install: $(cat "$work/log")"
cat >"$work/service.c" <<'END'
#include <stdio.h>
#include <time.h>
__attribute__((noinline)) void burn(void) { while (clock() < CLOCKS_PER_SEC) ; }
int main(void) { burn(); return puts("served") < 0; }
END
${CC:-cc} -O1 -g -o "$context/service" "$work/service.c" || exit 1

empty_root() {
	root=$work/bare
	rm -rf "$root"
	mkdir -p "$root"
}

# A root with only the C library: no shell, no /proc, no /tmp.
bare_root() {
	empty_root
	ldd "$context/service" | grep -o '/[^ ]*' | while read -r file; do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
	done
}

# build: executes the Dockerfile on standard input; leaves $root, "$words" and "${variables[@]}".
build() {
	local word rest files file to assignments

	variables=() words=()
	while read -r word rest; do
		case $word in
		FROM)
			case $rest in
			debian:*) minimal_root ;;
			*distroless*) bare_root ;;
			scratch) empty_root ;;
			*) fail "FROM $rest?" ;;
			esac
			;;
		COPY)
			read -ra files <<<"$rest"
			to=$root${files[-1]}
			mkdir -p "$(dirname "${to}x")"
			for file in "${files[@]:0:${#files[@]}-1}"; do
				[ ! -d "$context/$file" ] || file=$file/.
				cp -a "$context/$file" "$to" || exit 1
			done
			;;
		ENV)
			read -ra assignments <<<"$rest"
			variables+=("${assignments[@]}")
			;;
		VOLUME) mkdir -p "$root$rest" ;;
		ENTRYPOINT) mapfile -t words < <(python3 -c 'import json, sys; print("\n".join(json.loads(sys.argv[1])))' "$rest") ;;
		'') ;;
		*) fail "Dockerfile: $word?" ;;
		esac
	done
	[ ${#words[@]} -gt 0 ] || fail "no ENTRYPOINT"
}

# start PROC COMMAND...: as process 1; with PROC there is /proc. Only the command gets the variables, as in a container.
start() {
	local proc=$1

	shift
	/usr/bin/unshare --mount --pid --fork /bin/sh -c \
		'[ -z "$1" ] || mount -t proc proc "$0/proc"; root=$0 code=$2; shift 2; exec /usr/bin/python3 -c "$code" "$root" "$@"' "$root" "$proc" \
		'import os, sys
root, end = sys.argv[1], sys.argv.index("--")
os.chroot(root)
os.chdir("/")
os.execve(sys.argv[end + 1], sys.argv[end + 1:], dict(variable.split("=", 1) for variable in sys.argv[2:end]))' \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ASPROF_AGENT_START_DELAY=0 "${variables[@]}" -- "$@" \
		>"$work/out" 2>"$work/err"
}

# profiled_in DIRECTORY WHAT: its output is right, and it left a profile with the function.
profiled_in() {
	[ "$(cat "$work/out")" = served ] && [ ! -s "$work/err" ] || fail "$2: $(cat "$work/out" "$work/err")"
	ls "$1"/service_1_*.jfr >/dev/null 2>&1 || fail "$2: no profile of process 1: $(ls "$1")"
	"$agent" collapsed --cpu "$1" 2>/dev/null | grep -q "$3" || fail "$2: $("$agent" collapsed --cpu "$1" | head)"
}

guide_block docs/install/containers.md 1 >"$work/Dockerfile"
build <"$work/Dockerfile"
start proc "${words[@]}" || fail "Debian: status $?: $(cat "$work/err")"
profiled_in "$root/profiles" Debian ';burn[; ]'

# For all programs, by the block as it is written.
cp "$B/libasprof_preload.so" "$root/usr/local/lib/"
in_root ldconfig
guide_block docs/install/containers.md 4 >"$root/block.sh"
in_root env ASPROF_AGENT_START_DELAY=0 sh -e /block.sh >"$work/out" 2>"$work/err" || fail "ld.so.preload: $(cat "$work/err")"
grep -q '^dash_.*\.jfr$' "$work/out" || fail "ld.so.preload: $(cat "$work/out" "$work/err")"
grep -v '^dash_' "$work/out" && fail "ld.so.preload: these are profiled as well"
[ ! -e "$root/etc/ld.so.preload" ] || fail "ld.so.preload is still there"
# A program that gains privileges writes no message.
[ -u "$root/bin/su" ] || fail "su gains no privileges"
in_root env ASPROF_AGENT_ENABLED=off sh -e -c "$(head -n 1 "$root/block.sh")
	setpriv --reuid=65534 --regid=65534 --clear-groups su --help
	rm /etc/ld.so.preload" >"$work/out" 2>"$work/err" || fail "su: $(cat "$work/out" "$work/err")"
[ ! -s "$work/err" ] || fail "su: $(cat "$work/err")"

# A program in an image that cannot be profiled is started nevertheless.
${CC:-cc} -static -o "$root/usr/local/bin/service" "$work/service.c" || exit 1
start proc "${words[@]}" || fail "static: status $?"
[ "$(cat "$work/out")" = served ] && grep -q 'will not be profiled: .*statically linked' "$work/err" ||
	fail "static: $(cat "$work/err")"

guide_block docs/install/containers.md 2 >"$work/Dockerfile"
build <"$work/Dockerfile"
[ ! -e "$root/bin" ] && [ ! -e "$root/proc" ] && [ ! -e "$root/tmp" ] || fail "the bare root is not bare"
# Without /proc: profiles, or a line that gives the reason.
start '' "${words[@]}" || fail "no /proc: status $?: $(cat "$work/err")"
[ "$(cat "$work/out")" = served ] || fail "no /proc: $(cat "$work/out" "$work/err")"
if ! ls "$root"/profiles/service_1_*.jfr >/dev/null 2>&1; then
	[ "$(wc -l <"$work/err")" = 1 ] || fail "no /proc, and no word of why: $(cat "$work/err")"
fi
# With it, as in every container.
mkdir "$root/proc"
rm -rf "$root"/profiles/*
start proc "${words[@]}" || fail "distroless: status $?: $(cat "$work/err")"
profiled_in "$root/profiles" distroless ';burn[; ]'

# Without a launcher, in an image that has the service.
bare_root
mkdir "$root/proc"
cp "$context/service" "$root/"
cp "$B/libasprof_preload.so" "$context/"
guide_block docs/install/containers.md 3 >"$work/Dockerfile"
build <"$work/Dockerfile"
start proc "${words[@]}" || fail "no launcher: status $?: $(cat "$work/err")"
profiled_in "$root/profiles" "no launcher" ';burn[; ]'

# The pod: the init container's copy, then the service's own image, read-only, as another user.
bare_root
cp "$context/service" "$root/"
mkdir "$root/agent" "$root/spool" "$root/proc" "$work/spool"
"$context/asprof-agent/bin/asprof-agent-launch" --copy-to "$root/agent" || fail "--copy-to: status $?"
chmod 0711 "$work" && chmod 0755 "$root" && chown 10001:10001 "$work/spool"
env -i ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_LOCAL_DIR=/spool ASPROF_AGENT_TAGS=pod=a,node=b \
	/usr/bin/unshare --mount --pid --fork /bin/sh -c 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" &&
		mount --bind "$1" "$0/spool" && mount -t proc proc "$0/proc" && exec setpriv --no-new-privs --reuid 10001 --regid 10001 --clear-groups \
		--bounding-set=-all,+sys_chroot --inh-caps=+sys_chroot --ambient-caps=+sys_chroot \
		/usr/sbin/chroot "$0" /agent/asprof-agent-launch /service' "$root" "$work/spool" >"$work/out" 2>"$work/err" ||
	fail "pod: status $?: $(cat "$work/err")"
profiled_in "$work/spool" pod ';burn[; ]'

# A static service in an empty image. What it left in the spool is its profile.
cp "$B/asprof-agent-launch" "$B/libasprof_attach.so" "$context/"
sed 's/CLOCKS_PER_SEC/3 * &/' "$work/service.c" | ${CC:-cc} -static -O1 -g -x c -o "$context/service" - || exit 1
guide_block docs/install/static.md >"$work/Dockerfile"
build <"$work/Dockerfile"
mkdir "$root/proc"
start proc "${words[@]}" || fail "static: status $?: $(cat "$work/err")"
[ "$(cat "$work/out")" = served ] && [ ! -s "$work/err" ] || fail "static: $(cat "$work/out" "$work/err")"
"$agent" recover -o "$work/recovered" "$root/profiles/spool" >"$work/out" 2>&1 || fail "static: $(cat "$work/out")"
"$agent" collapsed --cpu "$work/recovered" | grep -q ';burn[; ]' || fail "static: $(ls -R "$work/recovered")"
echo ok
