"""The native FMU: the numbers and sentences of the pythonfmu one, derivatives that are exact, and a complete state."""

import ctypes
import math
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fmpy.fmi2 as fmi2
import numpy as np
import pytest
from harness import examples, thorough
from hypothesis import given
from hypothesis import strategies as st
from masters import (
    Array,
    Instance,
    MasterError,
    Message,
    Unpacked,
    refused,
    run_ecos,
    run_fmpy,
    run_in_two_threads,
    run_libcosim,
    status_of,
)
from native_fmus import Case, label, unpacked

import mbfmu
from mbfmu import cli
from mbfmu.checker import check
from mbfmu.errors import UsageError
from mbfmu.fmu.native import VERSIONS, default_platforms

H = 1e-3
ARM = Case("two_link", "rattle")
DERIVED = (
    ARM,
    Case("two_link", "direct", (("method", "rk4"),), "joint", 1e-7),
    Case("two_link", "direct", (("method", "ab7"),), "joint"),
    Case("two_link", "local"),
    Case("slider_crank", "radau", (), "absolute"),
    Case("slider_crank", "gauss", (), "joint"),
    Case("slider_crank", "local", (), "absolute"),
    Case("four_bar", "rattle", (), "joint"),
)
FEW = (ARM, *DERIVED[1:3], DERIVED[4])
"""Those that stand for the others: Newton steps, a tolerance, a multistep method, stages with constraints."""
OTHERS = (
    *(Case("two_link", family.name) for family in mbfmu.steppers().values() if family.name not in {"rattle", "local"}),
    Case("chaplygin_sleigh", "projected"),
    Case("driven_pendulum", "generalized_alpha"),
    Case("heavy_top", "rattle", (), "absolute"),
    Case("arm6", "direct", (("method", "rk4"),), "joint"),
)
"""Models and steppers that only the numbers are compared of."""
TORQUES = {"shoulder.tau": 7.0, "elbow.tau": -2.0}
WARNING, DISCARD, ERROR = fmi2.fmi2Warning, fmi2.fmi2Discard, fmi2.fmi2Error


@pytest.fixture
def slave() -> Iterator[Instance]:
    """An initialised instance of the arm."""
    with Instance(unpacked(ARM)) as instance:
        yield instance.start(TORQUES)


def inputs_of(fmu: Unpacked, scale: float = 1.0) -> dict[str, float]:
    """Return different values for all inputs."""
    return {name: scale * (k + 1) for k, name in enumerate(fmu.names("input"))}


# -- the same numbers -----------------------------------------------------------------------------------------------


def varied_run(fmu: Unpacked) -> tuple[list[tuple[float, ...]], list[Message]]:
    """Run with changing steps and inputs."""
    with Instance(fmu) as slave:
        slave.start(inputs_of(fmu, 0.3))
        time, rows = 0.0, [slave.get()]
        for k in range(60):
            size = (1e-3, 2.5e-3, 4e-4)[k % 3]
            slave.set(inputs_of(fmu, 0.1 * math.sin(k)))
            slave.step(time, size)
            time += size
            rows.append(slave.get())
        return rows, slave.messages


@pytest.mark.parametrize("case", thorough(zip([*DERIVED, *OTHERS]), lambda case: case in FEW), ids=label)
def test_native_and_pythonfmu_give_the_same_numbers(case: Case) -> None:
    (native, silence), (python, _) = (varied_run(unpacked(case, backend)) for backend in ("native", "python"))
    assert silence == []
    np.testing.assert_allclose(native, python, rtol=1e-12, atol=1e-12)


