"""Wheels, tyres, drag and gears of vehicles seen from above, against closed forms and hand-written equations."""

import math
from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp

import mbfmu
from mbfmu.errors import AxisError, MbfmuError, ModelError
from mbfmu.model import (
    AxisLaw,
    AxisMotion,
    Body,
    BodyShape,
    Component,
    FixedTranslation,
    FreeMotion,
    GearPair,
    LongitudinalDrag,
    PlanarTyre,
    PlanarWheel,
    Prismatic,
    Revolute,
    RotationalRotor,
    SlippingWheel,
    System,
    World,
    WorldForce,
    connect,
)
from mbfmu.model.frame import SX
from mbfmu.model.slip import friction_curve

Array = npt.NDArray[np.float64]
COORDINATES = pytest.mark.parametrize("coordinates", ["joint", "absolute"])
RADIUS, J, M = 0.3, 0.2, 10.0
GRIP = {"N": 100.0, "mu_A": 0.8, "mu_S": 0.4, "v_A_min": 0.05, "v_S_min": 0.15}


def flat(parts: Sequence[Component], pairs: Sequence[tuple[str, str]], g: float = 0.0) -> System:
    return System("flat", (World(g=g, n=(0, -1, 0)), *parts), tuple(connect(a, b) for a, b in pairs), planar=True)


def driven(tyre: Component, w: float = 0.0, v: float | None = 0.0, tau: float = 0.0) -> System:
    """A hub that slides along x, on a wheel whose axis a torque turns."""
    parts = (
        Revolute("axis", phi=0.0, w=w), FixedTranslation("rim"), RotationalRotor("inertia", joint="axis", J=J),
        AxisLaw("engine", joint="axis", formula=tau), Prismatic("slide", n=(1.0, 0.0, 0.0), s=0.0, v=v),
        Body("hub", m=M, I_33=1.0), tyre,
    )  # fmt: skip
    pairs = [
        ("world.frame_b", "axis.frame_a"), ("axis.frame_b", "rim.frame_a"), ("rim.frame_a", "tyre.frame_a"),
        ("world.frame_b", "slide.frame_a"), ("slide.frame_b", "hub.frame_a"), ("hub.frame_a", "tyre.frame_b"),
    ]  # fmt: skip
    return flat(parts, pairs)


@COORDINATES
def test_a_wheel_that_rolls_moves_the_mass_and_its_own_inertia(coordinates: str) -> None:
    """(M + J / r^2) x'' = tau / r."""
    parts = (
        Revolute("axis", phi=0.0), FixedTranslation("rim"), RotationalRotor("inertia", joint="axis", J=J),
        AxisLaw("engine", joint="axis", formula=2.0), PlanarWheel("tyre", radius=RADIUS, e=(0.6, 0.8)),
        FreeMotion("free", r_rel=(0.0, 0.0), v_rel=(0.0, 0.0), phi=0.2, w=0.0), Body("hub", m=M, I_33=1.0),
    )  # fmt: skip
    pairs = [
        ("world.frame_b", "axis.frame_a"), ("axis.frame_b", "rim.frame_a"), ("rim.frame_a", "tyre.frame_a"),
        ("world.frame_b", "free.frame_a"), ("free.frame_b", "hub.frame_a"), ("hub.frame_a", "tyre.frame_b"),
    ]  # fmt: skip
    run = mbfmu.simulate(flat(parts, pairs), 1.0, step=0.01, coordinates=coordinates)
    way = 2.0 / RADIUS / (M + J / RADIUS**2) / 2
    angle = 0.2 + math.atan2(0.8, 0.6)
    for k, e in ((1, math.cos(angle)), (2, math.sin(angle))):
        assert run[f"hub.r_0[{k}]"][-1] == pytest.approx(way * e, abs=1e-9)
    assert run["axis.phi"][-1] == pytest.approx(way / RADIUS, rel=1e-9)


