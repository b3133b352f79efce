"""The programs of a Kubernetes node: built from the Go module proxy, or installed from Debian.

``k8s.io/kubernetes`` cannot be installed by ``go install``: its go.mod replaces the modules of its
staging folder. A small module that requires it, with the same modules replaced by their published
versions, can be built.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

CACHE: Final = Path(__file__).resolve().parents[1] / ".cache" / "cluster"
#: The version that the node runs.
VERSION: Final = "1.34.4"
NODE: Final = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
    "kubectl",
)
#: Debian's packages, by the program that shows that each is installed.
PACKAGES: Final = {
    "containerd": "containerd",
    "runc": "runc",
    "etcd": "etcd-server",
    "iptables": "iptables",
    "nft": "nftables",
    "conntrack": "conntrack",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "busybox": "busybox-static",
}


def folder(version: str = VERSION) -> Path:
    """Return the folder of the built programs of a Kubernetes version."""
    return CACHE / version


def missing(version: str = VERSION, programs: tuple[str, ...] = NODE) -> list[str]:
    """Return the programs that are not there."""
    lacking = [name for name in programs if not (folder(version) / name).is_file()]
    return lacking + [name for name in PACKAGES if find(name) is None]


def find(name: str) -> str | None:
    """Return the path of an installed program, administrators' folders included."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    return shutil.which(name, path=path)


def build(version: str = VERSION, programs: tuple[str, ...] = NODE) -> None:
    """Build what is missing; takes about 15 minutes on two processors the first time.

    Raises ``subprocess.CalledProcessError`` where the module proxy lacks a module of the version.
    """
    work = CACHE / "build" / version
    work.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in programs if not (folder(version) / name).is_file()]
    if not wanted:
        return
    if not (work / "go.sum").is_file():
        _write_module(work, version, programs)
        _go(work, "mod", "tidy", "-e")
    major, minor, _ = version.split(".")
    values = {
        "gitVersion": f"v{version}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    flags = " ".join(f"-X k8s.io/component-base/version.{k}={v}" for k, v in values.items())
    folder(version).mkdir(parents=True, exist_ok=True)
    for name in wanted:
        target = str(folder(version) / name)
        package = f"k8s.io/kubernetes/cmd/{name}"
        _go(work, "build", "-mod=mod", "-ldflags", f"-s -w {flags}", "-o", target, package)


def install() -> None:
    """Install Debian's packages that are missing; needs root."""
    packages = [package for name, package in PACKAGES.items() if find(name) is None]
    if packages:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(
            ["apt-get", "install", "--yes", "--no-install-recommends", *packages],
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )


def _write_module(work: Path, version: str, programs: tuple[str, ...]) -> None:
    answer = _go(work, "mod", "download", "-json", f"k8s.io/kubernetes@v{version}")
    source = Path(json.loads(answer)["GoMod"]).read_text(encoding="utf-8")
    staged = sorted(
        {line.split("=>")[0].split()[-1] for line in source.splitlines() if "=> ./staging/" in line}
    )
    go = next(line for line in source.splitlines() if line.startswith("go "))
    published = "v0" + version[version.index(".") :]
    replaced = [f"replace {name} => {name} {published}" for name in staged]
    lines = ["module node", "", go, "", f"require k8s.io/kubernetes v{version}", "", *replaced]
    (work / "go.mod").write_text("\n".join(lines) + "\n", encoding="utf-8")
    imports = [f'\t_ "k8s.io/kubernetes/cmd/{name}"' for name in programs]
    text = "\n".join(["//go:build tools", "", "package node", "", "import (", *imports, ")", ""])
    (work / "node.go").write_text(text, encoding="utf-8")


def _go(work: Path, *words: str) -> str:
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": ""}
    done = subprocess.run(
        ["go", *words], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise subprocess.CalledProcessError(
            done.returncode, ["go", *words], done.stdout, done.stderr[-2000:]
        )
    return done.stdout