@examples()
@given(data=st.data())
def test_a_list_of_variables_in_any_order_gives_what_each_gives_alone(data: st.DataObject) -> None:
    """Values that lie side by side are copied at once: runs, runs cut short or broken, and single ones."""
    with Instance(unpacked(ARM)) as slave:
        slave.start(TORQUES)
        known = slave.fmu.names("output", "local", "input", "parameter")
        first = data.draw(st.integers(0, len(known) - 1))
        names = known[first : data.draw(st.integers(first + 1, len(known)))]
        for _ in range(data.draw(st.integers(0, 3))):
            names.insert(data.draw(st.integers(0, len(names))), data.draw(st.sampled_from(known)))
        alone = [slave.get([name])[0] for name in names]
        assert slave.slave.getReal([slave.fmu.references[name] for name in names]) == alone


@pytest.mark.parametrize("run", [run_fmpy, run_libcosim, run_ecos])
def test_every_master_gives_the_series_of_the_pythonfmu_fmu(run: Callable[..., Array], tmp_path: Path) -> None:
    names = ("shoulder.phi", "elbow.phi", "shoulder.w", "energy.total", "link2.r_0[1]")
    native = run(ARM.export(tmp_path / "native.fmu", backend="native"), TORQUES, names, stop=0.3)
    python = run(ARM.export(tmp_path / "python.fmu"), TORQUES, names, stop=0.3)
    np.testing.assert_allclose(native, python, rtol=1e-12, atol=1e-12)


def test_a_step_that_cannot_be_done_stops_a_master_without_a_crash(tmp_path: Path) -> None:
    fmu = ARM.export(tmp_path / "two_link.fmu", backend="native")
    for run in (run_fmpy, run_libcosim):
        with pytest.raises(MasterError, match=r"two_link: no step from t = 0 s") as caught:
            run(fmu, {"shoulder.tau": 1e90}, ("shoulder.phi",), stop=0.01)
        assert caught.value.status == 1
    ignored = run_ecos(fmu, {"shoulder.tau": 1e90}, ("shoulder.phi", "shoulder.w"), stop=0.01)
    assert np.all(ignored == 0.0)


def test_two_instances_in_two_threads_equal_one_alone() -> None:
    arm = unpacked(ARM)
    with Instance(arm) as slave:
        expected = slave.start(TORQUES).run(0, 200, H)
    assert run_in_two_threads(arm, TORQUES, 200, H) == [expected, expected]


def test_a_reset_gives_the_first_run_again_bitwise(slave: Instance) -> None:
    first = slave.run(0, 5, H)
    slave.set({"world.g": 1.6, "elbow.tau": math.nan})
    slave.slave.reset()
    assert slave.start(TORQUES).run(0, 5, H) == first


# -- the same sentences ---------------------------------------------------------------------------------------------

