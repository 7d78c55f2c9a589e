#!/bin/bash
# Shares of functions in static Go programs: within POINTS (2) percentage points of the program's own profile, for each
# function with 3% or more, alone and with what it calls. Both profiles are of the same run, and `go tool pprof` reads
# both. Where the program's own profile is wrong, perf decides: the kernel checks Go's timers at its ticks only. The
# programs are Go's compiler and others from Go's registry; missing ones are left out.
#
#   PROGRAMS=DIR       built programs are here, or stay here
#   ONLY="compile"     only these
#   ROUNDS=6           runs of each: 10,000 samples have a deviation of half a point
#   SECONDS_EACH=20    the time in which a server is under load
# Takes long.
. "$(dirname "$0")/../system/agent.inc"
. test/system/servers.inc
[ -e "$B/libasprof_attach.so" ] || skip "static programs are profiled on x86-64 alone"
have go python3
mkdir -p "${PROGRAMS:=$work/programs}"
p=$(realpath "$PROGRAMS") seconds=${SECONDS_EACH:-20}
export ASPROF_AGENT_CPU_INTERVAL=10ms ASPROF_AGENT_START_DELAY=0 ASPROF_AGENT_WALL_INTERVAL=off

# built NAME PACKAGE: a static program.
built() {
	[ -x "$p/$1" ] || CGO_ENABLED=0 GOBIN=$p go install "$2@latest" >"$work/log" 2>&1 ||
		{ echo "$1: $(tail -n 1 "$work/log")" && return 1; }
}

# Each leaves the program's own profile in $own, and the agent's in $work/reports.
compile() {
	local package=cmd/compile/internal/ssa

	cat >"$work/tool" <<-END
		#!/bin/sh
		case "\$*" in
		*-cpuprofile=*) exec ${recorder[*]} "$agent" run -o "$work/reports" -- "\$@" ;;
		*) exec "\$@" ;;
		esac
	END
	chmod +x "$work/tool"
	GOFLAGS='' go build -toolexec "$work/tool" -gcflags="$package=-cpuprofile=$own" $package 2>"$work/err"
}

staticcheck() {
	built staticcheck honnef.co/go/tools/cmd/staticcheck || return
	rm -rf "$work/cache"
	(cd "$(go env GOROOT)/src" && GOCACHE=$(go env GOCACHE) XDG_CACHE_HOME=$work/cache "${recorder[@]}" "$agent" run -o "$work/reports" -- \
		"$p/staticcheck" -debug.cpuprofile="$own" net/http go/types) >"$work/out" 2>"$work/err"
	[ -s "$own" ]
}

# served URL CLIENT...: "${server[@]}" under the client's load, profiled by itself for $seconds through URL.
served() {
	local url=$1 pid client
	shift
	"$agent" run -o "$work/reports" -- "${server[@]}" >"$work/out" 2>"$work/err" &
	pid=$!
	until_true curl -sf -m 5 -o "$work/got" "$url/debug/pprof/cmdline"
	"$@" >"$work/client" 2>&1 &
	client=$!
	sleep 2
	curl -sf -o "$own" "$url/debug/pprof/profile?seconds=$seconds" || echo "no own profile: $(cat "$work/err")"
	kill $client
	wait $client
	kill "$(pgrep -P $pid | head -n 1)" $pid 2>/dev/null
	wait $pid
}

caddy() {
	local admin port
	built caddy github.com/caddyserver/caddy/v2/cmd/caddy && needs wrk curl || return
	admin=$(free_port) port=$(free_port)
	printf '{\n admin 127.0.0.1:%s\n}\nhttp://127.0.0.1:%s {\n encode gzip\n file_server\n root * %s\n}\n' \
		"$admin" "$port" "$PWD/docs/reference" >"$work/Caddyfile"
	server=("$p/caddy" run --config "$work/Caddyfile" --adapter caddyfile)
	HOME=$work served "http://127.0.0.1:$admin" wrk -t1 -c4 -d $((seconds + 10)) -H 'Accept-Encoding: gzip' \
		"http://127.0.0.1:$port/limits.md"
}

