"""The time that requests to a Service may take, by the routes that lead to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from shutdownlint.manifests.decoding import has_placeholder, mappings, value_at
from shutdownlint.manifests.resources import BackendConfig, Ingress, Service
from shutdownlint.numbers import read_whole
from shutdownlint.platforms.annotation_values import backend_config_names, read_pair
from shutdownlint.platforms.durations import go_duration, server_duration
from shutdownlint.platforms.retries import RetryPolicy, read_conditions
from shutdownlint.platforms.routes import facts
from shutdownlint.platforms.routes.facts import Unit
from shutdownlint.platforms.routes.problems import RouteTimeoutIgnored
from shutdownlint.platforms.routes.resources import (
    HTTPProxy,
    HTTPRoute,
    Mapping,
    ServiceRouter,
)
from shutdownlint.platforms.virtual_services import VirtualService
from shutdownlint.shutdown.durations import UNBOUNDED, ZERO, seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex
    from shutdownlint.platforms.routes.facts import TimeoutAnnotation


class RouteLimit(Struct, frozen=True):
    """The time that a request may take on a route. ``total``: all of it, else only each pause."""

    setting: Setting[timedelta]
    total: bool

    @property
    def unlimited(self) -> bool:
        """Whether the route states that it has no limit."""
        return self.setting.value == UNBOUNDED


class RouteTable(Struct):
    """The limits of all routes, by namespace and name of the Service behind them."""

    limits: dict[tuple[str | None, str], list[RouteLimit]]
    problems: list[RouteTimeoutIgnored]
    #: The policies of the routes that write one; None: of a route that does not.
    retries: dict[tuple[str | None, str], list[RetryPolicy | None]]


def read_routes(index: ObjectIndex) -> RouteTable:
    """Return the limits that all routes of the files write."""
    reader = _Reader(index)
    reader.read()
    return RouteTable(reader.limits, reader.problems, reader.retries)


class _Reader:
    def __init__(self, index: ObjectIndex) -> None:
        self.index = index
        self.limits: dict[tuple[str | None, str], list[RouteLimit]] = {}
        self.problems: list[RouteTimeoutIgnored] = []
        self.retries: dict[tuple[str | None, str], list[RetryPolicy | None]] = {}
        self.configs: dict[tuple[str | None, str], list[LoadedResource[BackendConfig]]] = {}
        for config in index.all_of(BackendConfig):
            place = (self._namespace(config), config.model.metadata.name or "")
            self.configs.setdefault(place, []).append(config)

    def read(self) -> None:
        """Read every kind of route."""
        for virtual in self.index.all_of(VirtualService):
            self._virtual_service(virtual)
        for route in self.index.all_of(HTTPRoute):
            self._http_route(route)
        for proxy in self.index.all_of(HTTPProxy):
            self._http_proxy(proxy)
        for router in self.index.all_of(ServiceRouter):
            self._service_router(router)
        for mapping in self.index.all_of(Mapping):
            self._mapping(mapping)
        for ingress in self.index.all_of(Ingress):
            self._ingress(ingress)
        for service in self.index.all_of(Service):
            self._service(service)

    def _namespace(self, loaded: LoadedResource[Any]) -> str | None:
        written = loaded.model.metadata.namespace
        return self.index.namespaces.of(written, loaded.ref.document.file)

    def _virtual_service(self, loaded: LoadedResource[VirtualService]) -> None:
        for at, route in _items(loaded, "http"):
            key, value = _least(route, ("timeout",), ("retries", "perTryTimeout"), none=("0s",))
            policy = _istio_retries(route.get("retries"), _route_name(loaded, at / "retries"))
            for destination in mappings(route.get("route")):
                target = destination.get("destination")
                host = target.get("host") if isinstance(target, dict) else None
                if destination.get("weight") != 0:
                    self.retries.setdefault(self._place(loaded, host), []).append(policy)
                    self._add_host(loaded, host, value, at.below(*key), key[-1], total=True)

    def _http_route(self, loaded: LoadedResource[HTTPRoute]) -> None:
        for at, rule in _items(loaded, "rules"):
            timeouts = rule.get("timeouts")
            limits = timeouts if isinstance(timeouts, dict) else {}
            key, value = _least(limits, ("request",), ("backendRequest",), none=("0s",))
            policy = _http_route_retries(rule.get("retry"), _route_name(loaded, at / "retry"))
            for backend in mappings(rule.get("backendRefs")):
                if backend.get("kind") in (None, "Service") and backend.get("weight") != 0:
                    namespace = backend.get("namespace") or self._namespace(loaded)
                    where, name = (at / "timeouts").below(*key), backend.get("name")
                    self._add(loaded, namespace, name, value, where, key[-1], total=True)
                    if isinstance(namespace, str | None) and isinstance(name, str):
                        self.retries.setdefault((namespace, name), []).append(policy)

    def _http_proxy(self, loaded: LoadedResource[HTTPProxy]) -> None:
        for at, route in _items(loaded, "routes"):
            policy = route.get("timeoutPolicy")
            if not isinstance(policy, dict):
                continue
            key, value = _least(
                route,
                ("timeoutPolicy", "response"),
                ("retryPolicy", "perTryTimeout"),
                none=("infinity", "infinite"),
            )
            for service in mappings(route.get("services")):
                namespace, name = self._namespace(loaded), service.get("name")
                if service.get("mirror") is not True:
                    where = at.below(*key)
                    self._add(loaded, namespace, name, value, where, key[-1], total=True)

    def _service_router(self, loaded: LoadedResource[ServiceRouter]) -> None:
        for at, route in _items(loaded, "routes"):
            target = route.get("destination")
            if isinstance(target, dict):
                value = _duration(target.get("requestTimeout"))
                name = target.get("service") or loaded.model.metadata.name
                where = at / "destination" / "requestTimeout"
                self._add(
                    loaded,
                    self._namespace(loaded),
                    name,
                    value,
                    where,
                    "requestTimeout",
                    total=True,
                )

    def _mapping(self, loaded: LoadedResource[Mapping]) -> None:
        spec = loaded.model.spec
        if not isinstance(spec, dict):
            return
        value = _number(str(spec.get("timeout_ms", "")), 0.001)
        host = str(spec.get("service", "")).rpartition("://")[2].partition(":")[0]
        where = loaded.ref / "spec" / "timeout_ms"
        self._add_host(loaded, host, value, where, "timeout_ms", total=True)

    def _ingress(self, loaded: LoadedResource[Ingress]) -> None:
        annotations, whose = loaded.model.metadata.annotations, loaded.model.ingress_class
        found = []
        for fact in facts.INGRESS_ANNOTATIONS:
            entry = fact.value
            if whose and entry.classes and not any(part in whose for part in entry.classes):
                continue  # annotations of another controller may be left over
            found.append((entry, self._annotation(loaded, entry)))
        key, attribute = facts.ALB_ATTRIBUTES.value
        for part in annotations.get(key, "").split(","):
            pair = read_pair(part)
            if pair is not None and pair[0] == attribute and "alb" in (whose or "alb"):
                value = _number(pair[1], 1)
                found.append((facts.TimeoutAnnotation(key, Unit.SECONDS), value))
        for entry, value in found:
            where = loaded.ref / "metadata" / "annotations" / entry.key
            for name in sorted(loaded.model.services):
                namespace = self._namespace(loaded)
                self._add(loaded, namespace, name, value, where, entry.key, total=entry.total)

    def _service(self, loaded: LoadedResource[Service]) -> None:
        namespace, name = self._namespace(loaded), loaded.model.metadata.name
        for fact in facts.SERVICE_ANNOTATIONS:
            entry = fact.value
            value = self._annotation(loaded, entry)
            where = loaded.ref / "metadata" / "annotations" / entry.key
            self._add(loaded, namespace, name, value, where, entry.key, total=entry.total)
        for wanted in sorted(backend_config_names(loaded.model)):
            for config in self.configs.get((namespace, wanted), ()):
                value = _number(str(config.model.spec.timeoutSec), 1)
                where = config.ref / "spec" / "timeoutSec"
                self._add(config, namespace, name, value, where, "timeoutSec", total=True)

    def _annotation(
        self, loaded: LoadedResource[Any], entry: TimeoutAnnotation
    ) -> timedelta | None:
        text = loaded.model.metadata.annotations.get(entry.key)
        if text is None or has_placeholder(text):
            return None
        value = _read(text.strip(), entry.unit)
        if value is None and entry.unit in (Unit.SECONDS, Unit.MILLISECONDS):
            location = loaded.ref / "metadata" / "annotations" / entry.key
            self.problems.append(
                RouteTimeoutIgnored(
                    location=location, key=entry.key, value=text, unit=entry.unit.value
                )
            )
        return value

    def _add_host(
        self,
        loaded: LoadedResource[Any],
        host: Any,
        value: timedelta | None,
        where: NodeRef,
        key: str,
        *,
        total: bool,
    ) -> None:
        """Add a limit for a host: a Service's name, with or without its namespace."""
        namespace, name = self._place(loaded, host)
        self._add(loaded, namespace, name, value, where, key, total=total)

    def _place(self, loaded: LoadedResource[Any], host: Any) -> tuple[str | None, str]:
        name, _, rest = str(host or "").partition(".")
        return rest.partition(".")[0] or self._namespace(loaded), name

    def _add(
        self,
        loaded: LoadedResource[Any],
        namespace: Any,
        service: Any,
        value: timedelta | None,
        where: NodeRef,
        key: str,
        *,
        total: bool,
    ) -> None:
        if value is None or value <= ZERO or not isinstance(service, str) or not service:
            return
        kind = type(loaded.model).__name__
        name = f"{key.rpartition('/')[2]} of {kind} {loaded.model.metadata.name or ''}".strip()
        setting = Setting(name, value, Origin(OriginKind.INHERITED, name, where))
        place = (namespace if isinstance(namespace, str) else None, service)
        self.limits.setdefault(place, []).append(RouteLimit(setting, total))


