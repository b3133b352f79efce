"""Archives of images: what ``docker save`` and ``podman save`` write, and OCI layouts.

Nothing is unpacked to the disk.
"""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from shutdownlint import files, limits
from shutdownlint.images.documents import (
    INDEXES,
    TAR_ERRORS,
    BoundedInfo,
    ImageError,
    ShellFinder,
    choose_manifest,
    descriptor,
    digest_of,
    layers_of,
    read_config,
    read_json,
)
from shutdownlint.programs.images import ImageConfig, ImageReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAMES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")


def read_archive(
    path: str, platform: str, is_wanted: Callable[[str], bool]
) -> Iterator[ImageConfig]:
    """Yield the configuration of each image of an archive. Raises ``ImageError``."""
    try:
        if not files.is_file(path):
            raise ImageError("it is no file")
        if files.size_of(path) > limits.MAX_IMAGE_ARCHIVE_BYTES:
            raise ImageError(f"it is larger than {limits.MAX_IMAGE_ARCHIVE_BYTES:,} bytes")
        with tarfile.open(path, mode="r:", tarinfo=BoundedInfo) as archive:
            yield from _Archive(archive, platform, is_wanted).images()
    except TAR_ERRORS as error:
        raise ImageError(f"it cannot be read as a tar file: {error}") from None


class _Archive:
    def __init__(
        self, archive: tarfile.TarFile, platform: str, is_wanted: Callable[[str], bool]
    ) -> None:
        self._archive = archive
        self._platform = platform
        self._is_wanted = is_wanted
        self._entries: dict[str, tarfile.TarInfo] = {}
        self._shells: dict[tuple[str, ...], str] = {}
        for number, entry in enumerate(archive):
            if number > limits.MAX_IMAGE_LAYER_ENTRIES:
                raise ImageError("it has too many entries")
            self._entries[entry.name.removeprefix("./")] = entry

    def images(self) -> Iterator[ImageConfig]:
        if "index.json" in self._entries:
            index = read_json(self._read("index.json"), "index.json")
            entries = index.get("manifests")
            found = [
                config
                for entry in (entries if isinstance(entries, list) else ())
                for config in self._of_layout(entry)
            ]
            if found:
                yield from found
                return
        if "manifest.json" not in self._entries:
            raise ImageError("it is no archive of images: it has no manifest.json and index.json")
        yield from self._of_docker()

    def _of_layout(self, entry: Any) -> Iterator[ImageConfig]:
        notes = entry.get("annotations") if isinstance(entry, dict) else None
        notes = notes if isinstance(notes, dict) else {}
        name = next((notes[key] for key in _NAMES if isinstance(notes.get(key), str)), None)
        if name is None or "/" not in name:
            return  # a tag without its repository names no image
        digest, _ = descriptor(entry, "manifest")
        document = self._document(digest, "manifest")
        if "manifests" in document or document.get("mediaType") in INDEXES:
            inner, _ = choose_manifest(document, self._platform)
            document = self._document(inner, "manifest")
        config_digest, _ = descriptor(document.get("config"), "configuration")
        layers = [_blob(layer) for layer, _ in layers_of(document)]
        yield self._config(name, digest, self._document(config_digest, "configuration"), layers)

    def _of_docker(self) -> Iterator[ImageConfig]:
        listed = self._read("manifest.json")
        entries = read_json(b'{"images": ' + listed + b"}", "manifest.json")["images"]
        for entry in entries if isinstance(entries, list) else ():
            config = entry.get("Config") if isinstance(entry, dict) else None
            if not isinstance(config, str):
                raise ImageError("its manifest.json names no configuration")
            names, layers = entry.get("RepoTags"), entry.get("Layers")
            document = read_json(self._read(config), "configuration")
            for name in names if isinstance(names, list) else ():
                paths = layers if isinstance(layers, list) else []
                # docker save keeps no digest of the manifest that a registry had.
                yield self._config(name, "", document, [p for p in paths if isinstance(p, str)])

    def _config(
        self, name: Any, digest: str, document: dict[str, Any], layers: list[str]
    ) -> ImageConfig:
        try:
            reference = ImageReference.parse(name if isinstance(name, str) else "")
        except ValueError as error:
            raise ImageError(str(error)) from None
        full = f"{reference.name}:{reference.tag}"
        config = read_config(document, full, digest, self._is_wanted)
        key = tuple(layers)
        if key not in self._shells:
            self._shells[key] = self._shell(layers)
        return replace(config, shell=self._shells[key])

    def _shell(self, layers: list[str]) -> str:
        shells = ShellFinder()
        try:
            for path in dict.fromkeys(layers):
                entry = self._entries.get(path)
                stream = self._archive.extractfile(entry) if entry is not None else None
                if stream is None:
                    return ""
                shells.add(stream)
        except (ImageError, *TAR_ERRORS):
            return ""
        return shells.shell if layers else ""

    def _document(self, digest: str, what: str) -> dict[str, Any]:
        data = self._read(_blob(digest))
        if digest_of(data) != digest:
            raise ImageError(f"its {what} is not what its digest {digest[:19]}… names")
        return read_json(data, what)

    def _read(self, path: str) -> bytes:
        entry = self._entries.get(path)
        if entry is None or not entry.isfile():
            raise ImageError(f"it has no {path[:100]}")
        if entry.size > limits.MAX_IMAGE_DOCUMENT_BYTES:
            most = limits.MAX_IMAGE_DOCUMENT_BYTES
            raise ImageError(f"{path[:100]} is larger than {most:,} bytes")
        stream = self._archive.extractfile(entry)
        assert stream is not None
        return stream.read()


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/', 1)}"
