"""Contacts of systems: what stops, sticks, slides, hits and rests, against closed forms and integrators of others."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import thorough
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import ModelError, StepperError
from mbfmu.kernel import vector
from mbfmu.model import (
    AxisMotion,
    Backlash,
    BearingFriction,
    Body,
    BodyShape,
    Cable,
    CircleOnCircle,
    CircleOnLine,
    Component,
    Contact,
    Coordinate,
    FixedRotation,
    FixedTranslation,
    FreeMotion,
    GuideFriction,
    LagrangianSystem,
    PinInHole,
    Planar,
    PointOnHeightField,
    PointOnPlane,
    Prismatic,
    Revolute,
    RotationalDryFriction,
    RotationalEndStop,
    SliderInGuide,
    SphereOnPlane,
    SphereOnSphere,
    System,
    TranslationalDryFriction,
    TranslationalEndStop,
    World,
    connect,
)
from mbfmu.prepared.prepare import Prepared, prepare

g = 9.81
ROUND_OFF = 1e-12
COORDINATES = ("absolute", "joint")
both = pytest.mark.parametrize("coordinates", thorough([(name,) for name in COORDINATES], lambda name: name == "joint"))


class Course:
    """What a model shows at some times, s; the first is 0."""

    def __init__(
        self,
        system: System,
        times: tuple[float, ...],
        coordinates: str | None = None,
        stepper: str = "projected",
        step: float = 1e-2,
        **options: Any,
    ) -> None:
        if stepper == "projected":
            options = {"order": 9, **options}
        self.system = system
        self.prepared: Prepared = prepare(system, stepper, options, step, coordinates=coordinates)
        dae, kernel = self.prepared.dae, self.prepared.kernel
        u, p, still = vector(dae.u_default()), vector(dae.p_default()), vector([0.0] * len(dae.inputs))
        x, t = self.prepared.initial_state(), 0.0
        names = [item.name for item in dae.outputs]
        self.rows: list[dict[str, float]] = []
        for time in times:
            if time > t:
                n = math.ceil((time - t) / step * (1 - 1e-9))
                x, status = kernel.advance(x, u, still, p, t, (time - t) / n, n)
                assert not status.code, status
                t = time
            self.rows.append(dict(zip(names, kernel.outputs(x, u, p, t), strict=False)))

    def __getitem__(self, name: str) -> list[float]:
        """Return the values of an output."""
        return [row[name] for row in self.rows]

    def last(self, *names: str) -> list[float]:
        """Return some outputs at the last time."""
        return [self.rows[-1][name] for name in names]


def body(planar: bool = True, m: float = 2.0, J: float = 1.0, name: str = "body") -> Body:
    """Return a body with equal moments of inertia."""
    return Body(name, m=m, I_33=J) if planar else Body(name, m=m, I_11=J, I_22=J, I_33=J)


def on_joint(joint: Prismatic | Revolute, *contacts: Component, world: World | None = None, **more: Any) -> System:
    """Return a body of 2 kg, 1 kg.m2, on a joint."""
    planar = more.pop("planar", True)
    world = world or World("world", g=0.0)
    ends = (connect("world.frame_b", f"{joint.name}.frame_a"), connect(f"{joint.name}.frame_b", "body.frame_a"))
    return System(
        "machine", planar=planar, components=(world, joint, body(planar), *contacts), connections=ends, **more
    )


# -- End stops ------------------------------------------------------------------------------------------------------


@both
def test_a_mass_between_two_stops_loses_the_same_part_of_its_speed_at_each(coordinates: str) -> None:
    stop = TranslationalEndStop("stop", joint="slide", lower=-0.5, upper=0.3, e=0.5)
    found = Course(on_joint(Prismatic("slide", s=0.0, v=1.0), stop), (0.0, 1.0, 2.5, 6.0), coordinates)
    assert found["slide.v"] == pytest.approx([1.0, -0.5, 0.25, -0.125], abs=ROUND_OFF)
    assert found["slide.s"] == pytest.approx([0.0, 0.3 - 0.35, -0.5 + 0.15, 0.3 - 0.1125], abs=ROUND_OFF)
    assert found["events.time"] == pytest.approx([0.0, 0.3, 0.3 + 1.6, 0.3 + 1.6 + 3.2], abs=ROUND_OFF)
    assert found.last("stop.upper.impacts", "stop.lower.impacts") == [2, 1]
    assert found["stop.upper.gap"] == pytest.approx([0.3 - s for s in found["slide.s"]], abs=ROUND_OFF)


@both
@pytest.mark.parametrize("given", [{}, {"s": 0.1}, {"v": 1.0}, {"s": "guess(0.1)", "v": 1.0}, {"s": 0.1, "v": 1.0}])
def test_a_model_with_contacts_starts_from_any_of_its_start_values(coordinates: str, given: dict[str, Any]) -> None:
    stop = TranslationalEndStop("stop", joint="slide", upper=1e3)
    found = Course(on_joint(Prismatic("slide", **given), stop), (0.0, 1.0), coordinates)
    s, v = 0.1 if "s" in given else 0.0, given.get("v", 0.0)
    assert found.last("slide.s", "slide.v") == pytest.approx([s + v, v], abs=ROUND_OFF)


@both
def test_a_turning_body_stays_at_its_stop_and_leaves_it_when_the_load_turns(coordinates: str) -> None:
    """The weight of a rod, turned by a constant torque: up against the stop, and back as gravity wins."""
    swing = 3.0
    joint = Revolute("hinge", phi=0.0, w=1.0, actuated=True)
    stop = RotationalEndStop("stop", joint="hinge", upper=0.4)
    system = on_joint(joint, stop, input_starts={"hinge.tau": swing})
    at = -1 / swing + math.sqrt(1 / swing**2 + 2 * 0.4 / swing)
    prepared = prepare(system, "projected", {"order": 9}, 1e-2, coordinates=coordinates)
    found = Course(system, (0.0, 0.2, 1.0), coordinates)
    assert found["hinge.phi"][1] == pytest.approx(0.2 + swing * 0.2**2 / 2, abs=ROUND_OFF)
    assert found.last("hinge.phi", "stop.upper.closed") == pytest.approx([0.4, 1], abs=1e-15)
    assert found.last("hinge.w", "stop.upper.f_n", "events.time") == pytest.approx([0, swing, at], abs=ROUND_OFF)
    assert prepared.dae.inputs[0].name == "hinge.tau"
    kernel, p = prepared.kernel, vector(prepared.dae.p_default())
    x, status = kernel.advance(prepared.initial_state(), vector([swing]), vector([0.0]), p, 0.0, 1e-2, 100)
    x, status = kernel.advance(x, vector([swing]), vector([-2 * swing]), p, 1.0, 1e-2, 100)
    assert not status.code
    y = dict(
        zip((item.name for item in prepared.dae.outputs), kernel.outputs(x, vector([-swing]), p, 2.0), strict=False)
    )
    assert y["events.time"] == pytest.approx(1.5, abs=ROUND_OFF)
    assert y["hinge.phi"] == pytest.approx(0.4 - 2 * swing * 0.5**3 / 6, abs=ROUND_OFF)


# -- Dry friction ---------------------------------------------------------------------------------------------------


@both
def test_dry_friction_holds_up_to_its_largest_force_and_no_further(coordinates: str) -> None:
    def at(load: float) -> list[float]:
        rub = TranslationalDryFriction("rub", joint="slide", F_s=3.0, F_c=2.0, v_s=1e-3)
        system = on_joint(Prismatic("slide", s=0.0, v=0.0, actuated=True), rub, input_starts={"slide.f": load})
        return Course(system, (0.0, 1.0), coordinates).last("slide.s", "slide.v", "rub.f_t", "rub.sticks")

    assert at(2.999) == [0, 0, pytest.approx(-2.999, abs=ROUND_OFF), 1]
    assert at(-2.999) == [0, 0, pytest.approx(2.999, abs=ROUND_OFF), 1]
    s, v, f, sticks = at(3.001)
    assert not sticks
    assert f == pytest.approx(-2.0, abs=ROUND_OFF)
    assert 0.4 < v < 0.5005
    assert 0.2 < s < 0.25


@both
def test_a_turning_body_stops_where_stribecks_law_lets_it(coordinates: str) -> None:
    """Time and angle of the stop: integrals over the speed, J dw / |f(w)| and J w dw / |f(w)|."""

    def f(w: Any) -> Any:
        return 2.0 + np.exp(-((w / 0.5) ** 2)) + 0.2 * w

    rub = RotationalDryFriction("rub", joint="hinge", F_s=3.0, F_c=2.0, v_s=0.5, F_v=0.2)
    found = Course(on_joint(Revolute("hinge", phi=0.0, w=1.5), rub), (0.0, 0.2, 1.0), coordinates)
    x, weight = np.polynomial.legendre.leggauss(60)
    w, weight = 0.75 * (x + 1), 0.75 * weight
    stop = [np.sum(weight / f(w)), np.sum(weight * w / f(w))]
    assert found.last("events.time", "hinge.phi") == pytest.approx(stop, abs=ROUND_OFF)
    assert found.last("hinge.w", "rub.sticks") == [0, 1]
    assert found["rub.f_t"][1] == pytest.approx(-f(found["hinge.w"][1]), abs=ROUND_OFF)


@pytest.mark.parametrize("stepper", ["projected", "moreau"])
def test_friction_that_sticks_holds_at_least_what_it_has_while_it_slides(stepper: str) -> None:
    """A body of 2 kg that slides along a guide, up a slope of sin(alpha) = 0.6 that mu = 1 holds, and stays there."""
    load, speed = 2.0 * g * 0.6, 1.0
    slope = World("world", g=g, n=(-0.6, -0.8))
    stop = speed**2 / 2 / (g * 0.6 + g * 0.8)
    for rub in (
        GuideFriction("rub", joint="slide", mu=1.0), GuideFriction("rub", joint="slide", mu=1.0, mu_s=0.5),
        TranslationalDryFriction("rub", joint="slide", F_c=2.0 * g * 0.8),
        TranslationalDryFriction("rub", joint="slide", F_c=2.0 * g * 0.8, F_s=1.0),
    ):  # fmt: skip
        system = on_joint(Prismatic("slide", s=0.0, v=speed), rub, world=slope)
        run = mbfmu.simulate(system, 1.0, stepper=stepper, step=1e-3)
        assert run["slide.s"][-1] == pytest.approx(stop, abs=1e-12 if stepper == "projected" else 1e-3)
        assert run["rub.f_t"][-1] == pytest.approx(load, rel=1e-12)
    plane = Contact("plane", slide="x", sliding="16", static="1")
    system = LagrangianSystem("s", (Coordinate("x", "m", 0.0, 0.0),), "der(x)**2", "12*x", contacts=(plane,))
    run = mbfmu.simulate(system, 1.0, stepper=stepper, step=1e-2)
    assert np.abs(run["x"]).max() < 1e-15
    assert run["plane.f_t"][-1] == pytest.approx(12.0, rel=1e-12)


@both
def test_a_bearing_without_a_coefficient_of_its_own_while_it_sticks_holds_with_that_of_its_sliding(
    coordinates: str,
) -> None:
    """A torque of 0.3 N.m at a bearing of 20 mm that carries 2 kg, with mu = 0.8: 0.314 N.m hold it."""
    rub = BearingFriction("rub", joint="hinge", radius=0.02, mu=0.8)
    joint = Revolute("hinge", phi=0.0, w=0.5, actuated=True)
    system = on_joint(joint, rub, world=World("world", g=g, n=(0.0, -1.0)), input_starts={"hinge.tau": 0.3})
    found = Course(system, (0.0, 100.0), coordinates, step=0.1)
    assert found.last("hinge.w", "rub.sticks") == [0, 1]
    assert found.last("rub.f_t") == pytest.approx([-0.3], abs=ROUND_OFF)


def incline(alpha: float, v: float, planar: bool) -> System:
    """A body on an inclined guide, whose axis in space has no entry that is 0."""
    if planar:
        n: tuple[float, ...] = (math.cos(alpha), -math.sin(alpha))
        world = World("world", g=g, n=(0.0, -1.0))
    else:
        n = (math.cos(alpha) * math.cos(0.7), math.cos(alpha) * math.sin(0.7), -math.sin(alpha))
        world = World("world", g=g, n=(0.0, 0.0, -1.0))
    rub = GuideFriction("rub", joint="slide", mu=0.4, mu_s=0.5)
    return on_joint(Prismatic("slide", n=n, s=0.0, v=v), rub, world=world, planar=planar)


@both
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_guide_holds_below_its_angle_of_friction_and_not_above(coordinates: str, planar: bool) -> None:
    angle = math.atan(0.5)
    below = Course(incline(0.99 * angle, 0.0, planar), (0.0, 1.0), coordinates)
    assert below.last("slide.s", "slide.v", "rub.sticks", "events.count") == [0, 0, 1, 0]
    assert below.last("rub.f_t") == pytest.approx([-2 * g * math.sin(0.99 * angle)], abs=ROUND_OFF)
    above = Course(incline(1.01 * angle, 0.0, planar), (0.0, 1.0), coordinates)
    a = g * (math.sin(1.01 * angle) - 0.4 * math.cos(1.01 * angle))
    assert above.last("slide.s", "slide.v") == pytest.approx([a / 2, a], abs=ROUND_OFF)


@both
@pytest.mark.parametrize("v", [1.0, -1.0])
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_body_thrown_along_a_guide_stops_on_time(coordinates: str, planar: bool, v: float) -> None:
    found = Course(incline(0.2, v, planar), (0.0, 1.0), coordinates)
    a = g * (0.4 * math.cos(0.2) - v * math.sin(0.2))
    assert found.last("events.time", "slide.s") == pytest.approx([1 / a, v / (2 * a)], abs=ROUND_OFF)
    assert found.last("slide.v", "rub.sticks") == [0, 1]


# -- Points on planes -----------------------------------------------------------------------------------------------


def puck(
    alpha: float, e: float = 0.0, mu: float = 0.0, mu_s: float = 0.0, planar: bool = False, height: float = 0.0,
    v: tuple[float, ...] = (0.0, 0.0), rest: float = 1e-7,
) -> System:  # fmt: skip
    """A point of 2 kg on or above a plane inclined towards x; v: along the plane."""
    s, c = math.sin(alpha), math.cos(alpha)
    down = (s, -c) if planar else (s, 0.0, -c)
    start: dict[str, Any] = {
        "r_rel": (0.0, height) if planar else (0.0, 0.0, height),
        "v_rel": (v[0], 0.0) if planar else (*v, 0.0),
    }
    return System(
        "puck",
        planar=planar,
        components=(
            World("world", g=g, n=down),
            FreeMotion("free", **start),
            body(planar),
            PointOnPlane("touch", e=e, mu=mu, mu_s=mu_s, rest=rest),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", "touch.frame_a"),
            connect("body.frame_a", "touch.frame_b"),
        ),
    )


def place(planar: bool) -> tuple[str, ...]:
    """Return the names of the outputs of the body's position."""
    return tuple(f"body.r_0[{k + 1}]" for k in range(2 if planar else 3))


