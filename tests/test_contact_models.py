"""Library models of parts and joints with contacts, against closed forms and laws."""

import math
from typing import Any

import numpy as np
import pytest
from events import Run
from harness import thorough
from scipy.integrate import simpson, solve_ivp
from scipy.optimize import brentq

import mbfmu
from mbfmu.errors import ValueRangeError

Array = np.ndarray[Any, Any]

g = 9.81
COORDINATES = ("absolute", "joint")
both = pytest.mark.parametrize("coordinates", thorough([(name,) for name in COORDINATES], lambda name: name == "joint"))
NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(40))
"""Gauss's rule from -1/2 to 1/2."""


# -- rocking block ------------------------------------------------------------------------------------------------


def quarter(b: float, h: float, theta: float) -> float:
    """Return the time, s, in which a block falls from the tilt theta, rad, at rest on both its corners.

    phi'' = -p^2 sin(alpha - phi) has the rate 2 p sqrt(sin(alpha - (theta + phi)/2) sin((theta - phi)/2)); with
    phi = theta (1 - s^2) the integral of its inverse is smooth.
    """
    alpha, p, s = math.atan2(b, h), math.sqrt(0.75 * g / math.hypot(b, h)), NODES + 0.5
    phi = theta * (1 - s**2)
    rate = 2 * p * np.sqrt(np.sin(alpha - (theta + phi) / 2) * np.sin((theta - phi) / 2))
    return float(np.sum(WEIGHTS * 2 * theta * s / rate))


def rocking(b: float, h: float, theta: float, count: int) -> list[float]:
    """Return the times, s, of the first impacts, each of which leaves the part 1 - 3/2 sin(alpha)^2 of the rate."""
    alpha = math.atan2(b, h)
    less = 1 - 1.5 * math.sin(alpha) ** 2
    t, times = quarter(b, h, theta), []
    for _ in range(count):
        times.append(t)
        theta = alpha - math.acos(math.cos(alpha) + less**2 * (math.cos(alpha - theta) - math.cos(alpha)))
        t += 2 * quarter(b, h, theta)
    return times


@both
def test_a_rocking_block_passes_from_corner_to_corner_as_housner_says(coordinates: str) -> None:
    wanted = rocking(0.2, 0.6, 0.2, 8)
    run = Run("rocking_block", 1e-2, coordinates=coordinates).to(wanted[-1] + 1e-3)
    assert run.times() == pytest.approx(wanted, abs=1e-11)
    stands = [("right", "left")[number % 2] for number in range(8)]
    for name in ("left", "right"):
        assert [event.y[f"{name}.sticks"] for event in run.events] == [foot == name for foot in stands]
        assert [event.y[f"{name}.closed"] for event in run.events] == [foot == name for foot in stands]


def test_a_slender_block_rocks_with_housners_period() -> None:
    """T = 4/p acosh(1/(1 - theta/alpha)), to the second order of alpha."""

    def error(slender: float) -> float:
        b, h = slender, 1.0
        alpha, p = math.atan2(b, h), math.sqrt(0.75 * g / math.hypot(b, h))
        run = Run("rocking_block", 1e-2, {"b": b, "h": h, "theta_0": 0.6 * alpha}).to(1.0)
        return 4 * float(run.times()[0]) / (4 / p * math.acosh(1 / 0.4)) - 1

    wide, narrow = error(0.1), error(0.05)
    assert 0 < narrow < wide < 1e-3
    assert wide / narrow == pytest.approx(4, rel=0.01)


def test_a_block_rests_where_it_stood_and_one_tilted_too_far_falls() -> None:
    alpha = math.atan2(0.2, 0.6)
    rest = Run("rocking_block", 2e-2, {"theta_0": 0.9 * alpha}).to(7.5)
    assert (rest["left.sticks"], rest["right.sticks"], rest["free.w"]) == (1, 1, 0)
    assert rest.row(["free.phi", "free.s_x", "free.s_y"]) == pytest.approx([0, 0, 0.6], abs=1e-14)
    assert rest["left.f_n"] + rest["right.f_n"] == pytest.approx(100 * g, rel=1e-12)
    falls = Run("rocking_block", 2e-2, {"theta_0": 1.01 * alpha}).to(1.5)
    assert falls["free.phi"] > 1.5 * alpha
    assert falls["events.count"] == 0


