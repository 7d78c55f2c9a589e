#!/usr/bin/python3
"""A real object store for the tests: OpenStack Swift with its S3 interface, in one process, with its objects in
memory. Needs the distribution's python3-swift, and so its /usr/bin/python3.

usage: swift_server.py PORT [TLS_PORT CERTIFICATE KEY]

Prints "ready" when it answers. The account is test:tester, its secret "testing". Its bucket "reports" exists from
the start. A page of a list has PAGE names (1000). Ends when standard input does."""

import os
import sys
import tempfile

import eventlet

eventlet.monkey_patch()

import eventlet.wsgi  # noqa: E402
from swift.account import server as account_server  # noqa: E402
from swift.common.ring import RingData  # noqa: E402
from swift.container import server as container_server  # noqa: E402
from swift.obj import mem_server  # noqa: E402
from swift.proxy import server as proxy_server  # noqa: E402
from swift.common.middleware import (  # noqa: E402
    bulk, catch_errors, dlo, gatekeeper, listing_formats, slo, tempauth)
from swift.common.middleware.s3api import s3api  # noqa: E402
from swift.common.swob import Request  # noqa: E402
from swift.common.utils import mkdirs  # noqa: E402
import array  # noqa: E402
import swift.common.utils  # noqa: E402


class Memcache:
    """The data that tempauth and the proxy keep in memcached."""

    def __init__(self):
        self.values = {}

    def get(self, key, **_):
        return self.values.get(key)

    def set(self, key, value, **_):
        self.values[key] = value
        return True

    def incr(self, key, delta=1, **_):
        self.values[key] = int(self.values.get(key, 0)) + delta
        return self.values[key]

    def delete(self, key, **_):
        self.values.pop(key, None)


class WithCache:
    def __init__(self, app, cache):
        self.app = app
        self.cache = cache

    def __call__(self, env, start_response):
        env['swift.cache'] = self.cache
        return self.app(env, start_response)


def ring(path, port):
    device = {'id': 0, 'zone': 0, 'region': 1, 'weight': 1.0, 'device': 'sda1',
              'ip': '127.0.0.1', 'port': port, 'replication_ip': '127.0.0.1',
              'replication_port': port}
    RingData([array.array('H', [0])], [device], 32).save(path)


def serve(app, port=0, tls=()):
    sock = eventlet.listen(('127.0.0.1', port))
    port = sock.getsockname()[1]
    if tls:
        sock = eventlet.wrap_ssl(sock, certfile=tls[0], keyfile=tls[1], server_side=True)
    logger = open(os.devnull, 'w')
    eventlet.spawn(eventlet.wsgi.server, sock, app, log=logger, log_output=False)
    return port


def main():
    home = tempfile.mkdtemp(prefix='asprof-swift-')
    mkdirs(os.path.join(home, 'devices', 'sda1', 'tmp'))
    with open(os.path.join(home, 'swift.conf'), 'w') as conf:
        conf.write('[swift-hash]\nswift_hash_path_suffix = test\n'
                   '[storage-policy:0]\nname = one\ndefault = yes\n')
    swift.common.utils.SWIFT_CONF_FILE = os.path.join(home, 'swift.conf')
    swift.common.utils.HASH_PATH_SUFFIX = b'test'
    swift.common.utils.HASH_PATH_PREFIX = b''

    conf = {'devices': os.path.join(home, 'devices'), 'mount_check': 'false', 'swift_dir': home,
            'allow_versions': 'yes', 'log_level': 'ERROR', 'fallocate_reserve': '0',
            'max_clock_skew': '900', 'node_timeout': '20'}
    ports = {'account': serve(account_server.AccountController(conf)),
             'container': serve(container_server.ContainerController(conf)),
             'object': serve(mem_server.ObjectController(conf))}
    for name, number in ports.items():
        ring(os.path.join(home, name + '.ring.gz'), number)

    proxy_conf = dict(conf, allow_account_management='true', account_autocreate='true')
    app = proxy_server.Application(proxy_conf, logger=None)
    cache = Memcache()
    made = Request.blank('/v1/AUTH_test/reports', method='PUT').get_response(WithCache(app, cache))
    assert made.status_int == 201, made

    auth = {'user_test_tester': 'testing .admin', 'user_other_other': 'othering .admin'}
    # From the inside out.
    for factory, settings in (
            (dlo.filter_factory, {}), (slo.filter_factory, {}), (bulk.filter_factory, {}),
            (tempauth.filter_factory, auth),
            (s3api.filter_factory, {'location': 'us-east-1', 's3_acl': 'false',
                                    'storage_domain': 'localhost',
                                    'max_bucket_listing': os.environ.get('PAGE', '1000'),
                                    'allowable_clock_skew': '900'}),
            (listing_formats.filter_factory, {}), (gatekeeper.filter_factory, {}),
            (catch_errors.filter_factory, {})):
        app = factory(proxy_conf, **settings)(app)
    app = WithCache(app, cache)

    serve(app, int(sys.argv[1]))
    if len(sys.argv) > 2:
        serve(app, int(sys.argv[2]), sys.argv[3:])
    eventlet.sleep(0.1)
    print('ready', flush=True)
    while eventlet.tpool.execute(sys.stdin.read, 1):
        pass
    os._exit(0)


if __name__ == '__main__':
    main()
