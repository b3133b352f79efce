"""The first steps of every command: configuration, files, progress, selected workloads."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint import files, limits
from shutdownlint.cli.options import EnvironmentOptions, FileOptions, facts_in
from shutdownlint.cli.output import usage_error, warn
from shutdownlint.config import Config, ConfigError, ConfigPattern, find_config
from shutdownlint.engine.errors import RuleError
from shutdownlint.linter.linter import check, plan_workloads
from shutdownlint.linter.options import LintOptions, no_progress
from shutdownlint.linter.read import read
from shutdownlint.manifests.discovery import (
    STDIN,
    STDIN_NAME,
    SUFFIXES,
    FileSearch,
    is_excluded,
)
from shutdownlint.manifests.inputs import Inputs
from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.programs.errors import ProgramFileError
from shutdownlint.repository_root import find_repository_root
from shutdownlint.wording import did_you_mean, internal_error, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.linter.result import LintResult, PlannedRun
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.reader import ReadStats
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.workload_index import WorkloadEntry
    from shutdownlint.programs.images import ImageConfig

_Entry = TypeVar("_Entry")
T = TypeVar("T")
#: From so many files on a progress bar is shown.
_LONG_RUN = 500
_REFRESH_EVERY = 50


class Selected(Struct, frozen=True):
    """The workloads that a command is about, with the run that planned them."""

    run: "PlannedRun"
    pods: "list[PlannedPod]"
    folders: list[str]
    wanted: str | None

    def warn_no_match(self) -> None:
        """Warn that there is none, with what was skipped."""
        workloads = [pod.id for pod in self.run.pods]
        warn_no_match(self.folders, self.wanted, workloads, self.run.stats)


class Made(list[T]):
    """What was made of the pods of a run; ``complete``: of each of them."""

    complete = True


class Session(Struct, frozen=True):
    """The configuration with the options of a command, and its files."""

    config: Config
    stdin_name: str = STDIN_NAME
    debug: bool = False
    isolated: bool = False
    as_pod: bool = False
    #: Contexts of the kubeconfig, and whether it may run programs.
    clusters: tuple[str, ...] = ()
    allow_exec: bool = False

    @classmethod
    def of(cls, given: FileOptions, environment: EnvironmentOptions | None = None) -> "Session":
        """Read the configuration. Raises the exit of a usage error."""
        isolated = given.isolated and given.config is None
        config = Config() if isolated else _load_config(given.config)
        config = _with_files(config, given)
        if environment is not None:
            config = _with_environment(config, environment)
        return cls(
            config,
            given.stdin_filename or STDIN_NAME,
            given.debug,
            given.isolated,
            given.as_pod,
            tuple(given.cluster or ()),
            given.allow_exec,
        )

    def with_config(self, config: Config) -> "Session":
        """Return the session with another configuration."""
        return replace(self, config=config)

    def options(self, on_file: Callable[[], None] = no_progress) -> LintOptions:
        """Return the options of a run."""
        config = self.config
        return LintOptions(
            config.user_facts(),
            config.selection,
            on_file,
            debug=self.debug,
            isolated=self.isolated,
            search=self.search,
        )

    @property
    def search(self) -> FileSearch:
        """The search for files below folders."""
        config = self.config
        suffixes = (*SUFFIXES, *config.suffixes)
        return FileSearch(tuple(config.exclude), suffixes, config.respect_gitignore)

    def read(self, paths: list[str]) -> Inputs:
        """Find the files of a run, those for context only, and the renderings."""
        config = self.config
        if self.clusters and paths == ["."]:
            paths = []  # it is the default, not an argument
        _require_paths(paths, "")
        _require_paths(config.context, "context: ")
        inputs = read(paths, self.search, context=config.context, stdin_name=self.stdin_name)
        inputs = self._with_clusters(inputs)
        if self.as_pod:
            from shutdownlint.manifests.snippets import as_pods  # noqa: PLC0415 - seldom used

            inputs = as_pods(inputs)
        render = config.render
        if not render.enabled:
            return inputs
        from shutdownlint.rendering.sources import add_renderings  # noqa: PLC0415 - seldom used

        kubernetes = config.versions.get("kubernetes")
        options = replace(
            render,
            namespace=config.namespace,
            exclude=config.exclude,
            kubernetes=str(kubernetes) if kubernetes is not None else None,
        )
        return add_renderings(inputs, paths, options)

    def _with_clusters(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the objects of the clusters that the command line names."""
        if not self.clusters:
            return inputs
        from shutdownlint import cluster  # noqa: PLC0415 - seldom used

        files.disable_caching("it asks a cluster")
        try:
            found = [*cluster.read_clusters(self.clusters, allow_exec=self.allow_exec)]
        except cluster.ClusterError as error:
            raise usage_error(str(error)) from None
        sources = (source for each in found for source in each.sources)
        return replace(inputs, sources=(*inputs.sources, *sources))

    def warn_unmatched(self, paths: list[str], entries: "Iterable[WorkloadEntry]") -> None:
        """Warn about patterns of the configuration that match nothing of a whole run.

        A run over some of the files shows nothing about them.
        """
        config = self.config
        if not any(_is_below(config.folder, path) for path in paths):
            return
        known = _Names(entries)
        unmatched = [each for each in config.patterns if not known.match(each)]
        if not known.entries:
            return
        for each in unmatched[: limits.MAX_SUGGESTIONS]:
            hint = did_you_mean(each.pattern, known.of_kind(each.kind))
            warn(f"{each.place}: {each.pattern} matches no {each.kind}{hint}")
        more = len(unmatched) - limits.MAX_SUGGESTIONS
        if more > 0:
            entries_left = plural(more, "more entry", "more entries")
            warn(f"{entries_left} of the configuration match nothing")

    def plan(self, paths: list[str] | None) -> "Selected":
        """Plan the workloads of the paths, and select those that the last argument names."""
        folders, wanted = split_workload_argument(paths or ["."])
        with self.progress(folders) as (inputs, options):
            run = plan_workloads(inputs, options)
        warn_about_run(run.stats, run.warnings)
        pods = [pod for pod in run.pods if matches_argument(pod.id, wanted)]
        return Selected(run, pods, folders, wanted)

    def each(self, pods: "Iterable[PlannedPod]", make: Callable[["PlannedPod"], T]) -> Made[T]:
        """Return what is made of each pod. One that fails unforeseen is named and left out."""
        made: Made[T] = Made()
        for pod in pods:
            try:
                made.append(make(pod))
            except Exception as error:
                if self.debug:
                    raise
                warn(f"{pod.title}: {internal_error(error)} ({pod.ref.region()})")
                made.complete = False
        return made

    def check(self, selected: Selected) -> "LintResult":
        """Return the result of a check of the planned files, with the configured rules."""
        with rule_errors():
            return check(selected.run.inputs, self.options())

    @contextlib.contextmanager
    def progress(self, paths: list[str]) -> Iterator[tuple[Inputs, LintOptions]]:
        """Give the inputs and options, with a progress bar on stderr for a long, watched run."""
        inputs = self.read(paths)
        if not sys.stderr.isatty() or os.environ.get("CI") or len(inputs.sources) < _LONG_RUN:
            yield inputs, self.options()
            return
        from rich.console import Console  # noqa: PLC0415 - only for a person at a terminal
        from rich.progress import Progress  # noqa: PLC0415 - the same

        # Without a thread that refreshes it: the work is shared with copies of this process.
        with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
            task = bar.add_task("reading", total=len(inputs.sources))

            def advance() -> None:
                bar.advance(task)
                if bar.tasks[0].completed % _REFRESH_EVERY == 0:
                    bar.refresh()

            yield inputs, self.options(advance)


