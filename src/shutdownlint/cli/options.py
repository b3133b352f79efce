"""Options that several commands have, in groups: each field of a group is an option."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import defstruct
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.cli.declarations import Argument, Option, OptionGroup
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.registry import mesh_names
from shutdownlint.platforms.user_facts import (
    ENVIRONMENT,
    USER_FACTS,
    AppFacts,
    FactType,
    MeshFact,
    UserFact,
    parse_mesh,
)
from shutdownlint.platforms.versions import Version

# The parts of a command's help.
FILES: Final = "What to read"
RULES: Final = "What to report"
FIXES: Final = "What to change"
OUTPUT: Final = "How to print"


def parse_duration(text: str) -> Any:
    """Return a duration of the command line, such as 10s. Raises ``ValueError``."""
    try:
        duration = go_duration(text)
    except ValueError as error:
        raise ValueError(f"{error} (write for example 10s, 500ms or 1m30s)") from None
    if duration.total_seconds() < 0:
        raise ValueError("must not be negative")
    return duration


def _parse_amount(text: str) -> float:
    amount = float(text)
    if not 0 <= amount <= limits.MAX_RATE:
        raise ValueError(f"{text}: a number from 0 to {limits.MAX_RATE:,}")
    return amount


def _parse_mesh(text: str) -> MeshFact:
    return parse_mesh(text, mesh_names())


def choice(name: str, values: Sequence[str]) -> Any:
    """Return a type of options that take one of these values."""
    return StrEnum(name, [(value, value) for value in values])


if TYPE_CHECKING:

    class Color(StrEnum):
        auto = "auto"
else:
    Color = choice("Color", ["auto", "always", "never"])


class EnvironmentOptions(OptionGroup):
    """Settings that manifests do not show."""

    kubernetes_version: Annotated[
        Any,
        Option(
            panel=ENVIRONMENT,
            metavar="VERSION",
            parse=Version.parse,
            help="The cluster's version, such as 1.33. Default: what the manifests show, else any "
            "version (findings then name the versions that they hold for).",
        ),
    ] = None
    mesh: Annotated[
        list[Any] | None,
        Option(
            panel=ENVIRONMENT,
            metavar="NAME[=VERSION]",
            parse=_parse_mesh,
            help=f"The mesh of the pods: {', '.join(mesh_names())} or none. Also applies to "
            "namespaces that are not in the files. The version applies to all pods of that mesh. "
            "Repeatable. Default: what the manifests show.",
        ),
    ] = None
    namespace: Annotated[
        str | None,
        Option(
            panel=ENVIRONMENT,
            metavar="NAME",
            help="The namespace of manifests that write none, as with kubectl apply --namespace.",
        ),
    ] = None
    istio_version: Annotated[
        Any,
        Option(
            hidden=True,
            panel=ENVIRONMENT,
            metavar="VERSION",
            parse=Version.parse,
            help="Istio's version, such as 1.26; it puts no pod into the mesh. Default: what the "
            "manifests show.",
        ),
    ] = None
    measured: Annotated[
        list[str] | None,
        Option(
            panel=ENVIRONMENT,
            metavar="FILE",
            help="A file of shutdownlint measure: how long requests and endpoints take. "
            "Repeatable.",
        ),
    ] = None
    images: Annotated[
        list[str] | None,
        Option(
            panel=ENVIRONMENT,
            metavar="FILE",
            help="A file of shutdownlint images: what images start. Repeatable.",
        ),
    ] = None


def _fact_option(fact: UserFact) -> Any:
    """Return the declaration of a fact's option."""
    duration = fact.type is FactType.DURATION
    option = Option(
        panel=fact.panel,
        metavar="DURATION" if duration else "N",
        parse=parse_duration if duration else _parse_amount,
        help=fact.option,
    )
    annotated: Any = Annotated
    return annotated[Any, option]


def with_facts(group: type[OptionGroup], panel: str) -> Any:
    """Return a group of options, with those of the user's facts in this part of the help."""
    facts = [fact for fact in USER_FACTS if fact.option and fact.panel == panel]
    fields = [(fact.name, _fact_option(fact), None) for fact in facts]
    made = defstruct(group.__name__, fields, bases=(group,), kw_only=True)
    made.__annotations__ = {**group.__annotations__, **made.__annotations__}
    return made


def facts_in(*groups: OptionGroup) -> Iterator[AppFacts]:
    """Yield the facts that options state of all apps, each with its option as the source."""
    for fact in USER_FACTS:
        for group in groups:
            value = getattr(group, fact.name, None)
            if value is not None:
                label = f"--{fact.written}"
                yield replace(AppFacts("*", source_label=label), **{fact.name: value})


