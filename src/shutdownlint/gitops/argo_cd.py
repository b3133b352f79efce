"""Argo CD's Applications, and those that ApplicationSets make.

Source: Argo CD's documentation, Application specification and ApplicationSet generators, 3.0.
"""

from __future__ import annotations

import os
import posixpath
import re
from copy import copy
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint import files, limits
from shutdownlint.gitops.deployment import (
    Deployment,
    find_file,
    find_folder,
    is_inside,
    repository_roots,
)
from shutdownlint.manifests.decoding import value_at
from shutdownlint.manifests.document import EmbeddedNodeRef
from shutdownlint.manifests.go_template import action_text, find_actions
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document, NodeRef, Source
    from shutdownlint.yaml_source.location import KeyPath

#: What a node takes beside its text.
_NODE_CHARACTERS: Final = 100
_SEGMENT: Final = lazy_pattern(r"index\s+\.path\.segments\s+(\d+)")
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
    """Read the deployments that an Application describes: one folder, or several."""
    yield from _deployments(ref, (), data)


def read_set(ref: NodeRef, data: Any) -> Iterator[Deployment]:
    """Read the deployments of the Applications of a set."""
    title = f"ApplicationSet {value_at(data, 'metadata', 'name')}"
    spec = value_at(data, "spec")
    try:
        if not isinstance(spec, dict) or spec.get("templatePatch"):
            raise UnknownParametersError
        generated = _bounded(_generate(spec.get("generators"), ref.document.file, {}))
    except UnknownParametersError:
        yield Deployment(title, ref)
        return
    template = _Template(ref.document)
    for parameters in generated:
        try:
            filled = template.fill(parameters)
        except UnknownParametersError:
            yield Deployment(title, ref)
            return
        own = filled.ref(*ref.key_path)
        written = filled.tree.to_python((*ref.key_path, "spec", "template"))
        for found in _deployments(own, ("spec", "template"), written):
            # What is not filled depends on more than the files show.
            yield Deployment(title, ref) if _is_open(found) else found


def _is_open(deployment: Deployment) -> bool:
    """Whether settings of a deployment are still placeholders."""
    tree = deployment.ref.document.tree
    settings = [tree.to_python(place) for place in deployment.places.values()]
    known = (deployment.folder, deployment.values, deployment.parameters, deployment.inline)
    return "{{" in str((*known, settings))


def _deployments(ref: NodeRef, at: KeyPath, data: Any) -> Iterator[Deployment]:
    """Yield the folders that an Application deploys, which is written ``at`` a place of ``ref``."""
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
    place: Source = ref.below(*at)
    file, path = ref.document.file, source.get("path")
    folder = find_folder(file, path) if isinstance(path, str) and not source.get("chart") else ""
    namespace = _text(value_at(data, "spec", "destination", "namespace"))
    known = namespace if "{{" not in (namespace or "") else None
    found = Deployment(title, ref, folder, known)
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
    """Add the Application's own values; the object takes precedence over the text."""
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
            there = folder and files.is_file(path)
            found = path if there and is_inside(file, path) else ""
        if found:
            yield found


def _parameters(entries: Any) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            # helm takes a comma for the end of a value.
            value = str(entry.get("value", "")).replace("\\", "\\\\").replace(",", "\\,")
            option = "--set-string" if entry.get("forceString") is True else "--set"
            yield f"{option} {entry['name']}={value}"


def _bounded(found: Iterator[_Parameters]) -> list[_Parameters]:
    """Return the first parameters. Raises ``UnknownParametersError`` where they are too long."""
    kept: list[_Parameters] = []
    length = 0
    for parameters in islice(found, limits.MAX_APPLICATIONS):
        kept.append(parameters)
        length += sum(map(len, parameters.values()))
        if length > limits.MAX_FILLED_CHARACTERS:
            raise UnknownParametersError
    return kept


def _generate(generators: Any, file: str, known: _Parameters) -> Iterator[_Parameters]:
    """Yield the parameters of each Application of a set. Raises ``UnknownParametersError``."""
    for generator in generators if isinstance(generators, list) else ():
        if not isinstance(generator, dict):
            raise UnknownParametersError
        yield from islice(_generate_one(generator, file, known), limits.MAX_APPLICATIONS)


def _generate_one(
    generator: dict[str, Any], file: str, known: _Parameters
) -> Iterator[_Parameters]:
    """Yield parameters of one generator; ``known`` are those of the one before it in a matrix."""
    elements = value_at(generator, "list", "elements")
    git, matrix = generator.get("git"), value_at(generator, "matrix", "generators")
    if isinstance(elements, list):
        for element in elements:
            yield {key: _fill(text, known) for key, text in _flatten(element).items()}
    elif isinstance(git, dict) and isinstance(git.get("directories"), list):
        yield from _with_values(git, _directories(git["directories"], file))
    elif isinstance(git, dict) and isinstance(git.get("files"), list):
        yield from _with_values(git, _files(git["files"], file))
    elif isinstance(matrix, list) and len(matrix) == 2:
        for one in _generate([matrix[0]], file, known):
            for other in _generate([matrix[1]], file, {**known, **one}):
                yield {**one, **other}
    else:
        raise UnknownParametersError


