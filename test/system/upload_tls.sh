#!/bin/bash
# Uploads by TLS 1.2 and by TLS 1.3 to a store whose certificate is in the bundle of AWS_CA_BUNDLE or SSL_CERT_FILE,
# and to none whose certificate is in neither.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
have openssl
certificate good
certificate other

# by VERSION BUNDLES...: run a program, and set arrived to the number of its reports.
by() {
	empty
	store good "$1"
	profiled 1.5 "${@:2}"
	store_stop
	arrived=$(list | wc -l)
}

mkdir -p "$work/objects"
for version in 1.2 1.3; do
	for variable in AWS_CA_BUNDLE SSL_CERT_FILE; do
		by $version AWS_CA_BUNDLE= $variable="$work/good.pem"
		echo "TLS $version, $variable: $arrived reports arrived"
		[ "$arrived" -ge 1 ] || fail "nothing arrived"
	done
	by $version AWS_CA_BUNDLE="$work/other.pem" SSL_CERT_FILE="$work/good.pem"
	[ "$arrived" -eq 0 ] || fail "AWS_CA_BUNDLE is not what counts"
done
