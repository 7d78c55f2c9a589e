"""Runs functions that are created and dropped, in many threads, and lists the existing functions.

usage: churns.py FOLDER THREADS SECONDS

It restarts by exec(2) after so many seconds, until FOLDER/stop exists. Each loaded module, and this file, has a file in
FOLDER/names: a line for each function, with its name, its file and its lines. Its functions follow a rule: made_L_I is
in the lines 2 * I + 1 and 2 * I + 2 of lotL.py, and a twin is one of many functions that differ only in their file."""
import asyncio
import collections
import ctypes
import functools
import gc
import importlib
import importlib.util
import marshal
import os
import random
import re
import signal
import sys
import textwrap
import threading
import time
import types
import weakref

FOLDER, THREADS, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
LOT = 20
pool = []  # of the created functions: the last ones
steps = []
lots = 0
agent = ctypes.CDLL(None)
compares_c = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


# ---- Steps: each calls the first of the remaining steps with the rest, and returns a number ----


def plain(rest):
    x = rest[0](rest[1:])
    return x + 1


def recurses(rest, depth=8):
    if depth:
        return recurses(rest, depth - 1)
    return rest[0](rest[1:])


def generates(rest):
    def yields():
        yield 1
        yield rest[0](rest[1:])
        yield 2

    return sum(x for x in yields())


def comprehends(rest):
    return [rest[0](rest[1:]) for _ in range(1)][0]


def fails(rest):
    try:
        try:
            raise ValueError(len(rest))
        except ValueError:
            rest[0](rest[1:])
            raise KeyError(1)
    except KeyError:
        return 1
    finally:
        len(rest)


def sorts(rest):
    def key(x):
        return rest[0](rest[1:]) if x == 2 else x

    return sorted([3, 2, 1], key=key)[1]


def replaces(rest):
    return len(re.sub("b", lambda match: str(rest[0](rest[1:])), "abc"))


def sorts_in_c(rest):
    state = [rest]

    def compares(a, b):
        if state:
            left = state.pop()
            left[0](left[1:])
        return a[0] - b[0]

    ctypes.CDLL(None).qsort((ctypes.c_int * 4)(4, 3, 2, 1), 4, 4, compares_c(compares))
    return 1


def adds_in_turn(rest):
    class Number:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            if other.value == 1:
                rest[0](rest[1:])
            return self

    return functools.reduce(lambda a, b: a + b, [Number(0), Number(1), Number(2)]).value


def collects(rest):
    class Loop:
        def __del__(self):
            burn(50)

    def gone(_):
        burn(20)

    loop = Loop()
    loop.itself = loop
    watch = weakref.ref(loop, gone)
    del loop
    return rest[0](rest[1:]) + (watch is None)


def awaits(rest):
    if asyncio._get_running_loop():
        return plain(rest)

    async def later():
        await asyncio.sleep(0)
        return rest[0](rest[1:])

    async def both():
        await asyncio.gather(later(), asyncio.sleep(0))

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(both())
        return 1
    finally:
        loop.close()


def wraps(rest):
    textwrap.fill("one two three " * 4, 20)
    return functools.partial(plain, rest)()


def copies_code(rest):
    code = plain.__code__.replace(co_stacksize=plain.__code__.co_stacksize + 1)
    return types.FunctionType(code, globals())(rest)


class Shop:
    def sells(self, rest):
        return rest[0](rest[1:])

    @classmethod
    def of_class(cls, rest):
        return cls().sells(rest)

    @property
    def price(self):
        return self.rest[0](self.rest[1:])

    @classmethod
    def asks(cls, rest):
        shop = cls()
        shop.rest = rest
        return shop.price


# ---- Ends of a chain ----


def burn(work):
    total = 0
    for i in range(work):
        total += i * i
    return total


def changes_types(work):
    """Code that was specialised for one kind of operand becomes invalid."""
    for kind in (1, 1.5, "x", (1,), [2], 1 << 70):
        x = kind
        for _ in range(work):
            x = kind + kind
            y = x == kind
    return y


def burns(rest):
    return burn(random.randrange(2000)) & 1


def burns_types(rest):
    return changes_types(random.randrange(1, 100))


def naps(rest):
    time.sleep(random.expovariate(50))
    return 1


def waits(rest):
    return threading.Event().wait(random.expovariate(50))


def locks(rest):
    lock = threading.Lock()
    lock.acquire()
    return lock.acquire(True, random.expovariate(50))


def allocates(rest):
    kept = [bytes(random.randrange(5000)) for _ in range(50)]
    return len(collections.Counter(map(len, kept)))


# ---- Created and dropped functions ----


def keep(functions):
    for function in functions:
        if len(pool) < 400:
            pool.append(function)
        else:
            pool[random.randrange(400)] = function


def makes_lot():
    global lots
    lots += 1
    lot = "%d%06d" % (os.getpid(), lots)
    text = "".join("def made_%s_%d(rest):\n    return rest[0](rest[1:])\n" % (lot, i) for i in range(LOT))
    text += "def twin(rest):\n    return made_%s_0(rest)\n" % lot
    space = {}
    exec(compile(text, "lot%s.py" % lot, "exec"), space)
    keep(made for name, made in space.items() if name.startswith(("made_", "twin")))


# One file, with two contents in turn.
ODD = "def odd(rest):\n    return rest[0](rest[1:])\n"
EVEN = "\n\n\ndef even(rest):\n    x = 1\n    return rest[0](rest[1:]) + x\n"