@both
def test_the_friction_of_a_sliding_puck_is_against_its_slip(coordinates: str) -> None:
    alpha, mu = 0.4, 0.3

    def law(_: float, y: Any) -> Any:
        v = y[2:]
        return [*v, *(np.array([g * math.sin(alpha), 0]) - mu * g * math.cos(alpha) * v / np.hypot(*v))]

    route = solve_ivp(law, (0, 1), [0, 0, -1.0, 1.5], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    found = Course(puck(alpha, mu=mu, v=(-1.0, 1.5)), (0.0, 0.3, 1.0), coordinates)
    slip = ("touch.slip[1]", "touch.slip[2]")
    assert found.last(*place(True), *slip) == pytest.approx(route, abs=1e-11)
    f, v = np.array(found.last("touch.f_t[1]", "touch.f_t[2]")), np.array(found.last(*slip))
    assert f == pytest.approx(-mu * 2 * g * math.cos(alpha) * v / np.hypot(*v), abs=1e-11)
    assert found.last("body.r_0[3]", "touch.closed") == [0, 1]


@both
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_point_bounces_comes_to_rest_and_stays(coordinates: str, planar: bool) -> None:
    """Flight times shrink by e: rest at t_1 (1 + e) / (1 - e), with the slip gone at the first impact that can."""
    e, mu, height, v = 0.7, 0.1, 1.0, 1.0
    fall = math.sqrt(2 * height / g)
    system = puck(0.0, e, mu, planar=planar, height=height, v=(v, 0.0), rest=1e-10)
    found = Course(system, (0.0, 1.0, 2.0, 3.0), coordinates)
    along, up = "body.v_0[1]", place(planar)[-1]
    t = 1.0 - fall  # after the first impact
    slower = v - mu * (1 + e) * g * fall
    assert t < 2 * e * fall
    assert 0 < slower < mu * (1 + e) * e * g * fall  # it stops at the second impact
    assert found[along][1] == pytest.approx(slower, abs=ROUND_OFF)
    assert found[up][1] == pytest.approx(e * g * fall * t - g * t**2 / 2, abs=ROUND_OFF)
    x = v * fall + slower * 2 * e * fall
    assert found["body.r_0[1]"][3] == pytest.approx(x, abs=ROUND_OFF)
    assert found.last(along, "touch.closed", "touch.sticks") == [0, 1, 1]
    assert abs(found[up][3]) < 1e-15
    assert found["events.time"][3] == pytest.approx(fall * (1 + e) / (1 - e), abs=1e-9)


def test_a_puck_that_turns_downhill_comes_to_rest_on_time_whatever_the_step() -> None:
    """With the angle of the slip as the variable, the law of its speed has a closed form.

    With a = mu g cos(alpha), b = g sin(alpha), k = a / b and theta the angle of the slip from downhill, dtheta/dt =
    -b sin(theta) / s and ds/dt = b cos(theta) - a give s sin(theta) = C tan(theta / 2)^k; the time is the integral of
    -s dtheta / (b sin(theta)).
    """
    alpha, mu, s_0, theta_0 = 0.3, 0.4, math.hypot(1.0, 1.5), math.atan2(1.5, -1.0)
    a, b = mu * g * math.cos(alpha), g * math.sin(alpha)
    C = s_0 * math.sin(theta_0) / math.tan(theta_0 / 2) ** (a / b)
    x, weight = np.polynomial.legendre.leggauss(200)
    n, end = 24, math.tan(theta_0 / 2) ** (1 / 24)
    r = (x + 1) / 2 * end  # tan(theta / 2) = r^n, so that the integrand is smooth
    theta = 2 * np.arctan(r**n)
    s = C * r ** (n * a / b) / np.sin(theta)
    weight = weight / 2 * end * 2 * n * r ** (n - 1) / (1 + r ** (2 * n)) * s / (b * np.sin(theta))
    for step in (2e-2, 2e-3):
        found = Course(puck(alpha, mu=mu, v=(-1.0, 1.5)), (0.0, 1.0), "joint", step=step)
        stop = [np.sum(weight * s * np.cos(theta)), np.sum(weight * s * np.sin(theta))]
        assert found.last(*place(True)) == pytest.approx(stop, abs=1e-11)
        assert found.last("events.time") == pytest.approx([np.sum(weight)], abs=1e-7 if step == 2e-2 else 1e-9)
        assert found.last("touch.sticks", "touch.slip[1]", "touch.slip[2]") == [1, 0, 0]


@pytest.mark.parametrize(("alpha", "v", "error"), [(0.0, (0.6, -0.8), 1e-14), (0.05, (-1.0, 1.5), 1e-10)])
def test_a_slip_in_space_ends_when_its_speed_and_its_fall_are_used_up(
    alpha: float, v: tuple[float, ...], error: float
) -> None:
    """With a = mu g cos(alpha) and b = g sin(alpha) along x, d(a s + b v_x)/dt = b^2 - a^2, whatever the way.

    On level ground only round-off is left of the error; on a slope the direction turns ever faster, and that of the
    method is left, by equal steps and by chosen ones. At the end of the step that the event cuts, all is at rest.
    """
    mu = 0.4
    a, b = mu * g * math.cos(alpha), g * math.sin(alpha)
    end = (a * math.hypot(*v) + b * v[0]) / (a**2 - b**2)
    for options in ({"step": 2e-3}, {"step": 1e-2, "tolerance": 1e-9}):
        run = mbfmu.Simulation(puck(alpha, mu=mu, v=v), stepper="projected", **options)
        run.step({}, 1.0)
        assert run["events.time"] == pytest.approx(end, abs=error)
        assert (run["touch.sticks"], run["touch.slip[1]"], run["touch.slip[2]"]) == (1, 0, 0)


@pytest.mark.filterwarnings("ignore:.*without projection gauss drifts")
@pytest.mark.parametrize(
    "stepper",
    thorough(zip(["gauss", "rattle", "radau", "lobatto", "partition"]), lambda stepper: stepper in {"gauss", "radau"}),
)
def test_a_puck_comes_to_rest_at_the_same_place_in_both_coordinates(stepper: str) -> None:
    ends = [
        Course(puck(0.2, 0.3, 0.4, planar=True, height=0.1, v=(1.0,)), (0.0, 1.0), c, stepper, 2e-3)
        for c in COORDINATES
    ]
    names = (*place(True), "events.count", "touch.sticks", "touch.f_n", "touch.f_t")
    assert ends[0].last(*names) == pytest.approx(ends[1].last(*names), abs=1e-9)
    assert ends[0].last("touch.sticks") == [1]


# -- Round bodies, surfaces, cables ---------------------------------------------------------------------------------


def thrown(contact: Component, planar: bool, J: float = 0.3, down: tuple[float, ...] = (), **start: Any) -> System:
    """A free body of 2 kg in contact with the world; down: direction of its weight."""
    return System(
        "thrown",
        planar=planar,
        components=(
            World("world", g=g, n=down or ((0.0, -1.0) if planar else (0.0, 0.0, -1.0))),
            FreeMotion("free", **start),
            body(planar, J=J),
            contact,
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", f"{contact.name}.frame_a"),
            connect("body.frame_a", f"{contact.name}.frame_b"),
        ),
    )


@both
def test_a_ball_thrown_without_spin_slides_until_it_rolls(coordinates: str) -> None:
    """It rolls after v / (mu g (1 + m R^2 / J)), with the speed v / (1 + J / (m R^2))."""
    R, J, mu, v = 0.5, 0.3, 0.3, (2.0, 1.0)
    slow = 1 / (1 + J / (2 * R**2))
    circle = CircleOnLine("touch", radius=R, mu=mu)
    found = Course(thrown(circle, True, J, r_rel=(0.0, R), v_rel=(2.0, 0.0), phi=0.0, w=0.0), (0.0, 1.0), coordinates)
    at = 2.0 * (1 - slow) / (mu * g)
    wanted = [2.0 * slow, -2.0 * slow / R, at, 2.0 * at - mu * g * at**2 / 2 + 2.0 * slow * (1.0 - at), R]
    names = ("body.v_0[1]", "body.w", "events.time", *place(True))
    assert found.last(*names) == pytest.approx(wanted, abs=ROUND_OFF)
    sphere = SphereOnPlane("touch", radius=R, mu=mu)
    start: dict[str, Any] = {"r_rel": (0.0, 0.0, R), "v_rel": (*v, 0.0), "w_rel": (0.0, 0.0, 1.0)}
    found = Course(thrown(sphere, False, J, **start), (0.0, 1.0), coordinates)
    at = math.hypot(*v) * (1 - slow) / (mu * g)
    wanted = [slow * v[0], slow * v[1], at]
    assert found.last("body.v_0[1]", "body.v_0[2]", "events.time") == pytest.approx(wanted, abs=2e-8)
    assert found.last("touch.sticks", "touch.closed") == [1, 1]


@both
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_ball_rolls_on_a_ball_or_slides_off_it(coordinates: str, planar: bool) -> None:
    """theta'' = g sin(theta) / (L (1 + J / (m R^2))), without J if it slides: it leaves at cos(theta) = 2/3 of that at
    the start."""
    R, J, theta, L, t = 0.5, 0.3, 0.3, 1.5, 0.4
    start: dict[str, Any] = {"phi": 0.0, "w": 0.0} if planar else {"w_rel": (0.0, 0.0, 0.0)}
    start["r_rel"] = (L * math.sin(theta), *([] if planar else [0.0]), L * math.cos(theta))
    start["v_rel"] = tuple(0.0 for _ in start["r_rel"])
    kind: Any = CircleOnCircle if planar else SphereOnSphere
    up = place(planar)[-1]
    for mu in (0.0, 5.0):
        system = thrown(kind("touch", radius_a=1.0, radius_b=R, mu=mu), planar, J, **start)
        k = 1 + J / (2 * R**2) if mu else 1.0
        route = solve_ivp(
            lambda _, y, k=k: [y[1], g * math.sin(y[0]) / (L * k)], (0, t), [theta, 0.0], rtol=1e-13, atol=1e-14,
            method="DOP853",
        ).y[0, -1]  # fmt: skip
        found = Course(system, (0.0, t, 1.5), coordinates)
        assert found[up][1] == pytest.approx(L * math.cos(route), abs=1e-11)
        assert found["touch.closed"] == [1, 1, 0]
        assert abs(found["touch.gap"][1]) < 1e-15
    found = Course(thrown(kind("touch", radius_a=1.0, radius_b=R), planar, J, **start), (0.0, 1.5), coordinates)
    leaving = Course(found.system, (0.0, found.last("events.time")[0]), coordinates)
    assert leaving.last(up) == pytest.approx([L * math.cos(theta) * 2 / 3], abs=1e-11)


def test_a_pin_in_a_hole_swings_as_a_pendulum_of_the_clearances_length() -> None:
    c, phi = 0.1, 0.5
    hole = PinInHole("touch", radius=0.5, clearance=c)
    where = (c * math.sin(phi), -c * math.cos(phi))
    found = Course(thrown(hole, True, r_rel=where, v_rel=(0.0, 0.0)), (0.0, 0.4, 2.0))
    swing = solve_ivp(
        lambda _, y: [y[1], -g / c * math.sin(y[0])], (0, 2), [phi, 0], rtol=1e-13, atol=1e-13, method="DOP853"
    )
    assert found.last("body.r_0[1]") == pytest.approx([c * math.sin(swing.y[0, -1])], abs=1e-10)
    press = 2 * g * math.cos(swing.y[0, -1]) + 2 * c * swing.y[1, -1] ** 2
    assert found.last("touch.f_n") == pytest.approx([press], abs=1e-8)
    free = Course(thrown(hole, True, r_rel=(0.0, 0.0), v_rel=(0.0, 0.0)), (0.0, 0.05, 0.5))
    assert free["body.r_0[2]"] == pytest.approx([0, -g * 0.05**2 / 2, -c], abs=ROUND_OFF)
    assert free.last("events.time") == pytest.approx([math.sqrt(2 * c / g)], abs=ROUND_OFF)


@both
def test_a_cable_is_slack_then_jerks_and_holds(coordinates: str) -> None:
    """A mass falls beside the cable's end; taut, it keeps the velocity across the cable and e of that along it."""
    x, L, e = 0.5, 1.0, 0.4
    start: dict[str, Any] = {"r_rel": (x, 0.0), "v_rel": (0.0, 0.0)}
    y = math.sqrt(L**2 - x**2)
    t, v = math.sqrt(2 * y / g), math.sqrt(2 * g * y)
    found = Course(thrown(Cable("cable", length=L, e=e), True, **start), (0.0, 0.3, t + 0.01, 5.0), coordinates)
    assert found["body.r_0[2]"][1] == pytest.approx(-g * 0.3**2 / 2, abs=ROUND_OFF)
    n = np.array([x, -y]) / L
    after = np.array([0.0, -v]) - (1 + e) * np.dot([0.0, -v], n) * n
    assert [found["body.v_0[1]"][2], found["body.v_0[2]"][2] + g * 0.01] == pytest.approx(list(after), abs=ROUND_OFF)
    assert found.last("cable.closed") == [1]
    assert abs(found.last("cable.gap")[0]) < 1e-15
    slack = Course(thrown(Cable("cable", length=L), True, r_rel=(0.0, -L), v_rel=(0.0, 1.0)), (0.0, 0.1), coordinates)
    assert slack.last("body.r_0[2]", "cable.closed") == pytest.approx([-L + 0.1 - g * 0.005, 0], abs=ROUND_OFF)


@both
def test_a_point_slides_down_a_bowl_as_its_law_says_and_stays(coordinates: str) -> None:
    """In the plane, with the arc's angle theta: v' = -g sin(theta) - mu (g cos(theta) + v^2 kappa) sign(v)."""
    mu = 0.1
    bowl = PointOnHeightField("touch", height="x**2/2", mu=mu)
    found = Course(thrown(bowl, True, r_rel=(1.0, 0.5), v_rel=(0.0, 0.0)), (0.0, 0.5, 9.0), coordinates)

    def law(_: float, y: Any) -> Any:
        c = 1 / math.sqrt(1 + y[0] ** 2)
        return [y[1] * c, -g * y[0] * c + mu * (g * c + y[1] ** 2 * c**3)]

    route = solve_ivp(law, (0, 0.5), [1.0, 0.0], rtol=1e-13, atol=1e-13, method="DOP853").y[:, -1]
    assert [found["body.r_0[1]"][1], found["touch.slip"][1]] == pytest.approx(list(route), abs=1e-10)
    x, y, sticks = found.last(*place(True), "touch.sticks")
    assert sticks
    assert abs(x) < mu
    assert y == pytest.approx(x**2 / 2, abs=1e-15)


@both
def test_a_point_on_a_tilted_height_field_is_the_point_on_a_plane(coordinates: str) -> None:
    """A plane as a height field, with the weight turned into it: the puck that turns downhill."""
    a, b = 0.3, -0.2
    field_ = PointOnHeightField("touch", height=f"{a}*x + {b}*y", mu=0.4)
    v = (-0.5, 0.8)
    start = {"r_rel": (0.0, 0.0, 0.0), "v_rel": (*v, a * v[0] + b * v[1]), "w_rel": (0.0, 0.0, 0.0)}
    found = Course(thrown(field_, False, **start), (0.0, 5.0), coordinates, step=5e-2)
    up = np.array([-a, -b, 1.0]) / math.sqrt(1 + a**2 + b**2)
    e1 = np.array([1.0, 0.0, a]) / math.sqrt(1 + a**2)
    e2 = np.cross(up, e1)
    weight = np.array([0.0, 0.0, -1.0])
    down = np.array([e1 @ weight, e2 @ weight, up @ weight])
    V = np.array(start["v_rel"])
    plane = PointOnPlane("touch", mu=0.4)
    flat = {"r_rel": (0.0, 0.0, 0.0), "v_rel": (e1 @ V, e2 @ V, 0.0), "w_rel": (0.0, 0.0, 0.0)}
    other = Course(thrown(plane, False, down=tuple(down), **flat), (0.0, 5.0), coordinates, step=5e-2)
    there = np.column_stack([e1, e2, up]) @ other.last(*place(False))
    assert found.last(*place(False)) == pytest.approx(list(there), abs=1e-11)
    assert found.last("touch.sticks") == other.last("touch.sticks") == [1]


# -- Bearings, clearances and mechanisms -----------------------------------------------------------------------------


@both
@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
def test_a_pendulums_bearing_rubs_with_the_force_it_carries(coordinates: str, planar: bool) -> None:
    """Its force F depends on the acceleration that its friction mu r |F| changes: a fixed point, found anew here."""
    mu, r, m, c, J = 0.3, 0.05, 2.0, 0.3, 0.1

    def acceleration(phi: float, w: float) -> float:
        a = 0.0
        for _ in range(60):
            x = -m * c * (w**2 * math.cos(phi) + a * math.sin(phi))
            y = -m * c * (w**2 * math.sin(phi) - a * math.cos(phi)) + m * g
            torque = m * g * c * math.cos(phi) + mu * r * math.copysign(math.hypot(x, y), w)
            a = -torque / (J + m * c**2)
        return a

    route = solve_ivp(
        lambda _, y: [y[1], acceleration(*y)], (0, 0.1), [-0.5, 3.0], rtol=1e-13, atol=1e-13, method="DOP853"
    ).y[:, -1]
    inertia = {"I_33": J} if planar else {"I_11": 0.02, "I_22": J, "I_33": J}
    rod = Body("body", m=m, r_CM=(c, 0.0) if planar else (c, 0.0, 0.0), **inertia)
    system = System(
        "pendulum",
        planar=planar,
        components=(
            World("world", g=g, n=(0.0, -1.0) if planar else (0.0, -1.0, 0.0)),
            Revolute("hinge", phi=-0.5, w=3.0),
            rod,
            BearingFriction("rub", joint="hinge", radius=r, mu=mu, mu_s=mu),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "body.frame_a")),
    )
    found = Course(system, (0.0, 0.1, 20.0), coordinates)
    assert [found["hinge.phi"][1], found["hinge.w"][1]] == pytest.approx(list(route), abs=1e-11)
    assert found.last("rub.sticks", "hinge.w") == [1, 0]
    assert abs(m * g * c * math.cos(found.last("hinge.phi")[0])) < mu * r * m * g


