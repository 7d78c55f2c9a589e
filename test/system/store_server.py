#!/usr/bin/python3
"""A small strict bucket for the tests. It accepts PUT, HEAD and GET of objects, and lists them by ListObjectsV2
only. It checks the signature, the payload's hash, the clock, and the encoding of the path, with its own code from
"AWS Signature Version 4 for API requests". The key is "tester", its secret "testing". With "if-none-match: *" no
object replaces another one.

usage: store_server.py [--port N] [--tls CERTIFICATE KEY] [--tls-version 1.2|1.3]
                       [--redirect STATUS URL] [--late N] [--page N] [--deny list|get]
                       [--broken N] [--hold NAME] [--head STATUS] [--lost N] [--storm SEED]
                       FOLDER

--redirect   accepts nothing, and redirects each request to the same path after URL
--late       the bucket does not exist for the first N requests, and refuses as many after that
--page       names in a page of a list (1000)
--deny       refuses lists, or reads
--broken     every Nth response to a GET is 503, and every Nth of the others breaks off in the middle
--hold       does not send that object for a minute
--head       the status of each response to HEAD
--lost       accepts every Nth PUT, and closes its connection without a response
--storm      refuses HEAD with a random status; half of the PUTs fail in one of STORM_PUTS

Prints "ready PORT". Objects become files in FOLDER. Each PUT adds a line to FOLDER.log: the number of its
connection, its status, and the object's name. Each GET adds one to FOLDER.gets: its status, the requested range,
and the object's name, or "?"."""

import argparse
import datetime
import hashlib
import hmac
import http.server
import itertools
import os
import random
import ssl
import tempfile
import time
import urllib.parse

KEY, SECRET = 'tester', 'testing'

STORM_HEADS = (403, 405, 501, 503)
# Whether the object is stored; the status, 0 for a closed connection; the error code. A gateway sends no error code.
STORM_PUTS = ((False, 503, 'SlowDown'), (False, 503, ''), (False, 502, ''), (False, 0, ''),
              (True, 500, 'InternalError'), (True, 503, ''), (True, 504, ''), (True, 0, ''))


class Refused(Exception):
    pass


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def check_signature(method, path, query, headers, body):
    """Raise Refused with the code of the fault."""
    scheme, _, rest = headers.get('Authorization', '').partition(' ')
    fields = dict(item.strip().split('=', 1) for item in rest.split(',') if '=' in item)
    if scheme != 'AWS4-HMAC-SHA256' or set(fields) != {'Credential', 'SignedHeaders', 'Signature'}:
        raise Refused('AccessDenied')
    key, day, region, service, end = fields['Credential'].rsplit('/', 4)
    if key != KEY:
        raise Refused('InvalidAccessKeyId')
    names = fields['SignedHeaders'].split(';')
    must = {'host'} | {name.lower() for name in headers if name.lower().startswith('x-amz-')}
    if names != sorted(names) or not must <= set(names) or (service, end) != ('s3', 'aws4_request'):
        raise Refused('AuthorizationHeaderMalformed')
    date = headers.get('x-amz-date', '')
    try:
        sent = datetime.datetime.strptime(date, '%Y%m%dT%H%M%SZ')
    except ValueError:
        raise Refused('AccessDenied') from None
    if day != date[:8] or abs(datetime.datetime.utcnow() - sent) > datetime.timedelta(minutes=15):
        raise Refused('RequestTimeTooSkewed')
    digest = headers.get('x-amz-content-sha256', '')
    if digest not in ('UNSIGNED-PAYLOAD', hashlib.sha256(body).hexdigest()):
        raise Refused('XAmzContentSHA256Mismatch')
    canonical = '\n'.join(
        [method, path, query] + [f'{name}:{" ".join(headers[name].split())}' for name in names] +
        ['', ';'.join(names), digest])
    scope = f'{day}/{region}/{service}/{end}'
    text = f'AWS4-HMAC-SHA256\n{date}\n{scope}\n' + hashlib.sha256(canonical.encode()).hexdigest()
    secret = ('AWS4' + SECRET).encode()
    for step in (day, region, service, end):
        secret = sign(secret, step)
    if not hmac.compare_digest(sign(secret, text).hex(), fields['Signature']):
        raise Refused('SignatureDoesNotMatch')


