"""Messages on steps that fail: they name the variable that has left its usual range, alike in every kind of FMU."""

import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchanging import Exchanged, exchanged
from fmpy.fmi1 import FMICallException
from harness import thorough
from test_contact_shapes import on_world

import mbfmu
from mbfmu.errors import StepError
from mbfmu.fmu.failures import facts
from mbfmu.kernel.failure import FAR, Facts, Quantity
from mbfmu.model import BoxOnPlane, Model
from mbfmu.model.library import model_of
from mbfmu.prepared.failures import remedies
from mbfmu.prepared.prepare import prepare
from mbfmu.stepper import FAMILIES

compiler = pytest.mark.skipif(os.name == "nt" or not shutil.which("gcc"), reason="there is no C compiler")


def box() -> Model:
    """Return a box that tumbles on its corners, which `moreau` cannot solve with a long step."""
    corners = BoxOnPlane("touch", size=(0.6, 0.4, 0.3), mu=1.0, e=0.3)
    start: dict[str, Any] = {"r_rel": (0.0, 0.0, 0.5), "v_rel": (0.6, 0.8, 0.0), "w_rel": (3.0, 1.0, 0.0)}
    return on_world(corners, False, (0.05, 0.06, 0.08), **start)


@dataclass(frozen=True)
class Case:
    """A run that fails, and the variable to name.

    Args:
        model: the model.
        named: pattern of the clause on the variable.
        stepper: the stepper.
        step: s.
        stop: s.
        values: parameters and start values.
        inputs: inputs.
    """

    model: Any
    named: str
    stepper: str
    step: float = 1e-3
    stop: float = 1.0
    values: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "input": Case(
        "two_link", r"; input elbow\.tau = 1e\+13 N\.m is 1e\+11 times its typical size;", "rattle",
        inputs={"elbow.tau": 1e13},
    ),
    "input on a loop": Case(
        "slider_crank", r"; input crank\.tau = 1e\+07 N\.m is 1e\+05 times its typical size;", "rattle", 0.02,
        inputs={"crank.tau": 1e7},
    ),
    # crank and rod of one length may fold: the slider is then at the bearing, where the loop is singular
    "singular position": Case(
        "slider_crank", r"; (rod|crank|pin)\.w = \S+ rad/s is \S+ times its typical size;", "direct", 0.02, 100.0,
        values={"l2": 1.0},
    ),
    "cylinders": Case(
        "crane", r"; (lift|tilt)\S*\.w = \S+ rad/s is \S+ times its typical size;", "projected", 0.5, 50.0
    ),
    "pressure": Case(
        "hydraulic_servo", r"; input v = \S+e\+90 m/s is \S+ times its typical size;", "radau", inputs={"v": 1e90}
    ),
    "corners": Case(
        box, r"; touch\.\w+\.(f_n = \S+ N is the largest force|gap = \S+ m is the smallest)", "moreau", 4e-3, 2.0
    ),
}  # fmt: skip
QUICK = {"input", "cylinders"}


def message_of_model(case: Case) -> str:
    """Return the message of a run that needs no FMU."""
    model = model_of(case.model() if callable(case.model) else case.model, case.values)
    how: dict[str, Any] = {"step": case.step, "output_interval": case.step, "inputs": case.inputs}
    with pytest.raises(StepError) as failed:
        mbfmu.simulate(model, case.stop, stepper=case.stepper, **how)
    return str(failed.value)


def message_of_fmu(case: Case, path: Path, backend: str, fmi: str) -> str:
    """Return the message of an FMU's run."""
    model = model_of(case.model() if callable(case.model) else case.model, case.values)
    mbfmu.export(model, path, stepper=case.stepper, step=case.step, backend=backend, fmi=fmi, platforms=["linux64"])
    with pytest.raises(StepError) as failed:
        mbfmu.simulate(path, case.stop, inputs=case.inputs, output_interval=case.step)
    return str(failed.value)


@pytest.mark.parametrize("name", thorough([(name,) for name in CASES], lambda name: name in QUICK))
def test_the_variable_out_of_its_range_is_named(name: str) -> None:
    assert re.search(CASES[name].named, message_of_model(CASES[name]))


@compiler
@pytest.mark.parametrize("name", thorough([(name,) for name in CASES], lambda name: name == "input"))
def test_every_kind_of_fmu_says_the_same_as_the_model(name: str, tmp_path: Path) -> None:
    expected = message_of_model(CASES[name])
    kinds = [("python", "2.0"), ("native", "3.0"), ("native", "2.0")]
    for backend, fmi in kinds[: 2 if name == "corners" else 3]:  # which takes long to compile
        assert expected in message_of_fmu(CASES[name], tmp_path / f"{backend}{fmi}.fmu", backend, fmi)


@compiler
def test_a_model_that_is_stepped_by_hand_says_the_same() -> None:
    case = CASES["input"]
    run = mbfmu.Simulation("two_link", stepper="rattle", inputs=case.inputs)
    with pytest.raises(StepError) as failed:
        run.step(None, 2e-3)
    assert re.search(case.named, str(failed.value))


# -- the rule ----------------------------------------------------------------------------------------------------------

INPUTS = (Quantity("f", "N", 10.0, 0), Quantity("k", "1", 1.0, 1))
STATES = (Quantity("s", "m", 1.0, 0, 1, "m/s"), Quantity("v", "m/s", 2.0, 1, 2, "m/s2"))


