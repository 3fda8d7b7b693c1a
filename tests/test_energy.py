"""The energy balance: what errors of the steps change, from all that forces, losses and driven axes put in."""

import json
import math
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from masters import Instance, Unpacked
from mechanisms import EVERY, planar_rig, spatial_pendulum
from states import accelerations, admissible
from typer.testing import CliRunner

import mbfmu
from mbfmu.cli import app
from mbfmu.dae import Dae, derive
from mbfmu.dae.energy import BALANCE, constant_of, supplied
from mbfmu.errors import ResultWarning, UsageError
from mbfmu.model import (
    AxisPotential,
    Body,
    BodyShape,
    Coordinate,
    Force,
    Frame,
    LagrangianSystem,
    Revolute,
    RotationalMove,
    RotationalStop,
    System,
    World,
    WorldForce,
    connect,
)

WAVES = {"shoulder.tau": "20*sin(9*time)", "elbow.tau": "6*cos(7*time)"}


@dataclass(frozen=True)
class Wind(Force):
    """A force of a user's own: along x, against the square of the speed of frame_b, and growing with the time."""

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[Any, Any], ...]:
        return ((b.v_0[0], -0.3 * b.v_0[0] * ca.fabs(b.v_0[0]) + p.time),)


def blown() -> System:
    """A rod in the wind, pushed at its tip, with a stop, and a spring that gets stiffer with the time."""
    return System(
        name="blown",
        planar=True,
        components=(
            World(g=9.81),
            Revolute("hinge", phi=-0.4, w=0.5, actuated=True),
            BodyShape("rod", m=1.0, r=(1, 0), r_CM=(0.5, 0), I_33=1 / 12),
            WorldForce("push"),
            Wind("wind"),
            AxisPotential("tape", joint="hinge", formula="(1 + time)*s**2"),
            RotationalStop("stop", joint="hinge", lower=-0.5, c=200.0, d=20.0),
        ),
        connections=(
            connect("world.frame_b", "hinge.frame_a"),
            connect("hinge.frame_b", "rod.frame_a"),
            connect("rod.frame_b", "push.frame_b"),
            connect("rod.frame_b", "wind.frame_b"),
        ),
    )


def turned() -> System:
    """A rod whose angle is an input."""
    return System(
        name="turned",
        planar=True,
        components=(
            World(g=9.81),
            Revolute("hinge"),
            BodyShape("rod", m=1.0, r=(1, 0), r_CM=(0.5, 0), I_33=1 / 12),
            Revolute("elbow", phi=0.3),
            Body("hand", m=0.5, r_CM=(0.4, 0.1), I_33=0.1),
            RotationalMove("drive", joint="hinge"),
        ),
        connections=(
            connect("world.frame_b", "hinge.frame_a"),
            connect("hinge.frame_b", "rod.frame_a"),
            connect("rod.frame_b", "elbow.frame_a"),
            connect("elbow.frame_b", "hand.frame_a"),
        ),
    )


MODELS: dict[str, Any] = {
    **EVERY,
    "blown": blown,
    "turned": turned,
    **{
        name: lambda name=name: mbfmu.load(name)
        for name in ("driven_pendulum", "pendulum", "rolling_disk", "quarter_car", "cart_pendulum")
    },
}


@cache
def derived(name: str, coordinates: str | None) -> Dae:
    """Return the equations of a model."""
    return derive(MODELS[name](), coordinates)


def rates(dae: Dae, seed: int, t: float = 0.37) -> tuple[float, float]:
    """Return the power supplied, and the rate of the energy along the motion, at a random consistent state."""
    q, v, u = admissible(dae, np.random.default_rng(seed), 0.1, t)
    a, _ = accelerations(dae, q, v, u, t)
    given = dae.symbols()
    Q, V, _, _, P, T = given
    energy = dae.energies.kinetic(Q, V, P) + dae.energies.potential(Q, P, T)
    rate = ca.jtimes(energy, ca.vertcat(Q, V, T), ca.vertcat(v, a, 1))
    both = ca.Function("both", list(given), [supplied(dae, *given), rate])
    one, other = both(q, v, [], u, dae.extended(dae.p_default()), t)
    return float(one), float(other)


