#!/bin/bash
# A program with the longest possible file name: the name of the local file is cut between two characters, and the
# upload's metadata has the whole name.
. "$(dirname "$0")/upload.inc"
. "$here/strict.inc"
store

# 255 bytes; byte 200 is inside a character.
name=x$(printf 'é%.0s' $(seq 127))
cp "$(command -v sleep)" "$work/$name" || fail "no file system for such a name"
env AWS_ACCESS_KEY_ID="$access" AWS_SECRET_ACCESS_KEY="$secret" AWS_REGION=us-east-1 \
	AWS_EC2_METADATA_DISABLED=true ASPROF_AGENT_S3_BUCKET=reports ASPROF_AGENT_S3_ENDPOINT="$url" \
	ASPROF_AGENT_LOCAL_DIR="$work/local" ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_START_DELAY=0 \
	ASPROF_AGENT_PROFILING_GROUP=long ASPROF_AGENT_LOG_FILE="$work/log" \
	ASPROF_AGENT_EXIT_TIMEOUT=10s LD_PRELOAD="$preload" "$work/$name" 0.5 || fail "status $?"

/usr/bin/python3 - "$name" "$work" <<-'END' || fail "the name is not as it should be"
	import json, os, sys, zipfile
	name, work = os.fsencode(sys.argv[1]), sys.argv[2]
	assert len(name) == 255
	(local,) = os.listdir(os.fsencode(work) + b'/local')
	stem = local.rsplit(b'_', 2)[0]
	print('%d bytes of %d stand in the name of %d' % (len(stem), len(name), len(local)))
	assert name.startswith(stem) and len(stem) > 190 and len(local) <= 255
	stem.decode()
	(upload,) = os.listdir(work + '/objects')
	agent = json.loads(zipfile.ZipFile(work + '/objects/' + upload).read('metadata.json'))['agent']
	assert agent['executable'].encode() == name, agent['executable']
END