@pytest.mark.parametrize(
    ("u", "y", "clause"),
    [
        ((0.0, 0.0), (0.0, 0.0, 0.0), ""),
        ((0.0, 0.0), (1.0, 3.0, -8.0), "; v = 3 m/s changes fastest for its typical size, at -8 m/s2"),
        ((0.0, 0.0), (1.0, 3.0, math.nan), "; v = 3 m/s changes fastest for its typical size, at nan m/s2"),
        ((9 * FAR, 0.0), (-2 * FAR, 2 * FAR, 0.0), "; s = -20000 m is 2e+04 times its typical size"),
        ((-20 * FAR, 0.0), (9e9 * FAR, 0.0, 0.0), "; input f = -200000 N is 2e+04 times its typical size"),
        ((0.0, 3 * FAR), (0.0, 0.0, 0.0), "; input k = 30000 is 3e+04 times its typical size"),
        ((0.0, 0.0), (9e9 * FAR, math.nan, 0.0), "; v = nan m/s is not finite"),
    ],
)
def test_inputs_come_first_then_states_and_then_what_changes_fastest(
    u: tuple[float, ...], y: tuple[float, ...], clause: str
) -> None:
    assert Facts("model", (), INPUTS, STATES).suspect(u, y) == clause


def test_a_gap_is_named_before_what_changes_fastest() -> None:
    forces, gaps = (Quantity("a.f_n", "N", 1.0, 3), Quantity("b.f_n", "N", 1.0, 4)), (Quantity("a.gap", "m", 1.0, 5),)
    known = Facts("model", (), INPUTS, STATES, forces, gaps)
    assert known.suspect((0.0, 0.0), (0, 3.0, 9.0, 1.0, 2.0, 0.0)) == "; b.f_n = 2 N is the largest force of a contact"
    assert known.suspect((0.0, 0.0), (0, 3.0, 9.0, 0.0, 0.0, 1e-4)) == "; a.gap = 0.0001 m is the smallest gap"
    assert known.suspect((0.0, 0.0), (0, 3.0, 9.0, 0.0, 0.0, 0.1)).startswith("; v = 3 m/s changes fastest")


def test_usual_sizes_are_nominal_values_or_larger_start_values() -> None:
    known = facts(prepare(model_of("hydraulic_servo"), None, None, 1e-3))
    usual = {item.name: item.usual for item in known.states}
    assert usual == {"y": 1.0, "y_rate": 100.0, "p_a": 6e6, "p_b": 9e6}
    assert [item.name for item in known.inputs] == ["command", "s", "v"]


# -- advice ------------------------------------------------------------------------------------------------------------

USES = [(name, options) for name, family in FAMILIES.items() for options in family.variants()]


@pytest.mark.parametrize(("name", "options"), USES, ids=lambda item: item if isinstance(item, str) else "")
def test_advice_never_names_the_stepper_in_use(name: str, options: dict[str, Any]) -> None:
    found = remedies(prepare(model_of("pendulum"), name, options, 1e-3))
    assert found.keys() >= {"NOT_CONVERGED", "NOT_FINITE", "NOT_ACCURATE", "OUTPUTS_NOT_FINITE", "DRIFTED", "ENERGY"}
    for text in found.values():
        assert text
        assert f"'{name}'" not in text
        assert "if another" not in text


def test_advice_names_no_stepper_that_the_model_cannot_take() -> None:
    contacts = remedies(prepare(box(), "moreau", None, 1e-3))
    assert not any("'" in text for text in contacts.values())
    skate = remedies(prepare(model_of("ice_skate"), "direct", None, 1e-3))
    assert "'projected'" in skate["DRIFTED"]
    assert "'rattle'" not in "".join(skate.values())


def test_advice_names_no_setting_that_is_out_of_reach_or_in_use() -> None:
    one_step, many, fixed = (
        remedies(prepare(model_of("pendulum"), stepper, options, 1e-3), corrections)
        for stepper, options, corrections in (
            ("projected", {"order": 9}, 0), ("direct", {"method": "ab7"}, 0), ("projected", {}, 4),
        )
    )  # fmt: skip
    assert one_step["ENERGY"] == "take a smaller solver.step, or set solver.tolerance"
    assert one_step["ENERGY_CHOSEN"] == "take a smaller solver.tolerance"
    assert one_step["NOT_ACCURATE"] == "take a larger one"
    assert many["ENERGY"] == fixed["ENERGY"] == "take a smaller solver.step"


# -- model exchange ----------------------------------------------------------------------------------------------------


@compiler
def test_a_solver_that_goes_astray_is_told_which_state_it_has_lost(tmp_path: Path) -> None:
    with Exchanged(exchanged("heavy_top", tmp_path / "heavy_top.fmu")) as model:
        model.start()
        with pytest.raises(FMICallException):
            model.rates(0.0, np.full(model.n, np.nan))
        text = model.messages[-1].text
        assert re.fullmatch(r"heavy_top: state\.\S+ = nan is not finite, or larger than 1e\+100", text)
        with pytest.raises(FMICallException):
            model.rates(0.0, np.full(model.n, 1e60))
        clause = r"; state\.\S+ = 1e\+60( \S+)? is 1e\+\d+ times its typical size; take smaller steps"
        assert re.search(clause, model.messages[-1].text)
