"""``program``: what is known of programs, each one's page, and the tests of records."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shutdownlint.cli.declarations import Argument, Option
from shutdownlint.cli.options import FileOptions
from shutdownlint.cli.output import CLEAN, FINDINGS, show, show_page, usage_error
from shutdownlint.cli.session import Session, rule_errors
from shutdownlint.programs.known import load_bundled, with_bundled
from shutdownlint.programs.record_file import load_folder
from shutdownlint.reports.program_page import describe_signal, program_page
from shutdownlint.wording import did_you_mean, plural

if TYPE_CHECKING:
    from shutdownlint.programs.record import Program


def command(
    *,
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="[PROGRAM]",
            help="A name, such as gunicorn; or a word, which lists the programs with it.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        Option(metavar="DIR", help="Test the records of a folder on their own examples."),
    ] = None,
    files: FileOptions,
) -> None:
    """Show what a program does at its stop signal; without a name, list all programs.

    Examples:

      shutdownlint program gunicorn

      shutdownlint program --test ops/programs
    """
    with rule_errors():
        if test is not None:
            raise SystemExit(_test(Path(test)))
        own = Session.of(files).config.programs
        _show(" ".join(words or ()).strip(), [*own, *load_bundled().values()])


def _show(name: str, programs: "list[Program]") -> None:
    if not name:
        _list(programs)
        return
    wanted = name.lower()
    found = [each for each in programs if wanted in _names(each)]
    if len(found) == 1:
        show_page(program_page(found[0]))
        return
    found = found or [each for each in programs if any(wanted in text for text in _texts(each))]
    if not found:
        hint = did_you_mean(name, [each.name for each in programs])
        raise usage_error(f"no program has this name or word: {name}{hint} (see program)")
    _list(found)


def _names(program: "Program") -> set[str]:
    return {program.name.lower(), *program.programs, *program.modules}


def _texts(program: "Program") -> list[str]:
    images = [image.name for image in program.images]
    settings = [n for each in program.settings for n in (*each.flags, *each.variables)]
    texts = [program.name, *program.programs, *program.modules, *images, *settings]
    return [text.lower() for text in (*texts, program.notes, *program.sources)]


def _list(programs: "list[Program]") -> None:
    for program in programs:
        first = next(iter(program.at_signal.values()), None)
        what = "settings only" if first is None else describe_signal(first)
        show(f"{program.name:<32} {what}")


def _test(folder: Path) -> int:
    """Test a folder's records; the exit code."""
    from shutdownlint.linter.program_examples import (  # noqa: PLC0415 - for tests only
        example_problems,
    )

    records = load_folder(folder)
    known = with_bundled(records.values())
    failures = 0
    for file, program in records.items():
        problems = list(example_problems(program, known))
        failures += len(problems)
        count = len(program.examples)
        text = plural(count, "example") if count else "no examples"
        result = "failed" if problems else "ok"
        show(f"{result}  {program.name}: {text}")
        for problem in problems:
            show(f"    {file}: {problem}")
    return FINDINGS if failures else CLEAN
