"""The download of real manifests, from an archive that the test makes."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

from tests.public_corpus import REPOSITORIES, download

if TYPE_CHECKING:
    from pathlib import Path


def test_manifests_are_written_and_nothing_else(tmp_path: Path) -> None:
    archive = tmp_path / "base" / "one" / "shop" / "archive" / "abc.tar.gz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as made:
        for name in ("a.yaml", "deep/b.json", "main.go", "../../../out.yaml"):
            member = tarfile.TarInfo(f"shop-abc/{name}")
            member.size = 2
            made.addfile(member, io.BytesIO(b"{}"))
        link = tarfile.TarInfo("shop-abc/link.yaml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    target = tmp_path / "corpus"
    assert download("one/shop", "abc", target, (tmp_path / "base").as_uri()) == 2
    found = [str(path.relative_to(target)) for path in sorted(target.rglob("*")) if path.is_file()]
    assert found == ["one__shop/a.yaml", "one__shop/deep/b.json"]
    assert not (tmp_path / "out.yaml").exists()


def test_every_commit_is_whole() -> None:
    assert len(REPOSITORIES) > 30
    assert all(len(commit) == 40 for commit in REPOSITORIES.values())
