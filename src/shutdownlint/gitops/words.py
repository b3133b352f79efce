"""Whether a file may hold an object of Argo CD or Flux, by its words alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.reader import manifest_bytes

if TYPE_CHECKING:
    from shutdownlint.manifests.discovery import InputFile

#: Every object that is read has one of these in it.
_WORDS: Final = (b"argoproj.io/", b"kustomize.toolkit.fluxcd.io/", b"helm.toolkit.fluxcd.io/")


def names_deployments(file: InputFile) -> bool:
    """Whether a file may hold such an object. Standard input is read once, by the run itself."""
    return bool(text_with_deployments(file))


def text_with_deployments(file: InputFile) -> bytes:
    """Return the text of a file that may hold such an object; empty for every other file."""
    if file.path is None and file.data is None:
        return b""
    data = manifest_bytes(file)
    return data if has_word(data) else b""


def has_word(data: bytes) -> bool:
    """Whether one of the words is in the data."""
    return any(word in data for word in _WORDS)
