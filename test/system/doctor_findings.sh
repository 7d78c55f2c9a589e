#!/bin/bash
# Each id of a finding in the source of `asprof-agent doctor` has a heading in the chapter "Findings" of
# troubleshooting.md, and each heading there is such an id.
. "$(dirname "$0")/agent.inc"

sources=$(cat decoder/commands/cmd_doctor.c decoder/doctor/doctor_*.c decoder/commands/doctor_*.c | tr -s '\n\t ' ' ')
# ids PATTERN: the quoted words in lines that match PATTERN. There must be one; otherwise the pattern is stale.
ids() {
	found=$(grep -oE -- "$1" <<<"$sources" | grep -oE '"[A-Za-z-]+"' | tr -d '"')
	[ -n "$found" ] || fail "nothing matches $1"
	echo "$found"
}
{
	ids '\{ "[A-Za-z-]+", doctor_[a-z_]+, N' &&                    # the table of checks
		ids 'SEVERITY_(STOP|NOTE), "[A-Za-z-]+"' &&               # findings with their own names
		ids '\[PRELOADABLE_[A-Z]+\] = "[A-Za-z-]+"' && # obstacles of a program
		ids 'check = "[A-Za-z-]+"' &&                             # checks that are not in the table
		ids '\."?, "[a-z]+" \}'                                   # refusals of a store
} >"$work/found" || fail "$(cat "$work/found")"
sort -u "$work/found" >"$work/ids"
sed -n '/^## Findings of/,$p' docs/questions/troubleshooting.md | sed -n '2,${/^## /q;s/^### //p}' | sort >"$work/entries"
diff "$work/ids" "$work/entries" || fail "ids of the source (<) and entries of troubleshooting.md (>) differ"
[ "$(wc -l <"$work/ids")" -gt 30 ] || fail "few ids: $(cat "$work/ids")"
echo ok
