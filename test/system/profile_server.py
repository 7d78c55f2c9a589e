#!/usr/bin/python3
"""A small strict server of profiles for the tests. It accepts what Pyroscope accepts at POST /ingest (gzipped
profile.proto), and what an OTLP/HTTP receiver accepts at POST /v1development/profiles. It refuses what either
would refuse, and more: every field of every message must be known and have its type, every index must be valid,
and every entry must be used.

usage: profile_server.py [--port N] [--plan STATUS,…] [--max BYTES] [--header NAME=VALUE] [--slow SECONDS] OUT

The plan has the responses to the first requests: a status; "STATUS:N" with N as Retry-After; "close" to close the
connection without a response; "lose" to accept the request and close it; "part" for an OTLP response that rejects
a part; "0" to accept it. Bodies longer than --max, uncompressed, get 413. Without the header of --header a request
gets 401.

Prints "ready PORT". Each accepted message adds a line of JSON to OUT: its kind, service, labels, time, and totals
by type and leaf function. Each refused one adds a line to OUT.refused."""

import argparse
import gzip
import http.server
import json
import re
import sys
import threading
import time
import urllib.parse


class Bad(Exception):
    pass


# What each message has: number -> (name, type, repeated). Types: int, fixed64, str, bytes, or a message.
ANY = {1: ('string', 'str', 0), 2: ('bool', 'int', 0), 3: ('int', 'int', 0), 8: ('index', 'int', 0)}
KEY_VALUE = {1: ('key', 'str', 0), 2: ('value', ANY, 0), 3: ('index', 'int', 0)}
VALUE_TYPE = {1: ('type', 'int', 0), 2: ('unit', 'int', 0)}
PPROF = {
    1: ('sample_type', VALUE_TYPE, 1),
    2: ('sample', {1: ('location', 'int', 1), 2: ('value', 'int', 1), 3: ('label', {
        1: ('key', 'int', 0), 2: ('str', 'int', 0), 3: ('num', 'int', 0), 4: ('num_unit', 'int', 0)}, 1)}, 1),
    3: ('mapping', {1: ('id', 'int', 0), 2: ('start', 'int', 0), 3: ('limit', 'int', 0),
                    4: ('offset', 'int', 0), 5: ('filename', 'int', 0), 6: ('build_id', 'int', 0),
                    7: ('has_functions', 'int', 0), 8: ('has_filenames', 'int', 0),
                    9: ('has_line_numbers', 'int', 0), 10: ('has_inline_frames', 'int', 0)}, 1),
    4: ('location', {1: ('id', 'int', 0), 2: ('mapping', 'int', 0), 3: ('address', 'int', 0),
                     4: ('line', {1: ('function', 'int', 0), 2: ('line', 'int', 0)}, 1)}, 1),
    5: ('function', {1: ('id', 'int', 0), 2: ('name', 'int', 0), 3: ('system_name', 'int', 0),
                     4: ('filename', 'int', 0), 5: ('start_line', 'int', 0)}, 1),
    6: ('string', 'str', 1),
    9: ('time', 'int', 0), 10: ('duration', 'int', 0), 11: ('period_type', VALUE_TYPE, 0),
    12: ('period', 'int', 0), 13: ('comment', 'int', 1), 14: ('default_type', 'int', 0),
}
PROFILE = {
    1: ('sample_type', VALUE_TYPE, 0),
    2: ('sample', {1: ('stack', 'int', 0), 2: ('attributes', 'int', 1), 3: ('link', 'int', 0),
                   4: ('values', 'int', 1), 5: ('timestamps', 'fixed64', 1)}, 1),
    3: ('time', 'fixed64', 0), 4: ('duration', 'int', 0), 5: ('period_type', VALUE_TYPE, 0),
    6: ('period', 'int', 0), 7: ('id', 'bytes', 0), 8: ('dropped', 'int', 0),
    11: ('attributes', 'int', 1),
}
DICTIONARY = {
    1: ('mapping', {1: ('start', 'int', 0), 2: ('limit', 'int', 0), 3: ('offset', 'int', 0),
                    4: ('filename', 'int', 0), 5: ('attributes', 'int', 1)}, 1),
    2: ('location', {1: ('mapping', 'int', 0), 2: ('address', 'int', 0),
                     3: ('line', {1: ('function', 'int', 0), 2: ('line', 'int', 0),
                                  3: ('column', 'int', 0)}, 1),
                     4: ('attributes', 'int', 1)}, 1),
    3: ('function', {1: ('name', 'int', 0), 2: ('system_name', 'int', 0), 3: ('filename', 'int', 0),
                     4: ('start_line', 'int', 0)}, 1),
    4: ('link', {1: ('trace_id', 'bytes', 0), 2: ('span_id', 'bytes', 0)}, 1),
    5: ('string', 'str', 1),
    6: ('attribute', {1: ('key', 'int', 0), 2: ('value', ANY, 0), 3: ('unit', 'int', 0)}, 1),
    7: ('stack', {1: ('locations', 'int', 1)}, 1),
}
OTLP = {
    1: ('resource_profiles', {
        1: ('resource', {1: ('attributes', KEY_VALUE, 1)}, 0),
        2: ('scope_profiles', {1: ('scope', {1: ('name', 'str', 0), 2: ('version', 'str', 0)}, 0),
                               2: ('profile', PROFILE, 1), 3: ('schema_url', 'str', 0)}, 1),
        3: ('schema_url', 'str', 0)}, 1),
    2: ('dictionary', DICTIONARY, 0),
}


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Bad('a varint that does not end')
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            return value & (1 << 64) - 1, at


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def decode(data, schema):
    """The message in DATA: a dict of its fields by name; repeated fields are lists."""
    out = {name: [] if repeated else None for name, _, repeated in schema.values()}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number not in schema:
            raise Bad('field %d is none of %s' % (number, sorted(out)))
        name, kind, repeated = schema[number]
        values = []
        if wire == 0 and kind == 'int':
            value, at = varint(data, at)
            values = [signed(value)]
        elif wire == 1 and kind == 'fixed64':
            values = [int.from_bytes(data[at:at + 8], 'little')]
            at += 8
        elif wire == 2 and kind != 'fixed64':
            length, at = varint(data, at)
            part = data[at:at + length]
            at += length
            if len(part) != length:
                raise Bad('%s is cut off' % name)
            if kind == 'str':
                values = [part.decode('utf-8')]
            elif kind == 'bytes':
                values = [part]
            elif kind == 'int':
                if not repeated:
                    raise Bad('%s is packed' % name)
                i = 0
                while i < length:
                    value, i = varint(part, i)
                    values.append(signed(value))
            else:
                values = [decode(part, kind)]
        else:
            raise Bad('%s has wire type %d' % (name, wire))
        if repeated:
            out[name] += values
        elif out[name] is not None:
            raise Bad('%s is there twice' % name)
        else:
            out[name] = values[0]
    if at != len(data):
        raise Bad('cut off')
    return out


