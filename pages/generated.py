"""Documentation that is made from the code: ``python -m pages.generated`` writes it.

Rules come from the rule files, facts and fields from the platforms' packages.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages.pictures import finding_picture, timeline_picture
from shutdownlint import limits
from shutdownlint.engine.loader import load_schema
from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.engine.subjects import format_value
from shutdownlint.platforms.facts import SourcedValue, VersionTable
from shutdownlint.platforms.pods import facts as pods
from shutdownlint.platforms.registry import PLATFORMS, platform_title
from shutdownlint.platforms.versions import VersionRange
from shutdownlint.programs.known import load_bundled
from shutdownlint.reports.fields_page import fields_markdown
from shutdownlint.reports.program_page import describe_signal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from shutdownlint.programs.record import Program

DOCS = Path(__file__).resolve().parents[1] / "docs"
_COMMAND = "`python -m pages.generated`"
_RULES = f"""# All rules

Made from the rule files ({_COMMAND}). `shutdownlint rule SL102` shows a rule's page: explanation,
fix, examples and sources. Without a version in the last column a rule holds for all versions.

| rule | name | severity | reported when | versions |
|---|---|---|---|---|
"""
_FACTS = f"""# Facts

What the platforms do by default, each with the source it was read in. Made from the code
({_COMMAND}): rules, messages and the model read them from the same place.

"""
_FIELDS = f"""# Fields of rules

The names that conditions, messages and fixes of rules may use, by the subject of the rule (`for:`).
Made from the code ({_COMMAND}); `shutdownlint rule --fields` prints the same.

A *setting* has an origin: the rule may also use `<name>From` (explicit, inherited, default,
measured or assumed; empty where the setting is absent), `{{name.origin}}` in messages, and
`at: <name>` for its location.

"""


_LIMITS = f"""# Limits

Everything in a checked repository is untrusted ([SECURITY.md](../SECURITY.md)). These are the
limits on what it may ask of a run. Made from the code ({_COMMAND}).

| limit | value | what happens |
|---|---|---|
"""


_PLATFORMS = f"""# Platforms

What shutdownlint reads of each system beside the pods themselves, and how that was checked.
Made from the registry ({_COMMAND}). [Facts](facts.md) has each fact with its source,
[the runs against real programs](conformance.md) what came out.

