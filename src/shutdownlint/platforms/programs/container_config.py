"""The configuration of a container: its variables and files, if the input shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.decoding import mappings
from shutdownlint.manifests.document import EmbeddedNodeRef
from shutdownlint.manifests.resources import ConfigMap
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.tree import Tree, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.yaml_source.location import KeyPath, SourceLocation


class WrittenText(Struct, frozen=True):
    """A text and where it is; ``inherited``: in another object than the pod."""

    text: str
    location: SourceLocation
    inherited: bool = False


class ContainerConfig(Struct):
    """A container's variables and application properties.

    ``variables`` has None where the value is not among the files; ``open_ended``: further ones,
    of which nothing is known, may be set. Properties are by their canonical name. ``files`` are
    the texts of the files that it mounts.
    """

    variables: dict[str, WrittenText | None] = field(default_factory=dict)
    properties: dict[str, WrittenText] = field(default_factory=dict)
    files: list[WrittenText] = field(default_factory=list)
    open_ended: bool = False


def canonical(name: str) -> str:
    """Return a property's name for relaxed binding: without dashes, underscores and case."""
    return name.replace("-", "").replace("_", "").lower()


def read_container_config(
    container: Container, ref: NodeRef, workload: Workload, context: AnalysisContext
) -> ContainerConfig:
    """Read the configuration that the files show of the container, the weakest source first."""
    found = ContainerConfig()
    config = context.image_config(container)
    for name, text in config.env.items() if config is not None else ():
        found.variables[name] = WrittenText(text, ref / "image", inherited=True)
    maps = {c.model.metadata.name: c for c in context.in_namespace_of(ConfigMap, workload)}
    for source in mappings(container.env_from):
        _add_all(source, maps, found)
    for index, variable in enumerate(container.env):
        if variable.value is not None and variable.valueFrom is None:
            value = None if "$(" in variable.value else variable.value
            location = ref / "env" / index / "value"
            found.variables[variable.name] = None if value is None else WrittenText(value, location)
        else:
            found.variables[variable.name] = _referred(variable.valueFrom, maps)
    mounted = list(_mounted(container, workload, maps))
    found.files = [
        WrittenText(config_map.model.data[key], config_map.ref / "data" / key, inherited=True)
        for config_map, names in mounted
        for key in names
        if key in config_map.model.data
    ]
    active = found.variables.get(_PROFILES)
    profiles = [name.strip() for name in active.text.split(",")] if active is not None else []
    # The file of a profile is stronger than the one of all of them, and the last profile's is so.
    for profile in (None, *profiles):
        for config_map, names in mounted:
            _Files(config_map, found, profiles).add(names, profile)
    return found


def _add_all(
    source: dict[str, Any],
    maps: dict[str | None, LoadedResource[ConfigMap]],
    found: ContainerConfig,
) -> None:
    """Add the variables of an entry of envFrom."""
    reference = source.get("configMapRef")
    name = reference.get("name") if isinstance(reference, dict) else None
    config_map = maps.get(name) if isinstance(name, str) else None
    if config_map is None:
        found.open_ended = True
        return
    prefix = source.get("prefix") or ""
    for key, value in config_map.model.data.items():
        location = config_map.ref / "data" / key
        found.variables[f"{prefix}{key}"] = WrittenText(value, location, inherited=True)


def _referred(
    value_from: Any, maps: dict[str | None, LoadedResource[ConfigMap]]
) -> WrittenText | None:
    reference = value_from.get("configMapKeyRef") if isinstance(value_from, dict) else None
    if not isinstance(reference, dict):
        return None
    name, key = reference.get("name"), str(reference.get("key"))
    config_map = maps.get(name) if isinstance(name, str) else None
    if config_map is None or key not in config_map.model.data:
        return None
    return WrittenText(config_map.model.data[key], config_map.ref / "data" / key, inherited=True)


