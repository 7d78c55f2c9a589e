#!/usr/bin/env python3
"""Requests one account of pgbench after another from a PostgreSQL server on the loopback interface. The connections stay,
so that the cost of a server process's start is not part of a response's cost.

  postgres_client.py PORT CONNECTIONS

For each line on standard input, a number of seconds, it prints a line: the number of responses, and their seconds. The
requested accounts are the same in each run."""
import random
import socket
import struct
import sys
import threading
import time

ACCOUNTS = 200000


class Connection:
    def __init__(self, port, seed):
        self.random = random.Random(seed)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.left = b""
        words = b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!II", 8 + len(words), 196608) + words)
        self.answer()

    def answer(self):
        """Read until the server is ready for the next query."""
        data = self.left
        at = 0
        while True:
            while len(data) - at < 5 or len(data) - at < 1 + struct.unpack_from("!I", data, at + 1)[0]:
                more = self.socket.recv(65536)
                if not more:
                    sys.exit("the server has closed the connection")
                data += more
            kind = data[at : at + 1]
            if kind == b"E":
                sys.exit(repr(data[at:]))
            at += 1 + struct.unpack_from("!I", data, at + 1)[0]
            if kind == b"Z":
                self.left = data[at:]
                return

    def ask(self, until):
        self.count = 0
        while time.monotonic() < until:
            text = b"SELECT abalance FROM pgbench_accounts WHERE aid = %d;\0" % self.random.randint(1, ACCOUNTS)
            self.socket.sendall(b"Q" + struct.pack("!I", 4 + len(text)) + text)
            self.answer()
            self.count += 1


connections = [Connection(int(sys.argv[1]), seed) for seed in range(int(sys.argv[2]))]
for line in sys.stdin:
    began = time.monotonic()
    threads = [threading.Thread(target=c.ask, args=(began + float(line),)) for c in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(c.count for c in connections), time.monotonic() - began, flush=True)
