"""A rule as it is evaluated: the checked content of a rule file, without its texts for readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.engine.errors import RuleFileError

# Cached rules are decoded by these types.
from shutdownlint.engine.finding import EditAction, Severity  # noqa: TC001
from shutdownlint.engine.template import MessageTemplate  # noqa: TC001
from shutdownlint.installation import bundled_rules
from shutdownlint.platforms.fields import FieldType, SubjectKind
from shutdownlint.platforms.versions import VersionRange  # noqa: TC001
from shutdownlint.shutdown.provenance import OriginKind
from shutdownlint.wording import did_you_mean
from shutdownlint.yaml_source.location import Region  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.shutdown.loss import Loss

#: The finding's own location, the entry that contains it, and the setting that replaces it.
HERE, PARENT, SUCCESSOR = "here", "parent", "successor"


class RuleExpression(Struct, frozen=True):
    """An expression, and the types of the names that it mentions."""

    text: str
    types: dict[str, FieldType]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it mentions."""
        return tuple(self.types)

    @property
    def wanted_flag(self) -> bool | None:
        """The value of its field where it is only ``field`` or ``!field``; None otherwise."""
        name = self.text.removeprefix("!")
        if self.types.get(name) is not FieldType.BOOL:
            return None
        return name == self.text


class LossSelector(Struct, frozen=True):
    """The losses that a rule reports. An empty tuple selects any.

    ``length``: how long requests take is ``stated``, ``usual`` for the program, or ``unknown``.
    """

    kind: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    length: tuple[str, ...] = ()

    def selects(self, loss: Loss) -> bool:
        """Whether the rule is about a loss."""
        role = loss.role.value if loss.role is not None else SENDER_ROLE
        return all(
            not wanted or value in wanted
            for wanted, value in (
                (self.kind, loss.kind.value),
                (self.by, loss.means.value),
                (self.role, role),
                (self.length, known_length(loss)),
            )
        )


#: The role of who sends the requests, which is no container of the pod.
SENDER_ROLE: Final = "sender"


def known_length(loss: Loss) -> str:
    """Return what is known of the length of the lost requests: stated, usual or unknown."""
    if loss.needed is None:
        return "unknown"
    return "stated" if loss.needed.origin.kind is OriginKind.MEASURED else "usual"


class RuleEdit(Struct, frozen=True):
    """An edit of a fix. ``condition``: it is made only where that holds."""

    action: EditAction
    field: str
    value: RuleExpression | None = None
    condition: RuleExpression | None = None


class Rule(Struct, frozen=True):
    """A rule.

    ``problem`` is the kind of problem that it reports, ``losses`` which losses. ``condition`` is
    evaluated where all fields that it mentions have values; without one the rule always applies.
    ``clauses`` are the parts of it that must all hold, the quickest first. ``makes_solution``: its
    fix is the smallest set of
    changes with which the pod serves every request. ``platforms`` are those whose fields it uses,
    ``folder`` is the platform whose folder it is in (none for users' own rules): a rule of a mesh
    is about the proxies of that mesh. ``title`` is a sentence for lists.
    ``rejects``: the pod is never created. ``values``: it holds for the values of charts too.
    """

    id: str
    name: str
    title: str
    severity: Severity
    subject: SubjectKind
    message: MessageTemplate
    file: str
    region: Region
    problem: str | None = None
    losses: tuple[LossSelector, ...] = ()
    condition: RuleExpression | None = None
    clauses: tuple[RuleExpression, ...] = ()
    at: str | None = None
    fix: MessageTemplate | None = None
    edits: tuple[RuleEdit, ...] = ()
    makes_solution: bool = False
    safe: bool = False
    rejects: bool = False
    values: bool = False
    versions: dict[str, VersionRange] = {}
    platforms: tuple[str, ...] = ()
    folder: str = ""

    @property
    def headline(self) -> str:
        """The title; the words of the name where it has none."""
        return headline(self.title, self.name)


#: Where all ids and names are.
LISTED = "('shutdownlint rule' lists all rules)"


def headline(title: str, name: str) -> str:
    """Return a rule in a few words: its title, or the words of its name where it has none."""
    return title or name.replace("-", " ")


def suggest_rule(name: str, rules: Iterable[Rule]) -> str:
    """Return the end of a sentence on an unknown rule name: the one that is meant, if clear."""
    return did_you_mean(name, [word for rule in rules for word in (rule.id, rule.name)])


def bundled_folder() -> Path:
    """Return the folder of the rule files that come with shutdownlint."""
    return Path(bundled_rules())


def merge_rules(rules: list[Rule], user_rules: list[Rule]) -> list[Rule]:
    """Return the rules together with the user's own. Raises ``RuleFileError`` if an id is taken."""
    taken = {rule.id: rule for rule in rules}
    for rule in user_rules:
        if rule.id in taken:
            raise RuleFileError(
                rule.file, rule.region.line, f"id {rule.id} is taken by {taken[rule.id].file}"
            )
    return sorted([*rules, *user_rules], key=lambda rule: rule.id)
