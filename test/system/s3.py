#!/usr/bin/python3
"""A small client of S3, IAM and STS for the tests, with its own signature version 4, so that other code
than the agent's reads the stored objects.

usage: s3.py make BUCKET             its URL, with the bucket in the path
       s3.py list BUCKET             the keys, one a line
       s3.py fetch BUCKET DIR        every object into a file of DIR
       s3.py put BUCKET FILE...      under their base names, after PREFIX if that is set
       s3.py empty BUCKET
       s3.py call URL NAME=VALUE...  IAM and STS: send a form, print the answer

Keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN. Certificates are not checked."""

import datetime
import hashlib
import hmac
import os
import signal
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

SCOPE = 'us-east-1/s3/aws4_request'


def authorization(method, url, headers):
    date = headers['x-amz-date'][:8]
    names = ';'.join(sorted(headers))
    canonical = '\n'.join(
        [method, url.path or '/', url.query]
        + ['%s:%s' % (name, headers[name]) for name in sorted(headers)]
        + ['', names, headers['x-amz-content-sha256']])
    text = '\n'.join(['AWS4-HMAC-SHA256', headers['x-amz-date'], date + '/' + SCOPE,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = b'AWS4' + os.environ['AWS_SECRET_ACCESS_KEY'].encode()
    for part in [date] + SCOPE.split('/') + [text]:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return 'AWS4-HMAC-SHA256 Credential=%s/%s/%s, SignedHeaders=%s, Signature=%s' % (
        os.environ['AWS_ACCESS_KEY_ID'], date, SCOPE, names, key.hex())


def send(method, text, body=b''):
    url = urllib.parse.urlsplit(text)
    headers = {'host': url.netloc, 'x-amz-content-sha256': hashlib.sha256(body).hexdigest(),
               'x-amz-date': datetime.datetime.utcnow().strftime('%Y%m%dT%H%M%SZ')}
    if os.environ.get('AWS_SESSION_TOKEN'):
        headers['x-amz-security-token'] = os.environ['AWS_SESSION_TOKEN']
    headers['authorization'] = authorization(method, url, headers)
    request = urllib.request.Request(text, body or None, headers, method=method)
    try:
        return urllib.request.urlopen(request, context=ssl._create_unverified_context()).read()
    except urllib.error.HTTPError as error:
        sys.exit('%s %s: %d %s' % (method, text, error.code, error.read().decode()))


def keys(url):
    answer = xml.etree.ElementTree.fromstring(send('GET', url))
    return [key.text for key in answer.iterfind('.//{*}Contents/{*}Key')]


def address(url, key):
    return url + '/' + urllib.parse.quote(key)


def fetch(url, folder):
    for key in keys(url):
        with open(os.path.join(folder, key), 'wb') as out:
            out.write(send('GET', address(url, key)))


def call(url, *form):
    body = urllib.parse.urlencode(dict(pair.split('=', 1) for pair in form))
    print(send('POST', url + '/', body.encode()).decode())


def make(url):
    send('PUT', url)


def show(url):
    sys.stdout.writelines(key + '\n' for key in keys(url))


def put(url, *files):
    for file in files:
        key = os.environ.get('PREFIX', '') + os.path.basename(file)
        with open(file, 'rb') as body:
            send('PUT', address(url, key), body.read())


def empty(url):
    for key in keys(url):
        send('DELETE', address(url, key))


VERBS = {'make': make, 'list': show, 'fetch': fetch, 'put': put, 'empty': empty, 'call': call}

signal.signal(signal.SIGPIPE, signal.SIG_DFL)
VERBS[sys.argv[1]](*sys.argv[2:])
