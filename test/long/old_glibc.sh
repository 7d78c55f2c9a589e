#!/bin/bash
# Programs of an older Debian, with its own glibc 2.31, whose thread and loader functions are in separate libraries:
# one without these libraries, and one with threads.
. "$(dirname "$0")/../system/agent.inc"

keys=/usr/share/keyrings/debian-archive-keyring.gpg
site=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 2>/dev/null |
	sed -n 's/^Debian|Debian|//p' | sort -u | head -n 1)
[ -n "$site" ] || {
	echo "this machine's apt lists name no Debian mirror"
	exit 77
}
[ "$(uname -m)" = x86_64 ] || {
	echo "this is for x86-64"
	exit 77
}
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root/lib64" "$work/reports"
echo "deb [signed-by=$keys] $site bullseye main" >"$work/sources.list"
options=(-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null
	-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=-
	-o APT::Sandbox::User=root -o Acquire::Retries=3)
apt-get "${options[@]}" update >"$work/log" 2>&1 || fail "$(cat "$work/log")"
(cd "$work" && apt-get "${options[@]}" download libc6 libc6-dev dash) >"$work/log" 2>&1 ||
	fail "$(cat "$work/log")"
for package in "$work"/*.deb; do
	dpkg-deb -x "$package" "$work/root"
done
old=$work/root/lib/x86_64-linux-gnu
ln -sf ../lib/x86_64-linux-gnu/ld-2.31.so "$work/root/lib64/ld-linux-x86-64.so.2"

cat >"$work/threads.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sum;

static void *burn(void *unused)
{
	struct timespec t;

	do {
		for (int i = 0; i < 100000; i++)
			sum += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (!t.tv_sec && t.tv_nsec < 500000000);
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, burn, NULL))
		return 1;
	burn(NULL);
	pthread_join(thread, NULL);
	return puts("done") < 0;
}
END
${CC:-cc} -O1 --sysroot="$work/root" -isystem /usr/include -isystem /usr/include/x86_64-linux-gnu \
	-B"$work/root/usr/lib/x86_64-linux-gnu" -L"$work/root/usr/lib/x86_64-linux-gnu" -L"$old" \
	-o "$work/threads" "$work/threads.c" "$old/libpthread.so.0" || fail "cannot build"

# of REPORTS COMMAND...: run it by the old loader, with the preload as an argument.
by_old() {
	local to=$1
	shift
	ASPROF_AGENT_START_DELAY=50ms ASPROF_AGENT_CPU_INTERVAL=10ms ASPROF_AGENT_NATIVE_MEM=1k \
		ASPROF_AGENT_LOCAL_DIR=$work/reports/$to \
		"$old/ld-2.31.so" --library-path "$old" --preload "$B/libasprof_preload.so" "$@"
}

said=$(by_old dash "$work/root/bin/dash" -c \
	'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo done' 2>&1)
[ "$said" = 'done' ] || fail "a program of one thread: $said"
"$agent" top "$work/reports/dash" >"$work/top" || fail "a program of one thread has no profile"
said=$(by_old threads "$work/threads" 2>&1)
[ "$said" = 'done' ] || fail "threads: $said"
"$agent" summary "$work/reports/threads" | grep -q '^Threads   2' || fail "threads: not both are there"
echo ok
