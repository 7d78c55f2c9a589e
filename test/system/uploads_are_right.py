#!/usr/bin/python3
"""Compare the objects of a bucket with the local reporter's files of the same programs.

usage: uploads_are_right.py ARRIVED LOCAL     ARRIVED: a folder for each object, unzipped

Every report must be there, once, complete, with its name and its metadata; otherwise the status is 1."""

import collections
import datetime
import json
import os
import re
import sys

NAME = r'profile_svc_unknown___(\d+)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)-([0-9a-f]{8})'


def read(*path):
    with open(os.path.join(*path), 'rb') as file:
        return file.read()


def check(folder, name):
    """Its process, its time, its recording."""
    assert sorted(os.listdir(folder)) == ['async_profiler_dump_0.jfr', 'metadata.json'], name
    metadata = json.loads(read(folder, 'metadata.json'))
    assert set(metadata) == {'start', 'end', 'reporting_interval', 'agent'}, metadata
    agent = metadata['agent']
    assert metadata['reporting_interval'] == 1000 and metadata['start'] < metadata['end'], metadata
    assert agent['tags'] == {'team': 'a b', 'x': '1'}, metadata
    assert agent['executable'].startswith('python3') and agent['engine'] == 'builtin', metadata
    pid, time, _ = re.fullmatch(NAME, name).groups()
    end = datetime.datetime.utcfromtimestamp(metadata['end'] // 1000)
    assert time == end.strftime('%Y-%m-%dT%H-%M-%SZ') and int(pid) == agent['pid'], metadata
    return pid, (metadata['start'], metadata['end']), read(folder, 'async_profiler_dump_0.jfr')


def main(arrived, local):
    times = collections.defaultdict(list)
    recordings = []
    for name in os.listdir(arrived):
        pid, time, recording = check(os.path.join(arrived, name), name)
        times[pid].append(time)
        recordings.append((pid, recording))
    kept = [(re.search(r'_(\d+)_[^_]*\.jfr$', name)[1], read(local, name))
            for name in os.listdir(local)]
    assert sorted(recordings) == sorted(kept), 'arrived: %d, kept: %d' % (len(recordings), len(kept))
    for pid in times:
        intervals = sorted(times[pid])
        for before, after in zip(intervals, intervals[1:]):
            assert before[1] == after[0], 'a gap: %s' % intervals


main(*sys.argv[1:])
