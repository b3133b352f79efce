"""ProxyConfig as Istio parses it: YAML 1.1, then jsonpb into the message's types.

A wrong type is an error (an annotation's pod is rejected, a mesh config is ignored whole); an
unknown field is dropped silently. Outcomes were verified with the real libraries.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.misspelled import intended_name
from shutdownlint.platforms.istio.problems import KeyProblem, StaleDrainEnv
from shutdownlint.shutdown.durations import seconds
from shutdownlint.wording import close_name
from shutdownlint.yaml_source.location import EntryPart, KeyPath
from shutdownlint.yaml_source.scalars import read_scalar
from shutdownlint.yaml_source.tree import child, key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from yaml.nodes import Node

    from shutdownlint.yaml_source.location import SourceLocation

#: Fields of istio/api mesh/v1alpha1/proxy.proto by their JSON names.
FIELDS: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            "configPath",
            "binaryPath",
            "serviceCluster",
            "discoveryAddress",
            "zipkinAddress",
            "statsdUdpAddress",
            "envoyMetricsServiceAddress",
            "availabilityZone",
            "customConfigFile",
            "proxyBootstrapTemplatePath",
            "meshId",
        ),
        "string",
    ),
    **dict.fromkeys(
        (
            "drainDuration",
            "terminationDrainDuration",
            "discoveryRefreshDelay",
            "fileFlushInterval",
        ),
        "duration",
    ),
    **dict.fromkeys(
        ("proxyAdminPort", "statNameLength", "concurrency", "statusPort", "fileFlushMinSizeKb"),
        "integer",
    ),
    **dict.fromkeys(
        (
            "tracingServiceName",
            "controlPlaneAuthPolicy",
            "interceptionMode",
            "statsCompression",
        ),
        "enum",
    ),
    **dict.fromkeys(("proxyMetadata", "runtimeValues"), "map"),
    **dict.fromkeys(("extraStatTags", "caCertificatesPem"), "strings"),
    "holdApplicationUntilProxyStarts": "boolean",
    **dict.fromkeys(
        (
            "tracing",
            "sds",
            "envoyAccessLogService",
            "envoyMetricsService",
            "gatewayTopology",
            "readinessProbe",
            "proxyStatsMatcher",
            "image",
            facts.CONNECTION_SETTINGS,
            "privateKeyProvider",
            "proxyHeaders",
        ),
        "message",
    ),
}
#: Keys that people put here though they belong elsewhere, and where.
_ELSEWHERE: Final = {
    facts.EXIT_ON_ZERO_ENV: f"proxyMetadata.{facts.EXIT_ON_ZERO_ENV}",
    facts.MINIMUM_DRAIN_ENV: f"proxyMetadata.{facts.MINIMUM_DRAIN_ENV}",
    "TERMINATION_DRAIN_DURATION_SECONDS": "terminationDrainDuration",
    "terminationGracePeriodSeconds": "the pod's spec",
    "defaultConfig": "this level itself, without the defaultConfig key",
    "proxyConfig": "this level itself, without the proxyConfig key",
}
#: Fields that bear on shutdown, and that the mesh configuration itself does not have (istio/api
#: mesh/v1alpha1/config.proto).
_OF_PROXIES: Final = frozenset(
    (
        "proxyMetadata",
        "drainDuration",
        "terminationDrainDuration",
        "proxyStatsMatcher",
        "holdApplicationUntilProxyStarts",
        facts.CONNECTION_SETTINGS,
    )
)
_INTEGER: Final = lazy_pattern(r"[-+]?[0-9]+")


class KeyFinding(Struct, frozen=True):
    """A key that Istio refuses or drops: where it is, which one, and why.

    ``instead`` is the name that is meant, where the key is nearly it.
    """

    key: str
    reason: str
    location: SourceLocation
    instead: str = ""

    def as_problem(self, kind: type[KeyProblem], config: str) -> KeyProblem:
        """Return the finding as a problem of the configuration that contains it."""
        # Istio reads it with strconv.ParseBool, which knows neither yes nor on.
        boolean = self.key.rpartition(".")[2] == facts.EXIT_ON_ZERO_ENV
        return kind(
            location=self.location,
            value_format=ValueFormat.BOOL_TEXT if boolean else ValueFormat.PLAIN,
            key=self.key,
            reason=self.reason,
            config=config,
            instead=self.instead,
        )


class ProxyConfigText(Struct):
    """One ProxyConfig as written: the values that bear on shutdown, each with its location."""

    drain_duration: tuple[timedelta, SourceLocation] | None = None
    termination_drain: tuple[timedelta, SourceLocation] | None = None
    #: Values of connectionSettings by name: those that bear on idle connections.
    connection: dict[str, tuple[timedelta, SourceLocation]] = field(default_factory=dict)
    env: dict[str, tuple[str, SourceLocation]] = field(default_factory=dict)
    stats_matched: bool | None = None
    #: The kind of the proxy's image (``image.imageType``), such as distroless.
    image_type: str = ""
    #: Where holdApplicationUntilProxyStarts is switched on.
    hold: SourceLocation | None = None
    #: A value that bears on shutdown is a placeholder of some templating tool.
    unresolved: bool = False
    rejected: list[KeyFinding] = field(default_factory=list)
    ignored: list[KeyFinding] = field(default_factory=list)
    #: Fields of older releases.
    removed: list[KeyFinding] = field(default_factory=list)
    #: The fields that Istio's validation seems to refuse, from its code; this was not tested.
    doubtful: list[KeyFinding] = field(default_factory=list)
    #: Variables that Istio does not read, with a name close to one that it does.
    misspelled: list[KeyFinding] = field(default_factory=list)
    #: Values of the variable that older releases read, each with its place, and that of the field
    #: that replaced it.
    stale: list[tuple[str, SourceLocation, SourceLocation]] = field(default_factory=list)

    def stale_problems(self) -> Iterator[StaleDrainEnv]:
        """Yield the variable that current agents do not read."""
        for value, location, instead in self.stale:
            movable = self.termination_drain is None and value.isdecimal() and len(value) < 6
            yield StaleDrainEnv(
                location=location,
                key=facts.STALE_DRAIN_ENV,
                value=value,
                moved=f"{value}s" if movable else "",
                successor=instead,
            )


def read_proxy_config(
    node: Node | None, key_path: KeyPath, at: Callable[[KeyPath, EntryPart], SourceLocation]
) -> ProxyConfigText:
    """Type-check a ProxyConfig as Istio does; ``at`` gives the place of a route."""
    result = ProxyConfigText()
    if node is None or (isinstance(node, ScalarNode) and read_scalar(node) is None):
        return result
    if not isinstance(node, MappingNode):
        result.rejected.append(KeyFinding("", "is not a mapping", at(key_path, EntryPart.VALUE)))
        return result
    for key_node, value in node.value:
        written = key_text(key_node)
        if written is None:
            continue
        here = (*key_path, written)
        name = _camel(written)
        kind = FIELDS.get(name)
        if kind is None:
            _unknown(written, at(here, EntryPart.KEY), result)
            continue
        if isinstance(value, ScalarNode) and read_scalar(value) is None:
            continue
        if isinstance(value, ScalarNode) and has_placeholder(value.value):
            result.unresolved = True
            continue
        reason = _CHECKS[kind](value)
        if kind == "map":
            _metadata(name, value, here, at, result)
        elif name == facts.CONNECTION_SETTINGS and isinstance(value, MappingNode):
            _connection_settings(value, here, at, result)
        elif reason:
            result.rejected.append(KeyFinding(written, reason, at(here, EntryPart.VALUE)))
        else:
            _keep(name, value, at(here, EntryPart.VALUE), result)
    return result


_LOWER_NAMES: Final = tuple(name.lower() for name in FIELDS)


def _camel(key: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found.group(1).upper(), key)


def _variable_of(key: str) -> str | None:
    """Return the variable that a key means which has the agent's own name: ``minDrainDuration``."""
    if "_" in key or key.lower() in _LOWER_NAMES:
        return None
    name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).upper()
    known = (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV)
    return name if name in known else intended_name(name)


