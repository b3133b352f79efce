"""The variants of a run: environments that exclude one another, each with its files.

The overlays of one base, and the renderings of one chart for several environments, are variants of
it. Each is read into a world without the others. Variants of the same name are in one world, as
parts of the same environment. What is no variant is read once, and every world knows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.gitops.words import names_deployments
from shutdownlint.linter.variant_plan import VariantPlan, add_sources
from shutdownlint.manifests.discovery import InputFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shutdownlint.manifests.discovery import FileSearch
    from shutdownlint.manifests.loader import InputSource


def plan_variants(sources: Iterable[InputSource], search: FileSearch) -> VariantPlan:
    """Plan the files of each variant, and what they are deployed as."""
    listed = list(sources)
    plan = VariantPlan()
    if _may_be_deployed(listed):
        from shutdownlint.linter.deployed_files import Expansion  # noqa: PLC0415 - seldom used

        Expansion(listed, search, plan).run()
    else:
        add_sources(plan, listed)
    return plan


def _may_be_deployed(sources: Sequence[InputSource]) -> bool:
    """Whether something among the files may say how others are deployed."""
    files = [source.file for source in sources if isinstance(source.file, InputFile)]
    return any(file.is_kustomization or names_deployments(file) for file in files)
