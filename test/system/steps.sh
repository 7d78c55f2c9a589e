#!/bin/sh
# From every instruction that programs in C, C++ and Rust execute, a walk reaches the outermost frame of its stack: in
# stubs, handlers, jumps, contexts, threads, loaded and unloaded libraries, and exceptions. The test single-steps
# instead of sampling.
# Takes long.
. "$(dirname "$0")/agent.inc"

[ "$(uname -m)" = x86_64 ] || {
	echo "steps by the trap flag of x86-64"
	exit 77
}

# Exceptions: functions, and how many instructions in each at most. See engine/unwind/unwind.h.
known='swapcontext 8'

build() {
	name=$1
	shift
	"$@" -o "$work/$name" || exit 1
}

build stepper.so "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -I. -O2 -fPIC -shared -pthread \
	test/programs/stepper.c "$B/libasprof_test.a" -Wl,--gc-sections
build plugin.so "${CC:-cc}" -std=gnu11 -O2 -fomit-frame-pointer -fPIC -shared \
	test/programs/steps_plugin.c

# stepped NAME COMMAND...: fail unless every walk of COMMAND succeeds.
stepped() {
	name=$1
	shift
	timeout 300 "$@" >"$work/out" 2>&1 || fail "$name: status $?: $(tail -n 3 "$work/out")"
	echo "$name: $(tail -n 1 "$work/out")"
	awk -v known="$known" '
		BEGIN { n = split(known, word); for (i = 1; i < n; i += 2) left[word[i]] = word[i + 1] }
		/^wrong / { name = $5; sub(/.*\(/, "", name); sub(/\)$/, "", name)
			if (left[name]-- > 0) next
			print; bad = 1 }
		/^[0-9]+ steps/ { enough = $1 > 50000 }
		END { exit bad || !enough }' "$work/out" || fail "$name: walks went wrong, or too few"
}

# With lazy binding, for the trampoline.
flags="-I. -O2 -fomit-frame-pointer -pthread -Wl,-z,lazy $work/stepper.so"

# shellcheck disable=SC2086 # words
build c "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE test/programs/steps.c $flags -lm \
	-no-pie -Wl,--section-start=.far=0x40000000
stepped C env STEPPER_TABLES=off "$work/c" "$work/plugin.so"

if command -v "${CXX:-c++}" >/dev/null; then
	# shellcheck disable=SC2086 # words
	build cc "${CXX:-c++}" -std=c++17 test/programs/steps.cc $flags
	stepped C++ "$work/cc"
fi

# The standard library's own frames have frame pointers.
if command -v rustc >/dev/null; then
	build rs rustc -C opt-level=2 -C force-frame-pointers=no -C link-arg="$work/stepper.so" \
		test/programs/steps.rs
	stepped Rust "$work/rs"
fi
