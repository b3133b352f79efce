"""The documents of an image: index, manifest, configuration (OCI image-spec, Docker schema 2)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from typing import TYPE_CHECKING, Any, Final

from shutdownlint import limits
from shutdownlint.programs.images import NO_SHELL, ImageConfig, is_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import IO

INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_SHELL: Final = "bin/sh"
#: Where /bin is a link to /usr/bin.
_SHELLS: Final = (_SHELL, "usr/bin/sh")
_LONGEST: Final = 4096


class ImageError(Exception):
    """An image whose configuration cannot be read; the message says why."""


def digest_of(data: bytes) -> str:
    """Return the digest of a document."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def read_json(data: bytes, what: str) -> dict[str, Any]:
    """Return a document of an image. Raises ``ImageError``."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ImageError(f"its {what} is no JSON object")
    return found


def choose_manifest(index: dict[str, Any], platform: str) -> tuple[str, int]:
    """Return digest and size of the manifest of a platform in an index. Raises ``ImageError``."""
    entries = index.get("manifests")
    shown = []
    for entry in entries if isinstance(entries, list) else ():
        named = entry.get("platform") if isinstance(entry, dict) else None
        if not isinstance(named, dict):
            continue
        text = f"{named.get('os')}/{named.get('architecture')}"
        shown.append(text)
        if text == platform:
            return descriptor(entry, "manifest")
    known = ", ".join(sorted({text[:40] for text in shown})[:10]) or "none"
    raise ImageError(f"it has no image for {platform} (it has: {known})")


def descriptor(entry: Any, what: str) -> tuple[str, int]:
    """Return digest and size of what an entry names. Raises ``ImageError``."""
    digest = entry.get("digest") if isinstance(entry, dict) else None
    size = entry.get("size") if isinstance(entry, dict) else None
    if not isinstance(digest, str) or not is_digest(digest):
        raise ImageError(f"its {what} has no digest of SHA-256")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ImageError(f"its {what} has no size")
    return digest, size


def layers_of(manifest: dict[str, Any]) -> list[tuple[str, int]]:
    """Return digest and size of the layers of a manifest, the lowest first."""
    entries = manifest.get("layers")
    return [descriptor(entry, "layer") for entry in entries] if isinstance(entries, list) else []


def read_config(
    document: dict[str, Any], name: str, digest: str, is_wanted: Callable[[str], bool]
) -> ImageConfig:
    """Return what a configuration says of the start; ``is_wanted`` chooses the variables.

    Raises ``ImageError``.
    """
    config = document.get("config")
    if config is None:
        config = {}
    if not isinstance(config, dict):
        raise ImageError("its configuration has no config")
    pairs = (text.partition("=") for text in _texts(config, "Env"))
    return ImageConfig(
        name,
        digest,
        _texts(config, "Entrypoint"),
        _texts(config, "Cmd"),
        _text(config, "User"),
        _text(config, "StopSignal"),
        env={name: value for name, _, value in pairs if is_wanted(name)},
    )


def _texts(config: dict[str, Any], key: str) -> tuple[str, ...]:
    found = config.get(key)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ImageError(f"{key} of its configuration is no list of texts")
    return tuple(text[:_LONGEST] for text in found[:1000])


def _text(config: dict[str, Any], key: str) -> str:
    found = config.get(key)
    if not isinstance(found, str) and found is not None:
        raise ImageError(f"{key} of its configuration is no text")
    return (found or "")[:_LONGEST]


class BoundedInfo(tarfile.TarInfo):
    """A header of a tar file whose own long name, or further headers, are no longer than a path."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> BoundedInfo:
        """Read a header. Raises ``ImageError``."""
        found = super().frombuf(buf, encoding, errors)
        if found.type in _WITH_TEXT and found.size > limits.MAX_IMAGE_NAME_BYTES:
            raise ImageError("a name in it is too long")
        return found


#: Entries whose contents are read whole: names, and headers of the entry behind them.
_WITH_TEXT: Final = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
#: What reading a tar file may raise: its headers hold numbers and links.
TAR_ERRORS: Final = (
    *(tarfile.TarError, OSError, EOFError, zlib.error, ValueError),
    *(KeyError, IndexError, RecursionError),
)


class _Bounded(io.BufferedIOBase):
    """A stream that ends with an error behind the most bytes that a layer may have."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile) -> None:
        self._stream = stream
        self._left = limits.MAX_IMAGE_LAYER_UNPACKED_BYTES

    def read(self, size: int | None = -1) -> bytes:
        found = self._stream.read(-1 if size is None else size)
        self._left -= len(found)
        if self._left < 0:
            raise ImageError("a layer is too large")
        return found


class ShellFinder:
    """Finds what ``/bin/sh`` is, from the file names of an image's layers, the lowest first."""

    def __init__(self) -> None:
        self._links: dict[str, str] = {}
        self._files: set[str] = set()

    def add(self, layer: IO[bytes]) -> None:
        """Read the names of a layer: a tar file, compressed with gzip or not at all.

        Raises ``ImageError``.
        """
        magic = layer.read(4)
        layer.seek(0)
        if magic == b"\x28\xb5\x2f\xfd":
            raise ImageError("a layer is compressed with zstd")
        stream = gzip.GzipFile(fileobj=layer) if magic[:2] == b"\x1f\x8b" else layer
        try:
            unpacked = _Bounded(stream)
            with tarfile.open(fileobj=unpacked, mode="r|", tarinfo=BoundedInfo) as archive:
                for number, entry in enumerate(archive):
                    if number > limits.MAX_IMAGE_LAYER_ENTRIES:
                        raise ImageError("a layer has too many entries")
                    self._note(entry)
        except TAR_ERRORS as error:
            raise ImageError(f"a layer cannot be read: {error}") from None

    def _note(self, entry: tarfile.TarInfo) -> None:
        path = entry.name.removeprefix("./").lstrip("/")
        folder, _, name = path.rpartition("/")
        if name.startswith(".wh."):
            removed = f"{folder}/{name.removeprefix('.wh.')}".lstrip("/")
            self._links.pop(removed, None)
            self._files.discard(removed)
        elif entry.issym() or entry.islnk():
            target = entry.linkname
            hard = entry.islnk() or target.startswith("/")
            self._links[path] = target.lstrip("/") if hard else f"{folder}/{target}".lstrip("/")
        elif entry.isfile() and folder.rpartition("/")[2] in ("bin", "sbin"):
            self._files.add(path)

    @property
    def shell(self) -> str:
        """The shell: dash, bash, ash (busybox) and the like; ``none`` where there is none."""
        known = self._files.union(self._links)
        found = next((path for path in _SHELLS if path in known), "")
        if not found:
            return NO_SHELL
        for _ in range(10):
            if found not in self._links:
                break
            found = _plain(self._links[found])
        name = found.rpartition("/")[2]
        return "ash" if name.startswith("busybox") else ("" if name == "sh" else name)


def _plain(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


def wanted_variables(names: Iterable[str], prefixes: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a variable bears on shutdown: one of these, or with such a beginning."""
    exact, starts = frozenset(names), tuple(prefixes)
    return lambda name: name in exact or name.startswith(starts)
