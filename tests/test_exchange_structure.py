"""Descriptions of model exchange say all that importers rely on: states, their starts, what depends on what."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import casadi as ca
import numpy as np
import pytest
from exchanging import Exchanged, exchanged
from fmpy import fmi2
from harness import thorough
from lxml import etree
from masters import Unpacked, refused, status_of
from struck import ball, stick_slip

import mbfmu
from mbfmu.fmi.instance import instantiate
from mbfmu.fmi.scalars import ScalarIndex, scalars
from mbfmu.run.fmu import read_fmu

MODELS: dict[str, Any] = {"ball": ball, "stick_slip": stick_slip}
VERSIONS = ("2.0", "3.0")
LOOPED = ("slider_crank", "heavy_top", "crane", "spin_up_beam", "two_link", "hydraulic_monolith", "incline")
"""Models of which some have constraints, some explicit times, some inputs and some first-order states."""


@cache
def fmu(name: str, fmi: str = "2.0", kind: str = "me") -> Unpacked:
    """A model as an FMU, unpacked; made once a session."""
    folder = Path(mkdtemp(prefix="mbfmu-structure-"))
    return exchanged(MODELS[name]() if name in MODELS else name, folder / f"{name}.fmu", fmi=fmi, kind=kind)


class Point:
    """An instance of either version in the continuous-time mode, behind calls of FMI 2.0 and names of scalars."""

    def __init__(self, unpacked: Unpacked) -> None:
        self.described = scalars(unpacked.description)
        self.variables = {item.name: item for item in self.described.modelVariables}
        self.model = instantiate(str(unpacked.folder), self.described, "one", lambda *_: None)

    def __enter__(self) -> "Point":
        self.model.setupExperiment(startTime=0.0)
        self.model.enterInitializationMode()
        self.model.exitInitializationMode()
        self.model.newDiscreteStates()
        self.model.enterContinuousTimeMode()
        return self

    def __exit__(self, *_: object) -> None:
        self.model.freeInstance()

    def references(self, names: Any) -> list[Any]:
        return [self.variables[name].valueReference for name in names]

    def get(self, names: Any) -> Any:
        return np.array(self.model.getReal(self.references(names)))

    def set(self, name: str, value: float) -> None:
        if name == "time":
            self.model.setTime(value)
        else:
            self.model.setReal(self.references([name]), [value])


def structure(unpacked: Unpacked) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return what each output and time derivative, and each initial unknown, depends on, by names of variables."""
    description = unpacked.description
    running = (*description.outputs, *description.derivatives)
    found = [
        {item.variable.name: {other.name for other in item.dependencies} for item in group}
        for group in (running, description.initialUnknowns)
    ]
    return found[0], found[1]


def owners(unpacked: Unpacked) -> dict[str, str]:
    """Return the name of the variable that each scalar belongs to; of FMI 3.0 it may be an array."""
    names = {reference: name for name, reference in unpacked.references.items()}
    return {
        item.name: names[
            item.valueReference.reference if isinstance(item.valueReference, ScalarIndex) else item.valueReference
        ]
        for item in scalars(unpacked.description).modelVariables
    }


# -- states and their derivatives -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmi", VERSIONS)
@pytest.mark.parametrize("kind", ["me", "both"])
def test_the_attribute_derivative_stands_on_derivatives_of_states_alone(kind: str, fmi: str) -> None:
    unpacked = fmu("slider_crank", fmi, kind)
    derived = {name for name, item in unpacked.variables.items() if item.derivative is not None}
    assert derived == {item.variable.name for item in unpacked.description.derivatives}
    assert len(derived) == 6


@pytest.mark.parametrize("fmi", VERSIONS)
def test_what_other_variables_are_the_derivative_of_is_read_back_from_an_annotation(fmi: str) -> None:
    def pairs(kind: str) -> dict[str, str]:
        described = read_fmu(fmu("slider_crank", fmi, kind).folder.with_suffix(".fmu"))
        return {item.name: item.derivative.name for item in described.modelVariables if item.derivative is not None}

    exchange = pairs("me")
    states = {name: of for name, of in exchange.items() if of.startswith("state.")}
    assert len(states) == 6
    assert {name: of for name, of in exchange.items() if name not in states} == pairs("cs")