def misplaced_fields(
    node: Node | None, key_path: KeyPath, at: Callable[[KeyPath, EntryPart], SourceLocation]
) -> list[KeyFinding]:
    """Return the fields of a proxy configuration that stand in the mesh configuration itself."""
    found = []
    for key_node, _ in node.value if isinstance(node, MappingNode) else ():
        written = key_text(key_node)
        if written is not None and _camel(written) in _OF_PROXIES:
            location = at((*key_path, written), EntryPart.KEY)
            found.append(KeyFinding(written, f"it belongs in defaultConfig.{written}", location))
    return found


def _unknown(key: str, location: SourceLocation, result: ProxyConfigText) -> None:
    if key == "parentShutdownDuration":
        reason = "Istio 1.17 removed it, and before it had no effect"
        result.removed.append(KeyFinding(key, reason, location))
        return
    instead = _ELSEWHERE.get(key)
    if instead is not None:
        result.ignored.append(KeyFinding(key, f"it belongs in {instead}", location))
        return
    variable = _variable_of(key)
    if variable is not None:
        reason = f"it belongs in proxyMetadata.{variable}"
        result.ignored.append(KeyFinding(key, reason, location))
        return
    close = close_name(key.lower(), _LOWER_NAMES, 0.85)
    if close is not None:
        meant = next(name for name in FIELDS if name.lower() == close)
        reason = f"is '{meant}' meant? Names are case-sensitive"
        result.ignored.append(KeyFinding(key, reason, location, meant))


