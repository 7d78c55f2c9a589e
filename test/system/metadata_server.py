#!/usr/bin/python3
"""Metadata services of EC2 and ECS for the tests, as strict as the real ones. Version 1 of IMDS is refused. PUT
returns a token only with a lifetime, and the token is valid for that time. A request through a proxy gets no token,
and any other request gets 4xx.

usage: metadata_server.py      prints its port; the log of refused requests goes to stderr"""

import http.server
import json
import secrets
import sys
import time

tokens = {}  # and the time until which each is valid
DOCUMENT = {'instanceId': 'i-0123_45/6', 'accountId': '123456789012', 'region': 'eu-north-1',
            'instanceType': 'm5.large'}
KEYS = {'Code': 'Success', 'AccessKeyId': 'tester', 'SecretAccessKey': 'testing',
        'Expiration': '2099-01-01T00:00:00Z'}
TASK = {'Cluster': 'arn:aws:ecs:eu-west-1:123456789012:cluster/c', 'Limits': {'CPU': 0.5},
        'TaskARN': 'arn:aws:ecs:eu-west-1:123456789012:task/my_cluster/0b69'}
INSTANCE = {
    '/latest/dynamic/instance-identity/document': json.dumps(DOCUMENT),
    '/latest/meta-data/placement/region': 'us-east-1',
    '/latest/meta-data/iam/security-credentials/': 'role-of-instance',
    '/latest/meta-data/iam/security-credentials/role-of-instance': json.dumps(KEYS),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, text=''):
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
        if status != 200:
            print('refused', status, self.command, self.path, file=sys.stderr, flush=True)

    def do_PUT(self):
        ttl = self.headers.get('X-aws-ec2-metadata-token-ttl-seconds', '')
        if self.path != '/latest/api/token' or 'X-Forwarded-For' in self.headers:
            self.answer(403)
        elif not ttl.isdigit() or not 1 <= int(ttl) <= 21600:
            self.answer(400)
        else:
            token = secrets.token_urlsafe(32)
            tokens[token] = time.monotonic() + int(ttl)
            self.answer(200, token)

    def do_GET(self):
        if self.path == '/v4/abc/task':
            self.answer(200, json.dumps(TASK))
        elif self.path == '/creds':
            good = self.headers.get('Authorization') == 'container-word'
            self.answer(200 if good else 401, json.dumps(KEYS) if good else '')
        elif tokens.get(self.headers.get('X-aws-ec2-metadata-token'), 0) < time.monotonic():
            self.answer(401)
        elif self.path in INSTANCE:
            self.answer(200, INSTANCE[self.path])
        else:
            self.answer(404)

    def do_POST(self):
        self.answer(405)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
