"""Models that hit, stick and stop, against closed forms and references."""

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from events import Event, Run, reference
from harness import thorough
from scipy.linalg import expm
from scipy.optimize import brentq

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import ModelError, NameInUseError, UnknownNameError
from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter

Array = np.ndarray[Any, Any]


def followed(run: Run, known: dict[str, Any], names: tuple[str, ...]) -> float:
    """Return the largest error of a run at the times of a reference."""
    return max(
        np.abs(run.to(t).row(names) - [known[name][k] for name in names]).max() for k, t in enumerate(known["t"])
    )


# -- bouncing ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ball() -> Run:
    return Run("bouncing_ball", 0.05).to(5.1)


def test_a_ball_meets_its_impacts(ball: Run) -> None:
    known = reference("bouncing_ball")
    wanted = np.array(known["impact_times"])
    away = np.abs(ball.times()[: len(wanted)] - wanted)
    assert away[:10].max() < 1e-12  # measured 3e-13
    assert away.max() < 1e-12
    assert [event.y["ground.impacts"] for event in ball.events[:30]] == list(range(1, 31))


def test_a_ball_is_at_rest_to_the_bit_from_the_sum_of_its_flights_on(ball: Run) -> None:
    assert abs(ball.events[-1].time - reference("bouncing_ball")["zeno_time"]) < 1e-9  # measured 1e-10
    place = ball["y"]
    assert (ball["v"], ball["ground.closed"]) == (0.0, 1.0)
    assert abs(place) < 1e-30
    ball.to(50.0)
    assert (ball["y"], ball["v"]) == (place, 0.0)
    assert ball["ground.f_n"] == pytest.approx(9.81, rel=1e-14)


def test_a_ball_with_a_radius_rests_where_doubles_no_longer_tell_its_flights() -> None:
    """A gap of round-off 1e-16 hides flights shorter than 1e-8 s."""
    run = Run("bouncing_ball", 0.05, {"radius": 0.1, "y": 1.1}).to(4.2)
    assert abs(run.events[-1].time - reference("bouncing_ball")["zeno_time"]) < 1e-7
    assert (run["v"], run["ground.closed"]) == (0.0, 1.0)
    assert abs(run["ground.gap"]) < 1e-16


def test_a_ball_is_where_the_reference_has_it() -> None:
    known = reference("bouncing_ball")
    run = Run("bouncing_ball", 0.05, {"h": 1.0})
    for k, t in enumerate(known["t"]):
        run.to(t)
        assert run.row(["y", "v"]) == pytest.approx([known["y"][k], known["v"][k]], abs=5e-12)
        if t < known["zeno_time"]:
            assert run["ground.impacts"] == known["impacts_so_far"][k]


def rod_impacts(theta: float, e: float, count: int) -> list[tuple[float, int]]:
    """Return time and end of the first impacts of the rod without friction, each root found on its flight."""
    L, m, J, g = 1.0, 1.0, 1 / 12, 9.81
    t, y, v, w, found = 0.0, 0.5 + L / 2 * abs(math.sin(theta)), 0.0, 0.0, []

    def gap(end: int, dt: Any) -> Any:
        return y + v * dt - g * dt**2 / 2 + (2 * end - 3) * L / 2 * np.sin(theta + w * dt)

    last = 0
    for _ in range(count):
        hits = []
        for end in (1, 2):
            grid = np.linspace(1e-7 if end == last else 0.0, 1.0, 20001)
            below = np.flatnonzero(gap(end, grid) < 0)
            if below.size:
                hits.append((brentq(partial(gap, end), grid[below[0] - 1], grid[below[0]], xtol=1e-15), end))
        dt, last = min(hits)
        t, y, v, theta = t + dt, y + v * dt - g * dt**2 / 2, v - g * dt, theta + w * dt
        arm = (2 * last - 3) * L / 2 * math.cos(theta)
        impulse = -(1 + e) * (v + arm * w) / (1 / m + arm**2 / J)
        v, w = v + impulse / m, w + impulse * arm / J
        found.append((t, last))
    return found


