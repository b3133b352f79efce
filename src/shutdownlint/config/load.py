"""``shutdownlint.toml``, or ``[tool.shutdownlint]`` in pyproject.toml: its form and reading."""

from __future__ import annotations

import os
from datetime import date  # noqa: TC003 - the library reads it
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from msgspec.structs import replace
from pydantic import (
    BeforeValidator,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)

from shutdownlint import files, limits
from shutdownlint.config import Config, ConfigError, ConfigPattern
from shutdownlint.config.forms import (
    OPTIONAL_TEXT,
    DurationText,
    Form,
    PatternText,
    TomlFile,
    read_form,
    read_toml,
)
from shutdownlint.config.images import load_images
from shutdownlint.config.measured import load_measured
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.selection import PathRules, RuleSelection
from shutdownlint.linter.owners import Owners
from shutdownlint.manifests.discovery import display_path, find_repository
from shutdownlint.manifests.suppressions import Suppression
from shutdownlint.platforms.registry import mesh_names
from shutdownlint.platforms.user_facts import (
    USER_FACTS,
    AppFacts,
    FactType,
    MeshFact,
    UserFact,
    parse_mesh,
)
from shutdownlint.platforms.versions import Version
from shutdownlint.programs.errors import ProgramFileError
from shutdownlint.programs.record_file import load_folder
from shutdownlint.rendering.targets import RenderOptions, RenderTarget
from shutdownlint.shutdown.pod_plan import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta

    from shutdownlint.programs.record import Program


def _version(value: Any) -> Version:
    if not isinstance(value, str):
        raise ValueError("must be a version in quotes, such as '1.33'")
    return Version.parse(value)


def _mesh(value: Any) -> MeshFact:
    if not isinstance(value, str):
        raise ValueError("must be a mesh in quotes, such as 'istio=1.26', or 'none'")
    return parse_mesh(value, mesh_names())


def _meshes(value: Any) -> list[MeshFact]:
    return [_mesh(item) for item in (value if isinstance(value, list) else [value])]


_Version = Annotated[Version | None, BeforeValidator(_version), OPTIONAL_TEXT]


