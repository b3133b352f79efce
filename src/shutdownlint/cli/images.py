"""``images``: what the images of workloads start, by a registry, an archive or a local engine."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shutdownlint import files, limits
from shutdownlint.cli.declarations import Option, OptionGroup
from shutdownlint.cli.options import OUTPUT, FileOptions, PathsAndWorkload
from shutdownlint.cli.output import INCOMPLETE, check_outputs, show, usage_error, warn, write_output
from shutdownlint.cli.session import Session
from shutdownlint.config import ConfigError
from shutdownlint.config.images import load_images, write_images
from shutdownlint.http_client import HttpClient, HttpError
from shutdownlint.images.archive import read_archive
from shutdownlint.images.documents import ImageError, wanted_variables
from shutdownlint.images.engine import find_engine, read_engine
from shutdownlint.images.logins import read_logins
from shutdownlint.images.registry import Registries
from shutdownlint.programs.images import ImageConfig, ImageReference
from shutdownlint.programs.known import bundled
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.platforms.planned_pod import PlannedPod

SOURCE = "Where from"
_AT_ONCE = 8


class SourceOptions(OptionGroup):
    """Where the configurations of images are read."""

    from_registry: Annotated[
        bool,
        Option(
            panel=SOURCE,
            help="Ask the registries that the images name, and only those that --allow permits. "
            "Logins are those of the Docker configuration (auths; credential helpers are not run).",
        ),
    ] = False
    allow: Annotated[
        list[str] | None,
        Option(
            panel=SOURCE,
            metavar="HOST",
            help="A host that may be asked, such as ghcr.io or localhost:5000. Repeatable.",
        ),
    ] = None
    from_archive: Annotated[
        list[str] | None,
        Option(
            panel=SOURCE,
            metavar="FILE",
            help="Read an archive of docker save, or an OCI layout as a tar file. Repeatable.",
        ),
    ] = None
    from_docker: Annotated[
        bool,
        Option(panel=SOURCE, help="Ask the local engine: runs docker, podman or nerdctl."),
    ] = False
    platform: Annotated[
        str,
        Option(
            panel=SOURCE,
            metavar="OS/ARCH",
            help="The platform of images that have several.",
        ),
    ] = "linux/amd64"
    ca_file: Annotated[
        str | None,
        Option(
            panel=SOURCE,
            metavar="FILE",
            help="Certificates that those of registries are checked with. Default: those of the "
            "system.",
        ),
    ] = None


def command(
    *,
    paths: PathsAndWorkload = None,
    files: FileOptions,
    source: SourceOptions,
    output: Annotated[
        str | None,
        Option(
            names=("--output", "-o"),
            panel=OUTPUT,
            metavar="FILE",
            help="Write what was found to a file, for --images and the configuration. What it has "
            "of other images stays.",
        ),
    ] = None,
) -> None:
    """Ask what the images of workloads start: entrypoint, command, stop signal, shell.

    Without a source it lists the images and their registries, and asks nothing.

    Examples:

      shutdownlint images k8s/ --from-registry --allow ghcr.io -o images.toml

      shutdownlint images k8s/ --from-archive image.tar -o images.toml

      shutdownlint check k8s/ --images images.toml
    """
    check_outputs([output])
    session = Session.of(files)
    selected = session.plan(paths)
    images, complete = _images_of(selected.pods)
    if not images:
        selected.warn_no_match()
        raise SystemExit(INCOMPLETE)
    if not (source.from_registry or source.from_archive or source.from_docker):
        _list(images)
        raise SystemExit(INCOMPLETE if selected.run.stats.unreadable or not complete else 0)
    kept = _read_kept(output)
    found: dict[str, ImageConfig] = {}
    programs = session.config.user_facts().programs or bundled()
    is_wanted = wanted_variables(programs.variables, programs.variable_prefixes)
    for image, config in _read_all(source, images, is_wanted):
        found[str(image)] = config
        _report(config, kept.get(config.name))
    missing = [image for image in images if str(image) not in found]
    if not source.from_registry and not source.from_docker:
        for image in missing:
            warn(f"{image}: no archive has it")
    if output is not None:
        configs = {**kept, **{config.name: config for config in found.values()}}
        today = datetime.now(UTC).date()
        write_output(write_images(configs.values(), source.platform, today), output)
    if missing or not complete or selected.run.stats.unreadable:
        raise SystemExit(INCOMPLETE)


def _images_of(pods: "list[PlannedPod]") -> "tuple[list[ImageReference], bool]":
    """Return the images of the workloads' containers, and whether all of them have a name."""
    found: dict[str, ImageReference] = {}
    complete = True
    for pod in pods:
        spec = pod.workload.template.spec
        for container in (*spec.containers, *spec.initContainers):
            text = container.image or ""
            try:
                image = ImageReference.parse(text)
            except ValueError as error:
                if text:
                    complete = False
                    warn(str(error))
                continue
            found.setdefault(str(image), image)
    if len(found) > limits.MAX_IMAGES:
        complete = False
        warn(f"{len(found):,} images: only {limits.MAX_IMAGES:,} are asked about")
    return list(found.values())[: limits.MAX_IMAGES], complete