def test_joints_carry_the_forces_of_contacts_alike_in_both_coordinates() -> None:
    """An arm of two links drops its end on the ground, with friction there and in a bearing."""
    links = [
        BodyShape(name, m=1.0, r=(0.5, 0.0), r_CM=(0.25, 0.0), I_33=0.02)
        for name in ("upper", "lower")
    ]  # fmt: skip
    system = System(
        "arm",
        planar=True,
        components=(
            World("world", g=g, n=(0.0, -1.0)),
            FixedTranslation("ground", r=(0.0, -0.7)),
            Revolute("shoulder", phi=-0.2, w=0.0),
            links[0],
            Revolute("elbow", phi=-0.6, w=0.0),
            links[1],
            PointOnPlane("touch", mu=0.3, e=0.2, rest=1e-6),  # above what round-off hides in either coordinates
            BearingFriction("rub", joint="shoulder", radius=0.02, mu=0.2, mu_s=0.2),
            RotationalEndStop("stop", joint="elbow", lower=-2.0),
        ),
        connections=(
            connect("world.frame_b", "shoulder.frame_a"),
            connect("world.frame_b", "ground.frame_a"),
            connect("shoulder.frame_b", "upper.frame_a"),
            connect("upper.frame_b", "elbow.frame_a"),
            connect("elbow.frame_b", "lower.frame_a"),
            connect("ground.frame_b", "touch.frame_a"),
            connect("lower.frame_b", "touch.frame_b"),
        ),
    )
    times = (0.0, 0.1, 0.3, 0.5, 0.7)
    one, two = (Course(system, times, coordinates, step=2e-3) for coordinates in COORDINATES)
    assert one.last("events.count")[0] > 3
    assert max(one["touch.closed"]) == 1
    for name in one.rows[0]:
        if name.startswith(("shoulder.frame_b", "elbow.frame_b", "touch", "rub", "stop", "elbow.", "events")):
            assert two[name] == pytest.approx(one[name], abs=1e-8), name


