# One thread computes, and another wants to. Prints their ids.
import sys
import threading
import time

end = time.time() + float(sys.argv[1])


def hog():
    print("hog", threading.get_native_id(), flush=True)
    while time.time() < end:
        for i in range(200000):
            pass


def wants():
    print("wants", threading.get_native_id(), flush=True)
    while time.time() < end:
        time.sleep(0.001)


threads = [threading.Thread(target=hog), threading.Thread(target=wants)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
