"""Conditions of rules as CEL over an object of the API server.

A rule's own condition is used: each of its fields is replaced by an expression over the object.
Where a field's value cannot be known from the object, the condition is false: a policy is silent
where ``check`` may know more. Source of the language: kubernetes.io docs/reference/using-api/cel.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.engine.loader import load_schema
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.engine.rule import Rule

#: Validating policies are part of this release and later ones.
OLDEST: Final = Version(1, 30, 0)
_CONTAINER_RULE: Final = "container"
_TOKEN: Final = lazy_pattern(
    r"'[^'\n]{0,300}'|\"[^\"\n]{0,300}\"|[A-Za-z_][A-Za-z0-9_]{0,60}|\s+|[^A-Za-z_\s'\"]"
)
_BOUND: Final = lazy_pattern(r"\.(?:exists|all|filter|map|exists_one)\(\s{0,9}([a-z]{1,30}),")
_WORDS: Final = ("true", "false", "in", "duration")
#: In a kubelet's hook: a sleep whose length is a plain number of seconds.
_SLEEP: Final = (
    "c.lifecycle.preStop.exec.command.size() == 2 && "
    "c.lifecycle.preStop.exec.command[0].matches('^(/usr)?(/bin/)?sleep$') && "
    "c.lifecycle.preStop.exec.command[1].matches('^[0-9]{1,9}s?$')"
)
_HAS_HOOK: Final = "has(c.lifecycle) && has(c.lifecycle.preStop)"
_HAS_EXEC: Final = (
    f"{_HAS_HOOK} && has(c.lifecycle.preStop.exec) && has(c.lifecycle.preStop.exec.command)"
)
_HAS_SLEEP: Final = f"{_HAS_HOOK} && has(c.lifecycle.preStop.sleep)"
_KNOWN_HOOK: Final = f"(!({_HAS_HOOK}) || ({_HAS_SLEEP}) || ({_HAS_EXEC} && {_SLEEP}))"
_PRE_STOP: Final = (
    f"({_HAS_SLEEP} ? duration(string(c.lifecycle.preStop.sleep.seconds) + 's') : "
    f"({_HAS_EXEC} && {_SLEEP} ? "
    "duration(c.lifecycle.preStop.exec.command[1].replace('s', '') + 's') : duration('0s')))"
)


class _Field(Struct, frozen=True):
    """The expression of a field, and when its value is known."""

    value: str
    known: str = ""


def _probe_grace(probe: str) -> _Field:
    path = f"c.{probe}.terminationGracePeriodSeconds"
    return _Field(f"duration(string({path}) + 's')", f"has(c.{probe}) && has({path})")


#: The fields of rules that an object shows, by the name that rules use.
FIELDS: Final = {
    "grace": _Field("variables.grace"),
    "graceFrom": _Field("variables.graceFrom"),
    "hook": _Field(
        f"(!({_HAS_HOOK}) ? 'none' : has(c.lifecycle.preStop.sleep) ? 'sleep' : "
        "has(c.lifecycle.preStop.exec) ? 'exec' : has(c.lifecycle.preStop.httpGet) ? 'httpGet' : "
        "has(c.lifecycle.preStop.tcpSocket) ? 'tcpSocket' : 'empty')"
    ),
    "hookCommand": _Field("c.lifecycle.preStop.exec.command", f"{_HAS_EXEC}"),
    "hookHost": _Field(
        "(has(c.lifecycle.preStop.httpGet.host) ? c.lifecycle.preStop.httpGet.host : '')",
        f"{_HAS_HOOK} && has(c.lifecycle.preStop.httpGet)",
    ),
    "hookIsAbandoned": _Field(f"{_PRE_STOP} >= variables.grace", _KNOWN_HOOK),
    "hostNetwork": _Field("(has(variables.pod.hostNetwork) && variables.pod.hostNetwork)"),
    "image": _Field("c.image", "has(c.image)"),
    "livenessGrace": _probe_grace("livenessProbe"),
    "preStop": _Field(_PRE_STOP, _KNOWN_HOOK),
    "startupGrace": _probe_grace("startupProbe"),
}
#: What the expressions of fields use, by name: expressions over the object.
VARIABLES: Final = {
    "pod": (
        "object.kind == 'Pod' ? object.spec : object.kind == 'CronJob' ? "
        "object.spec.jobTemplate.spec.template.spec : object.spec.template.spec"
    ),
    "metadata": (
        "object.kind == 'Pod' ? object.metadata : object.kind == 'CronJob' ? "
        "object.spec.jobTemplate.spec.template.metadata : object.spec.template.metadata"
    ),
    "grace": (
        "has(variables.pod.terminationGracePeriodSeconds) ? "
        "duration(string(variables.pod.terminationGracePeriodSeconds) + 's') : duration('30s')"
    ),
    "graceFrom": ("has(variables.pod.terminationGracePeriodSeconds) ? 'explicit' : 'default'"),
}


class PolicyCondition(Struct, frozen=True):
    """A rule, and when a container ``c`` of an object breaks it."""

    rule: Rule
    condition: str


class LeftOut(Struct, frozen=True):
    """A rule that no policy can decide, and why."""

    rule: Rule
    reason: str


def conditions_of(rules: Iterable[Rule]) -> Iterator[PolicyCondition | LeftOut]:
    """Yield each rule as a condition over an object, or why it cannot be one."""
    for rule in rules:
        reason, condition = _translate(rule)
        yield LeftOut(rule, reason) if reason else PolicyCondition(rule, condition)


def _translate(rule: Rule) -> tuple[str, str]:
    """Return why a rule cannot be a policy, and its condition."""
    if rule.rejects:
        return "the API server rejects it itself", ""
    if rule.losses:
        return "it is about losses, which a simulation finds", ""
    if rule.condition is None or rule.problem is not None or rule.subject != _CONTAINER_RULE:
        return "it has no condition over a container", ""
    versions = {**rule.versions}
    kubernetes = versions.pop("kubernetes", None)
    if versions or (kubernetes is not None and OLDEST not in kubernetes):
        return "it holds for some versions only", ""
    when = load_schema(Path(rule.file)).when or ""
    bound = set(_BOUND.findall(when))
    tokens = _TOKEN.findall(when)
    used: dict[str, _Field] = {}
    text, before = "", ""
    for position, token in enumerate(tokens):
        called = "".join(tokens[position + 1 :]).lstrip().startswith("(")
        is_name = token[0].isalpha() and token not in _WORDS and token not in bound
        field = None
        if is_name and before != "." and not called:
            field = FIELDS.get(token)
            if field is None:
                return f"an object alone does not show {token}", ""
            used[token] = field
        text += field.value if field is not None else token
        before = token.strip()[-1:] or before
    known = dict.fromkeys(field.known for field in used.values() if field.known)
    return "", " && ".join([*(f"({guard})" for guard in known), f"({text.strip()})"])
