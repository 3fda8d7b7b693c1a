"""Regressor: the efforts of a tree of bodies are linear in the inertial parameters of its bodies.

With the mass m, the first moments h = m r_CM and the inertia J = I_CM + m (r_CM^T r_CM E - r_CM r_CM^T) about frame_a
of each rigid part as theta,

    M(q) a - force(q, v) = Y(q, v, a) theta + rest(q, v, a)

(Khalil and Dombre, Modeling, Identification and Control of Robots, 2002, ch. 12). The rest is that of springs, rotors
and whatever else has no such part.
"""

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equations import equations
from mbfmu.analysis.equations.functions import EquationFunctions
from mbfmu.errors import UsageError
from mbfmu.model import Body, Model, System

Array = npt.NDArray[np.float64]
SX = ca.SX

MOMENTS = ("I_11", "I_22", "I_33", "I_21", "I_31", "I_32")
"""Fields of a body's inertia about its centre of mass."""
PLANAR = ("I_33",)
"""Those of a planar body."""
GENERIC: dict[str, Any] = {
    "m": 1.0, "r_CM": (0.1, 0.2, 0.3), "I_11": 0.5, "I_22": 0.6, "I_33": 0.7, "I_21": 0.01, "I_31": 0.02, "I_32": 0.03,
}  # fmt: skip
"""Values of a body with which none of its inertial parameters is left out of the equations as zero."""


@dataclass(frozen=True)
class Regressor:
    """The regressor of a model.

    Args:
        names: of the inertial parameters theta: ``link1.m``, kg, ``link1.h[1]``, kg.m, ``link1.J_11``, kg.m2.
        coordinates: names of the coordinates q.
        units: their SI units.
        matrix: Function (q, v, a) -> Y, shape (n, number of names).
        rest: Function (q, v, a) -> the efforts that do not depend on theta, shape (n,).
        efforts: Function (q, v, a) -> M a - force of the model itself, shape (n,).
    """

    names: tuple[str, ...]
    coordinates: tuple[str, ...]
    units: tuple[str, ...]
    matrix: Any
    rest: Any
    efforts: Any


def regressor(model: Model) -> Regressor:
    """Return the regressor of a tree of joints without constraints.

    Args:
        model: the model; its own inertial parameters do not matter for the matrix.

    Raises:
        ModelError: the model is invalid.
        UsageError: it is no system, has no rigid parts, has constraints, or has events.
    """
    if not isinstance(model, System):
        raise UsageError(
            f"'{model.name}' is not a system of rigid parts, whose inertial parameters could be identified"
        )
    bodies = [item for item in model.components if isinstance(item, Body)]
    if not bodies:
        raise UsageError(f"'{model.name}' has no Body or BodyShape, whose inertial parameters could be identified")
    own = equations(model, coordinates="joint", parameters=())
    if own.dae.switching:
        raise UsageError(f"'{model.name}' has gaps or dry friction: leave them out to identify inertial parameters")
    if not own.is_ode:
        raise UsageError(
            f"'{model.name}' has constraints: inertial parameters are identified of trees of joints; open its loops"
        )
    # the model with parameters that are all symbols
    generic = replace(model, components=tuple(_generic(item, model.planar) for item in model.components))
    moments, d = (PLANAR, 2) if model.planar else (MOMENTS, 3)
    labels = ("m", *(f"r_CM[{k + 1}]" for k in range(d)), *moments)
    taken = [f"{body.name}.{label}" for body in bodies for label in labels]
    symbolic = equations(generic, coordinates="joint", parameters=taken)
    # theta of each body, and m, r_CM and I_CM in terms of it
    theta = SX.sym("theta", len(taken))
    p = ca.vertcat(*(_of_moments(part) for part in ca.vertsplit(theta, len(labels))))
    at = _moments(np.array(symbolic.p[: len(labels)]), model.planar)
    q, v, a = (SX.sym(name, own.sizes["q"]) for name in ("q", "v", "a"))
    efforts = _efforts(symbolic, q, v, a, ca.vertcat(p, SX(ca.DM(symbolic.p[len(taken) :]))))
    point = np.tile(at, len(bodies))
    slopes, whole = ca.substitute([ca.jacobian(efforts, theta), efforts], [theta], [SX(ca.DM(point))])
    Y, rest = ca.cse([ca.densify(slopes), whole - slopes @ point])
    names = ("m", *(f"h[{k + 1}]" for k in range(d)), *(f"J_{name[2:]}" for name in moments))
    return Regressor(
        tuple(f"{body.name}.{name}" for body in bodies for name in names),
        own.names["q"],
        tuple(item.unit for item in own.quantities["q"]),
        ca.Function("Y", [q, v, a], [Y]),
        ca.Function("rest", [q, v, a], [rest]),
        ca.Function("efforts", [q, v, a], [_efforts(own, q, v, a, ca.DM(own.p))]),
    )


def _generic(item: Any, planar: bool) -> Any:
    """Return a component, a body with the generic inertial parameters."""
    if not isinstance(item, Body):
        return item
    values = {name: GENERIC[name] for name in ("m", *(PLANAR if planar else MOMENTS))}
    return replace(item, **values, r_CM=GENERIC["r_CM"][: len(item.r_CM)])


def _efforts(known: EquationFunctions, q: SX, v: SX, a: SX, p: Any) -> SX:
    """Return M a - force, without inputs and with first-order states at their start."""
    start, u = np.array([item.value for item in known.quantities["z"]]), np.zeros(known.sizes["u"])
    efforts: SX = known.mass(q, p, 0.0) @ a - known.force(q, v, start, u, p, 0.0)
    return efforts


def _of_moments(theta: SX) -> SX:
    """Return m, r_CM and the moments I_CM of a body in terms of m, h and J."""
    m, planar = theta[0], theta.numel() == 4
    r = theta[1 : 3 if planar else 4] / m
    return ca.vertcat(m, r, theta[1 + r.numel() :] - m * _steiner(r))


def _moments(values: Array, planar: bool) -> Array:
    """Return m, h and J of a body from m, r_CM and I_CM."""
    m, r, moments = values[0], values[1 : 3 if planar else 4], values[3 if planar else 4 :]
    return np.concatenate([[m], m * r, moments + m * np.array(_steiner(ca.DM(r))).ravel()])


def _steiner(r: Any) -> Any:
    """Return the entries of r^T r E - r r^T in the order of the moments."""
    if r.numel() == 2:
        return ca.sumsqr(r)
    x, y, z = r[0], r[1], r[2]
    return ca.vertcat(y**2 + z**2, x**2 + z**2, x**2 + y**2, -x * y, -x * z, -y * z)
