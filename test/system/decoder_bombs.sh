#!/bin/sh
# Small files that unpack to much data, or claim large sizes, take a bounded amount of memory, disk and time. One line
# reports them with their offset. Honest compressed files are read, also gzip, from any source. A damaged member of a
# zip does not hide the others.
. "$(dirname "$0")/agent.inc"
have python3 /usr/bin/time gzip
data=test/fixtures/jfr

python3 - "$work" "$data/native.jfr" <<'END' || exit 1
import struct, sys, zipfile
work, native = sys.argv[1], open(sys.argv[2], "rb").read()
def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def long_varint(n): # nine bytes for any number
    return bytes([n >> 7 * i & 127 | 128 for i in range(8)] + [n >> 56])
def chunk(strings, tree, constants=b"\7\1\0\0\0\0\0"):
    body = b"\0\0\0\0" + strings + tree
    meta = long_varint(len(body) + 9) + body
    total = 68 + len(meta) + len(constants)
    return b"FLR\0" + struct.pack(">HHqqqqqqqI", 2, 0, total, 68 + len(meta), 68, 10**18, 10**9, 0,
                                  10**9, 1) + meta + constants
def string(text):
    return b"\3" + varint(len(text)) + text
def pack(name, *members):
    with zipfile.ZipFile(f"{work}/{name}.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for member, content in members:
            z.writestr(member, content)
pack("zeros", ("a.jfr", bytes(100 << 20)))
pack("late", ("a.jfr", native + bytes(100 << 20)), ("b.jfr", native))
pack("strings", ("a.jfr", chunk(varint(20 << 20) + bytes(20 << 20), b"")))
words = varint(3) + string(b"root") + string(b"class") + string(b"x")
pack("types", ("a.jfr", chunk(words, b"\0\0" + varint(2 << 20) + b"\1\0\0" * (2 << 20))))
pack("fields", ("a.jfr", chunk(varint(3) + string(b"root") + string(b"class") + string(b"field"),
     b"\0\0\1\1\0" + varint(2 << 20) + b"\2\0\0" * (2 << 20))))
low, keys, count = [bytes([n | 128]) for n in range(128)], [], 33600 * 128
for n in range(1 << 14, (1 << 14) + count // 128): # 128 keys of four bytes each
    rest = bytes([n & 127 | 128, n >> 7 & 127 | 128, n >> 14])
    keys.append(rest.join(low) + rest)
pool = b"\1\0\0\0\0\1\7" + varint(count) + b"".join(keys)
tree = b"\0\0\1\1\2\2\3\4\5\0" # a class named "T" of id 7, without a field
words = varint(6) + b"".join(string(w) for w in (b"root", b"class", b"name", b"T", b"id", b"7"))
pool = long_varint(len(pool) + 9) + pool
pack("constants", ("a.jfr", chunk(words, tree, pool)))
pack("two", ("one.jfr", native), ("sub/two.jfr", native))
whole = bytearray(open(f"{work}/two.zip", "rb").read())
second = whole.index(b"PK\3\4", 4)
whole[2000:3000] = bytes(1000)
open(f"{work}/first_damaged.zip", "wb").write(whole)
whole = bytearray(open(f"{work}/two.zip", "rb").read())
whole[second + 2000:second + 3000] = bytes(1000)
open(f"{work}/second_damaged.zip", "wb").write(whole)
END

# told NAME TEXT: one line on stderr, which ends in TEXT, and status 1; bounded.
told() {
	TMPDIR=$work /usr/bin/time -q -o "$work/peak" -f '%M %e' "$agent" summary "$work/$1" \
		>"$work/out" 2>"$work/err"
	[ $? = 1 ] || fail "$1: the status"
	echo "$1: $(cat "$work/peak") (kB, s): $(cat "$work/err")"
	[ "$(wc -l <"$work/err")" = 1 ] && grep -q "$2\$" "$work/err" || fail "$1: not $2"
	[ "$(cut -d ' ' -f 1 "$work/peak")" -lt 262144 ] || fail "$1: that is too much memory"
}
much='not read, as it unpacks to more than 32 times its size plus its share of 64 MiB; unzip it if you trust it'
told zeros.zip "(a.jfr): offset 0: $much"
told late.zip "(a.jfr): offset 0: $much"
grep -q '^Span' "$work/out" || fail 'the member behind a bomb is not read'
told strings.zip '(a.jfr): offset 68: damaged metadata'
told types.zip '(a.jfr): offset 68: damaged metadata'
told fields.zip '(a.jfr): offset 68: damaged metadata'
told constants.zip '(a.jfr): offset [0-9]*: too many constants'
told first_damaged.zip '(one.jfr): offset 0: a damaged member of the zip'
grep -q '^Span' "$work/out" || fail 'the second member is not read'
told second_damaged.zip '(sub/two.jfr): offset [1-9][0-9]*: a damaged member of the zip'
grep -q '^Span' "$work/out" || fail 'the first member is not read'

# A library's name as long as the reader's limit: an event before the others, in the first chunk of a recording.
python3 - "$data/native.jfr" "$work/long.jfr" <<'END' || exit 1
import struct, sys
data = open(sys.argv[1], "rb").read()
def number(at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at
def varint(n, length):
    return bytes([n >> 7 * i & 127 | (128 if i + 1 < length else 0) for i in range(length)])
size, constants, metadata = struct.unpack(">QQQ", data[8:32])
at = 68
while True: # until an event of a library
    length, body = number(at)
    kind, body = number(body)
    if b"/libc.so" in data[body:at + length] and length < 300:
        break
    at += length
body = varint(kind, 2) + varint(1, 1) + b"\3" + varint(65536, 3) + b"/libjvm.so".ljust(65536, b"x") + b"\1\2"
event = varint(len(body) + 4, 4) + body
out = bytearray(data[:68] + event + data[68:size])
struct.pack_into(">QQQ", out, 8, size + len(event), constants + len(event), metadata + len(event))
open(sys.argv[2], "wb").write(out)
END
"$agent" summary "$work/long.jfr" | grep -q '^Span' || fail "a long name: status $?"

# gzip is recognized by content: a file with any name, a stream, a file in a directory, two in one, a zip inside.
"$agent" collapsed --cpu "$data/native.jfr" >"$work/plain"
gzip -c "$data/native.jfr" >"$work/packed"
mkdir "$work/dir"
cp "$work/packed" "$work/dir/native.jfr.gz"
gzip -c "$work/two.zip" >"$work/two.zip.gz"
head -c 100000 "$data/native.jfr" | gzip -c >"$work/parts"
tail -c +100001 "$data/native.jfr" | gzip -c >>"$work/parts"
for file in packed parts dir; do
	"$agent" collapsed --cpu "$work/$file" >"$work/ours" || fail "$file: status $?"
	cmp "$work/plain" "$work/ours" || fail "$file is not read like what is in it"
done
# shellcheck disable=SC2002 # the test is about a pipe
cat "$work/packed" | "$agent" collapsed --cpu - | cmp - "$work/plain" || fail 'a stream of gzip'
"$agent" summary "$work/two.zip.gz" | grep -q '2 chunks' || fail 'a zip in a gzip'
head -c 30000 "$work/packed" >"$work/cut.gz"
told cut.gz 'cut.gz: offset 30000: a damaged gzip'
head -c 100000000 /dev/zero | gzip -c >"$work/zeros.gz"
told zeros.gz 'unpacks to more than 32 times its size plus 64 MiB; gunzip it if you trust it'
