"""Ropes over spheres and cylinders: they are as short as can be, and pull by what that length changes."""

import math
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from states import outputs, started

from mbfmu.dae import derive
from mbfmu.errors import ValueRangeError
from mbfmu.model import (
    AxesSpring,
    Body,
    FixedTranslation,
    FreeMotion,
    Prismatic,
    Revolute,
    Rope,
    System,
    World,
    connect,
)
from mbfmu.model.frame import Frame, Pose

Array = npt.NDArray[np.float64]
R_CIRCLE = 0.3
AROUND = np.linspace(0, 2 * math.pi, 6000, endpoint=False)
POLYGON = R_CIRCLE * np.stack([np.cos(AROUND), np.sin(AROUND)], axis=1)


def frame(r: Array, R: Array | None = None) -> Frame:
    """A frame at rest."""
    pose = Pose(ca.SX(ca.DM(r)), ca.SX([1, 0, 0, 0]), ca.SX(ca.DM(np.eye(3) if R is None else R)))
    return Frame(pose, ca.SX(3, 1), ca.SX(3, 1))


def rope(shape: str, way: str = "") -> Rope:
    return Rope("rope", over=(shape,), radii=(R_CIRCLE,), ways=(way,))


def length(item: Rope, *frames: Frame) -> float:
    return float(ca.evalf(item.motion(None, *frames).value))


def hull_path(p: Array, q: Array, side: Array) -> float:
    """Length from p to q along the convex hull of both and a polygon, on the side of a direction."""
    points = np.vstack([p, q, POLYGON])
    order = list(ConvexHull(points).vertices)  # counterclockwise
    order = order[order.index(0) :] + order[: order.index(0)]
    routes = [points[order[: order.index(1) + 1]], points[[*order[order.index(1) :], 0]]]
    return next(
        float(np.linalg.norm(np.diff(route, axis=0), axis=1).sum())
        for route in routes
        if (route[1:-1] @ side > 0.999 * R_CIRCLE * np.linalg.norm(side)).any()
    )


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
def test_a_rope_over_a_round_body_is_as_long_as_the_taut_line_around_a_polygon(shape: str) -> None:
    """By the convex hull of its ends and a polygon with 6000 corners; a cylinder adds an even climb."""
    turn = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()
    centre = np.array([0.2, -0.1, 0.5])
    climb = 0.4 if shape == "cylinder" else 0.0
    for angle, way in ((2.6, ""), (2.9, "side"), (3.6, "side"), (-2.4, "side")):
        p, q = np.array([0.7, 0.0]), 0.5 * np.array([math.cos(angle), math.sin(angle)])
        side = np.array([math.cos(angle / 2), math.sin(angle / 2)])
        ends = [frame(centre + turn @ [*x, z]) for x, z in ((p, 0.0), (q, climb))]
        beside = [frame(centre + turn @ [*(0.5 * side), 0.1 if climb else 0.0])] if way else []
        expected = math.hypot(hull_path(p, q, side), climb)
        assert length(rope(shape, way), *ends, frame(centre, turn), *beside) == pytest.approx(expected, rel=1e-6)


