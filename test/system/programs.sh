#!/bin/bash
# Common programs, plain and under the preload: the same output, messages, exit status and descriptors. The agent
# starts at once and reports every second, so that it is active while they run.
# Takes long.
. "$(dirname "$0")/agent.inc"

mkdir "$work/reports"
export LC_ALL=C HOME=$work TMPDIR=$work GIT_CONFIG_NOSYSTEM=1 NODE_NO_WARNINGS=1

# Each program below is a function that runs in an empty directory. `ls`, which has no agent, would show a descriptor
# of the agent in a child.

p_sqlite3() {
	sqlite3 test.db 'create table t(a integer primary key, b text);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
		insert into t select i, hex(i * 7919 % 100003) from n;
		select count(*), sum(length(b)), max(b) from t; create index x on t(b);
		select a from t order by b desc limit 3; pragma integrity_check;'
	sqlite3 test.db 'select nonsense;'
}

p_python3() {
	python3 - <<'END'
import hashlib, os, resource, signal, socket, subprocess, sys, tempfile, threading, time
got = []
signal.signal(signal.SIGALRM, lambda *a: got.append("alarm"))
signal.signal(signal.SIGUSR1, lambda *a: got.append("usr1"))
signal.setitimer(signal.ITIMER_REAL, 0.05)
data = b""
for i in range(300000): data = hashlib.sha256(data).digest()
print(data.hex(), got)
os.kill(os.getpid(), signal.SIGUSR1)
started = time.monotonic(); time.sleep(1.2)
print(got, time.monotonic() - started >= 1.2)
total = [0] * 8
def work(i):
    for j in range(100000): total[i] += j * i
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(total)
fds = [os.open("/dev/null", os.O_RDONLY), *os.pipe(), socket.socket().detach(), os.dup(2)]
print(fds, sorted(int(f) for f in os.listdir("/proc/self/fd") if int(f) < int(os.environ["BELOW"])))
print(subprocess.run(["env", "ASPROF_AGENT_ENABLED=off", "ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split())
print(resource.getrlimit(resource.RLIMIT_NOFILE))
print(subprocess.run("exit 5", shell=True).returncode)
pid = os.fork()
if not pid:
    print("child", sum(i * i for i in range(100000)), flush=True); os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.exit(7)
END
}

p_node() {
	node -e '
		const { execFileSync } = require("child_process"), fs = require("fs");
		const { Worker } = require("worker_threads");
		let x = 1; for (let i = 0; i < 3e7; i++) x = (x * 48271) % 2147483647;
		console.log(x, execFileSync("echo", ["from a child"]).toString().trim());
		fs.writeFileSync("f", "x".repeat(1e6)); console.log(fs.statSync("f").size);
		const w = new Worker("let s = 0; for (let i = 0; i < 1e7; i++) s += i % 7;" +
			"require(\"worker_threads\").parentPort.postMessage(s)", { eval: true });
		w.on("message", (m) => { console.log(m); setTimeout(() => process.exit(6), 1100); });'
}

p_git() {
	export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
	git init -q -b main repo && cd repo || return
	git config user.name N && git config user.email e@example.org
	for i in 1 2 3 4 5 6; do
		seq "$i" 20000 >file && mkdir -p "d$i" && seq 500 >"d$i/$i" && git add -A && git commit -qm "c$i"
	done
	git log --stat --format=%H && git gc -q && git fsck && git diff HEAD~3 | tail -n 20
	git checkout nonsense
}

p_bash() {
	bash -c 'bare() { ASPROF_AGENT_ENABLED=off "$@"; }
		trap "echo got usr1" USR1; kill -USR1 $$
		for i in {1..20}; do echo $i; done | tac | head -n 3 | (sleep 0.1; cat)
		x=0; for ((i = 0; i < 200000; i++)); do ((x += i % 3)); done; echo $x
		(exit 4); echo $?; sleep 1.2 & wait $!; echo $?
		(kill -SEGV $BASHPID) 2>/dev/null; echo $?; yes | head -n 100000 | sort | uniq -c
		bare ls /proc/self/fd; bare ls /dev/fd/ 7</dev/null; exec 5>&1; echo to five >&5
		read -t 0.1 line < <(sleep 1); echo $?
		nonsense; exit 3'
}

p_gcc() {
	{
		echo 'int puts(const char *);'
		for i in {1..1500}; do
			echo "int f$i(int a) { int s = 0; for (int j = 0; j < a; j++) s += j * $i ^ (s >> 3); return s; }"
		done
		echo 'int main(void) { puts("built"); return f9(3) & 1; }'
	} >a.c
	gcc -O2 -pipe -o a a.c && ./a
	echo "$? $(cksum <a)"
	echo 'int main(void) { return nonsense; }' >b.c
	gcc -c b.c
}

p_perl() {
	perl -e 'use POSIX ":sys_wait_h"; $| = 1;
		$SIG{ALRM} = sub { print "alarm\n" }; alarm 1; my $slept = select undef, undef, undef, 3;
		print "select $slept $!\n";
		my %h; $h{$_ % 1009} .= chr(65 + $_ % 26) for 1 .. 400000;
		print length(join "", map { $h{$_} } sort keys %h), "\n";
		pipe my $r, my $w; print fileno $r, fileno $w, "\n";
		my $pid = fork; if (!$pid) { print $w "child\n"; exit 11 } close $w; print <$r>;
		waitpid $pid, 0; print $? >> 8, "\n"; print `echo backquotes`; kill TERM => $$; sleep 5;'
}

# below ENGINE: print the number below which a program has only descriptors that it opened.
below() {
	if [ "$1" = builtin ] && grep -q '^Seccomp:[[:space:]]*0$' /proc/self/status &&
		[ "$(printf '5.9\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 5.9 ]; then
		echo 1000000
	else
		echo 400
	fi
}

# run WHERE NAME: run NAME's function in a new directory; leaves out, err and status.
run() {
	rm -rf "$work/cwd"
	mkdir -p "$work/$1" "$work/cwd"
	(cd "$work/cwd" && "p_$2") >"$work/$1/out" 2>"$work/$1/err" </dev/null
	echo $? >"$work/$1/status"
	sed -i 's/: *[0-9][0-9]* Segm/: PID Segm/' "$work/$1/err"
}

ran=0
for name in sqlite3 python3 node git bash gcc perl; do
	command -v "$name" >/dev/null || continue
	BELOW=1000000 run plain "$name"
	for engine in $(engines); do
		(
			export ASPROF_AGENT_LOCAL_DIR=$work/reports ASPROF_AGENT_ENGINE=$engine \
				ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_EXIT_TIMEOUT=60s \
				ASPROF_AGENT_CPU_INTERVAL=5ms ASPROF_AGENT_WALL_INTERVAL=20ms \
				ASPROF_AGENT_LIB=${ASPROF_TEST_LIB:-libasyncProfiler.so} \
				LD_PRELOAD=$B/libasprof_preload.so
			BELOW=$(LD_PRELOAD='' below "$engine") run "$engine" "$name"
		)
		diff -r "$work/plain" "$work/$engine" >"$work/diff" 2>&1 || {
			head -n 40 "$work/diff"
			fail "$name differs under $engine"
		}
	done
	reports=("$work/reports/$name"*.jfr)
	case $name in
	gcc) reports=("$work/reports"/cc1*.jfr) ;; # gcc itself only waits for it
	esac
	[ -s "${reports[0]}" ] || fail "$name: no report, so nothing was tried"
	ran=$((ran + 1))
done
[ $ran -gt 0 ] || skip "none of the programs is installed"
echo "$ran programs"
