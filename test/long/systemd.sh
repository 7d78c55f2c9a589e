#!/bin/bash
# docs/install/systemd.md with a real systemd, which is process 1 of a root directory of its own: the guide's commands,
# its drop-in, its complete unit, and its variables for all services.
. "$(dirname "$0")/../system/agent.inc"
. test/long/root.inc
. test/system/guide.inc

have pivot_root
# The cgroups of version 2, with or without controllers.
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
[ -n "$groups" ] || skip "this machine has no cgroups of version 2"
group=$groups/asprof-test-$$
mkdir "$group" 2>"$work/err" || skip "no cgroup can be made: $(cat "$work/err")"
trap 'rm -rf --one-file-system "$work"; find "$group" -depth -type d -exec rmdir {} +' EXIT

debian_root '' systemd systemd
B=$B PREFIX=/usr/local DESTDIR=$root scripts/install >"$work/log" || fail "install: $(cat "$work/log")"
in_root ldconfig
cat >"$work/service.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) static void burn(void)
{
	for (volatile int i = 0; i < 20000000; i++)
		;
}
int main(void)
{
	for (;; usleep(10000))
		burn();
}
END
${CC:-cc} -O1 -g -o "$root/usr/local/bin/service" "$work/service.c" || exit 1

units=$root/etc/systemd/system
mkdir -p "$units/service.service.d" "$root/etc/systemd/system.conf.d"
printf '[Service]\nExecStart=/usr/local/bin/service\n' >"$units/service.service"
cp "$root/usr/local/share/doc/asprof-agent/examples/profile.conf" "$units/service.service.d/"
marked_block 'file: service.service' docs/install/systemd.md >"$units/complete.service"
printf '[Manager]\nDefaultEnvironment=%s\n' '"ASPROF_AGENT_PROCESS=service,sleep" ASPROF_AGENT_START_DELAY=0' \
	>"$root/etc/systemd/system.conf.d/profile.conf"
guide_block docs/install/systemd.md >"$root/block.sh"
# The service runs for a while before the guide restarts it.
cat >"$root/check.sh" <<'END'
systemctl start service complete
sleep 3
systemctl stop complete
bash -ex /block.sh
echo "status $?"
END
cat >"$units/check.service" <<'END'
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'exec bash /check.sh >/said 2>&1'
ExecStopPost=/bin/systemctl --no-block poweroff
END

# The root becomes that of a new mount name space. As in a container, systemd gets these file systems mounted.
cat >"$work/start.sh" <<'END'
echo $$ >"$2/cgroup.procs" && exec unshare --mount --pid --fork --uts --ipc --cgroup sh -ec '
	mount --make-rprivate /
	mount --bind "$0" "$0"
	mount -t proc proc "$0/proc"
	mount -t sysfs -o ro sysfs "$0/sys"
	mount -t cgroup2 cgroup2 "$0/sys/fs/cgroup"
	mount -t tmpfs tmpfs "$0/run"
	mount -t tmpfs tmpfs "$0/dev"
	for device in null zero full random urandom tty; do
		: >"$0/dev/$device"
		mount --bind "/dev/$device" "$0/dev/$device"
	done
	cd "$0"
	pivot_root . mnt
	umount -l /mnt
	exec /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=check.service \
		--log-target=console --show-status=no' "$1"
END
timeout 120 sh "$work/start.sh" "$root" "$group" </dev/null >"$work/console" 2>&1
[ -e "$root/said" ] || fail "systemd did not start the test: $(tail -n 20 "$work/console")"
grep -q '^status 0$' "$root/said" || fail "the guide: $(cat "$root/said" "$work/console")"
grep -q 'found nothing that prevents' "$root/said" && grep -qE '%.* burn \[service\]' "$root/said" ||
	fail "the guide: $(cat "$root/said")"
ls "$root"/var/lib/private/asprof-agent/complete/sleep_*.jfr >"$work/out" 2>&1 ||
	fail "the complete unit: $(find "$root/var/lib/private") $(cat "$work/console")"
others=$(find "$root/var/lib" "$root/tmp" -name '*.jfr' ! -name 'service_*' ! -name 'sleep_*')
[ -z "$others" ] || fail "profiled as well: $others"
echo ok
