"""Images: their names, and what their configuration says of the start of a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: The registry of names that begin with none (distribution reference/normalize.go).
DEFAULT_REGISTRY: Final = "docker.io"
_OFFICIAL: Final = "library/"
_ALIASES: Final = ("index.docker.io", "registry-1.docker.io")
_DEFAULT_TAG: Final = "latest"


class ImageReference(Struct, frozen=True):
    """An image's full name. With a ``digest`` the tag only says what people call it."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> ImageReference:
        """Read ``nginx:1.27`` as a container runtime does (reference/normalize.go).

        Raises ``ValueError`` for what is no name of an image.
        """
        rest, _, digest = text.partition("@")
        head, slash, last = rest.rpartition("/")
        name, colon, tag = last.partition(":")
        path = f"{head}{slash}{name}"
        first, _, inner = path.partition("/")
        if inner and ("." in first or ":" in first or first == "localhost"):
            registry, repository = first, inner
        else:
            registry, repository = DEFAULT_REGISTRY, path
        if registry in _ALIASES:
            registry = DEFAULT_REGISTRY
        if registry == DEFAULT_REGISTRY and "/" not in repository:
            repository = f"{_OFFICIAL}{repository}"
        allowed = set("abcdefghijklmnopqrstuvwxyz0123456789._-/")
        fine = name and set(repository) <= allowed and ".." not in repository.split("/")
        if not fine or (colon and not _is_tag(tag)) or (digest and not is_digest(digest)):
            raise ValueError(f"{text!r} is no name of an image")
        letters = set("abcdefghijklmnopqrstuvwxyz0123456789.-:")
        if not set(registry.lower()) <= letters or registry.startswith((".", "-", ":")):
            raise ValueError(f"{text!r} is no name of an image")
        return cls(registry, repository, tag or ("" if digest else _DEFAULT_TAG), digest)

    @property
    def official(self) -> str:
        """The plain name of an official image; empty for others."""
        is_official = self.registry == DEFAULT_REGISTRY and self.repository.startswith(_OFFICIAL)
        return self.repository.removeprefix(_OFFICIAL) if is_official else ""

    @property
    def name(self) -> str:
        """The name without tag and digest."""
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.name}{tag}" + (f"@{self.digest}" if self.digest else "")


def _is_tag(text: str) -> bool:
    letters = text.replace("_", "a").replace(".", "a").replace("-", "a")
    return letters.isalnum() and text.isascii() and len(text) <= 128


def is_digest(text: str) -> bool:
    """Whether a text is a digest that is computed here: SHA-256."""
    number = text.removeprefix("sha256:")
    return number != text and len(number) == 64 and set(number) <= set("0123456789abcdef")


class ImageConfig(Struct, frozen=True):
    """What the configuration of an image says of the start of a container.

    ``name`` is its full name with the tag, ``digest`` that of its manifest. ``env`` are the
    variables that bear on shutdown. ``shell`` is what ``/bin/sh`` is, such as dash; empty where
    that is not known, ``none`` where there is none. ``source`` is the Dockerfile that builds it,
    with the line that decides, and ``base`` the image that this begins with: what is not written is
    that image's.
    """

    name: str
    digest: str = ""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    stop_signal: str = ""
    shell: str = ""
    env: dict[str, str] = field(default_factory=dict)
    base: str = ""
    source: str = ""

    @property
    def starts(self) -> bool:
        """Whether it says what is started; else its base does."""
        return bool(self.entrypoint or self.command) or not self.source


#: An image whose file system has no shell.
NO_SHELL: Final = "none"


def without_tag(image: str) -> str:
    """Return an image's name as it is written, without tag and digest."""
    head, slash, last = image.partition("@")[0].rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


class BuiltImages(Struct, frozen=True):
    """The images that the repository builds: by the names that files give them, and by folder."""

    named: Mapping[str, ImageConfig] = field(default_factory=dict)
    folders: Mapping[str, ImageConfig] = field(default_factory=dict)

    def find(self, image: str, *, known: bool) -> ImageConfig | None:
        """Return the configuration of an image; ``known``: its name is that of a public image."""
        name = without_tag(image)
        found = self.named.get(name)
        if found is not None or known:
            return found
        last = name.rpartition("/")[2]
        return self.named.get(last) or self.folders.get(last)


class ImageConfigs:
    """The configurations that a run knows, by name and by digest; the first one counts.

    ``built`` are those of the repository's Dockerfiles: they count where no other is known.
    """

    def __init__(self, configs: Iterable[ImageConfig], built: BuiltImages | None = None) -> None:
        self.configs = tuple(configs)
        self.built = built or BuiltImages()
        self._by_name: dict[str, ImageConfig] = {}
        self._by_digest: dict[tuple[str, str], ImageConfig] = {}
        for config in self.configs:
            reference = ImageReference.parse(config.name)
            self._by_name.setdefault(f"{reference.name}:{reference.tag}", config)
            self._by_digest.setdefault((reference.name, config.digest), config)
        self._found: dict[str, tuple[ImageConfig | None, str]] = {}

    def find(self, image: str) -> tuple[ImageConfig | None, str]:
        """Return the configuration of an image, and why one of this name does not count."""
        if image not in self._found:
            self._found[image] = self._find(image)
        return self._found[image]

    def _find(self, image: str) -> tuple[ImageConfig | None, str]:
        try:
            reference = ImageReference.parse(image)
        except ValueError:
            return None, ""
        named = self._by_name.get(f"{reference.name}:{reference.tag or _DEFAULT_TAG}")
        if not reference.digest:
            return named, ""
        found = self._by_digest.get((reference.name, reference.digest))
        if found is None and named is not None:
            return None, f"the images file has another digest for {reference.name}:{reference.tag}"
        return found, ""
