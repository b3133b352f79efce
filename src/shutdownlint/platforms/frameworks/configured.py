"""What a container is configured with: its variables and files, as far as the files show them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.document import InnerRef
from shutdownlint.manifests.resources import ConfigMap
from shutdownlint.yamltext import ComposeError, Tree, compose
from shutdownlint.yamltext.tree import key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Ref
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Located, Workload
    from shutdownlint.platforms.world import World
    from shutdownlint.yamltext import Route, Where


@dataclass(frozen=True, slots=True)
class Written:
    """A text and where it stands; ``inherited``: in another object than the pod."""

    text: str
    where: Where
    inherited: bool = False


@dataclass(slots=True)
class Configured:
    """A container's variables and application properties.

    ``variables`` has None where the value is not among the files; ``open_ended``: further ones,
    of which nothing is known, may be set. Properties are by their canonical name.
    """

    variables: dict[str, Written | None] = field(default_factory=dict)
    properties: dict[str, Written] = field(default_factory=dict)
    open_ended: bool = False


def canonical(name: str) -> str:
    """A property's name as relaxed binding compares it: without dashes, underscores and case."""
    return re.sub(r"[-_]", "", name).lower()


def configured(container: Container, ref: Ref, workload: Workload, world: World) -> Configured:
    """What the files show of it, the weakest source first."""
    found = Configured()
    maps = {c.model.metadata.name: c for c in world.near(ConfigMap, workload)}
    for source in _items(container.env_from):
        _add_all(source, maps, found)
    for index, variable in enumerate(container.env):
        if variable.value is not None and variable.valueFrom is None:
            value = None if "$(" in variable.value else variable.value
            where = ref / "env" / index / "value"
            found.variables[variable.name] = None if value is None else Written(value, where)
        else:
            found.variables[variable.name] = _referred(variable.valueFrom, maps)
    for config_map in _mounted(container, workload, maps):
        _add_files(config_map, found)
    return found


def _items(data: Any) -> list[dict[str, Any]]:
    return [i for i in data if isinstance(i, dict)] if isinstance(data, list) else []


def _add_all(
    source: dict[str, Any], maps: dict[str | None, Located[ConfigMap]], found: Configured
) -> None:
    """An entry of envFrom."""
    reference = source.get("configMapRef")
    name = reference.get("name") if isinstance(reference, dict) else None
    config_map = maps.get(name) if isinstance(name, str) else None
    if config_map is None:
        found.open_ended = True
        return
    prefix = source.get("prefix") or ""
    for key, value in config_map.model.data.items():
        where = config_map.ref / "data" / key
        found.variables[f"{prefix}{key}"] = Written(value, where, inherited=True)


def _referred(value_from: Any, maps: dict[str | None, Located[ConfigMap]]) -> Written | None:
    reference = value_from.get("configMapKeyRef") if isinstance(value_from, dict) else None
    if not isinstance(reference, dict):
        return None
    config_map = maps.get(reference.get("name"))
    key = str(reference.get("key"))
    if config_map is None or key not in config_map.model.data:
        return None
    return Written(config_map.model.data[key], config_map.ref / "data" / key, inherited=True)


def _mounted(
    container: Container, workload: Workload, maps: dict[str | None, Located[ConfigMap]]
) -> Iterator[Located[ConfigMap]]:
    """The ConfigMaps among the files that the container mounts."""
    mounted = {mount.name for mount in container.volumeMounts}
    for volume in _items(workload.template.spec.volumes):
        if volume.get("name") not in mounted:
            continue
        projected = volume.get("projected")
        sources = _items(projected.get("sources")) if isinstance(projected, dict) else []
        for source in (volume, *sources):
            reference = source.get("configMap")
            name = reference.get("name") if isinstance(reference, dict) else None
            if name in maps:
                yield maps[name]


_FILE: Final = re.compile(r"application\.(ya?ml|properties)")
_PROPERTY: Final = re.compile(r"\s*([\w.\-]+)\s*[=:]\s*(.*?)\s*")


def _add_files(config_map: Located[ConfigMap], found: Configured) -> None:
    """Files that Spring Boot, Quarkus and Micronaut read; those of a profile are left out."""
    for name, text in config_map.model.data.items():
        kind = _FILE.fullmatch(name)
        if kind is None:
            continue
        host = config_map.ref / "data" / name
        if kind.group(1) == "properties":
            for line in text.splitlines():
                entry = _PROPERTY.fullmatch(line)
                if entry is not None:
                    written = Written(entry.group(2), host.key, inherited=True)
                    found.properties[canonical(entry.group(1))] = written
        else:
            _add_yaml(text, host, found)


def _add_yaml(text: str, host: Ref, found: Configured) -> None:
    try:
        roots = compose(text)
    except ComposeError:
        return
    for number, root in enumerate(roots):
        tree = Tree(root)
        properties = dict(_flat(root, "", (), 0))
        if any(
            name.startswith(("spring.profiles", "spring.config.activate")) for name in properties
        ):
            continue
        for name, (value, route) in properties.items():
            # Places within are known for the first document only.
            where: Where = InnerRef(host, tree, route) if number == 0 else host.key
            found.properties[name] = Written(value, where, inherited=True)


def _flat(
    node: Node, above: str, route: Route, depth: int
) -> Iterator[tuple[str, tuple[str, Route]]]:
    if isinstance(node, ScalarNode):
        yield above, (node.value, route)
    elif isinstance(node, MappingNode) and depth < 16:
        for key, value in node.value:
            text = key_text(key)
            if text is not None:
                name = f"{above}.{canonical(text)}" if above else canonical(text)
                yield from _flat(value, name, (*route, text), depth + 1)
