"""Why something that was read is not checked."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class SkipReason(Struct, frozen=True):
    """A reason: a code for programs, and its text, which names what was skipped.

    ``advice`` is how to get it checked. ``holds_pods``: there are pods in it that no other way
    shows. ``thing`` is what a short summary calls it, one and several, empty where it costs
    nothing; ``is_one``: the reason is about one such thing, whatever number of documents that has.
    ``option`` is the one that gets it checked.
    """

    code: str
    text: str
    advice: str = ""
    holds_pods: bool = False
    thing: tuple[str, str] = ("", "")
    is_one: bool = False
    option: str = ""


#: The code of objects that deploy another repository.
ELSEWHERE: Final = "deployed-elsewhere"
EMPTY: Final = SkipReason("empty", "empty documents")
CRDS: Final = SkipReason("custom-resource-definitions", "custom resource definitions")
NO_PODS: Final = SkipReason("no-pods", "objects without pods")
NO_CONTAINERS: Final = SkipReason(
    "no-containers", "workloads without containers (patches, or a misspelled key)"
)
POD_PART: Final = SkipReason(
    "pod-part",
    "parts of a pod without a kind",
    "check one alone: --as-pod",
    holds_pods=True,
    thing=("part of a pod", "parts of pods"),
    option="--as-pod",
)
NOT_KUBERNETES: Final = SkipReason("not-kubernetes", "documents that are not Kubernetes objects")
GO_TEMPLATE: Final = SkipReason(
    "go-template",
    "unrendered Helm or Go templates",
    "check the rendered text: --render, or helm template CHART | shutdownlint check -",
    holds_pods=True,
    thing=("template", "templates"),
    option="--render",
)


def unrendered_chart(folder: str) -> SkipReason:
    """Templates of the chart in a folder."""
    return SkipReason(
        GO_TEMPLATE.code,
        f"unrendered templates of the chart {folder}",
        f"check it with --render, or helm template {folder} | shutdownlint check -",
        holds_pods=True,
        thing=("chart", "charts"),
        is_one=True,
        option="--render",
    )


OTHER_TEMPLATE: Final = SkipReason(
    "other-template",
    "templates of other tools (ytt, Jinja, Terraform)",
    "check their output",
    holds_pods=True,
    thing=("template of another tool", "templates of other tools"),
)
KUSTOMIZE_PATCH: Final = SkipReason(
    "kustomize-patch",
    "kustomize patches for manifests that are not among the files",
    "check the built kustomization: --render, or kustomize build | shutdownlint check -",
)


def not_applied(file: str, features: str) -> SkipReason:
    """Return the reason for a kustomization with features that only rendering applies."""
    return SkipReason(
        "not-applied",
        f"parts of {file} that are not applied: {features}",
        "check the built kustomization: --render, or kustomize build | shutdownlint check -",
        thing=("part of a kustomization", "parts of kustomizations"),
        is_one=True,
        option="--render",
    )


def missing_resource(file: str, kustomization: str) -> SkipReason:
    """Return the reason for a missing file that a kustomization names."""
    return SkipReason(
        "missing-resource",
        f"{file}, which {kustomization} names and which is not there",
        "check the folder with all files",
        thing=("missing file of a kustomization", "missing files of kustomizations"),
        is_one=True,
    )


REMOTE_RESOURCES: Final = SkipReason(
    "remote-resources",
    "kustomizations with charts or remote resources",
    "check the built kustomization: kustomize build --enable-helm | shutdownlint check -",
    holds_pods=True,
    thing=("kustomization of remote resources", "kustomizations of remote resources"),
)


def deployed_elsewhere(title: str, file: str) -> SkipReason:
    """Return the reason for an object of Argo CD or Flux that deploys another repository."""
    return SkipReason(
        ELSEWHERE,
        f"{title} in {file}: its chart or folder is not in the repository",
        "check it where it is, with its values",
        holds_pods=True,
        thing=("application of another repository", "applications of other repositories"),
        is_one=True,
    )


def depends_on_more(title: str, file: str, what: str) -> SkipReason:
    """Return the reason for an object of Argo CD or Flux with settings that no file shows."""
    return SkipReason(
        "depends-on-more",
        f"{title} in {file}: {what} may change what it deploys",
        "check what the cluster runs: kubectl get deploy,sts,ds,rs,pods,svc,pdb,hpa -o yaml",
        holds_pods=True,
        thing=("application with further settings", "applications with further settings"),
        is_one=True,
    )


HELM_VALUES: Final = SkipReason(
    "helm-values",
    "values of charts (only what no chart can make right is reported)",
    "check the rendered chart: --render",
    holds_pods=True,
    thing=("values file", "values files"),
    option="--render",
)
GIT_IGNORED: Final = SkipReason(
    "git-ignored",
    "files and folders that a .gitignore names",
    "name them, or check with --no-respect-gitignore",
)
EXCLUDED: Final = SkipReason(
    "excluded", "files that exclude names", thing=("excluded file", "excluded files")
)
OWN_REPORT: Final = SkipReason("own-report", "reports and baselines of shutdownlint")
PATCH_BY_NAME: Final = SkipReason("patch-by-name", "patches and assertions, by the file's name")
FRAGMENT: Final = SkipReason("fragment", "pod templates without images (patches and fragments)")
PLACEHOLDERS: Final = SkipReason(
    "placeholders",
    "pods whose shutdown settings are placeholders",
    "check the manifests with the values filled in",
    holds_pods=True,
)
