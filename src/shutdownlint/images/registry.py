"""Registries: the configuration of an image by the OCI distribution protocol.

Only hosts that the user allows are asked, also where a server leads elsewhere; credentials go to
the registry and its token service only, and never to a storage that a blob is redirected to. What
comes is checked by its digest. Source: distribution-spec, distribution docs/spec/auth/token.md.
"""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.http_client import Answer, HttpClient, HttpError
from shutdownlint.images.documents import (
    INDEXES,
    MANIFESTS,
    ImageError,
    ShellFinder,
    choose_manifest,
    descriptor,
    digest_of,
    layers_of,
    read_config,
    read_json,
)
from shutdownlint.programs.images import DEFAULT_REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shutdownlint.programs.images import ImageConfig, ImageReference

#: The host that serves images without a registry's name (distribution reference/normalize.go).
_DEFAULT_HOST: Final = "registry-1.docker.io"
_DEFAULT_TOKEN_HOST: Final = "auth.docker.io"
_HEADER: Final = re.compile(r'(?<!\w)(\w++)="([^"]{0,2000})"')
_WHAT: Final = {401: "it wants credentials", 403: "access is denied", 404: "not found"}


class Login(Struct, frozen=True):
    """A name and a password for a registry."""

    user: str
    password: str

    @property
    def basic(self) -> str:
        """The header's value."""
        text = base64.b64encode(
            f"{self.user}:{self.password}".encode(errors="surrogatepass")
        ).decode()
        return f"Basic {text}"


class Registries:
    """The registries that the user allows. Raises ``ImageError`` for every image separately."""

    def __init__(
        self,
        client: HttpClient,
        allowed: Iterable[str],
        logins: Mapping[str, Login],
        platform: str,
        is_wanted: Callable[[str], bool],
    ) -> None:
        self._client = client
        self._allowed = frozenset(allowed)
        self._logins = logins
        self._platform = platform
        self._is_wanted = is_wanted
        self._tokens: dict[tuple[str, str], str] = {}

    def read(self, image: ImageReference) -> ImageConfig:
        """Return an image's configuration. Raises ``ImageError``."""
        if image.registry not in self._allowed:
            raise ImageError(f"{image.registry} is not allowed: --allow {image.registry}")
        repository = _Repository(self, image)
        try:
            return repository.read(self._platform, self._is_wanted)
        except HttpError as error:
            raise ImageError(str(error)) from None

    def ask(self, url: str, headers: Mapping[str, str], most_bytes: int) -> Answer:
        """Return the answer of an allowed host. Raises ``ImageError`` and ``HttpError``."""
        parts = urlsplit(url)
        host = parts.netloc.lower()
        if parts.scheme not in ("http", "https") or not host or "@" in host:
            raise ImageError("it leads to an address that is none of a server")
        if parts.scheme == "http" and not is_local(host):
            raise ImageError(f"it leads to {host} without encryption, which is not followed")
        if host not in self._allowed and not self._is_part(host):
            raise ImageError(f"it leads to {host}, which is not allowed: --allow {host}")
        return self._client.ask("GET", url, headers, most_bytes=most_bytes)

    def _is_part(self, host: str) -> bool:
        return DEFAULT_REGISTRY in self._allowed and host in (_DEFAULT_HOST, _DEFAULT_TOKEN_HOST)

    def login(self, registry: str) -> Login | None:
        """Return the login of a registry."""
        return self._logins.get(registry)

    def token(self, image: ImageReference) -> str | None:
        """Return the header's value that was good for a repository before."""
        return self._tokens.get((image.registry, image.repository))

    def keep_token(self, image: ImageReference, value: str) -> None:
        """Keep the header's value for the next image of the repository."""
        self._tokens[image.registry, image.repository] = value


