# Asks a server at a Unix socket until the end of its input, checks each answer, and then prints "ok".
#   asks.py redis SOCKET   sets values and gets them
#   asks.py http SOCKET    gets a page and compares it with the first answer
import socket, sys, threading, time

ended = False
mistakes = []
answers = 0


class Http:
    def __init__(self, path):
        self.file = connect(path)
        self.wanted = None

    def ask(self, turn):
        self.file.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.file.flush()
        length = 0
        status = line = self.file.readline()
        while line not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            line = self.file.readline()
        answer = (status, self.file.read(length))
        self.wanted = self.wanted or answer
        return length > 0 and b" 200 " in status and answer == self.wanted


class Redis:
    def __init__(self, path):
        self.file = connect(path)
        self.key = "key:%d" % id(self)

    def ask(self, turn):
        value = "value %d " % turn + "x" * (turn % 1000)
        self.file.write(b'SET %s "%s"\r\nGET %s\r\n' % (self.key.encode(), value.encode(), self.key.encode()))
        self.file.flush()
        lines = [self.file.readline() for _ in range(3)]
        return lines == [b"+OK\r\n", b"$%d\r\n" % len(value), value.encode() + b"\r\n"]


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.settimeout(60)
    return connection.makefile("rwb")


def work(client):
    global answers
    turn = 0
    try:
        while not ended:
            if not client.ask(turn):
                mistakes.append("a wrong answer")
            answers += 1
            turn += 1
            time.sleep(0.001)
    except Exception as error:
        mistakes.append(repr(error))


kind = {"redis": Redis, "http": Http}[sys.argv[1]]
threads = [threading.Thread(target=work, args=(kind(sys.argv[2]),)) for _ in range(4)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.read()
ended = True
for thread in threads:
    thread.join()
print("bad " + str(set(mistakes)) if mistakes or not answers else "ok")
sys.exit(bool(mistakes) or not answers)
