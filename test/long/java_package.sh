#!/bin/bash
# asprof-agent and asprof-agent-java, as a Debian package, as RPM packages and as tarballs, in a root with Java. Only
# LD_PRELOAD is set, and Java's methods have names; another program has the builtin engine. The packages have the
# library of the Maven artifact, its license and its origin.
. "$(dirname "$0")/../system/agent.inc"
. test/long/root.inc

have dpkg-deb rpmbuild rpm unzip
for target in deb rpm dist java-package; do
	make -s $target >"$work/log" 2>&1 || {
		! grep -q 'no registry that is within reach\|neither Maven nor Ivy' "$work/log" || skip "no async-profiler: $(tail -n 1 "$work/log")"
		fail "make $target: $(tail "$work/log")"
	}
done
version=$(sed -n 's/^VERSION := //p' Makefile)
machine=$(uname -m)
debian=$(dpkg --print-architecture)
locked=$(awk '$1 == "async-profiler" { print $4 }' scripts/deps.lock)

cat >"$work/Busy.java" <<'J'
public class Busy {
	public static void main(String[] arguments) {
		double x = 0;

		for (long end = System.nanoTime() + 1500000000L; System.nanoTime() < end;)
			for (int i = 0; i < 1000; i++)
				x = x * 1.000001 + i;
		System.out.println(x > 0 ? "done" : "nothing");
	}
}
J

# check WAY PRELOAD DOCUMENTS: in the root.
check() {
	local documents=$root$3

	cp "$work/Busy.java" "$root/"
	rm -rf "$root/profiles"
	in_root env LD_PRELOAD="$2" ASPROF_AGENT_LOCAL_DIR=/profiles/java java /Busy.java >"$work/out" 2>"$work/err" ||
		fail "$1: status $?: $(cat "$work/err")"
	[ "$(cat "$work/out")" = "done" ] && [ ! -s "$work/err" ] || fail "$1: $(cat "$work/out" "$work/err")"
	"$agent" collapsed --cpu "$root/profiles/java" >"$work/stacks" 2>&1
	grep -q 'Busy\.main' "$work/stacks" || fail "$1: no method has a name: $(head "$work/stacks")"
	in_root env LD_PRELOAD="$2" ASPROF_AGENT_LOCAL_DIR=/profiles/perl perl -e '1 for 1 .. 30000000' >"$work/out" 2>&1 ||
		fail "$1: perl: $(cat "$work/out")"
	"$agent" summary "$root/profiles/perl" | grep -q '^Engine .*builtin' || fail "$1: perl: $("$agent" summary "$root/profiles/perl")"
	cat "$documents"/{LICENSE,NOTICE,copyright} >"$work/notice" 2>"$work/log"
	grep -q 'Apache License' "$work/notice" && grep -q "$locked" "$work/notice" || fail "$1: no license, or another origin: $(ls "$documents")"
	echo "$1: $(samples 'Busy\.main' <"$work/stacks") of $(samples . <"$work/stacks") samples in Busy.main"
}

debian_root '' default-jdk-headless java
cp "dist/asprof-agent_$version-1_$debian.deb" "dist/asprof-agent-java_$version-1_$debian.deb" "$root/root/"
in_root sh -c 'dpkg -i /root/*.deb' >"$work/log" 2>&1 || fail "dpkg -i: $(cat "$work/log")"
cmp "build/release/async-profiler/$machine/lib/libasyncProfiler.so" \
	"$root/usr/lib/$machine-linux-gnu/asprof-agent/java/libasyncProfiler.so" || fail "another library"
check deb libasprof_preload.so /usr/share/doc/asprof-agent-java
in_root asprof-agent doctor -- java >"$work/out" 2>&1
! grep -q 'asprof-agent-java' "$work/out" || fail "doctor: $(cat "$work/out")"
in_root dpkg --purge asprof-agent-java asprof-agent >"$work/log" 2>&1 || fail "purge: $(cat "$work/log")"
[ ! -e "$root/usr/lib/$machine-linux-gnu/asprof-agent" ] || fail "the packages leave files behind"
in_root asprof-agent --version >"$work/out" 2>&1 && fail "the command is still there"

mkdir -p "$root/var/lib/rpm"
rpm --root "$root" --dbpath /var/lib/rpm --nodeps -i dist/asprof-agent{,-java}-"$version-1.$machine.rpm" >"$work/log" 2>&1 ||
	fail "rpm -i: $(cat "$work/log")"
check rpm /usr/lib64/libasprof_preload.so /usr/share/doc/asprof-agent-java
rpm --root "$root" --dbpath /var/lib/rpm --nodeps -e asprof-agent-java asprof-agent >"$work/log" 2>&1 || fail "rpm -e: $(cat "$work/log")"

for archive in asprof-agent asprof-agent-java; do
	tar -xzf "dist/$archive-$version-linux-$machine.tar.gz" -C "$root/opt" || fail "$archive cannot be unpacked"
done
check tarball "/opt/asprof-agent-$version-linux-$machine/lib/libasprof_preload.so" \
	"/opt/asprof-agent-$version-linux-$machine/share/doc/asprof-agent-java"
echo ok