def _with_values(git: dict[str, Any], found: Iterator[_Parameters]) -> Iterator[_Parameters]:
    """Parameters with the further values of their generator."""
    more = _flatten(git.get("values"), "values.")
    for parameters in found:
        yield {**parameters, **{key: _fill(text, parameters) for key, text in more.items()}}


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
        if files.size_of(path) > limits.MAX_GENERATOR_FILE_BYTES:
            return None
        return Tree(compose(files.read_file(path).decode())[0]).to_python()
    except (OSError, UnicodeDecodeError, ComposeError, BudgetExceededError, IndexError):
        return None


def _matching(root: str, pattern: str, *, folders: bool) -> Iterator[str]:
    """Yield the paths below a folder that match a pattern, step by step."""
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    if not steps or ".." in steps or len(steps) > 20:
        return
    found = [""]
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        below: list[str] = []
        if step == "**":
            each = (below for path in found for below in _folders_below(root, path))
            found = list(islice(dict.fromkeys(each), limits.MAX_APPLICATIONS))
            continue
        for path in found[: limits.MAX_APPLICATIONS]:
            try:
                entries = files.list_folder(posixpath.join(root, path))
            except OSError:
                continue
            for name, is_folder, _ in entries:
                found_path = posixpath.join(path, name)
                fits = is_folder if not last or folders else files.is_file(f"{root}/{found_path}")
                if fits and fnmatchcase(name, step):
                    below.append(found_path)
        found = below
    yield from found


def _folders_below(root: str, path: str) -> list[str]:
    """Return a folder and all folders in it."""
    found = []
    for folder, _, _, _ in files.walk(posixpath.join(root, path)):
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        found.append("" if below == "." else below)
        if len(found) >= limits.MAX_APPLICATIONS:
            break
    return found


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


class _Template:
    """The document of a set, which is filled for each of its Applications."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._open: set[int] = set()
        self._left = limits.MAX_FILLED_CHARACTERS
        self._note_placeholders(document.tree.root, set())

    def _note_placeholders(self, node: Node, seen: set[int]) -> bool:
        """Note the nodes that have a placeholder below; all others are shared."""
        if id(node) in seen:
            return id(node) in self._open
        seen.add(id(node))
        if isinstance(node, ScalarNode):
            found = "{{" in node.value
        else:
            mapping = isinstance(node, MappingNode)
            below = [value for _, value in node.value] if mapping else node.value
            found = sum(self._note_placeholders(each, seen) for each in below) > 0
        if found:
            self._open.add(id(node))
        return found

    def fill(self, parameters: Mapping[str, str]) -> Document:
        """Return the document with its placeholders replaced; every value stays where it is.

        Raises ``UnknownParametersError`` where the filled texts are too long.
        """
        filled = copy(self._document)
        filled.set_root(Tree(self._fill_node(self._document.tree.root, parameters, {})))
        return filled

    def _fill_node(self, node: Node, parameters: Mapping[str, str], made: dict[int, Node]) -> Node:
        if id(node) not in self._open:
            return node
        if id(node) in made:
            return made[id(node)]
        made[id(node)] = node  # a circle ends here
        new: Node = node
        if isinstance(node, ScalarNode):
            text = _fill(node.value, parameters)
            new = ScalarNode(node.tag, text, node.start_mark, node.end_mark, node.style)
            self._left -= len(text)
        elif isinstance(node, SequenceNode):
            items = [self._fill_node(item, parameters, made) for item in node.value]
            new = SequenceNode(node.tag, items, node.start_mark, node.end_mark)
        elif isinstance(node, MappingNode):
            entries = [(key, self._fill_node(value, parameters, made)) for key, value in node.value]
            new = MappingNode(node.tag, entries, node.start_mark, node.end_mark)
        self._left -= _NODE_CHARACTERS + len(node.value)
        if self._left < 0:
            raise UnknownParametersError
        made[id(node)] = new
        return new


def _fill(text: str, parameters: Mapping[str, str]) -> str:
    """Return a text with its placeholders replaced; those that are not known stay.

    Raises ``UnknownParametersError`` where it becomes too long.
    """
    parts, at, length = [], 0, len(text)
    for start, end in find_actions(text):
        name = action_text(text[start:end])
        segment = _SEGMENT.fullmatch(name)
        key = f"path[{segment[1]}]" if segment else name.removeprefix(".")
        value = parameters.get(key, "")
        known = key in parameters and len(value) <= limits.MAX_PARAMETER_CHARACTERS
        parts += [text[at:start], value if known else text[start:end]]
        length += len(parts[-1])
        if length > limits.MAX_FILLED_CHARACTERS:
            raise UnknownParametersError
        at = end
    return "".join([*parts, text[at:]])


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
