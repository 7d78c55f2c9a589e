#!/bin/bash
# `make rpm`: the package has the files of the Debian package, needs only a C library, installs into a root by rpm,
# works there, and leaves no file after it is erased. The root is Debian's, because no other is available; there rpm's
# own dependencies are unknown.
. "$(dirname "$0")/../system/agent.inc"
. test/long/root.inc

have rpmbuild rpm rpm2cpio cpio
make -s rpm >"$work/log" 2>&1 || fail "make rpm: $(tail "$work/log")"
version=$(sed -n 's/^VERSION := //p' Makefile)
package=dist/asprof-agent-$version-1.$(uname -m).rpm
symbols=dist/asprof-agent-debuginfo-$version-1.$(uname -m).rpm
[ -e "$package" ] && [ -e "$symbols" ] || fail "there is no $package, or no $symbols"

# RHEL 9 and Amazon Linux 2023 have glibc 2.34.
rpm -qp --requires "$package" >"$work/needs" || fail "no list of dependencies"
grep -vE '^(/bin/sh|/sbin/ldconfig|lib[cm]\.so\.6(\(.*\))?\(64bit\)|rtld\(GNU_HASH\)|rpmlib\(.*|ld-linux-.*)$' "$work/needs" &&
	fail "it needs these"
newest=$(grep -o 'GLIBC_[0-9.]*' "$work/needs" | sort -uV | tail -n 1)
[ "$(printf '%s\nGLIBC_2.34\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.34 ] || fail "it needs $newest"
! rpm -qp --provides "$package" | grep '\.so' || fail "it provides a library"
# (Another tool for the same files.)
mkdir "$work/files" && rpm2cpio "$package" | (cd "$work/files" && cpio -idm 2>"$work/log") || fail "$(cat "$work/log")"
id=$(LC_ALL=C readelf -nW "$work/files/usr/lib64/libasprof_preload.so" | sed -n 's/.*Build ID: //p')
rpm -qpl "$symbols" | grep -q "/usr/lib/debug/.build-id/${id%"${id#??}"}/${id#??}.debug" || fail "no symbols of the library"

minimal_root
listing() {
	(cd "$root" && find . \( -path ./proc -o -path ./tmp -o -path ./var/lib/rpm -o -path ./var/cache/ldconfig \) -prune -o \
		-printf '%p %y %m %U %G %l\n' | grep -v '^\./etc/ld\.so\.cache ' | LC_ALL=C sort)
}
# Directories that exist in a system of Red Hat.
mkdir -p "$root/usr/lib64/pkgconfig" "$root/usr/lib/debug/.build-id" "$root/usr/share/"{bash-completion/completions,fish/vendor_completions.d,zsh/site-functions} \
	"$root/usr/share/man/man1" "$root/usr/share/man/man7" "$root/var/lib/rpm"
[ -e "$root/lib64" ] || ln -s usr/lib64 "$root/lib64"
echo /usr/lib64 >"$root/etc/ld.so.conf.d/lib64.conf"
listing >"$work/before"
rpm --root "$root" --dbpath /var/lib/rpm --nodeps -i "$package" "$symbols" >"$work/log" 2>&1 || fail "rpm -i: $(cat "$work/log")"
rpm --root "$root" --dbpath /var/lib/rpm -V --nodeps asprof-agent asprof-agent-debuginfo || fail "rpm -V"
[ "$(in_root asprof-agent --version)" = "asprof-agent $version" ] || fail "the command does not run"
in_root env LD_PRELOAD=libasprof_preload.so ASPROF_AGENT_START_DELAY=0 \
	sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done' >"$work/out" 2>&1 || fail "by its name: $(cat "$work/out")"
[ ! -s "$work/out" ] || fail "by its name: said $(cat "$work/out")"
ls "$root"/var/lib/asprof-agent/*.jfr >/dev/null 2>&1 || fail "no profile in /var/lib/asprof-agent"
in_root sh -c 'asprof-agent top --cpu /var/lib/asprof-agent' | grep -q '%' || fail "top reads nothing"
# Profiles stay when the package is erased, because rpm has no purge.
rm "$root"/var/lib/asprof-agent/*.jfr
rm -rf "$root/run/asprof-agent"
rpm --root "$root" --dbpath /var/lib/rpm --nodeps -e asprof-agent-debuginfo asprof-agent >"$work/log" 2>&1 ||
	fail "rpm -e: $(cat "$work/log")"
listing >"$work/after"
diff "$work/before" "$work/after" || fail "that is left behind"
echo ok
