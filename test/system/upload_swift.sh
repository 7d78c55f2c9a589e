#!/bin/bash
# Uploads against a real store: OpenStack Swift with its S3 interface.
# Takes long.
. "$(dirname "$0")/upload.inc"
. "$here/swift.inc"
. "$here/stores.inc"

certificate good
store good
all_ways
every_error
