"""A program of Python whose stacks are known: each part burns a tenth of a second, but where it says so."""
import asyncio
import os
import sys
import threading
import time

try:
    import ctypes
except ImportError:
    ctypes = None

PART = 0.1
kept = []


def burn(seconds):
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        for i in range(200):
            total += i * i
    return total  # burn ends


def three():
    return burn(3 * PART)  # three burns


def one():
    return burn(PART)  # one burns


def deeper(depth):
    if depth:
        return deeper(depth - 1)  # goes deeper
    return burn(PART)  # at the bottom


class Shop:
    def sell(self):
        return burn(PART)  # sells

    @staticmethod
    def price(goods):
        burn(PART / 10)  # asks the price
        return goods


def counts():
    for i in range(10):
        yield burn(PART / 10)  # counts


async def fetches():
    burn(PART)  # fetches
    await asyncio.sleep(0)


async def serves():
    await fetches()  # serves


def compares(a, b):
    burn(PART / 10)  # compares
    return a[0] - b[0]


def sorts_in_c():
    numbers = (ctypes.c_int * 10)(*range(10))
    pointer = ctypes.POINTER(ctypes.c_int)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)
    ctypes.CDLL(None).qsort(numbers, 10, 4, kind(compares))  # sorts in C


def works():
    burn(PART)  # works


def naps(done):
    done.wait()  # naps


def hoards():
    for i in range(200):
        kept.append(bytes(100000))  # hoards


def made(name):
    """A function that is forgotten once it has run: its place is for the next one."""
    scope = {}
    exec("def {0}(burn): return burn({1})".format(name, PART / 50), scope)
    scope[name](burn)


def main():
    done = threading.Event()
    sleeper = threading.Thread(target=naps, args=(done,))
    worker = threading.Thread(target=works)
    sleeper.start()
    burn(4 * PART)  # (by then it is profiled)
    deeper(60)
    Shop().sell()
    sorted(range(10), key=Shop.price)  # asks for prices
    sum(counts())  # adds up
    asyncio.run(serves())
    if ctypes:
        sorts_in_c()
    worker.start()
    worker.join()
    for i in range(50):
        made("made_%d" % i)
    three()
    one()
    hoards()
    done.set()
    sleeper.join()
    sys.stdout.write("ok %d\n" % len(kept))
    sys.stdout.flush()
    os._exit(0)  # or all would be freed in the end


main()
