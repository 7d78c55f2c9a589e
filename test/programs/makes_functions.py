# Makes functions all the time, calls each once, and drops them: more than the table has room for. Each allocates
# memory; the memory of one in each batch is kept.
import ctypes
import os
import time

LOTS, LOT = 12, 5000
agent = ctypes.CDLL(None)
kept = []

# Until it is profiled, and the agent has found this interpreter.
while agent.asprof_agent_running() != 1:
    time.sleep(0.01)
agent.asprof_agent_flush()


def asks(size=20000):
    sum(range(1000))  # a thread that only allocates is sampled at long intervals
    return bytearray(size)


for lot in range(LOTS):
    space = {"asks": asks, "kept": kept}
    first = lot * LOT
    # So large that it is sampled, and five times, because a busy machine loses samples.
    lines = ["def keeps_%d(): kept.append(asks(4000000))" % lot]
    lines += ["def made_%d(): return asks()" % (first + i) for i in range(LOT)]
    exec(compile("\n".join(lines), "lot%d.py" % lot, "exec"), space)
    for i in range(LOT):
        space["made_%d" % (first + i)]()
        if i % 1000 == 0:
            space["keeps_%d" % lot]()
    agent.asprof_agent_flush()
print(len(kept) // 5, flush=True)
os._exit(0)  # with all of it
