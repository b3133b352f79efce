"""Charts and kustomizations, rendered with the user's own tools, as text to read.

Only where the user turns it on: a chart's templates run, and a kustomization may fetch what it
names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.discovery import (
    KUSTOMIZATION_NAMES,
    SKIPPED_FOLDERS,
    InputError,
    InputFile,
    display_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: What a rendering is called: its folder, and how it was made.
CHART: Final = " (helm template)"
_BUILT: Final = " (kustomize)"
#: How long one rendering may take, in seconds.
_PATIENCE: Final = 120
#: The commands that build a kustomization; the first that is installed is used.
_KUSTOMIZE: Final = (("kustomize", "build"), ("kubectl", "kustomize"))


def is_kustomization(path: str) -> bool:
    """Whether a folder is one."""
    return any((Path(path) / name).is_file() for name in KUSTOMIZATION_NAMES)


def render_folders(paths: Sequence[str], values: Sequence[str]) -> Iterator[InputFile | InputError]:
    """The charts in and below ``paths``, with these values, and the kustomizations among them.

    What cannot be rendered is missing, with the tool's own reason.
    """
    for path in paths:
        if is_kustomization(path):
            yield _build_kustomization(path)
            continue
        for chart in _charts(path):
            yield _render_chart(chart, values)


def template_file(rendering: str, source: str) -> str:
    """The file of a chart that ``# Source:`` names, in the chart's own folder."""
    return f"{rendering.removesuffix(CHART)}/{source.partition('/')[2]}"


def _charts(path: str) -> Iterator[str]:
    """Folders with a chart; those inside of one are its dependencies and rendered with it."""
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        if "Chart.yaml" in files:
            folders.clear()
            yield folder


def _render_chart(folder: str, values: Sequence[str]) -> InputFile | InputError:
    shown = display_path(folder)
    options = [option for file in values for option in ("--values", file)]
    command = ["helm", "template", "release-name", folder, *options]
    return _run(command, shown, f"{shown}{CHART}")


def _build_kustomization(folder: str) -> InputFile | InputError:
    shown = display_path(folder)
    tool = next((tool for tool in _KUSTOMIZE if shutil.which(tool[0])), None)
    if tool is None:
        return InputError(shown, "neither kustomize nor kubectl is installed to render it with")
    return _run([*tool, folder], shown, f"{shown}{_BUILT}")


def _run(command: list[str], folder: str, shown: str) -> InputFile | InputError:
    if shutil.which(command[0]) is None:
        return InputError(folder, f"{command[0]} is not installed to render it with")
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return InputError(folder, f"{command[0]} took longer than {_PATIENCE}s")
    except OSError as error:
        return InputError(folder, f"{command[0]}: {error.strerror}")
    if done.returncode:
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"]
        why = next((line for line in errors if line.startswith("Error")), errors[-1])
        return InputError(folder, f"{' '.join(command[:2])}: {why}")
    return InputFile(None, shown, done.stdout)
