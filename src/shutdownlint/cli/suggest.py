"""``suggest``: the smallest set of settings that serves every request."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from shutdownlint.cli.common import (
    configured,
    pods_of,
    rules_for,
    sources_of,
    tell_none,
    workload_last,
)
from shutdownlint.cli.options import (
    KNOWN,
    P99,
    REPORT,
    ConfigFile,
    Context,
    Exclude,
    IstioVersion,
    KubernetesVersion,
    Render,
    Values,
    duration,
)
from shutdownlint.cli.output import INCOMPLETE, printed, remark, write
from shutdownlint.linter.linter import fix_files, read
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.loader import InputSource, replace_text_of


class SuggestFormat(StrEnum):
    """How suggestions are told."""

    TEXT = "text"
    DIFF = "diff"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


def command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]... [WORKLOAD]",
            help="Files and folders, and last, optionally, a workload (shell patterns work).",
            show_default=False,
        ),
    ] = None,
    p99: P99 = None,
    propagation: Annotated[
        Any,
        typer.Option(
            rich_help_panel=KNOWN,
            metavar="DURATION",
            parser=duration,
            help="How long new requests still arrive after the deletion. Default: 5s behind a "
            "Service, what its guide says behind a load balancer.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        SuggestFormat, typer.Option("--format", rich_help_panel=REPORT, help="How to tell it.")
    ] = SuggestFormat.TEXT,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", rich_help_panel=REPORT, metavar="FILE", help="Write it to a file."
        ),
    ] = None,
    render: Render = False,
    values: Values = None,
    kubernetes: KubernetesVersion = None,
    istio: IstioVersion = None,
    context: Context = None,
    exclude: Exclude = None,
    config_file: ConfigFile = None,
) -> None:
    """The smallest consistent set of settings with which every request is served.

    Grace period, preStop hooks and the proxy's drain are worked out together, for requests of up to
    --p99, and proven by the timeline. Nothing is written: --format diff prints a patch, kustomize a
    strategic merge patch, helm values by the names that charts usually have for them.

    Examples:

      shutdownlint suggest k8s/ --p99 10s

      shutdownlint suggest k8s/ checkout --format kustomize > patch.yaml
    """
    config = configured(config_file, kubernetes, istio, context, exclude, render, values)
    given, wanted = workload_last(paths or ["."])
    sources = list(sources_of(given, config))
    scene = read(sources, config.given(p99))
    from shutdownlint.fixes.suggest import changed_files, suggestions  # noqa: PLC0415
    from shutdownlint.reports import suggest as told  # noqa: PLC0415
    from shutdownlint.reports.diff import unified  # noqa: PLC0415

    pods = pods_of(scene, wanted)
    patches = output_format in (SuggestFormat.KUSTOMIZE, SuggestFormat.HELM)
    found = suggestions(pods, p99, propagation, rendered=patches)
    if not found:
        tell_none(given, wanted)
    originals = _texts(sources, scene.reading.stdin, {one.pod.ref.document.file for one in found})
    texts = changed_files(found, originals)
    # What is refused or in the way is mended with it; only of the workloads that were asked about.
    config.notes = False
    _, fix_result = fix_files(
        [replace_text_of(source, texts) for source in sources],
        config.given(p99),
        rules=lambda: rules_for(config),
        unsafe=True,
        only={one.pod.id for one in found},
    )
    texts = {**texts, **fix_result.texts}
    if output_format is not SuggestFormat.TEXT:
        for one in found:
            if one.refused:
                remark(f"{one.pod.id}: {one.refused}")
    match output_format:
        case SuggestFormat.KUSTOMIZE:
            write(told.kustomize_patch(found, texts), output)
        case SuggestFormat.HELM:
            write(told.helm_values(found, texts), output)
        case SuggestFormat.DIFF:
            diffs = (unified(n, originals[n], texts[n]) for n in sorted(texts) if n in originals)
            write("".join(diffs), output)
        case _:
            draw = lambda console: told.suggest_text(found, fix_result.fixed, console)  # noqa: E731
            write(printed(draw, output), output)
    if not scene.whole or (wanted is not None and not found):
        raise typer.Exit(INCOMPLETE)


def _texts(sources: list[InputSource], stdin: bytes, names: set[str]) -> dict[str, bytes]:
    """What the files of these names hold."""
    return {
        source.file.shown: _text(source.file, stdin)
        for source in sources
        if isinstance(source.file, InputFile) and source.file.shown in names
    }


def _text(file: InputFile, stdin: bytes) -> bytes:
    if file.data is not None:
        return file.data
    return stdin if file.path is None else file.path.read_bytes()
