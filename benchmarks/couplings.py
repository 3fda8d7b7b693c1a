"""python -m benchmarks.couplings: the estimated error of coupled runs beside the true one, for couplings of all kinds.

The true error is the largest difference from a run with an eighth of the communication step, at any communication
point, of what the estimate is of, relative to its range.
"""

import argparse
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import mbfmu
from benchmarks.conditions import conditions
from examples.coupled import arm, crane, manipulator, servo
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError
from mbfmu.fmu.ssp import Wire
from mbfmu.kernel.errors import NARROW, SLIGHT, SMALL
from mbfmu.model import Block, Body, Defined, Parameter, Port, Prismatic, State, System, World, connect
from mbfmu.run.coupling_error import lasting

FINER = 8
"""Ratio of the communication step to that of the true run."""


@dataclass(frozen=True)
class Case:
    """A coupling.

    Args:
        fmus: function that writes the FMUs to a folder and returns their paths by component.
        wires: the connections.
        stop: end of the run, s.
        steps: communication steps, s.
        values: parameters and start values.
        inputs: inputs over time.
    """

    fmus: Callable[[Path], Mapping[str, Path]]
    wires: Sequence[Wire]
    stop: float
    steps: tuple[float, ...]
    values: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)


WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "held, Jacobi": {"order": "jacobi", "extrapolation": 0},
    "two passes": {"passes": 2},
}


def exported(**models: System | Block | str) -> Callable[[Path], dict[str, Path]]:
    """Return a function that writes models as native FMUs, inner steps of at most 1 ms, and returns their paths."""

    def write(folder: Path) -> dict[str, Path]:
        return {
            name: mbfmu.export(
                mbfmu.load(model) if isinstance(model, str) else model, folder / f"{name}.fmu",
                step=1e-3, backend="native",
            )
            for name, model in models.items()
        }  # fmt: skip

    return write


def rail() -> System:
    """Return a mass of 1 kg on a rail, 1 m from where no force draws it."""
    return System(
        name="rail",
        planar=True,
        components=(World(g=0.0), Prismatic("rail", s=1.0, v=0.0, actuated=True), Body("body", m=1.0, I_33=1.0)),
        connections=(connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "body.frame_a")),
    )


def spring() -> Block:
    """Return a spring that takes the velocity of its end and gives its force."""
    return Block(
        "spring",
        inputs=(Port("v", "m/s"),),
        states=(State("x", "v", "m", 1.0),),
        parameters=(Parameter("c", 100.0, "N/m"), Parameter("d", 0.0, "N.s/m")),
        defined=(Defined("f", "-c*x - d*v", "N", output=True),),
    )


def oscillator() -> Block:
    """Return a mass on a spring and a damper, which a force drives; its displacement and velocity are outputs."""
    return Block(
        "oscillator",
        inputs=(Port("force", "N"),),
        states=(State("x", "v", "m", 1.0), State("v", "(force - c*x - d*v)/m", "m/s", 0.0)),
        parameters=(Parameter("m", 1.0, "kg"), Parameter("c", 10.0, "N/m"), Parameter("d", 0.0, "N.s/m")),
        defined=(Defined("s", "x", "m", output=True), Defined("w", "v", "m/s", output=True)),
    )


def neighbour() -> Block:
    """Return an oscillator with the spring and the damper between it and another one, whose displacement it takes."""
    return Block(
        "neighbour",
        inputs=(Port("s", "m"), Port("w", "m/s")),
        states=(State("x", "v", "m", 0.0), State("v", "(-pull - c*x - d*v)/m", "m/s", 0.0)),
        parameters=(
            Parameter("m", 2.0, "kg"), Parameter("c", 20.0, "N/m"), Parameter("d", 0.0, "N.s/m"),
            Parameter("c_k", 100.0, "N/m"), Parameter("d_k", 0.0, "N.s/m"),
        ),
        defined=(Defined("pull", "c_k*(x - s) + d_k*(v - w)", "N", output=True),),
    )  # fmt: skip


def two_masses(stop: float, steps: tuple[float, ...], **values: float) -> Case:
    """Return two oscillators, the left one with a force, the right one with a displacement as its input."""
    wires = (Wire("left.s", "right.s"), Wire("left.w", "right.w"), Wire("right.pull", "left.force"))
    places = {name.replace("_of_", "."): value for name, value in values.items()}
    return Case(exported(left=oscillator(), right=neighbour()), wires, stop, steps, places)


def proportional() -> Block:
    """Return a controller whose output is proportional to the error."""
    return Block(
        "proportional",
        inputs=(Port("measured", "rad"),),
        states=(State("seen", "(measured - seen)/T", "rad", 0.0),),
        parameters=(Parameter("K", 200.0, "N.m/rad"), Parameter("r", 0.5, "rad"), Parameter("T", 1e-3, "s")),
        defined=(Defined("tau", "K*(r - measured)", "N.m", output=True),),
    )


AXIS = {"D": 0.05, "d": 0.028, "L": 1.0, "s_0": 0.1}

