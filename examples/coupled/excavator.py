"""The excavator whole and in parts: what a coupling of FMUs costs against one system with everything inside.

The parts are the model's own: two FMUs (the mechanism; hydraulics and controllers), three (the controllers apart), or
ten (every block of the hydraulics an FMU). Each runs with shorter and shorter communication steps, and the whole with
steps of three steppers, against the whole by `radau` at 1 ms, which is correct to 1e-12.

Run: python -m examples.coupled.excavator [--plot FILE]
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mbfmu
from examples.coupled import split
from examples.coupled.split import PART, Study, Way, Whole, export
from examples.report import Found, Row, present
from mbfmu.fmu.ssp import Wire
from mbfmu.model import Subsystem, System

MODEL = "excavator"
WAYS = {
    "two FMUs": ("mechanism", "drives"),
    "three FMUs": ("mechanism", "oil", "control"),
    "ten FMUs": ("mechanism", "blocks", "control"),
}
"""The parts of each way, in the order in which they step; inputs follow lines."""


def part(name: str) -> Any:
    """Return a part of the model."""
    return mbfmu.load(MODEL, {"part": name})


STUDY = Study(
    machine=part("whole"),
    shown=("boom.phi", "stick.phi", "bucket.phi"),
    what="error of the joints' angles",
    unit="rad",
    mechanism="mechanism",
    stop=4.0,  # rest, reaching out and most of the digging
    every=0.01,
    steps=(2e-3, 1e-3, 5e-4, 2.5e-4),
    # A command that jumps at a controller's tick reaches another FMU as a line over a step: an error of order 1.
    ways={"two FMUs": 2, "three FMUs": 1, "ten FMUs": 1},
    wholes={
        "whole, projected": Whole("projected", (5e-3, 2.5e-3, 1e-3)),
        "whole, generalized_alpha": Whole("generalized_alpha", (5e-3, 2.5e-3, 1e-3)),
        "whole, radau of order 5": Whole("radau", (5e-3, 2.5e-3), {"stages": 3}),
    },
    chosen={
        "two FMUs": (("whole, projected", 5e-3), ("whole, projected", 1e-3)),
        "three FMUs": (("whole, projected", 5e-3),),
        "ten FMUs": (("whole, projected", 5e-3),),
    },
    exact={"stepper": "radau", "step": 1e-3},
)


class Parts:
    """The FMUs of the parts, and how each way wires them.

    Args:
        folder: where the FMUs go.
    """

    def __init__(self, folder: Path) -> None:
        self.oil: System = part("oil")
        self.paths = {
            "mechanism": export(part("mechanism"), folder / "mechanism.fmu", **PART),
            "control": export(part("control"), folder / "control.fmu"),
            "oil": export(self.oil, folder / "oil.fmu", **PART),
            "drives": export(part("drives"), folder / "drives.fmu", **PART),
        }
        self.blocks = {}
        kinds: dict[str, Path] = {}
        for item in self.oil.components:
            assert isinstance(item, Subsystem)
            kind = item.system.name
            if kind not in kinds:
                kinds[kind] = export(item.system, folder / f"{kind}.fmu", **PART)
            self.blocks[item.name] = kinds[kind]

    def fmus(self, way: str) -> dict[str, Path]:
        """Return the paths of the FMUs of a way."""
        found: dict[str, Path] = {}
        for name in WAYS[way]:
            found |= self.blocks if name == "blocks" else {name: self.paths[name]}
        return found

    def connections(self, way: str) -> list[Wire]:
        """Return the wires between FMUs, from those of the models."""
        place = partial(_place, way)
        found = [Wire(place(item.source), place(item.target)) for item in STUDY.machine.wires]
        if way == "ten FMUs":
            found += [Wire(item.source, item.target, float(item.scale)) for item in self.oil.wires]
        return [item for item in found if item.start.partition(".")[0] != item.end.partition(".")[0]]

    def values(self, way: str) -> dict[str, float]:
        """Return the parameters and start values of the blocks that are FMUs of their own."""
        if way != "ten FMUs":
            return {}
        return {
            f"{item.name}.{name}": value
            for item in self.oil.components
            if isinstance(item, Subsystem)
            for name, value in item.values.items()
            if not isinstance(value, str)  # the bulk modulus, which is the blocks' own
        }


def _place(way: str, name: str) -> str:
    """Return the name of a variable of the whole in the FMUs of a way."""
    head, _, rest = name.partition(".")
    if head not in {"oil", "control"}:
        return f"mechanism.{name}"
    if way == "two FMUs":
        return f"drives.{name}"
    return rest if head == "oil" and way == "ten FMUs" else name


def ways(folder: Path) -> dict[str, Way]:
    """Write the FMUs of all ways to a folder."""
    parts = Parts(folder)
    return {name: Way(parts.fmus(name), parts.connections(name), parts.values(name)) for name in WAYS}


def run() -> Found:
    """Measure errors and times of all ways."""
    numbers = split.measured(STUDY, ways)
    return Found(numbers, split.panels(STUDY, numbers, (0.1, 6.0, 1e-11, 1e5)), 2)


def main() -> dict[str, float]:
    """Return errors (rad), times inside the FMUs (s), and how much more a coupled form costs than a whole."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return split.rows(STUDY, found)


if __name__ == "__main__":
    present(f"Excavator, {STUDY.stop:g} s, in parts and whole", run, rows, "expected")
