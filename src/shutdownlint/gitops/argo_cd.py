"""Argo CD's Applications, and those that ApplicationSets make.

Source: Argo CD's documentation, Application specification and ApplicationSet generators, 3.0.
"""

from __future__ import annotations

import os
import posixpath
import re
from fnmatch import fnmatchcase
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shutdownlint import limits
from shutdownlint.gitops.deployment import Deployment, find_file, find_folder, repository_roots
from shutdownlint.manifests.decoding import value_at
from shutdownlint.manifests.document import EmbeddedNodeRef
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shutdownlint.manifests.document import NodeRef, Source
    from shutdownlint.yaml_source.location import KeyPath

_PLACEHOLDER: Final = re.compile(r"\{\{-?\s*([^{}]*?)\s*-?\}\}")
_SEGMENT: Final = re.compile(r"index\s+\.path\.segments\s+(\d+)")
_OVERRIDES: Final = (
    "namespace",
    "patches",
    "images",
    "namePrefix",
    "nameSuffix",
    "commonLabels",
    "commonAnnotations",
    "replicas",
)
_Parameters = dict[str, str]


class UnknownParametersError(Exception):
    """A set whose Applications depend on more than the files show."""


def read_application(ref: NodeRef, data: Any) -> Iterator[Deployment]:
    """What an Application deploys: one folder, or several."""
    yield from _deployments(ref, (), data)


def read_set(ref: NodeRef, data: Any) -> Iterator[Deployment]:
    """What the Applications of a set deploy."""
    name = value_at(data, "metadata", "name")
    template = value_at(data, "spec", "template")
    try:
        generated = list(_generate(value_at(data, "spec", "generators"), ref.document.file))
        for parameters in generated[: limits.MAX_APPLICATIONS]:
            yield from _deployments(ref, ("spec", "template"), _fill(template, parameters))
    except UnknownParametersError:
        yield Deployment(f"ApplicationSet {name}", ref)


def _deployments(ref: NodeRef, at: KeyPath, data: Any) -> Iterator[Deployment]:
    """The folders that an Application deploys, which is written ``at`` a place of ``ref``."""
    name = value_at(data, "metadata", "name")
    several = value_at(data, "spec", "sources")
    places: list[tuple[KeyPath, Any]] = [(("spec", "source"), value_at(data, "spec", "source"))]
    if isinstance(several, list):
        places = [(("spec", "sources", n), each) for n, each in enumerate(several)]
    for place, source in places:
        if not isinstance(source, dict) or (source.get("ref") and not source.get("path")):
            continue
        yield _deployment(f"Application {name}", ref, (*at, *place), source, data)


def _deployment(title: str, ref: NodeRef, at: KeyPath, source: Any, data: Any) -> Deployment:
    place: Source = ref
    for step in at:
        place /= step
    file, path = ref.document.file, source.get("path")
    folder = find_folder(file, path) if isinstance(path, str) and not source.get("chart") else ""
    found = Deployment(
        title, ref, folder, _text(value_at(data, "spec", "destination", "namespace"))
    )
    helm = source.get("helm")
    if isinstance(helm, dict):
        found.release = _text(helm.get("releaseName"))
        found.values = tuple(_values_files(file, folder, helm.get("valueFiles")))
        found.parameters = tuple(_parameters(helm.get("parameters")))
        _add_inline(found, helm, place / "helm")
    found.release = found.release or _text(value_at(data, "metadata", "name"))
    kustomize = source.get("kustomize")
    if isinstance(kustomize, dict):
        found.overrides = {key: (*at, "kustomize", key) for key in _OVERRIDES if kustomize.get(key)}
    return found


def _add_inline(found: Deployment, helm: dict[str, Any], place: Source) -> None:
    """The values that the Application itself writes; the object wins over the text."""
    values, text = helm.get("valuesObject"), helm.get("values")
    if isinstance(values, dict):
        found.inline, found.inline_source = values, place / "valuesObject"
    elif isinstance(text, str) and text.strip():
        try:
            roots = compose(text)
            tree = Tree(roots[0])
            found.inline = tree.to_python()
        except (ComposeError, BudgetExceededError, IndexError):
            return
        host = place / "values"
        if not isinstance(host, EmbeddedNodeRef):
            found.inline_source = EmbeddedNodeRef(host, tree, ())


def _values_files(file: str, folder: str, names: Any) -> Iterator[str]:
    for name in names if isinstance(names, list) else ():
        if not isinstance(name, str):
            continue
        if name.startswith("$"):  # of another source of the Application, by its ref
            found = find_file(file, name.partition("/")[2])
        elif name.startswith("/"):
            found = find_file(file, name)
        else:
            path = posixpath.normpath(posixpath.join(folder, name))
            found = path if folder and os.path.isfile(path) else ""  # noqa: PTH113 - display path
        if found:
            yield found