def test_a_wheel_without_mass_hands_its_torque_on_as_a_force() -> None:
    """M x'' = tau / r, with no inertia on the axis that the torque turns."""
    system = driven(PlanarWheel("tyre", radius=RADIUS), tau=2.0)
    parts = tuple(
        FreeMotion("slide", r_rel=(0.0, 0.0), v_rel=(0.0, 0.0), phi=0.0, w=0.0) if item.name == "slide" else item
        for item in system.components
        if item.name != "inertia"
    )
    run = mbfmu.simulate(System("bare", parts, system.connections, planar=True), 1.0, step=0.01)
    assert run["hub.r_0[1]"][-1] == pytest.approx(2.0 / RADIUS / M / 2, rel=1e-9)


def mu(u: float, v_A: float, v_S: float, mu_A: float = 0.8, mu_S: float = 0.4) -> float:
    """The library's limitByStriple, written out."""

    def form(x_min: float, x_max: float, y_min: float, y_max: float) -> float:
        x = min(1.0, max(-1.0, (u - x_max / 2 - x_min / 2) * 2 / (x_max - x_min)))
        return (-0.5 * x**3 + 1.5 * x) * (y_max - y_min) / 2 + y_max / 2 + y_min / 2

    if u > v_A:
        return form(v_A, v_S, mu_A, mu_S)
    if u < -v_A:
        return form(-v_A, -v_S, -mu_A, -mu_S)
    return form(-v_A, v_A, -mu_A, mu_A)


def test_the_friction_curve_is_the_librarys() -> None:
    x = SX.sym("x")
    curve = ca.Function("curve", [x], [friction_curve(x, SX(0.05), SX(0.15), SX(0.8), SX(0.4))])
    for u in np.linspace(-0.3, 0.3, 61):
        assert float(curve(u)) == pytest.approx(mu(u, 0.05, 0.15), abs=1e-15)
    slope = ca.Function("slope", [x], [ca.jacobian(curve(x), x)])
    assert float(slope(0.0)) == pytest.approx(1.5 * 0.8 / 0.05)


@COORDINATES
def test_a_tyre_that_spins_pushes_with_the_friction_of_sliding(coordinates: str) -> None:
    """While the slip is above v_S the force is mu_S N, but for the 0.1 mm/s in the slip: M x' = mu_S N t."""
    system = driven(PlanarTyre("tyre", radius=RADIUS, **GRIP), w=100.0)
    run = mbfmu.simulate(system, 0.4, step=0.001, coordinates=coordinates)
    force = 0.4 * 100.0
    assert run["slide.v"][-1] == pytest.approx(force / M * 0.4, rel=1e-5)
    assert run["axis.w"][-1] == pytest.approx(100.0 - force * RADIUS / J * 0.4, rel=1e-5)


def swinging(tyre: Component, v: float = 0.0) -> System:
    """A hub on a slide that turns about the world: the wheel slips along and across."""
    parts = (
        Revolute("axis", phi=0.0, w=0.0), FixedTranslation("rim"), RotationalRotor("inertia", joint="axis", J=J),
        AxisLaw("engine", joint="axis", formula=2.0), Revolute("pivot", phi=0.0, w=0.0),
        Prismatic("slide", n=(0.0, 1.0, 0.0), s=1.0, v=v), Body("hub", m=M, I_33=1.0), tyre,
    )  # fmt: skip
    pairs = [
        ("world.frame_b", "axis.frame_a"), ("axis.frame_b", "rim.frame_a"), ("rim.frame_a", "tyre.frame_a"),
        ("world.frame_b", "pivot.frame_a"), ("pivot.frame_b", "slide.frame_a"), ("slide.frame_b", "hub.frame_a"),
        ("hub.frame_a", "tyre.frame_b"),
    ]  # fmt: skip
    return flat(parts, pairs)


