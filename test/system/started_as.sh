#!/bin/bash
# A profile has the name with which its program was started: of a link, of a script, and of a program that is an
# argument of the loader. That one has its own functions, not the loader's.
. "$(dirname "$0")/agent.inc"

everyday=$(program everyday)

# started NAME WORDS...: WORDS start a program whose profile is called NAME and has its function.
started() {
	local name=$1 out status

	shift
	rm -rf "$work/reports"
	out=$(profiled "$work/reports" "$engine" CPU_INTERVAL=5ms FORK=off PROCESS="$name" "$@" 2>&1)
	status=$?
	[ "$status $out" = "5 out" ] || fail "$engine, $*: status $status, $out"
	ls "$work/reports/${name}"_*.jfr >/dev/null 2>&1 || fail "$engine, $*: $(ls "$work/reports" 2>&1)"
	"$agent" top --cpu "$work/reports" >"$work/top" || fail "$engine, $*"
	grep -q " burn[^ ]* \[$module\]" "$work/top" || fail "$engine, $*: $(cat "$work/top")"
}

ln -s everyday "$work/service"
printf '#!/bin/sh\n"%s"\nexit $?\n' "$everyday" >"$work/script"
chmod +x "$work/script"
loader=$(LC_ALL=C readelf -lW "$everyday" | sed -n 's/.*interpreter: \(.*\)].*/\1/p')
module=everyday
for engine in $(engines); do
	started service "$work/service"
	started everyday "$loader" "$everyday"
	(cd "$work" && profiled "$work/scripts" "$engine" PROCESS=script ./script >/dev/null)
	ls "$work/scripts"/script_*.jfr >/dev/null 2>&1 || fail "$engine, a script: $(ls "$work/scripts" 2>&1)"
	rm -rf "$work/scripts"
done
engine=builtin
(cd "$work" && started everyday "$loader" ./everyday) || exit 1

# musl's loader does not report the name either.
if command -v musl-gcc >/dev/null; then
	module=for_musl
	musl-gcc -std=gnu11 -D_GNU_SOURCE -I. -O2 -o "$work/for_musl" test/programs/everyday.c || exit 1
	loader=$(LC_ALL=C readelf -lW "$work/for_musl" | sed -n 's/.*interpreter: \(.*\)].*/\1/p')
	started for_musl "$work/for_musl"
	started for_musl "$loader" "$work/for_musl"
fi
echo ok
