"""FMUs of both back ends are one: the same bits, the same messages, and states that go from one to the other."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from masters import Instance, Unpacked, needs_loader, status_of

import mbfmu

pytestmark = needs_loader
H = 2e-3
MODELS = ("two_link", "woodpecker", "sampled_pid_two_link", "hydraulic_servo")
"""Models without and with events, with sampled blocks, and with first-order states."""

Both = tuple[Unpacked, Unpacked]


@pytest.fixture(scope="module", params=MODELS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A model as an FMU of either back end, unpacked."""
    folder = tmp_path_factory.mktemp("both")
    first, second = (
        Unpacked(mbfmu.export(request.param, folder / f"{backend}.fmu", backend=backend), folder / backend)
        for backend in ("python", "native")
    )
    return first, second


def driven(slave: Instance, first: int, n: int) -> list[tuple[float, ...]]:
    """Return all values after each of n steps under inputs that change."""
    rows, inputs = [], [name for name in slave.fmu.names("input") if slave.fmu.variables[name].type == "Real"]
    for k in range(first, first + n):
        slave.set({name: 0.1 * math.sin(k + place) for place, name in enumerate(inputs)})
        rows.extend(slave.run(k, 1, H))
    return rows


def test_an_fmu_of_pythonfmu_runs_in_a_folder_of_any_name(
    two_link_fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loader decodes of a URI spaces alone."""
    wanted = mbfmu.simulate(two_link_fmu, 0.02)
    folder = tmp_path / "a +(1)#,\u00e9"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert mbfmu.simulate(two_link_fmu, 0.02)["shoulder.phi"][-1] == wanted["shoulder.phi"][-1]


def test_both_back_ends_have_the_same_bits(both: Both) -> None:
    runs = []
    for fmu in both:
        with Instance(fmu) as slave:
            runs.append(driven(slave.start(), 0, 200))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("back", [False, True], ids=["to native", "to python"])
def test_a_state_goes_on_in_an_fmu_of_the_other_back_end_bitwise(back: bool, both: Both) -> None:
    one, other = reversed(both) if back else both
    with Instance(one) as slave, Instance(other) as second:
        driven(slave.start(), 0, 50)
        data = slave.save()
        second.restore(data)
        assert second.save() == data
        assert driven(second, 50, 50) == driven(slave, 50, 50)


def wrong_calls(slave: Instance) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return calls that are refused, with their arguments, for an initialised instance; the last ends the run."""
    fmu, master = slave.fmu, slave.slave
    real = [item.name for item in fmu.description.modelVariables if item.type == "Real"]
    fixed = [name for name in real if fmu.variables[name].variability == "fixed" and name in fmu.names("parameter")]
    return [
        (slave.step, (0.0, math.nan)),
        (slave.step, (0.0, -H)),
        (slave.step, (7.0, H)),
        (slave.step, (0.0, 1e9)),
        (slave.set, ({"solver.step": -1.0},)),
        (slave.step, (0.0, H)),
        (slave.set, ({"solver.step": 1e-3},)),
        (slave.set, ({"time": 1.0},)),
        (slave.step, (0.0, H)),
        (slave.set, (dict.fromkeys(fmu.names("input")[:1], math.inf),)),
        (slave.set, (dict.fromkeys(fmu.names("output")[:1], 1.0),)),
        *((slave.set, ({name: float(fmu.variables[name].start) + 1.0},)) for name in fixed[:1]),
        (master.getReal, ([99999],)),
        (master.setReal, ([99999], [1.0])),
        (master.getInteger, ([fmu.references["time"]],)),
        (master.getString, ([0],)),
        (slave.restore, (b"nonsense",)),
        (master.terminate, ()),
        (slave.step, (0.0, H)),
    ]


def test_both_back_ends_say_the_same_about_wrong_calls(both: Both) -> None:
    """Pythonfmu puts the message of a refused call into a sentence of its own."""
    told: list[list[list[str]]] = []
    for fmu in both:
        with Instance(fmu) as slave:
            slave.start()
            said = []
            for call, arguments in wrong_calls(slave):
                slave.messages.clear()
                status_of(call, *arguments)
                said.append([item.text for item in slave.messages])
            told.append(said)
    python, native = told
    assert len(list(filter(None, native))) > 10
    assert list(map(len, python)) == list(map(len, native))
    for ours, theirs in zip(python, native, strict=True):
        for text, expected in zip(ours, theirs, strict=True):
            assert expected in text, text


def test_both_back_ends_say_the_same_about_a_start_that_is_impossible(both: Both) -> None:
    told = []
    for fmu in both:
        with Instance(fmu) as slave:
            slave.enter(dict.fromkeys(fmu.names("parameter")[:1], math.nan))
            assert status_of(slave.slave.exitInitializationMode) > 2
            told.append([item.text for item in slave.messages])
    assert len(told[0]) == len(told[1]) > 1
    assert all(expected in text for text, expected in zip(*told, strict=True))


def test_a_step_past_the_stop_time_that_a_master_has_set_is_refused(both: Both) -> None:
    """Pythonfmu has no error status for a step, so that its FMUs discard it."""
    told = []
    for fmu in both:
        with Instance(fmu) as slave:
            slave.slave.setupExperiment(startTime=0.0, stopTime=3 * H)
            slave.slave.enterInitializationMode()
            slave.slave.exitInitializationMode()
            slave.run(0, 2, H)
            before = slave.get()
            told.append(status_of(slave.step, 2 * H, 1.1 * H))
            assert slave.get() == before
            slave.run(2, 1, H)
            told.append(status_of(slave.step, 3 * H, H))
            assert len(slave.messages) == 2
            assert all("past t = 0.006 s, the stop time" in item.text for item in slave.messages)
            slave.slave.reset()
            slave.start().run(0, 5, H)
    assert told == [2, 2, 3, 3]