@pytest.mark.parametrize("theta", [math.pi / 6, 1.0])
def test_a_rod_bounces_from_end_to_end(theta: float) -> None:
    run = Run("bouncing_rod", 0.02, {"theta": theta})
    wanted = rod_impacts(theta, 0.5, 6)
    run.to(wanted[-1][0] + 1e-4)
    assert run.times() == pytest.approx([t for t, _ in wanted], abs=1e-11)
    counts = [(event.y["end1.impacts"], event.y["end2.impacts"]) for event in run.events]
    ends = [end for _, end in wanted]
    assert counts == [(ends[: k + 1].count(1), ends[: k + 1].count(2)) for k in range(len(ends))]
    assert run["x"] == 0


@pytest.mark.parametrize("theta", [math.pi / 6, 0.0])
def test_a_rod_lies_still_in_the_end(theta: float) -> None:
    run = Run("bouncing_rod", 0.02, {"theta": theta}).to(2.0)
    assert (run["end1.closed"], run["end2.closed"]) == (1, 1)
    assert (run["v"], run["omega"], run["y"], run["theta"]) == pytest.approx((0, 0, 0, 0), abs=1e-15)
    assert [run["end1.f_n"], run["end2.f_n"]] == pytest.approx([9.81 / 2] * 2, rel=1e-12)


@pytest.mark.parametrize("L", [0.6, 0.85])
def test_a_friction_of_zero_has_no_events(L: float) -> None:
    """Slips at rest but for round-off, of steppers without projection, cross zero again and again."""
    simulation = mbfmu.Simulation("bouncing_rod", stepper="direct", step=1e-3, values={"L": L})
    simulation.step({}, 2.0)
    shown = [simulation[name] for name in ("x", "end1.closed", "end2.closed", "end1.sticks", "end2.sticks")]
    assert shown == [0, 1, 1, 0, 0]
    assert [simulation["end1.gap"], simulation["end2.gap"]] == pytest.approx([0, 0], abs=1e-12)  # measured 2e-15
    assert simulation["events.count"] < 100  # measured 66


@pytest.mark.parametrize(
    ("mu", "theta"),
    thorough(product((0.2, 1.0), (0.3, 1.3, 2.0)), lambda mu, theta: (mu, theta) in {(0.2, 2.0), (1.0, 0.3)}),
)
def test_a_rod_that_rubs_loses_energy_until_it_lies_still(mu: float, theta: float) -> None:
    run = Run("bouncing_rod", 0.01, {"mu": mu, "theta": theta})
    left = [run.to(float(t))["energy.total"] for t in np.linspace(0.0, 3.0, 61)]
    assert np.diff(left).max() < 1e-12  # measured 4e-15
    assert (run["end1.closed"], run["end2.closed"], run["v"], run["omega"]) == (1, 1, 0, 0)


def test_a_disk_hits_its_stop_as_elliptic_integrals_say() -> None:
    known = reference("disk_with_stop")
    run = Run("disk_with_stop", 0.005)
    assert followed(run, known, ("phi", "omega")) < 5e-13
    assert run.times() == pytest.approx(known["impact_times"], abs=5e-13)


# -- friction ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", list(reference("incline")["cases"]))
def test_a_block_on_an_incline_sticks_and_slides(case: str) -> None:
    known = reference("incline")
    mine = known["cases"][case]
    run = Run("incline", 0.01, mine["parameters"])
    assert followed(run, {"t": known["t"], **mine}, ("x", "v")) < 5e-12  # measured 1e-12 at x = 17
    assert run.times() == pytest.approx([t for t, _ in mine["events"]], abs=1e-13)
    assert [event.y["plane.sticks"] for event in run.events] == [kind.endswith("stick") for _, kind in mine["events"]]
    if all(mine["sticks"]):
        assert (run["x"], run["v"], run["events.count"]) == (0.0, 0.0, 0.0)


def test_a_block_at_nine_tenths_of_its_angle_stays_to_the_bit_however_it_is_shaken_within_the_cone() -> None:
    """At 0.99 of the angle of friction and 1 kHz, the push just less than what would move it."""
    alpha, N = 0.99 * math.atan(0.5), 9.81 * math.cos(0.99 * math.atan(0.5))
    values = {"alpha": alpha, "P": 0.999 * (0.5 * N - 9.81 * math.sin(alpha)), "omega_push": 2000 * math.pi, "x": 0.3}
    run = mbfmu.Simulation("incline", step=1e-4, values=values)
    run.step({}, 20.0)
    assert (run["x"], run["v"], run["events.count"]) == (0.3, 0.0, 0.0)


