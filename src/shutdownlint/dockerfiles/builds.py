"""Finds which image a Dockerfile builds: compose, skaffold, Tilt, bake files and workflows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.manifests.decoding import mappings
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DOCKERFILE: Final = "Dockerfile"
_TILT: Final = lazy_pattern(
    r"docker_build\(\s{0,9}['\"]([^'\"\n]{1,300})['\"]\s{0,9},\s{0,9}['\"]([^'\"\n]{1,300})['\"]"
    r"(?:[^()]{0,300}?dockerfile\s{0,9}=\s{0,9}['\"]([^'\"\n]{1,300})['\"])?"
)
_BAKE_TARGET: Final = lazy_pattern(r"target\s{1,9}\"[^\"\n]{1,100}\"\s{0,9}\{([^{}]{0,4000})\}")
_BAKE_KEY: Final = lazy_pattern(r"(context|dockerfile|target)\s{0,9}=\s{0,9}\"([^\"\n]{0,300})\"")
_BAKE_TAGS: Final = lazy_pattern(r"tags\s{0,9}=\s{0,9}\[([^\]]{0,2000})\]")
_QUOTED: Final = lazy_pattern(r"\"([^\"\n]{1,300})\"")


class Build(Struct, frozen=True):
    """An image that something builds. Paths are relative to the folder of the file that says it."""

    image: str
    folder: str
    dockerfile: str = _DOCKERFILE
    target: str = ""
    #: The Dockerfile's path begins at the file's folder, not at the build's.
    beside: bool = False


def reader_of(path: str) -> Callable[[str], Iterator[Build]] | None:
    """Return how the builds of a file are read; None for a file that names none."""
    name = path.rpartition("/")[2].lower()
    stem, _, ending = name.rpartition(".")
    if ending in ("yaml", "yml"):
        if stem.startswith(("docker-compose", "compose")):
            return _compose_builds
        if stem.startswith("skaffold"):
            return _skaffold_builds
        if ".github/workflows/" in f"/{path}":
            return _workflow_builds
    if name == "tiltfile" or ending == "tiltfile":
        return _tilt_builds
    if stem.startswith("docker-bake") and ending in ("hcl", "json"):
        return _bake_hcl_builds if ending == "hcl" else _bake_json_builds
    return None


def _documents(text: str) -> Iterator[dict[str, Any]]:
    try:
        for root in compose(text):
            found = Tree(root).to_python()
            if isinstance(found, dict):
                yield found
    except (ComposeError, BudgetExceededError, ValueError):
        return


def _text(mapping: Any, key: str) -> str:
    found = mapping.get(key) if isinstance(mapping, dict) else None
    return found if isinstance(found, str) else ""


def _compose_builds(text: str) -> Iterator[Build]:
    for document in _documents(text):
        services = document.get("services")
        for name, service in services.items() if isinstance(services, dict) else ():
            build = service.get("build") if isinstance(service, dict) else None
            image = _text(service, "image") or str(name)
            if isinstance(build, str):
                yield Build(image, build)
            elif isinstance(build, dict):
                dockerfile = _text(build, "dockerfile") or _DOCKERFILE
                folder = _text(build, "context") or "."
                yield Build(image, folder, dockerfile, _text(build, "target"))


def _skaffold_builds(text: str) -> Iterator[Build]:
    for document in _documents(text):
        build = document.get("build")
        artifacts = build.get("artifacts") if isinstance(build, dict) else None
        for artifact in mappings(artifacts):
            image = _text(artifact, "image")
            if not image or "buildpacks" in artifact or "jib" in artifact:
                continue
            docker = artifact.get("docker")
            dockerfile = _text(docker, "dockerfile") or _DOCKERFILE
            folder = _text(artifact, "context") or "."
            yield Build(image, folder, dockerfile, _text(docker, "target"))


def _workflow_builds(text: str) -> Iterator[Build]:
    """Yield the builds of steps with docker/build-push-action; paths begin at the repository."""
    for document in _documents(text):
        jobs = document.get("jobs")
        for job in jobs.values() if isinstance(jobs, dict) else ():
            for step in mappings(job.get("steps") if isinstance(job, dict) else None):
                if not _text(step, "uses").startswith("docker/build-push-action"):
                    continue
                given = step.get("with")
                folder, file = _text(given, "context") or ".", _text(given, "file")
                for image in _text(given, "tags").replace(",", "\n").split():
                    if "$" not in image.partition(":")[0]:
                        beside, target = bool(file), _text(given, "target")
                        yield Build(image, folder, file or _DOCKERFILE, target, beside)


def _tilt_builds(text: str) -> Iterator[Build]:
    for found in _TILT.finditer(text):
        yield Build(found[1], found[2], found[3] or _DOCKERFILE, beside=bool(found[3]))


def _bake_hcl_builds(text: str) -> Iterator[Build]:
    for target in _BAKE_TARGET.finditer(text):
        keys = dict(_BAKE_KEY.findall(target[1]))
        tags = _BAKE_TAGS.search(target[1])
        for image in _QUOTED.findall(tags[1]) if tags is not None else ():
            yield from _bake_build(image, keys)


def _bake_json_builds(text: str) -> Iterator[Build]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    targets = document.get("target") if isinstance(document, dict) else None
    for target in targets.values() if isinstance(targets, dict) else ():
        tags = target.get("tags") if isinstance(target, dict) else None
        for image in tags if isinstance(tags, list) else ():
            if isinstance(image, str):
                yield from _bake_build(image, target)


def _bake_build(image: str, keys: dict[str, Any]) -> Iterator[Build]:
    if "$" not in image.partition(":")[0]:
        dockerfile = _text(keys, "dockerfile") or _DOCKERFILE
        yield Build(image, _text(keys, "context") or ".", dockerfile, _text(keys, "target"))
