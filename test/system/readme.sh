#!/bin/bash
# README works as it is written: its commands, with the program below as the service, the settings for services and
# containers, and the variables. A block of code that is not run has a comment in the line before it with the reason:
# <!-- not run: REASON -->. Some blocks of the guides are run here too, with servers that do not exist.
set -u
. "$(dirname "$0")/agent.inc"
have python3
source=$PWD page=$PWD/README.md

# Print the first block of LANGUAGE in $page that contains WORDS, and append its number to $work/had.PAGE.
block() {
	awk -v language="$1" -v words="$2" -v had="$work/had.${page##*/}" '
		/^```/ && inside {
			if (mine && index(text, words)) { printf "%s", text; print number >>had; exit }
			inside = 0; next
		}
		/^```/ { inside = 1; number++; mine = $0 == "```" language; text = ""; next }
		inside { text = text $0 "\n" }' "$page" >"$work/block"
	[ -s "$work/block" ] || fail "$page has no block of $1 with: $2"
	cat "$work/block"
}

# A service, in a directory where README's names work; it is profiled from the start.
mkdir -p "$work/here" "$work/lib"
cp "$preload" "$work/lib/"
ln -s "$B" "$work/here/build"
cat >"$work/service.c" <<'END'
#include <time.h>
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		;
	return 7;
}
END
${CC:-cc} -o "$work/here/service" "$work/service.c" || exit 1
cd "$work/here" || exit 1

# shown WHAT LANGUAGE WORDS: run the block.
shown() {
	block "$2" "$3" >"$work/commands"
	LD_LIBRARY_PATH=$work/lib ASPROF_AGENT_START_DELAY=0 TMPDIR=$work/tmp \
		PATH=$B:$PATH bash "$work/commands" >"$work/out" 2>"$work/err"
	status=$?
	[ ! -s "$work/err" ] || ! grep -q 'not found\|No such file\|cannot be preloaded' "$work/err" ||
		fail "$1: $(cat "$work/commands" "$work/err")"
}

mkdir "$work/tmp"
shown "once" sh 'asprof-agent run'
[ $status = 0 ] && grep -q ' main \[service\]' "$work/out" && grep -q '<html' flame.html ||
	fail "once: $(cat "$work/out" "$work/err")"
shown "doctor" sh 'asprof-agent doctor'
[ $status = 0 ] && grep -q 'found nothing that prevents' "$work/out" || fail "doctor: $(cat "$work/out" "$work/err")"

export ASPROF_AGENT_LOCAL_DIR=$work/always
shown "always" sh 'LD_PRELOAD=libasprof_preload.so ./service'
[ $status = 7 ] && [ -n "$(ls "$work/always")" ] || fail "always: $status, $(cat "$work/err")"

# (The bucket does not exist.)
export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b AWS_REGION=r ASPROF_AGENT_EXIT_TIMEOUT=20s
export ASPROF_AGENT_S3_ENDPOINT=http://127.0.0.1:1 ASPROF_AGENT_METADATA=none
page=$work/s3.md
sed "s|/var/spool/service|$work/spool|" "$source/docs/send/s3.md" >"$page"
shown "uploads" sh 'ASPROF_AGENT_S3_BUCKET='
[ $status = 7 ] && [ -n "$(find "$work/spool" -type f)" ] || fail "uploads: $status, $(cat "$work/err")"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION ASPROF_AGENT_EXIT_TIMEOUT \
	ASPROF_AGENT_S3_ENDPOINT ASPROF_AGENT_METADATA ASPROF_AGENT_LOCAL_DIR

# (Neither do these servers. Without them the files stay.)
page=$work/fleet.md
sed 's#//\(pyroscope:4040\|collector:4318\)#//127.0.0.1:1#' "$source/docs/send/fleet.md" >"$page"
for server in PYROSCOPE_URL OTLP_ENDPOINT; do
	TMPDIR=$work/tmp ASPROF_AGENT_EXIT_TIMEOUT=100ms shown "servers" sh "ASPROF_AGENT_$server="
	[ $status = 7 ] && grep -q '127.0.0.1:1' "$work/commands" || fail "$server: $status, $(cat "$work/err")"