@both
def test_gears_with_backlash_hand_over_their_momentum_tooth_by_tooth(coordinates: str) -> None:
    """Each hit turns the speed u = w_a - ratio w_b into -e u, by the impulse (1 + e) u / (1/J_a + ratio^2/J_b)."""
    J_a, J_b, ratio, play, e, w = 0.5, 2.0, 3.0, 0.2, 0.6, 1.5
    system = System(
        "gears",
        planar=True,
        components=(
            World("world", g=0.0),
            Revolute("a", phi=0.0, w=w),
            Body("wheel_a", m=1.0, I_33=J_a),
            Revolute("b", phi=0.0, w=0.0),
            Body("wheel_b", m=1.0, I_33=J_b),
            Backlash("teeth", joint_a="a", joint_b="b", ratio=ratio, play=play, e=e),
        ),
        connections=(
            connect("world.frame_b", "a.frame_a"),
            connect("a.frame_b", "wheel_a.frame_a"),
            connect("world.frame_b", "b.frame_a"),
            connect("b.frame_b", "wheel_b.frame_a"),
        ),
    )
    second = play / 2 / w + play / (e * w)
    found = Course(system, (0.0, 0.1, second + 0.01), coordinates)
    P = w / (1 / J_a + ratio**2 / J_b) * np.array([1 + e, (1 + e) * (1 - e)])
    assert found["a.w"] == pytest.approx([w, w - P[0] / J_a, w - P[1] / J_a], abs=ROUND_OFF)
    assert found["b.w"] == pytest.approx([0, ratio * P[0] / J_b, ratio * P[1] / J_b], abs=ROUND_OFF)
    assert found["events.time"] == pytest.approx([0, play / 2 / w, second], abs=ROUND_OFF)
    assert found.last("teeth.upper.impacts", "teeth.lower.impacts") == [1, 1]


