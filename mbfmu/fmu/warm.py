"""Warm starts: what a run needs of a model, kept in the user's cache under a hash of all that decides it.

The hash holds the model with all its fields, what was asked of it, mbfmu's own source, the versions of what works on
it, and the C compiler. A model with a class, a stepper or a value that is not mbfmu's own has no such hash, as the code
behind it could be anything: it is derived each time. The step and the tolerance decide nothing here: they are given to
the kernel. Code of mbfmu that is replaced while it runs is not seen.

A file holds a checksum and, as JSON, an outline, a CasADi Function, and name and hash of a compiled library. Nothing is
unpickled: what can run is the library and the Function, which is as safe as to load the library alone, from the same
user's folder. A file that is not whole counts as not there; a library that is not is made again.
"""

import contextlib
import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

import mbfmu
from mbfmu.dae import Dae, Layout, ParameterSignal, Signal
from mbfmu.errors import MbfmuError
from mbfmu.files import write_aside
from mbfmu.kernel.toolchain import cache_folder, host
from mbfmu.model import Model
from mbfmu.steppers import FAMILIES, Scheme

ROOMS = ("model", "dae", "steppers", "kernel", "fmu")
"""Folders of mbfmu whose source decides what is kept."""
MOST = 500
"""How many files are kept; the oldest go first. Those of small models have 5 kB, of 128 spatial links 250 kB."""
PLAIN = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True)
class Outline(Layout):
    """What a run needs of a model, besides its kernel.

    Args:
        name: of the model.
        inputs: entries of u.
        parameters: entries of p.
        outputs: what the kernel puts out, without bound parameters.
        start_values: entries of s.
        held: how many entries the Dae's p has more than the kernel's.
        rows: Function (x, p, t) -> [Phi_q; G] at a state of the scheme, shape (m + k, n); None without constraints.
    """

    name: str
    inputs: tuple[Signal, ...]
    parameters: tuple[ParameterSignal, ...]
    outputs: tuple[Signal, ...]
    start_values: tuple[ParameterSignal, ...]
    held: int
    rows: Any

    @property
    def starts(self) -> tuple[ParameterSignal, ...]:
        """The start values s."""
        return self.start_values

    def jacobian(self, x: Any, p: Any) -> npt.NDArray[np.float64]:
        """Return [Phi_q; G] at t = 0, shape (m + k, n), for a state x and parameters p of the kernel."""
        if self.rows is None:
            return np.empty((0, 0))
        state = list(x)[: self.rows.size1_in(0)]
        return np.array(self.rows(state, [*p, *[0.0] * self.held], 0.0))


@dataclass(frozen=True)
class Kept:
    """What is kept.

    Args:
        outline: of the model.
        library: path of the compiled kernel.
    """

    outline: Outline
    library: Path


def outline(dae: Dae, scheme: Scheme) -> Outline:
    """Return the outline of a model with a stepper."""
    held, rows = dae.n_p - len(dae.parameters), _rows(dae, scheme) if dae.m + dae.k else None
    return Outline(dae.name, dae.inputs, dae.parameters, dae.outputs, dae.starts, held, rows)


def _rows(dae: Dae, scheme: Scheme) -> Any:
    x, p, t = ca.MX.sym("x", scheme.step.x.numel()), ca.MX.sym("p", dae.n_p), ca.MX.sym("t")
    q, _, _ = scheme.read(x, p, t)
    return ca.Function("rows", [x, p, t], [ca.densify(ca.vertcat(dae.Phi_q(q, p, t), dae.G(q, p, t)))])


def question(
    system: Model,
    stepper: str | None,
    options: Mapping[str, Any],
    coordinates: str | None,
    tolerant: bool,
) -> str | None:
    """Return the hash of all that decides the outline and the compiled kernel; None where nothing is to be kept.

    Args:
        system: the model.
        stepper: its name, as a user gives it.
        options: its options, as a user gives them.
        coordinates: as a user gives them.
        tolerant: a tolerance is asked for, which not every stepper takes.
    """
    compiler = host()
    if compiler is None or not all(_owned(family.make, "mbfmu.steppers.") for family in FAMILIES.values()):
        return None
    try:
        asked = _told([system, stepper, dict(options), coordinates, tolerant])
    except _ForeignError:
        return None
    return _hash(repr([asked, compiler, PROGRAM]).encode())