# -- cam and follower ---------------------------------------------------------------------------------------------

R, D, ROLLER, MASS, STIFF, PRESSED = 0.04, 0.01, 0.02, 0.2, 500.0, 0.02
"""Sizes, m, of the cam and its follower, mass, kg, stiffness, N/m, and compression of the spring, m."""
FOLLOWERS = ("flat", "roller")


def lift(kind: str, theta: float) -> tuple[float, float, float]:
    """Return the lift, m, and its first two derivatives by the angle of the cam."""
    s, c = math.sin(theta), math.cos(theta)
    if kind == "flat":
        return R + D * s, D * c, -D * s
    root = math.sqrt((R + ROLLER) ** 2 - (D * c) ** 2)
    return (
        D * s + root,
        D * c + D**2 * s * c / root,
        -D * s + D**2 * (c**2 - s**2) / root - D**4 * (s * c) ** 2 / root**3,
    )


def jump(kind: str) -> float:
    """Return the speed of the cam, rad/s, above which its follower leaves it."""
    k = D / (R + ROLLER) if kind == "roller" else 0.0
    return math.sqrt((g + STIFF * (PRESSED + 2 * D) / MASS) / (D * (1 + k)))


def press(kind: str, w: float, t: float) -> float:
    """Return the force, N, that holds the follower on the cam, along its guide."""
    height, _, curved = lift(kind, w * t)
    lowest = lift(kind, -math.pi / 2)[0]
    return MASS * (g + w**2 * curved) + STIFF * (height - lowest + PRESSED)


def cam(kind: str, w: float, coordinates: str | None = None) -> Run:
    return Run(mbfmu.load("cam_follower", {"follower": kind}), 1e-3, {"w": w}, coordinates=coordinates)


@pytest.mark.parametrize("kind", FOLLOWERS)
def test_a_follower_stays_on_its_cam_below_the_speed_of_its_jump_and_leaves_it_above(kind: str) -> None:
    w = jump(kind)
    stays = cam(kind, 0.9999 * w).to(4 * math.pi / w)
    assert stays["events.count"] == 0
    assert stays["touch.closed"] == 1
    assert cam(kind, 1.0001 * w).to(math.pi / w)["events.count"] > 0


@both
@pytest.mark.parametrize("kind", FOLLOWERS)
def test_a_follower_leaves_its_cam_and_meets_it_again_at_the_roots_of_its_flight(kind: str, coordinates: str) -> None:
    """In flight it swings about the height where the spring holds its weight."""
    w, turn = 120.0, math.sqrt(STIFF / MASS)
    off = brentq(lambda t: press(kind, w, t), 0.0, math.pi / 2 / w, xtol=1e-16)
    height, slope, _ = lift(kind, w * off)
    middle = lift(kind, -math.pi / 2)[0] - PRESSED - MASS * g / STIFF

    def flight(t: float) -> float:
        angle = turn * (t - off)
        return middle + (height - middle) * math.cos(angle) + slope * w / turn * math.sin(angle)

    back = brentq(lambda t: flight(t) - lift(kind, w * t)[0], off + 0.01, off + 0.04, xtol=1e-16)
    run = cam(kind, w, coordinates).to(off / 2)
    assert run["guide.s"] == pytest.approx(lift(kind, w * off / 2)[0], abs=1e-14)
    slant = D * math.cos(w * off / 2) / (R + ROLLER) if kind == "roller" else 0.0
    along = math.sqrt(1 - slant**2)  # of the line of the centres along the guide
    assert run["touch.f_n"] * along == pytest.approx(press(kind, w, off / 2), abs=1e-10)
    run.to((off + back) / 2)
    assert run["guide.s"] == pytest.approx(flight((off + back) / 2), abs=1e-13)
    run.to(back + 1e-4)
    assert run.times() == pytest.approx([off, back], abs=1e-12)
    assert run["touch.impacts"] == 1