@both
def test_a_slider_with_clearance_comes_flat_to_its_guide(coordinates: str) -> None:
    """It loses its turn at the corners, then slides as a block: with mu g."""
    touch = SliderInGuide("touch", length=0.5, width=0.2, clearance=0.01, mu=0.1, e=0.1)
    start: dict[str, Any] = {"r_rel": (0.0, 0.0), "v_rel": (1.0, 0.0), "phi": 0.0, "w": 0.3}
    found = Course(thrown(touch, True, **start), (0.0, 0.5, 0.7), coordinates)
    assert found["touch.lower_left.closed"][1:] == found["touch.lower_right.closed"][1:] == [1, 1]
    assert found["body.r_0[2]"][1:] == pytest.approx([-0.01, -0.01], abs=1e-15)
    v = found["body.v_0[1]"]
    assert v[2] - v[1] == pytest.approx(-0.1 * g * 0.2, abs=ROUND_OFF)
    pressing = found.last("touch.lower_left.f_n", "touch.lower_right.f_n")
    assert sum(pressing) == pytest.approx(2 * g, abs=1e-11)
    # the moment of friction 0.1 m below the centre
    assert 0.25 * (pressing[1] - pressing[0]) == pytest.approx(0.1 * 2 * g * 0.1, abs=1e-11)


