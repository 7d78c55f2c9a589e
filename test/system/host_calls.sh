#!/bin/bash
# scripts/check-host accepts the preload's objects. It fails with the right message if one of them calls a function
# that it must not call.
set -u
build=${B:-build}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "$*"
	exit 1
}

scripts/check-host "$build" || fail "the preload is refused"

# object PATH CODE: compile CODE as if it were the source PATH.
object() {
	mkdir -p "$dir/obj/$(dirname "$1")"
	echo "$2" >"$dir/code.c"
	${CC:-cc} -fPIC -O1 -ffunction-sections -U_FORTIFY_SOURCE -c -o "$dir/obj/$1.o" "$dir/code.c" 2>"$dir/cc.log" || {
		cat "$dir/cc.log"
		fail "cannot build $1"
	}
}

# refused PATH CODE WORDS: with that complaint and no other.
refused() {
	local said

	object "$1" "$2"
	said=$(scripts/check-host "$build" "$dir/obj/$1.o")
	[ $? = 1 ] || fail "$1 was not refused"
	[ "$said" = "check-host: $3" ] || fail "$1: wanted '$3', got: $said"
}

# Functions that constructors call are always reached.
at_load='__attribute__((constructor)) static void wrong(void)'

refused engine/sample/wrong "#include <stdlib.h>
	void *volatile kept; $at_load { kept = malloc(100); }" 'engine/sample/wrong.c calls malloc'
refused preload/interpose/wrong "#include <stdio.h>
	$at_load { puts(\"loaded\"); }" 'preload/interpose/wrong.c calls puts'
# On the list, but not for this room.
refused engine/memory/wrong "#include <dlfcn.h>
	void *volatile kept; $at_load { kept = dlsym(0, \"malloc\"); }" 'engine/memory/wrong.c calls dlsym'
refused engine/unwind/wrong "int modules_refresh(void); $at_load { modules_refresh(); }" \
	'engine/unwind/wrong.c calls modules_refresh, which is of the agent: engine/modules/modules.c'

# The agent's half of a source may call any function, and so may an agent's source.
object engine/reading/wrong '#include <unistd.h>
	int never_called(void) { return setsid(); }'
object engine/jfr/wrong "#include <stdlib.h>
	void *volatile kept; $at_load { kept = malloc(100); }"
scripts/check-host "$build" "$dir/obj/engine/reading/wrong.o" "$dir/obj/engine/jfr/wrong.o" ||
	fail "a call of the agent's side is refused"

# A row that no object needs any more.
cat scripts/host_imports - >"$dir/imports" <<'END'
getpwnam	engine/	a reason
strtok	engine/
END
said=$(HOST_IMPORTS=$dir/imports scripts/check-host "$build")
[ "$said" = "check-host: getpwnam is on the list for engine/, and not called there
check-host: strtok is on the list for engine/, and not called there
check-host: strtok: no reason is given" ] || fail "the list: $said"
exit 0