def test_a_follower_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueRangeError, match="must be flat or roller"):
        mbfmu.load("cam_follower", {"follower": "knife"})


# -- gripper --------------------------------------------------------------------------------------------------------

BOX, ALL, TIPS = 2.0, 6.0, 0.4
"""Masses, kg, of the box and of all that rises with it, and the friction of the fingertips."""


@pytest.fixture(scope="module")
def gripper() -> mbfmu.Simulation:
    """Return the gripper after 0.2 s: closed on the box, which stands on the ground."""
    simulation = mbfmu.Simulation("gripper", stepper="projected", options={"order": 8}, step=1e-2)
    simulation.step({}, 0.2)
    return simulation


def test_fingers_close_on_a_box_that_stays_where_it_is(gripper: mbfmu.Simulation) -> None:
    assert gripper["events.time"] == pytest.approx(math.sqrt(2 * 0.5 * 0.02 / 30), abs=1e-12)
    assert [gripper[f"{side}_tip.f_n"] for side in ("left", "right")] == pytest.approx([30, 30], rel=1e-12)
    assert gripper["foot_left.f_n"] + gripper["foot_right.f_n"] == pytest.approx(BOX * g, rel=1e-12)
    assert [gripper[f"free.{name}"] for name in ("s_x", "s_y", "phi")] == pytest.approx([0, 0.08, 0], abs=1e-15)


@pytest.mark.parametrize("a", [-1.5, 0.2, 2.0])
def test_a_box_is_held_exactly_as_long_as_twice_the_friction_takes_its_weight(
    gripper: mbfmu.Simulation, a: float
) -> None:
    """First it is lifted from the ground with firm fingers, then these press with a force around the limit."""
    limit, rise, span = BOX * (g + a) / (2 * TIPS), ALL * (g + a), 0.1
    start = gripper.state
    for part in (1.001, 0.999):
        gripper.restore(start)
        gripper.step({"left.f": 200.0, "right.f": 200.0, "lift.f": ALL * (g + 2)}, 0.5)
        box, hoist, v = (gripper[f"{name}"] for name in ("free.s_y", "lift.s", "lift.v"))
        f = part * limit
        gripper.step({"left.f": f, "right.f": f, "lift.f": rise}, span)
        grip = min(2 * TIPS * f, BOX * (g + a))
        way = (grip / BOX - g, (rise - grip) / (ALL - BOX) - g)
        assert gripper["left_tip.sticks"] == gripper["right_tip.sticks"] == (part > 1)
        assert gripper["free.s_y"] - box == pytest.approx(v * span + way[0] * span**2 / 2, abs=1e-13)
        assert gripper["lift.s"] - hoist == pytest.approx(v * span + way[1] * span**2 / 2, abs=1e-13)
        assert abs(gripper["free.phi"]) < 1e-15
    gripper.restore(start)


def test_a_box_lifted_by_a_force_that_grows_from_its_weight_leaves_the_ground() -> None:
    """At first its acceleration is next to nothing, so that the gaps of its feet are round-off."""
    inputs = {"lift.f": "39.24 + 30*max(time - 0.1, 0)"}
    run = mbfmu.simulate("gripper", 1.0, step=1e-3, inputs=inputs, error_samples=0)
    rise = 30 * (0.9 - BOX * g / 30) ** 3 / (6 * ALL)
    for name, start in (("lift.s", 0.08), ("foot_left.gap", 0.0), ("foot_right.gap", 0.0)):
        assert run[name][-1] == pytest.approx(start + rise, abs=1e-12)


# -- excavator on the ground ----------------------------------------------------------------------------------------

CYLINDERS = ("lift", "crowd", "curl")
POSE = np.array([0.35, -1.0, -0.3])
"""Angles, rad, of boom, stick and bucket at the start."""


