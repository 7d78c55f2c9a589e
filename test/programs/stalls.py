# COUNT iterations of asyncio's loop that block for 20 to 200 ms, in turn in a call that sleeps and in one that
# computes. Prints the microseconds and the function of each.
import asyncio
import sys
import time


def blocking(seconds):
    time.sleep(seconds)


def burning(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


async def main():
    count = int(sys.argv[1])
    await asyncio.sleep(0.5)
    for i in range(count):
        function = burning if i % 2 else blocking
        began = time.monotonic()
        function(0.02 + 0.18 * i / max(count - 1, 1))
        print(int((time.monotonic() - began) * 1e6), function.__name__, flush=True)
        await asyncio.sleep(0.002)


asyncio.run(main())
