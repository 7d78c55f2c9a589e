"""Requests scripts from a FastCGI server, one after another, each on a new connection: fastcgi.py SOCKET SCRIPT[?QUERY]…
Prints each response without its headers. The variable ROOT is the directory of a site's paths, COOKIE the cookie that
is sent."""
import os
import socket
import struct
import sys
import time


def record(kind, content):
    return struct.pack("!BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def pair(name, value):
    name, value = name.encode(), value.encode()
    return struct.pack("!II", len(name) | 1 << 31, len(value) | 1 << 31) + name + value


def connected(path):
    """The server may have yet to make its socket."""
    for _ in range(1200):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except OSError:
            connection.close()
            time.sleep(0.05)
    sys.exit("no server listens at " + path)


def ask(path, script):
    connection = connected(path)
    connection.settimeout(60)
    script, _, query = script.partition("?")
    root = os.environ.get("ROOT", "")
    names = {
        "SCRIPT_FILENAME": script,
        "SCRIPT_NAME": script[len(root) :],
        "DOCUMENT_ROOT": root or "/",
        "REQUEST_URI": script[len(root) :] + "?" + query,
        "QUERY_STRING": query,
        "REQUEST_METHOD": "GET",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
        "HTTP_COOKIE": os.environ.get("COOKIE", ""),
        "REMOTE_ADDR": "127.0.0.1",
    }
    connection.sendall(
        record(1, struct.pack("!HB5x", 1, 0))
        + record(4, b"".join(pair(*item) for item in names.items()))
        + record(4, b"")
        + record(5, b"")
    )
    stream = connection.makefile("rb")
    answer = b""
    while True:
        _, kind, _, length, padding, _ = struct.unpack("!BBHHBB", stream.read(8))
        content = stream.read(length)
        stream.read(padding)
        if kind == 6:
            answer += content
        if kind == 3:
            return answer.split(b"\r\n\r\n", 1)[-1].decode()


for script in sys.argv[2:]:
    print(ask(sys.argv[1], script))
