"""Renders the charts and kustomizations of a run, as sources to read."""

from __future__ import annotations

import posixpath
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.discovery import CHART_FILE, InputError, InputFile
from shutdownlint.manifests.inputs import InputSource
from shutdownlint.manifests.parser import Parser
from shutdownlint.patterns import lazy_pattern
from shutdownlint.rendering.chart_origins import ChartOrigins, read_documents
from shutdownlint.rendering.targets import is_chart
from shutdownlint.rendering.tools import ToolError, Tools, find_program
from shutdownlint.wording import internal_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shutdownlint.manifests.document import Source
    from shutdownlint.rendering.targets import RenderOptions, RenderTarget

#: The commands that build a kustomization; the first that is installed is used.
_KUSTOMIZE: Final = (("kustomize", "build"), ("kubectl", "kustomize"))
_NOT_IN_NAMES: Final = lazy_pattern(r"[^a-z0-9-]+")
#: Renderings mostly wait for a program.
_AT_ONCE: Final = 4


class Renderer:
    """Renders targets with the programs of the search path."""

    def __init__(self, options: RenderOptions, environment: Mapping[str, str]) -> None:
        self.options = options
        self.environment = environment
        self.tools = Tools(network=options.network)

    def render(self, targets: Sequence[RenderTarget]) -> Iterator[InputSource]:
        """Yield the renderings. What cannot be rendered is an error with the tool's own reason."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from pool.map(self._render, targets)

    def _render(self, target: RenderTarget) -> InputSource:
        variant = f", {target.variant}" if target.variant else ""
        try:
            if is_chart(target.path):
                data = self._template(target)
                shown = f"{target.path} (helm template{variant})"
                origins = ChartOrigins(target.path, _values_sources(target))
                return InputSource(
                    InputFile(None, shown, data),
                    transform=origins.transform,
                    variant=target.variant,
                    namespace=target.namespace,
                    rendered=posixpath.join(target.path, CHART_FILE),
                )
            data = self._build(target.path)
        except ToolError as error:
            reason = f"{error}{_what_to_do(str(error), target.path)}"
            return InputSource(InputError(target.file, reason), variant=target.variant)
        except Exception as error:
            return InputSource(InputError(target.file, internal_error(error)))
        file = InputFile(None, f"{target.path} (kustomize)", data)
        return InputSource(file, rendered=target.path)

    def _template(self, target: RenderTarget) -> bytes:
        command = ["helm", "template"]
        name = target.release or Path(target.path).absolute().name
        # A name from a folder need not be one that Helm takes.
        command += [_NOT_IN_NAMES.sub("-", name.lower())[:53].strip("-") or "release"]
        command += [_as_path(target.path)]
        if target.namespace:
            command += ["--namespace", target.namespace]
        if self.options.kubernetes:
            command += ["--kube-version", self.options.kubernetes]
        for file in target.values:
            if not Path(file).is_file():
                raise ToolError(f"the values file {file} does not exist")
            command += ["--values", _as_path(file)]
        settings = [part for each in target.settings for part in _as_option(each)]
        if not target.inline:
            return self.tools.run([*command, *settings])
        with tempfile.TemporaryDirectory(prefix="shutdownlint-") as folder:
            inline = Path(folder) / "values.yaml"
            inline.write_text(target.inline, encoding="utf-8")
            return self.tools.run([*command, "--values", str(inline), *settings])

    def _build(self, folder: str) -> bytes:
        for tool in _KUSTOMIZE:
            if find_program(tool[0], self.environment) is not None:
                options = ["--enable-helm"] if self.options.network else []
                return self.tools.run([*tool, *options, _as_path(folder)])
        raise ToolError("neither kustomize nor kubectl is installed to render it with")


def _what_to_do(error: str, path: str) -> str:
    """Return the next step after an error of helm; empty where none is known."""
    if "incompatible with Kubernetes" in error:
        return ". Say which the cluster has: --kubernetes-version"
    if "chart dependencies" in error:
        return f". Run 'helm dependency build {path}' first"
    if "nil pointer evaluating" in error or "execution error at" in error:
        return ". If a value is missing, give it: --values FILE, or [[charts]] in the configuration"
    return ""


def _values_sources(target: RenderTarget) -> list[Source]:
    """Return the values of a target beside the chart's own, the last one wins."""
    parser = Parser()
    found: list[Source] = []
    for file in target.values:
        found += [document.ref() for document in read_documents(file, parser)[:1]]
    return [*found, *([target.inline_source] if target.inline_source is not None else [])]


def _as_option(setting: str) -> tuple[str, str]:
    """Return a single value as an option of helm; it may say which one."""
    option, _, text = setting.partition(" ")
    return (option, text) if option in ("--set", "--set-string") else ("--set", setting)


def _as_path(path: str) -> str:
    """Return a path that no program takes for an option or an address."""
    return path if posixpath.isabs(path) else f"./{path}"
