#!/bin/bash
# Response times of services under a fixed load, bare and with everything enabled: CPU time, wall clock, native memory,
# waits for locks, and stalls. The load is open: each request has a time at which it is due, and its response time
# counts from there (test/programs/open_loop.c). So a slow response does not hide that those after it are late.
#
# Bare and profiled starts alternate. The server runs on one processor with the agent's threads, and the client on
# another. Response times of all starts together: the 50th, 99th and 99.9th percentile, and their ratios to bare, with
# the 95 percent interval in brackets: by a bootstrap over the pairs of starts.
#
#   STARTS=20 RUN=10  number of starts of each, and the counted seconds of each start
#   SERVICES="nginx redis flask express"  these services; missing ones are omitted
#   PYTHON=/opt/venv/bin/python3  this interpreter, if it has flask
#   EXPRESS=/opt/app  this directory, if it has express in its node_modules; else npm installs it, if possible
set -eu
. "$(dirname "$0")/../system/agent.inc"
. test/system/servers.inc
have python3 taskset
starts=${STARTS:-20} seconds=${RUN:-10} warm_up=3 pid=
unset ASPROF_AGENT_BUDGET
open_loop=$(program open_loop)
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$work"' EXIT
for_everybody
mkdir -m 1777 "$work/reports"

# Two reports in the counted time, while the default is one in 30 s.
everything=("LD_PRELOAD=$preload" ASPROF_AGENT_ENGINE=builtin "ASPROF_AGENT_LOCAL_DIR=$work/reports"
	ASPROF_AGENT_NATIVE_MEM=512k ASPROF_AGENT_LOCK=10ms ASPROF_AGENT_STALLS=on
	"ASPROF_AGENT_REPORTING_INTERVAL=$((seconds / 2))s")

cat >"$work/flasks.py" <<'P'
import http.server, socketserver, sys, wsgiref.simple_server
import flask

app = flask.Flask(__name__)
rows = [{"id": i, "name": "row %d" % i} for i in range(100)]


def ranked(n):
    return sorted(({**row, "rank": row["id"] * n % 301} for row in rows), key=lambda row: row["rank"])


@app.get("/<int:n>")
def answers_ranked(n):
    return flask.jsonify(ranked(n))


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    handle = http.server.BaseHTTPRequestHandler.handle

    def do_GET(self):
        handler = wsgiref.simple_server.ServerHandler(self.rfile, self.wfile, sys.stderr, self.get_environ())
        handler.http_version = "1.1"
        handler.request_handler = self
        handler.run(app)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 64


server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
server.set_app(app)
server.serve_forever()
P
cat >"$work/expresses.js" <<'J'
const app = require('express')();
const rows = Array.from({ length: 100 }, (_, i) => ({ id: i, name: 'row ' + i, tags: ['a' + i % 7] }));
function ranked(n) { return rows.map((r) => ({ ...r, rank: (r.id * n) % 301 })).sort((a, b) => a.rank - b.rank); }
app.get('/:n', function answersRanked(request, response) { response.json(ranked(Number(request.params.n))); });
app.listen(Number(process.argv[2]), '127.0.0.1').keepAliveTimeout = 0; // no connection is closed
J

# Each sets `command`, which serves on port $1, and `load`: the protocol, and the rate per second. False: not here.
begin_nginx() {
	needs nginx || return 1
	nginx_configuration 1 "$work" "$1" 'keepalive_requests 1000000000;' >"$work/conf"
	command=(nginx -e stderr -c "$work/conf") load=(http 1000)
}

begin_redis() {
	needs redis-server || return 1
	command=(redis-server --bind 127.0.0.1 --port "$1" --save '') load=(redis 4000)
}

begin_flask() {
	"${PYTHON:-python3}" -c 'import flask' 2>/dev/null || return 1
	command=("${PYTHON:-python3}" "$work/flasks.py" "$1") load=(http 100)
}

begin_express() {
	local express=${EXPRESS:-$work}

	needs node || return 1
	[ -e "$express/node_modules/express" ] || ! command -v npm >/dev/null ||
		(cd "$express" && echo '{"private":true}' >package.json &&
			npm install --no-audit --no-fund express@4 >/dev/null 2>&1) || true
	[ -e "$express/node_modules/express" ] || return 1
	command=(env "NODE_PATH=$express/node_modules" "$(command -v node)" "$work/expresses.js" "$1") load=(http 200)
}

# measure CASE START [VARIABLE=value...]: a start of the service, with its histogram in $work/CASE.START.
measure() {
	local case=$1 start=$2 port

	shift 2
	port=$(free_port)
	"begin_$server" "$port"
	env "$@" taskset -c "$(($(nproc) - 1))" "${command[@]}" >"$work/said" 2>&1 &
	pid=$!
	for ((try = 0; try < 600; try++)); do
		! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
		sleep 0.1
	done
	taskset -c 0 "$open_loop" "${load[0]}" "$port" "${load[1]}" 32 "$warm_up" "$seconds" >"$work/$case.$start" ||
		fail "$server, $case: $(cat "$work/said")"
	kill "$pid"
	wait "$pid" || true
	pid=
}

# table: percentiles of the histograms, and their ratios.
table() {
	python3 - "$work" "$starts" <<'P'
import bisect, itertools, random, sys

work, starts = sys.argv[1], int(sys.argv[2])
shares = (0.5, 0.99, 0.999)

def read(path):
    with open(path) as file:
        return {float(us): int(n) for us, n in map(str.split, file)}

def percentiles(histograms):
    sums = {}
    for histogram in histograms:
        for us, n in histogram.items():
            sums[us] = sums.get(us, 0) + n
    values = sorted(sums)
    ranks = list(itertools.accumulate(sums[us] for us in values))
    return [values[bisect.bisect_left(ranks, share * ranks[-1])] for share in shares]

pairs = [[read("%s/%s.%d" % (work, case, i)) for case in ("bare", "everything")] for i in range(starts)]
bare, everything = (percentiles(side) for side in zip(*pairs))
draws = []
for _ in range(1000):
    one, other = (percentiles(side) for side in zip(*random.choices(pairs, k=starts)))
    draws.append([b / a for a, b in zip(one, other)])
for i, share in enumerate(shares):
    ratios = sorted(draw[i] for draw in draws)
    print("  p%-5g %8.0f us %8.0f us   %.3f (%.3f to %.3f)" % (
        share * 100, bare[i], everything[i], everything[i] / bare[i], ratios[25], ratios[974]))
P
}

for server in ${SERVICES:-nginx redis flask express}; do
	"begin_$server" 0 || continue
	for ((start = 0; start < starts; start++)); do
		[ $((start % 2)) = 0 ] || measure everything "$start" "${everything[@]}"
		measure bare "$start"
		[ $((start % 2)) = 1 ] || measure everything "$start" "${everything[@]}"
	done
	echo "$server, ${load[1]} requests/s ($starts starts of $seconds s): bare, everything enabled, ratio"
	table
done