def zero(message):
    return all(not value or isinstance(value, dict) and zero(value) for value in message.values())


def need(condition, words):
    if not condition:
        raise Bad(words)


def add(totals, kind, function, value):
    totals.setdefault(kind, {})
    totals[kind][function] = totals[kind].get(function, 0) + value


def check_pprof(body):
    m = decode(body, PPROF)
    strings = m['string']
    need(strings and strings[0] == '', 'the first string is not ""')
    need(len(set(strings)) == len(strings), 'a string is there twice')
    used = {0}

    def text(index):
        used.add(index or 0)
        return strings[index or 0]

    tables = {}
    for table in 'mapping', 'location', 'function':
        ids = [item['id'] for item in m[table]]
        need(all(ids) and len(set(ids)) == len(ids), '%s: ids' % table)
        tables[table] = dict(zip(ids, m[table]))
    need(m['sample_type'] and m['sample'], 'no sample')
    types = ['%s:%s' % (text(t['type']), text(t['unit'])) for t in m['sample_type']]
    period = m['period_type'] or {'type': 0, 'unit': 0}
    need(text(period['type']) and m['period'] and m['period'] > 0, 'no period')
    met, totals, samples = set(), {}, {}
    for sample in m['sample']:
        need(len(sample['value']) == len(types) and any(sample['value']), 'values')
        need(all(value >= 0 for value in sample['value']), 'a value below 0')
        need(sample['location'], 'a sample without a location')
        met.update(sample['location'])
        keys = [text(label['key']) for label in sample['label']]
        need(len(set(keys)) == len(keys) and 'thread' not in keys, 'labels: %s' % keys)
        for label in sample['label']:
            need(re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', text(label['key'])), 'a label that is none')
            add(samples, text(label['key']), text(label['str']), sample['value'][-1])
        leaf = tables['location'][sample['location'][0]]
        name = text(tables['function'][leaf['line'][0]['function']]['name'])
        for kind, value in zip(types, sample['value']):
            add(totals, kind, name, value)
    need(met == set(tables['location']), 'locations that nothing is at')
    mapped, named = set(), set()
    for location in tables['location'].values():
        need(location['line'], 'a location without a line')
        if location['mapping']:
            mapping = tables['mapping'][location['mapping']]
            mapped.add(location['mapping'])
            if location['address'] and mapping['limit']:
                need(mapping['start'] <= location['address'] < mapping['limit'], 'an address outside')
        named.update(line['function'] for line in location['line'])
    need(named == set(tables['function']), 'functions that nothing is in')
    built = 0
    for mapping in tables['mapping'].values():
        text(mapping['filename'])
        built += bool(re.fullmatch('[0-9a-f]{16,}', text(mapping['build_id'])))
    need(built, 'no build-id')
    for function in tables['function'].values():
        need(text(function['name']), 'a function without a name')
        text(function['system_name'])
        text(function['filename'])
    for comment in m['comment']:
        text(comment)
    text(m['default_type'])
    need(used == set(range(len(strings))), 'strings that nothing names')
    need(m['time'] and m['duration'], 'no time')
    return {'types': types, 'totals': totals, 'time': m['time'], 'duration': m['duration'],
            'period': '%s:%s:%d' % (text(period['type']), text(period['unit']), m['period']),
            'samples': len(m['sample']), 'told': samples}


def check_otlp(body):
    m = decode(body, OTLP)
    need(m['dictionary'], 'no dictionary')
    d = m['dictionary']
    strings = d['string']
    need(strings and strings[0] == '', 'the first string is not ""')
    need(len(set(strings)) == len(strings), 'a string is there twice')
    for table in 'mapping', 'location', 'function', 'attribute', 'stack':
        need(d[table] and zero(d[table][0]), '%s: the first is not the zero value' % table)
        items = [json.dumps(item, sort_keys=True) for item in d[table]]
        need(len(set(items)) == len(items), '%s: twice the same' % table)
    need(d['link'] and not any(any(value or b'') for value in d['link'][0].values()), 'the first link')
    used = {table: {0} for table in d}

    def item(table, index):
        index = index or 0
        need(0 <= index < len(d[table]), '%s %d of %d' % (table, index, len(d[table])))
        used[table].add(index)
        return d[table][index]

    def any_value(value):
        need(value is not None, 'an attribute without a value')
        there = [v for v in value.values() if v is not None]
        need(len(there) == 1, 'a value of several kinds')
        return there[0] if value['index'] is None else item('string', value['index'])

    def attributes(indices):
        found = {}
        for index in indices:
            need(index, 'attribute 0')
            one = item('attribute', index)
            key = item('string', one['key'])
            need(key and key not in found, 'attribute %r' % key)
            found[key] = any_value(one['value'])
        return found

    need(len(m['resource_profiles']) == 1, 'resources')
    resource = m['resource_profiles'][0]
    labels = {}
    for one in resource['resource']['attributes']:
        key = one['key'] if one['index'] is None else item('string', one['index'])
        need(key and key not in labels and not (one['key'] and one['index']), 'resource: %r' % key)
        labels[key] = any_value(one['value'])
    need(labels.get('service.name'), 'no service.name')
    scope, = resource['scope_profiles']
    need(scope['scope']['name'], 'no scope')
    need(scope['profile'], 'no profile')
    out = {'labels': labels, 'service': labels['service.name'], 'types': [], 'totals': {}, 'ids': [],
           'samples': 0, 'periods': {}, 'threads': [], 'links': {}}
    for profile in scope['profile']:
        kind = '%s:%s' % tuple(item('string', profile['sample_type'][k]) for k in ('type', 'unit'))
        need(kind not in out['types'] and ':' not in (kind[0], kind[-1]), 'type %s' % kind)
        out['types'].append(kind)
        need(profile['id'] and len(profile['id']) == 16 and any(profile['id']), 'profile_id')
        out['ids'].append(profile['id'].hex())
        need(profile['time'] and profile['duration'], 'no time')
        out['time'], out['duration'] = profile['time'], profile['duration']
        period = profile['period_type']
        need(period and profile['period'] > 0, 'no period')
        out['periods'][kind] = '%s:%s:%d' % (item('string', period['type']), item('string', period['unit']),
                                             profile['period'])
        need(profile['sample'], 'no samples')
        seen = set()
        for sample in profile['sample']:
            need(len(sample['values']) == 1 and not sample['timestamps'], 'values')
            need(sample['values'][0] >= 0, 'a value below 0')
            identity = (sample['stack'], tuple(sorted(sample['attributes'])), sample['link'])
            need(identity not in seen, 'two samples of one identity')
            seen.add(identity)
            told = attributes(sample['attributes'])
            if 'thread.name' in told and told['thread.name'] not in out['threads']:
                out['threads'].append(told['thread.name'])
            link = item('link', sample['link'])
            if sample['link']:
                need(len(link['trace_id']) == 16 and len(link['span_id']) == 8, 'a link')
                key = link['trace_id'].hex() + ':' + link['span_id'].hex()
                add(out['links'], kind, key, sample['values'][0])
            stack = item('stack', sample['stack'])
            need(sample['stack'] and stack['locations'], 'a stack of nothing')
            for index in stack['locations']:
                item('location', index)
            leaf = item('location', stack['locations'][0])
            name = item('string', item('function', leaf['line'][0]['function'])['name'])
            add(out['totals'], kind, name, sample['values'][0])
            out['samples'] += 1
    built = 0
    for location in d['location'][1:]:
        mapping = item('mapping', location['mapping'])
        if location['address'] and mapping['limit']:
            need(mapping['start'] <= location['address'] < mapping['limit'], 'an address outside')
        need(location['line'], 'a location without a line')
        attributes(location['attributes'])
        for line in location['line']:
            function = item('function', line['function'])
            need(line['function'], 'a line of no function')
            need(item('string', function['name']), 'a function without a name')
            item('string', function['system_name'])
            item('string', function['filename'])
    for mapping in d['mapping'][1:]:
        item('string', mapping['filename'])
        told = attributes(mapping['attributes'])
        built += bool(re.fullmatch('[0-9a-f]{16,}', told.get('process.executable.build_id.gnu', '')))
    need(built, 'no build-id')
    for table, indices in used.items():
        need(len(indices) == len(d[table]), '%s: %d of %d that nothing leads to' %
             (table, len(d[table]) - len(indices), len(d[table])))
    return out


def check_name(name):
    """As Pyroscope's own parser of "service{key=value,…}"."""
    service, brace, rest = name.partition('{')
    need(re.fullmatch('[-A-Za-z0-9_./]+', service), 'service %r' % service)
    need(brace and rest.endswith('}') and '}' not in rest[:-1] and '{' not in rest, 'labels %r' % rest)
    labels = {}
    for pair in rest[:-1].split(',') if rest[:-1] else []:
        key, equals, value = pair.partition('=')
        need(equals and re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', key) and not key.startswith('__'), 'label %r' % pair)
        need(key not in labels and value and len(value.encode()) <= 2048, 'label %r' % pair)
        labels[key] = value
    need(len(labels) <= 27, '%d labels' % len(labels))
    return service, labels


def ingest(path, headers, body):
    query = urllib.parse.parse_qs(path.query, strict_parsing=True)
    need(set(query) == {'name', 'from', 'until', 'format', 'spyName'}, 'query %s' % sorted(query))
    need(query['format'] == ['pprof'] and not headers.get('Content-Encoding'), 'format')
    service, labels = check_name(query['name'][0])
    need(int(query['from'][0]) < int(query['until'][0]), 'from and until')
    need(body[:2] == b'\x1f\x8b', 'not gzipped')
    data = body_of(body)
    need(len(data) <= 2 << 20, 'larger than a burst')
    out = check_pprof(data)
    need(out['samples'] <= 16000, 'too many samples')
    need(abs(out['time'] / 1e9 - int(query['from'][0])) < 2, 'another time')
    kinds = {t.split(':')[0] for t in out['types']}
    # Pyroscope's series: one for a profile.
    metric = 'wall' if 'wall' in kinds else 'process_cpu' if 'cpu' in kinds else \
        'memory' if any(re.match('(java_)?(alloc|inuse)_', k) for k in kinds) else 'mutex'
    out.update(kind='pprof', service=service, labels=labels, metric=metric)
    return out


def body_of(body):
    data = gzip.decompress(body)
    if ARGS.max and len(data) > ARGS.max:
        raise OverflowError
    return data


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def answer(self, status, body=b'', kind='text/plain', retry=None):
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        if retry:
            self.send_header('Retry-After', retry)
        self.end_headers()
        self.wfile.write(body)

    def note(self, name, words):
        with LOCK, open(ARGS.out + name, 'a') as file:
            file.write(words + '\n')

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        with LOCK:
            plan = PLAN.pop(0) if PLAN else '0'
        path = urllib.parse.urlsplit(self.path)
        self.note('.requests', '%.3f %s %s' % (time.time(), plan, path.path))
        if ARGS.slow:
            time.sleep(ARGS.slow)
        if plan == 'close':
            self.close_connection = True
            return
        if plan not in ('0', 'part', 'lose'):
            status, _, retry = plan.partition(':')
            self.answer(int(status), b'{"message":"as planned"}', retry=retry)
            return
        name, _, value = ARGS.header.partition('=')
        if name and self.headers.get(name) != value:
            self.answer(401, b'who are you')
            return
        try:
            self.take(path, body, plan)
        except OverflowError:
            self.answer(413, b'too large')
        except Exception as error:
            self.note('.refused', '%s: %r' % (path.path, error))
            self.answer(400, repr(error).encode())

    def take(self, path, body, plan):
        if path.path.endswith('/ingest'):
            out = ingest(path, self.headers, body)
            reply, kind = b'', 'text/plain'
        elif path.path.endswith('/v1development/profiles') and not path.query:
            need(self.headers['Content-Type'] == 'application/x-protobuf', 'type')
            need(self.headers['Content-Encoding'] == 'gzip', 'encoding')
            out = dict(check_otlp(body_of(body)), kind='otlp')
            reply, kind = b'', 'application/x-protobuf'
            if plan == 'part':
                words = b'one was odd'
                inner = b'\x08\x01\x12' + bytes([len(words)]) + words
                reply = b'\x0a' + bytes([len(inner)]) + inner
        else:
            self.answer(404, b'no such path')
            return
        self.note('', json.dumps(out))
        if plan == 'lose':
            self.close_connection = True
            return
        self.answer(200, reply, kind)

    def log_message(self, *_):
        pass


def main():
    global ARGS, PLAN, LOCK
    parser = argparse.ArgumentParser()
    parser.add_argument('--port', type=int, default=0)
    parser.add_argument('--plan', default='')
    parser.add_argument('--max', type=int, default=0)
    parser.add_argument('--header', default='')
    parser.add_argument('--slow', type=float, default=0)
    parser.add_argument('out')
    ARGS = parser.parse_args()
    PLAN = [p for p in ARGS.plan.split(',') if p]
    LOCK = threading.Lock()
    open(ARGS.out, 'a').close()
    server = http.server.ThreadingHTTPServer(('127.0.0.1', ARGS.port), Handler)
    print(f'ready {server.server_address[1]}', flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()
