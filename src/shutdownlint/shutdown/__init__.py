"""What will happen: the settings of one pod, and the pure model of its shutdown.

Imports nothing of ``manifests`` or ``platforms``; it can be asked with bare numbers.
"""

from shutdownlint.shutdown.analysis import (
    Answer,
    Headroom,
    Loss,
    Outcome,
    Request,
    Shutdown,
    Traffic,
)
from shutdownlint.shutdown.durations import Span, seconds, written
from shutdownlint.shutdown.plan import (
    Assumption,
    Behaviour,
    Confidence,
    ContainerPlan,
    FrameworkPlan,
    Hook,
    HookKind,
    LoadBalancer,
    Plan,
    ProxyMode,
    ProxyPlan,
    SignalPath,
)
from shutdownlint.shutdown.provenance import Origin, OriginKind, Reason, Setting
from shutdownlint.shutdown.rollout import Rollout
from shutdownlint.shutdown.timeline import Event, Timeline

__all__ = [
    "Answer",
    "Assumption",
    "Behaviour",
    "Confidence",
    "ContainerPlan",
    "Event",
    "FrameworkPlan",
    "Headroom",
    "Hook",
    "HookKind",
    "LoadBalancer",
    "Loss",
    "Origin",
    "OriginKind",
    "Outcome",
    "Plan",
    "ProxyMode",
    "ProxyPlan",
    "Reason",
    "Request",
    "Rollout",
    "Setting",
    "Shutdown",
    "SignalPath",
    "Span",
    "Timeline",
    "Traffic",
    "seconds",
    "written",
]