@pytest.mark.parametrize("case", list(reference("stick_slip")["cases"]))
def test_a_mass_on_a_belt_sticks_and_slips(case: str) -> None:
    known = reference("stick_slip")
    mine = known["cases"][case]
    run = Run("stick_slip", 0.005, mine["values"])
    assert followed(run, {"t": known["t"], **mine}, ("x", "v")) < 1e-11
    assert run.times() == pytest.approx([t for t, _ in mine["events"]], abs=1e-11)
    assert [event.y["belt.sticks"] for event in run.events] == [kind.endswith("stick") for _, kind in mine["events"]]


def test_a_mass_with_coulomb_friction_and_a_damper_is_a_matrix_exponential_while_it_slips() -> None:
    m, k, c, F, belt = 1.0, 1.0, 0.05, 0.5, 0.2
    A = np.array([[0, 1, 0], [-k / m, -c / m, F / m], [0, 0, 0]])  # slower than the belt

    def slipping(t: float) -> Array:
        return np.asarray(expm(A * t) @ [2.5, 0.0, 1.0])

    stop = brentq(lambda t: slipping(t)[1] - belt, 3.0, 6.0, xtol=1e-15)
    x = slipping(stop)[0]
    assert abs(k * x + c * belt) > F  # it cannot stick, and the slip turns round
    run = Run("stick_slip", 0.01, {"F_s": F, "F_k": F, "c": c, "v_belt": belt, "x": 2.5, "v": 0.0})
    run.to(2.0)
    assert run.row(["x", "v"]) == pytest.approx(slipping(2.0)[:2], abs=1e-13)
    run.to(stop + 0.01)
    assert run.times() == pytest.approx([stop], abs=1e-12)
    assert run["belt.f_t"] == pytest.approx(-F, abs=1e-14)
    assert run["v"] > belt


# -- woodpecker --------------------------------------------------------------------------------------------------

EDGES = ("beak", "lower", "upper")
"""Contacts 1, 2 and 3 of the reference."""


def told(new: Event, old: Event | None) -> str:
    """Return what happened at an event of the woodpecker, in the words of the reference."""
    hits = [i for i, name in enumerate(EDGES, 1) if new.y[f"{name}.impacts"] > (old.y[f"{name}.impacts"] if old else 0)]
    closed = [i for i, name in enumerate(EDGES, 1) if new.y[f"{name}.closed"]]
    modes = [f"{i}:stick" if new.y[f"{EDGES[i - 1]}.sticks"] else f"{i}:slip" for i in closed]
    what = f"contact {hits[0]}: impact" if hits else "other"
    return f"{what} -> {' '.join(modes) or 'free'}"


def words(kind: str) -> str:
    """Return the part of a kind of the reference that `told` gives."""
    after = kind.partition("-> ")[2].rstrip("+-")
    return f"{kind.partition(' gN')[0] if 'impact' in kind else 'other'} -> {after}"


def same_kinds(found: list[Event], kinds: list[str]) -> bool:
    """Return whether events are of the kinds that a reference tells."""
    return [told(new, old) for new, old in zip(found, [None, *found[:-1]], strict=True)] == [*map(words, kinds)]


def test_a_woodpecker_pecks_as_the_reference_does() -> None:
    known = reference("woodpecker")
    run = Run("woodpecker", 2.5e-4)
    names, size = tuple(known["names"]), np.abs(known["states"]).max(axis=0)
    for t, wanted in zip(known["t"], known["states"], strict=True):
        assert np.abs(run.to(t).row(names) - wanted).max() < 1e-9 * size.max()
    assert len(run.events) == 48
    assert run.times() == pytest.approx([t for t, *_ in known["events"]], abs=1e-11)
    assert same_kinds(run.events, [kind for _, kind, _ in known["events"]])


