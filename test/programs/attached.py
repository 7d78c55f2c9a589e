# A program that an agent is put into while it runs. Threads compute, wait and use a pipe until the end of its input; it checks
# all results and prints "ok".
import hashlib, os, select, sys, threading, time

ended = False
mistakes = []
wanted = hashlib.sha256(b"x" * 100000).hexdigest()
reader, writer = os.pipe()


def check(is_right, what):
    if not is_right:
        mistakes.append(what)


def compute():
    while not ended:
        check(sum(i * i for i in range(1000)) == 332833500, "sum")
        check(hashlib.sha256(b"x" * 100000).hexdigest() == wanted, "hash")


def wait():
    while not ended:
        begin = time.monotonic()
        check(select.select([], [], [], 0.02) == ([], [], []), "select")
        time.sleep(0.02)
        check(time.monotonic() - begin >= 0.04, "time")


def write():
    while not ended:
        os.write(writer, b"abc")
        check(os.read(reader, 3) == b"abc", "pipe")


threads = [threading.Thread(target=function) for function in (compute, wait, wait, write)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.read()
ended = True
for thread in threads:
    thread.join()
print("bad " + str(set(mistakes)) if mistakes else "ok")
sys.exit(bool(mistakes))
