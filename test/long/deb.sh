#!/bin/bash
# `make deb`: lintian has no complaint. The package installs into a minimal system, works there by the library's name,
# and by its path from /etc/ld.so.preload, and leaves no file after a purge.
. "$(dirname "$0")/../system/agent.inc"
. test/long/root.inc

have lintian dpkg-deb
make -s deb >"$work/log" 2>&1 || fail "make deb: $(tail "$work/log")"
version=$(sed -n 's/^VERSION := //p' Makefile)
package=dist/asprof-agent_$version-1_$(dpkg --print-architecture).deb
[ -e "$package" ] || fail "there is no $package"

minimal_root
cp "$package" "$root/root/package.deb"
# Files that dpkg and ldconfig keep, and files that programs write when they run.
listing() {
	(cd "$root" && find . \( -path ./proc -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/log -o \
		-path ./var/cache/ldconfig -o -path ./root/package.deb \) -prune -o \
		-printf '%p %y %m %U %G %l\n' | grep -v '^\./etc/ld\.so\.cache ' | LC_ALL=C sort)
}
listing >"$work/before"
in_root dpkg -i /root/package.deb >"$work/log" 2>&1 || fail "dpkg -i: $(cat "$work/log")"
[ "$(in_root asprof-agent --version)" = "asprof-agent $version" ] || fail "the command does not run"

burn='i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done'
in_root env LD_PRELOAD=libasprof_preload.so ASPROF_AGENT_START_DELAY=0 sh -c "$burn" >"$work/out" 2>&1 ||
	fail "by its name: $(cat "$work/out")"
[ ! -s "$work/out" ] || fail "by its name: said $(cat "$work/out")"
ls "$root"/var/lib/asprof-agent/*.jfr >/dev/null 2>&1 || fail "no profile in /var/lib/asprof-agent"
in_root sh -c 'asprof-agent top --cpu /var/lib/asprof-agent' | grep -q '%' || fail "top reads nothing"

# For all programs, but only some profiled.
library=$(in_root dpkg -L asprof-agent | grep '/libasprof_preload\.so$') || fail "there is no library in the package"
[ "$(uname -m)" != x86_64 ] || grep -qF "\`$library\`" docs/install/containers.md || fail "the guide has another path than $library"
echo "$library" >"$root/etc/ld.so.preload"
in_root env ASPROF_AGENT_PROCESS=dash ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_LOCAL_DIR=/var/lib/asprof-agent/all \
	sh -c "exec dash -c '$burn'" || fail "in ld.so.preload"
in_root env ASPROF_AGENT_PROCESS=dash ASPROF_AGENT_START_DELAY=0 \
	ASPROF_AGENT_LOCAL_DIR=/var/lib/asprof-agent/all perl -e '1 for 1 .. 3000000' || fail "in ld.so.preload"
ls "$root"/var/lib/asprof-agent/all/dash_*.jfr >/dev/null 2>&1 || fail "ld.so.preload: no profile of dash"
others=$(find "$root/var/lib/asprof-agent/all" -type f ! -name 'dash_*')
[ -z "$others" ] || fail "ld.so.preload: profiled as well: $others"
# A program that gains privileges writes no message.
[ -u "$root/bin/su" ] || fail "su gains no privileges"
in_root env ASPROF_AGENT_PROCESS=dash setpriv --reuid=65534 --regid=65534 --clear-groups su --help >"$work/out" 2>"$work/err" ||
	fail "su: $(cat "$work/out" "$work/err")"
[ ! -s "$work/err" ] || fail "su: $(cat "$work/err")"
in_root sh -c "rm /etc/ld.so.preload"

in_root dpkg --purge asprof-agent >"$work/log" 2>&1 || fail "purge: $(cat "$work/log")"
listing >"$work/after"
diff "$work/before" "$work/after" || fail "that is left behind"
echo ok
