#!/bin/bash
# kill -9 at random times: samples until two seconds before are in the spool, and the next process, or asprof-agent
# recover, makes profiles of them. The program counts its allocations, each of which is sampled, and its CPU time, in
# a file that outlives it.
#
# KILLS (20) programs are killed, a fifth as many with async-profiler, and a fifth with async-profiler and the builtin
# sampler of memory.
. "$(dirname "$0")/agent.inc"
KILLS=${KILLS:-20}
fewer=0
[ -z "${ASPROF_TEST_LIB:-}" ] || fewer=$(((KILLS + 4) / 5))
all=$((KILLS + 2 * fewer))
survives=$(program survives)
spool=$work/spool
mkdir "$work/books" "$work/out" "$spool" "$work/next" "$work/contained"

# victim: start one; $! is its pid.
victim() {
	set -- ASPROF_AGENT_LIB="${ASPROF_TEST_LIB:-libasyncProfiler.so}" ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_LOG=off \
		ASPROF_AGENT_LOCAL_DIR="$work/out" ASPROF_AGENT_SPOOL_DIR="$spool" \
		ASPROF_AGENT_REPORTING_INTERVAL=1h ASPROF_AGENT_CPU_INTERVAL=1ms \
		ASPROF_AGENT_NATIVE_MEM=0 LD_PRELOAD="$preload" "$@"
	env "$@" &
}

# running NUMBER: the name of its note, without the suffix.
running() {
	find "$spool" -name ".survives_$1_*.running.log" | sed 's/\.running\.log$//'
}

until_true() {
	for _ in $(seq 1000); do
		"$@" && return 0
		sleep 0.02
	done
	return 1
}

# begun NUMBER [BYTES]: wait until its recording is longer than BYTES, by default a finished chunk.
begun() {
	size=$(stat -c %s "$(running "$1").running.chunks" 2>/dev/null)
	[ "${size:-0}" -gt "${2:-12000}" ]
}