CASES = {
    "mass, displacement to force": Case(
        exported(a=rail()), [Wire("a.rail.s", "a.rail.f", -100.0)], 10.0, (0.5, 0.2, 0.05, 0.01)
    ),
    "mass and spring": Case(
        exported(mass=rail(), spring=spring()),
        (Wire("spring.f", "mass.rail.f"), Wire("mass.rail.v", "spring.v")), 4.0, (0.02, 0.005),
    ),
    "mass, spring and damper": Case(
        exported(mass=rail(), spring=spring()),
        (Wire("spring.f", "mass.rail.f"), Wire("mass.rail.v", "spring.v")), 20.0, (0.02, 0.005), {"spring.d": 2.0},
    ),
    "two masses, soft": two_masses(10.0, (0.02, 0.005), right_of_c_k=2.0),
    "two masses": two_masses(10.0, (0.02, 0.005)),
    "two masses, stiff": two_masses(2.0, (0.002, 0.0005), right_of_c_k=1e4),
    "two masses, stiff, damped": two_masses(
        2.0, (0.002, 0.0005), right_of_c_k=1e4, right_of_d_k=30.0, left_of_d=0.5, right_of_d=1.0
    ),
    "two masses, damped, long": two_masses(100.0, (0.02,), left_of_d=1.0, right_of_d=2.0, right_of_d_k=2.0),
    "arm, proportional control": Case(
        exported(control=proportional(), arm="two_link"),
        (Wire("arm.shoulder.phi", "control.measured"), Wire("control.tau", "arm.shoulder.tau")),
        10.0, (0.01,),
    ),
    "arm, sampled control": Case(
        exported(control="digital_pid", arm="two_link"),
        (
            Wire("arm.shoulder.phi", "control.measured", 1.0), Wire("arm.shoulder.w", "control.forward", -15.0),
            Wire("control.y", "arm.shoulder.tau", 1.0),
        ),
        4.0, (0.01, 0.001), {"control.K": 200.0, "control.Ts": 0.01, "control.T_t": 0.1, "control.T_i": 1.0},
        {"control.reference": 0.5},
    ),
    "mass on a servo axis": Case(
        exported(mass=rail(), servo="hydraulic_servo"),
        (Wire("mass.rail.s", "servo.s"), Wire("mass.rail.v", "servo.v"), Wire("servo.f", "mass.rail.f")),
        2.0, (1e-3, 2.5e-4), {"mass.rail.s": 0.0, "mass.body.m": 500.0}, {"servo.command": "0.3*sin(6*time)"},
    ),
    "manipulator": Case(
        lambda folder: manipulator.fmus(folder, "native"), manipulator.CONNECTIONS, 10.0, (1e-3,),
        inputs={"oil.k": manipulator.valve},
    ),
    "arm on motors": Case(arm.fmus, arm.connections(), arm.STOP, (1e-3,), arm.values()),
    "crane on servo axes": Case(
        crane.fmus, servo.connections("crane", crane.BARRELS), 8.0, (2e-3,), crane.values(), crane.inputs()
    ),
}  # fmt: skip


class Comparison(NamedTuple):
    """The estimated and the true error of a coupled run, relative to the range of the worst variable.

    Args:
        cost: processor time of the run with an estimate, relative to one without.
    """

    case: str
    way: str
    step: float
    number: int
    estimated: float
    true: float
    cost: float
    noticed: bool

    @property
    def ratio(self) -> float:
        """Estimated over true error."""
        return self.estimated / self.true if self.true else math.nan


def true_error(run: Result, exact: Result) -> float:
    """Return the largest difference of two runs at the points of the first, as far as it lasts, relative to its ranges.

    The scales are those of the estimate.
    """
    names = [name for name in run.error.by_variable if name in run.names]
    every = round((len(exact.time) - 1) / (len(run.time) - 1))
    spans = {name: float(np.ptp(run[name])) for name in names}
    least = {
        name: SMALL * max(spans[other] for other in names if run.units[other] == run.units[name]) for name in names
    }
    errors = [0.0]
    for name in names:
        scale = max(spans[name], NARROW, least[name], SLIGHT * float(np.abs(run[name]).max()))
        errors.append(float(lasting(np.abs(run[name] - exact[name][::every])[:, None]).max() / scale))
    return max(errors)


def comparisons(names: Sequence[str]) -> Iterator[Comparison]:
    """Compare each coupling in each way with each step."""
    for name in names:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            fmus = case.fmus(Path(folder))
            for step in case.steps:
                for way, how in WAYS.items():
                    given = {"values": case.values, "inputs": case.inputs, **how}
                    try:
                        times = []
                        for error in (False, True):
                            begin = process_time()
                            run = mbfmu.couple(fmus, case.wires, case.stop, step, error=error, **given)
                            times.append(process_time() - begin)
                        exact = mbfmu.couple(fmus, case.wires, case.stop, step / FINER, error=False, **given)
                    except MbfmuError:
                        continue  # a step fails
                    true = true_error(run, exact)
                    yield Comparison(
                        name,
                        way,
                        step,
                        len(run.time) - 1,
                        run.error.value,
                        true,
                        times[1] / times[0],
                        run.notices != (),
                    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("-o", type=Path, metavar="TABLE.md", help="write the table too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| coupling | way | step, s | steps | estimated | true | ratio | time |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print(conditions(), *lines, sep="\n")
    for row in comparisons(given.cases):
        numbers = (
            f"{row.step:g} | {row.number} | {row.estimated:.1e} | {row.true:.1e} | {row.ratio:.2g} | {row.cost:.2f}"
        )
        lines.append(f"| {row.case} | {row.way} | {numbers} |")
        print(lines[-1], row.noticed, flush=True)
    if given.o:
        given.o.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
