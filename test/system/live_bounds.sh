#!/bin/sh
# The agent's memory in the program is bounded, even if the program allocates as fast as it can, each allocation is
# recorded, and clients of the live endpoint request hours of it.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
have curl python3
program=$(program allocates)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
held one MEMORY=32m NATIVE_MEM=0 REPORTING_INTERVAL=1h LOCAL_MAX_BYTES=128m LISTEN="127.0.0.1:$port" "$program"
until_true curl -s "http://127.0.0.1:$port/status" -o /dev/null || fail "no endpoint at $port: $(cat "$work/one.err")"

# Four at a time, each an hour of all events. Each ends when it is full, and reports that.
for each in 1 2 3 4; do
	curl -sS --max-time 120 -D "$work/head.$each" -o "$work/taken.$each" \
		"http://127.0.0.1:$port/recording?seconds=3600" &
	asked="${asked:-} $!"
done
python3 - "$pid" "$work/most" <<'MEASURE' &
import glob, os, sys
pid, most = sys.argv[1], 0
while True:
    files = {}
    for path in glob.glob(f'/proc/{pid}/task/*/fd/*'):
        try:
            if 'memfd:asprof' in os.readlink(path):
                st = os.stat(path)
                files[st.st_ino] = st.st_blocks * 512
        except OSError:
            pass
    if not files and not os.path.exists(f'/proc/{pid}/fd'):
        break
    if sum(files.values()) > most:
        most = sum(files.values())
        with open(sys.argv[2] + '.new', 'w') as f:
            print(most >> 20, file=f)
        os.rename(sys.argv[2] + '.new', sys.argv[2])
MEASURE
running="$running $!"
for each in $asked; do
	wait "$each" || fail "a recording of an hour is not answered: $(cat "$work/curl.err" 2>/dev/null)"
done
for each in 1 2 3 4; do
	grep -q '^HTTP/1.1 200' "$work/head.$each" && grep -q '^Asprof-Agent-Truncated: ' "$work/head.$each" ||
		fail "recording $each: $(cat "$work/head.$each")"
	size=$(wc -c <"$work/taken.$each")
	[ "$size" -le $((16 << 20)) ] || fail "recording $each: $size bytes"
	all=$((${all:-0} + size))
done
# (The limit is for recordings at the same time: an ended one frees its memory for the others.)
[ "$all" -gt $((16 << 20)) ] && [ "$all" -le $((40 << 20)) ] || fail "all recordings: $all bytes"
"$agent" summary "$work/taken.1" >/dev/null || fail "the recording cannot be read"

"$agent" profile "$pid" -t 1000s collapsed --alloc >"$work/folded" 2>"$work/err" || fail "profile: $(cat "$work/err")"
grep -q 'reached its size limit' "$work/err" && [ -s "$work/folded" ] || fail "profile does not say that it is cut: $(cat "$work/err")"

kill "$pid"
wait "$pid" 2>/dev/null
# A report before the end of its interval, the next chunk, and four recordings.
most=$(cat "$work/most")
echo "at most $most MiB in files in memory"
[ "$most" -le 160 ] || fail "$most MiB of files in memory"
[ "$(find "$work/one" -name '*.jfr' | wc -l)" -gt 1 ] || fail "no report before the interval was over: $(ls "$work/one")"
