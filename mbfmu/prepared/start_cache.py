"""The start cache: what a run needs of a model, stored in the user's cache under a hash of all that decides it.

The hash holds the model with all its fields, what was asked of it, mbfmu's own source, the versions of what works on
it, and the C compiler. A model with a class, a stepper or a value that is not mbfmu's own has no such hash, as the code
behind it could be anything: it is derived each time. Of the step it counts only whether it is too long for the stepper
that is taken if none is named; the kernel takes any step and tolerance. Code of mbfmu that is replaced while it runs is
not seen.

A file holds, as JSON, an outline, a CasADi Function, and the name of a compiled library. Nothing is unpickled: what can
run is the library and the Function, which is as safe as to load the library alone, from the same user's folder. A file
that is not whole counts as not there, and so does one whose library is not.
"""

import contextlib
import hashlib
import json
import platform
import sys
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import mbfmu
from mbfmu.base.cache import cache_folder, keep, verified
from mbfmu.dae import ParameterSignal, Signal
from mbfmu.dae.energy import Conserved
from mbfmu.dae.vibration import Vibration
from mbfmu.errors import MbfmuError
from mbfmu.kernel.build.toolchain import for_kernels
from mbfmu.kernel.errors import Estimated
from mbfmu.kernel.failure import Bound
from mbfmu.prepared.outline import Outline
from mbfmu.prepared.preparation import Preparation
from mbfmu.stepper import FAMILIES, Usual

ROOMS = ("model", "dae", "stepper", "kernel", "prepared")
"""Folders of mbfmu whose source decides what is stored."""
PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types whose `repr` says all of a value."""


@dataclass(frozen=True)
class CachedStart:
    """What the cache holds of a model.

    Args:
        outline: of the model.
        library: path of the compiled kernel.
    """

    outline: Outline
    library: Path


def cache_key(request: Preparation, long: bool = False) -> str | None:
    """Return the hash of all that decides the outline and the compiled kernel; None if the model is not to be cached.

    Of a tolerance it has only whether there is one, which not every stepper takes.

    Args:
        request: the model, with its stepper by name, and what it is prepared for.
        long: no stepper is named, and the step is too long for the one that is taken else.
    """
    compiler = for_kernels(request.portable)
    if compiler is None or not all(_owned(family.make, "mbfmu.stepper.") for family in FAMILIES.values()):
        return None
    if (request.stepper or request.system.stepper or "direct") not in FAMILIES:  # of another package
        return None
    try:
        content = _canonical(
            [
                request.system,
                request.stepper,
                dict(request.options or {}),
                request.coordinates,
                request.tolerance > 0,
                dict(request.formulas or {}),
                request.energy_balance,
                list(request.choices),
                request.inverse,
                request.states,
                request.indicators,
                long,
            ]
        )
    except _ForeignError:
        return None
    return _hash(repr([content, compiler, PROGRAM]).encode())


class _ForeignError(Exception):
    """A value that is not mbfmu's own, nor plain."""


