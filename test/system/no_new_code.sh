#!/bin/bash
# A program whose memory may not become executable, as under systemd's MemoryDenyWriteExecute=, is profiled.
. "$(dirname "$0")/agent.inc"
. test/system/input.inc

cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

/* A restriction from before the exec applies from the first instruction on. */
int main(int argc, char **argv)
{
	void *page;

	if (argc > 1 && !strcmp(argv[1], "input")) {
		if (prctl(PR_SET_MDWE, 1, 0, 0, 0))
			return 77;
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
		return puts("ok") < 0;
	}
	if (argc < 2)
		return prctl(PR_SET_MDWE, 1, 0, 0, 0) ? 77 : execl(argv[0], argv[0], "go", (char *)0);
	page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 77;
	while (clock() < CLOCKS_PER_SEC / 4)
		;
	return 5;
}
END
${CC:-cc} -O1 -g -o "$work/program" "$work/program.c" || fail "cannot build"
"$work/program"
[ $? = 5 ] || skip "this kernel cannot forbid it"

mkdir "$work/reports"
profiled "$work/reports" builtin CPU_INTERVAL=1ms "$work/program" >"$work/said" 2>&1
[ $? = 5 ] || fail "another status: $(cat "$work/said")"
[ ! -s "$work/said" ] || fail "said: $(cat "$work/said")"
"$agent" collapsed --cpu "$work/reports" >"$work/folded" 2>&1 || fail "$(cat "$work/folded")"
[ "$(samples 'main' <"$work/folded")" -gt 0 ] || fail "no samples: $(cat "$work/folded")"
echo ok

# The agent is put into it while it runs.
[ -e "$B/libasprof_attach.so" ] || exit 0
begin "$work/program" input
"$agent" attach "$pid" 2>"$work/err" || {
	grep -q 'yama\|ptrace_scope\|CAP_SYS_PTRACE' "$work/err" && exit 0
	fail "attach: $(cat "$work/err")"
}
"$agent" detach "$pid" 2>"$work/err" || fail "detach: $(cat "$work/err")"
end 0