def turned(angle: Any, x: float, y: float) -> Any:
    """Turn a point of the plane; complex steps allowed."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * x - s * y, s * x + c * y])


def length(gap: Any) -> Any:
    """Return the length of a vector; complex steps allowed."""
    return np.sqrt(gap[0] ** 2 + gap[1] ** 2)


def arm(angles: Any) -> Any:
    """Return the potential energy, J, the distances of the cylinders' pins, m, and the place of the teeth, m."""
    boom, stick, bucket = np.cumsum(angles)
    pivot = np.array([0.0, 0.5])
    elbow = pivot + turned(boom, 1.85, 0)
    wrist = elbow + turned(stick, 1.05, 0)
    ear, rocker = wrist + turned(bucket, -0.081, 0.138), elbow + turned(stick, 0.88, 0.03)
    gap = (ear - rocker) / 2
    knee = rocker + gap + np.array([-gap[1], gap[0]]) * np.sqrt(0.2**2 / length(gap) ** 2 - 1)
    feet = (pivot + turned(0.0, 0.2, -0.35), pivot + turned(boom, 0.75, 0.42), elbow + turned(stick, 0.12, 0.24))
    eyes = (pivot + turned(boom, 0.7, 0.3), elbow + turned(stick, -0.22, 0.1), knee)
    weights = (
        (80, pivot + turned(boom, 0.9, 0.2)), (40, elbow + turned(stick, 0.36, 0.06)),
        (35, wrist + turned(bucket, 0.24, 0.02)), (40, wrist + turned(bucket, 0.27, 0.04)),
        (9, feet[1]), (7, feet[2]), (7, eyes[0]), (6, eyes[1]), (4, knee),
        (4, (rocker + knee) / 2), (5, (knee + ear) / 2),
    )  # fmt: skip
    V = g * sum(m * place[1] for m, place in weights)
    return np.array(
        [V, *(length(eye - foot) for eye, foot in zip(eyes, feet, strict=True)), *(wrist + turned(bucket, 0.65, 0))]
    )


def statics(normal: float, along: float) -> dict[str, float]:
    """Return the forces of the cylinders, N, that balance weights and ground, by virtual work and complex steps."""
    slopes = np.array([np.imag(arm(POSE + 1e-30j * turn)) for turn in np.eye(3)]) * 1e30
    forces = np.linalg.solve(slopes[:, 1:4], slopes[:, 0] - along * slopes[:, 4] - normal * slopes[:, 5])
    return {f"{name}.f": float(f) for name, f in zip(CYLINDERS, forces, strict=True)}


def pressed(part: float, normal: float, side: int) -> tuple[mbfmu.Simulation, dict[str, float]]:
    """Return the arm that rests on the ground, its friction a part of what it may be, and the forces that hold it."""
    forces = statics(normal, side * part * 0.5 * normal)
    simulation = mbfmu.Simulation(
        "excavator_ground", options={"order": 8}, step=1e-3, values={"y_ground": float(arm(POSE)[5])}, inputs=forces
    )
    return simulation, forces


def posture(simulation: mbfmu.Simulation) -> Array:
    """Return the angles of boom, stick and bucket, rad."""
    return np.array([simulation[f"{name}.phi"] for name in ("boom", "stick", "bucket")])


@pytest.mark.parametrize("side", [1, -1])
def test_an_excavator_presses_on_the_ground_with_the_forces_of_statics_and_its_bucket_stays(side: int) -> None:
    still, forces = pressed(0.999, 5000.0, side)
    still.step(forces, 0.5)
    assert posture(still) == pytest.approx(POSE, abs=1e-11)
    assert (still["teeth.closed"], still["teeth.sticks"]) == (1, 1)
    assert still["teeth.f_n"] == pytest.approx(5000, rel=1e-9)
    assert still["teeth.f_t"] == pytest.approx(side * 0.999 * 2500, rel=1e-9)


