"""Sampled blocks: difference equations at exact instants, whatever the steps of stepper and master."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import DEFAULTS, label, thorough
from masters import Instance, Unpacked

import mbfmu
from mbfmu.errors import ModelError, UnknownNameError, ValueRangeError
from mbfmu.model import Block, Defined, Parameter, Port, Sampled, State, Subsystem, System, wire
from mbfmu.prepared.prepare import prepare

REFERENCES = Path(__file__).parent / "references"
SHOWN = ("phi", "omega", "u_applied_from_t", "I_before_sample")


def block(name: str = "count", **more: Any) -> Block:
    """Return a block that counts its samplings."""
    given: dict[str, Any] = {"defined": (Defined("n", "previous(n) + 1", output=True),), **more}
    return Block(name, **given)


def values(model: Any, times: np.ndarray, **more: Any) -> Any:
    """Return the result of a run with outputs at equal intervals."""
    return mbfmu.simulate(model, stop=float(times[-1]), output_interval=float(times[1]), **more)


# -- reference data ----------------------------------------------------------------------------------------------


def test_a_pendulum_with_a_sampled_controller_is_the_reference_to_ten_digits() -> None:
    rows = json.loads((REFERENCES / "sampled_pid.json").read_text())["states"]["single"]
    times = np.array([row["t"] for row in rows])
    found = values("sampled_pid", times, stepper="radau", step=1e-3)
    for name in ("phi", "omega", "u_applied_from_t", "I_before_sample", "D_before_sample"):
        wanted = np.array([row[name] for row in rows])
        away = np.abs(found[name] - wanted).max() / np.abs(wanted).max()
        assert away < 1e-12, name  # measured 3e-14


def test_a_boom_with_its_servo_inside_is_the_reference_and_converges_to_it_at_the_steppers_order() -> None:
    rows = json.loads((REFERENCES / "hydraulic_monolith.json").read_text())["states"]
    times = np.array([row["t"] for row in rows])

    def away(step: float, **options: int) -> float:
        run = mbfmu.simulate(
            "hydraulic_monolith", stepper="radau", options=options, step=step, stop=2.0, output_interval=0.01
        )
        found = 0.0
        for name in ("q", "w", "p1", "p2", "u", "du"):
            wanted = np.array([row[name] for row in rows])
            here = np.array([run[name][round(t / 0.01)] for t in times])
            found = max(found, np.abs(here - wanted).max() / np.abs(wanted).max())
        return found

    assert away(1e-3) < 1e-11  # measured 3e-13
    orders = [math.log2(away(h, stages=3) / away(h / 2, stages=3)) for h in (2e-3, 1e-3)]
    assert orders == pytest.approx([5, 5], abs=0.4)


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_a_sampling_with_a_long_period_comes_at_its_offset(step: float) -> None:
    run = mbfmu.simulate("hydraulic_monolith", stepper="radau", step=step, stop=0.12, output_interval=step)
    rows = json.loads((REFERENCES / "hydraulic_monolith.json").read_text())["states"]
    wanted = next(row for row in rows if row["t"] == 0.12)
    assert abs(run["u"][np.argmin(abs(run["time"] - 0.1))]) < 1e-12
    assert run["u"][-1] == pytest.approx(wanted["u"], rel=1e-9)  # measured 1e-12


# -- instants ----------------------------------------------------------------------------------------------------


def test_a_billion_samplings_do_not_drift() -> None:
    prepared = prepare(Sampled(block(), period=1e-3), "radau", {}, 1e-3)
    until = prepared.bundle.until_sampling
    p, n = prepared.dae.p_default(), 10**9
    x = [0.0] * (prepared.bundle.nx - 1)
    place = prepared.bundle.nx - 2
    x[place] = n
    left, near = (float(item) for item in until(x, p, n * 1e-3 - 1e-3))
    assert left == pytest.approx(1e-3, abs=2 * math.ulp(1e6))
    assert float(until(x, p, n * 1e-3)[0]) == 0.0
    assert near < 1e-8


@pytest.mark.parametrize("H", [1e-2, 7e-4, 1.3e-3])
def test_samplings_are_where_they_are_whatever_the_communication_step(H: float) -> None:
    wanted = mbfmu.Simulation("sampled_pid", stepper="radau")
    found = mbfmu.Simulation("sampled_pid", stepper="radau")
    wanted.step(None, 0.1)
    while found.time < 0.1 - 1e-9:
        found.step(None, min(H, 0.1 - found.time))
    assert found["phi"] == pytest.approx(wanted["phi"], rel=1e-11)
    assert found["u_applied_from_t"] == pytest.approx(wanted["u_applied_from_t"], rel=1e-9)


@pytest.mark.parametrize(("stop", "samplings"), [(0.0, 1), (0.05, 1), (0.0999, 1), (0.1, 2), (0.35, 4)])
def test_a_block_computes_at_offset_plus_multiples_of_its_period(stop: float, samplings: int) -> None:
    run = mbfmu.Simulation(Sampled(block(), period=0.1))
    late = mbfmu.Simulation(Sampled(block(), period=0.1, offset=0.05))
    if stop:
        run.step(None, stop)
        late.step(None, stop)
    assert run["n"] == samplings
    assert late["n"] == math.floor((stop - 0.05) / 0.1 + 1 + 1e-9)


def test_blocks_of_several_periods_each_keep_their_own() -> None:
    system = System(
        "rates",
        (
            Subsystem("fast", Sampled(block(), period=1e-3)),
            Subsystem("slow", Sampled(block(), period=7e-3)),
            Subsystem("late", Sampled(block(), period=1e-2, offset=5e-3)),
        ),
    )
    run = mbfmu.Simulation(system, step=0.01)
    run.step(None, 0.0701)
    assert [run[f"{name}.n"] for name in ("fast", "slow", "late")] == [71, 11, 7]


def test_values_of_one_instant_go_along_the_wires_and_through_previous_ones_not() -> None:
    follow = Block("follow", inputs=(Port("u"),), defined=(Defined("y", "u", output=True),))
    delay = Block("delay", inputs=(Port("u"),), defined=(Defined("y", "previous(u)", output=True),))
    system = System(
        "order",
        (  # whatever their order here
            Subsystem("after", Sampled(follow, period=0.1)),
            Subsystem("later", Sampled(delay, period=0.1)),
            Subsystem("count", Sampled(block(), period=0.1)),
        ),
        wires=(wire("count.n", "after.u"), wire("after.y", "later.u")),
    )
    run = mbfmu.Simulation(system)
    run.step(None, 0.45)
    assert [run[name] for name in ("count.n", "after.y", "later.y")] == [5, 5, 4]


def test_a_slower_block_holds_what_a_faster_one_gave_it_at_their_common_instant() -> None:
    follow = Block("follow", inputs=(Port("u"),), defined=(Defined("y", "u", output=True),))
    system = System(
        "held",
        (Subsystem("count", Sampled(block(), period=0.1)), Subsystem("hold", Sampled(follow, period=0.3))),
        wires=(wire("count.n", "hold.u"),),
    )
    run = mbfmu.Simulation(system)
    found = []
    for _ in range(7):
        found.append(run["hold.y"])
        run.step(None, 0.1)
    assert found == [1, 1, 1, 4, 4, 4, 7]


# -- steppers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scheme",
    thorough([(item,) for item in DEFAULTS], lambda item: item[0] in {"rattle", "radau"}),
    ids=lambda item: label(item),
)
def test_every_stepper_runs_between_the_samplings_and_comes_to_the_reference(
    scheme: tuple[str, Mapping[str, Any]],
) -> None:
    rows = json.loads((REFERENCES / "sampled_pid.json").read_text())["states"]["single"]
    wanted = next(row for row in rows if row["t"] == 0.2)["phi"]
    errors = []
    for step in (1e-3, 2.5e-4):
        run = mbfmu.simulate("sampled_pid", stepper=scheme[0], options=scheme[1], step=step, stop=0.2)
        errors.append(abs(run["phi"][-1] - wanted))
    assert errors[1] < 1e-6
    assert errors[1] < errors[0] / 8 or errors[1] < 1e-11  # at least of order 1.5, as 4^1.5 = 8


def test_the_energy_balance_closes_over_torques_that_jump() -> None:
    run = mbfmu.simulate("sampled_pid", stop=0.5, step=1e-3, stepper="projected", energy_balance=True)
    assert np.abs(run["energy.balance"]).max() < 1e-10  # J; measured 3e-12, of 5 J that the motion exchanges


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_blocks_without_a_continuous_state_run_with_a_tolerance_too(tolerance: float) -> None:
    run = mbfmu.Simulation(Sampled(block(), period=0.1), tolerance=tolerance)
    run.step(None, 0.55)
    assert run["n"] == 6


# -- FMUs --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pendulum with its controller, in both back ends."""
    folder = tmp_path_factory.mktemp("sampled")
    return {
        backend: mbfmu.export(
            "sampled_pid", folder / f"{backend}.fmu", stepper="rattle", step=5e-4, backend=backend,
            **({"platforms": ["linux64"]} if backend == "native" else {}),
        )
        for backend in ("python", "native")
    }  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "native"])
