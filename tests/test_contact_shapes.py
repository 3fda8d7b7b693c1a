"""Boxes and capsules in contact: gaps and slips against geometry by hand, and motions against closed forms."""

import math
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from events import Run
from harness import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from two_frames import Pair, values_of

import mbfmu
from mbfmu.model import (
    Body,
    BoxOnHeightField,
    BoxOnPlane,
    CapsuleOnCircle,
    CapsuleOnLine,
    CapsuleOnPlane,
    CapsuleOnSphere,
    FreeMotion,
    RectangleOnHeightField,
    RectangleOnLine,
    System,
    World,
    connect,
)
from mbfmu.model.contacts import FrameContact

Array = np.ndarray[Any, Any]
g = 9.81
E = {"e": 0.3, "mu": 0.2}
SIZE = (0.6, 0.4, 0.3)
L, A, B = 0.8, 0.2, 0.3
"""Length and radius of a capsule, radius of a ball, m."""
PAIRS = {True: Pair(True), False: Pair(False)}
numbers = st.lists(st.floats(-1, 1), min_size=26, max_size=26).map(np.array)


@cache
def function(contact: FrameContact, planar: bool) -> Any:
    """Return the function of places and velocities that gives gaps and slips, the latter in columns."""
    pair, p = PAIRS[planar], values_of(contact, planar)
    gaps, rubs = (find(p, pair.a, pair.b) for find in (contact.gaps, contact.frictions))
    values = ca.vertcat(*(item.value for item in gaps)), ca.horzcat(*(item.slip for item in rubs))
    return ca.Function("seen", [pair.q, pair.v], [ca.densify(value) for value in values])


class Placed:
    """Two bodies at random places in random motion, known to a contact as frames and here as arrays."""

    def __init__(self, planar: bool, drawn: Array) -> None:
        self.planar, dim = planar, 2 if planar else 3
        self.r = [3 * drawn[:dim], 3 * drawn[dim : 2 * dim]]
        self.v = [drawn[6 : 6 + dim], drawn[9 : 9 + dim]]
        turns = [drawn[12:16], drawn[16:20]]
        rates = [drawn[20:23], drawn[23:26]]
        if planar:
            self.R = [Rotation.from_euler("z", 3 * turn[0]).as_matrix()[:2, :2] for turn in turns]
            self.w: list[Any] = [rate[0] for rate in rates]
            poses = [np.append(r, 3 * turn[0]) for r, turn in zip(self.r, turns, strict=True)]
        else:
            spins = [Rotation.from_quat(turn + np.array([0, 0, 0, 1.5])) for turn in turns]
            self.R, self.w = [spin.as_matrix() for spin in spins], list(rates)
            poses = [np.append(r, spin.as_quat(scalar_first=True)) for r, spin in zip(self.r, spins, strict=True)]
        self.q, self.moving = np.concatenate(poses), np.concatenate(
            [np.append(v, w) for v, w in zip(self.v, self.w, strict=True)]
        )  # fmt: skip

    def seen(self, contact: FrameContact) -> tuple[Array, Array]:
        """Return gaps and sizes of the slips of the contact, in the order of its parts."""
        gaps, slips = function(contact, self.planar)(self.q, self.moving)
        return np.array(gaps).ravel(), np.linalg.norm(np.array(slips), axis=0)

    def velocity(self, body: int, place: Array) -> Array:
        """Return the velocity of a body's point at a place, m/s."""
        arm, w = place - self.r[body], self.w[body]
        turn = w * np.array([-arm[1], arm[0]]) if len(arm) == 2 else np.cross(w, arm)
        found: Array = self.v[body] + turn
        return found

    def slip(self, place: Array, normal: Array) -> float:
        """Return the speed at which two bodies slip at a place, m/s."""
        v = self.velocity(1, place) - self.velocity(0, place)
        return float(np.linalg.norm(v - normal * (normal @ v)))


def corners(dim: int) -> Array:
    """Return the corners of a box in its frame, m, x fastest."""
    grid = np.meshgrid(*([-0.5, 0.5] for _ in range(dim)), indexing="ij")
    return np.column_stack([axis.ravel(order="F") for axis in grid]) * SIZE[:dim]


