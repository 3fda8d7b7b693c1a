"""The FMU at run time, call by call: state, refusals, steps, messages, instances, and what it needs."""

import gc
import importlib
import json
import math
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import fmpy.fmi2 as fmi2
import hypothesis.strategies as st
import numpy as np
import pytest
from harness import examples, thorough
from hypothesis import HealthCheck, given
from masters import Instance, Unpacked, needs_loader, refused, run_in_two_threads, status_of
from mechanisms import slider_crank, spatial_arm

import mbfmu
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK
from mbfmu.model import System
from mbfmu.prepared.prepare import Prepared, prepare

H = 1e-3
TORQUES = {"shoulder.tau": 7.0, "elbow.tau": -2.0}
NOT_FINITE = (math.nan, math.inf, -math.inf)
pytestmark = needs_loader
WARNING, DISCARD, ERROR, FATAL = fmi2.fmi2Warning, fmi2.fmi2Discard, fmi2.fmi2Error, fmi2.fmi2Fatal


@pytest.fixture(scope="module")
def arm(two_link_fmu: Path, tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """The two-link arm with rattle, unpacked."""
    return Unpacked(two_link_fmu, tmp_path_factory.mktemp("fmu") / "two_link")


FEW = {"projected", "local", "block", "gauss", "rattle", "moreau"}
"""Steppers run by default: explicit, of fixed points, with a history, with momenta, simplest, and with impulses."""


@pytest.fixture(scope="module", params=thorough(zip(mbfmu.steppers()), lambda name: name in FEW))
def arm_of_each_stepper(
    request: pytest.FixtureRequest, two_link: System, tmp_path_factory: pytest.TempPathFactory
) -> Unpacked:
    """The two-link arm with every stepper, unpacked."""
    folder = tmp_path_factory.mktemp("stepper")
    return Unpacked(mbfmu.export(two_link, folder / "two_link.fmu", stepper=request.param), folder / "two_link")


@pytest.fixture(scope="module")
def crank(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """The slider-crank, whose start values can contradict each other, unpacked."""
    folder = tmp_path_factory.mktemp("crank")
    return Unpacked(mbfmu.export(slider_crank(), folder / "slider_crank.fmu"), folder / "slider_crank")


@pytest.fixture(scope="module")
def prepared(two_link: System) -> Prepared:
    """The two-link arm with rattle, run by mbfmu itself."""
    return prepare(two_link, "rattle", {}, H)


@pytest.fixture
def slave(arm: Unpacked) -> Iterator[Instance]:
    """An initialised instance of the arm."""
    with Instance(arm) as instance:
        yield instance.start(TORQUES)


class Kernel:
    """The arm run by mbfmu's kernel, as an FMU would do it."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.inputs = [item.name for item in prepared.dae.inputs]
        self.outputs = [item.name for item in prepared.dae.outputs]
        self.u = vector([TORQUES[name] for name in self.inputs])
        self.p = vector(prepared.dae.p_default())
        self.x = prepared.initial_state(self.u)
        self.t = 0.0

    def step(self, size: float, substeps: int) -> None:
        rest = vector([0.0] * len(self.inputs))
        self.x, status = self.prepared.kernel.advance(self.x, self.u, rest, self.p, self.t, size / substeps, substeps)
        assert status.code == OK
        self.t += size

    def get(self, names: list[str]) -> tuple[float, ...]:
        values = dict(zip(self.outputs, self.prepared.kernel.outputs(self.x, self.u, self.p, self.t), strict=False))
        return tuple(values[name] for name in names)


def fresh_run(arm: Unpacked, count: int) -> list[tuple[float, ...]]:
    """Return the outputs of the first steps of a new instance."""
    with Instance(arm) as instance:
        return instance.start(TORQUES).run(0, count, H)


# -- state: rollback ------------------------------------------------------------------------------------------------


def test_a_restored_state_repeats_ten_steps_bitwise(arm_of_each_stepper: Unpacked) -> None:
    with Instance(arm_of_each_stepper) as slave:
        slave.start(TORQUES).step(0.0, H)
        state, there = slave.slave.getFMUstate(), slave.get()
        first = slave.run(1, 10, H)
        slave.slave.setFMUstate(state)
        assert slave.get() == there
        assert slave.run(1, 10, H) == first
        assert len(set(first)) == 10


def test_a_serialised_state_repeats_ten_steps_bitwise(arm_of_each_stepper: Unpacked) -> None:
    with Instance(arm_of_each_stepper) as slave:
        slave.start(TORQUES).step(0.0, H)
        data, there = slave.save(), slave.get()
        first = slave.run(1, 10, H)
        slave.restore(data)
        assert slave.get() == there
        assert slave.run(1, 10, H) == first


def test_a_state_goes_on_in_a_second_instance_bitwise(arm_of_each_stepper: Unpacked) -> None:
    with Instance(arm_of_each_stepper) as one, Instance(arm_of_each_stepper) as other:
        one.start(TORQUES).step(0.0, H)
        data = one.save()
        first = one.run(1, 10, H)
        other.start({"shoulder.phi": 1.0, "world.g": 3.0, "solver.step": 2e-4})
        other.restore(data)
        assert other.run(1, 10, H) == first


def test_a_state_goes_into_an_instance_that_was_never_initialised(arm: Unpacked, slave: Instance) -> None:
    slave.step(0.0, H)
    data, expected = slave.save(), slave.run(1, 3, H)
    with Instance(arm) as other:
        other.restore(data)
        assert other.run(1, 3, H) == expected


def test_a_state_holds_inputs_parameters_and_the_step(slave: Instance) -> None:
    names = ("shoulder.tau", "elbow.tau", "world.g", "solver.step", "time", "shoulder.a")
    slave.set({"world.g": 3.7, "solver.step": 7e-4})
    slave.step(0.0, H)
    data, before = slave.save(), slave.get(names)
    slave.set({"shoulder.tau": 1.0, "elbow.tau": 2.0, "world.g": 1.6, "solver.step": 5e-4})
    slave.step(H, H)
    assert all(a != b for a, b in zip(slave.get(names), before, strict=True))
    slave.restore(data)
    assert slave.get(names) == before


def test_a_state_from_before_the_initialisation_holds_the_start_values(arm: Unpacked) -> None:
    expected = fresh_run(arm, 3)
    with Instance(arm) as slave:
        slave.enter(TORQUES)
        data = slave.save()
        slave.set({"shoulder.phi": 1.0, "l1": 3.0})
        slave.slave.exitInitializationMode()
        slave.step(0.0, H)
        slave.restore(data)
        slave.slave.exitInitializationMode()
        assert slave.run(0, 3, H) == expected


def test_a_state_also_repeats_what_was_refused(slave: Instance) -> None:
    slave.set({"shoulder.tau": math.nan})
    data = slave.save()
    slave.set({"shoulder.tau": 7.0})
    slave.step(0.0, H)
    slave.restore(data)
    assert refused(slave.step, 0.0, H) == DISCARD


def test_a_big_step_in_two_halves_can_be_tried_and_taken_back(slave: Instance) -> None:
    """Step doubling, as masters with error control do it."""
    state = slave.slave.getFMUstate()
    slave.step(0.0, 0.02)
    big = slave.get()
    slave.slave.setFMUstate(state)
    slave.step(0.0, 0.01)
    slave.step(0.01, 0.01)
    halves = slave.get()
    slave.slave.freeFMUstate(state)
    assert max(abs(a - b) for a, b in zip(big, halves, strict=True)) < 1e-12  # both are 20 steps of solver.step


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_states_do_not_pile_up_in_memory(slave: Instance) -> None:
    """Pythonfmu itself loses about 190 B a pair."""

    def megabytes() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def pairs(count: int) -> None:
        for _ in range(count):
            state = slave.slave.getFMUstate()
            slave.slave.setFMUstate(state)
            slave.slave.freeFMUstate(state)

    pairs(1000)
    before = megabytes()
    pairs(20_000)
    assert megabytes() - before < 10.0  # 500 B a pair


# -- state: what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [0, 33, 60, 100, -30, -1])
def test_a_state_with_one_damaged_byte_is_refused(where: int, arm: Unpacked) -> None:
    with Instance(arm) as slave:
        data = bytearray(slave.start(TORQUES).save())
        data[where] ^= 0x10
        assert refused(slave.restore, bytes(data)) >= ERROR
        assert "damaged" in slave.messages[-1].text


@pytest.mark.parametrize("damage", [slice(0, 10), slice(40, None), slice(None, -1)])
def test_damaged_bytes_are_refused_where_they_are_read(damage: slice, arm: Unpacked) -> None:
    with Instance(arm) as slave:
        data = slave.start(TORQUES).save()[damage]
        assert refused(slave.slave.deSerializeFMUstate, data) >= ERROR
        assert "the state is damaged" in slave.messages[-1].text


def test_damaged_bytes_leave_other_instances_as_they_are(arm: Unpacked) -> None:
    with Instance(arm) as other:
        other.start(TORQUES)
        with Instance(arm) as slave:
            assert refused(slave.start(TORQUES).slave.deSerializeFMUstate, b"abc") >= ERROR
        other.step(0.0, H)
        assert refused(other.slave.deSerializeFMUstate, b"abc") >= ERROR


@pytest.mark.parametrize("keep", [0, 1, 3, 4, 10, 100, -1])
def test_a_state_that_is_cut_off_is_refused(keep: int, arm: Unpacked) -> None:
    with Instance(arm) as slave:
        data = slave.start(TORQUES).save()
        assert refused(slave.restore, data[:keep]) >= ERROR
        assert "damaged" in slave.messages[-1].text


def test_a_state_of_another_fmu_is_refused(arm: Unpacked, two_link: System, tmp_path: Path) -> None:
    other = Unpacked(mbfmu.export(two_link, tmp_path / "two_link.fmu", stepper="direct"), tmp_path / "two_link")
    with Instance(other) as stranger, Instance(arm) as slave:
        data = stranger.start().save()
        assert refused(slave.start().restore, data) >= ERROR
        assert "belongs to another FMU" in slave.messages[-1].text


def test_after_a_refused_state_a_reset_gives_the_first_run(arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.start(TORQUES).run(0, 3, H)
        assert refused(slave.restore, b"nonsense") >= ERROR
        slave.slave.reset()
        assert slave.start(TORQUES).run(0, 3, H) == fresh_run(arm, 3)


# -- refused steps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("name", ["shoulder.tau", "world.g", "solver.step"])
def test_a_value_that_is_not_finite_discards_the_step_and_leaves_no_trace(
    name: str, value: float, arm: Unpacked, slave: Instance
) -> None:
    expected = fresh_run(arm, 5)
    good = slave.get([name])[0]
    slave.run(0, 2, H)
    slave.set({name: value})
    assert refused(slave.step, 2 * H, H) == DISCARD
    assert slave.get() == expected[1]
    assert slave.get([name]) == (good,)
    slave.set({name: good})
    assert slave.run(2, 3, H) == expected[2:]


@pytest.mark.parametrize("size", [0.0, -0.0, -H, *NOT_FINITE, 5e-324, 1e308])
def test_an_impossible_communication_step_is_discarded_and_leaves_no_trace(
    size: float, arm: Unpacked, slave: Instance
) -> None:
    expected = fresh_run(arm, 5)
    slave.run(0, 2, H)
    assert refused(slave.step, 2 * H, size) == DISCARD
    assert slave.get() == expected[1]
    assert slave.run(2, 3, H) == expected[2:]


def test_a_communication_step_of_more_steps_than_can_be_counted_is_discarded(slave: Instance) -> None:
    slave.set({"solver.step": 1.0})
    before = slave.get()
    assert refused(slave.step, 0.0, 2.0**64) == DISCARD
    assert slave.get() == before


@pytest.mark.parametrize("time", NOT_FINITE)
def test_a_start_time_that_is_not_finite_is_refused(time: float, arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.enter(time=time)
        assert refused(slave.slave.exitInitializationMode) >= ERROR


@pytest.mark.parametrize("reference", [None, 9999, 2**31, 2**32 - 1])
def test_a_value_reference_that_does_not_exist_is_refused_and_changes_nothing(
    reference: int | None, arm: Unpacked
) -> None:
    """None stands for the first one after the last."""
    reference = max(arm.references.values()) + 1 if reference is None else reference
    with Instance(arm) as slave:
        slave.start(TORQUES)
        assert refused(slave.slave.getReal, [reference]) >= ERROR
    with Instance(arm) as slave:
        slave.start(TORQUES)
        assert refused(slave.slave.setReal, [arm.references["shoulder.tau"], reference], [99.0, 99.0]) >= ERROR
        assert f"two_link: value reference {reference}: there is no such variable" in slave.messages[-1].text
        assert slave.get(TORQUES) == tuple(TORQUES.values())
        slave.step(0.0, H)


@pytest.mark.parametrize("kind", ["Integer", "Boolean", "String"])
def test_a_variable_of_another_type_is_refused_and_the_process_stays_whole(kind: str, arm: Unpacked) -> None:
    expected = fresh_run(arm, 3)
    for _ in range(3):
        with Instance(arm) as slave:
            slave.start(TORQUES)
            assert getattr(slave.slave, f"get{kind}")([]) == []
            assert refused(getattr(slave.slave, f"get{kind}"), [1]) >= ERROR
        with Instance(arm) as slave:
            value = "7" if kind == "String" else 1
            assert refused(getattr(slave.slave, f"set{kind}"), [1], [value]) >= ERROR
    gc.collect()
    assert fresh_run(arm, 3) == expected


@pytest.mark.parametrize("time", [0.0, -2 * H, H, 1.5 * H, 2.001 * H, 3 * H, 7.0, *NOT_FINITE])
def test_a_step_from_where_the_fmu_does_not_stand_is_discarded_and_leaves_no_trace(
    time: float, arm: Unpacked, slave: Instance
) -> None:
    expected = fresh_run(arm, 5)
    slave.run(0, 2, H)
    assert refused(slave.step, time, H) == DISCARD
    assert slave.messages[-1].text == (
        f"two_link: no step from t = {time} s: the FMU stands at t = 0.002 s, and a step must begin there"
    )
    assert slave.get() == expected[1]
    assert slave.run(2, 3, H) == expected[2:]


@pytest.mark.parametrize(("start", "near", "far"), [(0.0, 0.9e-9, 1.1e-9), (-1e6, 4e-9, 6e-9)])
def test_a_step_may_begin_beside_the_time_of_the_fmu_by_round_off(
    start: float, near: float, far: float, arm: Unpacked
) -> None:
    """A millionth of a step of 1 ms and 16 units of round-off of the time: 1e-9 s at 0 s, 4.6e-9 s at 1e6 s."""
    for sign in (-1.0, 1.0):
        with Instance(arm) as slave:
            slave.start(TORQUES, time=start)
            assert refused(slave.step, start + sign * far, H) == DISCARD
            slave.step(start + sign * near, H)


@pytest.mark.parametrize(
    ("reckoned", "size"),
    [
        (lambda k, size: sum([size] * k, 0.0), 0.001),
        (lambda k, size: k * size, 1 / 3),
        (lambda k, size: 1000 + k * size, 1e-6),
        (lambda k, size: round(k * size * 1e9) * 1e-9, 1 / 300),
    ],
    ids=["sum", "product", "late", "nanoseconds"],
)
def test_a_master_may_reckon_the_time_in_its_own_way(reckoned: Any, size: float, arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.start(time=reckoned(0, size))
        for k in range(300):
            slave.step(reckoned(k, size), size)
        assert slave.get(["time"])[0] == pytest.approx(reckoned(300, size), rel=1e-8)


@pytest.mark.parametrize("torque", [1e50, 1e90, -1e300])
def test_a_torque_no_step_can_take_discards_the_step_and_leaves_no_trace(
    torque: float, arm: Unpacked, slave: Instance
) -> None:
    expected = fresh_run(arm, 5)
    slave.run(0, 2, H)
    slave.set({"shoulder.tau": torque})
    assert refused(slave.step, 2 * H, H) == DISCARD
    slave.set(TORQUES)
    assert slave.get() == expected[1]
    assert slave.run(2, 3, H) == expected[2:]


def test_the_last_successful_time_of_a_discarded_step_is_where_it_began(slave: Instance) -> None:
    slave.run(0, 2, H)
    assert refused(slave.step, 2 * H, math.nan) == DISCARD
    assert slave.slave.getRealStatus(fmi2.fmi2LastSuccessfulTime) == 2 * H


def test_a_step_before_the_initialisation_is_finished_is_discarded(arm: Unpacked) -> None:
    with Instance(arm) as slave:
        assert refused(slave.step, 0.0, H) == DISCARD
        slave.enter(TORQUES)
        assert refused(slave.step, 0.0, H) == DISCARD
        slave.slave.exitInitializationMode()
        assert slave.run(0, 3, H) == fresh_run(arm, 3)


def test_a_step_after_the_end_is_discarded_and_the_last_values_can_be_got(arm: Unpacked, slave: Instance) -> None:
    last = slave.run(0, 2, H)[-1]
    state = slave.slave.getFMUstate()
    slave.slave.terminate()
    assert refused(slave.step, 2 * H, H) == DISCARD
    assert slave.messages[-1].text == "two_link: a step after the run was terminated; use reset"
    assert slave.get() == last
    slave.slave.setFMUstate(state)
    assert slave.run(2, 3, H) == fresh_run(arm, 5)[2:]
    slave.slave.terminate()
    slave.slave.reset()
    assert slave.start(TORQUES).run(0, 5, H) == fresh_run(arm, 5)


def test_input_derivatives_are_refused_as_the_description_says(arm: Unpacked, slave: Instance) -> None:
    assert not arm.description.coSimulation.canInterpolateInputs
    assert refused(slave.slave.setRealInputDerivatives, [arm.references["shoulder.tau"]], [1], [0.0]) == ERROR


# -- parameters and start values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["l1", "m2"])
def test_a_fixed_parameter_is_refused_after_the_initialisation(name: str, slave: Instance) -> None:
    (before,) = slave.get([name])
    slave.set({name: before + 0.5})
    assert slave.messages[-1].category == "logStatusWarning"
    why = {
        "l1": "constraints, positions of bodies or sampling instants depend on it",
        "m2": "the stepper 'rattle' keeps momenta",
    }[name]
    told = f"{name} = {before + 0.5}: a fixed parameter cannot be set after initialisation, as {why}"
    assert slave.messages[-1].text.startswith(told)
    assert slave.get([name]) == (before,)
    assert refused(slave.step, 0.0, H) == DISCARD
    slave.set({name: before})
    slave.step(0.0, H)


def test_a_start_value_is_refused_after_the_initialisation(slave: Instance) -> None:
    slave.set({"shoulder.phi": 1.0})
    assert slave.messages[-1].category == "logStatusWarning"
    assert slave.get(["shoulder.phi"]) == (0.0,)
    assert refused(slave.step, 0.0, H) == DISCARD


@pytest.mark.parametrize("name", ["energy.total", "link1.r_0[1]", "link1.m", "shoulder.a", "time"])
def test_what_is_computed_cannot_be_set(name: str, arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.set({name: 1.0})
        assert slave.messages[-1].status == WARNING
        assert "cannot be set" in slave.messages[-1].text
        slave.enter()
        assert refused(slave.slave.exitInitializationMode) >= ERROR


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("l1", 0.0),
        ("l2", -1.0),
        ("m1", 0.0),
        ("m2", -1e-300),
        ("solver.step", 0.0),
        ("solver.step", -H),
        ("l1", math.nan),
    ],
)
def test_a_parameter_out_of_bounds_is_refused_at_the_initialisation(name: str, value: float, arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.enter({name: value})
        assert refused(slave.slave.exitInitializationMode) >= ERROR
        assert name in slave.messages[-1].text


@pytest.mark.parametrize("after_entering", [False, True])
def test_start_values_are_met(after_entering: bool, arm: Unpacked) -> None:
    wanted = {"shoulder.phi": 7.5, "shoulder.w": -1.25, "elbow.phi": -4.0, "elbow.w": 2.5, "l1": 1.5, "world.g": 1.6}
    with Instance(arm) as slave:
        slave.enter(None if after_entering else wanted)
        if after_entering:
            slave.set(wanted)
        slave.slave.exitInitializationMode()
        assert slave.get(wanted) == pytest.approx(tuple(wanted.values()), abs=1e-14)
        assert slave.get(["constraint.position", "constraint.velocity"]) == pytest.approx((0.0, 0.0), abs=1e-14)


def test_outputs_already_follow_the_start_values_in_initialisation_mode(arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.enter()
        at_rest = slave.get()
        slave.set({"shoulder.phi": 0.5, **TORQUES})
        moved = slave.get()
        slave.slave.exitInitializationMode()
        assert slave.get() == moved
        assert moved != at_rest


def test_the_start_time_is_the_time_before_the_first_step(arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.start(TORQUES, time=2.5)
        assert slave.get(["time"]) == (2.5,)
        slave.step(2.5, H)
        assert slave.get(["time"]) == (2.5 + H,)
        slave.messages.clear()
        assert slave.get() == pytest.approx(fresh_run(arm, 1)[0], abs=1e-13)


def test_an_impossible_start_is_refused_and_a_reset_makes_it_good(crank: Unpacked) -> None:
    with Instance(crank) as slave:
        slave.enter({"l2": 0.3})  # shorter than the height of the crank pin
        assert refused(slave.slave.exitInitializationMode) >= ERROR
        told = slave.messages[-1].text
        assert "slider_crank" in told
        assert "start" in told
        assert "solver.step" not in told  # no step, however small, mends it
        slave.slave.reset()
        slave.start().step(0.0, H)
        assert slave.get(["l2"]) == (2.0,)


def test_a_tunable_parameter_takes_effect_at_the_next_step(prepared: Prepared, slave: Instance) -> None:
    kernel = Kernel(prepared)
    names = kernel.outputs
    for k in range(40):
        if k == 20:
            slave.set({"world.g": 1.62})
            kernel.p[[item.name for item in prepared.dae.parameters].index("world.g")] = 1.62
        slave.step(k * H, H)
        kernel.step(H, 1)
        assert slave.get(names) == kernel.get(names)


def test_a_tunable_parameter_shows_in_the_accelerations_at_once(slave: Instance) -> None:
    slave.set({"shoulder.tau": 0.0, "elbow.tau": 0.0, "world.g": 4.9})
    assert slave.get(["shoulder.a"])[0] == pytest.approx(-12.6 / 2, rel=1e-13)


def test_a_mass_changes_during_a_run_and_velocities_go_on(
    two_link: System, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After the change the arm moves as one that has the mass from the start, and starts there, in its own run."""
    folder = tmp_path_factory.mktemp("dump")
    fmu = Unpacked(mbfmu.export(two_link, folder / "arm.fmu", stepper="projected"), folder / "arm")
    motion = ["shoulder.phi", "shoulder.w", "elbow.phi", "elbow.w"]
    assert fmu.variables["m2"].variability == fmu.variables["link2.m"].variability == "tunable"
    with Instance(fmu) as slave:
        before = slave.start().run(0, 200, H, motion)[-1]
        slave.set({"m2": 0.25})
        assert slave.get(motion) == before
        assert slave.get(["link2.m"]) == (0.25,)
        shown = slave.get()
        rows = slave.run(200, 100, H, motion)
        assert not slave.messages
    there = two_link.with_values({**dict(zip(motion, before, strict=True)), "m2": 0.25})
    run = mbfmu.simulate(there, 0.1, stepper="projected", step=H, output_interval=H)
    accelerations = dict(zip(slave.shown, shown, strict=True))
    assert accelerations["elbow.a"] == pytest.approx(run["elbow.a"][0], rel=1e-11)
    expected = np.column_stack([run[name][1:] for name in motion])
    np.testing.assert_allclose(rows, expected, rtol=1e-11, atol=1e-12)


def test_a_guess_is_an_approximate_start_that_a_master_gives(tmp_path: Path) -> None:
    system = slider_crank().with_values({"slider.s": 2.4, "rod.phi": "guess(-1.2)"}, free=["crank.phi"])
    fmu = Unpacked(mbfmu.export(system, tmp_path / "crank.fmu"), tmp_path / "crank")
    initial = {name: fmu.variables[name].initial for name in ("slider.s", "crank.phi", "rod.phi", "pin.phi")}
    assert initial == {"slider.s": "exact", "crank.phi": "approx", "rod.phi": "approx", "pin.phi": "calculated"}
    sides = []
    for sign in (1, -1):
        with Instance(fmu) as slave:
            slave.start({"slider.s": 2.5, "crank.phi": 0.7 * sign, "rod.phi": 0.0})
            s, phi = slave.get(["slider.s", "crank.phi"])
            assert s == pytest.approx(2.5, abs=1e-12)
            assert abs(phi) == pytest.approx(math.acos((1 + s**2 - 4) / (2 * s)), abs=1e-9)
            sides.append(math.copysign(1, phi))
    assert sides == [1, -1]


# -- communication steps --------------------------------------------------------------------------------------------


def test_one_step_of_ten_milliseconds_is_ten_of_one_bitwise(arm: Unpacked, slave: Instance) -> None:
    """To the last bit: with constant inputs both are ten substeps of the same double, 0.01 / 10 == 0.001."""
    assert H == 0.01 / 10
    slave.step(0.0, 0.01)
    assert slave.get() == fresh_run(arm, 10)[-1]


@pytest.mark.parametrize(
    ("solver_step", "size", "substeps"),
    [
        (1e-3, 4e-4, 1),  # longer than the communication step
        (1.0, 1e-3, 1),
        (3e-4, 1e-3, 4),  # does not divide it
        (1e-3, 0.0105, 11),
        (1e-3, 3 * 1e-3, 3),  # 0.003 is not 3 * 0.001 in binary
        (1e-4, 0.1 + 0.2, 3000),
    ],
)
def test_a_communication_step_is_divided_into_the_fewest_equal_steps(
    solver_step: float, size: float, substeps: int, prepared: Prepared, slave: Instance
) -> None:
    kernel = Kernel(prepared)
    slave.set({"solver.step": solver_step})
    slave.step(0.0, size)
    kernel.step(size, substeps)
    assert slave.get(kernel.outputs) == kernel.get(kernel.outputs)


def test_communication_steps_may_vary(prepared: Prepared, slave: Instance) -> None:
    kernel, time = Kernel(prepared), 0.0
    for size in (1e-3, 2.5e-4, 7e-3, 1e-6, 0.02, 3.3e-3):
        slave.step(time, size)
        time += size
        kernel.step(size, math.ceil(size / H * (1 - 1e-9)))
    assert slave.get(kernel.outputs) == kernel.get(kernel.outputs)
    assert slave.get(["time"]) == (time,)


def test_angles_count_full_turns(arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.start({"world.g": 0.0, "shoulder.w": 30.0, "elbow.phi": 0.0, "elbow.w": 0.0})
        angles = [row[0] for row in slave.run(0, 1000, H, ["shoulder.phi"])]
    assert angles[-1] > 4 * math.pi
    assert max(abs(np.diff(angles))) < 0.1


# -- life cycle -----------------------------------------------------------------------------------------------------


def test_a_reset_gives_the_first_run_again_bitwise(arm: Unpacked, slave: Instance) -> None:
    slave.run(0, 3, H)
    slave.set({"world.g": 1.6, "solver.step": 5e-4, "shoulder.tau": 99.0, "elbow.tau": math.nan})
    slave.slave.reset()
    assert slave.get(["world.g", "solver.step", "shoulder.tau", "elbow.tau", "time"]) == (9.8, H, 0.0, 0.0, 0.0)
    assert slave.start(TORQUES).run(0, 5, H) == fresh_run(arm, 5)


def test_two_instances_interleaved_equal_two_alone(arm: Unpacked) -> None:
    starts: tuple[Mapping[str, float], ...] = (TORQUES, {"shoulder.phi": 1.0, "l1": 2.0, "world.g": 3.0})
    alone = []
    for values in starts:
        with Instance(arm) as slave:
            alone.append(slave.start(values).run(0, 20, H))
    with Instance(arm) as one, Instance(arm) as other:
        one.start(starts[0])
        other.start(starts[1])
        for k in range(20):
            assert one.run(k, 1, H) == alone[0][k : k + 1]
            assert other.run(k, 1, H) == alone[1][k : k + 1]


def test_two_instances_in_two_threads_equal_one_alone(arm: Unpacked) -> None:
    expected = fresh_run(arm, 200)
    assert run_in_two_threads(arm, TORQUES, 200, H) == [expected, expected]


def test_fmus_of_several_models_and_steppers_in_one_process_do_not_mix(two_link: System, tmp_path: Path) -> None:
    systems = {
        "arm": (two_link, "rattle"),
        "arm2": (two_link, "direct"),
        "crank": (slider_crank(), "rattle"),
        "spatial": (spatial_arm(), "local"),
    }
    opened = {
        key: Unpacked(mbfmu.export(system, tmp_path / f"{key}.fmu", stepper=stepper), tmp_path / key)
        for key, (system, stepper) in systems.items()
    }
    slaves = {key: Instance(unpacked).start() for key, unpacked in opened.items()}
    for k in range(20):
        for slave in slaves.values():
            slave.step(k * H, H)
    for key, (system, stepper) in systems.items():
        expected = mbfmu.simulate(system, 20 * H, stepper=stepper, step=H, output_interval=H)
        names = [name for name in expected.names if name in slaves[key].shown]
        assert slaves[key].get(names) == pytest.approx([expected[name][-1] for name in names], abs=1e-12), key
        slaves[key].slave.freeInstance()
    assert len({json.dumps(slave.shown) for slave in slaves.values()}) == 3


def test_an_fmu_exported_after_another_has_run_is_the_same_file(
    two_link: System, two_link_fmu: Path, slave: Instance, tmp_path: Path
) -> None:
    """The FMU that runs has put its own copy of pythonfmu into this process."""
    slave.step(0.0, H)
    again = mbfmu.export(two_link, tmp_path / "two_link.fmu", stepper="rattle", step=1e-3)
    assert again.read_bytes() == two_link_fmu.read_bytes()


def test_neither_instances_nor_resets_grow_the_paths_and_modules_of_the_process(arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.start(TORQUES).step(0.0, H)
    path, modules = list(sys.path), set(sys.modules)
    for _ in range(5):
        with Instance(arm) as slave:
            slave.start(TORQUES).step(0.0, H)
            slave.slave.reset()
    assert sys.path == path
    assert set(sys.modules) == modules
    assert str(arm.folder / "resources") not in sys.path


def test_an_fmu_runs_from_a_folder_with_a_space_in_its_name(two_link_fmu: Path, arm: Unpacked, tmp_path: Path) -> None:
    assert fresh_run(Unpacked(two_link_fmu, tmp_path / "two words"), 3) == fresh_run(arm, 3)


# -- messages -------------------------------------------------------------------------------------------------------


def test_percent_signs_come_through_a_message(two_link: System, tmp_path: Path) -> None:
    model = replace(two_link, name="100% two%slink %n")
    fmu = Unpacked(mbfmu.export(model, tmp_path / "percent.fmu", stepper="rattle"), tmp_path / "percent")
    with Instance(fmu) as slave:
        slave.start()
        slave.set({"shoulder.tau": math.nan})
        assert refused(slave.step, 0.0, H) == DISCARD
        texts = [item.text for item in slave.messages]
    reason = "shoulder.tau = nan: not a finite number; the value before is kept"
    assert texts == [reason, f"100% two%slink %n: no step while a value is refused: {reason}"]


def test_a_refused_value_is_a_warning_and_a_refused_step_a_discard(slave: Instance) -> None:
    slave.set({"shoulder.tau": math.inf})
    assert refused(slave.step, 0.0, H) == DISCARD
    assert [(item.status, item.category) for item in slave.messages] == [
        (WARNING, "logStatusWarning"),
        (DISCARD, "logStatusDiscard"),
    ]


@pytest.mark.parametrize("torque", [1e300, 1.7e308, -1.7e308])
def test_outputs_stay_finite_whatever_finite_torque_is_set(torque: float, slave: Instance) -> None:
    slave.set({"shoulder.tau": torque, "elbow.tau": 1.7e308})
    assert all(map(math.isfinite, slave.get()))
    assert refused(slave.step, 0.0, H) == DISCARD
    assert all(map(math.isfinite, slave.get()))


@pytest.mark.parametrize("values", [{"world.g": 1.7e308}, {"m1": 1e90, "l1": 1e90, "shoulder.w": 1e90}])
def test_a_start_whose_outputs_overflow_is_refused(values: dict[str, float], arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.enter(values)
        assert refused(slave.slave.exitInitializationMode) >= ERROR


def test_a_failed_step_says_when_how_badly_and_what_to_do(arm: Unpacked) -> None:
    with Instance(arm) as slave:
        slave.start({"shoulder.tau": 1e13}, time=0.25)
        assert refused(slave.step, 0.25, H) == DISCARD
        (message,) = slave.messages
    assert message.category == "logStatusDiscard"
    for part in ("two_link: no step from t = 0.25", "did not converge", "last correction", "smaller solver.step"):
        assert part in message.text


def test_every_category_is_one_the_description_lists(arm: Unpacked, slave: Instance) -> None:
    slave.set({"shoulder.tau": math.nan, "l1": 3.0, "energy.total": 0.0})
    assert refused(slave.step, 0.0, H) == DISCARD
    listed = {item.name for item in arm.description.logCategories}
    assert {item.category for item in slave.messages} <= listed
    assert len(slave.messages) == 4


def test_a_good_run_says_nothing(slave: Instance) -> None:
    slave.run(0, 10, H)
    slave.save()
    assert slave.messages == []


def test_a_refused_start_leaves_the_process_whole(arm: Unpacked) -> None:
    """Pythonfmu gives up its references to the slave and its class twice after an exception."""
    expected = fresh_run(arm, 3)
    gc.collect()
    gc.freeze()  # what other tests left is not searched twenty times
    for _ in range(20):
        with Instance(arm) as slave:
            slave.enter({"l1": -1.0})
            assert refused(slave.slave.exitInitializationMode) >= ERROR
            assert slave.get(["l1"]) == (1.0,)
        gc.collect()
    assert fresh_run(arm, 3) == expected


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_the_end_of_a_process_touches_no_freed_memory(two_link_fmu: Path, tmp_path: Path) -> None:
    """Of what pythonfmu's loader does then; the dynamic linker's own reads past a text's end are not counted."""
    code = f"""if True:
        from masters import Instance, Path, Unpacked
        arm = Unpacked(Path({str(two_link_fmu)!r}), Path("arm").absolute())
        with Instance(arm) as one, Instance(arm) as other:
            print(one.start({{}}).run(0, 3, {H}) == other.start({{}}).run(0, 3, {H}))
    """
    command = ["valgrind", "--log-file=log", "--num-callers=30", sys.executable, "-c", code]
    paths = os.pathsep.join(map(str, (Path(__file__).parent, Path(mbfmu.__file__).parents[1])))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONMALLOC": "malloc"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "ERROR SUMMARY" in log
    assert "finalizePythonInterpreter" not in log


def test_nothing_changes_with_logging_off(arm: Unpacked) -> None:
    expected = fresh_run(arm, 5)
    with Instance(arm, logging=False) as slave:
        slave.start(TORQUES)
        slave.set({"shoulder.tau": math.nan, "l1": 3.0})
        assert refused(slave.step, 0.0, H) == DISCARD
        slave.set({"shoulder.tau": 7.0, "l1": 1.0})
        assert slave.run(0, 5, H) == expected


def test_an_impossible_start_is_refused_with_logging_off(crank: Unpacked) -> None:
    with Instance(crank, logging=False) as slave:
        slave.enter({"l2": 0.3})
        assert refused(slave.slave.exitInitializationMode) >= ERROR


# -- the slave without its binary -----------------------------------------------------------------------------------


def packed_module(arm: Unpacked) -> str:
    return (arm.folder / "resources" / "slavemodule.txt").read_text(encoding="utf-8")


@pytest.fixture
def bare(arm: Unpacked, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The slave's class instantiated in this process, initialised."""
    resources = str(arm.folder / "resources")
    monkeypatch.syspath_prepend(resources)
    slave = importlib.import_module(packed_module(arm)).MultibodySlave(instance_name="bare", resources=resources)
    slave.setup_experiment(0.0)
    slave.enter_initialization_mode()
    slave.exit_initialization_mode()
    return slave


def test_do_step_answers_true_or_false_and_nothing_else(bare: Any) -> None:
    assert bare.do_step(0.0, H) is True
    assert bare.do_step(H, math.nan) is False


def test_an_exception_inside_a_step_becomes_a_discarded_step_with_a_message(bare: Any) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("50% broken")

    before = bare._get_fmu_state()
    bare._step = broken
    assert bare.do_step(0.0, H) is False
    (message,) = bare.log_queue
    assert (int(message.status), message.category) == (DISCARD, "logStatusDiscard")
    assert message.msg % () == "internal error: RuntimeError('50% broken')"
    assert bare._get_fmu_state() == before


@pytest.mark.parametrize("data", [b"", b"abc", b"\0" * 500])
def test_a_refused_state_changes_nothing(data: bytes, bare: Any) -> None:
    bare.do_step(0.0, H)
    before, outputs = bare._get_fmu_state(), bare.get_real(list(range(57)))
    with pytest.raises(ValueError, match="damaged"):
        bare._set_fmu_state(data)
    assert bare._get_fmu_state() == before
    assert bare.get_real(list(range(57))) == outputs


def test_the_packed_modules_have_names_no_other_fmu_has(arm_of_each_stepper: Unpacked, arm: Unpacked) -> None:
    def modules(unpacked: Unpacked) -> set[str]:
        return {path.stem for path in (unpacked.folder / "resources").glob("*.py")}

    mine, others = modules(arm_of_each_stepper), modules(arm)
    assert len(mine) == 2
    assert all(len(name.rsplit("_", 1)[1]) == 32 for name in mine)
    assert packed_module(arm_of_each_stepper) in mine
    assert mine == others or not mine & others  # the same FMU, or nothing in common
    assert (mine == others) == (arm_of_each_stepper.description.guid == arm.description.guid)


ALONE = """
import json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in sys.stdlib_module_names and root != "pythonfmu" and not root.endswith({unique!r}):
            raise ImportError("there is no " + name)

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {resources!r})
slave = __import__({module!r}).MultibodySlave(instance_name="alone", resources={resources!r})
slave.set_real([1, 2], [7.0, -2.0])
slave.setup_experiment(0.0)
slave.enter_initialization_mode()
slave.exit_initialization_mode()
rows = []
for k in range(20):
    assert slave.do_step(k * 1e-3, 1e-3) is True
    rows.append(slave.get_real({references!r}))
own = {{{module!r}.replace("slave_", name) for name in ("slave_", "loader_")}}
known = set(sys.stdlib_module_names) | {{"pythonfmu", *own, "__main__"}}
strangers = sorted(name for name in sys.modules if name.partition(".")[0] not in known)
print(json.dumps([rows, strangers]))
"""


def alone(arm: Unpacked, resources: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the slave in a Python that sees no installed package and none of our environment."""
    module = packed_module(arm)
    shown = [arm.references[name] for name in arm.shown]
    script = ALONE.format(unique=module[-32:], resources=str(resources), module=module, references=shown)
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", script]
    system = {name: value for name, value in os.environ.items() if name == "SYSTEMROOT"}  # Windows starts none without
    return subprocess.run(command, capture_output=True, text=True, env=system, cwd=cwd, timeout=60, check=False)


def test_the_slave_needs_only_the_standard_library(arm: Unpacked, tmp_path: Path) -> None:
    done = alone(arm, arm.folder / "resources", tmp_path)
    assert done.returncode == 0, done.stderr
    rows, strangers = json.loads(done.stdout)
    assert strangers == []
    assert [tuple(row) for row in rows] == fresh_run(arm, 20)


# -- the library of the platform ------------------------------------------------------------------------------------


def copied(arm: Unpacked, folder: Path) -> Unpacked:
    """Return a copy of an FMU in another folder."""
    shutil.copytree(arm.folder, folder)
    copy = object.__new__(Unpacked)
    copy.__dict__.update(arm.__dict__, folder=folder)
    return copy


@pytest.mark.parametrize("content", [None, b"\x7fELF of another processor"])
def test_an_fmu_without_a_library_for_this_machine_says_which_option_packs_it(
    content: bytes | None, arm: Unpacked, tmp_path: Path
) -> None:
    folder = copied(arm, tmp_path / "elsewhere").folder / "resources" / "core"
    (library,) = folder.iterdir()
    (folder / "other64.so").write_bytes(library.read_bytes())
    library.unlink()
    if content:
        library.write_bytes(content)
    done = alone(arm, folder.parent, tmp_path)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert f"no library for {sys.platform} on {platform.machine()}, only for" in last
    assert "other64" in last
    assert f"mbfmu export --platform {library.stem}" in last


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_library_leaves_the_process_with_the_last_instance(arm: Unpacked, tmp_path: Path) -> None:
    """So that a master on Windows can remove the folder."""

    def loaded() -> bool:
        gc.collect()
        return str(copy.folder / "resources") in Path("/proc/self/maps").read_text(encoding="utf-8")

    copy = copied(arm, tmp_path / "leaving")
    with Instance(copy) as one:
        with Instance(copy) as other:
            other.start(TORQUES).step(0.0, H)
        assert loaded()
        assert one.start(TORQUES).run(0, 3, H) == fresh_run(arm, 3)
    assert not loaded()


# -- any sequence of calls ------------------------------------------------------------------------------------------

values = st.one_of(
    st.floats(-50, 50),
    st.sampled_from([*NOT_FINITE, 1e12, -1e30, 1e160, -1.7e308]),
    st.floats(allow_nan=False, width=32),
)
sizes = st.one_of(st.floats(1e-6, 5e-3), st.sampled_from([0.0, -H, math.nan, math.inf, 1e-12, 5e-324, 1e308]))
calls = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(["shoulder.tau", "elbow.tau", "world.g"]), values),
    st.tuples(st.just("step"), sizes),
    st.tuples(st.just("step"), st.just(H)),
    st.tuples(st.just("save")),
    st.tuples(st.just("restore"), st.integers(0, 9)),
    st.tuples(st.just("reset")),
)


@examples(0.8, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(calls, max_size=25))
def test_no_sequence_of_calls_crashes_or_leaves_outputs_that_are_not_finite(
    arm: Unpacked, sequence: list[tuple[Any, ...]]
) -> None:
    with Instance(arm) as slave:
        slave.start()
        time, saved = 0.0, [(0.0, slave.save(), slave.get())]
        for call, *arguments in sequence:
            if call == "set":
                slave.set({arguments[0]: arguments[1]})
            elif call == "step":
                before = slave.save()
                status = status_of(slave.step, time, arguments[0])
                assert status in {0, DISCARD}
                if status:
                    assert slave.save() == before
                else:
                    time += arguments[0]
            elif call == "save":
                saved.append((time, slave.save(), slave.get()))
            elif call == "restore":
                time, data, outputs = saved[arguments[0] % len(saved)]
                slave.restore(data)
                assert slave.get() == outputs
            else:
                slave.slave.reset()
                slave.start()
                time = 0.0
            assert all(map(math.isfinite, slave.get()))
