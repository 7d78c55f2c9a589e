#!/bin/bash
# `make dist` twice, from the same sources in two places: the same bytes, for this machine, and for aarch64 where
# there is a compiler for it. What it makes works where it is unpacked, and has no path of this machine in it.
. "$(dirname "$0")/../system/agent.inc"

version=$(sed -n 's/^VERSION := //p' Makefile)
git rev-parse >"$work/top" 2>&1 || skip "this tree is not under git"
# Both at once, as somebody may be at work here. The libraries that are linked in are built before; what they
# are built in is not to be seen either.
make -s all >"$work/log" 2>&1 || fail "make: $(tail "$work/log")"
crosses=('')
if [ "$(uname -m)" != aarch64 ] && command -v aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ >"$work/log"; then
	crosses+=(aarch64-linux-gnu-)
	make -s CROSS=aarch64-linux-gnu- deps >"$work/log" 2>&1 || fail "make deps: $(tail "$work/log")"
fi
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf "$work/sources.tar" || exit 1
for place in one two/deeper; do
	mkdir -p "$work/$place/build"
	tar -xf "$work/sources.tar" -C "$work/$place" && cp -a build/deps "$work/$place/build/" || exit 1
done
for place in one two/deeper; do
	for cross in "${crosses[@]}"; do
		(cd "$work/$place" && SOURCE_DATE_EPOCH=1700000000 make -s CROSS="$cross" dist VERSION="$version") \
			>"$work/log" 2>&1 || fail "make dist, $cross: $(tail "$work/log")"
		rm -rf "$work/$place/build/release"
	done
done
cmp "$work/one/dist/SHA256SUMS" "$work/two/deeper/dist/SHA256SUMS" ||
	fail "other bytes: $(diff "$work"/one/dist/SHA256SUMS "$work"/two/deeper/dist/SHA256SUMS)"
(cd "$work/one/dist" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS"
[ "$(grep -c '\.tar\.gz$' "$work/one/dist/SHA256SUMS")" = $((2 * ${#crosses[@]})) ] || fail "not an archive and its symbols of each"

name=asprof-agent-$version-linux-$(uname -m)
for part in '' -debug; do
	tar -xzf "$work/one/dist/$name$part.tar.gz" -C "$work" || fail "the archive cannot be unpacked"
done
[ "$(stat -c %Y "$work/$name/bin/asprof-agent")" = 1700000000 ] || fail "not as old as SOURCE_DATE_EPOCH"
grep -rlF "$work" "$work/$name" && fail "a path of this machine is in these"
# Debug data name sources as they lie in the tree.
for file in "$work/$name"/lib/debug/.build-id/*/*.debug; do
	LC_ALL=C readelf --debug-dump=info --dwarf-depth=1 "$file" 2>/dev/null | grep 'DW_AT_comp_dir' |
		grep -v ': \.$' && fail "$file has another directory"
done
"$work/$name/bin/asprof-agent" run -o "$work/out" -- cat /proc/self/maps >"$work/maps" || fail "run"
grep -q "$work/$name/lib/libasprof_preload.so" "$work/maps" || fail "run does not find the library"
if command -v pkg-config >/dev/null; then
	flags=$(PKG_CONFIG_PATH=$work/$name/lib/pkgconfig pkg-config --cflags asprof-agent)
	[ -e "${flags#-I}/asprof_agent.h" ] || [ -e "$(echo "${flags#-I}" | tr -d ' ')/asprof_agent.h" ] ||
		fail "pkg-config says '$flags'"
fi
echo ok