done

# async-profiler, without the line that downloads it.
if [ -n "${ASPROF_TEST_LIB:-}" ]; then
	page=$work/java.md
	sed "s|\$PWD/build/async-profiler/lib/libasyncProfiler.so|$ASPROF_TEST_LIB|; /^scripts\/setup/d" \
		"$source/docs/languages/java.md" >"$page"
	ASPROF_AGENT_LOCAL_DIR=$work/engine shown "engine" sh 'ASPROF_AGENT_LIB='
	[ $status = 7 ] && "$agent" summary "$work/engine" | grep -q '^Engine .* [0-9]*\.[0-9]' ||
		fail "engine: $status, $(cat "$work/err")"
fi
page=$source/README.md

# A service's unit and a container: only their environment, and only the service. Each has its own quoting.
environment() {
	"$@" | sed "s|/usr/local/lib/|$work/lib/|g; s|=libasprof_preload|=$work/lib/libasprof_preload|
		s|/var/lib/asprof-agent|$work/lib|; s|/profiles|$work/lib/profiles|" | xargs -n 1
}
unit() {
	block ini '[Service]' | sed -n 's/^Environment=//p'
}
example() {
	sed -n 's/^Environment=//p' "$source/docs/profile.conf" | sed 's|/%N|/example|'
}
image() {
	block dockerfile ENTRYPOINT | sed -n 's/^ENV //p'
}
block dockerfile ENTRYPOINT | grep -qx 'ENTRYPOINT \["/service"\]' ||
	fail "the container starts another program"
for kind in unit example image; do
	mapfile -t settings < <(environment $kind)
	directory=$(printf '%s\n' "${settings[@]}" | sed -n 's/^ASPROF_AGENT_LOCAL_DIR=//p')
	env -i ASPROF_AGENT_START_DELAY=0 "${settings[@]}" ./service 2>"$work/err"
	[ $? = 7 ] && [ ! -s "$work/err" ] && [ -n "$(ls "$directory")" ] ||
		fail "$kind: ${settings[*]}: $(cat "$work/err")"
done

# The four questions, with such programs: the output has each of their functions that README's answer has.
cat >"$work/everyday.c" <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sum;
static char *volatile session;
__attribute__((noinline)) static void parse(void)
{
	for (int i = 0; i < 20000000; i++) sum += i;
}
__attribute__((noinline)) static void render(void)
{
	for (int i = 0; i < 20000000; i++) sum ^= i;
}
__attribute__((noinline)) static void write_log(void)
{
	pthread_mutex_lock(&log_lock);
	usleep(20000);
	pthread_mutex_unlock(&log_lock);
}
__attribute__((noinline)) static void open_session(void)
{
	session = memset(malloc(4096), 1, 4096);
}
static void *worker(void *unused)
{
	struct timespec t;

	pthread_setname_np(pthread_self(), "worker");
	do {
		parse();
		render();
		write_log();
		open_session();
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (!t.tv_sec && t.tv_nsec < 600000000);
	return unused;
}
int main(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, worker, NULL) || pthread_join(thread, NULL);
}
END
mkdir "$work/asked"
cat >"$work/asked/app.py" <<'END'
import asyncio, time

async def blocking_call():
    time.sleep(0.1)

async def main():
    await asyncio.sleep(0.3)
    await blocking_call()

