#!/bin/bash
# scripts/setup without apt prints the packages of Fedora, Alpine or Arch, by the installed package manager, and how
# to build from upstream tarballs.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}

# says MANAGER PATTERN...: with only that package manager, if any.
says() {
	local manager=$1

	rm -rf "$work/bin" && mkdir "$work/bin"
	for command in sh dirname; do
		ln -s "$(command -v "$command")" "$work/bin/"
	done
	[ "$manager" = none ] || ln -s /bin/true "$work/bin/$manager"
	PATH=$work/bin sh scripts/setup build >"$work/out" 2>"$work/err" && fail "$manager: status 0"
	[ ! -s "$work/out" ] || fail "$manager: $(cat "$work/out")"
	shift
	for pattern in "$@" 'scripts/build-deps --tarballs tarballs' 'make DEPS_DIR=tarballs'; do
		grep -q -- "$pattern" "$work/err" || fail "$manager: no $pattern in: $(cat "$work/err")"
	done
}
says dnf '^  dnf install gcc make .*binutils-devel' 'xz-static'
says apk '^  apk add bash build-base .*binutils-dev' 'xz-static'
says pacman '^  pacman -S --needed base-devel'
says none 'Debian.s names of the packages: gcc libc6-dev'
echo ok