@pytest.mark.parametrize("name", MODELS)
def test_the_power_supplied_is_the_rate_of_the_energy(name: str) -> None:
    """From forces and multipliers, against the accelerations; measured apart by at most 1e-12 of 24 kW."""
    for coordinates in (None,) if isinstance(MODELS[name](), LagrangianSystem) else (None, "absolute"):
        for seed in (1, 2):
            power, rate = rates(derived(name, coordinates), seed)
            assert power == pytest.approx(rate, rel=1e-9, abs=1e-10)


def test_the_energy_is_constant_where_only_inputs_can_change_it() -> None:
    kept = {"slider_crank", "free_body", "spatial_two_link", "spatial_four_bar", "floater", "pendulum", "rolling_disk"}
    found = {name: constant_of(derived(name, None)) for name in MODELS}
    assert {name for name, item in found.items() if item.name} == kept
    assert all(item.undriven for item in found.values() if item.name)


DRIVEN: dict[str, tuple[Any, dict[str, str], float]] = {
    "planar_rig": (planar_rig, {"rail.f": "9*sin(5*time)", "hinge.tau": "2", "drift.tau": "0.1*time"}, 0.02),
    "driven_pendulum": (lambda: mbfmu.load("driven_pendulum"), {"hinge.tau": "3*sin(4*time)"}, 0.02),
    "spatial_pendulum": (spatial_pendulum, {}, 0.02),
}


@pytest.mark.parametrize(("stepper", "order"), [("rattle", 2), ("projected", 4)])
@pytest.mark.parametrize("name", DRIVEN)
def test_the_balance_vanishes_with_the_order_of_the_stepper(name: str, stepper: str, order: int) -> None:
    """Inputs are held over the output interval."""
    make, inputs, step = DRIVEN[name]

    def error(h: float) -> float:
        found = mbfmu.simulate(
            make(), 1.0, stepper=stepper, step=h, output_interval=step, energy_balance=True,
            inputs=inputs,
        )  # fmt: skip
        assert np.ptp(found["energy.total"]) > 0.1
        return float(np.abs(found[BALANCE]).max())

    coarse, fine = error(step), error(step / 2)
    assert math.log2(coarse / fine) == pytest.approx(order, abs=0.5)


def test_the_balance_is_the_energy_minus_the_work_of_the_inputs(two_link: System) -> None:
    """That of constant torques is torque times angle, which a Runge-Kutta method integrates alike."""
    found = mbfmu.simulate(
        two_link, 1.0, stepper="projected", coordinates="joint", step=5e-3, energy_balance=True,
        inputs={"shoulder.tau": "20", "elbow.tau": "-6"},
    )  # fmt: skip
    gained, work = (found[name] - found[name][0] for name in ("energy.total", "shoulder.phi"))
    work = 20 * work - 6 * (found["elbow.phi"] - found["elbow.phi"][0])
    assert np.ptp(work) > 10
    assert np.abs(found[BALANCE]).max() > 1e-3
    np.testing.assert_allclose(found[BALANCE], gained - work, atol=1e-11)  # measured: 1.1e-13 J of 299 J


@pytest.mark.parametrize("stepper", ["rattle", "projected"])
def test_the_motion_has_the_same_bits_with_the_balance(stepper: str, two_link: System) -> None:
    for tolerance in (None, 1e-6):
        how: dict[str, Any] = {"stepper": stepper, "step": 5e-3, "tolerance": tolerance, "inputs": WAVES}
        plain, watched = (mbfmu.simulate(two_link, 0.5, energy_balance=asked, **how) for asked in (False, True))
        assert watched.names == (*plain.names, BALANCE)
        np.testing.assert_array_equal(watched.values[:, :-1], plain.values)