@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
@examples(0.5)
@given(drawn=numbers)
def test_the_gaps_of_a_box_on_a_plane_are_the_heights_of_its_corners(planar: bool, drawn: Array) -> None:
    placed = Placed(planar, drawn)
    contact: Any = (RectangleOnLine if planar else BoxOnPlane)("touch", size=SIZE[: 2 if planar else 3], **E)
    gaps, slips = placed.seen(contact)
    dim = 2 if planar else 3
    normal = placed.R[0][:, -1]
    at = placed.r[1] + corners(dim) @ placed.R[1].T
    assert gaps == pytest.approx((at - placed.r[0]) @ normal, abs=1e-12)
    wanted = [placed.slip(place, normal) for place in at]
    assert slips == pytest.approx(wanted, abs=1e-12)
    assert len(contact.parts) == len(set(contact.parts)) == 2**dim


@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
@examples(0.5)
@given(drawn=numbers)
def test_a_box_on_a_tilted_height_field_has_the_gaps_of_a_box_on_that_plane(planar: bool, drawn: Array) -> None:
    placed = Placed(planar, drawn)
    kind: Any = RectangleOnHeightField if planar else BoxOnHeightField
    gaps, slips = placed.seen(
        kind("touch", size=SIZE[: 2 if planar else 3], height="0.3*x" if planar else "0.3*x - 0.2*y", **E)
    )
    up = np.array([-0.3, 1.0] if planar else [-0.3, 0.2, 1.0])
    normal = placed.R[0] @ (up / np.linalg.norm(up))
    at = placed.r[1] + corners(len(up)) @ placed.R[1].T
    assert gaps == pytest.approx((at - placed.r[0]) @ normal, abs=1e-12)
    wanted = [placed.slip(place, normal) for place in at]
    assert slips == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
@examples(0.5)
@given(drawn=numbers)
def test_the_ends_of_a_capsule_on_a_plane_are_balls(planar: bool, drawn: Array) -> None:
    placed = Placed(planar, drawn)
    gaps, slips = placed.seen((CapsuleOnLine if planar else CapsuleOnPlane)("touch", length=L, radius=A, **E))
    normal = placed.R[0][:, -1]
    ends = [placed.r[1] + side * L / 2 * placed.R[1][:, 0] for side in (-1, 1)]
    assert gaps == pytest.approx([(end - placed.r[0]) @ normal - A for end in ends], abs=1e-12)
    assert slips == pytest.approx([placed.slip(end - A * normal, normal) for end in ends], abs=1e-12)


@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
@examples(0.5)
@given(drawn=numbers)
def test_a_ball_beside_a_capsule_is_as_far_as_from_the_nearest_point_of_its_axis(planar: bool, drawn: Array) -> None:
    placed = Placed(planar, drawn)
    kind: Any = CapsuleOnCircle if planar else CapsuleOnSphere
    gaps, slips = placed.seen(kind("touch", length=L, radius_a=A, radius_b=B, **E))

    seen = placed.R[0].T @ (placed.r[1] - placed.r[0])
    axis = placed.r[0] + min(max(seen[0], -L / 2), L / 2) * placed.R[0][:, 0]
    points = placed.r[0] + np.linspace(-L / 2, L / 2, 1001)[:, None] * placed.R[0][:, 0]
    away = placed.r[1] - axis
    far = float(np.linalg.norm(away))
    assert far <= np.linalg.norm(points - placed.r[1], axis=1).min() + 1e-12
    assume(far > 1e-3)  # nobody gets that deep
    assert gaps == pytest.approx([far - A - B], abs=1e-9)
    normal = away / far
    v = placed.velocity(1, placed.r[1] - B * normal) - placed.velocity(0, axis + A * normal)
    assert slips == pytest.approx([np.linalg.norm(v - normal * (normal @ v))], abs=1e-9)


def on_world(contact: FrameContact, planar: bool, J: tuple[float, ...], slope: float = 0.0, **start: Any) -> System:
    """Return a free body of 2 kg in contact with the world, whose weight is inclined towards x."""
    s, c = math.sin(slope), math.cos(slope)
    inertia = {"I_33": J[-1]} if planar else {f"I_{k}{k}": value for k, value in enumerate(J, 1)}
    return System(
        "thrown",
        planar=planar,
        components=(
            World("world", g=g, n=(s, -c) if planar else (s, 0.0, -c)),
            FreeMotion("free", **start),
            Body("body", m=2.0, **inertia),
            contact,
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", f"{contact.name}.frame_a"),
            connect("body.frame_a", f"{contact.name}.frame_b"),
        ),
    )


