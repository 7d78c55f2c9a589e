"""Workers of multiprocessing, which also forks them from a thread when it needs more. Prints their pids."""
import multiprocessing
import os
import time


def burn(_):
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        pass
    return os.getpid()


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    time.sleep(0.3)  # it is profiled by then
    with multiprocessing.Pool(2) as pool:
        print(*sorted(set(pool.map(burn, range(4), 1))))
        pool.close()
        pool.join()