failed=0
for name in ${ONLY:-compile staticcheck caddy}; do
	rm -rf "$work"/{own,perf}.* "$work/reports"
	for ((round = 0; round < ${ROUNDS:-6}; round++)); do
		own=$work/own.$round recorder=(env)
		! perf record -q -e cpu-clock -o "$work/tried" true 2>"$work/err" ||
			recorder=(perf record -q -e cpu-clock -F 499 -g -o "$work/perf.$round" --)
		$name || { echo "$name was left out: $(tail -n 3 "$work/err" 2>/dev/null)" && continue 2; }
	done
	"$agent" pprof --cpu --process "^${name}_" "$work/reports" -o "$work/ours.pb.gz" >"$work/out" 2>&1 || fail "$name: $(cat "$work/out")"
	python3 - "$name" "${POINTS:-2}" "$work/ours.pb.gz" "$work"/own.* <<'P' || failed=1
import glob, os, re, subprocess, sys

name, points, ours, own = sys.argv[1], float(sys.argv[2]), sys.argv[3:4], sys.argv[4:]

def shares(paths):
    text = subprocess.run(["go", "tool", "pprof", "-top", "-cum", "-nodecount=1000000", "-nodefraction=0"] + paths,
                          capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^ *\S+ +([0-9.]+)% +[0-9.]+% +\S+ +([0-9.]+)%  (.*?)(?: \(inline\))?$", text, re.M)
    # Go's profiler leaves out the first function of a goroutine and generated wrappers, and does not say which ABI.
    named = {}
    for flat, cum, function in rows:
        function = re.sub(r"[.]abi0$| \(partial-inline\)$", "", function)
        if not re.search(r"^runtime[.]goexit$|[.]gowrap[0-9]+$|-fm$", function):
            named[function] = tuple(max(pair) for pair in zip(named.get(function, (0, 0)), (float(flat), float(cum))))
    return named, text

def by_perf(function):
    """Shares of the function by perf, over all its recordings."""
    sums = [0, 0]
    for recording in recordings:
        for kind, switch in enumerate(("--no-children", "--children")):
            text = subprocess.run(["perf", "report", "-i", recording, switch, "--comm", name[:15], "--percentage", "relative",
                                   "--stdio", "-g", "none", "--sort", "symbol"], capture_output=True, text=True).stdout
            for line in text.splitlines():
                found = re.match(r"^ *([0-9.]+)%.*\[[.k]\] (.*?)(?:[.]abi0)?(?: +- +-)? *$", line)
                if found and found.group(2) == function:
                    sums[kind] += float(found.group(1)) / len(recordings)
    return sums

(a, said), (b, _) = shares(own), shares(ours)
recordings = glob.glob(os.path.dirname(own[0]) + "/perf.*")
seen, worst, left_out = 0, [], []
for function in a.keys() | b.keys():
    if function not in a and b[function][0] < 0.5:
        # Another wrapper. With a share of its own it is a function that is compared.
        left_out += [function] if b[function][1] >= 3 else []
        continue
    for kind in (0, 1):
        x, y = a.get(function, (0, 0))[kind], b.get(function, (0, 0))[kind]
        if max(x, y) >= 3:
            seen += 1
            worst.append((abs(x - y), function, kind, x, y))
worst.sort(reverse=True)
total = re.search(r"Total samples = (\S+)", said)
print("%s: %d shares of %s; Go leaves out %s. Largest deviations:" % (name, seen, total.group(1) if total else "?", left_out))
wrong = not worst
for number, (deviation, function, kind, x, y) in enumerate(worst):
    z = by_perf(function)[kind] if deviation > points and recordings else None
    wrong |= deviation > points and (z is None or abs(y - z) > points)
    if number < 5 or deviation > points:
        print("  %4.1f points  own %5.1f%%, agent %5.1f%%%s  %s, %s" % (
            deviation, x, y, "" if z is None else ", perf %5.1f%%" % z, function, "with calls" if kind else "alone"))
sys.exit(wrong)
P
done
[ $failed = 0 ] || fail "see above"
