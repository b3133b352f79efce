"""The reports of other tools on the sixty mistakes: ``python -m tests.peers.others [--record]``.

Each runs with its defaults, on the sound manifest and on the one with the mistake; what it says more
of the second counts. Those that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from shutdownlint.engine.finding import Severity
from tests.helpers import check_text, user_facts
from tests.peers.mistakes import MISTAKES, Mistake

SEEN = Path(__file__).with_name("mistakes_seen.json")
OURS = "shutdownlint"
OURS_WITH_NOTES = "with --notes"
#: The schemas of Kubernetes, with unknown fields refused, as kubeconform -strict reads them.
SCHEMAS = "kubernetes-validate"
_VERSION = "1.33"
_One = Callable[[str, str | None], set[str]]
#: Texts by name, each with the version of Kubernetes that it is for.
_Texts = dict[str, tuple[str, str | None]]


def our_rules(text: str, kubernetes: str | None, *, notes: bool = False) -> set[str]:
    """Return what shutdownlint reports without any option but the version, or with notes."""
    facts = user_facts(kubernetes=kubernetes) if kubernetes else None
    found = check_text(text, facts).findings
    return {finding.rule for finding in found if notes or finding.severity is not Severity.NOTE}


def _with_notes(text: str, kubernetes: str | None) -> set[str]:
    return our_rules(text, kubernetes, notes=True)


def _run(command: list[str], text: str) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder, "shop.yaml")
        path.write_text(text)
        filled = [str(path) if word == "FILE" else word for word in command]
        return subprocess.run(filled, capture_output=True, text=True, check=False).stdout


def _kube_linter(text: str, _kubernetes: str | None) -> set[str]:
    reports = json.loads(_run(["kube-linter", "lint", "--format", "json", "FILE"], text))["Reports"]
    return {report["Check"] for report in reports or []}


def _kube_score(text: str, _kubernetes: str | None) -> set[str]:
    out = _run(["kube-score", "score", "--output-format", "json", "FILE"], text)
    try:
        scored = json.loads(out)
    except ValueError:
        return {"the run stops"}
    return {
        check["check"]["id"]
        for each in scored
        for check in each["checks"] or ()
        if not check["skipped"] and check["grade"] < 7
    }


def _kubernetes_validate(text: str, kubernetes: str | None) -> set[str]:
    from kubernetes_validate import (  # noqa: PLC0415 - it need not be installed
        SchemaNotFoundError,
        ValidationError,
        validate,
    )

    found = set()
    for document in yaml.safe_load_all(text):
        try:
            validate(document, kubernetes or _VERSION, strict=True)
        except ValidationError as error:
            found.add(f"{document['kind']}: {error.message}")
        except SchemaNotFoundError:
            continue
    return found


def _istioctl(text: str, _kubernetes: str | None) -> set[str]:
    out = _run(["istioctl", "analyze", "--use-kube=false", "-o", "json", "FILE"], text)
    # Text follows the JSON, and without messages there is nothing else.
    if not out.startswith("["):
        return set()
    return {message["code"] for message in json.JSONDecoder().raw_decode(out)[0]}


def _checkov(texts: _Texts) -> dict[str, set[str]]:
    """All files in one run: it takes seconds to start."""
    found: dict[str, set[str]] = {name: set() for name in texts}
    with _folder({name: text for name, (text, _) in texts.items()}) as (folder, names):
        command = ["checkov", "--framework", "kubernetes", "--quiet", "-o", "json", "-d", folder]
        out = subprocess.run(command, capture_output=True, text=True, check=False)
        for check in json.loads(out.stdout)["results"]["failed_checks"]:
            found[names[Path(check["file_path"]).name]].add(check["check_id"])
    return found


@contextmanager
def _folder(texts: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Create a folder with a file for each text, and map the names of files to those of texts."""
    with TemporaryDirectory() as folder:
        names = {f"{number}.yaml": name for number, name in enumerate(texts)}
        for file, name in names.items():
            Path(folder, file).write_text(texts[name])
        yield folder, names


def _one_by_one(check: _One) -> Callable[[_Texts], dict[str, set[str]]]:
    return lambda texts: {name: check(*given) for name, given in texts.items()}


#: By the program's name: what it reports of each text, for a version of Kubernetes.
PEERS: dict[str, Callable[[_Texts], dict[str, set[str]]]] = {
    "kube-linter": _one_by_one(_kube_linter),
    "kube-score": _one_by_one(_kube_score),
    SCHEMAS: _one_by_one(_kubernetes_validate),
    "checkov": _checkov,
    "istioctl": _one_by_one(_istioctl),
}


def installed() -> list[str]:
    """Return the peers that can be run here."""
    is_installed = {SCHEMAS: find_spec("kubernetes_validate") is not None}
    return [name for name in PEERS if is_installed.get(name) or shutil.which(name)]


def ask(mistakes: Iterable[Mistake], peer: str) -> dict[str, list[str]]:
    """Return what a peer reports of each mistake beyond what it reports of the sound manifest."""
    own = {OURS: our_rules, OURS_WITH_NOTES: _with_notes}
    check = _one_by_one(own[peer]) if peer in own else PEERS[peer]
    wanted = list(mistakes)
    sound = {f"{each.sound}{each.kubernetes}": (each.sound, each.kubernetes) for each in wanted}
    found = check({**sound, **{each.title: (each.text, each.kubernetes) for each in wanted}})
    return {
        each.title: sorted(found[each.title] - found[f"{each.sound}{each.kubernetes}"])
        for each in wanted
    }


def table(seen: dict[str, dict[str, list[str]]]) -> str:
    """Return the table of docs/comparison.md."""
    names, own = list(PEERS), (OURS, OURS_WITH_NOTES)
    heads = (*own, *names)
    lines = [f"| mistake | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    for number, (title, found) in enumerate(seen.items(), 1):
        rules = [", ".join(found[OURS])]
        rules.append(", ".join(rule for rule in found[OURS_WITH_NOTES] if rule not in found[OURS]))
        others = ("yes" if found.get(name) else "" for name in names)
        lines.append(f"| {number} {title} | {' | '.join((*rules, *others))} |")
    totals = (str(sum(bool(found.get(name)) for found in seen.values())) for name in heads)
    lines.append(f"| reported of {len(seen)} | {' | '.join(totals)} |")
    return "\n".join(lines)


def main() -> int:
    """Run the programs; exit 1 if one reports something else than what is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PEERS, action="append", help="ask these only")
    parser.add_argument("--record", action="store_true", help="store what they report")
    options = parser.parse_args()
    stored: dict[str, dict[str, list[str]]] = json.loads(SEEN.read_text())
    seen = {each.title: dict(stored.get(each.title, {})) for each in MISTAKES}
    wanted = [name for name in installed() if name in (options.only or PEERS)]
    for peer in (OURS, OURS_WITH_NOTES, *wanted):
        for title, found in ask(MISTAKES, peer).items():
            seen[title][peer] = found
    sys.stdout.write(f"{table(seen)}\n")
    sys.stderr.write(f"ran: {', '.join(wanted) or 'no peer'}\n")
    if options.record:
        SEEN.write_text(json.dumps(seen, indent=1) + "\n")
        return 0
    return int(seen != stored)


if __name__ == "__main__":
    sys.exit(main())
