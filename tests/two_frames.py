"""Two frames anywhere in the plane or in space, for tests of what joins them; and numbers for a component's fields."""

import math
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.model import Body, Component, FreeMotion, Prismatic, Revolute, System, World, connect, flatten
from mbfmu.model.component import Input
from mbfmu.model.frame import Frame, Pose, quaternion_product
from mbfmu.model.mechanism import quantities

Array = npt.NDArray[np.float64]
TIME = ca.SX.sym("time")


def values_of(component: Component, planar: bool, inputs: dict[str, Any] | None = None) -> SimpleNamespace:
    """What the methods of a component get as `p`, from a system around it; inputs are symbols unless given."""
    ends = [("world.frame_b", "free.frame_a"), ("free.frame_b", "body.frame_a")]
    ends += [("world.frame_b" if frame == "frame_a" else "body.frame_a", f"{component.name}.{frame}")
             for frame in component.frames]  # fmt: skip
    axes = [("world.frame_b", f"{joint}.frame_a") for joint in ("hinge", "rail")]
    axes += [("body.frame_a", f"{joint}.frame_b") for joint in ("hinge", "rail")]
    parts = (World(), FreeMotion("free"), Body("body", m=1.0), Revolute("hinge"), Prismatic("rail"), component)
    system = System("rig", parts, tuple(connect(*pair) for pair in (*ends, *axes)), planar=planar)
    given = {item.name: ca.SX.sym(item.name, item.size) for item in component.inputs(planar)}
    return quantities(flatten(system), component.name, {}, TIME, ca.SX(0), {**given, **(inputs or {})})


def declared_inputs(component: Component, planar: bool) -> list[tuple[str, str, int]]:
    return [(item.name, item.unit, item.size) for item in component.inputs(planar) if isinstance(item, Input)]


class Pair:
    """Two frames a and b as expressions of symbols: where they lie (q) and how they move (v).

    Args:
        planar: in the plane, or in space.
    """

    def __init__(self, planar: bool) -> None:
        self.planar, self.dim = planar, 2 if planar else 3
        self.turns = 1 if planar else 3
        size = 3 if planar else 7
        self.q = ca.SX.sym("q", 2 * size)
        self.v = ca.SX.sym("v", 2 * (self.dim + self.turns))
        self.a, self.b = (self._frame(number) for number in range(2))

    def _frame(self, number: int) -> Frame:
        q, v = ca.vertsplit_n(self.q, 2)[number], ca.vertsplit_n(self.v, 2)[number]
        return Frame(Pose(q[: self.dim], q[self.dim :]), v[: self.dim], v[self.dim :])

    @property
    def moving(self) -> Any:
        """The derivative of q, by the kinematics of rigid bodies."""
        rates = []
        for frame in (self.a, self.b):
            turn = frame.w_0 if self.planar else quaternion_product(ca.vertcat(0, frame.w_0 / 2), frame.Q)
            rates.append(ca.vertcat(frame.v_0, turn))
        return ca.vertcat(*rates)

    def dot(self, expression: Any) -> Any:
        """The time derivative of an expression of q and the time."""
        expression = ca.vertcat(expression)
        return ca.jtimes(expression, self.q, self.moving) + ca.jacobian(expression, TIME)

    def wrench(self, expression: Any) -> Any:
        """The gradient of a scalar of q by small displacements and rotations of a, then of b, in the world frame."""
        return ca.jacobian(self.dot(expression), self.v).T

    def number(self, expression: Any, q: Array, v: Array | None = None, t: float = 0.0) -> Array:
        """The value of an expression as an array, a column flat."""
        still = np.zeros(self.v.numel())
        f = ca.Function("f", [self.q, self.v, TIME], [ca.densify(ca.vertcat(expression))])
        value = np.array(f(q, still if v is None else v, t), dtype=float)
        return value.ravel() if value.shape[1] == 1 else value

    def anywhere(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Random places and velocities, with unit quaternions."""
        one, two = (self.place(rng.normal(size=self.dim), random_turn(rng, self.planar)) for _ in range(2))
        return np.concatenate([one, two]), rng.normal(size=self.v.numel())

    @staticmethod
    def place(r: Array, turn: Array) -> Array:
        return np.concatenate([r, turn])


def random_turn(rng: np.random.Generator, planar: bool) -> Array:
    """A random angle, shape (1,), or a random unit quaternion."""
    if planar:
        return rng.uniform(-3, 3, 1)
    Q = rng.normal(size=4)
    return np.asarray(Q / np.linalg.norm(Q))


def rotation(turn: Array) -> Array:
    """The rotation matrix of an angle, shape (1,), or of a unit quaternion."""
    if len(turn) == 1:
        c, s = math.cos(turn[0]), math.sin(turn[0])
        return np.array([[c, -s], [s, c]])
    w, *e = turn
    K = np.array([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
    return np.asarray(np.eye(3) + 2 * w * K + 2 * K @ K)


def product(a: Array, b: Array) -> Array:
    """One turn after another, b first: the sum of angles, or the Hamilton product."""
    if len(a) == 1:
        return a + b
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def across(w: Array, r: Array) -> Array:
    """w x r, in the plane with w of shape (1,)."""
    return w[0] * np.array([-r[1], r[0]]) if len(r) == 2 else np.cross(w, r)


def moment(r: Array, f: Array) -> Array:
    """r x f, of shape (1,) in the plane."""
    return np.array([r[0] * f[1] - r[1] * f[0]]) if len(r) == 2 else np.cross(r, f)


def random_axis(rng: np.random.Generator) -> tuple[float, ...]:
    n = rng.normal(size=3)
    return tuple(float(x) for x in n / np.linalg.norm(n))
