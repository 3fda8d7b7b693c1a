"""Friction and play are fitted to tables that SciPy made (`references/make_measured.py`), with errors of sensors."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import mbfmu
from mbfmu.analysis.fit import Fit
from mbfmu.base.result import read_table
from mbfmu.model import (
    Backlash,
    Body,
    Component,
    Prismatic,
    Revolute,
    RotationalDamper,
    System,
    TranslationalLuGreFriction,
    World,
    connect,
)

REFERENCES = Path(__file__).parent / "references"


def on_axes(name: str, axes: tuple[Component, ...], bodies: tuple[Body, ...], *others: Component) -> System:
    """Return bodies that joints hold on the world, without gravity."""
    ends = [(f"{joint.name}.frame_b", f"{body.name}.frame_a") for joint, body in zip(axes, bodies, strict=True)]
    ends += [("world.frame_b", f"{joint.name}.frame_a") for joint in axes]
    return System(
        name,
        planar=True,
        components=(World("world", g=0.0), *axes, *bodies, *others),
        connections=tuple(connect(*pair) for pair in ends),
    )


PUSHED = on_axes(
    "pushed",
    (Prismatic("rail", n=(1, 0), s=0.0, v=0.0, actuated=True),),
    (Body("mass", m=1.0, I_33=0.01),),
    TranslationalLuGreFriction("friction", joint="rail"),
)
GEARED = on_axes(
    "geared",
    (Revolute("a", phi=0.01, w=0.0, actuated=True), Revolute("b", phi=0.0, w=0.0)),
    (Body("motor", m=1.0, I_33=0.02), Body("wheel", m=1.0, I_33=0.05)),
    RotationalDamper("bearing", joint="b", d=0.05),
    Backlash("teeth", joint_a="a", joint_b="b", rest=5e-3),
)


class Machine(NamedTuple):
    """A table and its machine: values that made it, and others that a fit begins with; errors of its sensors."""

    system: System
    table: str
    truth: dict[str, float]
    begin: dict[str, float]
    sensors: dict[str, float]
    choices: dict[str, Any]

    @property
    def path(self) -> Path:
        return REFERENCES / self.table

    def fitted(self, seed: int, folder: Path) -> Fit:
        """Return what is fitted to the table with errors of the sensors."""
        random, columns = np.random.default_rng(seed), dict(read_table(self.path))
        for name, deviation in self.sensors.items():
            columns[name] = columns[name] + deviation * random.normal(size=len(columns[name]))
        path = folder / "measured.csv"
        np.savetxt(path, np.transpose([*columns.values()]), delimiter=",", header=",".join(columns), comments="")
        return mbfmu.fit(self.system, path, list(self.truth), values=self.begin, **self.choices)


LUGRE = Machine(
    PUSHED,
    "lugre.csv",
    {f"friction.{name}": value for name, value in {
        "f_c": 1.0, "peak": 1.5, "v_s": 0.02, "sigma_0": 1000.0, "sigma_1": 20.0, "sigma_2": 0.4,
    }.items()},
    {f"friction.{name}": value for name, value in {
        "f_c": 0.9, "peak": 1.4, "v_s": 0.025, "sigma_0": 900.0, "sigma_1": 15.0, "sigma_2": 0.3,
    }.items()},
    {"rail.s": 2e-5},
    {"stepper": "radau", "step": 2e-3},
)  # fmt: skip
BACKLASH = Machine(
    GEARED,
    "backlash.csv",
    {"teeth.play": 0.06, "teeth.offset": 0.01, "teeth.e": 0.4},
    {"teeth.play": 0.055, "teeth.offset": 0.012, "teeth.e": 0.3},
    {"a.phi": 1e-4, "b.phi": 1e-4},
    {"step": 2e-3},
)
BOTH = pytest.mark.parametrize(
    "machine", [pytest.param(LUGRE, id="lugre", marks=pytest.mark.further), pytest.param(BACKLASH, id="backlash")]
)


@BOTH
def test_a_machine_moves_as_another_integrator_says(machine: Machine) -> None:
    table = read_table(machine.path)
    inputs = {name: str(machine.path) for name in table if name in ("rail.f", "a.tau")}
    run = mbfmu.simulate(
        machine.system, table["time"][-1], values=machine.truth, inputs=inputs, output_interval=0.01,
        **machine.choices | {"step": 1e-3},
    )  # fmt: skip
    for name in machine.sensors:
        assert np.abs(run[name] - table[name]).max() < 5e-8


@pytest.mark.further
@BOTH
def test_values_that_made_the_table_are_fitted_as_closely_as_their_standard_errors_say(
    machine: Machine, tmp_path: Path
) -> None:
    found = machine.fitted(0, tmp_path)
    assert not found.notices
    for item in found.items:
        assert abs(item.value - machine.truth[item.name]) < 4 * item.error < 0.04 * item.value


@pytest.mark.further
def test_intervals_of_a_backlash_hold_its_values_as_often_as_they_claim(tmp_path: Path) -> None:
    """Of 36 intervals of 95 % 34 hold, give or take 1.3; errors over standard errors have the mean square 1."""
    held, parts = 0, []
    for seed in range(12):
        for item in BACKLASH.fitted(seed, tmp_path).items:
            low, high = item.interval
            held += low <= BACKLASH.truth[item.name] <= high
            parts.append((item.value - BACKLASH.truth[item.name]) / item.error)
    assert held >= 30
    assert np.mean(np.square(parts)) == pytest.approx(1.0, abs=5 * np.sqrt(2 / len(parts)))