MISTAKES: dict[str, Any] = {
    "values": lambda slave: slave.set(
        {"shoulder.tau": math.nan, "elbow.tau": -1e200, "l1": 3.5, "solver.step": -1.0, "energy.total": 1e-7,
         "shoulder.phi": 0.1 + 0.2, "time": -0.0, "world.g": math.inf, "link1.m": 1234567890123456789.0}
    ),
    "no time": lambda slave: slave.step(math.nan, H),
    "a later time": lambda slave: slave.step(0.1, H),
    "an earlier time": lambda slave: slave.step(-H / 3, H),
    "infinite time": lambda slave: slave.step(math.inf, H),
    "no size": lambda slave: slave.step(0.0, -2.5),
    "too long": lambda slave: slave.step(0.0, 2.0**64),
    "more steps than end soon": lambda slave: slave.step(0.0, 1e5),
    "torque": lambda slave: (slave.set({"shoulder.tau": 1e90}), slave.step(0.0, H)),
    "infinite torque": lambda slave: (slave.set({"shoulder.tau": -1e99, "elbow.tau": 1e99}), slave.step(0.0, H)),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_the_words_of_the_pythonfmu_fmu(mistake: str) -> None:
    told = []
    for backend in ("native", "python"):
        with Instance(unpacked(ARM, backend)) as slave:
            slave.start(TORQUES)
            before = slave.get(["shoulder.phi", "elbow.w"])
            for act in (MISTAKES[mistake], lambda slave: slave.step(0.0, H)):
                status = status_of(act, slave)
                assert status in {0, DISCARD}
                if status:
                    assert slave.get(["shoulder.phi", "elbow.w"]) == before
            told.append([(item.status, item.category, item.text) for item in slave.messages])
    assert told[0] == told[1]
    assert told[0]


def test_an_impossible_start_is_refused_with_the_words_of_the_pythonfmu_fmu() -> None:
    told = []
    for backend in ("native", "python"):
        with Instance(unpacked(Case("slider_crank", "gauss", (), "joint"), backend)) as slave:
            slave.enter({"l2": 0.1}, time=2.5)
            assert refused(slave.slave.exitInitializationMode) >= ERROR
            told.append(slave.messages[-1].text)
            slave.slave.reset()
            slave.start().step(0.0, H)
    assert told[0].partition("(")[0] in told[1]


def test_what_may_not_be_tuned_is_said_when_it_is_set_in_the_same_words() -> None:
    told = []
    for backend in ("native", "python"):
        with Instance(unpacked(ARM, backend)) as slave:
            slave.start()
            for name in ("m2", "l1", "link2.m", "shoulder.phi"):
                slave.set({name: 0.25})
            told.append([item.text for item in slave.messages])
    assert told[0] == told[1]
    for text, part in zip(told[0], ("'rattle' keeps momenta", "positions of bodies", "computed", "start"), strict=True):
        assert part in text


def test_a_call_out_of_place_is_an_error_that_says_so() -> None:
    with Instance(unpacked(ARM)) as slave:
        assert refused(slave.step, 0.0, H) == ERROR
        assert slave.messages[-1].text == "two_link: a step before the initialisation is finished"
        assert refused(slave.get) == ERROR
        assert slave.messages[-1].text == "two_link: fmi2GetReal may not be called before the initialisation mode"
        slave.start(TORQUES)
        assert refused(slave.slave.enterInitializationMode) == ERROR
        assert {item.category for item in slave.messages} == {"logStatusError"}


def test_the_log_gives_a_refused_value_the_status_that_the_call_returns(slave: Instance) -> None:
    """FMI 2.0.4, 2.1.3: after fmi2Warning the computation can go on, after fmi2Error it cannot."""
    reference = (ctypes.c_uint32 * 1)(slave.fmu.references["shoulder.tau"])
    status = slave.slave.fmi2SetReal(slave.slave.component, reference, 1, (ctypes.c_double * 1)(math.nan))
    assert status == WARNING
    assert [(item.status, item.category) for item in slave.messages] == [(WARNING, "logStatusWarning")]


def test_only_the_chosen_categories_are_told(slave: Instance) -> None:
    slave.slave.setDebugLogging(True, ["logStatusDiscard"])
    slave.set({"shoulder.tau": math.nan})
    assert refused(slave.step, 0.0, H) == DISCARD
    assert [item.category for item in slave.messages] == ["logStatusDiscard"]
    slave.slave.setDebugLogging(False, [])
    assert refused(slave.step, 0.0, H) == DISCARD
    assert len(slave.messages) == 1


@pytest.mark.parametrize("sign", ["é", "€", "𝄞"])
def test_a_message_that_is_too_long_ends_at_a_character(sign: str, slave: Instance) -> None:
    for shift in range(len(sign.encode())):
        assert refused(slave.slave.setDebugLogging, True, ["x" * shift + 2000 * sign]) == ERROR
        told = slave.messages[-1].text
        assert told.startswith(f"two_link: there is no log category '{'x' * shift}{sign}")
        assert told.endswith(sign)
        assert 1990 < len(told.encode()) < 2000
    assert refused(slave.slave.setDebugLogging, True, [sign]) == ERROR
    assert slave.messages[-1].text == f"two_link: there is no log category '{sign}'"


def test_a_discarded_step_ends_where_it_began(slave: Instance) -> None:
    rows = slave.run(0, 2, H)
    assert slave.slave.getStatus(fmi2.fmi2DoStepStatus) == fmi2.fmi2OK
    assert refused(slave.step, 2 * H, math.nan) == DISCARD
    assert slave.slave.getStatus(fmi2.fmi2DoStepStatus) == DISCARD
    assert slave.slave.getRealStatus(fmi2.fmi2LastSuccessfulTime) == 2 * H
    assert slave.get() == rows[-1]


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize(("time", "size"), [(1e16, H), (-1e16, H), (1e-3, 1e-20)])
def test_a_communication_step_below_the_round_off_of_the_time_is_discarded(
    time: float, size: float, backend: str
) -> None:
    with Instance(unpacked(ARM, backend)) as slave:
        slave.start(time=time)
        assert refused(slave.step, time, size) == DISCARD
        wanted = f"a communication step of {size} s is below the round-off of the time t = {time} s"
        assert wanted in slave.messages[-1].text
        slave.step(time, 4.0)
        assert slave.get(["time"]) == (time + 4.0,)


def test_mbfmu_check_finds_nothing_wrong_with_a_native_fmu(tmp_path: Path) -> None:
    assert check(ARM.export(tmp_path / "two_link.fmu", backend="native")) == []


# -- state ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", thorough(zip(DERIVED), lambda case: case in FEW), ids=label)
def test_a_serialised_state_repeats_ten_steps_bitwise_in_another_instance(case: Case) -> None:
    fmu = unpacked(case)
    with Instance(fmu) as one, Instance(fmu) as other:
        one.start(inputs_of(fmu, 0.5)).step(0.0, H)
        data, there = one.save(), one.get()
        first = one.run(1, 10, H)
        other.restore(data)
        assert other.get() == there
        assert other.run(1, 10, H) == first
        assert other.save() == one.save()


def test_a_state_also_repeats_what_was_refused(slave: Instance) -> None:
    slave.set({"shoulder.tau": math.nan})
    data = slave.save()
    slave.set({"shoulder.tau": 7.0})
    slave.step(0.0, H)
    slave.restore(data)
    assert refused(slave.step, 0.0, H) == DISCARD


@pytest.mark.parametrize("where", [0, 9, 17, 25, 33, 60, 100, 500, -30, -1])
def test_a_state_with_one_damaged_byte_is_refused_and_changes_nothing(where: int, slave: Instance) -> None:
    before, data = slave.get(), bytearray(slave.save())
    data[where] ^= 0x10
    assert refused(slave.restore, bytes(data)) == ERROR
    assert slave.messages[-1].text == "two_link: the state is damaged"
    assert slave.get() == before


@pytest.mark.parametrize("keep", [0, 1, 40, 100, -1])
def test_a_state_that_is_cut_off_is_refused(keep: int, slave: Instance) -> None:
    assert refused(slave.restore, slave.save()[:keep]) == ERROR
    assert slave.messages[-1].text == "two_link: the state is damaged"


HEAD = struct.Struct("<8sQQQ40s")
"""Head of a state: magic number, version, size, checksum and owner."""
FORGED: dict[str, tuple[int, str, float]] = {
    "phase 0": (0, "q", 0), "two phases": (0, "q", 6), "phase 32": (0, "q", 32), "negative phase": (0, "q", -4),
    "outcome 9": (8, "q", 9), "refused before the first": (16, "q", -1), "refused beyond the last": (16, "q", 10**6),
    "time": (24, "d", math.nan), "step 0": (40, "d", 0.0), "step NaN": (40, "d", math.nan),
}  # fmt: skip
"""Offset in the state, and value, of members that no FMU saves."""


def signed(data: bytes | bytearray) -> bytes:
    """Return a state with the checksum that belongs to its other bytes: FNV-1a."""
    magic, version, size, _, owner = HEAD.unpack_from(data)
    total = 14695981039346656037
    for byte in data[:24] + data[32:]:
        total = (total ^ byte) * 1099511628211 % 2**64
    return HEAD.pack(magic, version, size, total, owner) + bytes(data[HEAD.size :])


def forged(data: bytes, offset: int, form: str, value: float) -> bytes:
    """Return a state with another value at an offset behind its head, and the checksum that belongs to it."""
    changed = bytearray(data)
    struct.pack_into(f"<{form}", changed, HEAD.size + offset, value)
    return signed(changed)


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_state_is_refused_and_changes_nothing(case: str, slave: Instance) -> None:
    slave.step(0.0, H)
    before, data = slave.get(), slave.save()
    assert signed(data) == data
    assert refused(slave.restore, forged(data, *FORGED[case])) == ERROR
    assert slave.messages[-1].text == "two_link: the state is damaged"
    assert slave.get() == before


@pytest.mark.parametrize("where", [-1, 10**6])
def test_a_forged_refusal_is_refused(where: int, slave: Instance) -> None:
    slave.set({"shoulder.tau": math.nan})
    data = slave.save()
    offset = data.index(struct.pack("<qq", slave.fmu.references["shoulder.tau"], 1)) - HEAD.size
    assert refused(slave.restore, forged(data, offset, "q", where)) == ERROR
    assert refused(slave.restore, forged(data, offset + 8, "q", where)) == ERROR


@pytest.mark.parametrize("other", [Case("two_link", "local"), DERIVED[3]], ids=label)
def test_a_state_of_another_fmu_is_refused(other: Case, slave: Instance) -> None:
    with Instance(unpacked(other)) as stranger:
        data = stranger.start().save()
    assert refused(slave.restore, data) == ERROR
    assert slave.messages[-1].text == "two_link: the state belongs to another FMU"


# -- derivatives ----------------------------------------------------------------------------------------------------


def directional(slave: Instance, unknown: list[str], known: list[str]) -> Array:
    """Return the matrix of derivatives, a column for each known."""
    at = slave.fmu.references
    columns = [
        slave.slave.getDirectionalDerivative([at[name] for name in unknown], [at[name]], [1.0]) for name in known
    ]
    return np.array(columns).T


def differences(known: list[str], values: tuple[float, ...], outputs: Callable[[dict[str, float]], Any]) -> Array:
    """Return the same matrix from central differences of order 4."""
    columns = []
    for name, value in zip(known, values, strict=True):
        e = 1e-4 * max(abs(value), 0.1)
        y = {k: np.array(outputs({name: value + k * e})) for k in (-2, -1, 1, 2)}
        columns.append((8 * (y[1] - y[-1]) - (y[2] - y[-2])) / (12 * e))
    return np.array(columns).T


def assert_close(found: Array, expected: Array) -> None:
    """To 1e-6, relative to each entry and, as differences of large numbers are rough, to the largest in its column."""
    scale = np.abs(expected) + 1e-2 * np.max(np.abs(expected), axis=0, keepdims=True) + 1e-3
    assert np.max(np.abs(found - expected) / scale) < 1e-6


REAL_TIME = (
    (ARM, 1),
    (ARM, 2),
    (Case("two_link", "rattle", (("iteration", "simplified"),)), 1),
    (Case("two_link", "local"), 1),
    (Case("slider_crank", "radau", (), "absolute"), 1),
    (Case("slider_crank", "gauss", (), "joint"), 2),
    (Case("slider_crank", "generalized_alpha", (), "joint"), 1),
)
"""Steppers with a number of corrections that leaves part of the equations unsolved."""


@pytest.mark.parametrize(
    ("case", "corrections"),
    thorough(
        [*((case, None) for case in DERIVED), *REAL_TIME],
        lambda case, corrections: (
            case in FEW if corrections is None else (case, corrections) in (REAL_TIME[0], REAL_TIME[3])
        ),
    ),
    ids=lambda item: label(item) if isinstance(item, Case) else str(item),
)
def test_directional_derivatives_after_a_step_are_those_of_what_the_step_gives(
    case: Case, corrections: int | None
) -> None:
    """With a fixed number of corrections too: of what these give, not of the solution they are on the way to."""
    fmu, h = unpacked(case, real_time=corrections), 0.02 if corrections else 0.01
    known = fmu.names("input") + [
        name
        for name in fmu.names("parameter")
        if fmu.variables[name].variability == "tunable" and not name.startswith("solver.")
    ]
    with Instance(fmu) as slave:
        slave.start({**inputs_of(fmu, 0.3), "solver.step": h}).run(0, 4, h)
        shown, state, values = fmu.shown, slave.slave.getFMUstate(), slave.get(known)

        def outputs(change: dict[str, float]) -> tuple[float, ...]:
            slave.slave.setFMUstate(state)
            slave.set(change)
            slave.step(4 * h, h)
            return slave.get(shown)

        expected = differences(known, values, outputs)
        outputs({})
        assert_close(directional(slave, shown, known), expected)
        data = slave.save()
    with Instance(fmu) as other:  # a state takes the last step with it
        other.restore(data)
        assert_close(directional(other, shown, known), expected)


def test_few_corrections_have_another_derivative_than_the_solution() -> None:
    """So that the law above can fail: at this step the two differ by more than it allows."""
    found = []
    for corrections in (1, 20):
        with Instance(unpacked(ARM, real_time=corrections)) as slave:
            slave.start({**TORQUES, "solver.step": 0.02}).run(0, 5, 0.02)
            found.append(directional(slave, ["shoulder.phi", "elbow.phi", "elbow.w"], ["shoulder.tau"]))
    assert np.max(np.abs(found[0] - found[1])) > 1e-5


@pytest.mark.parametrize("case", thorough(zip(DERIVED), lambda case: case in FEW), ids=label)
def test_directional_derivatives_in_the_initialisation_go_through_the_consistent_start(case: Case) -> None:
    fmu = unpacked(case)
    starts = [name for name in fmu.names("output", "local") if fmu.variables[name].initial == "exact"]
    known = [name for name in fmu.names("input", "parameter") if not name.startswith("solver.")] + starts
    with Instance(fmu) as slave:
        slave.enter(inputs_of(fmu, 0.3))
        values = slave.get(known)

        def outputs(change: dict[str, float]) -> tuple[float, ...]:
            slave.set({**dict(zip(known, values, strict=True)), **change})
            return slave.get()

        expected = differences(known, values, outputs)
        outputs({})
        assert_close(directional(slave, slave.shown, known), expected)
        slave.slave.exitInitializationMode()
        inputs = fmu.names("input")
        assert_close(directional(slave, slave.shown, inputs), expected[:, [known.index(name) for name in inputs]])


def test_a_directional_derivative_is_linear_in_its_direction(slave: Instance) -> None:
    slave.run(0, 3, H)
    at, known = slave.fmu.references, ["shoulder.tau", "elbow.tau", "world.g"]
    direction = [0.5, -2.0, 3.0]
    matrix = directional(slave, slave.shown, known)
    found = slave.slave.getDirectionalDerivative(
        [at[name] for name in slave.shown], [at[name] for name in known], direction
    )
    np.testing.assert_allclose(found, matrix @ direction, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_an_fmu_without_derivatives_has_the_same_steps_in_less_code_and_refuses_them(fmi: str, tmp_path: Path) -> None:
    whole, without = (
        Unpacked(
            mbfmu.export("two_link", tmp_path / f"{kept}.fmu", backend="native", fmi=fmi, derivatives=kept),
            tmp_path / str(kept),
        )
        for kept in (True, False)
    )
    assert (whole.folder / "sources/tangent.c").exists()
    assert not (without.folder / "sources/tangent.c").exists()
    assert "Derivatives=" not in (without.folder / "modelDescription.xml").read_text(encoding="utf-8")
    first, second = (mbfmu.simulate(tmp_path / f"{kept}.fmu", stop=0.01, step=H) for kept in (True, False))
    assert all(np.array_equal(first[name], second[name]) for name in ("time", "elbow.phi", "elbow.a"))
    if fmi == "2.0":
        with Instance(without) as slave:
            slave.start().step(0.0, H)
            assert refused(directional, slave, ["elbow.phi"], ["shoulder.tau"]) == ERROR
            assert "exported without derivatives" in slave.messages[-1].text
            slave.slave.setRealInputDerivatives([without.references["shoulder.tau"]], [1], [1.0])


def test_what_cannot_be_known_is_refused_by_name(slave: Instance) -> None:
    for name in ("l1", "shoulder.phi", "solver.step", "elbow.a"):
        assert refused(directional, slave, ["elbow.phi"], [name]) == ERROR
        assert f"differentiated by {name} after the initialisation" in slave.messages[-1].text


@pytest.mark.parametrize("case", thorough(zip(DERIVED), lambda case: case in FEW), ids=label)
def test_output_derivatives_are_the_rates_of_change_along_the_motion(case: Case) -> None:
    fmu = unpacked(case)
    with Instance(fmu) as slave:
        slave.start(inputs_of(fmu, 0.3)).run(0, 5, 0.01)
        shown = [name for name in slave.shown if not name.startswith("constraint")]
        inputs = [fmu.references[name] for name in fmu.names("input")]
        slave.slave.setRealInputDerivatives(inputs, [1] * len(inputs), [2.0] * len(inputs))
        rates = np.array(slave.slave.getRealOutputDerivatives([fmu.references[n] for n in shown], [1] * len(shown)))
        by_name, y = dict(zip(shown, rates, strict=True)), dict(zip(shown, slave.get(shown), strict=True))
        for name in shown:
            of = fmu.variables[name].derivative
            if of is not None and of.name in by_name:
                assert by_name[of.name] == pytest.approx(y[name], rel=1e-9, abs=1e-9), name
        e, state, rows = 2e-4, slave.slave.getFMUstate(), [np.array(slave.get(shown))]
        for k in range(1, 5):
            slave.slave.setFMUstate(state)
            slave.step(0.05, k * e)
            rows.append(np.array(slave.get(shown)))
        expected = (-25 * rows[0] + 48 * rows[1] - 36 * rows[2] + 16 * rows[3] - 3 * rows[4]) / (12 * e)
    np.testing.assert_allclose(rates, expected, rtol=1e-4, atol=1e-4 * np.max(np.abs(expected)))


def test_inputs_with_a_derivative_are_a_ramp_that_goes_on(slave: Instance) -> None:
    """One step of a ramp is ten steps of its tenths; afterwards the inputs stand where the ramp has come to."""
    at = [slave.fmu.references[name] for name in TORQUES]
    state = slave.slave.getFMUstate()
    slave.slave.setRealInputDerivatives(at, [1, 1], [100.0, -50.0])
    slave.step(0.0, 10 * H)
    once = slave.get()
    assert slave.get(TORQUES) == (7.0 + 100.0 * 10 * H, -2.0 - 50.0 * 10 * H)
    slave.slave.setFMUstate(state)
    slave.slave.setRealInputDerivatives(at, [1, 1], [100.0, -50.0])
    for k in range(10):
        slave.step(k * H, H)
    assert slave.get() == pytest.approx(once, rel=1e-11, abs=1e-11)
    slave.slave.setFMUstate(state)
    slave.step(0.0, 10 * H)
    assert abs(slave.get(["shoulder.w"])[0] - once[slave.shown.index("shoulder.w")]) > 1e-4


# -- real time ------------------------------------------------------------------------------------------------------


def test_in_real_time_every_step_does_the_passes_it_was_told_and_says_what_they_leave() -> None:
    exact, few, many = unpacked(ARM), unpacked(ARM, real_time=1), unpacked(ARM, real_time=4)
    with Instance(exact) as a, Instance(few) as b, Instance(many) as c:
        expected = a.start(TORQUES).run(0, 200, H)
        rough = b.start(TORQUES).run(0, 200, H, a.shown)
        close = c.start(TORQUES).run(0, 200, H, a.shown)
        assert 1e-12 < b.get(["solver.correction"])[0] < 1e-3
        assert c.get(["solver.correction"])[0] < 1e-14
        assert {item.category for item in b.messages} == {"logStatusWarning"}
        assert c.messages == []
    np.testing.assert_allclose(close, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(rough, expected, rtol=1e-2, atol=1e-2)


def test_in_real_time_a_step_that_fails_is_not_tried_again() -> None:
    with Instance(unpacked(ARM, real_time=4)) as slave:
        slave.start({"shoulder.tau": 1e90})
        assert refused(slave.step, 0.0, H) == DISCARD
        assert "halved" not in slave.messages[-1].text
        assert slave.set({"solver.tolerance": 1e-6}) is None
        assert "outside its bounds [0.0, 0.0]" in slave.messages[-1].text


@pytest.mark.parametrize(
    "wrong", [{"backend": "C"}, {"real_time": 3}, {"backend": "native", "platforms": ["vax"]},
              {"backend": "native", "real_time": 2, "tolerance": 1e-6}],
)  # fmt: skip
def test_an_export_that_cannot_be_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        mbfmu.export(mbfmu.load("two_link"), tmp_path / "two_link.fmu", **wrong)


# -- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Run `mbfmu export two_link ARGUMENTS` in this process: the status, and what it says on stderr."""

    def in_this_process(*arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["mbfmu", "export", "two_link", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return int(caught.value.code or 0), capfd.readouterr().err

    return in_this_process


def test_the_command_line_exports_a_native_fmu_for_this_machine(
    tmp_path: Path, command: Callable[..., tuple[int, str]]
) -> None:
    assert command("--backend", "native", "--real-time", "--passes", "3", "-o", "arm.fmu") == (0, "")
    fmu = Unpacked(tmp_path / "arm.fmu", tmp_path / "arm")
    assert [path.name for path in (fmu.folder / "binaries").iterdir()] == [
        *VERSIONS["2.0"].tuples[default_platforms()[0]]
    ]
    assert fmu.variables["solver.correction"].description.startswith("size of the last of 3 corrections")
    description = fmu.description.coSimulation
    assert description.canInterpolateInputs
    assert description.maxOutputDerivativeOrder == 1
    assert description.providesDirectionalDerivative
    with Instance(fmu) as slave:
        slave.start().step(0.0, H)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--backend", "rust"), "there is no back end 'rust'"),
        (
            ("--backend", "native", "--platform", "linux46"),
            "the native back end makes no binary for 'linux46'; did you",
        ),
        (("--platform", "darwin64"), "pythonfmu has no loader for 'darwin64'"),
        (("--backend", "native", "--scalars"), "FMI 2.0 has no arrays to leave out"),
        (("--real-time",), "real time needs the native back end"),
        (("--backend", "native", "--real-time", "--passes", "0"), "at least one correction"),
        (("--backend", "native", "--passes", "3"), "--passes goes with --real-time"),
        (("--backend", "native", "--real-time", "--tolerance", "1e-6"), "not bounded work"),
    ],
)
def test_a_mistake_on_the_command_line_is_worth_one_line(
    arguments: tuple[str, ...], words: str, tmp_path: Path, command: Callable[..., tuple[int, str]]
) -> None:
    status, said = command(*arguments)
    assert status != 0
    assert words in " ".join(said.split())
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