def test_a_woodpecker_comes_back_to_its_limit_cycle() -> None:
    """From the instant at which the sleeve begins to slip, one period to the next; every event of the cycle."""
    cycle = reference("woodpecker")["limit_cycle"]
    start = {"y": 0.0, "v": 0.0, "omega_M": 0.0, "phi_S": cycle["phi_S"], "omega_S": cycle["omega_S"]}
    run = Run("woodpecker", 2.5e-4, start).to(cycle["period"] + 1e-6)
    events = [event for event in run.events if event.time > 1e-9]  # the slip begins at the start
    assert [event.time for event in events] == pytest.approx([t for t, *_ in cycle["events"]], abs=1e-10)
    assert same_kinds(events, [kind for _, kind, _ in cycle["events"]])
    end = Run("woodpecker", 2.5e-4, start).to(cycle["period"] - 1e-12)
    assert abs(events[-1].time - cycle["period"]) < 1e-10
    assert end["y"] == pytest.approx(cycle["descent"], abs=1e-10)
    assert (end["v"], end["omega_M"]) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert end["phi_S"] == pytest.approx(cycle["phi_S"], abs=1e-10)
    assert end["omega_S"] == pytest.approx(cycle["omega_S"], abs=1e-8)


# -- clearance ---------------------------------------------------------------------------------------------------


def test_a_slider_with_play_hits_its_guide_in_the_order_and_at_the_times_of_the_reference() -> None:
    """Events compared: all but impacts slower than 1 mm/s, as bounces without end are cut at different speeds."""
    known = reference("slider_crank_clearance")
    names = tuple(known["names"])
    run = Run("slider_crank_clearance", 2e-4)
    for t, wanted, energy in zip(known["t"], known["states"], known["energy"], strict=True):
        run.to(t)
        assert np.abs(run.row(names) - wanted)[:3].max() < 1e-11
        assert np.abs(run.row(names) - wanted)[3:].max() < 1e-8  # rad/s, of 150; measured 4e-9
        assert abs(run["th3"]) < 1e-15
        assert run["energy.total"] == pytest.approx(energy, abs=1e-11)
    found, k = run.events, 0
    top, bottom = ("rear_top", "front_top"), ("rear_bottom", "front_bottom")
    for t, kind in known["events"]:
        k = next(number for number in range(k, len(found)) if found[number].time > t - 1e-9)
        assert abs(found[k].time - t) < 1e-11, kind  # measured 2e-12
        face = top if "1+2" in kind else bottom
        assert found[k].y[f"{face[0]}.impacts"] == found[k].y[f"{face[1]}.impacts"]
        if "impact" in kind:
            assert found[k].y[f"{face[0]}.impacts"] > found[k - 1].y[f"{face[0]}.impacts"] if k else True
        if "opens" in kind:
            assert not any(found[k].y[f"{corner}.closed"] for corner in (*top, *bottom))
        if "slip ends" in kind:
            assert found[k].y["rear_bottom.closed"] == found[k].y["front_bottom.closed"] == 1


# -- plastic impacts without a load ----------------------------------------------------------------------------------


def pressed(force: float, pull: float, v: float) -> LagrangianSystem:
    """A mass that flies against a wall, and is pressed and pulled along it by forces that grow from 1 s on."""
    return LagrangianSystem(
        "pressed", (Coordinate("x", "m", 0.0, 1.0), Coordinate("y", "m", 0.0, v)), "(der(x)**2 + der(y)**2)/2",
        f"-({force}*x + {pull}*y)*max(0, time - 1)",
        contacts=(Contact("wall", gap="0.3 - x", slide="y", sliding="0.5*normal"),),
    )  # fmt: skip


@pytest.mark.parametrize("step", [1e-2, 1e-4])
def test_masses_that_meet_without_restitution_go_on_together(step: float) -> None:
    system = LagrangianSystem(
        "train", (Coordinate("a", "m", 0.0, 1.0), Coordinate("b", "m"), Coordinate("c", "m")),
        "der(a)**2/2 + der(b)**2/2 + der(c)**2",
        contacts=(Contact("front", gap="b - a + 0.1"), Contact("rear", gap="c - b + 0.2")),
    )  # fmt: skip
    run = mbfmu.simulate(system, 2.0, step=step)
    assert run["events.count"][-1] == 2
    assert run["events.time"][-1] == pytest.approx(0.5, abs=1e-12)
    for name in "abc":
        assert run[f"der({name})"][-1] == pytest.approx(0.25, abs=1e-12)
    assert np.abs(run["front.gap"][run.time > 0.5]).max() < 1e-14
    assert run["front.closed"][-1] == run["rear.closed"][-1] == 1