def test_what_has_no_energy_has_no_balance() -> None:
    with pytest.raises(UsageError, match="'pid' is a block of equations: it has no energy balance"):
        mbfmu.simulate(mbfmu.load("pid"), 1.0, energy_balance=True)
    turning = LagrangianSystem(
        "turning", (Coordinate("x", "m", 1.0),), kinetic="(der(x)**2 + x**2)/2", potential="x**2"
    )
    with pytest.raises(UsageError, match="'turning' has a kinetic energy that is not quadratic in the velocities"):
        mbfmu.simulate(turning, 1.0, energy_balance=True)


# -- notices of a run -----------------------------------------------------------------------------------------------


def test_a_far_too_long_step_is_told() -> None:
    with pytest.warns(ResultWarning, match=r"errors of the steps change the energy by .* smaller step, or .* toler"):
        found = mbfmu.simulate(mbfmu.load("pendulum"), 20.0, step=2.0, error_samples=0)
    (notice,) = found.notices
    off = np.abs(found["energy.total"] - found["energy.total"][0]).max()
    assert off > 1.0
    assert "(see energy.total)" in notice


@pytest.mark.filterwarnings("default")
def test_a_far_too_long_step_is_told_at_the_command_line() -> None:
    run = ["simulate", "pendulum", "--stop", "20", "--step", "2", "--error-samples", "0"]
    done = CliRunner().invoke(app, [*run, "--json"])
    assert done.exit_code == 0, done.output
    (notice,) = json.loads(done.stdout)["notices"]
    assert f"mbfmu: notice: {notice}" in done.stderr
    quiet = CliRunner().invoke(app, [*run, "--quiet"])
    assert quiet.stderr == ""


def test_with_inputs_only_the_balance_tells(two_link: System) -> None:
    how: dict[str, Any] = {"step": 0.1, "output_interval": 0.1, "inputs": {"shoulder.tau": "5"}, "error_samples": 0}
    assert mbfmu.simulate(two_link, 4.0, **how).notices == ()
    with pytest.warns(ResultWarning, match=r"\(see energy.balance\)"):
        mbfmu.simulate(two_link, 4.0, energy_balance=True, **how)


@pytest.mark.parametrize("name", ["two_link", "cart_pendulum", "pendulum", "slider_crank"])
def test_a_good_run_has_no_notice(name: str) -> None:
    assert mbfmu.simulate(mbfmu.load(name), 2.0).notices == ()
    assert mbfmu.simulate(mbfmu.load(name), 2.0, energy_balance=True).notices == ()


# -- notices of an FMU ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["python", "native"])
def fmus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Unpacked]:
    """The two-link arm with a long step, without and with the balance."""
    folder = tmp_path_factory.mktemp("energy")
    return {
        asked: Unpacked(
            mbfmu.export(
                mbfmu.load("two_link"), folder / f"arm{asked}.fmu", step=0.12, backend=request.param,
                energy_balance=asked,
            ),
            folder / f"arm{asked}",
        )
        for asked in (False, True)
    }  # fmt: skip


def warnings_of(fmu: Unpacked, torque: float, steps: int = 40, **start: float) -> list[str]:
    """Run an FMU and return its messages, which must be warnings of the category for them."""
    with Instance(fmu) as slave:
        slave.start({"shoulder.tau": torque, **start})
        slave.run(0, steps, 0.12, ["energy.total"])
        assert {(item.status, item.category) for item in slave.messages} <= {(1, "logStatusWarning")}
        return [item.text for item in slave.messages]


def test_an_fmu_tells_once_that_its_steps_are_too_long(fmus: dict[bool, Unpacked]) -> None:
    for asked, name in ((False, "energy.total"), (True, BALANCE)):
        (text,) = warnings_of(fmus[asked], 0.0)
        assert text.startswith("two_link: errors of the steps change the energy by ")
        assert f"(see {name}); take a smaller solver.step, or set solver.tolerance (said once, at t = " in text
        assert warnings_of(fmus[asked], 0.0, **{"solver.step": 2e-3}) == []