class _Names:
    """The names of a run's workloads, their namespaces and files, each made when it is needed."""

    def __init__(self, entries: "Iterable[WorkloadEntry]") -> None:
        self.entries = list(entries)
        self._found: dict[str, list[str]] = {}

    def of_kind(self, kind: str) -> list[str]:
        """Return the names that a pattern of a kind may match, or that people write for them."""
        if kind not in self._found:
            if kind == "workload":
                found = [name for entry in self.entries for name in _names_of(entry.id)]
            elif kind == "namespace":
                found = [entry.id.namespace or "default" for entry in self.entries]
            else:
                found = [entry.region.file for entry in self.entries]
            self._found[kind] = list(dict.fromkeys(found))
        return self._found[kind]

    def match(self, each: ConfigPattern) -> bool:
        """Whether a pattern matches something."""
        if each.kind == "workload":
            facts = AppFacts(each.pattern)
            return any(facts.matches(entry.id) for entry in self.entries)
        if each.kind == "namespace":
            return any(fnmatchcase(name, each.pattern) for name in self.of_kind(each.kind))
        return any(is_excluded(name, [each.pattern]) for name in self.of_kind(each.kind))


def _require_paths(paths: Sequence[str], what: str) -> None:
    """Reject paths that do not exist: a mistyped path must not look like a run without findings."""
    missing = [path for path in paths if path != STDIN and not files.is_there(path)]
    if missing:
        raise usage_error("; ".join(f"{what}{path}: no such file or folder" for path in missing))


def _is_below(folder: str, path: str) -> bool:
    """Whether a folder is the path, or in it."""
    if path == STDIN:
        return False
    return Path(files.real_path(folder)).is_relative_to(files.real_path(path))


def _names_of(workload: "ObjectId") -> tuple[str, ...]:
    """Return the ways in which people write a workload."""
    namespace = workload.namespace or "default"
    short = f"{namespace}/{workload.name}"
    return workload.name, short, f"{workload.kind}/{short}"


