# Compares the recorded waits with the measurements of test/programs/wait_causes.c.
#
#   wait_causes_met.py AGENT MEASURED POINTS KINDS RECORDING...
#
# AGENT: the command, which scales the samples to the kernel's times of each thread: on a busy machine the agent's thread
# waits for a processor too, and its visits come late and together. MEASURED: the program's output. POINTS: allowed difference in percentage points. KINDS: "all"; "functions": calls are known by
# the kernel's function only, without an object; "musl": normal mutexes have no owner,
# and the stacks of semaphores end in musl; "go": the program of wait_causes.go, whose exit omits the last report.
import collections, json, subprocess, sys

agent, measured, points, kinds, recordings = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4], sys.argv[5:]
causes = collections.defaultdict(collections.Counter)
owners = collections.defaultdict(collections.Counter)
stacks = collections.defaultdict(collections.Counter)
objects = collections.defaultdict(collections.Counter)
times = collections.defaultdict(lambda: [0, 0])


def seconds(text):
    return float(text[2:-1]) if text.endswith("S") and "M" not in text else 0


for recording in recordings:
    text = subprocess.run(["jfr", "print", "--json", "--stack-depth", "64", "--events",
                           "profiler.WallClockSample,asprof.ThreadTimes", recording],
                          stdout=subprocess.PIPE, check=True).stdout
    for event in json.loads(text)["recording"]["events"]:
        type, event = event["type"], event["values"]
        if type == "asprof.ThreadTimes":
            name = event["eventThread"]["osName"]
            times[name][0] += seconds(event["blockedTime"])
            times[name][1] += seconds(event["duration"])
            continue
        name = event["sampledThread"]["osName"]
        wait = dict(line.split("=", 1) for line in (event["wait"] or "").splitlines())
        causes[name][wait.get("cause") or wait.get("state") or "unknown"] += event["samples"]
        objects[name][wait.get("on")] += event["samples"]
        if wait.get("cause") == "lock":
            owners[name][int(wait.get("owner", 0))] += event["samples"]
            stack = event["ownerStackTrace"]
            if stack:
                frames = [frame["method"]["name"] for frame in stack["frames"]]
                stacks[name][" ".join(frames)] += event["samples"]

wrong = []
sockets = sum(1 for _ in open("/proc/net/tcp"))


def check(is_right, *what):
    if not is_right:
        wrong.append(" ".join(what))


def share(name, cause):
    """Percentage of the thread's time by the command."""
    answer = json.loads(subprocess.run([agent, "waits", "--json", "--thread", name] + recordings,
                                       stdout=subprocess.PIPE, check=True).stdout)
    weight = sum(group["weight"] for group in answer["groups"] if group["name"] == cause)
    return 100 * weight / max(answer["weight"], 1)


for line in open(measured):
    name, cause, waited, lived, owner = line.split()
    if kinds == "musl" and cause == "semaphore":
        cause = "lock"
    total = sum(causes[name].values())
    waits = sum(count for key, count in causes[name].items() if key not in ("running", "runnable", "unknown"))
    told, true = share(name, cause), 100 * float(waited) / float(lived)
    print("%-10s %-11s measured %5.1f%%, reported %5.1f%%; %d samples: %s; on %s" %
          (name, cause, true, told, total, dict(causes[name]), objects[name].most_common(2)))
    check(abs(told - true) <= points, name, "is reported as %.1f%% instead of %.1f%%" % (told, true))
    if cause == "running":
        continue
    # (Few waits: this machine's storage does not block.)
    check(waits < (200 if kinds == "go" else 40) or causes[name][cause] >= 0.75 * waits, name, "has other causes")
    blocked, duration = times[name]
    check(kinds == "go" or duration and abs(100 * blocked / duration - true) <= 15, name,
          "blocked for %.2f s of %.2f s" % (blocked, duration))
    # (With thousands of sockets in the system a new one's peer is unknown for some seconds.)
    if cause == "socket-read" and kinds not in ("functions", "go") and waits >= 20 and sockets < 2000:
        check(any((on or "").startswith("tcp 127.0.0.1:") for on, _ in objects[name].most_common(2)), name, "has no peer")
    if owner != "0" and kinds == "all":
        # A read-write lock that is handed over to a writer without a processor does not name it yet.
        right, none, every = owners[name][int(owner)], owners[name][0], sum(owners[name].values())
        print("%-10s owner %s: %d of %d, none %d; with a stack %d: %s" %
              ("", owner, right, every, none, sum(stacks[name].values()), stacks[name].most_common(2)))
        check(right >= 0.99 * (every - none), name, "has other owners")
        known = 0.4 if points > 5 else 0.99 if name == "locks" else 0.9
        check(every < 20 or right >= known * every, name, "has no owner")
        outermost = "holds" if name == "locks" else "writes"
        check(every < 20 or sum(count for stack, count in stacks[name].items() if outermost in stack) >=
              0.9 * sum(stacks[name].values()) > 0, name, "has other owner's stacks")
for line in wrong:
    print("wrong:", line)
sys.exit(bool(wrong))