class _Repository:
    def __init__(self, registries: Registries, image: ImageReference) -> None:
        self._registries = registries
        self._image = image
        host = _DEFAULT_HOST if image.registry == DEFAULT_REGISTRY else image.registry
        scheme = "http" if is_local(host) else "https"
        self._base = f"{scheme}://{host}/v2/{image.repository}"

    def read(self, platform: str, is_wanted: Callable[[str], bool]) -> ImageConfig:
        image = self._image
        reference = image.digest or image.tag
        digest, document = self._manifest(reference)
        if image.digest and digest != image.digest:
            raise ImageError("its manifest has another digest than the image's name")
        named = digest
        if "manifests" in document or document.get("mediaType") in INDEXES:
            inner, _ = choose_manifest(document, platform)
            found, document = self._manifest(inner)
            if found != inner:
                raise ImageError("its manifest has another digest than the index says")
        config_digest, size = descriptor(document.get("config"), "configuration")
        config = read_json(self._blob(config_digest, size), "configuration")
        name = f"{image.name}:{image.tag}" if image.tag else f"{image.name}@{image.digest}"
        found_config = read_config(config, name, named, is_wanted)
        return replace(found_config, shell=self._shell(document))

    def _manifest(self, reference: str) -> tuple[str, dict[str, Any]]:
        accept = {"accept": ", ".join((*INDEXES, *MANIFESTS))}
        answer = self._ask(
            f"{self._base}/manifests/{reference}", accept, limits.MAX_IMAGE_DOCUMENT_BYTES
        )
        return digest_of(answer.body), read_json(answer.body, "manifest")

    def _blob(self, digest: str, size: int, most: int = limits.MAX_IMAGE_DOCUMENT_BYTES) -> bytes:
        if size > most:
            raise ImageError(f"a part of it is larger than {most:,} bytes")
        body = self._ask(f"{self._base}/blobs/{digest}", {}, size).body
        if digest_of(body) != digest:
            raise ImageError(f"what came is not what its digest {digest[:19]}… names")
        return body

    def _shell(self, manifest: dict[str, Any]) -> str:
        """Return what /bin/sh is, where the image is small enough to be read; else nothing."""
        layers = layers_of(manifest)
        if not layers or sum(size for _, size in layers) > limits.MAX_IMAGE_LAYER_BYTES:
            return ""
        shells = ShellFinder()
        try:
            for digest, size in layers:
                shells.add(io.BytesIO(self._blob(digest, size, limits.MAX_IMAGE_LAYER_BYTES)))
        except (ImageError, HttpError):
            return ""
        return shells.shell

    def _ask(self, url: str, headers: Mapping[str, str], most_bytes: int) -> Answer:
        """Return the answer, with credentials where it wants them, and where it leads."""
        known = self._registries.token(self._image)
        named = {**headers, "authorization": known} if known else headers
        answer = self._registries.ask(url, named, most_bytes)
        if answer.status == 401:
            value = self._authorize(answer.headers.get("www-authenticate", ""))
            answer = self._registries.ask(url, {**headers, "authorization": value}, most_bytes)
            self._registries.keep_token(self._image, value)
        for _ in range(limits.MAX_REDIRECTS):
            if answer.redirect is None:
                break
            # The storage behind a registry is not shown its credentials.
            url = urljoin(url, answer.redirect)
            answer = self._registries.ask(url, headers, most_bytes)
        if answer.status != 200:
            what = _WHAT.get(answer.status, "it answers")
            raise ImageError(f"{what} (HTTP {answer.status})")
        return answer

    def _authorize(self, header: str) -> str:
        """Return the value of the header that a registry asks for. Raises ``ImageError``."""
        kind, _, rest = header.partition(" ")
        login = self._registries.login(self._image.registry)
        if kind.lower() == "basic" and login is not None:
            return login.basic
        if kind.lower() != "bearer":
            raise ImageError("it wants credentials (HTTP 401)")
        values = dict(_HEADER.findall(rest))
        # Never more than is needed, whatever the server asks for.
        fields = {"scope": f"repository:{self._image.repository}:pull"}
        if "service" in values:
            fields["service"] = values["service"]
        url = f"{values.get('realm', '')}?{urlencode(fields)}"
        headers = {"authorization": login.basic} if login is not None else {}
        answer = self._registries.ask(url, headers, limits.MAX_IMAGE_DOCUMENT_BYTES)
        if answer.status != 200:
            raise ImageError(f"its token service gives no token (HTTP {answer.status})")
        found = read_json(answer.body, "token")
        token = found.get("token") or found.get("access_token")
        if not isinstance(token, str) or not token.isprintable() or not token.isascii():
            raise ImageError("its token service gives no token")
        return f"Bearer {token}"


def is_local(host: str) -> bool:
    """Whether a registry is on this machine: container runtimes ask it without encryption too."""
    name = host.rpartition(":")[0] or host
    return name == "localhost" or re.fullmatch(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}", name) is not None
