#!/bin/bash
# A spool that other users can write to, such as /tmp: files that they plant there are neither delivered, nor copied,
# nor removed. Reports arrive as usual, by a private directory.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
[ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || skip "this needs root, and setpriv"
chmod 711 "$work"
mkdir -m 1777 "$work/spool"
mkdir "$work/local" "$work/etc"
stem=x_1_$(date -u +%Y-%m-%dT%H-%M-%SZ)

# note EXECUTABLE: as the agent would write it for this process, in all known respects.
note() {
	local pending directory

	directory=$(stat -c %i "$work/local")
	pending="\"local\",\"s3\",\"local $work/local $directory\""
	pending+=",\"s3 127.0.0.1:${url##*:} reports/\""
	printf '{"start":1,"end":%s000,"pid":1,"executable":"%s","group":"g","tags":"","pending":[%s],%s}' \
		"$(date +%s)" "$1" "$pending" '"origin":{"hostname":"h"}'
}
# plant DIR EXECUTABLE OWNER: under the names of this version, and of earlier ones.
plant() {
	for end in spool. ""; do
		echo "0 0 * * * root /tmp/evil" >"$1/$stem.${end}jfr"
		note "$2" >"$1/$stem.${end}json"
		chown "$3" "$1/$stem.${end}jfr" "$1/$stem.${end}json"
	done
}
# service: finds the planted files at its start, and delivers its own reports.
service() {
	profiled 1.5 ASPROF_AGENT_SPOOL_DIR="$work/spool" ASPROF_AGENT_LOCAL_DIR="$work/local" \
		ASPROF_AGENT_EXIT_TIMEOUT=30s
	[ -z "$(ls -A "$work/etc")" ] || fail "written: $(ls -A "$work/etc")"
	[ -z "$(find "$work/local" -name 'x_*' -o -name '*etc*')" ] || fail "written: $(ls "$work/local")"
	! list | grep -v '^profile_python3' || fail "delivered"
	[ "$(list | wc -l)" -ge 2 ] || fail "$(list | wc -l) arrived"
	[ -z "$(refused)" ] || fail "refused: $(refused)"
}
store
other=65534

# Another user plants a note, as root does here with its ID. A second note is in the private directory, and its owner is
# that of the directory.
plant "$work/spool" ../etc/x $other
planted=$(ls "$work/spool")
mkdir -m 700 "$work/spool/0"
plant "$work/spool/0" ../etc/x 0
ours=$(ls "$work/spool/0")
service
[ "$(ls -A "$work/spool")" = "$(printf '%s\n' 0 "$planted")" ] || fail "there is $(ls -A "$work/spool")"
[ "$(ls -A "$work/spool/0")" = "$ours" ] || fail "left: $(ls -A "$work/spool/0")"
echo "notes that are another user's, or lead elsewhere, stay where they are"

# Planted first: a link to root's files, and a directory of another user.
empty
rm -rf "$work/spool/0"
ln -s "$work/etc" "$work/spool/0"
rm -f "$work/log"
service
said 'cannot use ASPROF_AGENT_SPOOL_DIR'
rm "$work/spool/0"
mkdir "$work/spool/0" && chown $other "$work/spool/0"
plant "$work/spool/0" ../etc/x $other
service
echo "one that others made for us is not used"