def test_a_document_takes_contacts_by_name(tmp_path: Path) -> None:
    text = """
name = "ball"
planar = true
connections = [
  ["world.frame_b", "free.frame_a"], ["free.frame_b", "ball.frame_a"],
  ["world.frame_b", "touch.frame_a"], ["ball.frame_a", "touch.frame_b"],
]
[components]
world = {type = "World", g = 9.81, n = [0, -1]}
free = {type = "FreeMotion", r_rel = [0, 1.5], v_rel = [0, 0]}
ball = {type = "Body", m = 1, I_33 = 0.1}
touch = {type = "CircleOnLine", radius = 0.5, e = 0.5, mu = 0.1}
"""
    (tmp_path / "ball.toml").write_text(text)
    system = mbfmu.load(tmp_path / "ball.toml")
    assert system.components[-1] == CircleOnLine("touch", radius=0.5, e=0.5, mu=0.1)
    found = Course(system, (0.0, 0.5))
    assert found.last("events.time") == pytest.approx([math.sqrt(2 / g)], abs=ROUND_OFF)


@pytest.mark.parametrize(("contact", "planar"), [(CircleOnLine("touch"), False), (SphereOnPlane("touch"), True)])
def test_a_contact_in_the_wrong_kind_of_system_is_refused(contact: Component, planar: bool) -> None:
    needed = "spatial" if planar else "planar"
    with pytest.raises(ModelError, match=f"'touch': a contact {type(contact).__name__} needs a {needed} system"):
        derive(thrown(contact, planar))


