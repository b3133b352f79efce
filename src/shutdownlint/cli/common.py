"""What a command was given: configuration, rules, files, the workload that is meant."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shutdownlint.cli.output import remark, stop
from shutdownlint.config import Config, ConfigError, find_config
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.suppress import ALWAYS
from shutdownlint.linter.linter import no_progress
from shutdownlint.manifests.discovery import SUFFIXES, discover
from shutdownlint.manifests.loader import InputSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.linter import Scene
    from shutdownlint.platforms.planner import Pod
    from shutdownlint.platforms.versions import Version


def configured(
    file: str | None,
    kubernetes: Version | None,
    istio: Version | None,
    context: list[str] | None,
    exclude: list[str] | None,
    render: bool = False,
    values: list[str] | None = None,
) -> Config:
    path = Path(file) if file is not None else find_config(Path.cwd())
    config = Config()
    if path is not None:
        from shutdownlint.config.load import load_config  # noqa: PLC0415 - needs pydantic

        try:
            config = load_config(path)
        except ConfigError as error:
            raise stop(str(error)) from None
    config.kubernetes = kubernetes or config.kubernetes
    config.istio = istio or config.istio
    config.context += context or []
    config.exclude += exclude or []
    config.render = config.render or render
    config.values += values or []
    return config


def rules_for(config: Config) -> list[Rule]:
    from shutdownlint.engine.cache import load_cached_rules  # noqa: PLC0415
    from shutdownlint.engine.rule import RuleFileError, bundled_folder, merge_rules  # noqa: PLC0415

    try:
        rules = load_cached_rules(bundled_folder())
        for folder in config.rules:
            rules = merge_rules(rules, load_cached_rules(Path(folder)))
    except RuleFileError as error:
        raise stop(str(error)) from None
    for name in (*config.select, *config.ignore, *config.severities):
        if not any(rule.id.startswith(name.upper()) for rule in rules):
            raise stop(f"no rule is called {name} or begins so ('shutdownlint rule' lists them)")
    return [rule for rule in rules if _asked(rule, config)]


def listed(names: list[str] | None) -> list[str]:
    """Rules as people list them: several options, or commas."""
    return [name.strip() for given in names or () for name in given.split(",") if name.strip()]


def _asked(rule: Rule, config: Config) -> bool:
    if rule.id in ALWAYS:
        return True
    severity = config.severities.get(rule.id, rule.severity)
    return config.selects(rule.id) and (config.notes or severity is not Severity.NOTE)


def sources_of(paths: list[str], config: Config) -> Iterator[InputSource]:
    suffixes = (*SUFFIXES, *config.suffixes)
    if config.render:
        from shutdownlint.manifests.rendering import is_kustomization, rendered  # noqa: PLC0415

        for made in rendered([path for path in paths if path != "-"], config.values):
            yield InputSource(made)
        # What a kustomization is made of is in its rendering.
        paths = [path for path in paths if not is_kustomization(path)]
    for found in discover(paths, exclude=config.exclude, suffixes=suffixes):
        yield InputSource(found)
    for found in discover(config.context, exclude=config.exclude, suffixes=suffixes):
        yield InputSource(found, context=True)


@contextlib.contextmanager
def progress(
    paths: list[str], config: Config
) -> Iterator[tuple[Iterator[InputSource], Callable[[], None]]]:
    """The run's files, with a progress bar on stderr where the run is long and somebody watches."""
    sources = sources_of(paths, config)
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield sources, no_progress
        return
    listed = list(sources)
    if len(listed) < 500:
        yield iter(listed), no_progress
        return
    from rich.console import Console  # noqa: PLC0415 - only for a person at a terminal
    from rich.progress import Progress  # noqa: PLC0415

    # No thread draws it: one that holds a lock would stand in the way of a second process.
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("reading", total=len(listed))
        own, done = os.getpid(), itertools.count(1)

        def on_file() -> None:
            if os.getpid() == own:
                bar.advance(task)
                if next(done) % 50 == 0:
                    bar.refresh()

        yield iter(listed), on_file


def workload_last(paths: list[str]) -> tuple[list[str], str | None]:
    """The last argument is a workload if it is no path that exists."""
    last = paths[-1]
    if last == "-" or Path(last).exists() or (len(paths) == 1 and last.endswith(tuple(SUFFIXES))):
        return paths, None
    return paths[:-1] or ["."], last


def pods_of(scene: Scene, wanted: str | None) -> list[Pod]:
    """The pods that are meant; what could not be read, or was assumed, is told."""
    for unreadable in scene.reading.unreadable:
        remark(f"{unreadable.region}: {unreadable.reason}")
    for assumed in scene.remarks:
        remark(assumed)
    return [pod for pod in scene.pods if wanted is None or _matches(pod.id, wanted)]


def tell_none(given: list[str], wanted: str | None) -> None:
    """Say that no workload was found."""
    what = "no complete pod template" if wanted is None else f"no workload matches {wanted}"
    remark(f"{what} in {', '.join(given)}")


def _matches(workload: Any, wanted: str) -> bool:
    from shutdownlint.platforms.user_facts import AppFacts  # noqa: PLC0415

    parts = wanted.split("/")
    if len(parts) == 2 and AppFacts(f"{parts[0]}/*/{parts[1]}").matches(workload):
        return True
    return AppFacts(wanted).matches(workload)
