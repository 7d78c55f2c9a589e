#!/bin/bash
# Reading from a real store: a Ceph RADOS gateway, by HTTPS.
. "$(dirname "$0")/upload.inc"
have curl
have openssl
. "$here/ceph.inc"
. "$here/bucket.inc"

certificate good
store good
two_services
reads_all
pulls
wrong_settings
as=(ASPROF_AGENT_S3_ENDPOINT="$tls_url" AWS_CA_BUNDLE="$work/good.pem")
same 'by HTTPS' --cache 0 s3://reports/profile_ -- "$work/zips"/profile_*
# shellcheck disable=SC2034 # used by bucket.inc
as=(ASPROF_AGENT_S3_ENDPOINT="$tls_url" AWS_CA_BUNDLE=)
fails 'ertificate' top s3://reports
