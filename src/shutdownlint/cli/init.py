"""``init``: a configuration to begin with, from what is in the repository."""

# No postponed annotations here: they are read as the program runs.
import datetime as dt
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w

from shutdownlint.cli.declarations import Argument, Option
from shutdownlint.cli.output import usage_error, warn, write_output
from shutdownlint.cli.questions import Answer, ask_all
from shutdownlint.cli.session import Session
from shutdownlint.config import CONFIG_NAMES, Config, find_config
from shutdownlint.config.forms import forms_in
from shutdownlint.config.load import ConfigForm
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.registry import PLATFORMS, mesh_choices, mesh_remedy
from shutdownlint.platforms.traffic import meshes_of
from shutdownlint.platforms.user_facts import pattern_of
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from shutdownlint.linter.result import PlannedRun
    from shutdownlint.platforms.planned_pod import PlannedPod

_MAX_WORKLOADS = 5
#: A list of texts, which is written in several lines.
_LIST = lazy_pattern(r'\[\n((?:  +"[^"\n]*",\n)+)\]')


def command(
    *,
    folder: Annotated[str, Argument(metavar="[FOLDER]", help="Where the manifests are.")] = ".",
    ask: Annotated[
        bool,
        Option(
            help="Ask for what no file shows: the mesh, the longest requests and jobs of the "
            "workloads with the most pods, and how long Services go on sending.",
        ),
    ] = False,
) -> None:
    """Write a commented shutdownlint.toml from what the folder holds.

    It is written to the current folder, and never over an existing one. What the manifests show
    (versions of meshes, the workloads) is filled in; the rest is there as comments.

    Examples:

      shutdownlint init k8s/

      shutdownlint init --ask k8s/
    """
    path = Path(CONFIG_NAMES[0])
    existing = find_config(Path.cwd())
    if existing is not None and existing.parent == Path.cwd():
        what = "has [tool.shutdownlint]" if existing.name == CONFIG_NAMES[-1] else "exists"
        raise usage_error(f"{existing.name} {what} already")
    if not Path(folder).is_dir():
        raise usage_error(f"{folder}: no such folder")
    if existing is not None:
        warn(f"{existing} is now shadowed by the new file")
    session = Session(Config())
    run = plan_workloads(session.read([folder]), session.options())
    answers: list[Answer] = []
    if ask and sys.stdin.isatty():
        answers = ask_all(run.pods, _ask)
    elif ask:
        warn("nothing is asked: standard input is no terminal")
    write_output(config_text(run, answers), str(path))
    warn(f"{path}: written; {plural(len(run.pods), 'workload')} found")


def _ask(question: str) -> str:
    """Ask at the terminal. The end of the input is no answer."""
    warn(question)
    return sys.stdin.readline()


def config_text(run: "PlannedRun", answers: "Sequence[Answer]" = ()) -> str:
    """Return the configuration: every setting with an example, what the manifests show, answers."""
    lines = [
        "# Configuration of shutdownlint. Every setting is here as an example: remove the # of",
        "# those that you need.",
        "",
    ]
    fields = {str(field.alias): field for field in ConfigForm.model_fields.values()}
    shown = {"mesh": list(_mesh_lines(run.pods)), "workloads": list(_workload_lines(run.pods))}
    shown["namespaces"] = list(_namespace_lines(run.pods))
    shown |= _answer_lines(answers)
    tables = [key for key, field in fields.items() if _is_table(field.examples)]
    for key in (*(key for key in fields if key not in tables), *tables):
        field = fields[key]
        lines += [f"# {line}" for line in textwrap.wrap(str(field.description), 96)]
        lines += shown.get(key) or [f"# {line}" for line in _example(key, field.examples)]
        others = _other_keys(field.annotation, field.examples) if key in tables else []
        if others:
            lines += [f"# {line}" for line in textwrap.wrap(f"More keys: {', '.join(others)}.", 96)]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _answer_lines(answers: "Sequence[Answer]") -> dict[str, list[str]]:
    """Return the lines of each key that was answered."""
    found: dict[str, list[str]] = {}
    today = dt.datetime.now(dt.UTC).date()
    for answer in answers:
        if answer.workload:
            reason = _quote(f"answered to init --ask, {today}")
            found.setdefault("workloads", []).extend(
                (
                    "[[workloads]]",
                    f"match = {_quote(answer.workload)}",
                    f"{answer.key} = {_quote(answer.value)}",
                    f"reason = {reason}",
                )
            )
        else:
            value = _quote(answer.value)
            found[answer.key] = [
                f"{answer.key} = {f'[{value}]' if answer.key == 'mesh' else value}"
            ]
    return found


