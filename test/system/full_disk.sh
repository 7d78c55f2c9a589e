#!/bin/bash
# A disk is full for a while, and LOCAL_DIR is the only destination: all reports are written in the end. If the disk
# is full of old profiles, these are removed first. If it has the running recording, that continues in memory, and
# every report can be read.
. "$(dirname "$0")/agent.inc"
. test/system/on_command.inc

# In its own mount namespace, where the test can fill a file system.
if [ -z "${FULL_DISK:-}" ]; then
	unshare -rm true 2>/dev/null || skip "nothing can be mounted here"
	B=$B FULL_DISK=1 exec unshare -rm "$0"
fi
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
program on_command >/dev/null

reports() {
	find "$work/disk" -name 'on_command_*.jfr' | wc -l
}

# disk SIZE
disk() {
	mkdir -p "$work/disk"
	mount -t tmpfs -o "size=$1" none "$work/disk" || fail "cannot mount"
	rm -f "$work/log"
}

disk 1m
begin ASPROF_AGENT_LOCAL_DIR="$work/disk"
tell flush
[ "$(reports)" -eq 1 ] || fail "$(reports) reports before the disk is full"
! cat /dev/zero 2>/dev/null >"$work/disk/full" || fail "it does not become full"
for _ in 1 2 3; do
	tell flush
done
[ "$(reports)" -eq 1 ] || fail "the disk was not full: $(ls -l "$work/disk")"
rm "$work/disk/full"
tell flush
finish
[ "$(reports)" -eq 6 ] || fail "of 6 reports are there: $(ls "$work/disk"); $(cat "$work/log")"
logged 'cannot write a profile in .*No space left'
logged 'are written in .* again'
echo "all of 6 reports are there, 3 of which met a full disk"
umount "$work/disk"

# Files of an earlier process with higher limits.
disk 1m
head -c 500000 /dev/zero >"$work/disk/other_1_2020-01-01T00-00-00Z.jfr"
! cat /dev/zero 2>/dev/null >"$work/disk/other_1_2020-01-01T00-00-01Z.jfr" ||
	fail "it does not become full"
begin ASPROF_AGENT_LOCAL_DIR="$work/disk" ASPROF_AGENT_LOCAL_MAX_BYTES=800k
tell flush
[ "$(reports)" -eq 1 ] || fail "no report: $(ls -l "$work/disk"); $(cat "$work/log")"
[ ! -e "$work/disk/other_1_2020-01-01T00-00-00Z.jfr" ] || fail "the oldest is there"
finish
[ ! -s "$work/log" ] || fail "it says $(cat "$work/log")"
echo "the oldest went first"
umount "$work/disk"

# With the spool.
for engine in $(engines); do
	disk 1m
	begin ASPROF_AGENT_LOCAL_DIR="$work/out" ASPROF_AGENT_SPOOL_DIR="$work/disk" ASPROF_AGENT_ENGINE="$engine" \
		ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-}" ASPROF_AGENT_NATIVE_MEM=1k ASPROF_AGENT_NATIVE_MEM_ENGINE=builtin
	tell flush
	[ -n "$(find "$work/disk" -name '.*.running.chunks')" ] || fail "$engine: it is not in the spool"
	# (A delivered report frees space.)
	for _ in $(seq 500); do
		[ -n "$(find "$work/disk" -name '*.spool.*')" ] || [ ! -d "$work/out" ] || break
		sleep 0.02
	done
	! cat /dev/zero 2>/dev/null >"$work/disk/full" || fail "it does not become full"
	for _ in 1 2 3; do
		tell flush
	done
	rm "$work/disk/full"
	tell flush
	finish
	logged 'running recording is not stored in .*SPOOL_DIR\|continues in memory'
	[ -z "$(find "$work/disk" -name '.*.running.*')" ] || fail "$engine: left: $(ls -A "$work/disk")"
	[ "$(find "$work/out" -name '*.jfr' | wc -l)" -ge 5 ] ||
		fail "$engine: $(ls "$work/out"); $(cat "$work/log")"
	"$agent" summary "$work"/out/*.jfr >"$work/summary" || fail "$engine: $(cat "$work/log")"
	"$agent" collapsed --cpu "$work"/out/*.jfr | samples . >"$work/samples"
	[ "$(cat "$work/samples")" -ge 100 ] || fail "$engine: $(cat "$work/samples" "$work/log")"
	umount "$work/disk"
	rm -r "$work/out"
done
