#!/bin/bash
# scripts/check-arrows accepts the includes that scripts/rooms allows. It fails on a wrong include, a cycle, an
# unknown room, an unused arrow, a source without a world, and a folder with too many files.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}
check=$PWD/scripts/check-arrows

# This source tree itself; then with one include too many.
"$check" 2>"$work/said" || fail "$(cat "$work/said")"
mkdir "$work/copy"
find . \( -path ./build -o -path ./test -o -path ./.git \) -prune -o -type f \
	\( -name '*.[ch]' -o -path ./scripts/rooms -o -path ./scripts/worlds \) -print0 |
	tar -cf - --null -T - | tar -xf - -C "$work/copy"
sed -i '0,/^#include/s//#include "upload\/queue\/queue.h"\n&/' "$work/copy/core/clock.h"
"$check" "$work/copy" 2>"$work/said" && fail "core/ may include upload/"
grep -q 'core/clock.h includes upload/queue/queue.h: core may not include upload/queue' "$work/said" ||
	fail "$(cat "$work/said")"
grep -q 'a circle: .*core/clock -> upload/queue/queue' "$work/said" || fail "no circle: $(cat "$work/said")"

# A source tree with two rooms.
house=$work/house
build() {
	rm -rf "$house"
	mkdir -p "$house/scripts" "$house/low" "$house/high/attic"
	printf '%s\n' 'low  # what all stands on' 'high/attic \' '	low' >"$house/scripts/rooms"
	printf '%s\n' 'low/ both' 'high/attic/stairs.c host' >"$house/scripts/worlds"
	echo '#include "low/wall.h"' >"$house/low/floor.c"
	echo '#include <stddef.h>' >"$house/low/wall.h"
	echo ' #  include "low/floor.h" // which is below' >"$house/high/attic/stairs.c"
}

# complains PATTERN...: exactly one line matches each PATTERN, and there are no others.
complains() {
	local pattern

	"$check" "$house" 2>"$work/said" && fail "nothing is wrong, where there should be: $*"
	[ "$(wc -l <"$work/said")" -eq $# ] || fail "not $# lines for $*: $(cat "$work/said")"
	for pattern in "$@"; do
		grep -Eqx "check-arrows: $pattern" "$work/said" || fail "not $pattern: $(cat "$work/said")"
	done
	build
}

build
"$check" "$house" 2>"$work/said" || fail "a good house: $(cat "$work/said")"

echo '#include "high/attic/trap.h"' >>"$house/low/wall.h"
complains 'low/wall.h includes high/attic/trap.h: low may not include high/attic'

# Two modules; then three, of which none includes its own header by the header's name alone.
echo '#include "low/floor.h"' >"$house/low/wall.c"
complains 'a circle: (low/wall -> low/floor -> low/wall|low/floor -> low/wall -> low/floor)'
echo '#include "low/door.h"' >>"$house/low/wall.h"
echo '#include "low/floor.h"' >"$house/low/door.h"
complains 'a circle: low/([a-z]*) -> low/[a-z]* -> low/[a-z]* -> low/\1'
echo '#include "low/wall.h"' >"$house/low/wall.c"
"$check" "$house" || fail "a source may include its own header"

mkdir "$house/shed"
echo '#include "low/wall.h"' >"$house/shed/tools.h"
complains 'shed/tools.h: shed is not in scripts/rooms'

echo 'low high/attic' >>"$house/scripts/rooms"
complains 'scripts/rooms lets low include high/attic, which it does not'
echo 'cellar low' >>"$house/scripts/rooms"
complains 'scripts/rooms has cellar, which has no file that includes another' \
	'scripts/rooms lets cellar include low, which it does not'

echo >"$house/high/attic/roof.c"
complains 'high/attic/roof.c is in no world: see scripts/worlds'

echo 'low/ host' >>"$house/scripts/worlds"
complains 'scripts/worlds has low/ twice'

for ((i = 0; i < 59; i++)); do
	: >"$house/high/attic/$i"
done
"$check" "$house" || fail "sixty files are not too many"
: >"$house/high/attic/60"
complains 'high/attic has 61 files, which is more than 60'
