"""mbfmu: multibody mechanisms as FMI 2.0 co-simulation FMUs with constraint-preserving steppers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mbfmu.checker import check
    from mbfmu.cosimulation import couple
    from mbfmu.fmu.export import export
    from mbfmu.linearization import linearize
    from mbfmu.model import System
    from mbfmu.model.library import load
    from mbfmu.result import Result
    from mbfmu.simulation import simulate
    from mbfmu.steppers import steppers
    from mbfmu.study import sweep
    from mbfmu.viewer import view

__all__ = [
    "Result",
    "System",
    "__version__",
    "check",
    "couple",
    "export",
    "linearize",
    "load",
    "simulate",
    "steppers",
    "sweep",
    "view",
]

_HOMES = {
    "Result": "mbfmu.result",
    "System": "mbfmu.model",
    "check": "mbfmu.checker",
    "couple": "mbfmu.cosimulation",
    "export": "mbfmu.fmu.export",
    "linearize": "mbfmu.linearization",
    "load": "mbfmu.model.library",
    "simulate": "mbfmu.simulation",
    "sweep": "mbfmu.study",
    "view": "mbfmu.viewer",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import mbfmu` is quick."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "steppers":  # the package, which can be called
        return import_module("mbfmu.steppers")
    raise AttributeError(f"module 'mbfmu' has no attribute '{name}'")
