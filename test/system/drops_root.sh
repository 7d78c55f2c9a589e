#!/bin/bash
# A daemon starts as root and becomes another user. Its reports continue, in a directory that this user can write to,
# and one line names that directory. A directory that was made for that user is used.
. "$(dirname "$0")/agent.inc"
. test/system/on_command.inc
[ "$(id -u)" -eq 0 ] || skip "this needs root"
user=65534
for_everybody
program on_command >/dev/null
mkdir -m 1777 "$work/tmp"
: >"$work/log"
chmod 666 "$work/log"

# in DIR COUNT: DIR has COUNT reports.
in_dir() {
	local count

	count=$(find "$1" -name 'on_command_*.jfr' | wc -l)
	[ "$count" -eq "$2" ] || fail "$count in $1, not $2: $(find "$work" -name '*.jfr'); $(cat "$work/log")"
}
again() {
	rm -rf "$work/tmp"/* "$work/dir"
	: >"$work/log"
}

# LOCAL_DIR belongs to root.
begin TMPDIR="$work/tmp" ASPROF_AGENT_LOCAL_DIR="$work/dir"
tell flush
tell "drop $user"
for _ in 1 2; do
	tell flush
done
in_dir "$work/dir" 1
in_dir "$work/tmp/asprof-agent-$user" 2
logged "user $user cannot write in $work/dir: Permission denied; profiles go to $work/tmp/asprof-agent-$user"
# The administrator reads the line, and corrects the owner.
chown $user "$work/dir"
tell flush
in_dir "$work/dir" 2
finish
in_dir "$work/dir" 3
in_dir "$work/tmp/asprof-agent-$user" 2
[ "$(stat -c %U:%a "$work/tmp/asprof-agent-$user")" = "$(id -un $user):700" ] ||
	fail "it is $(stat -c %U:%a "$work/tmp/asprof-agent-$user")"
echo "LOCAL_DIR of root's: all 5 reports are there"

# No directory is set: root has a default directory.
if [ ! -d /var/lib/asprof-agent ]; then
	again
	begin TMPDIR="$work/tmp"
	tell flush
	tell "drop $user"
	tell flush
	finish
	in_dir "$work/tmp/asprof-agent-0" 1
	in_dir "$work/tmp/asprof-agent-$user" 2
	echo "no LOCAL_DIR: all 3 reports are there"
fi

# A directory that the user can write to.
again
mkdir -m 1777 "$work/dir"
begin TMPDIR="$work/tmp" ASPROF_AGENT_LOCAL_DIR="$work/dir"
tell flush
tell "drop $user"
tell flush
finish
in_dir "$work/dir" 3
[ ! -s "$work/log" ] || fail "it says $(cat "$work/log")"
echo "LOCAL_DIR of everybody's: all 3 reports are there"

# A spool of root, and an unavailable store: later reports wait in a directory of the user.
again
begin TMPDIR="$work/tmp" ASPROF_AGENT_S3_BUCKET=b ASPROF_AGENT_S3_ENDPOINT=http://127.0.0.1:1 \
	AWS_ACCESS_KEY_ID=k AWS_SECRET_ACCESS_KEY=s AWS_EC2_METADATA_DISABLED=true \
	ASPROF_AGENT_EXIT_TIMEOUT=1s ASPROF_AGENT_SPOOL_DIR="$work/dir"
tell flush
tell "drop $user"
for _ in 1 2; do
	tell flush
done
finish
in_dir "$work/dir" 1
in_dir "$work/tmp/asprof-agent-$user" 3
logged "user $user cannot write in ASPROF_AGENT_SPOOL_DIR $work/dir: Permission denied; reports wait in $work/tmp/asprof-agent-$user"
echo "a spool of root's: all 4 reports wait"
