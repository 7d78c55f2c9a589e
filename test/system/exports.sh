#!/bin/bash
# scripts/check-so accepts the preload and a correct library. For each kind of fault it fails with the right message.
set -u
build=${B:-build}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "$*"
	exit 1
}

good='-shared -fPIC -O1 -fvisibility=hidden -U_FORTIFY_SOURCE -Wl,-z,relro,-z,now,-z,nodelete
	-Wl,-z,noexecstack -Wl,--as-needed'
cat >"$dir/exports.map" <<'END'
/* A comment; with a name in it: commented; */
{
	global:
		api_*; malloc; /* and another; other; */
		free;
	local:
		*;
};
END

# library NAME CODE [FLAGS…]: build CODE as a library, to be checked against the map above.
library() {
	local name=$1

	echo '#define API __attribute__((visibility("default")))' >"$dir/$name.c"
	echo "$2" >>"$dir/$name.c"
	shift 2
	# shellcheck disable=SC2086 # words
	${CC:-cc} $good -o "$dir/$name.so" "$dir/$name.c" "$@" 2>"$dir/cc.log" || {
		cat "$dir/cc.log"
		fail "cannot build $name"
	}
}

# refused NAME WORDS: with that complaint and no other.
refused() {
	local said

	said=$(scripts/check-so "$dir/$1.so" "$dir/exports.map")
	[ $? = 1 ] || fail "$1 was not refused"
	[ "$said" = "check-so: $dir/$1.so: $2" ] || fail "$1: wanted '$2', got: $said"
}

if [ -e "$build/libasprof_preload.so" ]; then
	scripts/check-so "$build/libasprof_preload.so" || fail "the preload is refused"
fi

library plain 'API int api_f(void) { return 1; } API void *malloc(unsigned long n) { return (void *)n; }'
scripts/check-so "$dir/plain.so" "$dir/exports.map" || fail "a good library is refused"

library needs 'double sqrt(double); API double api_f(double x) { return sqrt(x); }' -lm
refused needs "needs libm.so.6"

library array 'API char api_a[20000];'
refused array "has a large array among its variables (see preload/layout.ld)"

library runpath 'API int api_f(void) { return 1; }' -Wl,-rpath,/opt/lib
refused runpath "looks for libraries in a path of its own"
library export 'API int api_f(void) { return 1; } API int commented(void) { return 2; }'
refused export "exports commented"
library data 'API int apis = 3;'
refused data "exports apis"
library execstack 'API int api_f(void) { return 1; }' -Wl,-z,execstack
refused execstack "asks for an executable stack"
good=${good/,-z,nodelete/} library delete 'API int api_f(void) { return 1; }'
refused delete "can be unloaded (link with -z nodelete)"
library lazy 'API int api_f(void) { return 1; }' -Wl,-z,lazy
refused lazy "binds lazily (link with -z now)"
library constructors '__attribute__((constructor)) static void a(void) { __asm__(""); }
	__attribute__((constructor)) static void b(void) { __asm__("nop"); }
	API int api_f(void) { return 1; }'
refused constructors "runs constructors of others at load"
library writable 'API int api_f(void) { return 1; }' -Wl,-z,norelro
refused writable "has relocated data that stays writable"
library alarm 'unsigned alarm(unsigned); API int api_f(void) { return (int)alarm(1); }'
refused alarm "imports alarm"
library fortified '#include <stdio.h>
	int __sprintf_chk(char *, int, unsigned long, const char *, ...);
	API int api_f(char *p) { return __sprintf_chk(p, 0, 9, "%p", (void *)p); }'
refused fortified "imports __sprintf_chk, which other C libraries lack"
library canary 'void g(char *); API int api_f(int n) { char b[64]; g(b); return b[n]; }
	void g(char *p) { *p = 1; __asm__ volatile("" : : "r"(p) : "memory"); }' -fstack-protector-all
scripts/check-so "$dir/canary.so" "$dir/exports.map" || fail "a stack canary is refused"
library prints 'int puts(const char *); API int api_f(void) { return puts("x"); }'
refused prints "imports puts"
library unknown 'int no_such_function(void); API int api_f(void) { return no_such_function(); }'
refused unknown "imports no_such_function, which glibc 2.17 lacks"
library weak 'int no_such_function(void) __attribute__((weak));
	API int api_f(void) { return no_such_function ? no_such_function() : 0; }'
scripts/check-so "$dir/weak.so" "$dir/exports.map" || fail "a weak symbol is refused"

# arc4random came with glibc 2.36: both the name and the version are wrong.
# shellcheck disable=SC2086 # words
if echo '#include <stdlib.h>
	__attribute__((visibility("default"))) unsigned api_f(void) { return arc4random(); }' |
	${CC:-cc} $good -x c -o "$dir/new.so" - 2>/dev/null; then
	said=$(scripts/check-so "$dir/new.so" "$dir/exports.map") && fail "a new glibc is not told"
	grep -q 'imports arc4random of glibc 2.36, newer than 2.17$' <<<"$said" || fail "$said"
fi

# Text relocations: only the linkers of some processors can make them.
if echo 'int x; __attribute__((visibility("default"))) int *api_f(void) { return &x; }' |
	${CC:-cc} -shared -fno-pic -mcmodel=large -Wl,-z,notext -x c -o "$dir/textrel.so" - \
		2>/dev/null && readelf -dW "$dir/textrel.so" | grep -q TEXTREL; then
	scripts/check-so "$dir/textrel.so" "$dir/exports.map" |
		grep -q 'has text relocations$' || fail "text relocations are not told"
fi

scripts/check-so "$dir/plain.c" 2>/dev/null
[ $? = 2 ] || fail "a text file is not status 2"
scripts/check-so "$dir/missing.so" 2>/dev/null
[ $? = 2 ] || fail "a missing file is not status 2"
echo ok
