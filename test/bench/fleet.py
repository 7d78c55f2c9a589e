#!/usr/bin/python3
"""Simulates the requests to a store from 100,000 hosts that were started at once: requests per second, if every process
sends at its interval's end, and if each has its own delay within the interval, as the agent has (upload/queue/queue.c).
In normal operation, and after the store was unavailable for ten minutes, with the agent's own pauses between two
attempts (upload/queue/delivery.c). One process per host; random numbers from a fixed seed.

usage: fleet.py [HOSTS]"""
import heapq
import random
import sys

HOSTS = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
INTERVAL = 30.0
RUN, AWAY, BACK = 1800.0, 600.0, 1200.0
FIRST, MOST, LAST_FAILURES = 1.0, 30.0, 16
PHASE_MOST = 60.0
# Hosts that "start at once" do so within so many seconds: images are pulled, programs are loaded.
WITHIN = 2.0


def pause(failures):
    return random.random() * (MOST if failures >= LAST_FAILURES else min(MOST, FIRST * 2 ** failures))


def simulate(shifted):
    random.seed(1)
    seconds = [0] * (int(RUN) + 1)
    last = 0.0
    queue = []
    for _ in range(HOSTS):
        start = random.random() * WITHIN
        shift = random.random() * min(INTERVAL, PHASE_MOST) if shifted else 0.0
        # The next report's due time, the time of its next attempt, the number of waiting reports, and failures in a
        # row.
        queue.append((start + INTERVAL + shift, start + INTERVAL + shift, 0, 0))
    heapq.heapify(queue)
    while queue and queue[0][0] < RUN:
        now, due, waiting, failures = queue[0]
        while due <= now:
            waiting += 1
            due += INTERVAL
        if AWAY <= now < BACK:
            seconds[int(now)] += 1
            heapq.heapreplace(queue, (now + pause(failures), due, waiting, failures + 1))
            continue
        # After the first success, all waiting reports are sent, one after another, 20 ms each.
        for i in range(waiting):
            if now + i * 0.02 < RUN:
                seconds[int(now + i * 0.02)] += 1
        if now >= BACK and waiting > 1:
            last = max(last, now - BACK)
        heapq.heapreplace(queue, (due, due, 0, 0))
    return seconds, last


def peak(seconds, begin, end):
    part = sorted(seconds[int(begin):int(end)])
    return part[-1], part[int(len(part) * 0.5)]


print('%d hosts, a report every %.0f s, started within %.0f s; requests a second at the store' % (HOSTS, INTERVAL, WITHIN))
print('| | when the interval ends: most | median | at a time of its own: most | median |')
print('|---|---|---|---|---|')
results = [simulate(False), simulate(True)]
for name, begin, end in (('the first ten minutes', 60, AWAY), ('the store is away for ten', AWAY, BACK),
                         ('the minute after', BACK, BACK + 60), ('later', BACK + 120, RUN - 60)):
    print('| %s | %s |' % (name, ' | '.join('%d | %d' % peak(seconds, begin, end) for seconds, _ in results)))
for name, (_, last) in zip(('at its end', 'at a time of its own'), results):
    print('%s: all that waited has come %.0f s after the store is back' % (name, last))
