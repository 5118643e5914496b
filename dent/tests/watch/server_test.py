# SPDX-License-Identifier: MIT
"""server_test.py <dent> <kernels>: what the live page's server answers, to friends and to others."""

import contextlib
import http.client
import json
import socket
import sys

from watched import HOSTILE, Watched, wait_for


def ask(port, path="/", method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def raw(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        said = b""
        while piece := connection.recv(65536):
            said += piece
    return said


class Events:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        self.stream = self.socket.makefile("r")
        assert self.stream.readline().startswith("HTTP/1.1 200")
        while self.stream.readline().strip():
            pass

    def next(self):
        """Everything up to the next beat, as a list of (kind, data)."""
        found = []
        while True:
            kind = self.stream.readline().strip().removeprefix("event: ")
            data = json.loads(self.stream.readline().removeprefix("data: "))
            assert self.stream.readline() == "\n"
            if kind == "beat":
                return found
            found.append((kind, data))

    def close(self):
        self.stream.close()
        self.socket.close()


def only_this_machine(port):
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1:{port + 1}", "", f"127.0.0.1.evil:{port}"):
        answer, body = ask(port, host=host)
        assert answer.status in (400, 403), (host, answer.status)
        assert "scale" not in body
    assert ask(port, host=f"localhost:{port}")[0].status == 200
    # It listens on loopback only, so other machines can't reach it.
    with open("/proc/net/tcp") as table:
        bound = [line.split()[1] for line in table if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"]
    assert bound == [f"0100007F:{port:04X}"], bound


def only_reading(port):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(port, method=method)[0].status == 405, method
    answer, body = ask(port, method="HEAD")
    assert answer.status == 200 and body == ""


def no_way_out(port):
    for path in ("/../../etc/passwd", "/%2e%2e/dent.toml", "/dent.toml", "/.dent/sessions", "//etc/passwd", "/page.js/../x"):
        answer, body = ask(port, path)
        assert answer.status == 404, (path, answer.status)
        assert "version = 1" not in body and "root:" not in body


def nothing_breaks_it(port):
    assert raw(port, b"\x00\xff nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    with contextlib.suppress(ConnectionError):  # it stops reading a request that is too long
        assert raw(port, b"GET / HTTP/1.1\r\nX: " + b"a" * 100000 + b"\r\n\r\n").startswith(b"HTTP/1.1 400")
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
    assert ask(port)[0].status == 200
    for one in silent:
        one.close()


def escaped(port):
    answer, body = ask(port)
    assert HOSTILE not in body and "&lt;script&gt;window.hacked" in body
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "http:" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for outside in ("http://", "https://", "//cdn"):
        assert outside not in body.replace("http://www.w3.org/2000/svg", ""), outside


def changes_are_sent_alone(watched):
    events = Events(watched.port)
    first = events.next()
    ids = [data["id"] for kind, data in first if kind == "part"]
    assert ids[0] == "now" and ids[-1] == "log" and "climb" in ids, ids
    assert events.next() == [], "nothing has changed"
    session = watched.run()
    seen = {}

    # A session of scripted times is short, so the first events may be the only ones.
    def take():
        parts = {data["id"]: data["markup"] for kind, data in events.next() if kind == "part"}
        seen.update(parts)
        return parts

    wait_for(take, "a new session is shown")

    def verdict():
        ended = session.poll() is not None  # read before the last events
        take()
        return ended and "not running" not in seen.get("now", "") and "step" in seen.get("now", "")

    wait_for(verdict, "the session has ended")
    assert session.wait() == 0, session.returncode
    assert "performance" in seen["gates"] and "left:" in seen["now"], seen["now"]
    events.close()


def main():
    dent, kernels = sys.argv[1:]
    with Watched(dent, kernels) as watched:
        for check in (only_this_machine, only_reading, no_way_out, nothing_breaks_it, escaped):
            check(watched.port)
            print("ok:", check.__name__)
        changes_are_sent_alone(watched)
        assert watched.stop() == 0
        watched.start()
        assert ask(watched.port)[0].status == 200, "at the same port again"


main()