def test_an_fmu_of_both_kinds_is_linearized_as_one_for_steps() -> None:
    found = [mbfmu.linearize(str(fmu("two_link", "2.0", kind).folder.with_suffix(".fmu"))) for kind in ("cs", "both")]
    assert found[0].states == found[1].states
    assert np.array_equal(found[0].A, found[1].A)


@pytest.mark.parametrize("fmi", VERSIONS)
@pytest.mark.parametrize("name", ["slider_crank", "heavy_top", "stick_slip"])
def test_start_values_of_states_in_the_description_are_those_of_the_start(name: str, fmi: str) -> None:
    for kind in ("me", "both") if name == "stick_slip" else ("me",):
        described = scalars(fmu(name, fmi, kind).description)
        starts = {item.name: item.start for item in described.modelVariables if item.name.startswith("state.")}
        assert None not in starts.values()
    with Point(fmu(name, fmi)) as point:
        at_start = point.get(starts)
    assert [float(text) for text in starts.values()] == pytest.approx(at_start.tolist(), rel=1e-12, abs=1e-14)
    assert np.any(at_start != 0)


def test_states_are_scalars_in_either_version() -> None:
    """CasADi's DaeBuilder has no arrays, and PyFMI counts each as one state."""
    states = [
        [item.variable.derivative.name for item in fmu("heavy_top", fmi).description.derivatives] for fmi in VERSIONS
    ]
    assert states[0] == states[1]
    assert len(states[0]) == 8


@pytest.mark.parametrize("fmi", VERSIONS)
def test_states_that_are_set_one_by_one_are_those_that_are_set_together(fmi: str) -> None:
    with Point(fmu("slider_crank", fmi)) as point:
        names = [item.variable.derivative.name for item in fmu("slider_crank").description.derivatives]
        rates = [f"der({name})" for name in names]
        x = point.get(names) + 0.01 * np.arange(1, len(names) + 1)
        for name, value in zip(names, x, strict=True):
            point.set(name, value)
        one_by_one = point.get([*names, *rates, "slider.s"])
        point.model.setContinuousStates((fmi2.c_double * len(x))(*(2 * x)), len(x))
        point.model.setContinuousStates((fmi2.c_double * len(x))(*x), len(x))
        assert point.get([*names, *rates, "slider.s"]).tolist() == one_by_one.tolist()
        assert one_by_one[: len(x)].tolist() == x.tolist()
        assert status_of(point.set, names[0], float("nan")) == fmi2.fmi2Discard
        assert point.get(names).tolist() == x.tolist()


def test_states_are_set_in_the_continuous_time_mode_alone_and_nothing_else_stops_for_it() -> None:
    with Exchanged(fmu("slider_crank")) as run:
        name = "state.crank.phi"
        start = float(run.fmu.variables[name].start)
        run.set({name: start})  # some masters set every start value that they read
        assert not run.messages
        run.set({name: 0.1})
        told = run.messages[-1]
        assert told.status == fmi2.fmi2Warning
        assert "state.crank.phi = 0.1: the start of a state follows from the start values of the model" in told.text
        run.start()
        assert run.states[0] == start
        run.model.enterEventMode()
        assert refused(run.set, {name: 0.2}) == fmi2.fmi2Error
        assert "is set in the continuous-time mode alone" in run.messages[-1].text
        run.update()
        run.set({name: 0.2})
        assert run.get([name]) == [0.2]


