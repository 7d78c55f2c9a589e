#!/bin/bash
# scripts/setup without apt prints the packages of Fedora or Arch, by the installed package manager, and how to build
# from upstream tarballs. On Alpine it prints that this does not build there.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}

# prints MANAGER PATTERN...: with only that package manager, if any.
prints() {
	local manager=$1

	rm -rf "${work:?}/bin" && mkdir "$work/bin"
	for command in sh dirname; do
		ln -s "$(command -v "$command")" "$work/bin/"
	done
	[ "$manager" = none ] || ln -s /bin/true "$work/bin/$manager"
	PATH=$work/bin sh scripts/setup build >"$work/out" 2>"$work/err" && fail "$manager: status 0"
	[ ! -s "$work/out" ] || fail "$manager: $(cat "$work/out")"
	shift
	for pattern in "$@"; do
		grep -q -- "$pattern" "$work/err" || fail "$manager: no $pattern in: $(cat "$work/err")"
	done
}
tarballs=('scripts/build-deps --tarballs tarballs' 'make DEPS_DIR=tarballs')
prints dnf '^  dnf install gcc make .*binutils-devel' 'xz-static' "${tarballs[@]}"
prints apk 'builds only with glibc' 'libasprof_preload.so also profiles' 'docs/install/packages.md'
prints pacman '^  pacman -S --needed base-devel' "${tarballs[@]}"
prints none 'Debian.s names of the packages: gcc libc6-dev' "${tarballs[@]}"
echo ok