asyncio.run(main())
END
${CC:-cc} -g -O1 -fno-builtin -pthread -o "$work/asked/service" "$work/everyday.c" || exit 1
polls=$(cd "$source" && program sleepy_polls)
cd "$work/asked" || exit 1
export ASPROF_AGENT_START_DELAY=0
"$agent" run -o profiles --cpu 5ms --wall 10ms --mem 1k -- ./service 2>"$work/err" &&
	ASPROF_AGENT_STALLS=10ms "$agent" run -o stalls -- /usr/bin/python3 app.py 2>>"$work/err" &&
	ASPROF_AGENT_ENGINE_OPTIONS=clock=tsc "$agent" run -o polls --cpu off --wall 5ms -- "$polls" 2>>"$work/err" ||
	fail "a service: $(cat "$work/err")"
mv polls/*.jfr tokio.jfr
# asked COMMAND PATTERN...: run the command after "$ ". README's answer and this output have lines of that form.
asked() {
	block '' "\$ asprof-agent $1" >"$work/shown"
	PATH=$B:$PATH bash -e <<<"$(sed -n 's/^\$ //p' "$work/shown")" >"$work/out" 2>"$work/err" ||
		fail "$1: status $?, $(cat "$work/err")"
	for name in $(grep -v '^\$' "$work/shown" | grep -owE 'parse|render|worker|write_log|open_session|blocking_call' |
		sort -u); do
		grep -qw "$name" "$work/out" || fail "$1: no $name in $(cat "$work/out" "$work/err")"
	done
	shift
	for pattern in "$@"; do
		grep -qE -- "$pattern" "$work/shown" && grep -qE -- "$pattern" "$work/out" ||
			fail "no '$pattern' in both of: $(cat "$work/shown" "$work/out")"
	done
}
asked 'top' '^cpu: [0-9]+ samples, [0-9.]+ m?s, in [0-9.]+ m?s, [12] threads?$' '^ +self +% +95% CI +total +% +95% CI  function$' \
	'^ +[0-9]+ +[0-9.]+% +[0-9]+-[0-9]+% +[0-9]+ +[0-9.]+% +[0-9]+-[0-9]+%  parse \[service\]$' '^\.\.\. and [0-9]+ more \(-n 0 shows all\)$'
asked 'waits' '^wall: [0-9.]+ m?s of 1 thread in [0-9.]+ m?s: [0-9.]+ m?s waiting, ' '^sleep  [0-9.]+ m?s$' \
	'^ +[0-9.]+ m?s +[0-9]+%  write_log \[service\]$'
asked 'leaks' '^retained: [0-9.]+ .iB in [0-9]+ allocations, [0-9]+ stacks? \(' \
	'^ +[0-9.]+ .iB +[0-9.]+%  [0-9]+ allocations, oldest [0-9.]+ m?s' '^      open_session \[service\]$'
asked 'longpolls' '^ +polls +sum +longest ' '^ +blocking_call$'
page=$source/docs/languages/tokio.md
asked 'longpolls' '^\[[0-9]+\.[0-9]{6}\] thread [0-9]+ - poll of [0-9]+us$' '^ -   1: libc\.so\.6\.'

# Each block was one of these, or gives the reason why it is not run.
awk -v had="$work/had.README.md" '
	BEGIN { while ((getline number <had) > 0) ran[number] = 1 }
	/^```/ && inside {
		if (!(count in ran) && before !~ /^<!-- not run: .+ -->$/)
			print "README.md:" line ": nothing runs this block, nor says why not"
		inside = 0; before = ""; next
	}
	/^```/ { inside = 1; count++; line = NR; text = ""; next }
	inside { text = text $0; next }
	{ before = $0 }
	END { if (inside || count < 10) print "README.md: only " count " blocks, or one without an end" }' \
	"$source/README.md" >"$work/unaccounted"
[ ! -s "$work/unaccounted" ] || fail "$(cat "$work/unaccounted")"

# Each variable is one of the agent's.
known=$("$agent" options | sed -n 's/^\(ASPROF_AGENT_[A-Z0-9_]*\).*/\1/p')
for name in $(grep -o 'ASPROF_AGENT_[A-Z][A-Z0-9_]*' "$source/README.md" | sort -u); do
	grep -qx "$name" <<<"$known" || fail "README names $name, which there is not"
done
echo ok