# -- dependencies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "fmi"),
    thorough(
        [(name, fmi) for name in LOOPED for fmi in VERSIONS],
        lambda name, fmi: (name, fmi) in {("slider_crank", "2.0"), ("slider_crank", "3.0"), ("spin_up_beam", "3.0")},
    ),
)
def test_outputs_and_derivatives_change_with_nothing_but_what_they_declare(name: str, fmi: str) -> None:
    """By differences at points beside the constraints, where the way back onto them acts too."""
    declared, _ = structure(fmu(name, fmi))
    with Point(fmu(name, fmi)) as point:
        described = point.described.modelVariables
        states = [item.name for item in described if item.name.startswith("state.")]
        knowns = ["time", *states, *(item.name for item in described if item.causality == "input")]
        if fmi == "3.0":  # where parameters are knowns too
            knowns += [item.name for item in described if item.variability == "tunable" and item.type == "Real"]
        one = owners(fmu(name, fmi))
        unknowns = [item.name for item in described if one[item.name] in declared and item.type == "Real"]
        assert {one[item] for item in unknowns} >= {f"der({one[state]})" for state in states}
        rng = np.random.default_rng(3)
        for state in states:
            point.set(state, float(point.get([state])[0]) + 0.02 * rng.normal())
        point.set("time", 0.2)
        before, seen = point.get(unknowns), set()
        for known in knowns:
            value = 0.2 if known == "time" else float(point.get([known])[0])
            change = 1e-3 * max(1.0, abs(value))
            beyond = value + change > float(point.variables[known].max or "inf")
            point.set(known, value - change if beyond else value + change)
            seen |= {(one[unknowns[k]], one[known]) for k in np.flatnonzero(point.get(unknowns) != before)}
            point.set(known, value)
            assert np.array_equal(point.get(unknowns), before)
    assert seen <= {(unknown, on) for unknown, several in declared.items() for on in {*several, unknown}}
    assert len(seen) > len(unknowns) / 2
    assert any(len(on) < len({one[known] for known in knowns}) for on in declared.values())


@pytest.mark.parametrize(
    ("name", "fmi"),
    thorough(
        [(name, fmi) for name in ("slider_crank", "two_link", "stick_slip", "heavy_top") for fmi in VERSIONS],
        lambda name, *_: name == "slider_crank",
    ),
)
def test_initial_unknowns_change_with_nothing_but_what_they_declare(name: str, fmi: str) -> None:
    _, declared = structure(fmu(name, fmi))
    point = Point(fmu(name, fmi))
    try:
        described = point.described.modelVariables
        one = owners(fmu(name, fmi))
        unknowns = [item.name for item in described if one[item.name] in declared and item.type == "Real"]
        knowns = [
            item for item in described if item.type == "Real" and (item.causality == "input" or item.initial == "exact")
        ]
        assert {one[item.name] for item in described if item.name.startswith(("state.", "der(state."))} <= set(declared)
        point.model.setupExperiment(startTime=0.0)
        point.model.enterInitializationMode()
        before, seen = point.get(unknowns), set()
        for item in knowns:
            value = float(item.start)
            point.set(item.name, value + 1e-3 * max(1.0, abs(value)))
            seen |= {(one[unknowns[k]], one[item.name]) for k in np.flatnonzero(point.get(unknowns) != before)}
            point.set(item.name, value)
            assert np.array_equal(point.get(unknowns), before)
    finally:
        point.model.freeInstance()
    assert seen <= {(unknown, on) for unknown, several in declared.items() for on in several}
    assert any(len(on) < len({one[item.name] for item in knowns}) for on in declared.values())


@pytest.mark.parametrize("name", ["spin_up_beam", "slider_crank"])
def test_derivatives_by_the_time_and_by_the_rate_of_stabilisation_are_those_of_differences(name: str) -> None:
    with Point(fmu(name)) as point:
        unknowns = [item for item, on in structure(fmu(name))[0].items() if on]
        for state in (item for item in point.variables if item.startswith("state.")):
            point.set(state, float(point.get([state])[0]) + 0.01)
        values = {"time": 0.3, "solver.stabilization": 10.0}
        point.set("time", values["time"])
        for known, value in values.items():
            references = point.references(unknowns), point.references([known])
            exact = np.array(point.model.getDirectionalDerivative(*references, [1.0]))
            ends = []
            for side in (1, -1):
                point.set(known, value + side * 1e-5)
                ends.append(point.get(unknowns))
            point.set(known, value)
            assert exact == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-6 * max(1, np.abs(exact).max()))
            assert np.any(exact != 0) or (name, known) == ("slider_crank", "time")


