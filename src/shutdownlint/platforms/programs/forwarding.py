"""The containers of the same pod that a container talks to: by loopback addresses that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.numbers import clip_whole, read_whole
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.manifests.resources import Container
    from shutdownlint.platforms.programs.container_config import ContainerConfig
    from shutdownlint.platforms.programs.start import StartedProgram

#: ``http://127.0.0.1:8080``, ``server app localhost:8080``, ``fastcgi_pass 127.0.0.1:9000``.
_ADDRESS: Final = lazy_pattern(r"(?<![\w.])(?:127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})(?!\d)")
_LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "::1"))
_DIGITS: Final = 5
_LAST_PORT: Final = 65535
#: Only a whole configuration has this block.
_WHOLE: Final = "events"
_LISTEN: Final = lazy_pattern(r"(?m)^[ \t]*+listen[ \t]++([^\s;]{1,200})")
#: Envoy writes the address and the port apart.
_ENVOY_ADDRESS: Final = lazy_pattern(
    r"""address["']?:[ ]?["']?(?:127\.0\.0\.1|localhost)["']?,?\s{1,40}"""
    r"""["']?port_value["']?:[ ]?(\d{1,5})(?!\d)"""
)


def find_upstreams(
    started: StartedProgram | None, config: ContainerConfig, others: Sequence[Container]
) -> list[str]:
    """Return the containers of the pod that its flags, variables or files lead to.

    A loopback address leads to the container that declares the port. Host and port may be
    variables of their own.
    """
    texts = [word.text for word in started.words] if started is not None else []
    variables = [value.text for value in config.variables.values() if value is not None]
    texts += [*variables, *(file.text for file in config.files)]
    ports = set(_loopback_ports(texts))
    if not _LOOPBACK.isdisjoint(variables):
        ports |= {port for text in variables if (port := read_whole(text, _DIGITS)) is not None}
    return [
        container.name
        for container in others
        if any(port.containerPort in ports for port in container.ports)
    ]


def listens_on_loopback(config: ContainerConfig) -> bool:
    """Whether nginx's whole configuration is mounted, and has it listen on the loopback interface.

    No Service reaches such a program, whatever ports its container declares.
    """
    whole = (file for file in config.files if _WHOLE in file.text and "include " not in file.text)
    for file in whole:
        listens = _LISTEN.findall(file.text)
        if listens and all(_is_loopback(address) for address in listens):
            return True
    return False


def _is_loopback(address: str) -> bool:
    host, _, port = address.rpartition(":")
    return (host if port.isdecimal() else address).strip("[]") in _LOOPBACK


def _loopback_ports(texts: Iterable[str]) -> Iterator[int]:
    for text in texts:
        for pattern in (_ADDRESS, _ENVOY_ADDRESS):
            yield from (clip_whole(found, _LAST_PORT) for found in pattern.findall(text))