def test_a_rollback_over_samplings_is_exact(backend: str, fmus: dict[str, Path], tmp_path: Path) -> None:
    with Instance(Unpacked(fmus[backend], tmp_path)).start() as run:
        run.step(0.0, 0.0105)
        state = run.save()
        found = []
        for _ in range(2):
            time = 0.0105
            for H in (0.0005, 0.0123, 0.01):
                run.step(time, H)
                time += H
            found.append(run.get(SHOWN))
            run.restore(state)
    assert found[0] == found[1]


def test_both_back_ends_and_a_simulation_give_the_same_bits(fmus: dict[str, Path], tmp_path: Path) -> None:
    found = []
    for backend, path in fmus.items():
        with Instance(Unpacked(path, tmp_path / backend)).start() as run:
            for k in range(40):
                run.step(k * 0.0017, 0.0017)
            found.append(run.get(SHOWN))
    alone = mbfmu.Simulation("sampled_pid", stepper="rattle", step=5e-4)
    for _ in range(40):
        alone.step(None, 0.0017)
    assert found[0] == found[1]
    assert found[0] == pytest.approx([alone[name] for name in SHOWN], rel=1e-12)  # its time is a sum of steps


def test_directional_derivatives_over_samplings_are_those_of_the_step(tmp_path: Path) -> None:
    path = mbfmu.export(
        System(
            "filter",
            (
                Sampled(
                    Block("mean", (Port("u"),), defined=(Defined("y", "0.7*previous(y) + sin(u)", output=True),)),
                    period=1e-3,
                ),
                Block("lag", inputs=(Port("u"),), states=(State("x", "5*(u - x**3)"),),
                      defined=(Defined("y", "x", output=True),)),
            ),
            wires=(wire("mean.y", "lag.u"),),
        ),
        tmp_path / "filter.fmu", backend="native", platforms=["linux64"], stepper="radau", step=1e-3,
    )  # fmt: skip
    with Instance(Unpacked(path, tmp_path / "fmu")).start() as run:
        state = run.save()

        def after(value: float) -> float:
            run.restore(state)
            run.set({"mean.u": value})
            run.step(0.0, 0.0105)
            return run.get(["lag.x"])[0]

        wanted = (after(0.3 + 1e-6) - after(0.3 - 1e-6)) / 2e-6
        after(0.3)
        references = [run.fmu.references[name] for name in ("lag.x", "mean.u")]
        slope = run.slave.getDirectionalDerivative(references[:1], references[1:], [1.0])[0]
    assert slope == pytest.approx(wanted, rel=1e-7)