def _with_files(config: Config, given: FileOptions) -> Config:
    """Return the configuration with the options about files and renderings."""
    respect_gitignore = config.respect_gitignore
    if given.respect_gitignore is not None:
        respect_gitignore = given.respect_gitignore
    elif given.isolated:
        # What a pull request ignores is checked as well.
        respect_gitignore = False
    render = config.render
    return replace(
        config,
        context=(*config.context, *(given.context or ())),
        exclude=(*config.exclude, *(given.exclude or ())),
        respect_gitignore=respect_gitignore,
        render=replace(
            render,
            enabled=render.enabled or given.render,
            values=(*render.values, *(given.values or ())),
            settings=(*render.settings, *(given.set_values or ())),
            release=given.release,
            network=given.allow_network,
        ),
    )


def _with_environment(config: Config, environment: EnvironmentOptions) -> Config:
    """Return the configuration with what options say of the environment, which counts first."""
    versions = {
        "kubernetes": environment.kubernetes_version,
        "istio": environment.istio_version,
    }
    known = {name: version for name, version in versions.items() if version is not None}
    return replace(
        config,
        command_line=(*config.command_line, *facts_in(environment)),
        measured=(*_read_measured(environment.measured or []), *config.measured),
        images=(*_read_images(environment.images or []), *config.images),
        namespace=environment.namespace or config.namespace,
        meshes=(*(environment.mesh or ()), *config.meshes),
        versions={**config.versions, **known},
    )


def _read_measured(files: list[str]) -> list[AppFacts]:
    if not files:
        return []
    from shutdownlint.config.measured import load_measured  # noqa: PLC0415 - needs pydantic

    return _read_all(files, load_measured)


def _read_images(files: list[str]) -> "list[ImageConfig]":
    if not files:
        return []
    from shutdownlint.config.images import load_images  # noqa: PLC0415 - needs pydantic

    return _read_all(files, load_images)


def _read_all(files: list[str], load: Callable[[Path], list[_Entry]]) -> list[_Entry]:
    """Return the entries of files that options name; a mistake in one is a usage error."""
    try:
        return [entry for file in files for entry in load(Path(file))]
    except ConfigError as error:
        raise usage_error(str(error)) from None


def _load_config(file: str | None) -> Config:
    path = Path(file) if file is not None else find_config(Path.cwd())
    if path is None:
        return Config()
    if file is None and files.is_link(path):
        # One that is found in the repository is no way to read other files.
        real = Path(files.real_path(path))
        if not real.is_relative_to(find_repository_root(path.parent) or path.parent):
            raise usage_error(f"{path}: it is a link out of the repository, which is not followed")
    from shutdownlint.config.load import load_config  # noqa: PLC0415 - needs pydantic

    try:
        # A file that the command line names is trusted as the command line is.
        config = load_config(path, trusted=file is not None)
        for text in (*config.refusals, *config.ignored):
            warn(text)
        return config
    except ConfigError as error:
        raise usage_error(str(error)) from None


@contextlib.contextmanager
def rule_errors() -> Iterator[None]:
    """Report mistakes in rule files, names of rules and program records as usage errors."""
    try:
        yield
    except (RuleError, ProgramFileError) as error:
        raise usage_error(str(error)) from None


def split_commas(names: list[str] | None) -> list[str]:
    """Rules as people list them: in several options, or with commas."""
    return [name.strip() for each in names or () for name in each.split(",") if name.strip()]


def split_workload_argument(paths: list[str]) -> tuple[list[str], str | None]:
    """Return the paths, and the last argument where it is a workload: not a path that exists."""
    last = paths[-1]
    if last == "-" or Path(last).exists() or (len(paths) == 1 and last.endswith(tuple(SUFFIXES))):
        return paths, None
    return paths[:-1] or ["."], last


def warn_about_run(stats: "ReadStats", warnings: "Iterable[str]") -> None:
    """Warn about what could not be read, or was assumed."""
    for unreadable in stats.unreadable:
        warn(f"{unreadable.region}: {unreadable.reason}")
    for text in warnings:
        warn(text)


def warn_no_match(
    paths: list[str], wanted: str | None, workloads: "Iterable[ObjectId]", stats: "ReadStats"
) -> None:
    """Warn that no workload was found, with what was skipped."""
    what, hint = "no complete pod template", ""
    if wanted is not None:
        names = [name for workload in workloads for name in _names_of(workload)]
        what, hint = f"no workload matches {wanted}", did_you_mean(wanted, names)
    skipped = [f"{reason.text} ({count:,})" for reason, count in stats.skipped.most_common()]
    more = f"; skipped: {', '.join(skipped)}" if skipped else ""
    warn(f"{what} in {', '.join(paths)}{hint}{more}")


def matches_argument(workload: "ObjectId", wanted: str | None) -> bool:
    """Return whether the last argument selects a workload; without an argument, all match."""
    if wanted is None:
        return True
    parts = wanted.split("/")
    if len(parts) == 2 and AppFacts(f"{parts[0]}/*/{parts[1]}").matches(workload):
        return True
    return AppFacts(wanted).matches(workload)
