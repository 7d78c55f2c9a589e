# Compares the recorded waits with those that test/programs/wait_causes measured itself.
#
#   wait_causes_met.py MEASURED POINTS RECORDING...   MEASURED: its output; POINTS: allowed difference in percentage points
import collections, json, subprocess, sys

measured, points, recordings = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
causes = collections.defaultdict(collections.Counter)
owners = collections.defaultdict(collections.Counter)
stacks = collections.defaultdict(collections.Counter)
objects = collections.defaultdict(collections.Counter)
for recording in recordings:
    text = subprocess.run(["jfr", "print", "--json", "--stack-depth", "64", "--events", "profiler.WallClockSample",
                           recording], stdout=subprocess.PIPE, check=True).stdout
    for event in json.loads(text)["recording"]["events"]:
        event = event["values"]
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

wrong = 0
for line in open(measured):
    name, cause, waited, lived, owner = line.split()
    total = sum(causes[name].values())
    told, true = 100 * causes[name][cause] / max(total, 1), 100 * float(waited) / float(lived)
    print("%-10s %-11s measured %5.1f%%, recorded %5.1f%% of %d: %s; on %s" %
          (name, cause, true, told, total, dict(causes[name]), objects[name].most_common(2)))
    wrong += abs(told - true) > points
    if owner != "0":
        # Between two owners, a woken thread may have to wait for a processor first.
        right, none, every = owners[name][int(owner)], owners[name][0], sum(owners[name].values())
        print("%-10s owner %s: %d of %d, none %d; with a stack %d: %s" %
              ("", owner, right, every, none, sum(stacks[name].values()), stacks[name].most_common(2)))
        wrong += right < 0.99 * (every - none) or right < 0.5 * every
sys.exit(wrong)