def test_friction_in_space_at_several_contacts_takes_moreau() -> None:
    places = {"left": (-0.1, 0.0, -0.1), "right": (0.1, 0.0, -0.1)}
    box = System(
        "box",
        components=(
            World("world", n=(0.0, 0.0, -1.0)),
            FreeMotion("free", r_rel=(0.0, 0.0, 0.1)),
            Body("body", m=1.0, I_11=0.01, I_22=0.01, I_33=0.01),
            *(FixedTranslation(f"at_{name}", r=r) for name, r in places.items()),
            *(PointOnPlane(name, mu=0.5) for name in places),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            *(connect("body.frame_a", f"at_{name}.frame_a") for name in places),
            *(connect("world.frame_b", f"{name}.frame_a") for name in places),
            *(connect(f"at_{name}.frame_b", f"{name}.frame_b") for name in places),
        ),
    )
    assert prepare(box, None, {}, 1e-3).scheme.name == "moreau"
    with pytest.raises(StepperError, match=r"'left', 'right'.*take the stepper 'moreau'"):
        prepare(box, "projected", {}, 1e-3)


def block_on_two_corners(part: float) -> System:
    """Return a block in the plane on a slope of a part of the angle of friction."""
    slope = part * math.atan(0.4)
    corners = {"back": (-0.3, -0.1), "front": (0.2, -0.1)}
    return System(
        "block",
        planar=True,
        components=(
            World("world", g=g, n=(math.sin(slope), -math.cos(slope))),
            Planar("free", s_x=0.0, s_y=0.1, phi=0.0, v_x=0.0, v_y=0.0, w=0.0),
            Body("body", m=2.0, I_33=0.05),
            *(FixedTranslation(f"at_{name}", r=r) for name, r in corners.items()),
            *(PointOnPlane(name, mu=0.4) for name in corners),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            *(connect("body.frame_a", f"at_{name}.frame_a") for name in corners),
            *(connect("world.frame_b", f"{name}.frame_a") for name in corners),
            *(connect(f"at_{name}.frame_b", f"{name}.frame_b") for name in corners),
        ),
    )


