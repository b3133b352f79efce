"""Downloads real manifests for the tests that need many: ``python -m tests.public_corpus FOLDER``.

The tests find the folder by ``SHUTDOWNLINT_CORPUS``. Each repository is taken at one commit; its licence
is in the repository. Nothing of it belongs into this project.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.request import urlopen

BASE: Final = "https://github.com"
REPOSITORIES: Final = {
    "GoogleCloudPlatform/cloud-sql-proxy": "31c3b33e3f85f294799c1136655efce52558b62d",
    "GoogleCloudPlatform/microservices-demo": "34ffea9175946982c3088ed84994fe6019ad6e92",
    "alphagov/govuk-helm-charts": "6aa2976855200d4d6339e6f086c3113286d752ef",
    "argoproj/argo-cd": "37ee0097cf851bc2dd7665fc081bbce61a7e836e",
    "aws-containers/retail-store-sample-app": "1a28474f2461459f42e6b393db59e7d1434d4aec",
    "bjw-s-labs/home-ops": "e183e642922b15733ab8d2c7900027aab596622b",
    "cloudnative-pg/cloudnative-pg": "a95a534dbe0854495b863bbc1b7651f74d310916",
    "dapr/quickstarts": "56eb3ae3a4cc1783f2d65a6525deb51065fe0151",
    "envoyproxy/gateway": "d32f28294245e454d20f81d323d626a90e660c1e",
    "fluxcd/flux2": "da2d22d3690191a315822612085f424e4133b06a",
    "hashicorp/learn-consul-kubernetes": "9899e56dbea29068e7c7e0d5d0f93009221a9573",
    "hjkatz/kubernetes-graceful-termination": "6e17eda722d1d16f6452ae9bb4135502ef0c3b7f",
    "istio/istio": "86c9f01fd735fb01d8192f5bcaf0d424afb7f14c",
    "jaegertracing/jaeger-operator": "87d8ae049d910a65015a14c409dbdd1a8e561099",
    "knative/serving": "98e5ef90aa7033797aa0a61ef97f3ff7e49a3944",
    "kubernetes-sigs/aws-load-balancer-controller": "225f44568848eb25f13e304a5f1cc68c0cd9415d",
    "kubernetes-sigs/prow": "a619408973827f5a8846fc61b4731156bde5fb0c",
    "kubernetes/api": "10b39a39bcee995dfe7cd5e8e7b922be5e46f1e2",
    "kubernetes/examples": "279e8e4fe314f6cb7bc55fa3fbc21bbeaa48c0ea",
    "kubernetes/ingress-nginx": "dbb11b92ddb77bee9c35e462479129354c84f939",
    "kubernetes/website": "81dca134e217806c3f4f0dff1365514bce01829c",
    "kyverno/kyverno": "111e07bbecc66abfde36ab99969af22d7a961003",
    "linkerd/linkerd2": "b24cd4059841f8cee2fb7a9c2ac23a693c583579",
    "metallb/metallb": "7938d3f89b8bd808dae2e42d97d6ae7e18e9ed54",
    "open-telemetry/opentelemetry-helm-charts": "dd5665c06f376c00a5e2147aa84b70c3d105ecfb",
    "openshift-knative/serverless-operator": "02f6bc2c4dc6dc7509fd93379c8a6e90f4b5425f",
    "projectcontour/contour": "31c4bb38e0a52cef4d8273dd5641a70e39f1d693",
    "prometheus-operator/kube-prometheus": "4d719f1dea8853540b3823ab1fbe6be74a9953b3",
    "sourcegraph/deploy-sourcegraph": "7cc55bb216f3a9b6a40eaaeb8cc6ff147c7c831a",
    "stefanprodan/gitops-istio": "3851e1802537cd5f7f833b05502f6db1f4528f47",
    "stefanprodan/podinfo": "eec06d1ea459af4cb4e10e806f8be7c7bd58b361",
}
SUFFIXES: Final = (".yaml", ".yml", ".json", ".golden", ".injected")
#: Larger files are generated ones.
MAX_BYTES: Final = 1_000_000


def download(repository: str, commit: str, folder: Path, base: str = BASE) -> int:
    """Write the manifests of a repository below a folder of its name; how many there are."""
    target = folder / repository.replace("/", "__")
    count = 0
    with (
        urlopen(f"{base}/{repository}/archive/{commit}.tar.gz") as answer,
        tarfile.open(fileobj=answer, mode="r|gz") as archive,
    ):
        for member in archive:
            # The first part of every name is the archive's own folder.
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            wanted = member.isfile() and path.suffix in SUFFIXES and member.size <= MAX_BYTES
            if not wanted or ".." in path.parts:
                continue
            data = archive.extractfile(member)
            assert data is not None
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as out:
                shutil.copyfileobj(data, out)
            count += 1
    return count


def main() -> int:
    """Download every repository; those that are there already are left as they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", default=BASE, help="where the repositories are")
    options = parser.parse_args()
    for repository, commit in REPOSITORIES.items():
        if not (options.folder / repository.replace("/", "__")).exists():
            count = download(repository, commit, options.folder, options.base)
            sys.stdout.write(f"{repository}: {count} files\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