@pytest.mark.slow
def test_ten_million_samplings_take_no_more_memory() -> None:
    resource = pytest.importorskip("resource")
    run = mbfmu.Simulation(Sampled(block(), period=1e-3), step=1.0)
    run.step(None, 100.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100):
        run.step(None, 100.0)
    assert run["n"] == 10_100_001
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # kB


def test_a_period_is_set_before_a_run_and_fixed_during_it(tmp_path: Path) -> None:
    slow = Sampled(
        block(parameters=(Parameter("Ts", 0.1, min=1e-6), Parameter("T0", 0.0), Parameter("K", 1.0))), "Ts", "T0"
    )
    tunable = {
        name: [item.name for item in prepare(model, "radau", {}, 0.01).dae.parameters if item.tunable]
        for name, model in (("alone", slow), ("wired", mbfmu.load("sampled_pid")))
    }
    assert tunable["alone"] == ["K"]
    assert "pid.Ts" not in tunable["wired"]
    assert "Ts" not in tunable["wired"]
    assert "Kp" in tunable["wired"]
    path = mbfmu.export(slow, tmp_path / "count.fmu", step=0.1, backend="python")
    with Instance(Unpacked(path, tmp_path)).start({"Ts": 0.05}) as run:
        run.step(0.0, 0.22)
        assert run.get(["n"]) == (5.0,)
        run.set({"Ts": 0.01})
        assert "sampling instants depend on it" in run.messages[-1].text
        assert run.get(["Ts"]) == (0.05,)


