#!/usr/bin/python3
"""A gateway in front of a server, whose behaviour is in the file MODE; see fleet.inc.

usage: front.py PORT BEHIND MODE"""

import http.client
import http.server
import itertools
import sys
import time

PORT, BEHIND, MODE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ANSWERS, LOST = itertools.count(1), itertools.count()


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def hand_on(self, body):
        behind = http.client.HTTPConnection('127.0.0.1', BEHIND, timeout=300)
        headers = {name: self.headers[name] for name in ('content-type', 'content-encoding') if self.headers[name]}
        behind.request('POST', self.path, body, headers)
        answer = behind.getresponse()
        return answer.status, answer.read()

    def do_POST(self):
        now = open(MODE).read().strip()
        body = self.rfile.read(int(self.headers['content-length']))
        if now == 'slow':
            time.sleep(3)
        status, answer = {'busy': 503, 'much': 429}.get(now, 0), b''
        try:
            if not status:
                status, answer = self.hand_on(body)
        except (OSError, http.client.HTTPException):
            status = 502
        open(MODE + '.answers', 'a').write('%s: %d\n' % (now, status))
        if now == 'lose' and status == 200 and next(ANSWERS) % 5 == 0:
            broken = next(LOST) % 2
            open(MODE + '.lost', 'a').write(self.path + (' broken\n' if broken else '\n'))
            if broken:
                self.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbroken')
            self.close_connection = True
            return
        self.send_response(status)
        if status == 429:
            self.send_header('retry-after', '2')
        self.send_header('content-length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(('127.0.0.1', PORT), Front).serve_forever()