# -- CasADi -----------------------------------------------------------------------------------------------------------


def builder(name: str, fmi: str) -> Any:
    """Return CasADi's DaeBuilder of an FMU."""
    return ca.DaeBuilder(name, str(fmu(name, fmi).folder))


@pytest.mark.parametrize(
    ("name", "fmi"),
    thorough(
        [
            (name, fmi)
            for name in ("two_link", "slider_crank", "hydraulic_monolith", "crane", "heavy_top")
            for fmi in VERSIONS
        ],
        lambda name, *_: name == "slider_crank",
    ),
)
def test_casadi_loads_evaluates_and_differentiates_an_fmu(name: str, fmi: str) -> None:
    dae = builder(name, fmi)
    x0, u0 = np.array(dae.start(dae.x())), np.array(dae.start(dae.u()))
    function = dae.create("F", ["x", "u"], ["ode"])
    with Point(fmu(name, fmi)) as point:
        assert x0 == pytest.approx(point.get(dae.x()), rel=1e-12, abs=1e-14)
        assert np.array(function(x0, u0)).ravel() == pytest.approx(point.get([f"der({item})" for item in dae.x()]))
    x = x0 + 0.01 * np.cos(np.arange(len(x0)))
    found = np.array(function.factory("J", ["x", "u"], ["jac:ode:x"])(x, u0))
    step = 1e-6
    columns = [function(x + step * side * row, u0) for row in np.eye(len(x)) for side in (1, -1)]
    expected = np.array(
        [np.array(a - b).ravel() / (2 * step) for a, b in zip(columns[::2], columns[1::2], strict=True)]
    ).T
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("fmi", VERSIONS)
def test_the_largest_eigenvalue_of_the_slider_crank_in_casadi_is_that_of_differences(fmi: str) -> None:
    """Without the entries of the way back onto the constraints it was less than half of it."""
    dae = builder("slider_crank", fmi)
    x0 = np.array(dae.start(dae.x()))
    function = dae.create("F", ["x", "u"], ["ode"])
    found = np.linalg.eigvals(np.array(function.factory("J", ["x", "u"], ["jac:ode:x"])(x0, [0.0])))
    step = 1e-6
    columns = [(function(x0 + step * row, [0.0]) - function(x0 - step * row, [0.0])) / (2 * step) for row in np.eye(6)]
    expected = np.linalg.eigvals(np.hstack([np.array(column) for column in columns]))
    assert found.real.max() == pytest.approx(expected.real.max(), rel=1e-6)


def test_both_versions_list_the_same_dependencies() -> None:
    """FMI 2.0 apart from parameters, which it does not know after the initialisation."""
    for name in ("slider_crank", "two_link"):
        old, new = (structure(fmu(name, fmi)) for fmi in VERSIONS)
        parameters = {item for item, about in fmu(name).variables.items() if about.causality == "parameter"}
        one = owners(fmu(name, "3.0"))
        for before, after, left_out in ((old[0], new[0], parameters), (old[1], new[1], set())):
            arrays: dict[str, set[str]] = {}
            for unknown, on in before.items():
                arrays.setdefault(one[unknown], set()).update(one[item] for item in on)
            assert arrays == {unknown: on - {one[item] for item in left_out} for unknown, on in after.items()}


def test_initial_unknowns_carry_dependencies_in_each_kind_and_version() -> None:
    for fmi, path in (("2.0", "ModelStructure/InitialUnknowns/Unknown"), ("3.0", "ModelStructure/InitialUnknown")):
        for kind in ("cs", "me", "both"):
            root: Any = etree.parse(str(fmu("slider_crank", fmi, kind).folder / "modelDescription.xml")).getroot()
            assert all("dependencies" in item.attrib for item in root.iterfind(path))
            assert len(root.findall(path)) > 10
