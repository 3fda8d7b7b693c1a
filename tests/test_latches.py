"""Gaps that hold up to a pull and slides that break, against closed forms."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from events import Run
from harness import ENDS, SCHEMES, named, thorough
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from struck import made, numbers, run
from test_contacts import both, on_joint

import mbfmu
from mbfmu.errors import ModelError, NameInUseError, StepperError, ValueRangeError
from mbfmu.model import (
    Contact,
    Coordinate,
    LagrangianSystem,
    Prismatic,
    Revolute,
    RotationalLatch,
    RotationalShearPin,
    TranslationalLatch,
    TranslationalShearPin,
    World,
)
from mbfmu.prepared.prepare import prepare

M, K, C, PULL = 2.0, 50.0, 0.3, 7.0
OMEGA = math.sqrt(K / M)
OPENS = PULL / (K * C)
"""Time at which a spring whose end moves at C pulls with PULL, s."""
pytestmark = pytest.mark.filterwarnings("ignore:.*without projection gauss drifts")
BY_EVENTS = [scheme for scheme in SCHEMES if not mbfmu.steppers()[scheme[0]].contacts]


def pulled(*contacts: Contact, x: float = 0.0) -> LagrangianSystem:
    """A mass on a spring whose other end moves away, from rest."""
    return LagrangianSystem(
        "pulled", (Coordinate("x", "m", x, 0.0),), "m*der(x)**2/2", f"k*(x - {x} - c*time)**2/2",
        parameters=numbers(m=M, k=K, c=C, pull=PULL), contacts=contacts,
    )  # fmt: skip


def freed(t: float, start: float = OPENS) -> float:
    """Place of the mass, m, which is held until `start`, s."""
    after = t - start
    return C * t - C * start * math.cos(OMEGA * after) - C / OMEGA * math.sin(OMEGA * after)


LATCH = Contact("held", gap="x", pull="pull")
PIN = Contact("held", slide="x", strength="pull")


# -- opening ---------------------------------------------------------------------------------------------------------


def test_a_latched_gap_opens_at_its_pull() -> None:
    found = Run(pulled(LATCH), 0.01).to(0.4)
    assert found.row(["held.f_n", "held.closed", "x", "events.count"]) == pytest.approx([-K * C * 0.4, 1, 0, 0])
    found.to(1.0)
    assert found.times() == pytest.approx([OPENS], abs=1e-14)
    assert found.row(["x", "held.f_n", "held.closed"]) == pytest.approx([freed(1.0), 0, 0], abs=1e-14)


def test_a_pin_breaks_at_its_strength() -> None:
    found = Run(pulled(PIN, x=0.2), 0.01).to(0.4)
    assert found.row(["held.f_t", "held.sticks", "x", "events.count"]) == pytest.approx([-K * C * 0.4, 1, 0.2, 0])
    found.to(1.0)
    assert found.times() == pytest.approx([OPENS], abs=1e-14)
    assert found.row(["x", "held.f_t", "held.sticks"]) == pytest.approx([0.2 + freed(1.0), 0, 0], abs=1e-14)


@pytest.mark.parametrize("contact", [LATCH, PIN])
@pytest.mark.parametrize(
    ("stepper", "options"), thorough(BY_EVENTS, lambda *scheme: scheme in ENDS[::4]), ids=named
)  # fmt: skip
def test_every_stepper_opens_where_the_force_is_the_pull(
    contact: Contact, stepper: str, options: dict[str, Any]
) -> None:
    found = run(made(pulled(contact), stepper, options, 1e-2), [0.3, 0.6, 0.9], 1e-2)
    assert found.events == pytest.approx([OPENS], abs=1e-9)  # what rests is exact for all of them
    assert found.rows[-1]["x"] == pytest.approx(freed(0.9), abs=0.1)


def ramped(contact: Any, sign: int, turns: bool, coordinates: str) -> Any:
    """A body at 0.4 rad or m on a joint, with a force that grows by 0.5 N.m or N in a second."""
    joint = (
        Revolute("j", phi=0.4, w=0.0, actuated=True) if turns else Prismatic("j", s=0.4, v=0.0, actuated=True)
    )  # fmt: skip
    force = {"j.tau" if turns else "j.f": f"{0.5 * sign}*time"}
    return mbfmu.simulate(
        on_joint(joint, contact), 2.0, stepper="projected", options={"order": 9}, step=1e-2, output_interval=0.2,
        inputs=force, coordinates=coordinates,
    )  # fmt: skip


def after_the_ramp(time: Any, opens: float, mass: float) -> Any:
    """The way, m or rad, of what a force of 0.5 N/s pulls from a time on."""
    t = np.maximum(0, time - opens)
    return (opens * t**2 / 2 + t**3 / 6) * 0.5 / mass


@both
@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("side", ["above", "below"])
def test_a_latch_of_a_joint_opens_at_its_pull_to_its_side(turns: bool, side: str, coordinates: str) -> None:
    sign = {"above": 1, "below": -1}[side]
    kind = RotationalLatch if turns else TranslationalLatch
    found = ramped(kind("latch", joint="j", position=0.4, pull=0.65, side=side), sign, turns, coordinates)
    held = (found.time < 1.3).astype(float)
    assert found["latch.closed"] == pytest.approx(held)
    assert found["latch.f_n"] == pytest.approx(-0.5 * found.time * held, abs=1e-12)
    assert found["events.time"][-1] == pytest.approx(1.3, abs=1e-13)
    way = after_the_ramp(found.time, 1.3, 1.0 if turns else 2.0)
    assert found["j.phi" if turns else "j.s"] == pytest.approx(0.4 + sign * way, abs=1e-12)


@both
@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_pin_of_a_joint_breaks_to_either_side(turns: bool, sign: int, coordinates: str) -> None:
    kind = RotationalShearPin if turns else TranslationalShearPin
    found = ramped(kind("pin", joint="j", strength=0.65), sign, turns, coordinates)
    held = (found.time < 1.3).astype(float)
    assert found["pin.sticks"] == pytest.approx(held)
    assert found["pin.f_t"] == pytest.approx(-0.5 * sign * found.time * held, abs=1e-12)
    assert found["events.time"][-1] == pytest.approx(1.3, abs=1e-13)
    way = after_the_ramp(found.time, 1.3, 1.0 if turns else 2.0)
    assert found["j.phi" if turns else "j.s"] == pytest.approx(0.4 + sign * way, abs=1e-12)


# -- what has opened -------------------------------------------------------------------------------------------------


def swinging(contact: Contact, **more: float) -> LagrangianSystem:
    """A mass on a spring that pulls to x = 1, and comes back to rest at x = 0 once in each period."""
    return LagrangianSystem(
        "swinging", (Coordinate("x", "m", 0.0, 0.0),), "der(x)**2/2", "k*(x - 1)**2/2",
        parameters=numbers(k=4, **more), contacts=(contact,),
    )  # fmt: skip


def test_what_is_broken_stays_broken_where_it_comes_back_to_rest() -> None:
    """A pin that becomes weak for a moment, and is as strong as before when the mass is back."""
    held = Contact("pin", slide="x", strength="5 - 2*exp(-100*(time - 1)**2)")
    found = Run(swinging(held), 0.01).to(20.0)
    begun = 1 - math.sqrt(math.log(2) / 100)
    assert found.times() == pytest.approx([begun], abs=1e-12)
    assert found["x"] == pytest.approx(1 - math.cos(2 * (20.0 - begun)), abs=1e-10)


def test_a_latch_catches_again_what_comes_back() -> None:
    """A latch that becomes weak for a moment; the mass comes back with a push, and is caught by the latch beside it."""
    pulled = LagrangianSystem(
        "swinging", (Coordinate("x", "m", 0.0, 0.0),), "der(x)**2/2", "k*(x - 1)**2/2", inputs={"x": "push"},
        parameters=numbers(k=4), contacts=(Contact("latch", gap="x", pull="5 - 2*exp(-100*(time - 1)**2)"),),
    )  # fmt: skip
    simulation = mbfmu.Simulation(pulled, stepper="projected", options={"order": 9}, step=1e-2)
    simulation.step({}, 3.0)
    assert simulation["latch.closed"] == 0
    simulation.step({"push": -1.0}, 2.0)
    assert [simulation[name] for name in ("x", "latch.closed", "latch.f_n")] == pytest.approx([0, 1, -3], abs=1e-12)
    simulation.step({"push": 0.0}, 20.0)
    assert [simulation[name] for name in ("x", "latch.closed", "latch.f_n")] == pytest.approx([0, 1, -4], abs=1e-12)
    assert simulation["latch.impacts"] == 1


def test_a_latch_beside_the_start_catches_a_swing_in_its_first_period() -> None:
    found = Run(
        LagrangianSystem(
            "fast", (Coordinate("x", "m", 0.0, -1.0),), "der(x)**2/2", "k*(x - 1)**2/2",
            parameters=numbers(k=4, pull=4.5), contacts=(Contact("latch", gap="x + 0.1", pull="pull"),),
        ), 0.01,
    ).to(10.0)  # fmt: skip
    speed = math.sqrt(1 + 4 * (1 - 1.1**2))
    arrives = (math.atan2(1, 2) - math.atan2(speed, 2 * 1.1)) / 2
    assert found.times() == pytest.approx([arrives], abs=1e-12)
    assert found.row(["x", "der(x)", "latch.f_n", "latch.impacts"]) == pytest.approx([-0.1, 0, -4.4, 1], abs=1e-12)


@pytest.mark.parametrize(("pull", "caught"), [(3.1, True), (2.9, False), (0.0, False)])
def test_a_latch_catches_what_it_can_hold(pull: float, caught: bool) -> None:
    """Thrown at the latch against a force of 3 N; what is stopped there is pulled away by these."""
    thrown = LagrangianSystem(
        "thrown", (Coordinate("x", "m", 0.5, -3.0),), "m*der(x)**2/2", "-3*x",
        parameters=numbers(m=2, pull=pull), contacts=(Contact("latch", gap="x", pull="pull"),),
    )  # fmt: skip
    arrives = (3 - math.sqrt(9 - 2 * 1.5 * 0.5)) / 1.5
    found = Run(thrown, 0.01).to(1.0)
    assert found.times()[0] == pytest.approx(arrives, abs=1e-13)
    wanted = [0, -3, 1] if caught else [1.5 * (1 - arrives) ** 2 / 2, 0, 0]
    assert found.row(["x", "latch.f_n", "latch.closed"]) == pytest.approx(wanted, abs=1e-12)
    assert len(found.events) == 1


def test_an_impact_opens_a_latch_and_breaks_a_pin_however_strong() -> None:
    """A ball of the same mass takes the place of the one that is held."""
    for contact in (Contact("held", gap="y", pull="1e9"), Contact("held", slide="y", strength="1e9")):
        pair = LagrangianSystem(
            "pair", (Coordinate("x", "m", -1.0, 2.0), Coordinate("y", "m", 0.0, 0.0)), "(der(x)**2 + der(y)**2)/2",
            contacts=(contact, Contact("balls", gap="y - x - 0.25", restitution=1.0)),
        )  # fmt: skip
        found = Run(pair, 0.01).to(1.0)
        assert found.times() == pytest.approx([0.375], abs=1e-14)
        assert found.row(["x", "y"]) == pytest.approx([-0.25, 2 * 0.625], abs=1e-12)
        assert found["held.closed" if contact.gap else "held.sticks"] == 0


# -- several, friction, inputs ---------------------------------------------------------------------------------------


def plate(lean: float, J: float = 1 / 12) -> LagrangianSystem:
    """A plate of 1 kg and 1 m that two magnets hold from above, and a force that grows, `lean` beside its middle."""
    sides = {"left": "-", "right": "+"}
    return LagrangianSystem(
        "plate", (Coordinate("y", "m", 0.0, 0.0), Coordinate("phi", "rad", 0.0, 0.0)),
        f"(der(y)**2 + {J}*der(phi)**2)/2", f"-time*(y + {lean}*sin(phi))",
        contacts=tuple(Contact(name, gap=f"y {sign} sin(phi)/2", pull="10") for name, sign in sides.items()),
    )  # fmt: skip


def test_two_latches_that_share_a_load_evenly_open_at_once() -> None:
    found = Run(plate(0.0), 0.05).to(21.0)
    assert found.times() == pytest.approx([20.0], abs=1e-9)
    assert found.row(["left.closed", "right.closed", "phi"]) == pytest.approx([0, 0, 0], abs=1e-9)
    assert found["y"] == pytest.approx(20 / 2 + 1 / 6, abs=1e-6)


def test_of_two_latches_the_one_with_the_larger_load_opens_first_and_the_other_carries_what_is_left() -> None:
    """At 0.1 beside the middle the right one carries 0.6 of the force; then the rod turns about the left one."""
    found = Run(plate(0.1), 0.01)
    at = 10 / 0.6
    found.to(at - 1e-6)
    assert found.row(["left.f_n", "right.f_n"]) == pytest.approx([-0.4 * at, -0.6 * at], abs=1e-5)
    found.to(at + 1e-6)
    turning = at * 0.6 / (1 / 3)  # angular acceleration about the left end
    assert found.row(["left.closed", "right.closed"]).tolist() == [1, 0]
    assert found["left.f_n"] == pytest.approx(turning / 2 - at, abs=1e-4)


def test_a_latch_that_is_left_with_too_much_opens_at_the_same_instant() -> None:
    """A plate of large inertia: about the left end it would be too slow, so that this had 0.76 of the force to hold."""
    found = Run(plate(0.1, 1.0), 0.01)
    at = 10 / 0.6
    found.to(at + 0.1)
    assert pytest.approx(0.76) == 1 - 0.6 * 0.5 / (0.25 + 1.0)
    assert found["events.time"] == pytest.approx(at, abs=1e-9)
    assert found.row(["left.closed", "right.closed"]).tolist() == [0, 0]
    assert found["phi"] == pytest.approx(0.1 * (at * 0.1**2 / 2 + 0.1**3 / 6), rel=1e-5)


@pytest.mark.parametrize(("first", "second"), [(5, 8), (8, 5), (6, 6)])
def test_of_two_latches_at_the_same_place_the_stronger_one_decides(first: float, second: float) -> None:
    both = LagrangianSystem(
        "both", (Coordinate("x", "m", 0.0, 0.0),), "der(x)**2/2", "-time*x", parameters=numbers(a=first, b=second),
        contacts=(Contact("one", gap="x", pull="a"), Contact("other", gap="x", pull="b")),
    )  # fmt: skip
    found, opens = Run(both, 0.05).to(10.0), max(first, second)
    assert found.row(["one.closed", "other.closed", "events.time"]) == pytest.approx([0, 0, opens], abs=1e-12)
    after = 10.0 - opens
    assert found["x"] == pytest.approx(opens * after**2 / 2 + after**3 / 6, abs=1e-9)


def test_friction_has_the_pull_among_its_normal_force() -> None:
    """A magnet on a steel wall: it slides down where mu (f_n + pull) no longer carries its weight."""
    magnet = LagrangianSystem(
        "magnet", (Coordinate("x", "m", 0.0, 0.0), Coordinate("y", "m", 0.0, 0.0)),
        "m*(der(x)**2 + der(y)**2)/2", "m*g*y - c*time*x",
        parameters=numbers(m=0.5, g=9.81, c=2, mu=0.4, pull=20),
        contacts=(Contact("wall", gap="x", pull="pull", slide="y", sliding="mu*normal"),),
    )  # fmt: skip
    found = Run(magnet, 0.01).to(9.9)
    slips = (20 - 0.5 * 9.81 / 0.4) / 2
    assert found.times() == pytest.approx([slips], abs=1e-12)
    assert found.row(["wall.f_n", "wall.f_t"]) == pytest.approx([-2 * 9.9, 0.4 * (20 - 2 * 9.9)], abs=1e-12)
    t = 9.9 - slips  # m y'' = -m g + mu (pull - c t)
    assert found["y"] == pytest.approx(-0.4 * 2 * t**3 / 6 / 0.5, rel=1e-12)
    assert found.to(10.5).times() == pytest.approx([slips, 10.0], abs=1e-12)


def test_a_magnet_lets_go_when_its_input_turns_it_off_and_takes_again_what_it_meets() -> None:
    latch = TranslationalLatch("magnet", joint="j", pull=30.0, side="below", actuated=True)
    fall = World("world", g=9.81, n=(0, -1))
    system = on_joint(
        Prismatic("j", s=0.0, v=0.0, n=(0, 1), actuated=True), latch, world=fall, input_starts={"magnet.hold": 1.0}
    )
    simulation = mbfmu.Simulation(system, stepper="projected", step=1e-2)
    simulation.step({}, 0.5)
    assert [simulation[name] for name in ("j.s", "magnet.f_n", "magnet.closed")] == pytest.approx([0, -19.62, 1])
    simulation.step({"magnet.hold": 0.0}, 0.1)
    assert simulation["events.time"] == pytest.approx(0.5, abs=1e-12)
    assert simulation["j.s"] == pytest.approx(-9.81 * 0.1**2 / 2, abs=1e-12)
    simulation.step({"magnet.hold": 1.0, "j.f": 60.0}, 1.0)
    assert simulation["magnet.closed"] == 1
    simulation.step({"magnet.hold": 1.0, "j.f": 0.0}, 1.0)
    assert [simulation[name] for name in ("j.s", "magnet.f_n", "magnet.closed")] == pytest.approx([0, -19.62, 1])


# -- energy and rollback ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contact", [LATCH, PIN])
def test_neither_holding_nor_letting_go_does_work(contact: Contact) -> None:
    found = run(prepare(pulled(contact), "projected", {"order": 9}, 1e-2, energy_balance=True), [0.3, 0.6, 3.0], 1e-2)
    assert len(found.events) == 1
    np.testing.assert_allclose(found.column("energy.balance"), 0, atol=1e-13)


@pytest.mark.parametrize("contact", [LATCH, PIN])
def test_a_rollback_across_letting_go_gives_the_same_bits(contact: Contact) -> None:
    simulation = mbfmu.Simulation(pulled(contact), stepper="projected", options={"order": 9}, step=1e-2)
    simulation.step({}, 0.4)
    kept, ends = simulation.state, []
    for span in (0.5, 0.25, 0.5):
        simulation.restore(kept)
        for _ in range(round(1 / span)):
            simulation.step({}, span)
        ends.append((simulation.state, [simulation[name] for name in simulation.output_names]))
    assert ends[0] == ends[2]
    assert ends[1][1] == pytest.approx(ends[0][1], abs=1e-12)


# -- what is refused -------------------------------------------------------------------------------------------------


def test_moreau_refuses_what_only_events_know_by_name() -> None:
    with pytest.raises(StepperError, match=r"'moreau' has Newton's restitution .* \('held'\).* such as 'projected'"):
        mbfmu.Simulation(pulled(LATCH), stepper="moreau")


@given(pull=st.one_of(st.floats(max_value=-1e-300), st.just(math.nan), st.just(math.inf)))
def test_a_pull_that_is_none_is_refused(pull: float) -> None:
    with pytest.raises(ModelError, match="'c': a pull of"):
        Contact("c", gap="x", pull=pull)
    with pytest.raises(ValueRangeError):
        TranslationalLatch("latch", joint="j", pull=pull)


def test_a_latch_or_a_pin_without_what_it_needs_is_refused() -> None:
    with pytest.raises(ModelError, match="holds a gap, and there is none"):
        Contact("c", slide="x", sliding="1", pull=1.0)
    with pytest.raises(ModelError, match="holds its slide until it breaks"):
        Contact("c", slide="x", sliding="1", strength="2")
    with pytest.raises(ModelError, match="neither a gap nor a slip"):
        Contact("c", strength="2")
    with pytest.raises(NameInUseError):
        RotationalLatch("a latch", joint="j")


# -- the library -----------------------------------------------------------------------------------------------------


def test_a_door_is_caught_let_go_and_stopped_at_the_times_of_its_closed_form() -> None:
    """See models/latched_door.py; each time is a root of a sum of a line, a sine and a cosine."""
    omega, drift = math.sqrt(20 / 2), 0.2
    begun = partial(swung, omega, drift, 0.6, (-3 - drift) / omega, 0.0)
    opens = 6 / (20 * drift)
    later = partial(swung, omega, drift, -drift * opens, -drift / omega, opens)
    found = Run("latched_door", 0.01).to(3.0)
    wanted = [brentq(begun, 0.1, 0.3, xtol=1e-15), opens, brentq(lambda t: later(t) - 0.7, 2.0, 2.5, xtol=1e-15)]
    assert found.times() == pytest.approx(wanted, abs=1e-13)  # measured 2e-14
    assert [event.y["latch.closed"] for event in found.events] == [1, 0, 0]


def swung(omega: float, drift: float, A: float, B: float, start: float, t: float) -> float:
    """Angle, rad, of a door that a spring of a moving end turns, from a start on, s."""
    return drift * t + A * math.cos(omega * (t - start)) + B * math.sin(omega * (t - start))