def test_an_fmu_with_inputs_tells_by_its_balance_alone(fmus: dict[bool, Unpacked]) -> None:
    assert warnings_of(fmus[False], 5.0) == []
    (text,) = warnings_of(fmus[True], 5.0)
    assert "(see energy.balance)" in text


def test_an_fmu_judges_its_energy_while_the_inputs_are_zero(fmus: dict[bool, Unpacked]) -> None:
    with Instance(fmus[False]) as slave:
        slave.start({"shoulder.tau": 5.0})
        for k, (torque, told) in enumerate(((5.0, 0), (0.0, 1))):
            slave.set({"shoulder.tau": torque})
            slave.run(40 * k, 40, 0.12, ["energy.total"])
            assert len(slave.messages) == told


def test_the_bits_of_an_fmu_do_not_depend_on_what_it_tells(fmus: dict[bool, Unpacked]) -> None:
    """With and without logging, and again from a state that was saved before the message."""
    fmu = fmus[True]
    with Instance(fmu) as slave, Instance(fmu, logging=False) as silent:
        data = slave.start().save()
        rows = slave.run(0, 40, 0.12)
        assert len(slave.messages) == 1
        assert silent.start().run(0, 40, 0.12) == rows
        assert silent.messages == []
        after = slave.save()
        slave.restore(data)
        assert slave.run(0, 40, 0.12) == rows
        assert slave.save() == after
        assert len(slave.messages) == 1


def test_a_start_from_rest_is_no_error_of_the_steps(tmp_path: Path) -> None:
    """The history of a multistep method remembers an input, and a motion from rest has exchanged next to nothing."""
    for backend in ("python", "native"):
        path = mbfmu.export(
            mbfmu.load("two_link"), tmp_path / f"{backend}.fmu", stepper="direct", options={"method": "ab7"},
            coordinates="joint", backend=backend,
        )  # fmt: skip
        with Instance(Unpacked(path, tmp_path / backend)) as slave:
            slave.start({"shoulder.tau": 0.3}).set({"shoulder.tau": 0.0})
            rows = slave.run(0, 200, 1e-3, ["energy.total", "energy.kinetic"])
            assert abs(rows[0][0]) > 0.01 * 2 * rows[0][1]
            assert slave.messages == []


def test_a_parameter_that_changes_the_energy_is_no_error_of_the_steps(fmus: dict[bool, Unpacked]) -> None:
    for fmu in fmus.values():
        with Instance(fmu) as slave:
            slave.start({"solver.step": 2e-3})
            slave.run(0, 10, 0.12)
            slave.set({"world.g": 3.0})
            slave.run(10, 10, 0.12)
            assert slave.messages == []


def test_a_run_of_an_fmu_has_its_messages_as_notices(tmp_path: Path) -> None:
    path = mbfmu.export(mbfmu.load("two_link"), tmp_path / "arm.fmu", step=0.12)
    with pytest.warns(ResultWarning, match="two_link: errors of the steps change the energy"):
        found = mbfmu.simulate(path, 4.0, values={"solver.error_samples": 0.0})
    assert len(found.notices) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mbfmu.simulate(path, 1.0, step=1e-3).notices == ()
    with pytest.raises(UsageError, match="--energy-balance go with export"):
        mbfmu.simulate(path, 1.0, energy_balance=True)


def test_an_fmu_tells_once_that_its_constraints_are_violated(tmp_path: Path) -> None:
    for backend in ("python", "native"):
        path = mbfmu.export(
            mbfmu.load("pendulum"), tmp_path / f"{backend}.fmu", stepper="direct", step=0.02, backend=backend
        )
        with Instance(Unpacked(path, tmp_path / backend)) as slave:
            slave.start({"f_x": 1.0}).run(0, 50, 0.1)
            (message,) = slave.messages
            assert (message.status, message.category) == (1, "logStatusWarning")
            assert "the constraints are violated by " in message.text
