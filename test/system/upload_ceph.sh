#!/bin/bash
# Uploads against a real store: a Ceph RADOS gateway.
. "$(dirname "$0")/upload.inc"
have curl
. "$here/ceph.inc"
. "$here/stores.inc"

certificate good
store good
all_ways
every_error
