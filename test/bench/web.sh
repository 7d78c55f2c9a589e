#!/bin/bash
# The cost of the agent for servers, at its default settings: bare, bare once more for the error of the method, and
# with the agent. A slice is some requests over a kept connection; all else is as in programs.sh. flask runs on one
# thread in a server with only the standard library; express without changes. Missing ones are omitted.
#
#   STARTS=20  number of starts of each
#   PYTHON=/opt/venv/bin/python3  this interpreter, if it has flask
#   EXPRESS=/opt/app  this directory, if it has express in its node_modules; else npm installs it, if possible
#   WEB="flask express"  only these
set -eu
. "$(dirname "$0")/../system/agent.inc"
have python3
starts=${STARTS:-20} wanted=${WEB:-flask express}
settings=("bare:PATH=$PATH" "bare again:PATH=$PATH"
	"default:PATH=$PATH,LD_PRELOAD=$preload,ASPROF_AGENT_ENGINE=builtin,ASPROF_AGENT_LOCAL_DIR=$work/reports")
slices=$(program slices)
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')

cat >"$work/asks.py" <<'P'
# For each line so many requests, over one connection.
import os, socket, sys, time

port, requests = sys.argv[1], int(sys.argv[2])
while not os.path.exists(port):
    time.sleep(0.01)
with open(port) as file:
    connection = socket.create_connection(("127.0.0.1", int(file.read())))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
answers = connection.makefile("rb")
n = 0
for line in sys.stdin:
    for _ in range(requests):
        n += 1
        connection.sendall(b"GET /ranked/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % (n % 300))
        header, length = answers.readline(), 0
        if b" 200 " not in header:
            sys.exit("no answer: %r" % header)
        while header != b"\r\n":
            header = answers.readline()
            if header.lower().startswith(b"content-length:"):
                length = int(header[15:])
        answers.read(length)
    print("done", flush=True)
P
# The command becomes the server; its child sends the requests, from another processor.
cat >"$work/serves.sh" <<'S2'
work=$1 requests=$2
shift 2
exec 3<&0 4>&1 >>"$work/said" 2>&1
LD_PRELOAD='' taskset -c 0 python3 "$work/asks.py" "$work/$$.port" "$requests" <&3 >&4 3<&- 4>&- &
exec "$@" "$work/$$.port" </dev/null 3<&- 4>&-
S2
cat >"$work/flasks.py" <<'P'
import http.server, os, sys, wsgiref.simple_server
import flask

app = flask.Flask(__name__)
rows = [{"id": i, "name": "row %d" % i} for i in range(100)]


def ranked(n):
    return sorted(({**row, "rank": row["id"] * n % 301} for row in rows), key=lambda row: row["rank"])


@app.get("/ranked/<int:n>")
def answers_ranked(n):
    return flask.jsonify(ranked(n))


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    handle = http.server.BaseHTTPRequestHandler.handle

    def do_GET(self):
        handler = wsgiref.simple_server.ServerHandler(self.rfile, self.wfile, sys.stderr, self.get_environ(), multithread=False)
        handler.http_version = "1.1"
        handler.request_handler = self
        handler.run(app)

    def log_message(self, *_):
        pass


class Server(wsgiref.simple_server.WSGIServer):
    def server_bind(self):
        http.server.HTTPServer.server_bind(self)
        self.setup_environ()


server = Server(("127.0.0.1", 0), Handler)
server.set_app(app)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.handle_request()
P
cat >"$work/expresses.js" <<'J'
const fs = require('fs'), app = require('express')();
const rows = Array.from({ length: 100 }, (_, i) => ({ id: i, name: 'row ' + i, tags: ['a' + i % 7] }));
function ranked(n) { return rows.map((r) => ({ ...r, rank: (r.id * n) % 301 })).sort((a, b) => a.rank - b.rank); }
app.get('/ranked/:n', function answersRanked(request, response) { response.json(ranked(Number(request.params.n))); });
const server = app.listen(0, '127.0.0.1', () => {
	fs.writeFileSync(process.argv[2] + '.new', String(server.address().port));
	fs.renameSync(process.argv[2] + '.new', process.argv[2]);
});
server.keepAliveTimeout = 0; // while it waits for its turn
server.on('connection', (connection) => connection.on('close', () => process.exit(0)));
J

# measure NAME REQUESTS COMMAND...
measure() {
	local name=$1 requests=$2

	shift 2
	echo "$name ($starts starts, $requests requests a slice)"
	"$slices" "$starts" 15 "go"$'\n' "${settings[@]}" -- bash "$work/serves.sh" "$work" "$requests" "$@" || {
		cat "$work/said"
		exit 1
	}
}

measured=
if [[ " $wanted " == *" flask "* ]] && "$python" -c 'import flask' 2>/dev/null; then
	measure flask 60 "$python" "$work/flasks.py"
	measured=yes
fi
if [[ " $wanted " == *" express "* ]] && command -v node >/dev/null; then
	express=${EXPRESS:-$work}
	[ -e "$express/node_modules/express" ] || ! command -v npm >/dev/null ||
		(cd "$express" && echo '{"private":true}' >package.json && npm install --no-audit --no-fund express@4 >/dev/null 2>&1) || true
	if [ -e "$express/node_modules/express" ]; then
		settings=("${settings[@]/:/:NODE_PATH=$express/node_modules,}")
		measure express 150 "$(command -v node)" "$work/expresses.js"
		measured=yes
	fi
fi
[ "$measured" ] || skip "neither flask nor express is here"