| platform | versions | objects that are read | rules | verified |
|---|---|---|---|---|
"""


def limits_page() -> str:
    """Every limit, with the comment above it."""
    lines = Path(limits.__file__).read_text(encoding="utf-8").split("\n")
    rows, comment = [], ""
    for line in lines:
        if line.startswith("#: "):
            comment = f"{comment} {line.removeprefix('#: ')}".strip()
        elif ": Final = " in line:
            name = line.partition(":")[0]
            rows.append(f"| `{name}` | {getattr(limits, name):,} | {comment} |")
            comment = ""
    return _LIMITS + "\n".join(rows) + "\n"


def platforms_page() -> str:
    """Every platform: versions, kinds of objects, rules, and how it was verified."""
    rules = load_all_bundled()
    rows = []
    for entry in PLATFORMS:
        plugin = import_module(entry.module).Plugin
        versions = [str(version) for version in plugin.supported_versions]
        kinds = dict.fromkeys(kind.kind for kind in entry.kinds if kind.kind)
        count = sum(rule.folder == entry.name for rule in rules)
        covered = f"{versions[0]} to {versions[-1]}" if versions else "as the sources of its facts"
        cells = (entry.title, covered, ", ".join(kinds) or "pods", str(count), entry.verified)
        rows.append("| " + " | ".join(cells) + " |")
    return _PLATFORMS + "\n".join(rows) + "\n"


def rules_page() -> str:
    """Return the list of all rules."""
    rows = []
    for rule in load_all_bundled():
        schema = load_schema(Path(rule.file))
        parts = [f"problem `{schema.problem}`"] if schema.problem else []
        if schema.when:
            parts.append(f"`{_cell(' '.join(schema.when.split()))}`")
        versions = ", ".join(
            f"{platform_title(name)} {_cell(versions.text)}"
            for name, versions in schema.versions.items()
        )
        cells = [schema.id, schema.name, schema.severity.value, " and ".join(parts), versions]
        rows.append(f"| {' | '.join(cells)} |")
    return _RULES + "\n".join(rows) + "\n"


def fields_page() -> str:
    """Return the fields and problems that rules may use."""
    return _FIELDS + fields_markdown()


def facts_page() -> str:
    """All facts of all platforms."""
    return _FACTS + "\n\n".join(part for part in _facts() if part) + "\n"


def _facts() -> Iterator[str]:
    modules = [("Pods", pods)]
    modules += [(entry.title, facts) for entry in PLATFORMS if (facts := _facts_of(entry.module))]
    for title, facts in modules:
        yield _version_tables(title, facts)
    for title, facts in modules:
        yield _values(title, facts)
        if title == "Programs":
            yield _limits_of_programs()
            yield _behaviours()


def _facts_of(module: str) -> ModuleType | None:
    package = module.rpartition(".")[0]
    if not Path(str(import_module(package).__file__)).with_name("facts.py").exists():
        return None
    return import_module(f"{package}.facts")


def _version_tables(title: str, facts: ModuleType) -> str:
    tables: tuple[VersionTable, ...] = getattr(facts, "VERSION_TABLES", ())
    rows = [
        f"| {table.setting} | {_cell(versions)} | {_cell(meaning)} | {_cell(table.source)} |"
        for table in tables
        for versions, meaning in table.meanings
    ]
    head = f"## {title}: what a setting means, by version\n\n"
    head += "| setting | versions | default and meaning | source |\n|---|---|---|---|\n"
    return head + "\n".join(rows) if rows else ""


def _values(title: str, facts: ModuleType) -> str:
    rows = [
        f"| {name.replace('_', ' ').lower()} | {_value(fact.value)} | {_cell(fact.source)} |"
        for name, fact in vars(facts).items()
        if isinstance(fact, SourcedValue)
    ]
    head = f"## {title}\n\n| fact | value | source |\n|---|---|---|\n"
    return head + "\n".join(rows) if rows else ""


def _limits_of_programs() -> str:
    rows = []
    for program in load_bundled().values():
        setting = program.limit
        if setting is None:
            continue
        names = (*setting.flags, *setting.variables, *setting.properties, setting.directive)
        limit = setting.default or ("no limit" if setting.unlimited else "")
        shown = ", ".join(f"`{name}`" for name in names if name)
        rows.append(f"| {program.name} | {shown} | {limit} | {_sources(program)} |")
    head = "### Shutdown limits of programs\n\n"
    head += "| program | its limit is read from | default | source |\n|---|---|---|---|\n"
    return head + "\n".join(rows)


def _sources(program: Program) -> str:
    measured = (f"measured: {program.measured}",) if program.measured else ()
    return _cell("; ".join((*measured, *program.sources)))


def _behaviours() -> str:
    rows = []
    for program in load_bundled().values():
        if not program.at_signal:
            continue
        first, *others = program.at_signal.items()
        signals = [f"; at {name}: {describe_signal(what)}" for name, what in others]
        names = ", ".join(f"`{name}`" for name in program.programs or program.modules)
        rows.append(
            f"| {program.name} | {names} | {describe_signal(first[1])}{''.join(signals)} | "
            f"{_sources(program)} |"
        )
    head = "### What programs do at SIGTERM\n\n"
    head += "| program | started as | at its stop signal | source |\n|---|---|---|---|\n"
    return head + "\n".join(rows)


def _value(value: Any) -> str:
    if isinstance(value, VersionRange):
        return _cell(value.text)
    if isinstance(value, tuple):
        return _cell(", ".join(_item(item) for item in value))
    if isinstance(value, dict):
        return _cell("; ".join(f"{_key(key)}: {_item(item)}" for key, item in value.items()))
    return _cell(format_value(value))


def _key(key: Any) -> str:
    return "=".join(key) if isinstance(key, tuple) else str(key)


def _item(item: Any) -> str:
    if isinstance(item, tuple):
        return ", ".join(format_value(part) for part in item)
    return format_value(item)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


PAGES = {
    DOCS / "platforms.md": platforms_page,
    DOCS / "rule-list.md": rules_page,
    DOCS / "rule-fields.md": fields_page,
    DOCS / "facts.md": facts_page,
    DOCS / "limits.md": limits_page,
    DOCS / "images" / "finding.svg": finding_picture,
    DOCS / "images" / "timeline.svg": timeline_picture,
}

if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make(), encoding="utf-8")
