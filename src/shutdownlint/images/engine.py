"""A local container engine: its own command says what its images start."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from shutdownlint import limits
from shutdownlint.images.documents import ImageError, read_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from shutdownlint.programs.images import ImageConfig, ImageReference

_COMMANDS: Final = ("docker", "podman", "nerdctl")


def find_engine() -> str | None:
    """Return the path of the command of a local engine, if there is one."""
    return next((path for name in _COMMANDS if (path := shutil.which(name))), None)


def read_engine(
    command: str, image: ImageReference, is_wanted: Callable[[str], bool]
) -> ImageConfig:
    """Return the configuration of an image that the engine has. Raises ``ImageError``."""
    try:
        done = subprocess.run(
            [command, "image", "inspect", "--", str(image)],
            capture_output=True,
            check=False,
            timeout=limits.MAX_REGISTRY_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ImageError(f"{command} cannot be used: {error}") from None
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise ImageError(reason[:300] or f"{command} ended with {done.returncode}")
    try:
        (found,) = json.loads(done.stdout)
        digests = found.get("RepoDigests") or [""]
    except (ValueError, RecursionError, AttributeError):
        raise ImageError(f"the answer of {command} is no list of one image") from None
    digest = str(digests[0]).partition("@")[2]
    document = {"config": found.get("Config")}
    return read_config(document, f"{image.name}:{image.tag}", digest, is_wanted)
