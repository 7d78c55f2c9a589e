"""Reads reports as they are written and removes them, until there are enough samples of functions of a language. Then it
checks that each name in the samples exists.

usage: names_met.py AGENT REPORTS NAMES SAMPLES STOP [WHO_ELSE...]

REPORTS is the folder of the reports, or of the results of walks_often.c. STOP is a file that is made when there are
enough samples, or after SECONDS_AT_MOST: then the profiled program ends, and removes it. NAMES has files of the existing
functions: a line for each, with its name, its file and its lines (1,2,5-9; none: without a file). The command WHO_ELSE
gets the other frames, one a line (name, file, line), and prints the ones that do not exist. Created functions follow a
rule: made_L_I is in the lines 2 * I + 1 and 2 * I + 2 of lotL, with any text before and after these. Each batch has a
function called twin, which calls only functions of its own batch."""
import collections
import os
import re
import subprocess
import sys
import time

agent, reports, names, wanted, stop = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
who_else = sys.argv[6:]
FRAME = re.compile(r"(.*) \(([^()]*(?:\([^()]*\)[^()]*)*):(\d+)\)$")
MADE = re.compile(r"made_(\d+)_(\d+)$")
TWIN = re.compile(r"(?:^|\W)twin$")
LOT = re.compile(r"lot(\d+)(?:\.|$)")
# (Perl has a sub that compiles code instead of the compiler; in Ruby the code of a string belongs to its method.)
LOT_ITSELF = {"<module>", "(anonymous)", "(eval)", "{main}", "<main>", "<compiled>", "main::makes_lot", "makes_lot"}
STUB = "[V8]"  # V8's own code, which has no name
LACKING = "[frame table full]", "[forgotten]", "[unknown]"

at_most = float(os.environ.get("SECONDS_AT_MOST", "inf"))
leave_out = os.environ.get("LEAVE_OUT")  # a function that is reported as missing

met = collections.Counter()  # frames, by name, file and line
made, twins, wrong = set(), set(), collections.Counter()
read_to = collections.Counter()
samples, events, lacking = collections.Counter(), collections.Counter(), collections.Counter()


def meet(frame, count):
    match = FRAME.match(frame)
    name, file, line = (match[1], match[2], int(match[3])) if match else (frame, "", 0)
    file = re.sub(r"^\(eval \d+\)$", "(eval)", file)  # Perl numbers them
    if name in LACKING:
        lacking[name] += count
        return
    if name == STUB:
        return
    function, lot = MADE.search(name), LOT.match(file)
    if TWIN.search(name):
        return  # see meet_twins()
    if line and not file and name in LOT_ITSELF:
        return  # code of `eval` in JavaScript
    if not function and not lot:
        met[name, file, line] += count
    elif function and (not file or lot and lot[1] == function[1]) and (not line or line - 2 * int(function[2]) in (1, 2)):
        made.add(function[0])
    elif name not in LOT_ITSELF:
        wrong[frame] += count


def meet_twins(stack, count):
    """A twin and the functions that it called are of one batch."""
    for twin, called in zip(stack, stack[1:]):
        a, b = FRAME.match(twin), FRAME.match(called)
        if a and b and TWIN.search(a[1]):
            lot, made_by = LOT.match(a[2]), MADE.search(b[1])
            if made_by:
                twins.add(made_by[1])
            if a[2] and not lot or lot and made_by and made_by[1] != lot[1]:
                wrong["%s, which calls %s" % (twin, called)] += count


def read(paths):
    for kind in "--cpu", "--wall":
        said = subprocess.run([agent, "collapsed", kind, "--lines", "--frames", "script", *paths], stdout=subprocess.PIPE)
        for line in said.stdout.decode(errors="replace").splitlines():
            stack, count = line.rsplit(" ", 1)
            stack = stack.split(";")
            # (If a stack has no functions of the language, all others are shown.)
            if not any(map(FRAME.match, stack)):
                continue
            for frame in set(stack):
                meet(frame, int(count))
            if "twin" in line:
                meet_twins(stack, int(count))
            samples[kind] += int(count)
    said = subprocess.run([agent, "summary", "-n", "1", *paths], stdout=subprocess.PIPE).stdout.decode(errors="replace")
    for line in said.splitlines():
        words = line.split()
        if len(words) > 2 and words[-1] == "profiler.WallClockSample":
            events[words[-1]] += int(words[0])


