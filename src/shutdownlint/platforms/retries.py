"""Retries of callers: which failures a policy of Envoy's router hides, as far as files show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.numbers import clip_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.request import ClientSees

if TYPE_CHECKING:
    from shutdownlint.shutdown.provenance import Setting
    from shutdownlint.shutdown.request import Prediction

_ROUTER: Final = "envoy source/common/router/retry_state_impl.cc"
#: Conditions by what they retry. A request that was cut may have been carried out already.
_RESET_CONDITIONS: Final = SourcedValue(
    ("5xx", "gateway-error", "reset"), f"{_ROUTER} (wouldRetryFromReset)"
)
_REFUSED_CONDITIONS: Final = SourcedValue(
    ("connect-failure", "reset-before-request", *_RESET_CONDITIONS.value),
    f"{_ROUTER} (wouldRetryFromReset); measured with Envoy 1.40 and Istio's default policy",
)
_GATEWAY_ERRORS: Final = SourcedValue((502, 503, 504), f"{_ROUTER} (isGatewayError)")
_CODE: Final = lazy_pattern(r"[1-5][0-9]{2}")


class RetryPolicy(Struct, frozen=True):
    """A policy: its conditions, and the statuses that it retries.

    ``name`` is how reports name it, with its place.
    """

    name: Setting[str]
    conditions: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()

    def hides(self, prediction: Prediction) -> bool:
        """Whether a request that ends so is tried again on another pod."""
        sees, status = prediction.client_sees, prediction.status
        if sees is ClientSees.REFUSED:
            return any(c in self.conditions for c in _REFUSED_CONDITIONS.value)
        if sees is ClientSees.RESET:
            return any(c in self.conditions for c in _RESET_CONDITIONS.value)
        if sees is not ClientSees.STATUS or status is None:
            return False
        gateway = status in _GATEWAY_ERRORS.value and "gateway-error" in self.conditions
        return gateway or status in self.codes or (status >= 500 and "5xx" in self.conditions)


class RouteRetries(Struct, frozen=True):
    """The retries of each route to a pod; None if a route leaves that to the default."""

    policies: tuple[RetryPolicy | None, ...]


class DefaultRetries(Struct, frozen=True):
    """The retries of the proxies of the pod's callers if no route sets others.

    None: they are Envoys, but their default is not known.
    """

    policy: RetryPolicy | None


def read_conditions(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the conditions of a list with commas, and the statuses among them."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    codes = tuple(clip_whole(word, 999) for word in words if _CODE.fullmatch(word))
    return tuple(word for word in words if not _CODE.fullmatch(word)), codes
