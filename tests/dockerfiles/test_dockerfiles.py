"""What Dockerfiles of the repository show of the programs in their images."""

from __future__ import annotations

from pathlib import Path

import pytest

from shutdownlint.dockerfiles.find import find_built_images
from shutdownlint.dockerfiles.parse import read_stage
from shutdownlint.manifests.discovery import FileSearch
from tests.helpers import run

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  containers: [{name: app, image: "%s", ports: [{containerPort: 80}]}]
"""
GUNICORN = 'FROM python:3.12\nCMD ["gunicorn", "app:app"]\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("text", "entrypoint", "command"),
    [
        ('FROM a\nCMD ["x", "y"]', (), ("x", "y")),
        ("FROM a\ncmd x y", (), ("/bin/sh", "-c", "x y")),
        ('FROM a\nSHELL ["/bin/bash", "-ec"]\nCMD x', (), ("/bin/bash", "-ec", "x")),
        ('FROM a\nENTRYPOINT ["x"]\nCMD ["y"]', ("x",), ("y",)),
        ('FROM a\nCMD ["y"]\nENTRYPOINT ["x"]', ("x",), ("y",)),
        # A stage that sets the entrypoint drops the command of the stage before.
        ('FROM a AS b\nCMD ["y"]\nFROM b\nENTRYPOINT ["x"]', ("x",), ()),
        ('FROM a AS b\nCMD ["y"]\nFROM b', (), ("y",)),
        ('FROM a AS b\nCMD ["y"]\nFROM c', (), ()),
        ('FROM a\nCMD ["x", \\\n  # a comment\n\n  "y"]', (), ("x", "y")),
        ('# escape=`\nFROM a\nCMD ["x", `\n "y"]', (), ("x", "y")),
        ('FROM a\nRUN <<EOF\nCMD ["no"]\nEOF\nCMD ["y"]', (), ("y",)),
        ("FROM a\nCMD [x]", (), ("/bin/sh", "-c", "[x]")),
    ],
)
def test_a_dockerfile_says_what_starts(
    text: str, entrypoint: tuple[str, ...], command: tuple[str, ...]
) -> None:
    stage = read_stage(text)
    assert stage is not None
    assert (stage.entrypoint, stage.command) == (entrypoint, command)


def test_arguments_and_variables_are_filled_in() -> None:
    stage = read_stage(
        "ARG V=3.12\nFROM python:${V:-3}-slim\nARG N\nENV A=1 B='2 3'\nENV C x y\n"
        "STOPSIGNAL ${SIG:-SIGINT}\nUSER app\n"
    )
    assert stage is not None
    assert (stage.base, stage.stop_signal, stage.user) == ("python:3.12-slim", "SIGINT", "app")
    assert stage.env == {"A": "1", "B": "2 3", "C": "x y"}


def test_a_target_is_the_stage_of_that_name() -> None:
    stage = read_stage('FROM a AS dev\nCMD ["x"]\nFROM b AS prod\nCMD ["y"]\n', "dev")
    assert stage is not None
    assert stage.command == ("x",)
    assert read_stage("FROM a\n", "none") is None


@pytest.mark.parametrize("text", ["", "#", "\\", "FROM", "RUN <<EOF", "FROM a\nCMD", "ARG =", "\0"])
def test_what_is_no_dockerfile_raises_nothing(text: str) -> None:
    read_stage(text)


@pytest.mark.parametrize(
    ("path", "text", "image"),
    [
        ("README", "", "reg.example.com/shop/orders:2"),
        ("compose.yaml", "services: {a: {image: 'x/store:1', build: ./src/orders}}", "x/store:2"),
        (
            "docker-compose.yml",
            "services: {store: {build: {context: src, dockerfile: orders/Dockerfile}}}",
            "store",
        ),
        (
            "skaffold.yaml",
            "build: {artifacts: [{image: store, context: src/orders}]}",
            "reg.example.com/team/store:3",
        ),
        (
            ".github/workflows/ci.yml",
            (
                "jobs: {b: {steps: [{uses: docker/build-push-action@v6, with: {context: src/orders, "
                "tags: 'ghcr.io/x/store:v1'}}]}}"
            ),
            "ghcr.io/x/store:v7",
        ),
        ("Tiltfile", "docker_build('x/store', 'src/orders')\n", "x/store"),
        (
            "docker-bake.hcl",
            'target "o" {\n  context = "src/orders"\n  tags = ["x/store:1"]\n}\n',
            "x/store:5",
        ),
        (
            "docker-bake.json",
            '{"target": {"o": {"context": "src/orders", "tags": ["x/store:1"]}}}',
            "x/store:5",
        ),
    ],
)
def test_an_image_is_matched_by_what_the_repository_says(path: str, text: str, image: str) -> None:
    write("src/orders/Dockerfile", GUNICORN)
    write(path, text)
    write("pod.yaml", POD % image)
    out = run("explain", ".", "--mesh", "none")[1]
    assert "is built by src/orders/Dockerfile:2" in out
    assert "Gunicorn cuts what is unfinished after 30s" in out


def test_a_name_that_two_fit_is_of_neither() -> None:
    write("a/orders/Dockerfile", GUNICORN)
    write("b/orders/Dockerfile", GUNICORN)
    assert find_built_images(["."], FileSearch()).folders == {}


def test_an_official_image_is_not_that_of_a_folder() -> None:
    write("redis/Dockerfile", GUNICORN)
    write("pod.yaml", POD % "redis:7")
    assert "Dockerfile" not in run("explain", ".", "--mesh", "none")[1]


def test_what_is_not_written_is_the_base_images() -> None:
    write("front/Dockerfile", "FROM nginx:1.27-alpine\nCOPY dist /usr/share/nginx/html\n")
    write("pod.yaml", POD % "x/front:1")
    out = run("explain", ".", "--mesh", "none")[1]
    assert "is built by front/Dockerfile" in out
    assert "assumed to be graceful" not in out
    assert "finish what they have" not in run("check", ".", "--mesh", "none")[1]


@pytest.mark.parametrize(
    ("script", "certain"),
    [('exec "$@"', True), ('"$@" &\nwait $!\nsleep 1', False)],
)
def test_a_start_script_of_the_build_is_read(script: str, certain: bool) -> None:
    write(
        "orders/Dockerfile",
        'FROM debian:12\nCOPY start.sh /bin/\nENTRYPOINT ["/bin/start.sh"]\nCMD ["gunicorn", "a"]\n',
    )
    write("orders/start.sh", f"#!/bin/sh\nset -e\n{script}\n")
    write("pod.yaml", POD % "x/orders:1")
    out = run("explain", ".", "--mesh", "none")[1]
    assert ("Gunicorn cuts what is unfinished" in out) is certain


def test_nothing_outside_of_the_folder_is_read(folder: Path) -> None:
    write("repo/compose.yaml", "services: {a: {image: x/a, build: ../other}}")
    write("other/Dockerfile", GUNICORN)
    (folder / "repo/b").mkdir()
    (folder / "repo/b/Dockerfile").symlink_to(folder / "other/Dockerfile")
    built = find_built_images(["repo"], FileSearch())
    assert (built.named, built.folders) == ({}, {})


def test_a_changed_dockerfile_is_seen_by_the_next_run() -> None:
    write("orders/Dockerfile", GUNICORN)
    write("pod.yaml", POD % "x/orders:1")
    args = ("check", ".", "--mesh", "none", "--p99", "40s", "--format", "concise")
    first = run(*args)[1]
    write("orders/Dockerfile", GUNICORN.replace("gunicorn", 'gunicorn", "--graceful-timeout=1'))
    assert run(*args)[1] != first
