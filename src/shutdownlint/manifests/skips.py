"""Why something that was read is not checked."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class SkipReason(Struct, frozen=True):
    """A reason: a code for programs, and its text, which names what was skipped."""

    code: str
    text: str


EMPTY: Final = SkipReason("empty", "empty documents")
CRDS: Final = SkipReason("custom-resource-definitions", "custom resource definitions")
NO_PODS: Final = SkipReason("no-pods", "objects without pods")
NOT_KUBERNETES: Final = SkipReason("not-kubernetes", "documents that are not Kubernetes objects")
GO_TEMPLATE: Final = SkipReason("go-template", "unrendered Helm or Go templates")
OTHER_TEMPLATE: Final = SkipReason(
    "other-template", "templates of other tools (ytt, Jinja, Terraform)"
)
KUSTOMIZE_PATCH: Final = SkipReason("kustomize-patch", "kustomize patches")
PATCH_BY_NAME: Final = SkipReason("patch-by-name", "patches and assertions, by the file's name")
FRAGMENT: Final = SkipReason("fragment", "pod templates without images (patches and fragments)")
PLACEHOLDERS: Final = SkipReason("placeholders", "pods whose shutdown settings are placeholders")