def test_a_rope_that_passes_clear_of_a_round_body_on_its_side_is_straight() -> None:
    a, b, centre = (frame(np.array(r)) for r in ((1.0, 0.5, 0.0), (-1.0, 0.4, 0.1), (0.0, 0.0, 0.0)))
    straight = math.sqrt(4 + 0.01 + 0.01)
    assert length(rope("cylinder"), a, b, centre) == pytest.approx(straight, rel=1e-12)
    same, other = (frame(np.array([0.0, y, 0.0])) for y in (0.4, -0.4))
    assert length(rope("cylinder", "side"), a, b, centre, same) == pytest.approx(straight, rel=1e-12)
    assert length(rope("cylinder", "side"), a, b, centre, other) > straight + 0.1


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
def test_a_rope_that_a_ring_holds_is_the_shortest_over_one_point_of_its_surface(shape: str) -> None:
    p, q = np.array([0.6, 0.2, -0.1]), np.array([0.1, 0.7, 0.3 if shape == "cylinder" else 0.2])

    def way(x: Array) -> float:
        t = R_CIRCLE * np.array([math.cos(x[0]), math.sin(x[0]), 0.0])
        high = R_CIRCLE * math.sin(x[1]) if shape == "sphere" else x[1]
        t = t * (math.cos(x[1]) if shape == "sphere" else 1.0) + np.array([0, 0, high])
        return float(np.linalg.norm(p - t) + np.linalg.norm(q - t))

    best = minimize(way, [0.8, 0.1], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    found = length(rope(shape, "inside"), frame(p), frame(q), frame(np.zeros(3)))
    assert found == pytest.approx(best.fun, rel=1e-11)


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
@pytest.mark.parametrize("way", ["", "side", "inside"])
def test_a_rope_pulls_by_what_its_length_changes_and_leaves_no_force_in_the_whole(shape: str, way: str) -> None:
    """The stated gradient is that by differentiation, and the wrenches on all its frames balance."""
    item = rope(shape, way)
    r = [np.array(x) for x in ((0.7, 0.1, 0.05), (-0.5, -0.1, 0.25), (0.02, -0.03, 0.2), (0.1, 0.6, 0.1))]
    if way == "inside":
        r[1] = np.array([0.3, 0.6, 0.4])
    symbols = [ca.SX.sym(f"r_{k}", 3) for k in range(len(item.frames))]
    turn = Rotation.from_rotvec([0.1, 0.2, -0.3]).as_matrix()
    frames = [
        Frame(Pose(x, ca.SX([1, 0, 0, 0]), ca.SX(ca.DM(turn))), ca.SX(3, 1), ca.SX(3, 1)) for x in symbols
    ]  # fmt: skip
    s, pulls = item.motion(None, *frames).value, item.pulls(None, *frames)
    gradients = [ca.gradient(ca.SX(s), x) for x in symbols]
    values = ca.Function("values", symbols, [*gradients, *(ca.densify(part) for pull in pulls for part in pull)])
    results = [np.array(x).ravel() for x in values(*r[: len(symbols)])]
    by_hand, stated = results[: len(symbols)], results[len(symbols) :]
    forces, torques = stated[::2], stated[1::2]
    for one, other in zip(by_hand, forces, strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    assert np.abs(forces[2]).max() > 0.1  # it touches
    assert sum(forces) == pytest.approx(np.zeros(3), abs=1e-12)
    moment = sum((t + np.cross(x, f) for t, x, f in zip(torques, r, forces, strict=False)), np.zeros(3))
    assert moment == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_spring_over_a_cylinder_that_moves_acts_alike_in_both_coordinates() -> None:
    """Accelerations of all three bodies that the rope pulls on: two masses that slide, and a free pulley."""
    inertia: dict[str, Any] = {"I_11": 0.1, "I_22": 0.2, "I_33": 0.15}
    components = (
        World("world"),
        Prismatic("slide_1", n=(1, 0, 0), s=0.8, v=0.1),
        Body("one", m=1.0, **inertia),
        Revolute("hinge", n=(0, 1, 0), phi=0.2, w=0.3),
        Body("two", m=2.0, r_CM=(-0.7, 0.2, 0.1), **inertia),
        FixedTranslation("end", r=(-0.7, 0.2, 0.3)),
        FreeMotion(
            "free", r_rel=(0, 0.0, 0.1), Q_rel=(1, 0.1, -0.05, 0.2), v_rel=(0.3, 0, 0.1), w_rel=(0.5, 0.2, -0.4)
        ),
        Body("pulley", m=1.5, **inertia),
        FixedTranslation("beside", r=(0.05, 0.4, 0)),
        Rope("rope", over=("cylinder",), radii=(0.25,), ways=("side",)),
        AxesSpring("spring", joints=("rope",), ratios=(1.0,), c=80.0, lower=1.0, upper=1.0, d=4.0),
    )
    pairs = (
        ("world.frame_b", "slide_1.frame_a"), ("slide_1.frame_b", "one.frame_a"), ("world.frame_b", "hinge.frame_a"),
        ("hinge.frame_b", "two.frame_a"), ("two.frame_a", "end.frame_a"), ("world.frame_b", "free.frame_a"),
        ("free.frame_b", "pulley.frame_a"), ("pulley.frame_a", "beside.frame_a"), ("one.frame_a", "rope.frame_1"),
        ("end.frame_b", "rope.frame_2"), ("pulley.frame_a", "rope.over_1"), ("beside.frame_b", "rope.side_1"),
    )  # fmt: skip
    system = System("pulley", components, tuple(connect(a, b) for a, b in pairs))
    one, other = (
        outputs(dae, *started(dae), np.zeros(0)) for dae in (derive(system, kind) for kind in ("joint", "absolute"))
    )
    for name in (name for name in one if name.startswith(("slide_1.", "hinge.", "free.", "rope.", "spring."))):
        assert one[name] == pytest.approx(other[name], rel=1e-9, abs=1e-9), name
    assert one["rope.s"] > 1.51  # straight it would be 1.504


def test_what_a_rope_may_touch_is_checked_where_it_is_written() -> None:
    with pytest.raises(ValueRangeError, match=r"over\[1\] must be one of sphere, cylinder"):
        Rope("rope", over=("box",), radii=(1.0,))
    with pytest.raises(ValueRangeError, match=r"over\[1\], its positive radius and ways\[1\] belong together"):
        Rope("rope", over=("sphere",))
    with pytest.raises(ValueRangeError, match="must be 2 texts, one for each stretch"):
        Rope("rope", points=3, over=("sphere",), radii=(1.0, 0.0))