# -- mistakes ----------------------------------------------------------------------------------------------------


def test_a_block_that_remembers_has_to_be_sampled() -> None:
    with pytest.raises(ModelError, match=r"previous\(n\).*not sampled: write Sampled\(block, period\)"):
        mbfmu.simulate(block(), stop=0.1)


def test_nothing_has_a_rate_in_a_sampled_block() -> None:
    with pytest.raises(ModelError, match=r"has the rate der\(x\).*x = previous\(x\) \+ period\*rate"):
        Sampled(Block("lag", states=(State("x", "-x"),), defined=(Defined("y", "x", output=True),)), period=0.1)


@pytest.mark.parametrize("period", [0.0, -1.0, math.nan, math.inf, 1e-12])
def test_a_period_is_a_positive_number(period: float) -> None:
    with pytest.raises(ValueRangeError, match="count: period"):
        Sampled(block(), period=period)


def test_a_period_refers_to_parameters_of_the_block() -> None:
    with pytest.raises(
        UnknownNameError, match="period = 'Tz' of 'count': there is no parameter 'Tz'; did you mean 'Ts'"
    ):
        Sampled(block(parameters=(Parameter("Ts", 0.1),)), period="Tz")


def test_what_follows_itself_at_one_instant_is_a_circle() -> None:
    follow = Block("follow", inputs=(Port("u"),), defined=(Defined("y", "u", output=True),))
    system = System(
        "circle",
        (Subsystem("a", Sampled(follow, period=0.1)), Subsystem("b", Sampled(follow, period=0.2))),
        wires=(wire("a.y", "b.u"), wire("b.y", "a.u")),
    )
    with pytest.raises(ModelError, match=r"signals form an algebraic loop: a\.y -> b\.u -> b\.y -> a\.u -> a\.y"):
        mbfmu.simulate(system, stop=0.1)


def test_the_boom_rests_at_its_start_whatever_its_mass() -> None:
    """The pressure that carries it follows its parameters."""
    for values in ({}, {"m": 35.0}, {"px": 0.2, "py": -0.3}):
        run = mbfmu.simulate(mbfmu.load("hydraulic_monolith").with_values(values), 0.05)
        assert np.ptp(run["q"]) < 1e-15
