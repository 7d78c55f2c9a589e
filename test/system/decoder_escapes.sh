#!/bin/sh
# No external text can control the terminal: names in a recording, in a zip and of files, settings, arguments and
# variables. This holds for output and for messages on stderr.
. "$(dirname "$0")/agent.inc"
have python3

# Recordings whose names were replaced by control characters of the same length, also in a zip with such names, and a
# damaged one. $work/hostile has words that a shell cannot spell.
python3 - "$work" test/fixtures/jfr <<'END' || exit 1
import json, os, sys, zipfile
work, data = sys.argv[1:]
# ESC and CSI, the latter as UTF-8 and as a byte, a bell, a direction mark, DEL, half a character.
evil = b"\x1b[31m\xc2\x9b2J\xe2\x80\xae\x9bK\x07\x7f\xc2\x85\xe2\x81\xa6\xe6"
def hostile(length):
    return (evil * (length // len(evil) + 1))[:length]
def spoil(name, names):
    data_ = open(f"{data}/{name}.jfr", "rb").read()
    for word in names:
        assert word in data_, word
        data_ = data_.replace(word, hostile(len(word)))
    return data_
native = spoil("native", [b"burn_hot", b"libc.so.6", b"jdk.CPULoad", b"clock_nanosleep", b"perf_events"])
java = spoil("java", [b"perf_events", b"Reference Handler", b"java/lang/Thread", b"jdk.OSInformation"])
word = evil.replace(b"\0", b"")
for name, content in (b"native", native), (b"java", java):
    open(os.path.join(work.encode(), name + word + b".jfr"), "wb").write(content)
open(os.path.join(work.encode(), b"damaged" + word + b".jfr"), "wb").write(native[:5000])
with zipfile.ZipFile(f"{work}/profile_g_unknown___1_2026-11-21T02-30-00Z.zip", "w") as z:
    z.writestr("\x1b[31m\x9b2J\u202e.jfr", native)
    z.writestr("metadata.json", json.dumps({"agent": {"tags": {"\x9b2J": "\u202e\x1b[1m"}}}))
with zipfile.ZipFile(f"{work}/damaged.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("\x1b[31m\x9b2J\u202e.jfr", native)
whole = bytearray(open(f"{work}/damaged.zip", "rb").read())
whole[2000:3000] = bytes(1000)
open(f"{work}/damaged.zip", "wb").write(whole)
open(f"{work}/word", "wb").write(word)
END
word=$(cat "$work/word")

# look COMMAND...: keep its output on both streams for the check at the end.
looks=0
mkdir "$work/seen"
look() {
	looks=$((looks + 1))
	"$agent" "$@" >"$work/seen/$looks.out" 2>"$work/seen/$looks.err" </dev/null
	printf '%s\n' "$*" >"$work/seen/$looks.words"
}

for file in "$work/native$word.jfr" "$work/java$word.jfr" "$work/damaged$word.jfr" \
	"$work/damaged.zip" "$work"/profile*.zip; do
	for command in summary 'summary --json' 'top -n 0 --threads' 'top --json' 'top --wall' \
		'collapsed --threads' 'collapsed --wall' flamegraph heatmap 'pprof' 'leaks -n 0' 'leaks --json' \
		'lifetimes -n 0' 'longpolls --include-non-pollcatch' nativemem duration; do
		# shellcheck disable=SC2086 # words on purpose
		look $command "$file"
	done
done
# Arguments and variables.
look "$word"
look top "--$word"
look top --thread "$word(" "$work/native$word.jfr"
look top --from "$word" "$work/native$word.jfr"
look nativemem --type "$word" "$work/native$word.jfr"
look top "$work/none$word"
look collapsed "$work/native$word.jfr" -o "$work/none$word/x"
look options "$word"
look run "-$word"
look run "$work/none$word"
export ASPROF_AGENT_LOCAL_DIR="$word" ASPROF_AGENT_CPU_INTERVAL="$word"
look options
look options --json

# Neither stream has control characters except ends of lines (and the page's own tabs).
python3 - "$work/seen" "$looks" <<'END' || fail 'not clean'
import gzip, sys
turns = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
seen, looks, cleaned = sys.argv[1], int(sys.argv[2]), 0
for n in range(1, looks + 1):
    words = open(f"{seen}/{n}.words", "rb").read()
    for stream in "out", "err":
        text = open(f"{seen}/{n}.{stream}", "rb").read()
        cleaned += text.count(b"?[31m")
        if text[:2] == b"\x1f\x8b":
            text = gzip.decompress(text)
            if any(escape in text for escape in (b"\x1b[", b"\xc2\x9b", b"\xe2\x80\xae")):
                sys.exit(f"escapes in the profile.proto of {words!r}")
            continue
        for line in text.decode("utf-8").split("\n"):
            bad = [hex(ord(c)) for c in line
                   if (ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160 or c in turns]
            if bad:
                sys.exit(f"{words!r}: {bad} in {line[:200]!r}")
if not cleaned:
    sys.exit("nothing was there to clean")
print(f"{looks} times, {cleaned} names")
END