def _parameters(entries: Any) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            yield f"{entry['name']}={entry.get('value', '')}"


def _generate(generators: Any, file: str) -> Iterator[_Parameters]:
    """The parameters of each Application of a set. Raises ``UnknownParametersError``."""
    for generator in generators if isinstance(generators, list) else ():
        if not isinstance(generator, dict):
            raise UnknownParametersError
        yield from islice(_generate_one(generator, file), limits.MAX_APPLICATIONS)


def _generate_one(generator: dict[str, Any], file: str) -> Iterator[_Parameters]:
    elements = value_at(generator, "list", "elements")
    git, matrix = generator.get("git"), value_at(generator, "matrix", "generators")
    if isinstance(elements, list):
        yield from (_flatten(element) for element in elements)
    elif isinstance(git, dict) and isinstance(git.get("directories"), list):
        yield from _directories(git["directories"], file)
    elif isinstance(git, dict) and isinstance(git.get("files"), list):
        yield from _files(git["files"], file)
    elif isinstance(matrix, list) and len(matrix) == 2:
        sides = [list(_generate([each], file)) for each in matrix]
        yield from ({**one, **other} for one, other in product(*sides))
    else:
        raise UnknownParametersError


def _directories(patterns: list[Any], file: str) -> Iterator[_Parameters]:
    wanted = [str(p.get("path")) for p in patterns if isinstance(p, dict) and not p.get("exclude")]
    excluded = [str(p.get("path")) for p in patterns if isinstance(p, dict) and p.get("exclude")]
    for root in repository_roots(file):
        found = [
            path
            for pattern in wanted
            for path in _matching(root, pattern, folders=True)
            if not any(fnmatchcase(path, each) for each in excluded)
        ]
        if found:
            yield from (_path_parameters(path) for path in dict.fromkeys(found))
            return


def _files(patterns: list[Any], file: str) -> Iterator[_Parameters]:
    for root in repository_roots(file):
        found = [
            path
            for pattern in patterns
            if isinstance(pattern, dict)
            for path in _matching(root, str(pattern.get("path")), folders=False)
        ]
        for path in dict.fromkeys(found):
            data = _read_data(Path(root) / path)
            if isinstance(data, dict):
                yield {**_flatten(data), **_path_parameters(posixpath.dirname(path))}
        if found:
            return


def _read_data(path: Path) -> Any:
    try:
        if path.stat().st_size > limits.MAX_GENERATOR_FILE_BYTES:
            return None
        return Tree(compose(path.read_text(encoding="utf-8"))[0]).to_python()
    except (OSError, UnicodeDecodeError, ComposeError, BudgetExceededError, IndexError):
        return None


def _matching(root: str, pattern: str, *, folders: bool) -> Iterator[str]:
    """The paths below a folder that match a pattern, step by step."""
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    if not steps or ".." in steps or len(steps) > 20:
        return
    found = [""]
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        below: list[str] = []
        for path in found[: limits.MAX_APPLICATIONS]:
            try:
                entries = sorted(os.scandir(posixpath.join(root, path)), key=lambda e: e.name)
            except OSError:
                continue
            for entry in entries:
                fits = entry.is_dir() if not last or folders else entry.is_file()
                if fits and fnmatchcase(entry.name, step):
                    below.append(posixpath.join(path, entry.name))
        found = below
    yield from found


def _path_parameters(path: str) -> _Parameters:
    parts = path.split("/")
    found = {
        "path": path,
        "path.path": path,
        "path.basename": parts[-1],
        "path.basenameNormalized": re.sub(r"[^a-z0-9.-]", "-", parts[-1].lower()),
    }
    return {**found, **{f"path[{number}]": part for number, part in enumerate(parts)}}


def _flatten(data: Any, prefix: str = "") -> _Parameters:
    found: _Parameters = {}
    for key, value in data.items() if isinstance(data, dict) else ():
        if isinstance(value, dict) and prefix.count(".") < 5:
            found |= _flatten(value, f"{prefix}{key}.")
        elif isinstance(value, bool):
            found[f"{prefix}{key}"] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[f"{prefix}{key}"] = str(value)
    return found


def _fill(data: Any, parameters: Mapping[str, str]) -> Any:
    """A template with its placeholders replaced. Raises ``UnknownParametersError``."""
    if isinstance(data, dict):
        return {key: _fill(value, parameters) for key, value in data.items()}
    if isinstance(data, list):
        return [_fill(value, parameters) for value in data]
    if isinstance(data, str) and "{{" in data:
        return _PLACEHOLDER.sub(lambda found: _parameter(found[1], parameters), data)
    return data


def _parameter(name: str, parameters: Mapping[str, str]) -> str:
    segment = _SEGMENT.fullmatch(name)
    key = f"path[{segment[1]}]" if segment else name.removeprefix(".")
    if key not in parameters:
        raise UnknownParametersError
    return parameters[key]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
