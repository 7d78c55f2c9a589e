#!/bin/bash
# A fresh root directory with a compiler, make, git and apt: README's first command, and the commands of
# docs/install/packages.md that build and install. The installed library is then found by its name.
. "$(dirname "$0")/../system/agent.inc"
. test/long/root.inc
. test/system/guide.inc

git rev-parse >"$work/top" 2>&1 || skip "this tree is not under git"
debian_root '' gcc,libc6-dev,make,git,sudo,ca-certificates source
for file in /etc/resolv.conf /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/keyrings \
	/usr/local/share/ca-certificates; do
	[ ! -e "$file" ] || { rm -rf "${root:?}$file" && mkdir -p "$root$(dirname "$file")" && cp -rL "$file" "$root$file"; } || exit 1
done
mkdir "$root/source"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$root/source" || exit 1
guide_block docs/install/packages.md >"$root/install.sh"

# here COMMAND: as the user would, with the tree as the current directory.
here() {
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" \
		/usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd /source && $1"' \
		"$root" "$1" >"$work/said" 2>&1
}

here "update-ca-certificates >/dev/null 2>&1; apt-get -qq update" || skip "the root cannot install packages: $(tail -n 1 "$work/said")"
here scripts/quickstart || fail "scripts/quickstart: $(tail -n 20 "$work/said")"
grep -qE '[0-9]%.* main::count ' "$work/said" || fail "scripts/quickstart: $(tail -n 20 "$work/said")"
here "bash -e /install.sh" || fail "packages.md: $(tail -n 20 "$work/said")"
mkdir "$root/profiles"
# shellcheck disable=SC2016 # perl's
here 'LD_PRELOAD=libasprof_preload.so ASPROF_AGENT_LOCAL_DIR=/profiles perl -e "sub burn { 1 for 1 .. 30000000 } burn()"' ||
	fail "by its name: $(cat "$work/said")"
[ ! -s "$work/said" ] || fail "by its name: $(cat "$work/said")"
here 'asprof-agent top --cpu /profiles' && grep -q 'burn' "$work/said" || fail "top: $(cat "$work/said")"
echo ok
