"""The logins of the Docker configuration. Credential helpers are programs, and are not run."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shutdownlint import files, limits
from shutdownlint.images.registry import Login
from shutdownlint.programs.images import DEFAULT_REGISTRY

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_KEYS = ("https://index.docker.io/v1/", "index.docker.io", DEFAULT_REGISTRY)


def read_logins(environment: Mapping[str, str]) -> tuple[dict[str, Login], list[str]]:
    """Return the logins by registry, and the registries whose login a credential helper has."""
    folder = environment.get("DOCKER_CONFIG") or str(Path.home() / ".docker")
    path = os.path.join(folder, "config.json")  # noqa: PTH118 - a text of the environment
    try:
        if not files.is_file(path) or files.size_of(path) > limits.MAX_CONFIGURATION_BYTES:
            return {}, []
        data: Any = json.loads(files.read_file(path))
    except (OSError, ValueError, RecursionError):
        return {}, []
    data = data if isinstance(data, dict) else {}
    auths, helpers = data.get("auths"), data.get("credHelpers")
    logins = {}
    for key, entry in auths.items() if isinstance(auths, dict) else ():
        login = _login(entry)
        if login is not None:
            logins[_registry(key)] = login
    helped = [_registry(key) for key in helpers] if isinstance(helpers, dict) else []
    if data.get("credsStore") and isinstance(auths, dict):
        helped += [_registry(key) for key in auths]
    return logins, [each for each in dict.fromkeys(helped) if each not in logins]


def _registry(key: Any) -> str:
    text = str(key)
    if text in _DEFAULT_KEYS:
        return DEFAULT_REGISTRY
    return text.removeprefix("https://").removeprefix("http://").partition("/")[0]


def _login(entry: Any) -> Login | None:
    if not isinstance(entry, dict):
        return None
    text = entry.get("auth")
    if isinstance(text, str) and text:
        try:
            user, colon, password = base64.b64decode(text).decode().partition(":")
        except ValueError:
            return None
        return Login(user, password) if colon else None
    name, word = entry.get("username"), entry.get("password")
    return Login(name, word) if isinstance(name, str) and isinstance(word, str) else None