if not TYPE_CHECKING:
    EnvironmentOptions = with_facts(EnvironmentOptions, ENVIRONMENT)


class ScreenOptions(OptionGroup):
    """The appearance of a text report."""

    color: Annotated[
        Color,
        Option(
            panel=OUTPUT,
            help="Whether text is coloured; auto: on a terminal. NO_COLOR and FORCE_COLOR are "
            "respected.",
        ),
    ] = Color.auto


class FileOptions(OptionGroup):
    """The files to read, and the way to read them."""

    context: Annotated[
        list[str] | None,
        Option(
            panel=FILES,
            metavar="PATH",
            help="Files read for context only (namespaces, mesh configuration), not linted.",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        Option(
            panel=FILES,
            metavar="PATTERN",
            help="Files to exclude, as shell patterns, such as '*/testdata/*'.",
        ),
    ] = None
    respect_gitignore: Annotated[
        bool | None,
        Option(
            names=("--respect-gitignore/--no-respect-gitignore",),
            hidden=True,
            panel=FILES,
            help="Leave out what git ignores below the paths. A path of the command line is read "
            "in any case.  \\[default: respect-gitignore]",
        ),
    ] = None
    stdin_filename: Annotated[
        str | None,
        Option(
            panel=FILES,
            metavar="FILE",
            help="What standard input (-) is called in reports.",
        ),
    ] = None
    cluster: Annotated[
        list[str] | None,
        Option(
            panel=FILES,
            metavar="CONTEXT",
            help="Read what a cluster runs, by a context of your kubeconfig ('current' for the "
            "current one, 'in-cluster' in a pod); repeatable. Only lists are asked for, never "
            "Secrets.",
        ),
    ] = None
    allow_exec: Annotated[
        bool,
        Option(
            panel=FILES,
            help="With --cluster: the kubeconfig may run its program for credentials.",
        ),
    ] = False
    as_pod: Annotated[
        bool,
        Option(
            panel=FILES,
            help="Take a list of containers, or a pod spec without a kind, as a pod.",
        ),
    ] = False
    render: Annotated[
        bool,
        Option(
            panel=FILES,
            help="Render the charts and kustomizations below the paths with your helm, kustomize "
            "or kubectl, as the configuration describes it.",
        ),
    ] = False
    allow_network: Annotated[
        bool,
        Option(
            panel=FILES,
            help="With --render: kustomizations may fetch remote resources and charts.",
        ),
    ] = False
    values: Annotated[
        list[str] | None,
        Option(
            panel=FILES,
            metavar="FILE",
            help="A values file for the charts; repeatable, later files override earlier ones.",
        ),
    ] = None
    set_values: Annotated[
        list[str] | None,
        Option(
            names=("--set",),
            panel=FILES,
            metavar="KEY=VALUE",
            help="A value for the charts, as helm takes it; repeatable.",
        ),
    ] = None
    release: Annotated[
        str | None,
        Option(
            hidden=True,
            panel=FILES,
            metavar="NAME",
            help="The name of the charts' release. Default: the name of the chart's folder.",
        ),
    ] = None
    config: Annotated[
        str | None,
        Option(
            panel=FILES,
            metavar="FILE",
            help="Configuration file. Default: the nearest shutdownlint.toml, or pyproject.toml "
            "with \\[tool.shutdownlint].",
        ),
    ] = None
    isolated: Annotated[
        bool,
        Option(
            panel=FILES,
            help="Ignore configuration files, and the suppressions in the checked files.",
        ),
    ] = False
    debug: Annotated[
        bool,
        Option(hidden=True, panel=OUTPUT, help="Show internal errors in full."),
    ] = False


Paths = Annotated[
    list[str] | None,
    Argument(
        metavar="[PATH]...",
        help="Files and folders of Kubernetes YAML or JSON; - is standard input. Default: the "
        "current folder.",
    ),
]
PathsAndWorkload = Annotated[
    list[str] | None,
    Argument(
        metavar="[PATH]... [WORKLOAD]",
        help="Files and folders, and last, optionally, a workload: checkout, shop/checkout or "
        "Deployment/shop/checkout (shell patterns work).",
    ),
]
OutputFile = Annotated[
    str | None,
    Option(
        names=(
            "--output",
            "-o",
        ),
        panel=OUTPUT,
        metavar="FILE",
        help="Write the report to a file.",
    ),
]

#: The option of commands with one report; each has its own formats.
FORMAT_OPTION: Final[Any] = Option(
    names=("--format",),
    panel=OUTPUT,
    help="Output format.  \\[default: text]",
)