def _list(images: list[ImageReference]) -> None:
    for image in images:
        show(str(image))
    ask = f"--from-registry {_allow_all(images)}, --from-archive or --from-docker"
    warn(f"{plural(len(images), 'image')}; to ask for what they start: {ask}")


def _allow_all(images: list[ImageReference]) -> str:
    """Return the options that permit the registries of all images."""
    registries = dict.fromkeys(image.registry for image in images)
    return " ".join(f"--allow {registry}" for registry in registries)


def _read_kept(output: str | None) -> dict[str, ImageConfig]:
    """Return the images of the file that is written again."""
    if output is None or output == "-" or not files.is_file(output):
        return {}
    try:
        return {config.name: config for config in load_images(Path(output))}
    except ConfigError as error:
        raise usage_error(str(error)) from None


_Found = tuple[ImageReference, ImageConfig]


def _read_all(
    source: SourceOptions, images: list[ImageReference], is_wanted: "Callable[[str], bool]"
) -> "Iterator[_Found]":
    """Yield what is found of each image; a warning says why nothing is."""
    left = list(images)
    for path in source.from_archive or ():
        try:
            configs = list(read_archive(path, source.platform, is_wanted))
        except ImageError as error:
            raise usage_error(f"{path}: {error}") from None
        by_name = {config.name: config for config in configs}
        for image in list(left):
            config = by_name.get(f"{image.name}:{image.tag}")
            if config is not None and image.digest in ("", config.digest):
                left.remove(image)
                yield image, config
    if source.from_docker:
        yield from _read_with(_engine(is_wanted), left)
    elif source.from_registry:
        yield from _read_with(_registries(source, left, is_wanted), left)


def _engine(is_wanted: "Callable[[str], bool]") -> "Callable[[ImageReference], ImageConfig]":
    command = find_engine()
    if command is None:
        raise usage_error("--from-docker: there is no docker, podman or nerdctl here")
    return lambda image: read_engine(command, image, is_wanted)


def _registries(
    source: SourceOptions, images: list[ImageReference], is_wanted: "Callable[[str], bool]"
) -> "Callable[[ImageReference], ImageConfig]":
    allowed = [host.lower().rstrip("/") for host in source.allow or ()]
    if not allowed:
        names = _allow_all(images)
        raise usage_error(f"--from-registry asks only hosts that are allowed: {names}")
    logins, helped = read_logins(os.environ)
    for registry in helped:
        if registry in allowed:
            warn(f"{registry}: a credential helper has its login, which is not run: no login")
    try:
        client = HttpClient(
            limits.MAX_REGISTRY_SECONDS, limits.MAX_IMAGE_DOCUMENT_BYTES, source.ca_file
        )
    except HttpError as error:
        raise usage_error(str(error)) from None
    usable = {registry: login for registry, login in logins.items() if registry in allowed}
    return Registries(client, allowed, usable, source.platform, is_wanted).read


def _read_with(
    read: "Callable[[ImageReference], ImageConfig]", images: list[ImageReference]
) -> "Iterator[_Found]":
    def attempt(image: ImageReference) -> ImageConfig | ImageError:
        try:
            return read(image)
        except ImageError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for number, (image, found) in enumerate(
            zip(images, pool.map(attempt, images), strict=True), 1
        ):
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number} of {len(images)} images\x1b[K")
            if isinstance(found, ImageError):
                warn(f"{image}: {found}")
            else:
                yield image, found
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def _report(config: ImageConfig, before: ImageConfig | None) -> None:
    words = " ".join((*config.entrypoint, *config.command)) or "starts nothing by itself"
    signal = f", {config.stop_signal}" if config.stop_signal else ""
    shell = f", sh is {config.shell}" if config.shell else ""
    show(f"{config.name}  {words}{signal}{shell}")
    if before is not None and before.digest and before.digest != config.digest:
        old, new = before.digest[:19], config.digest[:19] or "unknown"
        warn(f"{config.name} has moved: it was {old}…, it is {new}…")