class _ForeignError(Exception):
    """A value that is not mbfmu's own, nor plain."""


def _told(value: Any) -> Any:
    """Return a value as nested lists of plain values, which differ if anything in it does.

    Raises:
        _ForeignError: there is something in it whose meaning is not known.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in {list, tuple}:
        return [kind.__name__, *map(_told, value)]
    if kind is dict:
        return [kind.__name__, *map(_told, value.items())]
    if kind is np.ndarray or (isinstance(value, np.number) and type(value.item()) in PLAIN):
        return [kind.__name__, str(value.dtype), _told(value.tolist())]
    if _owned(kind, "mbfmu.model."):
        name = f"{kind.__module__}.{kind.__qualname__}"
        if is_dataclass(value):
            names = [item.name for item in fields(value)]
            if vars(value).keys() == set(names):
                return [name, *(_told(getattr(value, item)) for item in names)]
        elif isinstance(value, tuple):
            return [name, *map(_told, value)]
    raise _ForeignError


def _owned(item: Any, home: str) -> bool:
    """Whether a class or function is the one of its name in a module below `home`."""
    module = str(item.__module__)
    return module.startswith(home) and getattr(sys.modules.get(module), item.__qualname__, None) is item


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sources() -> list[tuple[str, str]]:
    package = Path(mbfmu.__file__).parent
    found = sorted(path for room in ROOMS for path in (package / room).rglob("*") if path.suffix in {".py", ".c", ".h"})
    return [(path.relative_to(package).as_posix(), _hash(path.read_bytes())) for path in found]


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


def recall(key: str) -> Kept | None:
    """Return what is kept under a hash, if it and its library are there, and whole."""
    try:
        checksum, _, text = _path(key).read_bytes().partition(b"\n")
    except OSError:
        return None
    if checksum != _checksum(key, text):
        return None
    found = json.loads(text)
    library = cache_folder() / found["library"]
    try:
        if _hash(library.read_bytes()) != found["library_hash"]:
            library.unlink()  # who looks for it by its source shall not find it either
            return None
    except OSError:
        return None
    return Kept(
        Outline(
            found["name"],
            tuple(Signal(*item) for item in found["inputs"]),
            tuple(ParameterSignal(*item) for item in found["parameters"]),
            tuple(Signal(*item) for item in found["outputs"]),
            tuple(ParameterSignal(*item) for item in found["start_values"]),
            found["held"],
            found["rows"] and ca.Function.deserialize(found["rows"]),
        ),
        library,
    )


def keep(key: str, kept: Kept) -> None:
    """Keep something under a hash; where it, or its library, cannot be kept, the next start takes its time."""
    if not kept.library.is_relative_to(cache_folder()):
        return
    view, path = kept.outline, _path(key)
    content = {
        "library": kept.library.relative_to(cache_folder()).as_posix(),
        "name": view.name,
        "inputs": [astuple(item) for item in view.inputs],
        "parameters": [astuple(item) for item in view.parameters],
        "outputs": [astuple(item) for item in view.outputs],
        "start_values": [astuple(item) for item in view.start_values],
        "held": view.held,
        "rows": view.rows and view.rows.serialize(),
    }
    with contextlib.suppress(MbfmuError, OSError):
        content["library_hash"] = _hash(kept.library.read_bytes())
        text = json.dumps(content, separators=(",", ":")).encode()
        write_aside(path, _checksum(key, text) + b"\n" + text)
        others = sorted(path.parent.glob("*.json"), key=lambda other: other.stat().st_mtime)
        for other in others[:-MOST]:
            other.unlink()


def _path(key: str) -> Path:
    return cache_folder() / "starts" / f"{key}.json"


def _checksum(key: str, text: bytes) -> bytes:
    return _hash(key.encode() + text).encode()