def _route_name(loaded: LoadedResource[Any], where: NodeRef) -> Setting[str]:
    name = f"{type(loaded.model).__name__} {loaded.model.metadata.name or ''}".strip()
    return Setting("retries", name, Origin(OriginKind.INHERITED, name, where))


def _http_route_retries(written: Any, name: Setting[str]) -> RetryPolicy | None:
    """Return the retries of an HTTPRoute's rule: its statuses. More is left to the controller."""
    codes = written.get("codes") if isinstance(written, dict) else None
    if not isinstance(codes, list):
        return None
    return RetryPolicy(name, codes=tuple(code for code in codes if isinstance(code, int)))


def _istio_retries(written: Any, name: Setting[str]) -> RetryPolicy | None:
    """Return the retries of a VirtualService's route; None if it writes no own conditions."""
    if not isinstance(written, dict):
        return None
    if str(written.get("attempts")) == "0":
        return RetryPolicy(name)
    text = written.get("retryOn")
    if not isinstance(text, str) or has_placeholder(text):
        return None
    return RetryPolicy(name, *read_conditions(text))


def _items(loaded: LoadedResource[Any], key: str) -> Iterator[tuple[NodeRef, dict[str, Any]]]:
    """Yield the mappings of a list in the spec, each with its place."""
    spec = loaded.model.spec
    found = spec.get(key) if isinstance(spec, dict) else None
    for number, item in enumerate(found if isinstance(found, list) else ()):
        if isinstance(item, dict):
            yield loaded.ref / "spec" / key / number, item


def _least(
    data: dict[str, Any], *paths: tuple[str, ...], none: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], timedelta | None]:
    """Return the shortest of these limits, and where it is: one pod sees one try.

    ``none`` are the texts that say that there is no limit.
    """
    found = []
    for path in paths:
        duration = _duration(value_at(data, *path))
        if duration is not None and duration > ZERO:
            found.append((duration, path))
    if not found:
        return paths[0], UNBOUNDED if value_at(data, *paths[0]) in none else None
    shortest = min(found)
    return shortest[1], shortest[0]


def _read(text: str, unit: Unit) -> timedelta | None:
    if unit is Unit.DURATION:
        return _duration(text)
    if unit is Unit.SERVER:
        return server_duration(text)
    if unit is Unit.HAPROXY:
        return server_duration(f"{text}ms" if text.isdigit() else text)
    return _number(text, 0.001 if unit is Unit.MILLISECONDS else 1)


def _number(text: str, unit: float) -> timedelta | None:
    number = read_whole(text)
    return None if number is None else seconds(number * unit)


def _duration(value: Any) -> timedelta | None:
    try:
        return go_duration(value) if isinstance(value, str) else None
    except ValueError:
        return None