def _example(key: str, examples: list[Any] | None) -> list[str]:
    """Return the lines of a setting with its example."""
    text = tomli_w.dumps({key: (examples or [""])[0]}, indent=2)
    short = _LIST.sub(lambda found: f"[{', '.join(found[1].split())}]".replace(",,", ","), text)
    return [line for line in short.replace(",]", "]").splitlines() if line]


def _other_keys(annotation: Any, examples: list[Any] | None) -> list[str]:
    """Return the keys of a table's entries that its example does not have."""
    shown = (examples or [[{}]])[0]
    first = shown[0] if isinstance(shown, list) else shown
    keys = [str(f.alias) for form in forms_in(annotation) for f in form.model_fields.values()]
    return [key for key in keys if key not in first]


def _is_table(examples: list[Any] | None) -> bool:
    """Whether a setting is written as a table, which comes after all that are not."""
    first = examples[0] if examples else None
    return isinstance(first, dict) or (isinstance(first, list) and isinstance(first[0], dict))


def _workload_lines(pods: "Sequence[PlannedPod]") -> Iterator[str]:
    """Entries for the first workloads."""
    planned = [pod for pod in pods if pod.plan is not None]
    if len(planned) > _MAX_WORKLOADS:
        yield f"# The first {_MAX_WORKLOADS} of {len(planned)}; a pattern names many."
    for pod in planned[:_MAX_WORKLOADS]:
        match = _quote(pattern_of(pod.id))
        yield from ("# [[workloads]]", f"# match = {match}", '# p99 = "10s"')


def _mesh_lines(pods: "Sequence[PlannedPod]") -> Iterator[str]:
    """Yield the lines on what the manifests show about each mesh."""
    found = False
    for entry in PLATFORMS:
        if not entry.mesh:
            continue
        versions = sorted(
            {str(pod.versions[entry.name]) for pod in pods if entry.name in pod.versions}
        )
        proxies = sum(entry.name in meshes_of(pod) for pod in pods)
        if versions:
            yield f"# The manifests show {entry.title} {', '.join(versions)}."
        elif proxies:
            pods_found = plural(proxies, "pod")
            yield f"# {pods_found} with a proxy of {entry.title}, whose version is not shown."
        else:
            continue
        found = True
        yield f'# mesh = ["{entry.name}={versions[0] if versions else "VERSION"}"]'
    if not found:
        yield "# No pod with a mesh proxy was found. If there is none, write:"
        yield '# mesh = ["none"]'


def _namespace_lines(pods: "Sequence[PlannedPod]") -> Iterator[str]:
    """Yield the namespaces whose mesh the manifests do not show."""
    missing = sorted(
        {
            pod.workload.namespace or "default"
            for pod in pods
            if pod.plan is not None and any(a.remedy == mesh_remedy() for a in pod.plan.assumptions)
        }
    )
    if not missing:
        yield from ("# [[namespaces]]", '# match = "shop"', '# mesh = "istio=1.26"')
    for namespace in missing[:_MAX_WORKLOADS]:
        yield f"# Namespace {namespace} is not among the files. Its mesh ({mesh_choices()}):"
        yield from ("# [[namespaces]]", f"# match = {_quote(namespace)}", '# mesh = "none"')


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
