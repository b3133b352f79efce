"""Finds the Dockerfiles below folders, and what the images that they build start."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, Final

from shutdownlint import files, limits
from shutdownlint.dockerfiles.builds import Build, reader_of
from shutdownlint.dockerfiles.parse import Stage, read_stage
from shutdownlint.manifests.discovery import (
    SKIPPED_FOLDERS,
    STDIN,
    FileSearch,
    display_path,
    is_excluded,
)
from shutdownlint.programs.images import BuiltImages, ImageConfig, without_tag
from shutdownlint.repository_root import is_below
from shutdownlint.shell.syntax import base_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENDINGS: Final = ("dockerfile", "containerfile", "tiltfile", ".hcl", ".json", ".yaml", ".yml")
_DOCKERFILES: Final = ("dockerfile", "containerfile")
_WORKFLOWS: Final = "/.github/workflows"
_INTERPRETERS: Final = ("sh", "bash", "dash", "ash")


def find_built_images(paths: Sequence[str], search: FileSearch) -> BuiltImages:
    """Return what the images start that the Dockerfiles below the paths build.

    What a file says of an image's name counts before the name of a Dockerfile's folder. A name that
    two Dockerfiles fit is of neither.
    """
    finder = _Finder()
    for path in paths:
        if path != STDIN and files.is_folder(path):
            finder.search(path, search)
    return finder.built()


class _Finder:
    def __init__(self) -> None:
        self.named: dict[str, set[tuple[str, str, str]]] = {}
        self.by_folder: dict[str, set[tuple[str, str, str]]] = {}
        self._count = 0

    def search(self, root: str, search: FileSearch) -> None:
        """Note the builds of the files below a folder."""
        real = files.real_path(root)
        for folder, folders, names, others in files.walk(root, _ENDINGS):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in sorted(names):
                path = posixpath.normpath(display_path(os.path.join(folder, name)))  # noqa: PTH118
                is_dockerfile = name.lower() in _DOCKERFILES
                read = None if is_dockerfile else reader_of(path)
                if (not is_dockerfile and read is None) or is_excluded(path, search.exclude):
                    continue
                if name in others and not is_below(files.real_path(path), real):
                    continue
                self._count += 1
                if self._count > limits.MAX_BUILD_FILES:
                    return
                own = posixpath.dirname(path)
                if read is None:
                    built = (path, own, "")
                    parent = posixpath.basename(own or posixpath.normpath(display_path(real)))
                    self.by_folder.setdefault(parent, set()).add(built)
                    continue
                for build in read(_text_of(path)):
                    self._add(build, own.removesuffix(_WORKFLOWS.lstrip("/")).rstrip("/"), root)

    def _add(self, build: Build, folder: str, root: str) -> None:
        """Note what a file says; a Dockerfile outside of the folder that is searched is none."""
        context = posixpath.normpath(posixpath.join(folder, build.folder))
        start = folder if build.beside else context
        path = posixpath.normpath(posixpath.join(start, build.dockerfile))
        if files.is_file(path) and is_below(files.real_path(path), files.real_path(root)):
            name = without_tag(build.image)
            self.named.setdefault(name, set()).add((path, context, build.target))

    def built(self) -> BuiltImages:
        """Return the images with one Dockerfile each."""
        return BuiltImages(dict(_read_all(self.named)), dict(_read_all(self.by_folder)))


def _read_all(
    found: dict[str, set[tuple[str, str, str]]],
) -> Iterator[tuple[str, ImageConfig]]:
    for name, builds in found.items():
        if len(builds) == 1:
            ((path, context, target),) = builds
            stage = read_stage(_text_of(path), target)
            if stage is not None:
                yield name, _config(name, path, context, stage)


def _config(name: str, path: str, context: str, stage: Stage) -> ImageConfig:
    entrypoint, command = stage.entrypoint, stage.command
    if entrypoint:
        script = _copied_script(entrypoint[0], context, stage)
        if script is not None:
            shell, text = script
            entrypoint, command = _inline(shell, text, (*entrypoint[1:], *command)), ()
    line = f":{stage.decides}" if stage.decides else ""
    return ImageConfig(
        name,
        entrypoint=entrypoint,
        command=command,
        user=stage.user,
        stop_signal=stage.stop_signal,
        env=stage.env,
        base=stage.base,
        source=f"{path}{line}",
    )


def _copied_script(program: str, context: str, stage: Stage) -> tuple[str, str] | None:
    """Return shell and text of a start script that the build copies from its folder."""
    name = base_name(program)
    for source, target in reversed(stage.copied):
        is_it = base_name(source) == name or (base_name(target) == name and "*" not in source)
        path = posixpath.normpath(posixpath.join(context, source.lstrip("/")))
        if is_it and base_name(source) != name:
            text = _text_below(path, context)
        elif is_it or target.endswith("/") or source in (".", "./"):
            below = path if is_it else posixpath.join(path, name)
            text = _text_below(below, context)
        else:
            continue
        if text.startswith("#!"):
            words = text.partition("\n")[0][2:].split()
            if words and base_name(words[0]) == "env":
                words = words[1:]
            shell = base_name(words[0]) if words else ""
            return (shell, text) if shell in _INTERPRETERS else None
    return None


def _inline(shell: str, text: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the start of a script as a command of its shell, with its arguments filled in."""
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in arguments)
    script = text.partition("\n")[2]
    for form in ('"$@"', '"${@}"', "$@", "$*"):
        script = script.replace(form, quoted)
    return (shell, "-c", script[: limits.MAX_START_SCRIPT])


def _text_below(path: str, context: str) -> str:
    if not files.is_file(path) or not is_below(files.real_path(path), files.real_path(context)):
        return ""
    return _text_of(path)


def _text_of(path: str) -> str:
    """Return the text of a file of bounded size; empty where it cannot be read."""
    try:
        data = files.read_file(path, limits.MAX_BUILD_FILE_BYTES + 1)
    except OSError:
        return ""
    return "" if len(data) > limits.MAX_BUILD_FILE_BYTES else data.decode(errors="replace")
