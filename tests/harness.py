"""Running a system with a stepper, for tests: states, statuses, both kernels, and which cases stand for all."""

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from interpreted import Interpreted

import mbfmu
from mbfmu.dae import Dae, absolute, joint
from mbfmu.kernel import Compiled, Status, compiled_library, vector
from mbfmu.kernel.runtime import OK
from mbfmu.prepared import start_cache
from mbfmu.prepared.preparation import Preparation
from mbfmu.prepared.prepare import Prepared
from mbfmu.stepper import Family, Scheme, make_scheme

Array = npt.NDArray[np.float64]

DECIDED: Mapping[str, Mapping[str, Any]] = {"radau": {"stages": 3}}
"""Defaults that the model decides, by family, as it does without first-order states (test_component_states.py)."""


def variants(family: Family) -> list[Mapping[str, Any]]:
    """Return the sets of options of a family, the defaults first, and each once."""
    defaults, *others = family.variants()
    settled = {**defaults, **DECIDED.get(family.name, {})}
    return [settled, *(options for options in others if options != settled)]


VARIANTS = {name: variants(family) for name, family in mbfmu.steppers().items()}
SCHEMES: tuple[tuple[str, Mapping[str, Any]], ...] = tuple(
    (name, options) for name, each in VARIANTS.items() for options in each
)
"""Every family with every option."""
ENDS: tuple[tuple[str, Mapping[str, Any]], ...] = tuple(
    (name, options) for name, each in VARIANTS.items() for options in each[:: max(1, len(each) - 1)]
)
"""Every family with its defaults, and with the last of its options."""
DEFAULTS: tuple[tuple[str, Mapping[str, Any]], ...] = tuple((name, each[0]) for name, each in VARIANTS.items())
"""Every family with its defaults."""


def label(scheme: tuple[str, Mapping[str, Any]]) -> str:
    """Name a scheme in a test's id."""
    return "-".join([scheme[0], *map(str, scheme[1].values())])


@cache
def arm(coordinates: str) -> Dae:
    """Derive the two-link arm in absolute or joint coordinates, made once."""
    return {"absolute": absolute, "joint": joint}[coordinates](mbfmu.load("two_link"))


@cache
def _on_arm(coordinates: str, name: str, options: tuple[tuple[str, Any], ...]) -> Scheme:
    return make_scheme(arm(coordinates), name, dict(options))


def on_arm(coordinates: str, scheme: tuple[str, Mapping[str, Any]]) -> Scheme:
    """Return a scheme for the two-link arm, made once: what it claims may depend on the coordinates."""
    return _on_arm(coordinates, scheme[0], tuple(scheme[1].items()))


def extra(module: str, name: str) -> Any:
    """Return a module that an extra brings; without it a test or a whole file is skipped by name, in CI it fails.

    Args:
        module: its dotted name.
        name: the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{module} is not here: python -m pip install -e '.[{name}]'", allow_module_level=True)


def thorough(cases: Iterable[tuple[Any, ...]], represents: Callable[..., bool]) -> list[Any]:
    """Mark those cases of a parametrised test that others stand for."""
    return [pytest.param(*case, marks=() if represents(*case) else pytest.mark.represented) for case in cases]


def examples(factor: float = 1.0, **more: Any) -> settings:
    """Return settings of hypothesis: so many times the examples it tries, which are fewer without `--all`."""
    return settings(deadline=None, max_examples=round(factor * settings.default.max_examples), **more)


def named(value: Any) -> str | None:
    """Name a scheme in a test's id, and leave the rest to pytest."""
    return label(value) if value in SCHEMES else None


def both_kernels(prepared: Prepared) -> tuple[Compiled, Interpreted]:
    """Return the compiled and the interpreted kernel of the same bundle."""
    return Compiled(str(compiled_library(prepared.bundle))), Interpreted(prepared.bundle)


class Run(NamedTuple):
    """Where a run ended."""

    q: Array
    v: Array
    y: dict[str, float]
    x: Any
    status: Status
    z: Array


def run(prepared: Prepared, stop: float, h: float, u: float = 0.0, kernel: Any = None, x: Any = None) -> Run:
    """Take stop / h equal steps from the start values (or from x), all inputs held at u."""
    kernel = kernel or prepared.kernel
    p, held = vector(prepared.dae.p_default()), vector([u] * len(prepared.dae.inputs))
    still = vector([0.0] * len(prepared.dae.inputs))
    if x is None:
        x, begun = kernel.initialize(vector(prepared.dae.s_default()), held, p, 0.0, h)
        assert begun.code == OK, begun
    n = max(1, round(abs(stop / h)))
    x1, status = kernel.advance(x, held, still, p, 0.0, stop / n, n)
    assert status.code == OK, status
    scheme_x = np.array(x1)[: prepared.scheme.step.x.numel()]
    q, v, z = (np.array(item).ravel() for item in prepared.scheme.read(scheme_x, np.array(p), stop))
    y = kernel.outputs(x1, held, p, stop)
    names = [item.name for item in prepared.dae.outputs]
    return Run(q, v, dict(zip(names, y, strict=False)), x1, status, z)


def cache_key(
    system: Any, stepper: str | None, options: Mapping[str, Any], coordinates: str | None, tolerant: bool, **more: Any
) -> str | None:
    """Return the hash under which the start cache stores a model, with a stepper by name."""
    long = more.pop("long", False)
    request = Preparation(system, stepper, options, 1e-3, 1e-6 if tolerant else 0.0, coordinates, **more)
    return start_cache.cache_key(request, long=long)
