"""A WSGI app: ``/?3`` answers after three seconds."""

import time
from collections.abc import Callable, Iterable
from typing import Any


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer after the seconds of the query."""
    time.sleep(float(environ.get("QUERY_STRING") or 0))
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