@pytest.mark.parametrize("slips", [(0.0, 0.0), (0.04, 0.12)])
def test_a_tyre_moves_as_the_librarys_equations_by_hand(slips: tuple[float, float]) -> None:
    system = swinging(PlanarTyre("tyre", radius=RADIUS, s_A=slips[0], s_S=slips[1], **GRIP), v=0.3)
    run = mbfmu.simulate(system, 2.0, step=1e-3, stepper="radau", output_interval=0.1)

    def rate(_: float, y: Array) -> list[float]:
        s, v, _phi, omega, _roll, w = y
        along, across = -s * omega - RADIUS * w, v
        size = math.hypot(along, across) + 1e-4
        v_A, v_S = (max(k * abs(RADIUS * w), least) for k, least in zip(slips, (0.05, 0.15), strict=True))
        f = 100.0 * mu(size, v_A, v_S)
        f_long, f_lat = f * along / size, f * across / size
        return [
            v, s * omega**2 - f_lat / M, omega, (s * f_long - 2 * M * s * v * omega) / (M * s**2 + 1.0),
            w, (2.0 + RADIUS * f_long) / J,
        ]  # fmt: skip

    exact = solve_ivp(rate, (0, 2.0), [1.0, 0.3, 0, 0, 0, 0], "Radau", run.time, rtol=1e-10, atol=1e-12).y
    for row, name in enumerate(("slide.s", "slide.v", "pivot.phi", "pivot.w", "axis.phi", "axis.w")):
        np.testing.assert_allclose(run[name], exact[row], rtol=0, atol=1e-6 * max(1, np.abs(exact[row]).max()))
    assert abs(exact[2][-1]) > 0.1


def test_the_load_of_a_tyre_is_added_to_its_normal_force() -> None:
    tyre = PlanarTyre("tyre", radius=RADIUS, loaded=True, **GRIP)
    run = mbfmu.simulate(driven(tyre, w=100.0), 0.2, step=0.001, inputs={"tyre.load": "50"})
    assert run["slide.v"][-1] == pytest.approx(0.4 * 150.0 / M * 0.2, rel=1e-5)


def test_drag_slows_a_vehicle_forward_alone() -> None:
    """v = v_0 / (1 + k v_0 t / M) with k = c_W area rho / 2; backwards nothing acts."""
    for v in (20.0, -20.0):
        parts = Prismatic("slide", n=(0.6, 0.8, 0.0), s=0.0, v=v), Body("car", m=M, I_33=1.0), LongitudinalDrag("air")
        pairs = [("world.frame_b", "slide.frame_a"), ("slide.frame_b", "car.frame_a"), ("car.frame_a", "air.frame_b")]
        run = mbfmu.simulate(flat(parts, pairs), 1.0, step=0.005, stepper="projected")
        k = 0.5 * 2.0 * 1.18 / 2 * 0.6  # force and velocity along e have the part 0.6 along the slide
        expected = v / (1 + k * 0.6**2 * v / M) if v > 0 else v
        assert run["slide.v"][-1] == pytest.approx(expected, rel=1e-9)


def geared(ring: float = 0.0) -> System:
    """A sun driven at 1 rad/s, one planet on a carrier, and a ring that a torque turns."""
    parts = (
        Revolute("sun", phi=0.0), Body("sun_wheel", m=1.0, I_33=0.01), AxisMotion("motor", joint="sun", s="time"),
        Revolute("carrier", phi=0.4, w=0.5), BodyShape("arm", r=(2.0, 0.0), m=0.5, I_33=0.02), Revolute("pin", phi=0.0),
        Body("planet", m=1.0, I_33=0.03), Revolute("ring", phi=0.0), Body("ring_wheel", m=1.0, I_33=0.05),
        AxisLaw("torque", joint="ring", formula=ring),
        GearPair("inner", r_a=1.2, r_b=0.8), GearPair("outer", r_a=0.8, r_b=2.8, internal=True),
    )  # fmt: skip
    pairs = [
        ("world.frame_b", "sun.frame_a"), ("sun.frame_b", "sun_wheel.frame_a"), ("world.frame_b", "carrier.frame_a"),
        ("carrier.frame_b", "arm.frame_a"), ("arm.frame_b", "pin.frame_a"), ("pin.frame_b", "planet.frame_a"),
        ("world.frame_b", "ring.frame_a"), ("ring.frame_b", "ring_wheel.frame_a"),
        ("sun_wheel.frame_a", "inner.frame_a"), ("planet.frame_a", "inner.frame_b"),
        ("planet.frame_a", "outer.frame_a"), ("ring_wheel.frame_a", "outer.frame_b"),
    ]  # fmt: skip
    return flat(parts, pairs)


