"""A server that gives each request to a FastCGI server: ``python3 fcgi_front.py PORT BACKEND FILE``."""

import socket
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, BACKEND, FILE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def record(kind: int, content: bytes) -> bytes:
    """Return a record of the protocol."""
    return struct.pack("!BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def ask(query: str) -> bytes:
    """Return the standard output of the script; empty where the connection ends before it."""
    names = {
        "SCRIPT_FILENAME": FILE,
        "REQUEST_METHOD": "GET",
        "QUERY_STRING": query,
        "REQUEST_URI": f"/?{query}",
    }
    pairs = b"".join(
        struct.pack("!BB", len(name), len(value)) + name.encode() + value.encode()
        for name, value in names.items()
    )
    with socket.create_connection(("127.0.0.1", BACKEND), 2) as connection:
        connection.settimeout(30)
        begin = record(1, struct.pack("!HB5x", 1, 0))
        connection.sendall(begin + record(4, pairs) + record(4, b"") + record(5, b""))
        stream = connection.makefile("rb")
        found = b""
        while len(head := stream.read(8)) == 8:
            _, kind, _, length, padding, _ = struct.unpack("!BBHHBB", head)
            content = stream.read(length + padding)[:length]
            if kind == 6:
                found += content
            if kind == 3:
                return found
    return b""


class Handler(BaseHTTPRequestHandler):
    """Answers what the script answers."""

    def do_GET(self) -> None:
        """Answer."""
        try:
            found = ask(self.path.partition("?")[2])
        except OSError:
            found = b""
        body = found.partition(b"\r\n\r\n")[2]
        self.send_response(200 if body else 502)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
