#!/bin/bash
# The agent allocates nothing while it holds the loader's lock, whatever is loaded or goes.
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