def _mounted(
    container: Container, workload: Workload, maps: dict[str | None, LoadedResource[ConfigMap]]
) -> Iterator[tuple[LoadedResource[ConfigMap], dict[str, str]]]:
    """Yield the ConfigMaps of the input that the container mounts, with its files by key."""
    for volume in mappings(workload.template.spec.volumes):
        mounts = [mount for mount in container.volumeMounts if mount.name == volume.get("name")]
        projected = volume.get("projected")
        sources = mappings(projected.get("sources")) if isinstance(projected, dict) else []
        for source in (volume, *sources):
            reference = source.get("configMap")
            name = reference.get("name") if isinstance(reference, dict) else None
            config_map = maps.get(name) if isinstance(name, str) else None
            if config_map is None or reference is None:
                continue
            files = {
                str(i.get("key")): str(i.get("path")) for i in mappings(reference.get("items"))
            }
            files = files or {key: key for key in config_map.model.data}
            whole = any(mount.subPath is None for mount in mounts)
            paths = {mount.subPath for mount in mounts}
            seen = {key: path for key, path in files.items() if whole or path in paths}
            if mounts and seen:
                yield config_map, seen


#: Names the profiles of Spring Boot that are active.
_PROFILES: Final = "SPRING_PROFILES_ACTIVE"
_FILE: Final = lazy_pattern(r"application(?:-(?P<profile>[\w.-]+))?\.(?P<kind>ya?ml|properties)")
_PROPERTY: Final = lazy_pattern(r"\s*([\w.\-]+)\s*[=:]\s*(.*?)\s*")


class _Files:
    """Files of a ConfigMap that Spring Boot, Quarkus and Micronaut read.

    What belongs to a profile counts where ``profiles`` has it.
    """

    def __init__(
        self, config_map: LoadedResource[ConfigMap], found: ContainerConfig, profiles: list[str]
    ) -> None:
        self.config_map = config_map
        self.found = found
        self.profiles = profiles

    def add(self, names: dict[str, str], profile: str | None) -> None:
        """Read the files of one profile, or (None) those of all of them."""
        for key, path in names.items():
            file = _FILE.fullmatch(path.rpartition("/")[2])
            text = self.config_map.model.data.get(key)
            if file is None or text is None or file["profile"] != profile:
                continue
            host = self.config_map.ref / "data" / key
            if file["kind"] == "properties":
                for part in re.split(r"(?m)^[#!]---.*$", text):
                    self._add_properties(part, host)
            else:
                self._add_yaml(text, host)

    def _add_properties(self, text: str, host: NodeRef) -> None:
        entries = [_PROPERTY.fullmatch(line) for line in text.splitlines()]
        properties = {canonical(e.group(1)): e.group(2) for e in entries if e is not None}
        if self._counts(properties):
            for name, value in properties.items():
                self.found.properties[name] = WrittenText(value, host.key, inherited=True)

    def _counts(self, properties: dict[str, str]) -> bool:
        """Whether a document is for all profiles, or for one that is active."""
        wanted = [
            value
            for name, value in properties.items()
            if name == "spring.profiles" or name.startswith("spring.config.activate")
        ]
        return all(value.strip() in self.profiles for value in wanted)

    def _add_yaml(self, text: str, host: NodeRef) -> None:
        try:
            roots = compose(text)
        except ComposeError:
            return
        for number, root in enumerate(roots):
            tree = Tree(root)
            properties = dict(_flat(root, "", (), 0))
            if not self._counts({name: value for name, (value, _) in properties.items()}):
                continue
            for name, (value, key_path) in properties.items():
                # Places within are known for the first document only.
                location: SourceLocation = (
                    EmbeddedNodeRef(host, tree, key_path) if number == 0 else host.key
                )
                self.found.properties[name] = WrittenText(value, location, inherited=True)


def _flat(
    node: Node, above: str, key_path: KeyPath, depth: int
) -> Iterator[tuple[str, tuple[str, KeyPath]]]:
    if isinstance(node, ScalarNode):
        yield above, (node.value, key_path)
    elif isinstance(node, MappingNode) and depth < 8:
        for key, value in node.value:
            text = key_text(key)
            # "%dev" and the like are Quarkus' profiles; an alias may lead back to where we are.
            if text is not None and not text.startswith("%") and value is not node:
                name = f"{above}.{canonical(text)}" if above else canonical(text)
                yield from _flat(value, name, (*key_path, text), depth + 1)
