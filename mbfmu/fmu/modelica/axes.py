"""Axes of an FMU that can have a flange, by its terminals and by the names of its variables.

A driven axis has the input tau (f) and the outputs phi, w and its acceleration (s, v): its flange gives the FMU the
torque and takes the motion. A moved axis has the inputs phi, w, a (s, v, a) and the output tau (f): the other way
round.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mbfmu.fmi.reading import FmuVariable, OuterFmu, Terminal
from mbfmu.fmu.interface import Variable

KINDS = {
    "Rotational": ("phi", "w", "tau", ("rad", "rad/s", "rad/s2", "N.m")),
    "Translational": ("s", "v", "f", ("m", "m/s", "m/s2", "N")),
}
"""Kinds of axes: letters of coordinate, rate and effort; units of coordinate, rate, acceleration and effort."""
TYPES = ("Real", "Integer", "Boolean")
"""Types of the variables that get connectors."""
LIBRARY = {
    **{f"{type}{end}": f"Modelica.Blocks.Interfaces.{type}{end}" for type in TYPES for end in ("Input", "Output")},
    "Rotational": "Modelica.Mechanics.Rotational.Interfaces.Flange_a",
    "Translational": "Modelica.Mechanics.Translational.Interfaces.Flange_a",
}
"""The connectors of the Modelica Standard Library, of any version."""


@dataclass(frozen=True)
class Axis:
    """An axis of the FMU that can have a flange.

    Args:
        name: name of the joint in the FMU.
        kind: Rotational or Translational.
        motion: names of coordinate, rate and acceleration.
        effort: name of the torque or force.
        driven: whether the effort is an input and the motion outputs; else the other way round.
    """

    name: str
    kind: str
    motion: tuple[str, str, str]
    effort: str
    driven: bool


def axes(ports: Mapping[str, FmuVariable | Variable]) -> Iterator[Axis]:
    """Yield the axes that can have a flange, in the order of an FMU's variables, which are given by name."""
    rates = _rates(ports)
    for effort in ports.values():
        joint, _, last = effort.name.rpartition(".")
        driven = effort.causality == "input"
        for kind, (coordinate, rate, letter, _) in KINDS.items():
            first = f"{joint}.{coordinate}{last.removeprefix(letter)}"
            second = rates.get(first, "") if driven else f"{joint}.{rate}"
            third = rates.get(second, "") if driven else f"{joint}.a"
            axis = Axis(joint, kind, (first, second, third), effort.name, driven)
            if joint and last.startswith(letter) and _fits(axis, ports):
                yield axis


def flanges(fmu: OuterFmu) -> dict[str, Axis]:
    """Return the axes of an FMU by the names of their flanges.

    A terminal gives its name. Other axes have that of their joint, followed by the coordinate's if it has several.
    """
    scalars = {name: port for name, port in fmu.ports.items() if not port.shape}
    stated = ((terminal.name, _of_terminal(terminal, scalars)) for terminal in fmu.terminals)
    axes_by_name = {name: axis for name, axis in stated if axis}
    efforts = {axis.effort for axis in axes_by_name.values()}
    others = [axis for axis in axes(scalars) if axis.effort not in efforts]
    joints = Counter(axis.name for axis in others)
    return axes_by_name | {axis.name if joints[axis.name] == 1 else axis.motion[0]: axis for axis in others}


def _of_terminal(terminal: Terminal, ports: Mapping[str, FmuVariable]) -> Axis | None:
    """Return the axis of a terminal with the members of a flange; None if it is no such terminal."""
    rates, members = _rates(ports), terminal.members
    for kind, (coordinate, rate, letter, _) in KINDS.items():
        if terminal.kind.startswith(f"Modelica.Mechanics.{kind}.Interfaces.Flange"):
            first, effort = members.get(coordinate, ""), members.get(letter, "")
            second = members.get(rate, rates.get(first, ""))
            motion = (first, second, members.get("a", rates.get(second, "")))
            driven = effort in ports and ports[effort].causality == "input"
            axis = Axis(terminal.name, kind, motion, effort, driven)
            return axis if _fits(axis, ports) else None
    return None


def _rates(ports: Mapping[str, FmuVariable | Variable]) -> dict[str, str]:
    """Return the names of time derivatives by those of what they derive."""
    return {port.derivative_of: port.name for port in ports.values() if port.derivative_of}


def _fits(axis: Axis, ports: Mapping[str, FmuVariable | Variable]) -> bool:
    """Return whether the variables of an axis are there, with the causalities, types and units of a flange."""
    *_, units = KINDS[axis.kind]
    variables = [ports.get(name) for name in (*axis.motion, axis.effort)]
    sides = ("output", "input") if axis.driven else ("input", "output")
    wanted = [("Real", unit, side) for unit, side in zip(units, (*[sides[0]] * 3, sides[1]), strict=True)]
    return [port and (port.type, port.unit, port.causality) for port in variables] == wanted