def test_a_rectangle_slides_down_a_slope_on_its_lower_corners() -> None:
    slope = 0.4
    box = RectangleOnLine("touch", size=SIZE[:2], mu=0.2)
    start: dict[str, Any] = {"r_rel": (0.0, SIZE[1] / 2), "v_rel": (0.0, 0.0), "phi": 0.0, "w": 0.0}
    run = Run(on_world(box, True, (0.05,), slope, **start), 1e-2).to(1.0)
    a = g * (math.sin(slope) - 0.2 * math.cos(slope))
    assert run.row(["body.r_0[1]", "body.r_0[2]", "body.phi"]) == pytest.approx([a / 2, SIZE[1] / 2, 0], abs=1e-12)
    pressing = run.row(["touch.lower_left.f_n", "touch.lower_right.f_n"])
    assert pressing.sum() == pytest.approx(2 * g * math.cos(slope), rel=1e-12)
    # the moment of friction about the centre
    assert SIZE[0] / 2 * (pressing[1] - pressing[0]) == pytest.approx(0.2 * pressing.sum() * SIZE[1] / 2, rel=1e-11)


def test_a_box_that_is_thrown_slides_to_rest_in_space() -> None:
    """With `moreau`, of order 1: it stops after v/(mu g), v^2/(2 mu g) away."""
    box = BoxOnPlane("touch", size=SIZE, mu=0.4)
    start: dict[str, Any] = {"r_rel": (0.0, 0.0, SIZE[2] / 2), "v_rel": (0.6, 0.8, 0.0)}
    system = on_world(box, False, (0.05, 0.06, 0.08), **start)
    run = mbfmu.simulate(system, 0.5, stepper="moreau", step=1e-3, output_interval=0.05)
    way = 1 / (2 * 0.4 * g)
    ended = [run[f"body.r_0[{k}]"][-1] for k in (1, 2, 3)]
    assert ended == pytest.approx([0.6 * way, 0.8 * way, SIZE[2] / 2], abs=1e-3)
    assert [run[f"body.v_0[{k}]"][-1] for k in (1, 2, 3)] == pytest.approx([0, 0, 0], abs=1e-14)
    assert sum(run[f"touch.{part}.f_n"][-1] for part in box.parts) == pytest.approx(2 * g, rel=1e-9)


def test_a_capsule_rolls_down_a_slope_on_both_ends() -> None:
    """a = g sin(slope)/(1 + J/(m r^2)), with `moreau`."""
    slope, J = 0.3, 0.5 * 2.0 * A**2
    rod = CapsuleOnPlane("touch", length=L, radius=A, mu=0.5)
    turn = math.sqrt(0.5)
    start: dict[str, Any] = {"r_rel": (0.0, 0.0, A), "Q_rel": (turn, 0.0, 0.0, turn)}  # its axis across the slope
    system = on_world(rod, False, (J, 0.2, 0.2), slope, **start)
    run = mbfmu.simulate(system, 0.5, stepper="moreau", step=1e-3, output_interval=0.05)
    a = g * math.sin(slope) / 1.5
    # measured 1.3e-6: steps that would gain energy are slowed
    assert run["body.v_0[1]"][-1] == pytest.approx(a * 0.5, rel=3e-6)
    assert run["body.r_0[1]"][-1] == pytest.approx(a * 0.5**2 / 2, rel=5e-3)
    assert run["body.r_0[3]"][-1] == pytest.approx(A, abs=1e-12)


def test_a_circle_slides_off_the_side_of_a_capsule_and_leaves_at_two_thirds_of_the_height_of_its_end() -> None:
    """The capsule is fixed and level; from its round end a ball without friction leaves where cos(theta) = 2/3, if it
    comes slowly."""
    hold = CapsuleOnCircle("touch", length=L, radius_a=A, radius_b=B)
    v = 1e-3
    start: dict[str, Any] = {"r_rel": (L / 2 - 0.001, A + B), "v_rel": (v, 0.0), "phi": 0.0, "w": 0.0}
    run = Run(on_world(hold, True, (0.1,), **start), 2e-3).to(3.0)
    assert run["touch.closed"] == 0
    left = Run(on_world(hold, True, (0.1,), **start), 2e-3).to(float(run.times()[0]))
    top = A + B
    assert left["body.r_0[2]"] == pytest.approx(top * (2 / 3 + v**2 / (3 * g * top)), abs=1e-9)