@pytest.mark.parametrize(
    ("force", "pull", "v", "wanted", "count"),
    [
        (1.0, 0.3, 0.0, (0.0, 0.0), 1),  # it sticks
        (1.0, 0.8, 0.0, (0.0, 0.15), 2),  # it slides
        (1.0, 0.0, 1.0, (0.0, 0.25), 1),  # it slides after the impact, and is braked by what presses it later
        (-1.0, 0.0, 0.0, (-0.5, 0.0), 2),  # it is taken off
    ],
)
def test_what_rests_at_a_wall_without_a_load_waits_for_one(
    force: float, pull: float, v: float, wanted: tuple[float, float], count: int
) -> None:
    run = mbfmu.simulate(pressed(force, pull, v), 2.0, step=1e-2)
    assert (run["der(x)"][-1], run["der(y)"][-1]) == pytest.approx(wanted, abs=1e-12)
    assert run["events.count"][-1] == count


def test_a_load_next_to_nothing_holds_no_run() -> None:
    system = LagrangianSystem(
        "wall",
        (Coordinate("x", "m", 0.0, 1.0),),
        "der(x)**2/2",
        "1e-11*x",
        contacts=(Contact("wall", gap="0.3 - x"),),
    )
    run = mbfmu.simulate(system, 2.0, step=1e-2)
    assert run["x"][-1] == pytest.approx(0.3, abs=1e-9)


# -- other names and dissipation of Lagrangian systems --------------------------------------------------------------


def test_a_variable_of_a_lagrangian_is_called_by_its_other_name_everywhere() -> None:
    system = LagrangianSystem(
        "s", (Coordinate("x", "m", 0.0, 1.0),), "m_1*der(x)**2/2", inputs={"x": "f"},
        parameters=(Parameter("m_1", 2.0, "kg"),), names={"v": "der(x)", "m[1]": "m_1", "push": "f"},
    )  # fmt: skip
    assert system.values() == ("m[1]", "x", "v")
    assert system.start_values() == ("x", "v")
    run = mbfmu.simulate(system, 1.0, values={"v": 3.0, "m[1]": 4.0}, inputs={"push": "8"})
    assert run["v"][-1] == pytest.approx(5.0, abs=1e-12)
    assert run["x"][-1] == pytest.approx(4.0, abs=1e-12)
    assert system.with_values({"der(x)": 3.0}) == system.with_values({"v": 3.0})
    assert system.with_values({}, free=("v",)).coordinates[0].rate is None
    with pytest.raises(NameInUseError, match="'x' cannot be another name"):
        LagrangianSystem("s", (Coordinate("x", "m"),), "der(x)**2", names={"x": "der(x)"})
    with pytest.raises(UnknownNameError, match="no such variable"):
        mbfmu.simulate(LagrangianSystem("s", (Coordinate("x", "m"),), "der(x)**2", names={"v": "der(y)"}), 1.0)


def test_dissipation_is_a_force_against_the_rates_and_is_in_the_balance_of_the_energy() -> None:
    system = LagrangianSystem("s", (Coordinate("x", "m", 0.0, 1.0),), "der(x)**2/2", dissipation="0.3*der(x)**2/2")
    run = mbfmu.simulate(system, 2.0, stepper="projected", options={"order": 8}, energy_balance=True)
    assert run["der(x)"] == pytest.approx(np.exp(-0.3 * run.time), abs=1e-12)
    assert np.abs(run["energy.balance"]).max() < 1e-12


