"""``rule``: the rules, each one's page, and the fields that rules may use."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shutdownlint.cli.declarations import Argument, Option
from shutdownlint.cli.options import FileOptions
from shutdownlint.cli.output import CLEAN, FINDINGS, show, show_page, usage_error
from shutdownlint.cli.session import Session, rule_errors
from shutdownlint.engine.rule import LISTED, bundled_folder, merge_rules, suggest_rule
from shutdownlint.engine.rule_loader import load_all_bundled, load_folder
from shutdownlint.files import read_text
from shutdownlint.reports.fields_page import fields_text
from shutdownlint.reports.rule_page import rule_page
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.engine.rule import Rule


def command(
    *,
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="[RULE]",
            help="An id or name, such as SL101; or a word, which lists the rules with it.",
        ),
    ] = None,
    fields: Annotated[
        bool,
        Option(help="List the fields and problem kinds that rules may use."),
    ] = False,
    test: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help="Test the rules of a folder on their own examples.",
        ),
    ] = None,
    files: FileOptions,
) -> None:
    """Show a rule's page; without an id, list all rules (the configuration's own among them).

    Examples:

      shutdownlint rule SL102

      shutdownlint rule gunicorn

      shutdownlint rule --fields

      shutdownlint rule --test our-rules/
    """
    if fields:
        show_page(fields_text())
        return
    with rule_errors():
        if test is not None:
            raise SystemExit(_test_rules(Path(test)))
        _show(" ".join(words or ()) or None, Session.of(files).config.selection.folders)


def _show(rule_id: str | None, folders: "Sequence[str]") -> None:
    rules = load_all_bundled()
    for folder in folders:
        rules = merge_rules(rules, load_folder(Path(folder)))
    if rule_id is None:
        _list(rules)
        return
    found = next((rule for rule in rules if rule_id.upper() in (rule.id, rule.name.upper())), None)
    if found is None:
        ranks = {rule.id: _rank(rule, rule_id.lower()) for rule in rules}
        with_word = [rule for rule in rules if ranks[rule.id] is not None]
        with_word.sort(key=lambda rule: ranks[rule.id] or 0)
        if not with_word:
            hint = suggest_rule(rule_id, rules)
            raise usage_error(f"no rule has this id, name or word: {rule_id}{hint} {LISTED}")
        _list(with_word)
        return

    from shutdownlint.engine.loader import load_schema  # noqa: PLC0415 - needs pydantic

    show_page(rule_page(load_schema(Path(found.file))))


def _list(rules: "list[Rule]") -> None:
    for rule in rules:
        show(f"{rule.id}  {rule.severity.value:<8} {rule.name:<38} {rule.title}")


def _rank(rule: "Rule", word: str) -> int | None:
    """Return how much a word says of a rule: 0 in its id, name or title, 1 in its condition or
    message, 2 in its text, 3 in its examples; None where it is nowhere.
    """
    if any(word in text.lower() for text in (rule.id, rule.name, rule.title)):
        return 0
    text = read_text(rule.file).lower()
    if word not in text:
        return None
    text, _, _ = text.partition("\nexamples:\n")
    if word not in text:
        return 3
    text, _, _ = text.partition("\nsources:\n")
    return 1 if word in text else 2


def _test_rules(folder: Path) -> int:
    """Test a folder's rules; the exit code."""
    from shutdownlint.engine.loader import load_schema  # noqa: PLC0415 - needs pydantic
    from shutdownlint.linter.rule_examples import example_problems  # noqa: PLC0415 - for tests only

    rules = load_folder(folder)
    if bundled_folder().resolve() not in (folder.resolve(), folder.resolve().parent):
        merge_rules(load_all_bundled(), rules)  # an id may be taken
    failures = 0
    for rule in rules:
        examples = load_schema(Path(rule.file)).examples
        count = len(examples)
        problems = list(example_problems(rule, examples))
        failures += len(problems)
        text = plural(count, "example") if count else "no examples"
        result = "failed" if problems else "ok"
        show(f"{rule.id}  {result}  {rule.name}: {text}")
        for problem in problems:
            show(f"    {rule.file}:{rule.region.line}: {problem}")
    return FINDINGS if failures else CLEAN
