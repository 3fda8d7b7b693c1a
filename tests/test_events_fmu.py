"""FMUs of mechanisms that hit, stick and stop: both back ends, their states, derivatives and messages."""

import math
from pathlib import Path

import pytest
from fmpy import fmi2
from masters import Instance, Unpacked, refused, run_fmpy
from struck import ball, stick_slip, tow

import mbfmu
from mbfmu.checker import check
from mbfmu.model.contact import Contact
from mbfmu.model.lagrangian import Coordinate, LagrangianSystem
from mbfmu.model.parameter import Parameter

MODELS = {"ball": ball(), "stick_slip": stick_slip(), "tow": tow()}
SHOWN = {
    "ball": ["y", "der(y)", "ground.gap", "ground.f_n", "events.time"],
    "stick_slip": ["x", "der(x)", "belt.slip", "belt.f_t", "events.time"],
    "tow": ["x", "der(load)", "magnet.f_n", "pin.f_t", "events.time"],
}
WHOLE = {"ball": ["ground.impacts", "events.count"], "stick_slip": ["events.count"], "tow": ["events.count"]}
MODES = {"ball": ["ground.closed"], "stick_slip": ["belt.sticks"], "tow": ["pin.sticks"]}
SPANS = {"ball": 0.017, "stick_slip": 0.17, "tow": 0.023}
BACKENDS = ("python", "native")
WARNING, DISCARD, ERROR = fmi2.fmi2Warning, fmi2.fmi2Discard, fmi2.fmi2Error