def reloads():
    path = os.path.join(FOLDER, str(os.getpid()), "comes_and_goes.py")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for text in (ODD, EVEN):
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)
        importlib.invalidate_caches()
        spec = importlib.util.spec_from_file_location("comes_and_goes", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["comes_and_goes"] = module
        spec.loader.exec_module(module)
        keep(getattr(module, name) for name in ("odd", "even") if hasattr(module, name))
        for name in ("textwrap", "colorsys"):
            importlib.reload(importlib.import_module(name))


def chain(ends):
    some = [random.choice(steps) for _ in range(random.randrange(6))]
    if pool:
        some += [random.choice(pool) for _ in range(random.randrange(12))]
    random.shuffle(some)
    some.append(random.choice(ends))
    some[0](some[1:])


def stands():
    while True:
        chain(stand)


def runs():
    while True:
        chain(run)


def churns():
    turn = 0
    while True:
        turn += 1
        makes_lot()
        for _ in range(20):
            chain(run)
        if turn % 10 == 0:
            gc.collect()
        if turn % 25 == 0:
            reloads()
        if turn % 40 == 0:
            sys.settrace(traces)
            chain(run)
            sys.settrace(None)
        some = [threading.Thread(target=chain, args=(run,)) for _ in range(3)]
        for thread in some:
            thread.start()
        for thread in some:
            thread.join()


def traces(frame, event, argument):
    return traces


def forks():
    """A child runs for a while, and is profiled."""
    while True:
        child = os.fork()
        if not child:
            signal.alarm(10)
            end = time.monotonic() + 1
            while time.monotonic() < end:
                plain([recurses, generates, Shop.of_class, burns])
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(3)


# ---- Existing functions ----


def lines_of(code):
    lines = {code.co_firstlineno}
    if hasattr(code, "co_lines"):
        lines.update(line for _, _, line in code.co_lines() if line)
    else:
        import dis

        lines.update(line for _, line in dis.findlinestarts(code))
    return lines


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def tell_codes(what, codes):
    path = os.path.join(FOLDER, "names", what)
    if os.path.exists(path):
        return
    said = {}
    for code in codes:
        name = getattr(code, "co_qualname", code.co_name)
        said.setdefault((name, code.co_filename), set()).update(lines_of(code))
    with open("%s.%d" % (path, os.getpid()), "w") as file:
        for (name, path_of), lines in said.items():
            file.write("%s\t%s\t%s\n" % (name, path_of, ",".join(map(str, sorted(lines)))))
    os.rename("%s.%d" % (path, os.getpid()), path)


def sources_of(name, module):
    """As the compiler makes it, so that functions that were loaded and dropped are included."""
    path = getattr(module, "__file__", None) or ""
    if not path.endswith(".py"):
        spec = getattr(module, "__spec__", None)
        name = getattr(spec, "name", None) or name
        name = {"_frozen_importlib": "importlib._bootstrap", "_frozen_importlib_external": "importlib._bootstrap_external"}.get(
            name, name
        )
        path = os.path.join(os.path.dirname(os.__file__), *name.split(".")) + ".py"
    if os.path.exists(path):
        with open(path, "rb") as file:
            text = file.read()
        for known_as in (path, "<frozen %s>" % name):
            yield from codes_in(compile(text, known_as, "exec", dont_inherit=True))


def codes_within(file):
    """Frozen code of the interpreter (from 3.11 on), which has no source: all code of FILE, as marshal wrote it into
    the interpreter's own file."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if re.search(r"/(lib)?python[^/]*$", line)}
    for path in paths:
        with open(path, "rb") as within:
            data = within.read()
        named = data.find(file.encode())
        # It begins with the numbers of three kinds of arguments, four bytes each: zero.
        for begin in reversed([m.start() for m in re.finditer(rb"[c\xe3]\0{12}", data[: max(named, 0)])]):
            try:
                code = marshal.loads(data[begin:])
            except (EOFError, TypeError, ValueError):
                continue  # by chance
            if isinstance(code, types.CodeType) and code.co_filename == file:
                yield from codes_in(code)
                break


def tell_names():
    for name, module in list(sys.modules.items()):
        if name != "comes_and_goes":
            tell_codes(name, sources_of(name, module))
    for text in (ODD, EVEN):
        tell_codes("comes_and_goes-%d" % len(text), codes_in(compile(text, "comes_and_goes.py", "exec")))
    tell_codes("getpath", codes_within("<frozen getpath>"))
    # (Functions that modules run once at import, and drop.)
    tell_codes("text", codes_in(compile("pass\n" * 9, "<string>", "exec")))
    # Functions that the library makes at run time: named tuples and the like.
    made = [f.__code__ for f in gc.get_objects() if isinstance(f, types.FunctionType)]
    tell_codes("%d-made" % len(os.listdir(os.path.join(FOLDER, "names"))), [c for c in made if c.co_filename.startswith("<")])


steps += [plain, recurses, generates, comprehends, fails, sorts, replaces, sorts_in_c, adds_in_turn, collects, wraps, copies_code]
steps += [awaits, Shop().sells, Shop.of_class, Shop.asks]
run = [burns, burns_types, allocates]
stand = [naps, waits, locks]


def fails_the_test(failed):
    threading.__excepthook__(failed)
    os._exit(3)


def main():
    threading.excepthook = fails_the_test
    end = time.monotonic() + SECONDS
    while agent.asprof_agent_running() != 1 and time.monotonic() < end:
        time.sleep(0.01)
    makes_lot()
    targets = [churns, runs, forks] + [stands] * (THREADS - 3)
    for target in targets:
        threading.Thread(target=target, daemon=True).start()
    tell_names()
    while time.monotonic() < end and not os.path.exists(os.path.join(FOLDER, "stop")):
        time.sleep(0.1)
    tell_names()
    sys.stdout.flush()
    if os.path.exists(os.path.join(FOLDER, "stop")):
        os._exit(0)
    os.execv(sys.executable, [sys.executable] + sys.argv)


main()
