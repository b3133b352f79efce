"""A server of Python's own, without a handler for signals: ``/?3`` answers after three seconds."""

import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Answers after the seconds of the query."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        time.sleep(float(self.path.partition("?")[2] or 0))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
