"""Images as registries and archives hold them, made by the tests."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from typing import Any, Final

from msgspec import Struct

CONFIG: Final = {
    "Entrypoint": ["/bin/sh", "-c", "echo start; gunicorn --graceful-timeout 60 app:app"],
    "Cmd": None,
    "Env": ["PATH=/usr/bin", "GUNICORN_CMD_ARGS=--workers=2", "SECRET=x"],
    "User": "1000",
    "StopSignal": "SIGINT",
}
OCI_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX: Final = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST: Final = "application/vnd.docker.distribution.manifest.v2+json"


def digest(data: bytes) -> str:
    """Return the digest of some bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def layer(shell: str | None, *, packed: bool = True) -> bytes:
    """Return a layer whose /bin/sh leads to a shell; None: it has none."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        names = ["usr/bin/env"] if shell is None else ["usr/bin/env", f"usr/bin/{shell}"]
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 3
            archive.addfile(entry, io.BytesIO(b"elf"))
        links = {"bin": "usr/bin"} if shell is None else {"bin": "usr/bin", "usr/bin/sh": shell}
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    data = file.getvalue()
    return gzip.compress(data) if packed else data


class Content(Struct):
    """Manifests by reference, with their media type; blobs by digest."""

    manifests: dict[str, tuple[str, bytes]]
    blobs: dict[str, bytes]


def single(tag: str, config: dict[str, Any], layers: list[bytes]) -> Content:
    """Return an image of one platform under a tag, and under its digest."""
    document = {"os": "linux", "architecture": "amd64", "config": config}
    blobs = [json.dumps(document).encode(), *layers]
    named = [{"mediaType": "x", "digest": digest(b), "size": len(b)} for b in blobs]
    manifest = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": named[0]}
    named[0]["mediaType"] = "application/vnd.oci.image.config.v1+json"
    for each in named[1:]:
        each["mediaType"] = "application/vnd.oci.image.layer.v1.tar+gzip"
    data = json.dumps({**manifest, "layers": named[1:]}).encode()
    both = {tag: (OCI_MANIFEST, data), digest(data): (OCI_MANIFEST, data)}
    return Content(both, {digest(b): b for b in blobs})


def multi(tag: str, platforms: dict[str, Content]) -> Content:
    """Return an image of several platforms under a tag."""
    found = Content({}, {})
    entries = []
    for platform, content in platforms.items():
        name, (kind, data) = next(
            (n, v) for n, v in content.manifests.items() if n.startswith("sha256:")
        )
        system, _, machine = platform.partition("/")
        entries.append(
            {
                "mediaType": kind,
                "digest": name,
                "size": len(data),
                "platform": {"os": system, "architecture": machine},
            }
        )
        found.manifests[name] = (kind, data)
        found.blobs.update(content.blobs)
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()
    found.manifests[tag] = (OCI_INDEX, index)
    found.manifests[digest(index)] = (OCI_INDEX, index)
    return found


def docker_archive(name: str, config: dict[str, Any], layers: list[bytes]) -> bytes:
    """Return what ``docker save`` writes."""
    files = {"config.json": json.dumps({"config": config}).encode()}
    files |= {f"{number}/layer.tar": data for number, data in enumerate(layers)}
    paths = [path for path in files if path != "config.json"]
    listed = [{"Config": "config.json", "RepoTags": [name], "Layers": paths}]
    files["manifest.json"] = json.dumps(listed).encode()
    return tar(files)


def layout_archive(name: str, content: Content, tag: str) -> bytes:
    """Return an OCI layout as a tar file."""
    kind, data = content.manifests[tag]
    entry = {
        "mediaType": kind,
        "digest": digest(data),
        "size": len(data),
        "annotations": {"io.containerd.image.name": name},
    }
    index = {"schemaVersion": 2, "manifests": [entry]}
    blobs = {**content.blobs, **{digest(d): d for _, d in content.manifests.values()}}
    files = {f"blobs/{name.replace(':', '/')}": data for name, data in blobs.items()}
    return tar(
        {
            "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
            "index.json": json.dumps(index).encode(),
            **files,
        }
    )


def tar(files: dict[str, bytes]) -> bytes:
    """Return a tar file."""
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return found.getvalue()
