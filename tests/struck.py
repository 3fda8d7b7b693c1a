"""Lagrangian models that hit, stick and stop, and how tests run them."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from conftest import REFERENCES

from mbfmu.kernel import vector
from mbfmu.kernel.failure import Facts
from mbfmu.model.contact import Contact
from mbfmu.model.lagrangian import Coordinate, LagrangianSystem
from mbfmu.model.parameter import Parameter
from mbfmu.prepared.prepare import Prepared, prepare

Array = npt.NDArray[np.float64]
G = 9.81


def reference(name: str) -> Any:
    """The data of a reference, with its source."""
    return json.loads((REFERENCES / f"{name}.json").read_text())


def numbers(**values: float) -> tuple[Parameter, ...]:
    """Parameters of these values."""
    return tuple(Parameter(name, float(value)) for name, value in values.items())


def ball(height: float = 1.0, e: float = 0.5) -> LagrangianSystem:
    """A ball that falls on the ground."""
    return LagrangianSystem(
        "ball", (Coordinate("y", "m", height, 0.0),), "m*der(y)**2/2", "m*g*y",
        parameters=numbers(m=1, g=G, e=e), contacts=(Contact("ground", gap="y", restitution="e"),),
    )  # fmt: skip


def tow() -> LagrangianSystem:
    """A trailer that a magnet holds until a spring pulls it off; its load is pinned to it until it hits a post."""
    return LagrangianSystem(
        "tow", (Coordinate("x", "m", 0.0, 0.0), Coordinate("load", "m", 0.0, 0.0)),
        "(20*der(x)**2 + 5*der(load)**2)/2", "200*(x - 0.5*time)**2/2",
        contacts=(
            Contact("magnet", gap="x", pull="60"), Contact("pin", slide="load - x", strength="25"),
            Contact("post", gap="1 - x", restitution=0.5, impact_law="poisson"),
        ),
    )  # fmt: skip


def stick_slip() -> LagrangianSystem:
    """A mass on a belt, held by a spring: Leine & van Campen et al., Nonlinear Dynamics 16, 1998."""
    return LagrangianSystem(
        "stick_slip", (Coordinate("x", "m", 0.0, 0.2),), "m*der(x)**2/2", "k*x**2/2",
        parameters=numbers(m=1, k=1, v_belt=0.2, F_s=1, delta=3),
        contacts=(Contact("belt", slide="x - v_belt*time", sliding="F_s/(1 + delta*speed)", static="F_s"),),
    )  # fmt: skip


def incline(part: float = 0.99) -> LagrangianSystem:
    """A block on a plane inclined by a part of the friction angle, with a push along it."""
    return LagrangianSystem(
        "incline", (Coordinate("x", "m", 0.3, 0.0),), "m*der(x)**2/2", "-m*g*sin(alpha)*x",
        inputs={"x": "push"},
        parameters=numbers(m=1, g=G, mu=0.5, alpha=part * float(np.arctan(0.5))),
        contacts=(Contact("plane", slide="x", sliding="mu*normal", normal="m*g*cos(alpha)"),),
    )  # fmt: skip


def woodpecker() -> LagrangianSystem:
    """A toy that pecks down a pole: Glocker & Studer, Multibody Syst. Dyn. 13, 2005."""
    data = reference("woodpecker")
    values = {name: value for name, value in data["params"].items() if not isinstance(value, list)}
    for k in range(3):
        values |= {f"e_{k + 1}": data["params"]["e_N"][k], f"mu_{k + 1}": data["params"]["mu"][k]}
    start = data["start"]
    return LagrangianSystem(
        "woodpecker",
        (
            Coordinate("y", "m", 0.0, start["v"]),
            Coordinate("phi_M", "rad", start["phi_M"], start["omega_M"]),
            Coordinate("phi_S", "rad", start["phi_S"], start["omega_S"]),
        ),
        "((m_S + m_M)*der(y)**2 + 2*m_S*l_M*der(y)*der(phi_M) + 2*m_S*l_G*der(y)*der(phi_S)"
        " + (J_M + m_S*l_M**2)*der(phi_M)**2 + 2*m_S*l_M*l_G*der(phi_M)*der(phi_S)"
        " + (J_S + m_S*l_G**2)*der(phi_S)**2)/2",
        "(m_S + m_M)*g*y + m_S*g*l_M*phi_M + m_S*g*l_G*phi_S + c_phi*(phi_M - phi_S)**2/2",
        parameters=numbers(**values),
        contacts=(
            Contact("beak", gap="l_M + l_G - l_S - r_0 - h_S*phi_S", restitution="e_1",
                    slide="y + l_M*phi_M + (l_G - l_S)*phi_S", sliding="mu_1*normal"),
            Contact("lower", gap="r_M - r_0 + h_M*phi_M", restitution="e_2",
                    slide="y + r_M*phi_M", sliding="mu_2*normal"),
            Contact("upper", gap="r_M - r_0 - h_M*phi_M", restitution="e_3",
                    slide="y + r_M*phi_M", sliding="mu_3*normal"),
        ),
    )  # fmt: skip


class Struck(NamedTuple):
    """What a run showed at its communication points, and the times of its events."""

    times: Array
    rows: list[dict[str, float]]
    events: list[float]
    x: list[float]

    def column(self, name: str) -> Array:
        """An output over the communication points."""
        return np.array([row[name] for row in self.rows])


def run(prepared: Prepared, times: Sequence[float], h: float, tolerance: float = 0.0) -> Struck:
    """Run a model from communication point to communication point, in steps of at most h."""
    kernel, outline = prepared.kernel, prepared.outline
    names, u, p = [item.name for item in outline.outputs], vector(outline.u_default()), vector(outline.p_default())
    still, x, time = vector([0.0] * len(u)), prepared.initial_state(), 0.0
    rows, events = [], []
    for end in times:
        x, y, failure = kernel.communicate(x, u, still, p, time, end - time, h, tolerance)
        assert failure is None, Facts(outline.name, outline.guards).message(failure)
        time = end
        rows.append(dict(zip(names, y, strict=False)))
        if rows[-1]["events.count"] and rows[-1]["events.time"] not in events:
            events.append(rows[-1]["events.time"])
    return Struck(np.array(times), rows, events, list(x))


def made(model: LagrangianSystem, stepper: str, options: Any, h: float, tolerance: float = 0.0) -> Prepared:
    """A model with a stepper."""
    return prepare(model, stepper, options, h, tolerance)