@COORDINATES
def test_a_planetary_gear_turns_by_its_radii(coordinates: str) -> None:
    """Willis: w_r - w_c = -(r_s / r_r)(w_s - w_c), and the ring's torque accelerates all that turns with it."""
    run = mbfmu.simulate(geared(0.7), 2.0, step=0.005, coordinates=coordinates)
    w_c = run["carrier.w"]
    np.testing.assert_allclose(run["ring.w"], w_c - 1.2 / 2.8 * (1 - w_c), rtol=0, atol=1e-10)
    k_r, k_p = 1 + 1.2 / 2.8, 1 + 1.2 / 0.8
    inertia = 0.02 + 1.0 * 2.0**2 + 0.03 * k_p**2 + 0.05 * k_r**2
    np.testing.assert_allclose(w_c, 0.5 + 0.7 * k_r / inertia * run.time, rtol=0, atol=1e-9)


def skidding() -> System:
    """A wheel that is thrown along the ground with a spin against its way."""
    wheel = SlippingWheel("ground", radius=0.1, mu_A=0.5, mu_S=0.15, v_A=0.01, v_S=0.03, s=0.0, v=2.0, phi=0.0, w=15.0)
    pairs = [("world.frame_b", "ground.frame_a"), ("ground.frame_b", "wheel.frame_a")]
    return flat((wheel, Body("wheel", m=0.01, I_33=0.0005)), pairs, g=9.81)


def test_a_wheel_that_skids_moves_as_the_librarys_equations_by_hand() -> None:
    run = mbfmu.simulate(skidding(), 3.0, step=1e-3, stepper="radau", output_interval=0.1)

    def rate(_: float, y: Array) -> list[float]:
        f = 0.01 * 9.81 * mu(y[1] + 0.1 * y[3], 0.01, 0.03, 0.5, 0.15)
        return [y[1], -f / 0.01, y[3], -0.1 * f / 0.0005]

    exact = solve_ivp(rate, (0, 3.0), [0, 2.0, 0, 15.0], "Radau", run.time, rtol=1e-11, atol=1e-13).y
    for row, name in enumerate(("ground.s", "ground.v", "ground.phi", "ground.w")):
        np.testing.assert_allclose(run[name], exact[row], rtol=0, atol=1e-6 * max(1, np.abs(exact[row]).max()))


def test_a_wheel_that_leaves_its_line_ends_the_run() -> None:
    system = skidding()
    pairs = (*system.connections, connect("wheel.frame_a", "lift.frame_b"))
    lifted = System("lifted", (*system.components, WorldForce("lift")), pairs, planar=True)
    with pytest.raises(MbfmuError, match="'ground' has left its line"):
        mbfmu.simulate(lifted, 1.0, step=0.01, inputs={"lift.f[2]": "0.2*time"})


def test_tyres_and_drag_in_space_or_out_of_the_plane_are_refused() -> None:
    for force, said in (
        (PlanarTyre("odd"), "a PlanarTyre needs a planar system; in space use Tyre"),
        (LongitudinalDrag("odd"), "a LongitudinalDrag needs a planar system; in space use BoxDrag"),
    ):
        with pytest.raises(ModelError, match=said):
            force.inputs(planar=False)
    with pytest.raises(AxisError, match="leaves the plane"):
        mbfmu.simulate(driven(PlanarTyre("tyre", e=(0.0, 0.0, 1.0))), 0.1)