def test_a_wrong_contact_is_refused() -> None:
    with pytest.raises(ModelError, match="neither a gap nor a slip"):
        Contact("c")
    with pytest.raises(ModelError, match="belong together"):
        Contact("c", gap="x", slide="y")
    with pytest.raises(ModelError, match="gives the normal force"):
        Contact("c", gap="x", slide="y", sliding="normal", normal="1")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"restitution": 2.0}, "restitution of contact 'c' = 2.0 is outside"),
        ({"restitution": math.nan}, "restitution of contact 'c' = nan must be a finite number"),
        ({"restitution": True}, "restitution of contact 'c' = True is not a value"),
        ({"tangential": -2.0}, "tangential of contact 'c' = -2.0 is outside"),
        ({"rest": -1.0}, "rest of contact 'c' = -1.0 is outside"),
        ({"gap": 3.0}, "'c': gap = 3.0 is not text"),
        ({"sliding": "-1/2"}, "'c': sliding = '-1/2' would drive what slides"),
        ({"static": "-1"}, "'c': static = '-1' would drive what slides"),
        ({"unit": "mm"}, "'c': unit = 'mm'; take 'm' or 'rad'"),
        (
            {"gap": "der(y)"},
            r"gap = 'der\(y\)' depends on 'der\(y\)': it may depend on parameters, coordinates, time alone",
        ),
        ({"gap": "c"}, "there is no 'c'"),
        ({"gap": "1 - time"}, "gap = '1 - time' depends on no coordinate"),
        ({"restitution": "y"}, "restitution = 'y' depends on 'y': it may depend on parameters alone"),
        ({"pull": "y"}, "pull = 'y' depends on 'y'"),
        ({"sliding": "y*normal"}, r"sliding = 'y\*normal' depends on 'y'"),
        ({"slide": "", "slip": "x"}, "slip = 'x' depends on no rate"),
        ({"slide": "", "slip": "der(x)**2"}, "is not linear in the velocities"),
    ],
)
def test_an_expression_or_number_that_a_contact_cannot_have_is_refused_by_name(
    fields: dict[str, Any], words: str
) -> None:
    whole: dict[str, Any] = {"gap": "y", "slide": "x", "sliding": "normal", **fields}
    with pytest.raises(ModelError, match=words):
        derive(
            LagrangianSystem(
                "s", (Coordinate("x", "m"), Coordinate("y", "m")), "der(x)**2 + der(y)**2",
                contacts=(Contact("c", **whole),),
            )
        )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kinetic": "(2 + sin(time))*der(x)**2"}, "depends on 'time'; give what moves in time a coordinate"),
        ({"kinetic": "der(x)**2 + der(x)**4"}, "is not of degree two in the velocities"),
        ({"kinetic": 1.0}, "must be a text"),
        ({"stepper": 3}, "stepper of a LagrangianSystem = 3 must be a text"),
        ({"potential": "x*der(x)"}, r"depends on 'der\(x\)'; terms with velocities belong"),
        ({"position": ("x - der(y)",)}, r"depends on 'der\(y\)'; an equation of velocities belongs"),
        ({"position": ("0",)}, "depends on no coordinate"),
        ({"velocity": ("x - y",)}, "depends on no rate"),
        ({"velocity": ("der(x) - der(y)**2",)}, "is not linear in the velocities"),
        ({"coordinates": ()}, "has no coordinates"),
        ({"inputs": ["x"]}, "must be a dictionary"),
        ({"inputs": {"x": "der(x)"}}, "cannot name an input"),
        ({"parameters": (Parameter("m", "2*x"),)}, "there is no parameter 'x'"),
    ],
)
def test_a_text_that_a_lagrangian_system_cannot_have_is_refused_by_name(fields: dict[str, Any], words: str) -> None:
    whole = {"coordinates": (Coordinate("x", "m"), Coordinate("y", "m")), "kinetic": "der(x)**2 + der(y)**2", **fields}
    with pytest.raises(ModelError, match=words):
        derive(LagrangianSystem("s", **whole))


@pytest.mark.parametrize("stepper", ["projected", "moreau"])
def test_a_normal_force_below_zero_brakes_as_one_above(stepper: str) -> None:
    """The rate of a mass of 1 kg falls by mu times the integral of the normal force's size."""
    for normal, taken in (("-5", 4.5), ("5*cos(pi*time)", 10 / math.pi - 5 / math.pi * math.sin(0.1 * math.pi))):
        plane = Contact("plane", slide="x", sliding="0.2*normal", normal=normal)
        system = LagrangianSystem("s", (Coordinate("x", "m", 0.0, 3.0),), "der(x)**2/2", contacts=(plane,))
        run = mbfmu.simulate(system, 0.9, stepper=stepper, step=1e-2, error_samples=0)
        assert run["der(x)"][-1] == pytest.approx(3.0 - 0.2 * taken, abs=1e-9 if stepper == "projected" else 1e-2)


MODELS = (
    "bouncing_ball", "bouncing_rod", "disk_with_stop", "incline", "latched_door", "slider_crank_clearance",
    "stick_slip",
)  # fmt: skip


@pytest.mark.parametrize("model", thorough(zip((*MODELS, "woodpecker")), lambda model: model == "incline"))
def test_what_hits_and_sticks_steps_with_projected_unless_another_is_asked_for(model: str) -> None:
    assert mbfmu.Simulation(model).stepper.startswith("projected")