def exported(model: LagrangianSystem, folder: Path, backend: str, **more: object) -> Path:
    """Write a model as an FMU."""
    platforms = {"platforms": ["linux64"]} if backend == "native" else {}
    return mbfmu.export(
        model, folder / f"{model.name}-{backend}.fmu", stepper="projected", step=1e-2, backend=backend,
        **platforms, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Each model in both back ends."""
    folder = tmp_path_factory.mktemp("events")
    return {(name, backend): exported(model, folder, backend) for name, model in MODELS.items() for backend in BACKENDS}


@pytest.fixture(scope="module")
def fmus(paths: dict[tuple[str, str], Path]) -> dict[tuple[str, str], Unpacked]:
    """The same, unpacked."""
    return {key: Unpacked(path, path.with_suffix("")) for key, path in paths.items()}


def all_of(run: Instance, name: str) -> list[object]:
    """The outputs, of all types."""
    return [*run.get(SHOWN[name]), *run.get(WHOLE[name]), *run.get(MODES[name])]


@pytest.mark.parametrize("name", MODELS)
def test_modes_are_boolean_and_counts_integer(name: str, fmus: dict[tuple[str, str], Unpacked]) -> None:
    variables = fmus[name, "native"].variables
    assert {variables[item].type for item in WHOLE[name]} == {"Integer"}
    assert {variables[item].type for item in MODES[name]} == {"Boolean"}


@pytest.mark.parametrize("name", MODELS)
def test_both_back_ends_and_a_simulation_give_the_same_bits_across_events(
    name: str, fmus: dict[tuple[str, str], Unpacked]
) -> None:
    found = []
    for backend in BACKENDS:
        with Instance(fmus[name, backend]).start() as run:
            rows = []
            for k in range(120):
                run.step(k * SPANS[name], SPANS[name])
                rows.append(all_of(run, name))
            found.append(rows)
    assert found[0] == found[1]
    assert found[0][-1][-2] > 2  # events
    alone = mbfmu.Simulation(MODELS[name], stepper="projected", step=1e-2)
    for _ in range(120):
        alone.step(None, SPANS[name])
    assert found[0][-1][:4] == pytest.approx([alone[item] for item in SHOWN[name][:4]], abs=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_output_that_is_not_finite_for_what_was_set_comes_with_a_warning(
    backend: str, fmus: dict[tuple[str, str], Unpacked]
) -> None:
    text = "ball: der(y,2) = nan at t = 0.01 s is not finite; check what was set last"
    with Instance(fmus["ball", backend]).start() as run:
        run.step(0.0, 0.01)
        run.set({"m": 0.0})
        for count in (1, 2):
            assert math.isnan(run.get(["y", "der(y,2)"])[1])
            assert [(item.status, item.text) for item in run.messages] == [(WARNING, text)] * count
        assert math.isfinite(run.get(["y"])[0])
        assert run.get(["m"]) == (0.0,)
        assert len(run.messages) == 2
        assert refused(run.step, 0.01, 0.01) == DISCARD
        run.set({"m": 1.0})
        assert run.get(["der(y,2)"]) == (pytest.approx(-9.81),)
        run.step(0.01, 0.01)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_start_time_that_is_not_finite_is_told_and_a_finite_one_replaces_it(
    backend: str, fmus: dict[tuple[str, str], Unpacked]
) -> None:
    with Instance(fmus["ball", backend]) as run:
        run.slave.setupExperiment(startTime=math.nan)
        assert [item.text for item in run.messages] == ["start time = nan: not a finite number"]
        run.start(time=0.5)
        run.step(0.5, 0.01)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODELS)
def test_a_rollback_across_events_is_exact(name: str, backend: str, fmus: dict[tuple[str, str], Unpacked]) -> None:
    H = SPANS[name]
    with Instance(fmus[name, backend]).start() as run:
        for k in range(20):
            run.step(k * H, H)
        state = run.save()
        found = []
        for _ in range(2):
            run.restore(state)
            for k in range(20, 100):
                run.step(k * H, H)
            found.append((all_of(run, name), run.save()))
    assert found[0] == found[1]


def test_no_fmu_sets_or_frees_a_state_of_another(fmus: dict[tuple[str, str], Unpacked]) -> None:
    with Instance(fmus["ball", "native"]) as one, Instance(fmus["tow", "native"]) as other:
        state = one.slave.getFMUstate()
        for call in (other.slave.setFMUstate, other.slave.freeFMUstate):
            assert refused(call, state) == ERROR
            assert other.messages[-1].text == "tow: the state belongs to another FMU"
        one.slave.setFMUstate(state)
        one.slave.freeFMUstate(state)
        assert one.messages == []


def test_a_directional_derivative_is_told_between_events_and_refused_across_one(tmp_path: Path) -> None:
    driven = LagrangianSystem(
        "driven", ball().coordinates, ball().kinetic, ball().potential, inputs={"y": "lift"},
        parameters=ball().parameters, contacts=ball().contacts,
    )  # fmt: skip
    with Instance(Unpacked(exported(driven, tmp_path, "native"), tmp_path / "fmu")).start() as run:
        references = [run.fmu.references[name] for name in ("y", "lift")]
        run.step(0.0, 0.1)
        slope = run.slave.getDirectionalDerivative(references[:1], references[1:], [1.0])[0]
        assert slope == pytest.approx(0.1**2 / 2, rel=1e-12)
        run.step(0.1, 0.4)
        refused(run.slave.getDirectionalDerivative, references[:1], references[1:], [1.0])
        assert "cannot be told" in run.messages[-1].form
        run.step(0.5, 0.1)
        slope = run.slave.getDirectionalDerivative(references[:1], references[1:], [1.0])[0]
        assert slope == pytest.approx(0.1**2 / 2, rel=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", MODELS)
def test_the_fmu_passes_its_check(name: str, backend: str, paths: dict[tuple[str, str], Path]) -> None:
    assert not [item for item in check(paths[name, backend]) if item.status == "fail"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_fmpy_runs_a_ball_to_its_rest(backend: str, paths: dict[tuple[str, str], Path]) -> None:
    found = run_fmpy(paths["ball", backend], {}, ["der(y)", "ground.f_n"], 2.0, 0.01)
    assert found[-1].tolist()[-2:] == [0.0, pytest.approx(9.81)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_start_inside_a_gap_is_refused_by_name(backend: str, fmus: dict[tuple[str, str], Unpacked]) -> None:
    with Instance(fmus["ball", backend]) as run:
        run.enter({"y": -0.01})
        refused(run.slave.exitInitializationMode)
    assert any("the gap of 'ground' is 0.01 below 0" in item.form for item in run.messages)


@pytest.mark.parametrize("backend", BACKENDS)
def test_too_many_events_tell_whose_they_are(backend: str, tmp_path: Path) -> None:
    shaken = LagrangianSystem(
        "shaken", (Coordinate("y", "m", 5e-10, 1.0),), "m*der(y)**2/2",
        parameters=(Parameter("m", 1.0), Parameter("d", 1e-9)),
        contacts=(Contact("floor", gap="y", restitution=1.0), Contact("lid", gap="d - y", restitution=1.0)),
    )  # fmt: skip
    with Instance(Unpacked(exported(shaken, tmp_path, backend), tmp_path / "fmu")).start() as run:
        refused(run.step, 0.0, 1e-2)
    assert any("the last one of the gap of 'floor'" in item.form for item in run.messages)
