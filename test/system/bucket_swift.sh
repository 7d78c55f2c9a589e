#!/bin/bash
# Reading from a real store: OpenStack Swift with its S3 interface.
# Takes long.
. "$(dirname "$0")/upload.inc"
. "$here/swift.inc"
. "$here/bucket.inc"
. "$here/guide.inc"

store
two_services
reads_all
pulls
wrong_settings

# As the guide says.
mkdir "$work/guide"
guide_block docs/reference/commands.md | sed "s|s3://profiles|s3://reports|; s/checkout/svc/
	s/2026-11-21T02:10:00/$(date -d '-1 hour' +%FT%T)/; s/2026-11-21T02:20:00/$(date -d '+1 minute' +%FT%T)/" \
	>"$work/guide/block"
(cd "$work/guide" && with_store bash -e block) >"$work/out" 2>&1 || fail "the guide: $(cat "$work/out")"
grep -q samples "$work/out" && [ -n "$(find "$work/guide/profiles" -name '*.zip')" ] || fail "the guide: $(cat "$work/out")"