# book FILE HUNDREDTHS: print allocations and milliseconds of CPU time, up to so many hundredths of a second before
# its end.
book() {
	python3 - "$1" "$2" <<-'END'
		import struct, sys
		words = struct.unpack("12002Q", open(sys.argv[1], "rb").read(12002 * 8))
		at = 2 + max(words[1] - 1 - int(sys.argv[2]), 0)
		print(words[at], words[at + 6000] // 1000)
	END
}

# Each has its own spool, because the next one would recover the one before; four at a time.
one_kill() {
	local by=builtin memory=builtin seconds=$((1 + RANDOM % 2))
	[ "$1" -le "$KILLS" ] || by=async-profiler
	[ "$1" -gt "$KILLS" ] && [ $(($1 % 2)) -eq 0 ] && memory=engine
	spool=$work/spool.$1
	mkdir "$spool"
	victim ASPROF_AGENT_ENGINE=$by ASPROF_AGENT_NATIVE_MEM_ENGINE=$memory "$survives" "$work/books/new.$1"
	pid=$!
	until_true begun $pid || fail "it is not profiled: $(ls -A "$spool")"
	sleep "$seconds.$((RANDOM % 600 + 250))"
	kill -9 $pid
	wait $pid 2>/dev/null
	mv "$work/books/new.$1" "$work/books/$pid.$by.$memory"
}
for kill in $(seq "$all"); do
	one_kill "$kill" &
	[ $((kill % 4)) -ne 0 ] || wait
done 2>/dev/null
wait
cp -a "$work/spool.1" "$work/one"
[ $fewer -eq 0 ] || cp -a "$work/spool.$((KILLS + 1 + KILLS % 2))" "$work/two"
mv "$work"/spool.*/.survives* "$spool/"
[ "$(find "$spool" -name '*.log' | wc -l)" -eq "$all" ] || fail "left: $(ls -A "$spool")"

# Two recoveries at the same time: each report is made once.
"$agent" recover --dry-run "$spool" >"$work/dry" || fail "dry run: $(cat "$work/dry")"
# (A process whose agent had no processor until it was killed may have none. Below, such a process misses its share.)
[ "$(grep -c 'would be recovered: ' "$work/dry")" -eq "$all" ] &&
	[ "$(grep -c 'would be recovered: 0' "$work/dry")" -le $((all / 10)) ] ||
	fail "of $(wc -l <"$work/dry"): $(grep -v 'would be recovered: [1-9]' "$work/dry")"
"$agent" recover "$spool" >"$work/first" 2>"$work/first.err" &
"$agent" recover "$spool" >"$work/second" 2>"$work/second.err"
wait $!
until_true "$agent" recover "$spool" 2>/dev/null >>"$work/second"
[ "$(cat "$work/first" "$work/second" | grep -c 'samples of survives')" -eq "$all" ] ||
	fail "by two: $(cat "$work/first" "$work/second" "$work/first.err" "$work/second.err")"
[ "$(grep -l '"recovered":true' "$spool"/*.spool.json | wc -l)" -eq "$all" ] ||
	fail "not every note says that it is recovered"

missed=
# The reports are for the directory of the dead process. A process with that directory delivers them there.
profiled "$work/out" builtin SPOOL_DIR="$spool" LOG=off sleep 1
[ -z "$(find "$spool" -name '*.jfr')" ] || fail "not delivered: $(ls -A "$spool")"
for file in "$work/books/"*; do
	kind=${file##*/}
	pid=${kind%%.*} kind=${kind#*.}
	set -- "$work/out/survives_${pid}_"*.jfr
	[ $# -eq 1 ] || fail "profiles of $pid: $*"
	"$agent" collapsed --alloc --host "^$(uname -n)\$" "$1" >"$work/folded" || fail "$1 cannot be read"
	read -r wanted computed <<<"$(book "$file" 200)"
	got=$(samples allocate_here <"$work/folded")
	"$agent" collapsed --cpu "$1" 2>/dev/null >"$work/folded"
	cpu=$(samples compute <"$work/folded")
	# The agent's thread must get a processor within that time, which the test cannot ensure.
	[ $((got * 100)) -ge $((wanted * 99)) ] || missed="$missed $kind:$got/$wanted"
	# (A signal of a thread's clock comes at a tick of the kernel, each up to ten milliseconds long.)
	[ $(((cpu + 10) * 100)) -ge $((computed * 98)) ] || missed="$missed $kind:$cpu/${computed}ms"
	echo "$kind $got $wanted $cpu $computed" >>"$work/sums"
done
[ "$(wc -w <<<"$missed")" -le $((all / 10)) ] || fail "recovered too little:$missed"

# The next process recovers by itself.
spool=$work/next
victim ASPROF_AGENT_ENGINE=builtin "$survives" "$work/books/new"
pid=$!
until_true begun $pid || fail "it is not profiled"
sleep 0.2
"$agent" recover "$spool" | grep -q 'its process is running' || fail "one that runs is recovered"
kill -9 $pid
wait $pid 2>/dev/null
# (For another destination: the report waits in the spool.)
victim ASPROF_AGENT_ENGINE=builtin ASPROF_AGENT_LOCAL_DIR="$work/next.out" sleep 120
heir=$!
recovered() {
	[ -n "$(find "$spool" -name "survives_${pid}_*.spool.jfr")" ]
}
until_true recovered || fail "the next process does not recover: $(ls -A "$spool")"
kill $heir
wait $heir 2>/dev/null

# A process that ended before it had written the head of its note has recorded nothing, so nothing is damaged.
mkdir "$work/early"
head -c 300 /dev/zero >"$work/early/.early_19868_2026-01-02T03-04-05Z.running.log"
"$agent" recover "$work/early" -o "$work/early/out" >"$work/early.said" 2>&1
! grep -q damaged "$work/early.said" || fail "an early end: $(cat "$work/early.said")"
[ -z "$(find "$work/early" -name '.early*')" ] || fail "the note of an early end is still there"

# If a recording cannot be recovered, the others in the same spool are recovered nevertheless.
python3 - "$agent" "$work/damage" "$work"/one "$work"/two* <<'END' || fail "damaged files"
import glob, os, random, shutil, subprocess, sys
agent, work = sys.argv[1:3]
random.seed(7)
def trial(what, change):
    global made
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(one, work)
    for name in files: # the next one in order of name
        shutil.copy(os.path.join(one, name), os.path.join(work, name.replace(".survives", ".twin")))
    change(work)
    run = subprocess.run([agent, "recover", work, "-o", work + "/out"], capture_output=True, text=True, timeout=60)
    assert run.returncode in (0, 1), (what, run)
    out = glob.glob(work + "/out/*.jfr")
    lines = run.stdout.splitlines()
    made += len(out) == 2
    assert len(out) >= 1 and len(lines) >= 1, (what, run)
    twin = max(out, key=lambda path: path.endswith("-1.jfr"))
    subprocess.run([agent, "summary", twin], check=True, capture_output=True)
    # A reader must detect damage inside an event.
    for path in out:
        status = subprocess.run([agent, "summary", path], capture_output=True).returncode
        assert status == 0 or (status == 1 and "garbled" in what), (what, path, status)
def cut(name, size):
    return lambda dir: os.truncate(os.path.join(dir, name), size)
def garble(name, count):
    def change(dir):
        with open(os.path.join(dir, name), "r+b") as file:
            data = bytearray(file.read())
            for _ in range(count):
                if data:
                    data[random.randrange(len(data))] = random.randrange(256)
            file.seek(0)
            file.write(data)
    return change
for one in filter(os.path.exists, sys.argv[3:]):
    made = 0
    files = sorted(os.path.basename(path) for path in glob.glob(one + "/.survives*"))
    assert len(files) == 3, files
    for name in files:
        size = os.path.getsize(os.path.join(one, name))
        for part in range(4):
            trial((name, part), cut(name, size * part // 4))
        for count in (1, 200):
            trial((name, "garbled", count), garble(name, count))
        trial((name, "gone"), lambda dir: os.remove(os.path.join(dir, name)))
    assert made > 3, made
END

# A chunk with zeros in it, as after a power cut, is omitted; the chunks before and after it are kept.
[ $fewer -eq 0 ] || python3 - "$agent" "$work/zeros" "$work/two" <<'END' || fail "zeros in a chunk"
import glob, os, shutil, struct, subprocess, sys
agent, work, one = sys.argv[1:4]
name = os.path.basename(glob.glob(one + "/.survives*.running.chunks")[0])
data = open(os.path.join(one, name), "rb").read()
chunk = data[:struct.unpack(">Q", data[8:16])[0]]
def chunks_of(recording):
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(one, work)
    with open(os.path.join(work, name), "wb") as file:
        file.write(recording)
    run = subprocess.run([agent, "recover", work, "-o", work + "/out"], capture_output=True, text=True, timeout=60)
    out = glob.glob(work + "/out/*.jfr")
    assert run.returncode == 0 and len(out) == 1, run
    subprocess.run([agent, "summary", out[0]], check=True, capture_output=True)
    return open(out[0], "rb").read().count(b"FLR\0\0\2")
whole = chunks_of(chunk * 2)
assert whole > 2, whole
for at in range(0, len(chunk) - 1024, len(chunk) // 9):
    zeroed = chunk[:at] + bytes(1024) + chunk[at + 1024:]
    assert chunks_of(chunk + zeroed + chunk) == whole, at
assert chunks_of(bytes(len(chunk)) + chunk * 2) == whole
END

# Files of other users, and names that are not regular files.
if [ "$(id -u)" -eq 0 ]; then
	cp -a "$work/one" "$work/foreign"
	chown -R 65534 "$work/foreign"
	if "$agent" recover "$work/foreign" >"$work/foreign.out" 2>&1; then
		fail "another user's is recovered: $(cat "$work/foreign.out")"
	fi
	grep -q "another user" "$work/foreign.out" || fail "$(cat "$work/foreign.out")"
	[ "$(find "$work/foreign" -name '.survives*' | wc -l)" -eq 3 ] || fail "another user's is gone"
fi
mkdir "$work/links"
for file in "$work/one"/.survives*; do
	ln -s "$file" "$work/links/"
done
"$agent" recover "$work/links" >"$work/links.out" 2>&1 && fail "links are followed: $(cat "$work/links.out")"
[ -z "$(find "$work/links" -name '*.spool.*')" ] || fail "links are followed"

# A process in another container may have the number of a process here, and still be alive.
if unshare --user --map-root-user --pid --fork true 2>/dev/null || unshare --pid --fork true 2>/dev/null; then
	spool=$work/contained
	[ "$(id -u)" -eq 0 ] && enter="unshare --pid --fork" ||
		enter="unshare --user --map-current-user --pid --fork"
	victim ASPROF_AGENT_ENGINE=builtin $enter --kill-child "$survives" "$work/books/new"
	outer=$!
	until_true begun 1 || begun 2 || fail "in a namespace it is not profiled: $(ls -A "$spool")"
	"$agent" recover "$spool" >"$work/alive"
	grep -q 'survives_.*its process is running' "$work/alive" || fail "contained: $(cat "$work/alive")"
	kill -9 $outer
	wait $outer 2>/dev/null
	gone() {
		"$agent" recover "$spool" | grep -q 'samples of survives'
	}
	until_true gone || fail "not recovered from without: $(ls -A "$spool")"
fi
awk '{ n[$1]++; got[$1] += $2; of[$1] += $3; cpu[$1] += $4; ms[$1] += $5 } END { for (kind in n)
	printf "%s: %d times killed; recovered %d allocations of %d, %d ms of %d, that were made until 2 s before\n",
	kind, n[kind], got[kind], of[kind], cpu[kind], ms[kind] }' "$work/sums"
[ -z "$missed" ] || echo "fewer than 99%:$missed"