def _keep(name: str, value: Node, location: SourceLocation, result: ProxyConfigText) -> None:
    if name in ("drainDuration", "terminationDrainDuration"):
        assert isinstance(value, ScalarNode)
        duration = go_duration(value.value)
        if name == "terminationDrainDuration":
            result.termination_drain = (duration, location)
        elif duration < facts.SHORTEST_DRAIN.value or duration % seconds(1):
            reason = "must be whole seconds and at least 1s"
            result.doubtful.append(KeyFinding(name, reason, location))
        else:
            result.drain_duration = (duration, location)
    elif name == "holdApplicationUntilProxyStarts":
        assert isinstance(value, ScalarNode)
        result.hold = location if read_scalar(value) is True else None
    elif name == "image":
        kind = child(value, "imageType")
        if kind is not None and isinstance(kind.value, ScalarNode):
            result.image_type = kind.value.value
    elif name == "proxyStatsMatcher":
        result.stats_matched = _matches_stat(value)


def _connection_settings(
    node: MappingNode,
    key_path: KeyPath,
    at: Callable[[KeyPath, EntryPart], SourceLocation],
    result: ProxyConfigText,
) -> None:
    for key_node, value in node.value:
        written = key_text(key_node) or ""
        name = _camel(written)
        if name not in (facts.IDLE_TIMEOUT_FIELD, facts.CONNECTION_DRAIN_FIELD):
            continue
        location = at((*key_path, written), EntryPart.VALUE)
        if isinstance(value, ScalarNode) and has_placeholder(value.value):
            result.unresolved = True
        elif reason := _not_duration(value):
            full = f"{facts.CONNECTION_SETTINGS}.{written}"
            result.rejected.append(KeyFinding(full, reason, location))
        else:
            result.connection[name] = (go_duration(value.value), location)


def _matches_stat(node: Node) -> bool:
    for name in ("inclusionPrefixes", "inclusionSuffixes", "inclusionRegexps"):
        entry = child(node, name)
        if entry is not None and isinstance(entry.value, SequenceNode):
            for item in entry.value.value:
                if isinstance(item, ScalarNode) and matches_stat(item.value):
                    return True
    return False


def matches_stat(pattern: str) -> bool:
    """Whether a pattern is about the statistic that exit-on-zero reads."""
    return "downstream_cx" in pattern


