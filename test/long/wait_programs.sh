#!/bin/bash
# Waits of real software agree with its own measurement within POINTS (5) percentage points: SQLite with two writers,
# Node with slow DNS, mutexes of Rust's std and of parking_lot, Java with async-profiler; and the table of `strace -c -w`.
#
#   SECONDS_EACH=20  duration of each program
#   ONLY="rust"      only these
# Takes long.
. "$(dirname "$0")/../system/agent.inc"
have python3
seconds=${SECONDS_EACH:-20}
export ASPROF_AGENT_WALL_INTERVAL=10ms ASPROF_AGENT_START_DELAY=0

# judge WHAT: $work/measured has lines "THREAD CAUSE SECONDS_WAITED SECONDS_LIVED", with regular expressions; the reports
# are in $work/out.
judge() {
	python3 - "$agent" "$1" "${POINTS:-5}" "$work/measured" "$work/out" <<'P' || failed=1
import json, subprocess, sys
agent, what, points, measured, reports = sys.argv[1:]
wrong = rows = 0
for line in open(measured):
    name, cause, waited, lived = line.split()
    rows += 1
    answer = json.loads(subprocess.run([agent, "waits", "--json", "-n", "0", "--thread", "^%s$" % name, reports],
                                       stdout=subprocess.PIPE, check=True).stdout)
    weight = sum(group["weight"] for group in answer["groups"] if group["name"] in cause.split("|"))
    # (With ".*" the wait is of one of several threads, for which the kernel has one name.)
    whole = float(lived) * 1e9 if name == ".*" else max(answer["weight"], 1)
    told, true = 100 * weight / whole, 100 * float(waited) / float(lived)
    others = {group["name"]: round(100 * group["weight"] / max(answer["weight"], 1), 1) for group in answer["groups"]}
    print("%s: %-14s %-11s by the program %5.1f%%, reported %5.1f%%: %s" % (what, name, cause, true, told, others))
    wrong += abs(told - true) > float(points)
sys.exit(wrong or not rows)
P
}

# sqlite: each writer waits in SQLite's busy handler, which sleeps, and for the disk.
sqlite() {
	cat >"$work/writer.py" <<'END'
import ctypes, os, sqlite3, sys, time

path, name, hold, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
ctypes.CDLL(None).prctl(15, name.encode())
db = sqlite3.connect(path, isolation_level=None, timeout=60)
db.execute("pragma synchronous=full")
db.execute("create table if not exists t(a, b)")


def busy(duration):
    end = time.monotonic() + duration
    while time.monotonic() < end:
        pass


def timed(*statement):
    start, cpu = time.monotonic(), time.thread_time()
    db.execute(*statement)
    return time.monotonic() - start - (time.thread_time() - cpu)


start, locked, disk = time.monotonic(), 0, 0
while time.monotonic() - start < seconds:
    locked += timed("begin immediate")
    db.execute("insert into t values (?, ?)", (os.getpid(), "x" * 1000))
    busy(hold)
    disk += timed("commit")
    busy(0.02)
lived = time.monotonic() - start
print("%s sleep %.3f %.3f" % (name, locked, lived))
print("%s file %.3f %.3f" % (name, disk, lived))
END
	profiled "$work/out" builtin /usr/bin/python3 "$work/writer.py" "$work/db" writer1 0.15 "$seconds" >"$work/measured.1" 2>"$work/err" &
	profiled "$work/out" builtin /usr/bin/python3 "$work/writer.py" "$work/db" writer2 0.05 "$seconds" >"$work/measured" 2>"$work/err.2"
	wait $!
	cat "$work/measured.1" >>"$work/measured"
}

# dns: libuv's threads wait in getaddrinfo(3) for a server that answers after 0.2 s.
dns() {
	command -v node >/dev/null && [ "$(id -u)" = 0 ] || return
	cat >"$work/server.py" <<'END'
import socket, struct, threading, time

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.53", 53))


def answer(query, peer):
    time.sleep(0.2)
    end = query.index(b"\0", 12) + 5
    kind = struct.unpack(">H", query[end - 4:end - 2])[0]
    records = query[12:end] and (b"\xc0\x0c" + query[end - 4:end] + struct.pack(">IH", 0, 4) + b"\x7f\0\0\1" if kind == 1 else b"")
    s.sendto(query[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, 1 if kind == 1 else 0, 0, 0) + query[12:end] + records, peer)


while True:
    threading.Thread(target=answer, args=s.recvfrom(512)).start()
END
	cat >"$work/lookups.js" <<'END'
const dns = require('dns');
const start = process.hrtime.bigint(), seconds = Number(process.argv[2]);
const since = (from) => Number(process.hrtime.bigint() - from) / 1e9;
let waited = 0, n = 0;
function next() {
	if (since(start) > seconds) return console.log(`.* socket-read ${waited.toFixed(3)} ${since(start).toFixed(3)}`);
	const before = process.hrtime.bigint();
	dns.lookup(`name${n++}.example`, { family: 4 }, (error) => {
		if (error) throw error;
		waited += since(before);
		setTimeout(next, 50);
	});
}
next();
END
	printf 'nameserver 127.0.0.53\n' >"$work/resolv.conf"
	printf 'hosts: dns\n' >"$work/nsswitch.conf"
	# One thread of libuv does all lookups.
	export UV_THREADPOOL_SIZE=1
	unshare --mount bash -c 'mount --bind "$0/resolv.conf" /etc/resolv.conf && mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf &&
		{ /usr/bin/python3 "$0/server.py" & server=$!; } && "$@"; status=$?; kill $server; exit $status' "$work" \
		env "LD_PRELOAD=$preload" ASPROF_AGENT_PROCESS=node "ASPROF_AGENT_LOCAL_DIR=$work/out" ASPROF_AGENT_ENGINE=builtin \
		node "$work/lookups.js" "$seconds" >"$work/measured" 2>"$work/err" 
}

