#!/bin/bash
# scripts/setup without apt prints the packages of Fedora or Arch, by the installed package manager, and how to build
# from upstream tarballs. On Alpine it prints that this does not build there. A build names all missing packages at once.
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

# Of the programs there is only a compiler, which finds no header.
rm -rf "$work/bin" && mkdir "$work/bin"
for command in bash dirname; do
	ln -s "$(command -v "$command")" "$work/bin/"
done
ln -s /bin/false "$work/bin/gcc"
PATH=$work/bin bash scripts/check-packages 2>"$work/err" && fail "a build: status 0"
grep -qx 'check-packages: missing: binutils cmake dpkg-dev libc6-dev libiberty-dev liblzma-dev libdw-dev libdebuginfod-dev; `scripts/setup build` installs them' \
	"$work/err" || fail "a build: $(cat "$work/err")"
PATH=$work/bin CROSS=aarch64-linux-gnu- DEPS_DIR=. bash scripts/check-packages 2>"$work/err" && fail "a cross-build: status 0"
grep -qx 'check-packages: missing: gcc-aarch64-linux-gnu binutils-aarch64-linux-gnu cmake; `scripts/setup cross` installs them' \
	"$work/err" || fail "a cross-build: $(cat "$work/err")"
echo ok
