#!/bin/sh
# The live endpoint at an address, in a browser. A user opens its pages, and its flame graph runs with the response's
# Content-Security-Policy. A page of another site gets nothing, by any HTML element. Needs Chromium.
. "$(dirname "$0")/agent.inc"
. "$(dirname "$0")/live.inc"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip 'Chromium is not on this machine'
have curl python3
program=$(program live)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
held one CPU_INTERVAL=1ms LISTEN="127.0.0.1:$port" "$program"
until_true curl -s "http://127.0.0.1:$port/status" -o /dev/null || fail "no endpoint at $port: $(cat "$work/one.err")"

# The page's site, and a relay between the browser and the endpoint that records requests and responses.
cat >"$work/site.py" <<'SITE'
import http.server, socket, sys, threading
endpoint, ports, log = int(sys.argv[1]), sys.argv[2], open(sys.argv[3], 'w', buffering=1)

class Relay(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        s = socket.create_connection(('127.0.0.1', endpoint))
        head = ''.join(f'{name}: {value}\r\n' for name, value in self.headers.items())
        s.sendall(f'{self.command} {self.path} HTTP/1.1\r\n{head}\r\n'.encode())
        answer = b''
        while (more := s.recv(65536)):
            answer += more
        log.write(f'{self.path} {self.headers["Sec-Fetch-Dest"]} {answer[9:12].decode()}\n')
        self.wfile.write(answer)
        self.close_connection = True
    def log_message(self, *_):
        pass

relay = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Relay)
to = f'http://127.0.0.1:{relay.server_port}'
page = f'''<!doctype html><title>page</title><link rel=stylesheet href={to}/status?stylesheet>
<img src={to}/recording?seconds=0.1><iframe src={to}/debug/pprof/?frame></iframe>
<object data={to}/status?object></object><video src={to}/status?video></video>
<script src={to}/status?script></script><script>fetch('{to}/status?fetch', {{ mode: 'no-cors' }})</script>'''

class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (page if self.path == '/page' else
                f'<!doctype html><meta http-equiv=refresh content="0;url={to}/debug/pprof/?link">').encode()
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

site = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Site)
threading.Thread(target=relay.serve_forever, daemon=True).start()
with open(ports, 'w') as f:
    print(site.server_port, file=f)
site.serve_forever()
SITE
python3 "$work/site.py" "$port" "$work/ports" "$work/log" &
running="$running $!"
until_true test -s "$work/ports" || fail 'the site does not run'
read -r site <"$work/ports"

# open URL: print the page as it is after its scripts ran.
open() {
	HOME=$work timeout -k 5 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic \
		--user-data-dir="$work/profile" --virtual-time-budget=5000 --dump-dom "$1" 2>"$work/browser.err" ||
		fail "the browser: $(tail -n 5 "$work/browser.err")"
}

# ---- pages that the user opens ----
open "http://127.0.0.1:$port/debug/pprof/" >"$work/index.html"
grep -q 'href="/recording"' "$work/index.html" || fail "the index is not shown: $(cat "$work/index.html")"
open "http://127.0.0.1:$port/flamegraph?seconds=0.5" >"$work/flame.html"
grep -q '<canvas[^>]*style="[^"]*height' "$work/flame.html" || fail 'the script of the flame graph does not run'
grep -q 'style-src\|script-src' "$work/browser.err" && fail "the policy stops a part of the page: $(cat "$work/browser.err")"

# ---- requests of another site's page ----
: >"$work/log"
open "http://127.0.0.1:$site/page" >"$work/page.html"
open "http://127.0.0.1:$site/link" >"$work/link.html"
for what in 'recording?seconds=0.1 image' 'pprof/?frame iframe' 'status?object object' 'status?video video' \
	'status?script script' 'status?stylesheet style' 'status?fetch empty' 'pprof/?link document'; do
	until_true grep -q "$what" "$work/log" || fail "the browser never asked for $what: $(cat "$work/log")"
done
grep -v 'favicon\| 403$' "$work/log" && fail 'it was answered'
grep -q 'requests from web pages are refused' "$work/link.html" || fail "not said why: $(cat "$work/link.html")"
# The browser does not show it in a frame even if the request succeeds, as the user's own does.
curl -sS -D "$work/head" -o "$work/body" "http://127.0.0.1:$port/debug/pprof/"
grep -qi '^X-Frame-Options: DENY' "$work/head" && grep -qi "^Content-Security-Policy:.*frame-ancestors 'none'" "$work/head" ||
	fail "a page may be framed: $(cat "$work/head")"
