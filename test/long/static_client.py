"""static_client.py caddy|etcd|nats|redis ADDRESS: a fixed load for a server that starts, and a digest of its answers."""
import base64, hashlib, http.client, json, socket, sys, threading, time


def connect(address):
    for _ in range(2400):
        try:
            if address.startswith("/"):
                s = socket.socket(socket.AF_UNIX)
                s.connect(address)
            else:
                s = socket.create_connection(("127.0.0.1", int(address)))
            s.settimeout(120)
            return s
        except OSError:
            time.sleep(0.05)
    sys.exit("the server does not answer")


def http_client(address):
    client = http.client.HTTPConnection("localhost")
    client.sock = connect(address)
    return client


def answer(client, *request):
    client.request(*request)
    reply = client.getresponse()
    return reply.status, reply.read()


def caddy(address):
    def load(digests, i):
        client = http_client(address)
        answers = [answer(client, "GET", f"/{j % 8}.md", None, {"Accept-Encoding": "gzip"}) for j in range(60)]
        digests[i] = hashlib.sha256(repr(answers).encode()).hexdigest()

    digests = [""] * 4
    threads = [threading.Thread(target=load, args=(digests, i)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return digests


def etcd(address):
    client, values = http_client(address), []
    while answer(http_client(address), "GET", "/health")[0] != 200:
        time.sleep(0.1)
    code = lambda text: base64.b64encode(text.encode()).decode()
    for i in range(150):
        answer(client, "POST", "/v3/kv/put", json.dumps({"key": code(f"k{i:04}"), "value": code(f"v{i}" * 50)}))
    for i in range(150):
        status, body = answer(client, "POST", "/v3/kv/range", json.dumps({"key": code(f"k{i:04}"), "range_end": code("l")}))
        values.append((status, json.loads(body)["kvs"]))
    return values


def raw(address, request, end):
    s = connect(address)
    sender = threading.Thread(target=s.sendall, args=(request,))
    sender.start()
    got = b""
    while not got.endswith(end):
        part = s.recv(1 << 20)
        if not part:
            break
        got += part
    sender.join()
    return got


def nats(address):
    words = b"".join(b"PUB t.%d 64\r\n%064d\r\n" % (i % 10, i) for i in range(40000))
    got = raw(address, b'CONNECT {"verbose":false}\r\nSUB t.* 1\r\nSUB t.> 2\r\n' + words + b"PUB t.end 3\r\nend\r\nPING\r\n", b"PONG\r\n")
    return sorted(got[got.index(b"MSG"):].replace(b"PING\r\n", b"").split(b"MSG "))  # one comes after two seconds


def redis(address):
    script = "local s = 0 for i = 1, 30000 do s = s + i % 7 redis.call('incr', KEYS[1]) end return s"
    words = "".join(f"SET k{i % 500} {i}\r\nGET k{i % 500}\r\nZADD z {i * 7919 % 10007} m{i}\r\n" for i in range(5000))
    words += "".join(f"ZRANGE z {i} {i + 2000} WITHSCORES\r\nSORT z LIMIT 0 10 ALPHA\r\n" for i in range(20))
    return raw(address, f'{words}EVAL "{script}" 1 n\r\nECHO end\r\n'.encode(), b"$3\r\nend\r\n")


print(hashlib.sha256(repr(globals()[sys.argv[1]](sys.argv[2])).encode()).hexdigest())
