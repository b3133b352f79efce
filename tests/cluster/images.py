"""Images for the node: static programs in an OCI layout, as one tar file."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Final

from tests.cluster.binaries import CACHE, find

PAUSE: Final = "test.local/pause:1"
#: The server of ``image/main.go``, and busybox as every other program.
SERVER: Final = "test.local/server:1"
#: The same with bash and Debian's dash as ``sh``.
SHELLS: Final = "test.local/shells:1"
ARCHIVE: Final = CACHE / "images.tar"
_SOURCE: Final = Path(__file__).with_name("image") / "main.go"


def write_images() -> Path:
    """Write the images unless they are there already; returns the archive."""
    server = CACHE / "server"
    if ARCHIVE.is_file() and ARCHIVE.stat().st_mtime > _SOURCE.stat().st_mtime:
        return ARCHIVE
    environment = os.environ | {"CGO_ENABLED": "0"}
    command = ["go", "build", "-ldflags", "-s -w", "-o", str(server), str(_SOURCE)]
    subprocess.run(command, check=True, env=environment)
    program, busybox = server.read_bytes(), find("busybox") or "busybox"
    names = subprocess.run(["busybox", "--list"], check=True, capture_output=True, text=True)
    links = {f"bin/{name}": "/bin/busybox" for name in names.stdout.split() if name != "busybox"}
    plain = {"server": program, "pause": program, "bin/busybox": Path(busybox).read_bytes()}
    plain |= _libraries(busybox)
    shells = {f"bin/{name}": Path(f"/bin/{name}").read_bytes() for name in ("dash", "bash")}
    for name in ("dash", "bash"):
        shells |= _libraries(f"/bin/{name}")
    own = {name: target for name, target in links.items() if name not in ("bin/sh", "bin/ash")}
    layout = _Layout()
    layout.add(PAUSE, {"pause": program}, {})
    layout.add(SERVER, plain, links)
    layout.add(SHELLS, plain | shells, own | {"bin/sh": "/bin/dash"})
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    ARCHIVE.write_bytes(layout.archive())
    return ARCHIVE


def _libraries(program: str) -> dict[str, bytes]:
    """Return the libraries of a program by their paths; none of a static one."""
    listed = subprocess.run(["ldd", program], check=False, capture_output=True, text=True)
    names = re.findall(r"(/\S+\.so\S*)", listed.stdout)
    return {name.lstrip("/"): Path(name).read_bytes() for name in names}


class _Layout:
    """Collects images as blobs of an OCI layout."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}
        self._manifests: list[dict[str, Any]] = []

    def add(self, name: str, files: dict[str, bytes], links: dict[str, str]) -> None:
        """Add an image with one layer."""
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            for path in ("tmp", "etc", "var", "log"):
                entry = tarfile.TarInfo(path)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o777
                tar.addfile(entry)
            for path, data in files.items():
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode = len(data), 0o755
                tar.addfile(entry, io.BytesIO(data))
            for path, target in links.items():
                entry = tarfile.TarInfo(path)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                tar.addfile(entry)
        plain = layer.getvalue()
        packed = gzip.compress(plain, 1, mtime=0)
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Cmd": ["/" + next(iter(files))]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(plain)]},
        }
        kind = "application/vnd.oci.image."
        manifest = {
            "schemaVersion": 2,
            "mediaType": kind + "manifest.v1+json",
            "config": self._blob(_encoded(config), kind + "config.v1+json"),
            "layers": [self._blob(packed, kind + "layer.v1.tar+gzip")],
        }
        entry_ = self._blob(_encoded(manifest), kind + "manifest.v1+json")
        self._manifests.append({**entry_, "annotations": {"io.containerd.image.name": name}})

    def archive(self) -> bytes:
        """Return the layout as a tar file."""
        index = {"schemaVersion": 2, "manifests": self._manifests}
        files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": _encoded(index)}
        files |= {f"blobs/sha256/{name}": data for name, data in self._blobs.items()}
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w") as tar:
            for path, data in files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        return written.getvalue()

    def _blob(self, data: bytes, media_type: str) -> dict[str, Any]:
        digest = _digest(data)
        self._blobs[digest.removeprefix("sha256:")] = data
        return {"mediaType": media_type, "digest": digest, "size": len(data)}


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()
