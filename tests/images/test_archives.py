"""Archives of images, and the shells that their layers have."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from shutdownlint import limits
from shutdownlint.images.archive import read_archive
from shutdownlint.images.documents import ImageError, ShellFinder
from tests.helpers import run
from tests.images.content import CONFIG, docker_archive, layer, layout_archive, multi, single, tar

if TYPE_CHECKING:
    from pathlib import Path

NAME = "ghcr.io/shop/orders:1.4"


def pod(folder: Path, name: str = NAME) -> str:
    """Write a pod with one image."""
    text = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop"},
        "spec": {"containers": [{"name": "app", "image": name}]},
    }
    (folder / "pod.json").write_text(json.dumps(text))
    return str(folder / "pod.json")


@pytest.mark.parametrize("kind", ["docker", "layout", "index"])
def test_what_an_archive_says(kind: str, tmp_path: Path) -> None:
    image = single("1.4", CONFIG, [layer("bash")])
    data = {
        "docker": lambda: docker_archive(NAME, CONFIG, [layer("bash", packed=False)]),
        "layout": lambda: layout_archive(NAME, image, "1.4"),
        "index": lambda: layout_archive(NAME, multi("1.4", {"linux/amd64": image}), "1.4"),
    }[kind]()
    (tmp_path / "image.tar").write_bytes(data)
    archive = str(tmp_path / "image.tar")
    code, out, err = run("images", pod(tmp_path), "--from-archive", archive)
    assert code == 0, err
    assert out.startswith(f"{NAME}  /bin/sh -c ")
    assert out.endswith("SIGINT, sh is bash\n")


def test_an_image_that_no_archive_has(tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(docker_archive("shop/other:1", CONFIG, []))
    code, _, err = run("images", pod(tmp_path), "--from-archive", str(tmp_path / "image.tar"))
    assert code == 2
    assert f"{NAME}: no archive has it" in err


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cannot be read as a tar file"),
        (b"x" * 2000, "cannot be read as a tar file"),
        (tar({"a": b"b"}), "it is no archive of images"),
        (tar({"manifest.json": b"{"}), "manifest.json is no JSON object"),
        (tar({"manifest.json": b"[1]"}), "names no configuration"),
        (tar({"manifest.json": b'[{"Config": "../x"}]'}), "it has no ../x"),
        (tar({"index.json": b'{"manifests": [{"annotations": {"io.containerd.image.name": "a/b"}}]}'}),
         "its manifest has no digest"),
    ],
)  # fmt: skip
def test_wrong_archives(data: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(data)
    code, _, err = run("images", pod(tmp_path), "--from-archive", str(tmp_path / "image.tar"))
    assert code == 2
    assert reason in err
    assert "Traceback" not in err


def test_a_layout_that_lies(tmp_path: Path) -> None:
    image = single("1.4", CONFIG, [])
    key = next(iter(image.blobs))
    image.blobs[key] = b'{"config": {}}'
    (tmp_path / "image.tar").write_bytes(layout_archive(NAME, image, "1.4"))
    with pytest.raises(ImageError, match="is not what its digest"):
        list(read_archive(str(tmp_path / "image.tar"), "linux/amd64", bool))


def test_a_device_is_no_archive() -> None:
    with pytest.raises(ImageError, match="it is no file"):
        list(read_archive("/dev/zero", "linux/amd64", bool))


def test_large_archives_and_layers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "image.tar").write_bytes(docker_archive(NAME, CONFIG, []))
    monkeypatch.setattr(limits, "MAX_IMAGE_ARCHIVE_BYTES", 100)
    with pytest.raises(ImageError, match="larger than 100 bytes"):
        list(read_archive(str(tmp_path / "image.tar"), "linux/amd64", bool))
    monkeypatch.setattr(limits, "MAX_IMAGE_LAYER_UNPACKED_BYTES", 100)
    with pytest.raises(ImageError, match="a layer is too large"):
        ShellFinder().add(io.BytesIO(layer("dash")))
    with pytest.raises(ImageError, match="zstd"):
        ShellFinder().add(io.BytesIO(b"\x28\xb5\x2f\xfd"))


def _layers(*entries: list[tuple[str, str]]) -> str:
    shells = ShellFinder()
    for each in entries:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name, target in each:
                entry = tarfile.TarInfo(name)
                if target:
                    entry.type, entry.linkname = tarfile.SYMTYPE, target
                archive.addfile(entry, io.BytesIO(b""))
        file.seek(0)
        shells.add(file)
    return shells.shell


@pytest.mark.parametrize(
    ("layers", "shell"),
    [
        ([[("bin/sh", "/bin/busybox"), ("bin/busybox", "")]], "ash"),
        ([[("./usr/bin/sh", "dash"), ("./usr/bin/dash", ""), ("./bin", "usr/bin")]], "dash"),
        ([[("bin/sh", "dash")], [("bin/sh", "bash")]], "bash"),
        ([[("usr/bin/sh", "../../etc/alternatives/sh"), ("etc/alternatives/sh", "/bin/bash")]], "bash"),
        ([[("bin/sh", "dash")], [("bin/.wh.sh", "")]], "none"),
        ([[("app", "")]], "none"),
        ([[("bin/sh", "")]], ""),
        ([[("bin/sh", "sh2"), ("bin/sh2", "sh")]], ""),
    ],
)  # fmt: skip
def test_shells(layers: list[list[tuple[str, str]]], shell: str) -> None:
    assert _layers(*layers).replace("sh2", "") == shell


def test_a_local_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    found: list[dict[str, Any]] = [{"RepoDigests": [f"{NAME}@x"], "Config": CONFIG}]
    (tmp_path / "answer.json").write_text(json.dumps(found))
    script = (
        f'#!/bin/sh\n[ "$4" = {NAME} ] && exec cat {tmp_path}/answer.json; echo gone >&2; exit 1\n'
    )
    (folder / "docker").write_text(script)
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    code, out, err = run("images", pod(tmp_path), "--from-docker")
    assert code == 0, err
    assert "gunicorn" in out
    code, _, err = run("images", pod(tmp_path, "shop/gone:1"), "--from-docker")
    assert code == 2
    assert "docker.io/shop/gone:1: gone" in err
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = run("images", pod(tmp_path), "--from-docker")
    assert code == 2
    assert "there is no docker" in err


def _with_long_name(kind: bytes) -> bytes:
    """Return a tar file with a name that is longer than a path can be."""
    entry = tarfile.TarInfo("././@LongLink")
    entry.size, entry.type = limits.MAX_IMAGE_NAME_BYTES + 512, kind
    return entry.tobuf(tarfile.GNU_FORMAT) + bytes(entry.size + 1024)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_long_names_are_refused(kind: bytes, tmp_path: Path) -> None:
    data = _with_long_name(kind)
    (tmp_path / "image.tar").write_bytes(data)
    code, _, err = run("images", pod(tmp_path), "--from-archive", str(tmp_path / "image.tar"))
    assert code == 2
    assert "a name in it is too long" in err
    with pytest.raises(ImageError, match="a name in it is too long"):
        ShellFinder().add(io.BytesIO(data))


@pytest.mark.parametrize(("kind", "link"), [(tarfile.SYMTYPE, "l.tar"), (tarfile.LNKTYPE, "gone")])
def test_a_layer_that_is_a_link_to_nothing(kind: bytes, link: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    manifest = [{"Config": "c.json", "RepoTags": [NAME], "Layers": ["l.tar"]}]
    texts = {"manifest.json": json.dumps(manifest), "c.json": json.dumps(CONFIG)}
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in texts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        entry = tarfile.TarInfo("l.tar")
        entry.type, entry.linkname = kind, link
        archive.addfile(entry)
    (tmp_path / "image.tar").write_bytes(out.getvalue())
    archive_path = str(tmp_path / "image.tar")
    code, text, err = run("images", pod(tmp_path), "--from-archive", archive_path)
    assert code == 0, err
    assert text.startswith(NAME)
    assert "sh is" not in text
