# One thread computes, and another wants to. Prints their ids.
import os
import sys
import threading
import time

end = time.time() + float(sys.argv[1])


# In one piece: with PYTHONUNBUFFERED, print writes the end of the line separately.
def print_id(name):
    os.write(1, f"{name} {threading.get_native_id()}\n".encode())


def hog():
    print_id("hog")
    while time.time() < end:
        for i in range(200000):
            pass


def wants():
    print_id("wants")
    while time.time() < end:
        time.sleep(0.001)


threads = [threading.Thread(target=hog), threading.Thread(target=wants)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
