"""Bounds of calculated parameters: held in runs, batches and FMUs, where values of the parameters may leave them."""

import re
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from exchanging import Exchanged
from fmpy import fmi2
from harness import examples
from hypothesis import given
from hypothesis import strategies as st
from masters import Instance, Unpacked, refused

import mbfmu
from mbfmu.dae.calculated import reach
from mbfmu.errors import ValueRangeError
from mbfmu.model import Block
from mbfmu.prepared.prepare import prepare

THICK = {"d": 0.07}
"""A rod that is thicker than the bore of the cylinder."""
SAID = r"A_b = -0\.000731\d* m2 is outside its bounds 0 to inf m2; change the parameters it depends on"
FAR = np.inf
RANGES = [
    (-FAR, FAR),
    (0.0, FAR),
    (0.5, FAR),
    (-FAR, 0.0),
    (-3.0, -1.0),
    (-1.0, 2.0),
    (0.0, 0.5),
    (0.5, 2.0),
    (2.0, 2.0),
]


@pytest.fixture(scope="module")
def cylinder() -> Block:
    return mbfmu.load("cylinder")


@examples()
@given(st.data())
def test_the_range_of_an_expression_holds_its_values(data: st.DataObject) -> None:
    ranges = {name: data.draw(st.sampled_from(RANGES)) for name in "abc"}
    values = [data.draw(st.floats(max(low, -1e3), min(high, 1e3))) for low, high in ranges.values()]
    terms = [ca.SX.sym(name) for name in ranges]
    given = ca.vertcat(*terms)
    for _ in range(data.draw(st.integers(1, 6))):
        a, b = data.draw(st.sampled_from(terms)), data.draw(st.sampled_from(terms))
        kinds = [a + b, a - b, a * b, a / b, -a, 2 * a, a**2, ca.sqrt(a), ca.fabs(a), ca.exp(a), ca.sin(a), a - 0.25]
        terms.append(data.draw(st.sampled_from(kinds)))
    value = float(ca.Function("value", [given], [terms[-1]])(values))
    least, greatest = reach(terms[-1], ranges)
    room = 1e-12 * abs(value)
    assert np.isnan(value) or least - room <= value <= greatest + room


@pytest.mark.parametrize("name", ["two_link", "slider_crank", "chain", "stewart"])
def test_bounds_that_no_parameters_can_leave_are_not_checked(name: str) -> None:
    assert prepare(mbfmu.load(name), None, None, 1e-3).outline.bounds == ()


def test_a_batch_refuses_the_instance_with_such_parameters(cylinder: Block) -> None:
    with pytest.raises(ValueRangeError, match=f"instance 1: cylinder: {SAID}"):
        mbfmu.Simulation(cylinder, batch=2, values={"d": np.array([0.03, THICK["d"]])})
    batch = mbfmu.Simulation(cylinder, batch=2, values={"d": np.array([0.03, 0.04])})
    with pytest.raises(ValueRangeError, match=f"instance 1: cylinder: {SAID}"):
        batch.restart([1], values=THICK)


def test_the_row_of_a_sweep_with_such_parameters_fails(cylinder: Block) -> None:
    rows = mbfmu.sweep(cylinder, 0.01, measures={"f": "max(f)"}, vary={"d": (0.03, *THICK.values(), 0.05)})
    assert [bool(row.failure) for row in rows] == [False, True, False]
    assert re.match(f"cylinder: {SAID}", rows[1].failure)


@pytest.mark.parametrize("backend", ["python", "native"])
def test_an_fmu_holds_the_bounds_at_its_start_and_when_parameters_are_set_later(
    backend: str, cylinder: Block, tmp_path: Path
) -> None:
    fmu = Unpacked(mbfmu.export(cylinder, tmp_path / "cylinder.fmu", backend=backend), tmp_path / "cylinder")
    with Instance(fmu) as run:
        refused(lambda: run.start(THICK))
        assert re.search(f"cylinder: {SAID}", run.messages[-1].text)
    with Instance(fmu).start() as run:
        run.step(0.0, 0.01)
        saved = run.slave.getFMUstate()
        run.set(THICK)
        for _ in range(2):
            assert refused(lambda: run.step(0.01, 0.01)) == fmi2.fmi2Discard
            assert re.search(f"cylinder: {SAID}", run.messages[-1].text)
        run.slave.setFMUstate(saved)
        run.step(0.01, 0.01)
        run.set({"d": 0.03})
        run.step(0.02, 0.01)
        assert run.get(["A_b"])[0] == pytest.approx(np.pi / 4 * (0.063**2 - 0.03**2))


def test_model_exchange_holds_them_too(cylinder: Block, tmp_path: Path) -> None:
    path = mbfmu.export(cylinder, tmp_path / "cylinder.fmu", backend="native", kind="me")
    fmu = Unpacked(path, tmp_path / "cylinder")
    with Exchanged(fmu) as run:
        refused(lambda: run.start(THICK))
        assert re.search(f"cylinder: {SAID}", run.messages[-1].text)
    with Exchanged(fmu).start() as run:
        states = run.states
        before = list(run.rates(0.0, states))
        run.model.enterEventMode()
        run.set(THICK)
        run.update()
        refused(lambda: run.rates(0.0, states))
        assert re.search(f"cylinder: {SAID}", run.messages[-1].text)
        run.model.enterEventMode()
        run.set({"d": 0.036})
        run.update()
        assert list(run.rates(0.0, states)) == before
