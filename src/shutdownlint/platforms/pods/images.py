"""The properties that image names show: official ones, their tags, and their shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.facts import SourcedValue

if TYPE_CHECKING:
    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.programs.images import ImageConfig

#: Where official images are pulled from.
OFFICIAL_PREFIXES: Final = (
    "",
    "library/",
    "docker.io/",
    "docker.io/library/",
    "index.docker.io/library/",
    "public.ecr.aws/docker/library/",
    "mirror.gcr.io/library/",
    "mirror.gcr.io/",
)
#: Official images whose ``sh`` is that of their base, by a part of the tag; Debian's is dash.
_SHELLS: Final = SourcedValue(
    {
        "busybox": "ash",
        "alpine": "ash",
        "debian": "dash",
        "ubuntu": "dash",
        "node": "dash",
        "python": "dash",
        "ruby": "dash",
        "golang": "dash",
        "perl": "dash",
        "php": "dash",
        "nginx": "dash",
        "httpd": "dash",
    },
    "the official images' Dockerfiles: Debian, or Alpine where the tag has alpine",
)

_PAUSE: Final = lazy_pattern("pause(-(amd64|arm|arm64|ppc64le|s390x))?")


def command_line(
    container: Container, ref: NodeRef, config: ImageConfig | None
) -> list[tuple[str, NodeRef]]:
    """Return the words that start a container, each with its place.

    A command replaces entrypoint and command of the image, args replace the image's command.
    """
    written = [
        (text, ref / name / index)
        for name in ("command", "args")
        for index, text in enumerate(getattr(container, name))
    ]
    if container.command or config is None:
        return written
    entry = [(text, ref / "image") for text in config.entrypoint]
    return [*entry, *(written or [(text, ref / "image") for text in config.command])]


def image_shell(container: Container, config: ImageConfig | None) -> str:
    """Return the shell that ``sh`` is in a container; ``sh`` where that is not known."""
    if config is not None and config.shell:
        return config.shell
    base = config.base if config is not None else ""
    return ImageName(base or container.image or "").shell


class ImageName:
    """An image's name: its ``path``, its ``tag``, and the plain name of an official image."""

    def __init__(self, image: str) -> None:
        path, _, self.digest = image.partition("@")
        head, slash, last = path.rpartition("/")
        name, _, self.tag = last.partition(":")
        self.path = f"{head}{slash}{name}".removeprefix("docker.io/")
        self.official = name if f"{head}{slash}" in OFFICIAL_PREFIXES else ""

    @property
    def shell(self) -> str:
        """The shell that ``sh`` is, such as dash; ``sh`` where the name does not show it."""
        known = _SHELLS.value.get(self.official)
        if known is None:
            return "sh"
        if "alpine" in self.tag:
            return "ash"
        # A digest alone may be any of the image's variants.
        return "sh" if known == "dash" and self.digest and not self.tag else known


def is_pause(container: Container) -> bool:
    """Whether a container only holds its pod's namespaces: it serves nothing, and ends at once.

    kubernetes build/pause/linux/pause.c: ``sigdown`` exits.
    """
    name = ImageName(container.image or "").path.rpartition("/")[2]
    return not container.command and "pause" in name and _PAUSE.fullmatch(name) is not None
