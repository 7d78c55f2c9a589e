#!/bin/bash
# Reading from a real store: OpenStack Swift with its S3 interface.
# Takes long.
. "$(dirname "$0")/upload.inc"
. "$here/swift.inc"
. "$here/bucket.inc"

store
two_services
reads_all
pulls
wrong_settings
