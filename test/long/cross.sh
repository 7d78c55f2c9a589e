#!/bin/bash
# The agent for aarch64, built on another machine: its files are right, and it profiles programs of that processor,
# with glibc and with musl, under an emulator. Its tarball and packages are for that processor.
. "$(dirname "$0")/../system/agent.inc"

have aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64 dpkg-deb
[ "$(uname -m)" != aarch64 ] || skip "this machine is one"
git rev-parse >"$work/top" 2>&1 || skip "this tree is not under git"
cross=aarch64-linux-gnu
version=$(sed -n 's/^VERSION := //p' Makefile)
for target in dist deb; do
	make -s CROSS=$cross- $target >"$work/log" 2>&1 || fail "make $target: $(tail "$work/log")"
done

# --- the unit tests of code that depends on the processor (make CROSS=... check-unit: all of them)

units="cfi cfi_lookup clock code_rules disposition mem memory_reader modules raw_thread ring samples symbols \
	symbol_table thread_clock thread_context threads unwind"
make -s -j2 CROSS=$cross- UNIT="$units" check-unit >"$work/log" 2>&1 || fail "unit tests: $(grep -A 9 '^FAIL' "$work/log")"

# --- the files

build=build/release/aarch64
mkdir "$work/tools"
for name in nm readelf; do
	ln -s "$(command -v "$cross-$name")" "$work/tools/$name"
done
PATH=$work/tools:$PATH scripts/check-so $build/libasprof_preload.so || fail "check-so"
CC=$cross-gcc NM=$cross-nm scripts/check-host $build || fail "check-host"

name=asprof-agent-$version-linux-aarch64
tar -xzf "dist/$name.tar.gz" -C "$work" || fail "the archive cannot be unpacked"
dpkg-deb -x "dist/asprof-agent_$version-1_arm64.deb" "$work/package" || fail "the package cannot be unpacked"
[ "$(dpkg-deb -f "dist/asprof-agent_$version-1_arm64.deb" Architecture)" = arm64 ] || fail "another architecture"
(cd dist && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS"
for file in "$work/$name/lib/libasprof_preload.so" "$work/$name/bin/asprof-agent" "$work/$name/bin/asprof-agent-launch" \
	"$work/package/usr/lib/$cross/libasprof_preload.so" "$work/package/usr/bin/asprof-agent"; do
	"$cross-readelf" -h "$file" | grep -q 'Machine: *AArch64' || fail "$file is of another machine"
	"$cross-readelf" -SW "$file" | grep -q '\.debug_info\|\.symtab' && fail "$file is not stripped"
done

# --- the profiles

# emulated LIBC VARIABLE=value... -- COMMAND...: for that processor, with LIBC as the root.
emulated() {
	local root=$1 options=()

	shift
	while [ "$1" != -- ]; do
		options+=(-E "$1")
		shift
	done
	qemu-aarch64 -L "$root" "${options[@]}" "${@:2}"
}

# by_agent LIBC NAME PROGRAM: its reports are in $work/NAME. (This emulator fails when a forked child makes a thread,
# if its parent had several.)
by_agent() {
	mkdir "$work/$2"
	emulated "$1" "LD_PRELOAD=$work/$name/lib/libasprof_preload.so" "ASPROF_AGENT_LOCAL_DIR=$work/$2" \
		ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_FORK=off ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_EXIT_TIMEOUT=30s \
		ASPROF_AGENT_CPU_INTERVAL=2ms ASPROF_AGENT_WALL_INTERVAL=10ms ASPROF_AGENT_NATIVE_MEM=16k \
		-- "$3" >"$work/said" 2>&1 || fail "$2: status $?: $(cat "$work/said")"
	ls "$work/$2"/*.jfr >/dev/null 2>&1 || fail "$2: no report: $(cat "$work/said")"
}

glibc=/usr/$cross
# By that processor's own command.
asked() {
	emulated $glibc -- "$work/$name/bin/asprof-agent" "$@" || fail "asprof-agent $*: status $?"
}
[ "$(asked --version)" = "asprof-agent $version" ] || fail "--version"
own_frames=$(CC=$cross-gcc program own_frames -fno-builtin -O1)
by_agent $glibc glibc "$own_frames"
for kind in cpu wall nativemem; do
	asked collapsed --$kind "$work/glibc" >"$work/$kind"
	! grep -q libasprof "$work/$kind" || fail "glibc: frames of the preload: $(cat "$work/$kind")"
done
for stack in 'main;nap;' 'main;wait_for_nothing;' 'work;nap;' ';handle;burn' 'work;burn'; do
	grep -q "$stack" "$work/wall" || fail "glibc: no $stack in $(cat "$work/wall")"
done
grep -q 'main;allocate [0-9]*$' "$work/nativemem" || fail "glibc: $(cat "$work/nativemem")"

# musl of the distribution: its functions have no unwind information, but their code is decoded.
. test/long/packages.inc
packages arm64 musl musl-dev
musl=$work/arm64
libraries=$musl/usr/lib/aarch64-linux-musl
for program in through own_frames; do
	aarch64-linux-gnu-gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -fno-builtin -nostdinc -isystem \
		"$musl/usr/include/aarch64-linux-musl" -nostdlib -no-pie -Wl,--dynamic-linker=/lib/ld-musl-aarch64.so.1 \
		-o "$work/$program.musl" "$libraries/crt1.o" "$libraries/crti.o" "test/programs/$program.c" \
		-L"$musl/lib/aarch64-linux-musl" -l:libc.so \
		"$libraries/crtn.o" 2>"$work/log" || fail "cannot build for musl: $(cat "$work/log")"
	by_agent "$musl" "musl_$program" "$work/$program.musl"
done
asked collapsed --cpu "$work/musl_through" >"$work/stacks"
grep -q 'main;sort_numbers;qsort[^ ]*;compare' "$work/stacks" || fail "qsort: $(cat "$work/stacks")"
grep -q 'main;write_text;sprintf;[^ ]*vfprintf' "$work/stacks" || fail "sprintf: $(cat "$work/stacks")"
if grep -E 'sort_numbers;.*printf|write_text;.*(qsort|compare)|;0x[0-9a-f]*;|^0x' "$work/stacks"; then
	fail "those are no callers"
fi
asked collapsed --wall "$work/musl_own_frames" >"$work/stacks"
for stack in 'main;nap;' 'main;wait_for_nothing;' 'work;nap;' ';handle;burn' 'work;burn'; do
	grep -q "$stack" "$work/stacks" || fail "musl: no $stack in $(cat "$work/stacks")"
done
echo ok
