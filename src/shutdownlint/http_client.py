"""HTTP as every server is asked: one exchange at a time, bounded in size and time.

No redirect is followed and no proxy of the environment is used.
"""

from __future__ import annotations

import ssl
import threading
import time
from typing import TYPE_CHECKING, Final

import urllib3
from msgspec import Struct
from urllib3.exceptions import HTTPError, ReadTimeoutError

from shutdownlint import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONNECT_SECONDS: Final = 5.0
_CHUNK: Final = 65_536


class HttpError(Exception):
    """A server that cannot be asked, or an answer beyond its bounds; the message says why."""


class Answer(Struct, frozen=True):
    """An answer: its status, its headers with names in lower case, and its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def redirect(self) -> str | None:
        """The address that it leads to, where it is a redirect."""
        return self.headers.get("location", "") if 300 <= self.status < 400 else None


class HttpClient:
    """Asks servers, each answer within ``seconds`` and at most ``most_bytes`` long.

    ``authorities`` is a file of certificates that those of servers are checked with; ``tls`` are
    settings of the caller's own instead. Raises ``HttpError``.
    """

    def __init__(
        self,
        seconds: float,
        most_bytes: int,
        authorities: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._pool = urllib3.PoolManager(ssl_context=tls or _tls(authorities), retries=False)

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: str = "",
        most_bytes: int | None = None,
    ) -> Answer:
        """Return the answer of a server. Raises ``HttpError``."""
        found: list[Answer | HttpError] = []
        most = self._most_bytes if most_bytes is None else most_bytes

        def exchange() -> None:
            try:
                found.append(self._exchange(method, url, headers, body, most))
            except HttpError as error:
                found.append(error)

        # Headers that come byte by byte are not seen by any timeout of the library.
        task = threading.Thread(target=exchange, daemon=True)
        task.start()
        task.join(self._seconds + _CONNECT_SECONDS)
        if not found:
            raise self._too_slow()
        if isinstance(found[0], HttpError):
            raise found[0]
        return found[0]

    def _too_slow(self) -> HttpError:
        return HttpError(f"no answer within {self._seconds:g}s")

    def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: str, most: int
    ) -> Answer:
        deadline = time.monotonic() + self._seconds
        named = {"user-agent": f"shutdownlint/{__version__}", **headers}
        timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=self._seconds)
        try:
            response = self._pool.urlopen(
                method,
                url,
                redirect=False,
                body=body or None,
                headers=named,
                retries=False,
                preload_content=False,
                timeout=timeout,
            )
            try:
                answer = self._read(response, deadline, most)
            finally:
                response.close()
        except ReadTimeoutError:
            raise self._too_slow() from None
        except HTTPError as error:
            # It begins with the object that failed, which says nothing to a user.
            text = str(error)
            raise HttpError(text.partition(": ")[2] or text) from None
        except (OSError, ValueError) as error:
            raise HttpError(str(error)) from None
        lower = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, lower, answer)

    def _read(self, response: urllib3.BaseHTTPResponse, deadline: float, most: int) -> bytes:
        parts, size = [], 0
        # One read each, so that the time is looked at however slowly the answer comes.
        while chunk := response.read1(_CHUNK, decode_content=False):
            size += len(chunk)
            if size > most:
                raise HttpError(f"its answer is larger than {most:,} bytes")
            if time.monotonic() > deadline:
                raise self._too_slow()
            parts.append(chunk)
        return b"".join(parts)


def _tls(authorities: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authorities)
    except (OSError, ssl.SSLError) as error:
        raise HttpError(f"{authorities}: no certificates: {error}") from None
