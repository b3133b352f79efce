"""The file that ``shutdownlint images`` writes: what the images of workloads start."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any, Final

import tomli_w
from msgspec import structs
from pydantic import Field, field_validator

from shutdownlint.config.forms import Form, read_form, read_toml
from shutdownlint.programs.images import ImageConfig, ImageReference, is_digest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HEADER: Final = (
    "# Written by shutdownlint images. check, explain, suggest and verify read it:\n"
    "# --images FILE, or the key images of the configuration.\n"
)
_Word = Annotated[str, Field(max_length=4096)]


class ImageForm(Form):
    """The configuration of one image."""

    name: str = Field(description="The full name with its tag.")
    digest: str = Field(default="", description="The digest of its manifest.")
    entrypoint: list[_Word] = Field(default_factory=list, description="Its entrypoint.")
    command: list[_Word] = Field(default_factory=list, description="Its default command.")
    user: str = Field(default="", description="The user that it runs as.")
    stop_signal: str = Field(default="", description="Its stop signal; without one SIGTERM.")
    shell: str = Field(default="", description="What /bin/sh is: dash, bash, ash, none.")
    env: dict[str, _Word] = Field(
        default_factory=dict, description="Its variables that bear on shutdown."
    )
    platform: str = Field(default="", description="The platform that was asked about.")
    date: dt.date | None = Field(default=None, description="The day it was asked about.")

    @field_validator("name")
    @classmethod
    def _check_name(cls, text: str) -> str:
        ImageReference.parse(text)
        return text

    @field_validator("digest")
    @classmethod
    def _check_digest(cls, text: str) -> str:
        if text and not is_digest(text):
            raise ValueError("is no digest of SHA-256")
        return text


class ImagesForm(Form):
    """A file of images."""

    images: list[ImageForm] = Field(default_factory=list, description="By image.")


def load_images(path: Path) -> list[ImageConfig]:
    """Read the configurations of images from a file. Raises ``ConfigError``."""
    form = read_form(ImagesForm, read_toml(path))
    # What only a Dockerfile says is not among them.
    fields = [field.name for field in structs.fields(ImageConfig)]
    names = [name for name in fields if name in ImageForm.model_fields]
    return [
        ImageConfig(**{name: _plain(getattr(image, name)) for name in names})
        for image in form.images
    ]


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def write_images(images: Iterable[ImageConfig], platform: str, today: dt.date) -> str:
    """Return the text of the file."""
    entries: list[dict[str, Any]] = []
    for image in sorted(images, key=lambda each: each.name):
        entry: dict[str, Any] = {"name": image.name}
        entry["platform"], entry["date"] = platform, today
        for field in structs.fields(ImageConfig):
            value = getattr(image, field.name)
            if value and field.name != "name":
                key = field.name.replace("_", "-")
                entry[key] = list(value) if isinstance(value, tuple) else value
        entries.append(entry)
    return f"{HEADER}\n{tomli_w.dumps({'images': entries})}"