@both
def test_two_corners_hold_a_block_together_and_let_it_go_together(coordinates: str) -> None:
    still = Course(block_on_two_corners(0.99), (0.0, 10.0), coordinates)
    assert [still.last(f"{name}.sticks")[0] for name in ("back", "front")] == [1, 1]
    assert still.last("free.s_x", "free.s_y", "free.phi", "free.v_x", "free.w") == [0.0, 0.1, 0.0, 0.0, 0.0]
    slides = Course(block_on_two_corners(1.01), (0.0, 2.0), coordinates)
    slope = 1.01 * math.atan(0.4)
    a = g * (math.sin(slope) - 0.4 * math.cos(slope))
    assert slides.last("free.s_x")[0] == pytest.approx(2 * a, rel=1e-11)
    assert slides.last("free.phi")[0] == pytest.approx(0.0, abs=1e-14)


def block_on_a_shaken_plate(angle: float, n: tuple[float, float]) -> System:
    """A block that rubs on a plate, which is turned by an angle and shaken along itself, under weight along n."""
    return System(
        "shaken",
        planar=True,
        components=(
            World("world", g=g, n=n),
            FixedRotation("tilt", angle=angle),
            Prismatic("shake", n=(1, 0)),
            Body("plate", m=5.0, I_33=1.0),
            AxisMotion("drive", joint="shake", s="0.05*sin(12*time)"),
            Prismatic("along", n=(1, 0), s=0.0, v=0.5),
            Prismatic("up", n=(0, 1), s=0.0, v=0.0),
            Body("block", m=2.0, I_33=0.1),
            PointOnPlane("touch", e=0.0, mu=0.35),
        ),
        connections=(
            connect("world.frame_b", "tilt.frame_a"), connect("tilt.frame_b", "shake.frame_a"),
            connect("shake.frame_b", "plate.frame_a"), connect("tilt.frame_b", "along.frame_a"),
            connect("along.frame_b", "up.frame_a"), connect("up.frame_b", "block.frame_a"),
            connect("plate.frame_a", "touch.frame_a"), connect("block.frame_a", "touch.frame_b"),
        ),
    )  # fmt: skip


def test_a_tilted_plate_is_a_level_one_under_tilted_weight() -> None:
    """Entries of the constraints are zero on the tilted plate, and do not appear on the level one."""
    slope, times = 0.2, (0.0, 0.01, 0.05, 0.3, 0.6)
    down = (-math.sin(slope), -math.cos(slope))
    tilted, level = (Course(block_on_a_shaken_plate(*pair), times) for pair in ((slope, (0.0, -1.0)), (0.0, down)))
    for name in ("along.s", "along.v", "touch.f_n", "events.count", "events.time"):
        assert tilted[name] == pytest.approx(level[name], abs=1e-10), name
    assert tilted["events.count"][-1] > tilted["events.count"][0]
    gain = 0.35 * g * math.cos(slope) - g * math.sin(slope)  # the plate is faster at first, and drags the block along
    assert tilted["along.v"][1] == pytest.approx(0.5 + gain * 0.01, rel=1e-11)
    together = brentq(lambda t: 0.5 + gain * t - 0.6 * math.cos(12 * t), 1e-3, 0.1, xtol=1e-15)
    assert tilted["events.time"][2] == pytest.approx(together, rel=1e-10)
