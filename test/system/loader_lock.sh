#!/bin/bash
# The agent allocates nothing while it holds the loader's lock, also when libraries are loaded and unloaded. It
# continues to report while the program holds the lock.
. "$(dirname "$0")/mem.inc"

${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -shared -fPIC -o "$work/strict.so" \
	test/programs/strict_allocator.c || exit 1

cat >"$work/loads.c" <<'C'
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int allocates(struct dl_phdr_info *info, size_t size, void *data)
{
	void *volatile p = malloc(size);

	(void)info, (void)data;
	free(p);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		dl_iterate_phdr(allocates, NULL);
	for (int i = 0; i < 100; i++) {
		void *library = dlopen("libm.so.6", RTLD_NOW);

		usleep(5000);
		dlclose(library);
	}
	return 0;
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -o "$work/loads" "$work/loads.c" -ldl || exit 1

LD_PRELOAD=$work/strict.so "$work/loads" itself 2>"$work/err"
[ $? = 2 ] && grep -q allocates "$work/err" || fail "who allocates there is not found out"

mkdir "$work/out"
for mem in off 4k; do
	ASPROF_AGENT_NATIVE_MEM=$mem ASPROF_AGENT_REPORTING_INTERVAL=1s ASPROF_AGENT_CPU_INTERVAL=1ms \
		ASPROF_AGENT_WALL_INTERVAL=5ms LD_PRELOAD="$work/strict.so $B/libasprof_preload.so" \
		"$work/loads" 2>"$work/err" || fail "NATIVE_MEM=$mem: status $?: $(cat "$work/err")"
done
[ -n "$(ls "$work/out")" ] || fail "no report"

# Until it has reports, at most 20 s.
cat >"$work/holds.c" <<'C'
#include <link.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/reports.h"

static int held(struct dl_phdr_info *info, size_t size, void *pattern)
{
	time_t end = time(NULL) + 20;
	size_t before = reports(pattern);

	(void)info, (void)size;
	while (reports(pattern) < before + 3) {
		for (volatile int i = 0; i < 10000000; i++)
			;
		if (time(NULL) > end)
			_Exit(9);
	}
	return 1;
}

int main(int argc, char **argv)
{
	char *pattern = argv[argc - 1];

	/* The agent asks the loader for functions at its start. */
	for (int i = 0; i < 20000 && !reports(pattern); i++)
		usleep(1000);
	dl_iterate_phdr(held, pattern);
	_Exit(0);
}
C
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -I. -o "$work/holds" "$work/holds.c" || exit 1
ASPROF_AGENT_REPORTING_INTERVAL=1s preloaded "$work/holds" "$work/out/*.jfr" 2>"$work/err" ||
	fail "no reports while the loader's lock is held: status $?: $(cat "$work/err")"
"$B/asprof-agent" collapsed "$work"/out/*.jfr >"$work/stacks" || fail "unreadable"
grep -q ';held' "$work/stacks" || fail "what runs meanwhile has no name: $(cat "$work/stacks")"