@pytest.mark.parametrize("side", [1, -1])
def test_a_bucket_that_is_pulled_harder_drags_and_its_friction_takes_the_work(side: int) -> None:
    drags, forces = pressed(1.05, 5000.0, side)
    before, strokes = drags["energy.total"], arm(POSE)[1:4]
    power = [0.0]
    for _ in range(50):
        drags.step(forces, 1e-3)
        assert drags["teeth.closed"] == 1
        assert drags["teeth.f_t"] == pytest.approx(side * 0.5 * drags["teeth.f_n"], rel=1e-12)
        power.append(drags["teeth.f_t"] * drags["teeth.slip"])
    rubbed = simpson(power, dx=1e-3)
    assert drags["teeth.slip"] * side < -0.01
    work = sum(f * way for f, way in zip(forces.values(), arm(posture(drags))[1:4] - strokes, strict=True))
    assert rubbed < -0.5
    assert drags["energy.total"] - before == pytest.approx(work + rubbed, abs=1e-6)


@pytest.mark.further
def test_an_arm_comes_down_slides_and_stays() -> None:
    run = mbfmu.Simulation("excavator_ground", options={"order": 8}, step=2e-3)
    run.step({}, 0.6)
    assert (run["teeth.closed"], run["teeth.sticks"]) == (1, 0)
    run.step({}, 0.6)
    assert (run["teeth.closed"], run["teeth.sticks"]) == (1, 1)
    assert abs(run["teeth.gap"]) < 1e-14


@pytest.mark.further
def test_a_whole_excavator_presses_on_the_ground_sticks_and_drags_as_statics_and_coulomb_say() -> None:
    system = mbfmu.load("excavator_ground", {"part": "whole"})
    run = mbfmu.simulate(system, 5.0, step=1.25e-4, output_interval=5e-3)  # as short as the oil asks for
    normal, along, closed = (run[f"teeth.{name}"] for name in ("f_n", "f_t", "closed"))
    assert run["teeth.gap"].min() > -1e-14
    assert (np.abs(along) - 0.5 * normal).max() < 1e-9
    slides = (closed > 0) & (run["teeth.sticks"] == 0)
    assert 1.5 < 5e-3 * slides.sum() < 3.0
    assert along[slides] == pytest.approx(-0.5 * normal[slides] * np.sign(run["teeth.slip"][slides]), rel=1e-12)
    still = 400  # 2 s: the teeth stick, and the arm hardly moves
    angles = np.array([run[f"{name}.phi"][still] for name in ("boom", "stick", "bucket")])
    slopes = np.array([np.imag(arm(angles + 1e-30j * turn)) for turn in np.eye(3)]) * 1e30
    forces = [-1, *(run[f"oil.{name}.f"][still] for name in CYLINDERS), along[still], normal[still]]
    assert slopes @ forces == pytest.approx(np.zeros(3), abs=1e-4 * slopes[0, 0])
    assert normal[still] > 5e3


# -- four-bar with a loose pin --------------------------------------------------------------------------------------

BARS = (0.5, 1.2, 1.0)
"""Lengths of crank, coupler and rocker, m, which weigh 1 kg a metre; the bearings are 1.3 m apart."""


def masses(q: Array) -> Array:
    """Return the mass matrix of a double pendulum and a pendulum of uniform bars, for their angles from +x."""
    l1, l2, l3 = BARS
    across = l1 * l2**2 / 2 * math.cos(q[0] - q[1])
    return np.array([[l1**3 / 3 + l2 * l1**2, across, 0], [across, l2**3 / 3, 0], [0, 0, l3**3 / 3]])


def swing(_: float, y: Array) -> Array:
    """Return the rates of angles and angular velocities while the pin touches nothing."""
    (l1, l2, l3), q, w = BARS, y[:3], y[3:]
    turn = l1 * l2**2 / 2 * math.sin(q[0] - q[1])
    weight = -g * np.array([l1**2 / 2 + l2 * l1, l2**2 / 2, l3**2 / 2]) * np.cos(q)
    return np.append(w, np.linalg.solve(masses(q), weight + turn * np.array([-(w[1] ** 2), w[0] ** 2, 0])))


