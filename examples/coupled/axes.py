"""Two machines on six axes, whole and in parts: the platform on hydraulic cylinders, the robot arm on motors.

Each is cut in two (the mechanism; all drives with their controllers) and in eight (the mechanism; six drives; what
computes once in a millisecond), and measured as the excavator is. The whole by `projected` of order 9 is the reference:
its error at half of the step differs by less than 1e-14.

Run: python -m examples.coupled.axes [--plot FILE]
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import mbfmu
from examples.coupled import split
from examples.coupled.split import Study, Way, Whole
from examples.report import Found, Row, present
from mbfmu.kernel import vector
from mbfmu.model import Block, Sampled, Subsystem, System
from mbfmu.model.expression import Expression
from mbfmu.prepared.prepare import prepare

AXES = range(1, 7)
KINDS = {"platform": ("valve", "cylinder"), "arm": ("loop", "motor", "gear")}
"""What each axis of eight FMUs consists of; the other blocks are the controllers'."""
WINDOWS = {"platform": (0.2, 5.0, 1e-11, 1e-1), "arm": (0.02, 1.2, 1e-13, 1e-2)}


def load(model: str, values: Mapping[str, Any] | None = None) -> System:
    """Return a machine whose calculated values are numbers: a part has not all that they follow from."""
    machine = mbfmu.load(model, values)
    assert isinstance(machine, System)
    prepared = prepare(machine, "direct", None, 1e-3)
    outline, dae = prepared.outline, prepared.dae
    y = prepared.kernel.outputs(prepared.initial_state(), vector(outline.u_default()), vector(outline.p_default()), 0.0)
    numbers = {item.name: item.value for item in dae.parameters}
    numbers |= dict(zip((item.name for item in dae.bound), list(y)[len(outline.outputs) :], strict=True))

    def number(value: Any) -> Any:
        return float(Expression(value).evaluate(numbers.__getitem__)) if isinstance(value, str) else value

    return replace(
        machine,
        parameters=tuple(replace(item, value=number(item.value)) for item in machine.parameters),
        components=tuple(
            replace(item, values={name: number(value) for name, value in item.values.items()})
            if isinstance(item, Subsystem)
            else item
            for item in machine.components
        ),
    )


STUDIES = {
    "platform": Study(
        machine=load("stewart_hydraulic"),
        shown=tuple(f"leg{k}.s" for k in AXES),
        what="platform: error of the legs' strokes",
        unit="m",
        mechanism="mechanism",
        stop=2.0,
        every=0.008,
        steps=(4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4),
        # A command that jumps at the controller's tick reaches a valve as a line over a step: an error of order 1.
        ways={"two FMUs": 2, "eight FMUs": 1},
        wholes={
            "whole, projected": Whole("projected", (1e-3, 5e-4, 2.5e-4)),
            "whole, generalized_alpha": Whole("generalized_alpha", (1e-3, 5e-4, 2.5e-4)),
        },
        chosen={
            "two FMUs": (("whole, projected", 1e-3), ("whole, projected", 2.5e-4)),
            "eight FMUs": (("whole, projected", 1e-3),),
        },
        exact={"stepper": "projected", "options": {"order": 9}, "step": 5e-4},
    ),
    "arm": Study(
        machine=load("robot_arm_drives"),
        shown=tuple(f"joint{i}.phi" for i in AXES),
        what="arm: error of the joints' angles",
        unit="rad",
        mechanism="mechanism",
        stop=0.6,
        every=0.005,
        steps=(1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2.5e-5),
        # The commands go to loops that sample every 0.1 ms: lines that end there tell them right.
        ways={"two FMUs": 2, "eight FMUs": 2},
        wholes={
            "whole, projected": Whole("projected", (1e-4, 5e-5)),
            "whole, generalized_alpha": Whole("generalized_alpha", (1e-4, 5e-5)),
        },
        chosen={"two FMUs": (("whole, projected", 1e-4),), "eight FMUs": (("whole, projected", 1e-4),)},
        exact={"stepper": "projected", "options": {"order": 9}, "step": 1e-4},
    ),
}


def blocks(machine: System) -> tuple[str, ...]:
    """Return the names of a machine's blocks."""
    return tuple(
        item.name
        for item in machine.components
        if isinstance(item, Subsystem) and isinstance(item.system, Block | Sampled)
    )


def cuts(name: str) -> dict[str, dict[str, Sequence[str]]]:
    """Return which blocks of a machine are in which FMU, way by way."""
    driving = blocks(STUDIES[name].machine)
    axes = {f"axis{k}": tuple(f"{kind}{k}" for kind in KINDS[name]) for k in AXES}
    control = tuple(item for item in driving if all(item not in axis for axis in axes.values()))
    return {"two FMUs": {"drives": driving}, "eight FMUs": {**axes, "control": control}}


def ways(name: str, folder: Path) -> dict[str, Way]:
    """Write the FMUs of all ways of a machine to a folder."""
    found = {}
    for way, parts in cuts(name).items():
        place = folder / way
        place.mkdir()
        found[way] = split.way(STUDIES[name].machine, "mechanism", parts, place)
    return found


def run() -> Found:
    """Measure errors and times of all ways of both machines."""
    found = {name: split.measured(study, partial(ways, name)) for name, study in STUDIES.items()}
    panels = [panel for name, study in STUDIES.items() for panel in split.panels(study, found[name], WINDOWS[name])]
    numbers = {f"{name}: {key}": value for name, of in found.items() for key, value in of.items()}
    return Found(numbers, tuple(panels), 2)


def main() -> dict[str, float]:
    """Return errors (m, rad), times inside the FMUs (s), and how much more a coupled form costs than a whole."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table: list[Row] = []
    for name, study in STUDIES.items():
        own = {key.removeprefix(f"{name}: "): value for key, value in found.items() if key.startswith(f"{name}: ")}
        table += [(f"{name}: {what}", claim, measured) for what, claim, measured in split.rows(study, own)]
    return table


if __name__ == "__main__":
    present("Machines on six axes, in parts and whole", run, rows, "expected")
