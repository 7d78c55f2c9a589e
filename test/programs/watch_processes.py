"""Watches process PID and all its descendants until PID has ended, or a line comes on standard input. Then it prints
a line for each: pid, name, seconds for which it was seen, and its threads' milliseconds of CPU time according to the
kernel, without the agent's. Of these there is a minimum, since the agents' LOG reported profiling, and a maximum, since
the start. The last value is whether it was ever profiled. Usage: watch_processes.py PID LOG"""
import os
import re
import select
import sys
import time


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def stat(pid):
    text = read(f"/proc/{pid}/stat")
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, rest.split()


class Process:
    def __init__(self):
        self.first = self.last = time.monotonic()
        self.name, self.threads, self.since, self.profiled = "?", {}, 0, False

    def look(self, pid, name, profiled):
        try:
            ids = os.listdir(f"/proc/{pid}/task")
        except OSError:
            return
        for tid in ids:
            comm = read(f"/proc/{pid}/task/{tid}/comm")
            if comm.startswith("asprof-"):
                self.threads.pop(tid, None)
                continue
            spent = read(f"/proc/{pid}/task/{tid}/schedstat").split()
            if spent:
                self.threads[tid] = int(spent[0]) // 1000
        if profiled and not self.profiled:
            self.profiled, self.since = True, sum(self.threads.values())
        self.last, self.name = time.monotonic(), name


root, seen = int(sys.argv[1]), {}
seen[root] = Process()
while os.path.exists(f"/proc/{root}") and stat(root)[1][:1] != ["Z"]:
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            name, fields = stat(int(entry))
            if len(fields) > 1 and fields[0] != "Z":
                parents[int(entry)] = int(fields[1]), name
    grown = True
    while grown:
        grown = False
        for pid, (parent, _) in parents.items():
            if parent in seen and pid not in seen:
                seen[pid] = Process()
                grown = True
    profiled = set(re.findall(r"asprof-agent\[(\d+)\]: profiling ", read(sys.argv[2])))
    for pid, process in seen.items():
        if pid in parents:
            process.look(pid, parents[pid][1], str(pid) in profiled)
    if select.select([sys.stdin], [], [], 0.05)[0]:
        break
for pid, process in seen.items():
    total = sum(process.threads.values())
    print(pid, process.name.replace(" ", "_"), f"{process.last - process.first:.2f}",
          (total - process.since) // 1000, total // 1000, "yes" if process.profiled else "no")
