#!/bin/bash
# An emulator of another processor is not profiled: the emulated program may have its own agent.
. "$(dirname "$0")/agent.inc"

# look NAME [VARIABLE=value...]: run a program of that name, and check its message and its reports.
look() {
	local name=$1
	shift
	cp "$(command -v sleep)" "$work/$name" || exit 1
	rm -rf "$work/out" && mkdir "$work/out"
	profiled "$work/out" builtin "$@" "$work/$name" 0.4 2>"$work/said" || fail "$name: status $?"
}

profiled_quietly() {
	[ ! -s "$work/said" ] || fail "$name: $(cat "$work/said")"
	[ -n "$(ls "$work/out")" ] || fail "$name: no report"
}

for name in qemu-aarch64 qemu-x86_64-static; do
	look $name
	grep -q "^asprof-agent\[[0-9]*\]: $name is run by an emulator, which is not profiled" \
		"$work/said" || fail "$name: $(cat "$work/said")"
	[ -z "$(ls "$work/out")" ] || fail "$name: profiled"
	look $name PROCESS=qemu-*
	profiled_quietly
done
for name in qemu-img qemu-system-aarch64 qemu-aarch64-other qemu-; do
	look $name
	profiled_quietly
done
# Under the program's name, as the kernel starts an emulator for a file of another processor.
look qemu-arm
(
	export ASPROF_AGENT_LOCAL_DIR=$work/out LD_PRELOAD=$preload
	exec -a service "$work/qemu-arm" 0.1
) 2>"$work/said"
grep -q 'is run by an emulator' "$work/said" || fail "by another name: $(cat "$work/said")"
# The kernel reports another name for that file, too. A link to it is also the emulator.
cp "$(command -v cat)" "$work/qemu-ppc" || exit 1
echo "#!$work/qemu-ppc" >"$work/started" && chmod +x "$work/started"
ln -s qemu-ppc "$work/linked"
for name in started linked; do
	profiled "$work/out" builtin "$work/$name" </dev/null >"$work/shown" 2>"$work/said" || fail "$name: status $?"
	grep -q 'is run by an emulator' "$work/said" || fail "$name: $(cat "$work/said")"
done
echo ok