def etag(whole):
    with open(whole, 'rb') as file:
        return hashlib.md5(file.read()).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    timeout = 60

    def setup(self):
        self.number = next(self.server.numbers)
        super().setup()

    def object(self, method, body):
        """The file of the requested object."""
        path, _, query = self.path.partition('?')
        bucket, _, name = path.lstrip('/').partition('/')
        plain = urllib.parse.unquote(path)
        if urllib.parse.quote(plain, safe='/~') != path or '/' in name or bool(name) == bool(query):
            raise Refused('InvalidURI')
        if bucket != 'reports':
            raise Refused('NoSuchBucket')
        check_signature(method, path, query, self.headers, body)
        return os.path.join(self.server.folder, urllib.parse.unquote(name))

    def put(self, body):
        whole = self.object('PUT', body)
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(self.server.folder), delete=False) as out:
            out.write(body)
        if self.headers.get('If-None-Match') == '*':
            try:
                os.link(out.name, whole)
            except FileExistsError:
                raise Refused('PreconditionFailed') from None
            finally:
                os.unlink(out.name)
        else:
            os.rename(out.name, whole)
        self.server.sums[whole] = self.headers.get('x-amz-meta-sha256', '')

    def answer(self, status, code='', headers=()):
        answer = f'<Error><Code>{code}</Code></Error>'.encode() if code else b''
        if self.command == 'PUT':
            self.server.note(f'{self.number} {status} {self.path.rpartition("/")[2]}')
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if 'Content-Length' not in dict(headers):
            self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(answer)

    def sent_on(self):
        if self.server.redirect:
            status, url = self.server.redirect
            self.answer(int(status), 'TemporaryRedirect', [('Location', url + self.path)])
        return self.server.redirect

    def do_PUT(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        if self.sent_on():
            return
        if self.server.late:
            self.answer(*self.server.late.pop(0))
            return
        storm = self.server.storm
        if storm and storm.random() < 0.5:
            self.fail_put(body, *storm.choice(STORM_PUTS))
            return
        try:
            self.put(body)
            if self.server.lost and next(self.server.puts) % self.server.lost == 0:
                self.server.note(f'{self.number} 0 {self.path.rpartition("/")[2]}')
                self.close_connection = True
                return
            self.answer(200)
        except Refused as refused:
            self.answer(412 if str(refused) == 'PreconditionFailed' else 403, str(refused))

    def fail_put(self, body, is_stored, status, code):
        try:
            if is_stored:
                self.put(body)
        except Refused as refused:
            status, code = 412 if str(refused) == 'PreconditionFailed' else 403, str(refused)
        if status:
            self.answer(status, code)
        else:
            self.server.note(f'{self.number} 0 {self.path.rpartition("/")[2]}')
            self.close_connection = True

    def do_HEAD(self):
        if self.sent_on():
            return
        if self.server.head or self.server.storm:
            self.answer(self.server.head or self.server.storm.choice(STORM_HEADS))
            return
        try:
            whole = self.object('HEAD', b'')
            self.answer(200, '', [('Content-Length', str(os.path.getsize(whole))),
                                  ('x-amz-meta-sha256', self.server.sums.get(whole, ''))])
        except Refused as refused:
            self.answer(403, str(refused))
        except FileNotFoundError:
            self.answer(404)

    def list(self):
        """A page of the names, as the query requests."""
        self.object('GET', b'')
        query = self.path.partition('?')[2]
        wanted = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if wanted.pop('list-type') != '2' or wanted.pop('encoding-type') != 'url':
            raise Refused('InvalidArgument')
        if self.server.deny == 'list':
            raise Refused('AccessDenied')
        # The token must come back unchanged, with any characters.
        after = wanted.pop('continuation-token', '+/=& ')[5:]
        names = sorted(name for name in os.listdir(self.server.folder)
                       if name.startswith(wanted.get('prefix', '')) and name > after)
        page = names[:self.server.page]
        answer = ['<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns='
                  '"http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType>']
        for name in page:
            whole = os.path.join(self.server.folder, name)
            stat = os.stat(whole)
            date = datetime.datetime.utcfromtimestamp(stat.st_mtime)
            answer.append(f'<Contents><Key>{urllib.parse.quote_plus(name)}</Key><LastModified>'
                          f'{date:%Y-%m-%dT%H:%M:%S.000Z}</LastModified><ETag>&quot;'
                          f'{etag(whole)}&quot;</ETag><Size>{stat.st_size}</Size></Contents>')
        more = len(names) > len(page)
        answer.append(f'<IsTruncated>{str(more).lower()}</IsTruncated>')
        if more:
            answer.append(f'<NextContinuationToken>+/=&amp; {page[-1]}</NextContinuationToken>')
        return ''.join(answer + ['</ListBucketResult>']).encode()

    def get(self):
        whole = self.object('GET', b'')
        if self.server.deny == 'get':
            raise Refused('AccessDenied')
        if os.path.basename(whole) == self.server.hold:
            time.sleep(60)
        with open(whole, 'rb') as file:
            data = file.read()
        wanted = self.headers.get('Range')
        if not wanted:
            return 200, whole, data
        if self.headers.get('If-Match') != f'"{etag(whole)}"':
            raise Refused('PreconditionFailed')
        return 206, whole, data[int(wanted[len('bytes='):-1]):]

    def do_GET(self):
        if self.sent_on():
            return
        listing = '?' in self.path
        turn = next(self.server.turns)
        status = 200
        try:
            if self.server.broken and turn % self.server.broken == 0:
                raise Refused('SlowDown')
            if listing:
                whole, data = '', self.list()
            else:
                status, whole, data = self.get()
        except (Refused, FileNotFoundError) as refused:
            code = str(refused) if isinstance(refused, Refused) else 'NoSuchKey'
            status = {'NoSuchKey': 404, 'NoSuchBucket': 404, 'SlowDown': 503,
                      'PreconditionFailed': 412}.get(code, 403)
            self.note_get(status, listing)
            self.answer(status, code)
            return
        self.note_get(status, listing)
        self.send_response(status)
        self.send_header('Content-Length', str(len(data)))
        if whole:
            self.send_header('x-amz-meta-sha256', self.server.sums.get(whole, ''))
        self.end_headers()
        if self.server.broken and not listing and turn % self.server.broken == 1:
            self.wfile.write(data[:len(data) // 2])
            self.close_connection = True
            return
        self.wfile.write(data)

    def note_get(self, status, listing):
        name = '?' if listing else urllib.parse.unquote(self.path.rpartition('/')[2])
        self.server.gets.write(f'{status} {self.headers.get("Range", "-")} {name}\n')

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64

    def __init__(self, options):
        super().__init__(('127.0.0.1', options.port), Handler)
        self.folder = os.path.abspath(options.folder)
        self.numbers = itertools.count(1)
        self.redirect = options.redirect
        self.late = [(404, 'NoSuchBucket')] * options.late + [(403, 'AccessDenied')] * options.late
        self.sums = {}
        self.page = options.page
        self.deny = options.deny
        self.broken = options.broken
        self.hold = options.hold
        self.head = options.head
        self.lost = options.lost
        self.storm = random.Random(options.storm) if options.storm else None
        self.turns = itertools.count(1)
        self.puts = itertools.count(1)
        os.makedirs(self.folder, exist_ok=True)
        self.log = open(self.folder + '.log', 'a', buffering=1)
        self.gets = open(self.folder + '.gets', 'a', buffering=1)
        self.context = None
        if options.tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*options.tls)
            if options.tls_version:
                version = getattr(ssl.TLSVersion, 'TLSv' + options.tls_version.replace('.', '_'))
                self.context.minimum_version = self.context.maximum_version = version

    def get_request(self):
        sock, address = super().get_request()
        if self.context:
            sock = self.context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return sock, address

    def note(self, line):
        self.log.write(line + '\n')

    def handle_error(self, *_):
        """A client that disconnects, or that rejects the certificate, is no error."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--port', type=int, default=0)
    parser.add_argument('--tls', nargs=2)
    parser.add_argument('--tls-version')
    parser.add_argument('--redirect', nargs=2)
    parser.add_argument('--late', type=int, default=0)
    parser.add_argument('--page', type=int, default=1000)
    parser.add_argument('--deny', choices=['list', 'get'])
    parser.add_argument('--broken', type=int, default=0)
    parser.add_argument('--hold')
    parser.add_argument('--head', type=int)
    parser.add_argument('--lost', type=int, default=0)
    parser.add_argument('--storm', type=int)
    parser.add_argument('folder')
    server = Server(parser.parse_args())
    print(f'ready {server.server_port}', flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()
