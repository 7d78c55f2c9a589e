# Runs until it is killed: computes, allocates, keeps some memory, and sleeps in between.
import time
kept = []

def counts(n):
    return sum(i * i % 7 for i in range(n))

def joins(n):
    return ''.join(str(i) for i in range(n))

while True:
    counts(20000)
    kept.append(joins(2000))
    if len(kept) > 200:
        del kept[:100]
    time.sleep(0.01)