_Mesh = Annotated[MeshFact, BeforeValidator(_mesh), WithJsonSchema({"type": "string"})]
_Meshes = Annotated[
    list[MeshFact],
    BeforeValidator(_meshes),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
_RuleName = Annotated[str, Field(min_length=1)]
_Amount = Annotated[float, Field(gt=0, le=limits.MAX_RATE, allow_inf_nan=False)] | None


class Matching(Form):
    """An entry about what matches a shell pattern."""

    match: PatternText


class NamespaceForm(Matching):
    """Facts about the namespaces that match a shell pattern."""

    match: PatternText = Field(description="A namespace, with * and ?.")
    mesh: _Mesh = Field(description="Their mesh: 'istio', 'istio=1.26', 'linkerd=2.18', 'none'.")


def _key_type(fact: UserFact) -> Any:
    """Return the type of a fact's key."""
    if fact.type is FactType.DURATION:
        return DurationText
    if fact.type is FactType.AMOUNT:
        return _Amount
    if fact.type is FactType.FLAG:
        return bool | None
    words: Any = Literal
    return words[fact.values] | None


def _form_of_facts(name: str, base: type[Form], texts: Mapping[str, str]) -> Any:
    """Return a form with the keys of the user's facts, each with its text."""
    fields: dict[str, Any] = {
        fact.config_key: (
            _key_type(fact),
            Field(
                default=None,
                description=texts[fact.name],
                examples=[fact.example] if fact.example else None,
            ),
        )
        for fact in USER_FACTS
        if texts.get(fact.name)
    }
    return create_model(name, __base__=base, **fields)


if TYPE_CHECKING:

    class _WorkloadFacts(Matching):
        """Keys of the user's facts about workloads."""

        app: str | None
        drain: timedelta | None

    class _FactsOfAll(Form):
        """Keys of the user's facts about all workloads."""
else:
    _WorkloadFacts = _form_of_facts(
        "_WorkloadFacts", Matching, {fact.name: fact.description for fact in USER_FACTS}
    )
    _FactsOfAll = _form_of_facts(
        "_FactsOfAll", Form, {fact.name: fact.everywhere for fact in USER_FACTS}
    )


class WorkloadForm(_WorkloadFacts):
    """Facts about the workloads that match ``Kind/namespace/name`` (shell patterns)."""

    match: PatternText = Field(
        description="Kind/namespace/name, with * and ?; what is left out is any."
    )
    ignore: list[_RuleName] = Field(
        default_factory=list,
        description="Rules (ids or prefixes) that are suppressed for them; needs a reason.",
    )
    container: str | None = Field(default=None, description="Suppressed in this container only.")
    until: date | None = Field(default=None, description="The last day of the suppression.")
    reason: str = Field(default="", description="Why it is suppressed; reports show it.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.app == "lingering" and self.drain is None:
            raise ValueError("app = 'lingering' needs drain: how long it still accepts")
        if self.ignore and not self.reason.strip():
            raise ValueError("ignore needs a reason")
        if not self.ignore and (self.container is not None or self.until is not None):
            raise ValueError("container and until belong to ignore")
        if self.match.count("/") > 2:
            raise ValueError("match is Kind/namespace/name, kind and namespace may be left out")
        return self


class RenderForm(Form):
    """The rendering of a chart or kustomization for one environment."""

    path: str = Field(description="The folder of the chart or kustomization.")
    name: str = Field(
        default="", description="The environment, where there are several: each is a variant."
    )
    release: str | None = Field(default=None, description="The name of the release.")
    namespace: str | None = Field(default=None, description="The namespace of the release.")
    values: list[str] = Field(default_factory=list, description="Values files, the last one wins.")
    set: list[str] = Field(default_factory=list, description="Single values: 'replicas=2'.")


class PathForm(Matching):
    """The settings for the files that match a shell pattern."""

    match: PatternText = Field(description="Files and folders, with * and ?, as for exclude.")
    ignore: list[_RuleName] = Field(
        default_factory=list, description="Rules that are not reported for them."
    )
    severity: dict[str, Severity] = Field(
        default_factory=dict, description="Another severity for a rule, by its id or name."
    )
    owner: str = Field(default="", description="The team that reports name for them.")


class ConfigForm(_FactsOfAll):
    """All settings of a configuration file."""

    kubernetes_version: _Version = Field(
        examples=["1.33"], default=None, description="The cluster's version: '1.33'."
    )
    istio_version: _Version = Field(
        examples=["1.26"],
        default=None,
        description="The version of Istio: '1.27'; short for mesh = 'istio=1.27'.",
    )
    mesh: _Meshes = Field(
        examples=[["istio=1.26"]],
        default_factory=list,
        description="Meshes of the cluster, as --mesh takes them: ['istio=1.26', 'linkerd'].",
    )
    namespace: str | None = Field(
        examples=["shop"], default=None, description="The namespace of manifests that write none."
    )
    select: list[_RuleName] = Field(
        examples=[["SL1", "SL2"]],
        default_factory=list,
        description="Only these rules (ids or prefixes).",
    )
    ignore: list[_RuleName] = Field(
        examples=[["SL184"]],
        default_factory=list,
        description="All but these rules (ids or prefixes).",
    )
    fail_on: Literal["error", "warning", "note", "never"] = Field(
        examples=["error"],
        default="warning",
        description="Minimum severity that makes the exit code 1.",
    )
    notes: bool = Field(
        examples=[True], default=False, description="Whether notes are reported too."
    )
    min_confidence: Confidence = Field(
        examples=["high"],
        default=Confidence.LOW,
        description="Findings of a lower confidence are only counted.",
    )
    respect_gitignore: bool = Field(
        examples=[False], default=True, description="Whether what git ignores is left out."
    )
    owner_label: str = Field(
        examples=["team"],
        default="",
        description="The label or annotation that names a workload's team.",
    )
    paths: list[PathForm] = Field(
        max_length=limits.MAX_CONFIGURATION_ENTRIES,
        examples=[[{"match": "teams/payments/*", "owner": "payments", "ignore": ["SL184"]}]],
        default_factory=list,
        description="What holds for some of the files.",
    )
    context: list[str] = Field(
        examples=[["../mesh"]],
        default_factory=list,
        description="Files and folders that are read for context only, not linted.",
    )
    exclude: list[PatternText] = Field(
        max_length=limits.MAX_CONFIGURATION_ENTRIES,
        examples=[["*/testdata/*"]],
        default_factory=list,
        description="Files that are excluded, with * and ?.",
    )
    suffixes: list[PatternText] = Field(
        examples=[[".golden"]],
        default_factory=list,
        description="Endings that are read besides .yaml, .yml and .json.",
    )
    render: bool | list[RenderForm] = Field(
        examples=[[{"path": "charts/shop", "release": "shop", "values": ["values-prod.yaml"]}]],
        default=False,
        description="How charts and kustomizations are rendered, or whether they are.",
    )
    values: list[str] = Field(
        examples=[["values-prod.yaml"]],
        default_factory=list,
        description="Values files for the charts, the last one wins.",
    )
    rules: list[str] = Field(
        examples=[["our-rules"]],
        default_factory=list,
        description="Folders of your own rule files.",
    )
    images: list[str] = Field(
        examples=[["images.toml"]],
        default_factory=list,
        description="Files of shutdownlint images.",
    )
    programs: list[str] = Field(
        examples=[["ops/programs"]],
        default_factory=list,
        description="Folders of your own records of programs.",
    )
    severity: dict[str, Severity] = Field(
        examples=[{"SL108": "warning"}],
        default_factory=dict,
        description="Another severity for a rule, by its id.",
    )
    workloads: list[WorkloadForm] = Field(
        max_length=limits.MAX_CONFIGURATION_ENTRIES,
        examples=[[{"match": "Deployment/shop/checkout", "p99": "10s"}]],
        default_factory=list,
        description="Facts about single workloads.",
    )
    measured: list[str] = Field(
        examples=[["measured.toml"]],
        default_factory=list,
        description="Files of shutdownlint measure.",
    )
    namespaces: list[NamespaceForm] = Field(
        max_length=limits.MAX_CONFIGURATION_ENTRIES,
        examples=[[{"match": "shop", "mesh": "istio=1.26"}]],
        default_factory=list,
        description="Facts about namespaces.",
    )


def load_config(path: Path, *, trusted: bool = False) -> Config:
    """Read a configuration file. Raises ``ConfigError``.

    One that is not ``trusted`` was found in the repository: it cannot turn rendering on, and paths
    that lead out of the repository are refused.
    """
    file = read_toml(path, ("tool", "shutdownlint") if path.name == "pyproject.toml" else ())
    form = read_form(ConfigForm, file)
    versions = {"kubernetes": form.kubernetes_version, "istio": form.istio_version}
    resolver = _PathResolver(path, trusted=trusted)
    measured = resolver.resolve("measured", form.measured)
    without_effect = form.render is True and not trusted
    return Config(
        versions={name: version for name, version in versions.items() if version is not None},
        meshes=(*map(_namespace_mesh, form.namespaces), *map(_mesh_of_file, form.mesh)),
        everywhere=_facts_of(AppFacts("*"), form),
        namespace=form.namespace,
        images=tuple(
            image
            for each in resolver.resolve("images", form.images)
            for image in load_images(Path(each))
        ),
        programs=tuple(_programs(resolver.resolve("programs", form.programs))),
        selection=RuleSelection(
            tuple(form.select),
            tuple(form.ignore),
            form.severity,
            form.notes,
            resolver.resolve("rules", form.rules),
            form.min_confidence.value,
            tuple(_path_rules(entry) for entry in form.paths if entry.ignore or entry.severity),
        ),
        fail_on=form.fail_on,
        context=resolver.resolve("context", form.context),
        render=_render_options(form, resolver, trusted=trusted),
        exclude=tuple(form.exclude),
        suffixes=tuple(s if s.startswith(".") else f".{s}" for s in form.suffixes),
        respect_gitignore=form.respect_gitignore,
        owners=Owners(
            form.owner_label,
            tuple((entry.match, entry.owner) for entry in form.paths if entry.owner),
        ),
        patterns=tuple(_patterns(form, file)),
        folder=display_path(os.path.relpath(path.parent)),
        apps=tuple(map(_app_facts, form.workloads)),
        measured=tuple(facts for each in measured for facts in load_measured(Path(each))),
        suppressions=tuple(_suppression(each) for each in form.workloads if each.ignore),
        ignored=(f"{path}: {_RENDER_IGNORED}",) if without_effect else (),
        refusals=tuple(resolver.refusals),
    )


def _patterns(form: ConfigForm, file: TomlFile) -> Iterator[ConfigPattern]:
    """Yield the patterns of the file that should match something."""
    tables: tuple[tuple[str, str, Sequence[Matching]], ...] = (
        ("workloads", "workload", form.workloads),
        ("namespaces", "namespace", form.namespaces),
        ("paths", "file", form.paths),
    )
    for table, kind, entries in tables:
        for number, entry in enumerate(entries):
            # A warning says whether a suppression is used.
            if not (isinstance(entry, WorkloadForm) and entry.ignore):
                yield ConfigPattern(file.place((table, number, "match")), entry.match, kind)


def _programs(folders: Iterable[str]) -> Iterator[Program]:
    for folder in folders:
        try:
            yield from load_folder(Path(folder)).values()
        except ProgramFileError as error:
            raise ConfigError(str(error)) from None


def _path_rules(form: PathForm) -> PathRules:
    return PathRules(form.match, tuple(form.ignore), form.severity)


def _render_options(form: ConfigForm, resolver: _PathResolver, *, trusted: bool) -> RenderOptions:
    """Return the rendering options. A list describes it; ``true`` in a trusted file enables it."""
    return RenderOptions(
        enabled=form.render is True and trusted,
        values=resolver.resolve("values", form.values),
        targets=tuple(
            RenderTarget(
                path,
                entry.name,
                entry.release,
                entry.namespace,
                resolver.resolve("render.values", entry.values),
                tuple(entry.set),
            )
            for entry in (form.render if isinstance(form.render, list) else ())
            for path in resolver.resolve("render.path", [entry.path])
        ),
    )


class _PathResolver:
    """Paths of a configuration file, which are relative to its folder, as the run opens them."""

    def __init__(self, file: Path, *, trusted: bool) -> None:
        self.file = file
        self.root = None if trusted else find_repository(file)
        self.refusals: list[str] = []

    def resolve(self, key: str, names: list[str]) -> tuple[str, ...]:
        """Return the paths of a setting; note those that lead out of the repository as refused."""
        found = []
        for name in names:
            if "\0" in name:
                raise ConfigError(f"{self.file}: {key}: {name!r} is no path")
            path = self.file.parent / name
            real = Path(files.real_path(path))
            if self.root is not None and not real.is_relative_to(self.root):
                text = f"{self.file}: {key}: {name} is outside of the repository and is not read"
                self.refusals.append(text)
                continue
            found.append(display_path(os.path.relpath(path)))
        return tuple(found)


def _namespace_mesh(form: NamespaceForm) -> MeshFact:
    return replace(form.mesh, namespace=form.match, source_label=_FROM_CONFIG)


def _mesh_of_file(fact: MeshFact) -> MeshFact:
    return replace(fact, source_label=_FROM_CONFIG)


def _suppression(form: WorkloadForm) -> Suppression:
    rules = tuple(rule.upper() for rule in form.ignore)
    return Suppression(rules, form.reason, form.until, container=form.container, pattern=form.match)


def _app_facts(form: WorkloadForm) -> AppFacts:
    facts = _facts_of(
        AppFacts(form.match, source_label=f"the configuration for {form.match}"), form
    )
    # "lingering" is graceful with a drain: it still accepts for that long.
    return replace(facts, behaviour="graceful") if form.app == "lingering" else facts


def _facts_of(facts: AppFacts, form: Form) -> AppFacts:
    """Return facts with those that a form states."""
    stated = {fact.name: getattr(form, fact.config_key, None) for fact in USER_FACTS}
    return replace(facts, **stated)


_FROM_CONFIG: Final = "the configuration"
_RENDER_IGNORED: Final = "render is ignored: it runs programs, so only --render turns it on"