def _metadata(
    name: str,
    node: Node,
    key_path: KeyPath,
    at: Callable[[KeyPath, EntryPart], SourceLocation],
    result: ProxyConfigText,
) -> None:
    if not isinstance(node, MappingNode):
        reason = "must be a mapping of names to strings"
        result.rejected.append(KeyFinding(name, reason, at(key_path, EntryPart.KEY)))
        return
    for key_node, value in node.value:
        key = key_text(key_node) or ""
        here = (*key_path, key)
        if isinstance(value, ScalarNode) and has_placeholder(value.value):
            result.unresolved = True
            continue
        reason = _not_a_string(key, value)
        if reason:
            part = EntryPart.VALUE if isinstance(value, ScalarNode) else EntryPart.KEY
            result.rejected.append(KeyFinding(f"{name}.{key}", reason, at(here, part)))
        elif name == "proxyMetadata":
            assert isinstance(value, ScalarNode)
            text = read_scalar(value)
            result.env[key] = ("" if text is None else str(text), at(here, EntryPart.VALUE))
            if key == facts.STALE_DRAIN_ENV:
                field_path = (*key_path[:-1], "terminationDrainDuration")
                instead_of_it = at(field_path, EntryPart.VALUE)
                result.stale.append((str(text or ""), at(here, EntryPart.KEY), instead_of_it))
            instead = intended_name(key)
            if instead is not None:
                found = KeyFinding(key, "is not read", at(here, EntryPart.KEY), instead)
                result.misspelled.append(found)


def _not_a_string(key: str, node: Node) -> str:
    if isinstance(node, ScalarNode):
        reason = _not_string_scalar(node, nullable=True)
        if reason and key == facts.MINIMUM_DRAIN_ENV:
            # Quoted alone it is accepted, and not read: it has no unit.
            return f"needs a quoted duration with its unit, such as '{node.value}s'"
        return reason
    what = "a mapping" if isinstance(node, MappingNode) else "a list"
    up = f"; '{key}' belongs one level up" if _camel(key) in FIELDS else ""
    return f"is {what} where only strings are allowed{up}"


def _not_string_scalar(node: Node, *, nullable: bool = False) -> str:
    if not isinstance(node, ScalarNode):
        return "must be a string"
    value: Any = read_scalar(node)
    if isinstance(value, str) or (value is None and nullable):
        return ""
    what = "boolean" if isinstance(value, bool) else "number"
    return f"reads as a {what} where only a string is allowed: quote it ('{node.value}')"


def _not_duration(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        return "must be a duration such as 30s"
    value: Any = read_scalar(node)
    if not isinstance(value, str):
        return f"must be a duration with a unit: write {node.value}s"
    try:
        go_duration(value)
    except ValueError as error:
        return f"is not a duration ({error}): write a number with a unit, such as 30s"
    return ""


def _not_integer(node: Node) -> str:
    value: Any = read_scalar(node) if isinstance(node, ScalarNode) else None
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a whole number"
    return "" if value % 1 == 0 else "must be a whole number"


def _not_boolean(node: Node) -> str:
    if isinstance(node, ScalarNode) and isinstance(read_scalar(node), bool):
        return ""
    return "must be true or false, without quotes"


def _not_enum(node: Node) -> str:
    return "" if isinstance(node, ScalarNode) else "must be one name"


def _not_strings(node: Node) -> str:
    if not isinstance(node, SequenceNode):
        return "must be a list of strings"
    return next((reason for item in node.value if (reason := _not_string_scalar(item))), "")


def _not_message(node: Node) -> str:
    return "" if isinstance(node, MappingNode) else "must be a mapping"


def _fine(_node: Node) -> str:
    return ""


_CHECKS: Final[dict[str, Callable[[Node], str]]] = {
    "string": _not_string_scalar,
    "duration": _not_duration,
    "integer": _not_integer,
    "boolean": _not_boolean,
    "enum": _not_enum,
    "strings": _not_strings,
    "message": _not_message,
    "map": _fine,
}


def parse_bool(text: str) -> bool | None:
    """Return the result of Go's ``strconv.ParseBool``; None where it fails."""
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    return None
