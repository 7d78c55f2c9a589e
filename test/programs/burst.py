"""A burst of requests to a server on the loopback. Usage: burst.py PORT REQUESTS CONNECTIONS"""
import http.client
import sys
import threading

port, requests, connections = (int(argument) for argument in sys.argv[1:])
bad = []


def send():
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(requests // connections):
        try:
            connection.request("GET", "/", headers={"Accept-Encoding": "gzip"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                bad.append(answer.status)
        except (http.client.RemoteDisconnected, ConnectionError):
            connection.close()  # the server has closed this one; make a new one


threads = [threading.Thread(target=send) for _ in range(connections)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(f"answers: {bad[:5]}" if bad else 0)
