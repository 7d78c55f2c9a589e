#!/bin/bash
# A program that defines functions with the same names as the libraries inside the preload runs unharmed, and its
# reports arrive by HTTPS. Neither side uses the other's functions.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
have openssl
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -rdynamic -o "$work/own_names" \
	"$here/../programs/own_names.c" || fail "cannot build"

# The check works: the program ends if a library uses one of its functions.
echo 'int deflate(void); __attribute__((constructor)) static void f(void) { deflate(); }' |
	${CC:-cc} -shared -fPIC -x c -o "$work/taker.so" - || fail "cannot build"
said=$(LD_PRELOAD=$work/taker.so "$work/own_names" 0)
[ $? -eq 99 ] && [ "$said" = 'deflate was called' ] || fail "a call of its functions goes unseen"

certificate good
store good
said=$(env -i PATH="$PATH" AWS_ACCESS_KEY_ID="$access" AWS_SECRET_ACCESS_KEY="$secret" \
	AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true AWS_CA_BUNDLE="$work/good.pem" \
	ASPROF_AGENT_S3_BUCKET=reports ASPROF_AGENT_S3_ENDPOINT="$url" ASPROF_AGENT_ENGINE=builtin \
	ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_LOG_FILE="$work/log" \
	ASPROF_AGENT_TAGS=a=b ASPROF_AGENT_SPOOL_DIR="$work/spool" LD_PRELOAD="$preload" \
	"$work/own_names" 3)
status=$?
[ $status -eq 0 ] && [ "$said" = "done" ] || fail "status $status, it says $said"
[ "$(list | wc -l)" -ge 2 ] || fail "$(list | wc -l) reports arrived"
[ -z "$(refused)" ] || fail "refused: $(refused)"
echo "$(grep -c '^OWN(' "$here/../programs/own_names.c") names, $(list | wc -l) reports arrived"