rust() {
	command -v cargo >/dev/null || return
	mkdir -p "$work/rust/src"
	printf '[package]\nname = "locks"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nparking_lot = "0.12"\n[profile.release]\ndebug = 1\n' \
		>"$work/rust/Cargo.toml"
	cat >"$work/rust/src/main.rs" <<'END'
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn burn(ms: u64) {
    let end = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < end {
        black_box(0);
    }
}

// A holder, and a thread that measures its waits for the lock.
fn pair<L: Send + Sync + 'static>(name: &'static str, seconds: u64, lock: L, with: fn(&L, &mut dyn FnMut())) -> std::thread::JoinHandle<()> {
    let lock = Arc::new(lock);
    let held = lock.clone();
    let end = Instant::now() + Duration::from_secs(seconds);
    std::thread::spawn(move || {
        while Instant::now() < end {
            with(&held, &mut || std::thread::sleep(Duration::from_millis(30)));
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    std::thread::Builder::new().name(name.to_string()).spawn(move || {
        let (start, mut waited) = (Instant::now(), 0.0);
        while Instant::now() < end {
            let before = Instant::now();
            with(&lock, &mut || waited += before.elapsed().as_secs_f64());
            burn(10);
        }
        println!("{} lock {:.3} {:.3}", name, waited, start.elapsed().as_secs_f64());
    }).unwrap()
}

fn main() {
    let seconds = std::env::args().nth(1).unwrap().parse().unwrap();
    let std = pair("std", seconds, std::sync::Mutex::new(()), |lock, inside| {
        let _guard = lock.lock().unwrap();
        inside()
    });
    let parking_lot = pair("parking_lot", seconds, parking_lot::Mutex::new(()), |lock, inside| {
        let _guard = lock.lock();
        inside()
    });
    std.join().unwrap();
    parking_lot.join().unwrap();
}
END
	(cd "$work/rust" && cargo build -q --release) >"$work/err" 2>&1 || return
	profiled "$work/out" builtin "$work/rust/target/release/locks" "$seconds" >"$work/measured" 2>"$work/err"
}

java() {
	command -v javac >/dev/null && [ -n "${ASPROF_TEST_LIB:-}" ] || return
	cat >"$work/Locks.java" <<'END'
import java.util.concurrent.locks.ReentrantLock;

public class Locks {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    interface Inside { void run() throws Exception; }

    static void burn(long ms) { for (long end = System.nanoTime() + ms * 1000000; System.nanoTime() < end; ); }

    static void with(boolean isMonitor, Inside inside) throws Exception {
        if (isMonitor) {
            synchronized (monitor) { inside.run(); }
            return;
        }
        lock.lock();
        try { inside.run(); } finally { lock.unlock(); }
    }

    static void start(String name, Inside body) {
        new Thread(() -> { try { body.run(); } catch (Exception e) { throw new Error(e); } }, name).start();
    }

    public static void main(String[] arguments) {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
        for (boolean isMonitor : new boolean[] { true, false }) {
            start("holder", () -> {
                while (System.nanoTime() < end) {
                    with(isMonitor, () -> Thread.sleep(30));
                    Thread.sleep(5);
                }
            });
            String name = isMonitor ? "monitor" : "reentrant";
            start(name, () -> {
                long start = System.nanoTime();
                long[] waited = { 0 };
                while (System.nanoTime() < end) {
                    long before = System.nanoTime();
                    with(isMonitor, () -> waited[0] += System.nanoTime() - before);
                    burn(10);
                }
                System.out.printf("%s lock|condition %.3f %.3f%n", name, waited[0] / 1e9, (System.nanoTime() - start) / 1e9);
            });
        }
    }
}
END
	javac -d "$work" "$work/Locks.java" >"$work/err" 2>&1 || return
	profiled "$work/out" async-profiler java -cp "$work" Locks "$seconds" >"$work/measured" 2>"$work/err"
}

# straced: the times of calls by strace, of a run without the agent.
straced() {
	command -v strace >/dev/null || return
	cat >"$work/calls.py" <<'END'
import os, sys, time

end = time.monotonic() + float(sys.argv[1])
read, write = os.pipe()
if not os.fork():
    os.close(read)
    while time.monotonic() < end:
        time.sleep(0.06)
        os.write(write, b"x")
    os._exit(0)
os.close(write)
file = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY)
while os.read(read, 1):
    time.sleep(0.02)
    os.pwrite(file, b"x" * 65536, 0)
    os.fsync(file)
END
	local began=$EPOCHREALTIME lived
	strace -c -w -o "$work/table" /usr/bin/python3 "$work/calls.py" "$seconds" "$work/file" || return
	lived=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
	profiled "$work/out" builtin FORK=off /usr/bin/python3 "$work/calls.py" "$seconds" "$work/file" 2>"$work/err" || return
	awk -v lived="$lived" '$NF == "read" { print "python3 pipe-read", $2, lived } $NF == "clock_nanosleep" { print "python3 sleep", $2, lived }
		$NF == "fsync" { print "python3 file", $2, lived }' "$work/table" >"$work/measured"
}

failed=0
for name in ${ONLY:-sqlite dns rust java straced}; do
	rm -rf "$work/out" "$work/err"
	mkdir "$work/out"
	if $name; then
		judge "$name"
	else
		echo "$name was left out: $(tail -n 3 "$work/err" 2>&1)"
	fi
done
[ $failed = 0 ] || fail "see above"