def _canonical(value: Any) -> Any:
    """Return a value as nested lists of plain values, which differ if anything in it does.

    Raises:
        _ForeignError: there is something in it whose meaning is not known.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in {list, tuple}:
        return [kind.__name__, *map(_canonical, value)]
    if kind is dict:
        return [kind.__name__, *map(_canonical, value.items())]
    if kind is np.ndarray and value.dtype.kind in "biuf":
        return [kind.__name__, str(value.dtype), value.shape, _hash(np.ascontiguousarray(value).tobytes())]
    if kind is np.ndarray or (isinstance(value, np.number) and type(value.item()) in PLAIN):
        return [kind.__name__, str(value.dtype), _canonical(value.tolist())]
    if _owned(kind, "mbfmu.model."):
        name = f"{kind.__module__}.{kind.__qualname__}"
        if is_dataclass(value):
            names = [item.name for item in fields(value)]
            if vars(value).keys() == set(names):
                return [name, *(_canonical(getattr(value, item)) for item in names)]
        elif isinstance(value, tuple):
            return [name, *map(_canonical, value)]
    raise _ForeignError


def _owned(item: Any, home: str) -> bool:
    """Whether a class or function is the one of its name in a module below `home`."""
    module = str(item.__module__)
    return module.startswith(home) and getattr(sys.modules.get(module), item.__qualname__, None) is item


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sources() -> list[tuple[str, str]]:
    package = Path(mbfmu.__file__).parent
    paths = sorted(path for room in ROOMS for path in (package / room).rglob("*") if path.suffix in {".py", ".c", ".h"})
    return [(path.relative_to(package).as_posix(), _hash(path.read_bytes())) for path in paths]


PROGRAM = repr(
    [
        mbfmu.__version__,
        ca.CasadiMeta.version(),
        np.__version__,
        platform.python_version(),
        sys.platform,
        platform.machine(),
        _sources(),
    ]
)
"""Versions and sources, as they are when this is imported: what runs, even if a file is changed later."""


def load(key: str) -> CachedStart | None:
    """Return what is stored under a hash; None unless it and its library are there and undamaged."""
    text = verified(_path(key))
    if text is None:
        return None
    entry = json.loads(text)
    library = cache_folder() / entry["library"]
    if verified(library) is None:
        return None
    return CachedStart(
        Outline(
            entry["name"],
            entry["stepper"],
            entry["usual"] and Usual(*entry["usual"]),
            tuple(Signal(*_with_items(item)) for item in entry["inputs"]),
            tuple(ParameterSignal(*_with_items(item)) for item in entry["parameters"]),
            tuple(Signal(*_with_items(item)) for item in entry["outputs"]),
            tuple(ParameterSignal(*_with_items(item)) for item in entry["start_values"]),
            entry["sampled"],
            tuple(entry["formulas"]),
            entry["multistep"],
            tuple(entry["notices"]),
            entry["rows"] and ca.Function.deserialize(entry["rows"]),
            Conserved(*entry["constant"]),
            tuple(entry["guards"]),
            tuple(entry["gaps"]),
            tuple(entry["clearances"]),
            tuple(Bound(*item) for item in entry["bounds"]),
            entry["limit"],
            entry["quickest"] and Vibration(*entry["quickest"]),
            tuple(entry["coordinates"]),
            _measured(*entry["measured"]),
        ),
        library,
    )


def _measured(names: list[str], n: int, usual: list[float]) -> Estimated:
    return Estimated(tuple(names), n, tuple(usual))


def store(key: str, start: CachedStart) -> None:
    """Store a start under a hash; if it or its library cannot be written, nothing is stored and no error is raised."""
    if not start.library.is_relative_to(cache_folder()):
        return
    view = start.outline
    content = {
        "library": start.library.relative_to(cache_folder()).as_posix(),
        "name": view.name,
        "stepper": view.stepper,
        "usual": view.usual,
        "inputs": [_fields(item) for item in view.inputs],
        "parameters": [_fields(item) for item in view.parameters],
        "outputs": [_fields(item) for item in view.outputs],
        "start_values": [_fields(item) for item in view.start_values],
        "sampled": view.sampled,
        "formulas": list(view.formulas),
        "multistep": view.multistep,
        "notices": view.notices,
        "rows": view.rows and view.rows.serialize(),
        "constant": view.constant,
        "guards": view.guards,
        "gaps": view.gaps,
        "clearances": view.clearances,
        "bounds": view.bounds,
        "limit": view.limit,
        "quickest": view.quickest,
        "coordinates": view.coordinates,
        "measured": view.measured,
    }
    with contextlib.suppress(MbfmuError):
        keep(_path(key), json.dumps(content, separators=(",", ":")).encode())


def _fields(signal: Any) -> list[Any]:
    """Return the fields of a signal, all of them numbers, texts or tuples of these."""
    return list(vars(signal).values())


def _path(key: str) -> Path:
    return cache_folder() / "starts" / f"{key}.json"


def _with_items(fields: list[Any]) -> list[Any]:
    """Return the fields of a signal, of which JSON knows the last one, the items, as a list."""
    return [*fields[:-1], tuple(fields[-1])]