def offset(q: Any) -> Any:
    """Return the place of the pin in the hole, m; complex steps allowed."""
    (l1, l2, l3), (c, s) = BARS, (np.cos(q), np.sin(q))
    return np.array([1.3 + l3 * c[2] - l1 * c[0] - l2 * c[1], l3 * s[2] - l1 * s[0] - l2 * s[1]])


def knocks(q: Array, w: Array, clearance: float, e: float, count: int) -> list[float]:
    """Return the times, s, of the first impacts of the pin, without friction, by Newton's law."""

    def gap(_: float, y: Array) -> float:
        return float(clearance - length(offset(y[:3])))

    gap.terminal, gap.direction = True, -1  # type: ignore[attr-defined]
    t, y, times = 0.0, np.append(q, w), []
    for _ in range(count):
        # away from the last impact, where the gap is 0, before the next one is looked for
        ahead = solve_ivp(swing, (t, t + 1e-5), y, rtol=1e-12, atol=1e-14, method="DOP853")
        flight = solve_ivp(
            swing, (t + 1e-5, t + 1), ahead.y[:, -1], events=gap, rtol=1e-12, atol=1e-14, method="DOP853"
        )
        t, y = float(flight.t_events[0][0]), flight.y_events[0][0]
        slope = np.array([-np.imag(length(offset(y[:3] + 1e-30j * turn))) for turn in np.eye(3)]) * 1e30
        blow = np.linalg.solve(masses(y[:3]), slope)
        y[3:] -= (1 + e) * (slope @ y[3:]) / (slope @ blow) * blow
        times.append(t)
    return times


@both
def test_a_loose_pin_knocks_as_two_pendulums_that_hit_each_other(coordinates: str) -> None:
    run = Run("four_bar_clearance", 1e-3, {"mu_pin": 0.0, "e": 0.8}, coordinates=coordinates)
    sums = np.cumsum([run["crank.phi"], run["coupler.phi"]])
    rates = np.cumsum([run["crank.w"], run["coupler.w"]])
    assert run["pin.gap"] == pytest.approx(0.5e-3, abs=1e-9)  # in the middle
    q, w = np.array([*sums, run["rocker.phi"] + math.pi / 2]), np.array([*rates, run["rocker.w"]])
    wanted = knocks(q, w, 0.5e-3, 0.8, 6)
    run.to(wanted[-1] + 1e-5)
    assert run.times() == pytest.approx(wanted, abs=1e-9)
    assert [event.y["pin.impacts"] for event in run.events] == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
def test_a_four_bar_tends_to_the_ideal_one_as_its_clearance_goes_to_zero() -> None:
    names = ("crank.phi", "coupler.phi", "rocker.phi")

    def motion(name: str, step: float, **values: float) -> mbfmu.Result:
        return mbfmu.simulate(
            name, 0.3, stepper="projected", options={"order": 8}, step=step, output_interval=0.01, values=values
        )

    ideal = motion("four_bar", 1e-3)
    errors = []
    for clearance in (1e-3, 1e-4, 1e-5):
        loose = motion("four_bar_clearance", 2e-4, clearance=clearance, mu_pin=0.0)
        errors.append(max(np.abs(loose[name] - ideal[name]).max() for name in names))
        assert np.diff(loose["energy.total"]).max() < 1e-12
        assert loose["pin.gap"].min() > -1e-14
    assert errors[0] < 5e-3
    assert np.log10(errors[0] / errors[1]) == pytest.approx(1, abs=0.1)
    assert np.log10(errors[1] / errors[2]) == pytest.approx(1, abs=0.1)


@pytest.mark.slow
def test_a_pin_that_rubs_takes_energy_and_never_gives_any() -> None:
    def energy(mu: float) -> Any:
        how = {"stepper": "projected", "options": {"order": 8}, "step": 5e-4, "output_interval": 1e-3}
        return mbfmu.simulate("four_bar_clearance", 0.5, values={"mu_pin": mu}, **how)["energy.total"]

    rubs = energy(0.1)
    assert np.diff(rubs).max() < 1e-10
    assert rubs[-1] < energy(0.0)[-1] - 1e-3