def read_walks(path):
    """New text since the last call."""
    with open(path, "rb") as file:
        file.seek(read_to[path])
        text = file.read()
    text = text[: text.rfind(b"\n") + 1]
    read_to[path] += len(text)
    for line in text.decode(errors="replace").splitlines():
        stack, count = line.rsplit(" ", 1)
        if stack in ("[walks]", "[steps]", "[without]"):
            samples[stack] += int(count)
            continue
        stack = stack.split(";")
        for frame in stack:
            meet(frame, 1)
        meet_twins(stack, 1)


def read_all():
    for name in os.listdir(reports):
        if name.endswith(".walks"):
            read_walks(os.path.join(reports, name))
    paths = [os.path.join(reports, name) for name in sorted(os.listdir(reports)) if name.endswith(".jfr")]
    if paths:
        read(paths)
    for path in paths:
        os.unlink(path)


def known():
    there = collections.defaultdict(set)
    for name in os.listdir(names):
        with open(os.path.join(names, name), errors="replace") as file:
            for line in file:
                function, path, lines = line.rstrip("\n").split("\t")
                if function == leave_out:
                    continue
                for part in lines.split(",") if lines else []:
                    first, _, last = part.partition("-")
                    there[function, os.path.basename(path)].update(range(int(first), int(last or first) + 1))
                if not lines:
                    there[function, ""].add(0)
    return there


began = told = time.monotonic()
while samples["--cpu"] + samples["--wall"] + samples["[walks]"] < wanted and time.monotonic() < began + at_most:
    read_all()
    if time.monotonic() - told > 30:
        told = time.monotonic()
        print("%4.0f s: %s, %d frames" % (told - began, dict(samples), len(met) + len(made)), flush=True)
    time.sleep(0.2)
open(stop, "w").close()
while os.path.exists(stop):
    time.sleep(0.1)
read_all()

there = known()
alone, files = {name for name, _ in there}, {file for _, file in there}
left = {}
for (name, file, line), count in met.items():
    # (If no line is known, no file is shown. Ruby's internal functions of its start cannot be checked.)
    begins = file.startswith("<internal:") and file not in files
    if line not in there.get((name, file), ()) and (name not in alone or line and not begins):
        left["%s\t%s\t%d" % (name, file, line)] = count
if who_else and left:
    said = subprocess.run(who_else, input="".join(frame + "\n" for frame in left).encode(), stdout=subprocess.PIPE, check=True)
    left = {frame: left[frame] for frame in said.stdout.decode(errors="replace").splitlines()}
wrong.update(left)
took = time.monotonic() - began
if samples["[walks]"]:
    print(
        "%d walks in %.0f s, each from elsewhere than the one before: %d by a timer, %d an instruction later; and %d in which there are no such functions"
        % (samples["[walks]"], took, samples["[walks]"] - samples["[steps]"], samples["[steps]"], samples["[without]"])
    )
else:
    print(
        "%d samples in %.0f s: %d of CPU time, %d of the wall clock (in %d events, each with a stack of its own)"
        % (sum(samples.values()), took, samples["--cpu"], samples["--wall"], events["profiler.WallClockSample"])
    )
print("%d functions, and %d that were made, with %d twins" % (len({key[:2] for key in met}), len(made), len(twins)))
print("%d places; wrong names: %d, in %d samples; without a name: %s" % (len(met), len(wrong), sum(wrong.values()), dict(lacking) or 0))
for frame, count in wrong.most_common(200):
    print("  %s (%d)" % (frame, count))
sys.exit(bool(wrong) or not met or not made)
