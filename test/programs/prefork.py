"""A server like gunicorn: a master that listens, and forked workers that accept.
Usage: prefork.py WORKERS FILE. It writes the port, the master's pid and the workers' pids to FILE. Ends by SIGTERM."""
import os
import signal
import socket
import sys
import time


def work_for(data):
    end = time.thread_time() + 0.002
    total = 0
    while time.thread_time() < end:
        total += len(data)
    return total


def serve(listener):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        connection, _ = listener.accept()
        with connection:
            work_for(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


listener = socket.create_server(("127.0.0.1", 0), backlog=128)
workers = []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if not pid:
        serve(listener)
    workers.append(pid)


def end(*_):
    for pid in workers:
        os.kill(pid, signal.SIGTERM)


signal.signal(signal.SIGTERM, end)
with open(sys.argv[2] + ".new", "w", encoding="ascii") as file:
    print(listener.getsockname()[1], os.getpid(), *workers, file=file)
os.rename(sys.argv[2] + ".new", sys.argv[2])
for pid in workers:
    if os.waitpid(pid, 0)[1]:
        sys.exit(1)
