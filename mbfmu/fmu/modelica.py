"""An FMU's axes as flanges of a Modelica model: the text of a package around the imported FMU.

A driven axis has the input tau (f) and the outputs phi, w and its acceleration (s, v): its flange gives the FMU the
torque and takes the motion. A moved axis has the inputs phi, w, a (s, v, a) and the output tau (f): the other way
round. In a Modelica tool the outputs of a co-simulation FMU stand still between communication points, so a flange's
derivatives are the FMU's outputs, by a function with given derivatives, never those of the held angle.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mbfmu.errors import FmuError, UsageError
from mbfmu.files import ending_of, write_aside
from mbfmu.fmu.interface import Variable
from mbfmu.fmu.reading import OuterFmu, Port, parse_fmu

KEYWORDS = frozenset({
    "algorithm", "and", "annotation", "block", "break", "class", "connect", "connector", "constant", "constrainedby",
    "der", "discrete", "each", "else", "elseif", "elsewhen", "encapsulated", "end", "enumeration", "equation",
    "expandable", "extends", "external", "false", "final", "flow", "for", "function", "if", "import", "impure", "in",
    "initial", "inner", "input", "loop", "model", "not", "operator", "or", "outer", "output", "package", "parameter",
    "partial", "protected", "public", "pure", "record", "redeclare", "replaceable", "return", "stream", "then",
    "true", "type", "when", "while", "within",
})  # fmt: skip
TAKEN = frozenset({"fmu", "given", "time", "Real", "Integer", "Boolean", "String"})
"""Names that the Modelica model itself uses."""
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
CONNECTOR = """\
  connector {0}Input = input {0} "An input";
  connector {0}Output = output {0} "An output";
"""
FLANGES = """\
  connector Rotational "Flange of a rotation; compatible with Modelica.Mechanics.Rotational.Interfaces"
    Real phi(quantity="Angle", unit="rad", displayUnit="deg") "angle";
    flow Real tau(quantity="Torque", unit="N.m") "torque into the mechanism";
  end Rotational;
  connector Translational "Flange of a translation; compatible with Modelica.Mechanics.Translational.Interfaces"
    Real s(quantity="Length", unit="m") "position";
    flow Real f(quantity="Force", unit="N") "force into the mechanism";
  end Translational;
"""
"""Connectors for a tool without that library: those of a type, and those of the flanges."""
GIVEN = """\
  function given "The coordinate q[1], whose derivative is q[2] and second derivative q[3], whatever q does"
    input Real q[3];
    input Real t;
    output Real y;
  algorithm
    y := q[1];
    annotation(derivative(noDerivative=q) = given_der, InlineAfterIndexReduction=true);
  end given;
  function given_der "Its derivative"
    input Real q[3];
    input Real t;
    input Real t_der;
    output Real y;
  algorithm
    y := q[2];
    annotation(derivative(order=2, noDerivative=q) = given_der2, InlineAfterIndexReduction=true);
  end given_der;
  function given_der2 "Its second derivative"
    input Real q[3];
    input Real t;
    input Real t_der;
    input Real t_der2;
    output Real y;
  algorithm
    y := q[3];
  end given_der2;
"""


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


def write_modelica(
    fmu: str | os.PathLike[str], path: str | os.PathLike[str] | None = None, *, library: bool = True
) -> Path:
    """Write a Modelica package with a model that has a flange for each driven or moved axis of an FMU.

    Args:
        fmu: path of the FMU.
        path: path of the .mo file, whose name is the package's; default: the FMU's, in the current folder.
        library: whether connectors are those of the Modelica Standard Library, or the package's own, which are
            compatible with them.

    Returns:
        The path of the file written; it appears whole or not at all.

    Raises:
        FmuError: the file is not an FMI 2.0 co-simulation FMU, no axis can have a flange, or two names become one.
        UsageError: the path does not end in .mo, or its name is not a Modelica name.
        MbfmuError: the file cannot be written.
    """
    target = Path(path) if path is not None else Path(f"{Path(fmu).stem}.mo")
    ending_of(target, (".mo",))
    if identifier(target.stem) != target.stem:
        raise UsageError(
            f"'{target.stem}' is no name for a Modelica package (letters, digits, _): choose another by -o NAME.mo"
        )
    text = package(parse_fmu(fmu), target.stem, library)
    return write_aside(target, text.encode("utf-8"))


def identifier(name: str) -> str:
    """Return a variable's name as a Modelica identifier: ``load.f[1]`` is ``load_f_1_``, as in OpenModelica."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    text = text if re.match(r"[A-Za-z_]", text) else f"_{text}"
    return f"{text}_" if text in KEYWORDS else text


def axes(ports: Mapping[str, Port | Variable]) -> Iterator[Axis]:
    """Yield the axes that can have a flange, in the order of an FMU's variables, which are given by name."""
    rates = {port.derivative_of: port.name for port in ports.values() if port.derivative_of}
    for effort in ports.values():
        joint, _, last = effort.name.rpartition(".")
        driven = effort.causality == "input"
        for kind, (coordinate, rate, letter, units) in KINDS.items():
            first = f"{joint}.{coordinate}{last.removeprefix(letter)}"
            second = rates.get(first, "") if driven else f"{joint}.{rate}"
            third = rates.get(second, "") if driven else f"{joint}.a"
            motion = [ports[name] for name in (first, second, third) if name in ports]
            if (
                joint
                and last.startswith(letter)
                and effort.causality in {"input", "output"}
                and [port.causality for port in motion] == ["output" if driven else "input"] * 3
                and [(port.type, port.unit) for port in (*motion, effort)] == [("Real", unit) for unit in units]
            ):
                yield Axis(joint, kind, (first, second, third), effort.name, driven)


def package(fmu: OuterFmu, name: str, library: bool = True) -> str:
    """Return the text of the package.

    Args:
        fmu: the FMU.
        name: name of the package, a Modelica identifier.
        library: see `write_modelica`.

    Raises:
        FmuError: no axis can have a flange, two names become one, or an input is of a type without connectors.
    """
    found = list(axes(fmu.ports))
    if not found:
        raise FmuError(
            f"{fmu.model}: no axis for a flange, which takes an input X.tau with outputs X.phi, X.w and X.a (X.f with "
            "X.s, X.v and X.a), or the other way round: export the model with actuated=True at a joint"
        )
    ports = [port for port in fmu.ports.values() if port.causality in {"input", "output"} and port.type in TYPES]
    for port in fmu.ports.values():
        if port.causality == "input" and port.type not in TYPES:
            raise FmuError(
                f"{fmu.model}: the input '{port.name}' is of type {port.type}; Modelica has connectors for "
                f"{', '.join(TYPES)}"
            )
    flanges = _flanges(found)
    used = {part for axis in found for part in (*axis.motion, axis.effort)}
    signals = [port for port in ports if port.name not in used]
    _no_two_alike(fmu.model, [port.name for port in ports], [*flanges, *(port.name for port in signals)])
    types = LIBRARY if library else {key: key for key in LIBRARY}
    used_types = [type for type in TYPES if type == "Real" or any(port.type == type for port in ports)]
    lines = [f"package {name} {_text(f'{fmu.model} as an FMU with flanges: {fmu.description}')}"]
    lines += [] if library else ["".join([*map(CONNECTOR.format, used_types), FLANGES])]
    lines.append('  partial block Fmu "Inputs and outputs of the FMU: the class a tool makes of it has them too"')
    lines += [f"    {_declared(types, port)} {_text(port.description)};" for port in ports]
    lines += ["  end Fmu;", "", GIVEN]
    lines.append('  model Mechanism "The FMU with a flange for each axis"')
    lines.append('    replaceable Fmu fmu "The FMU: redeclare it as the class your tool made of it"')
    lines.append("      annotation(choicesAllMatching=true);")
    for place, (flange, axis) in zip(_places(len(flanges)), flanges.items(), strict=True):
        lines.append(f"    {types[axis.kind]} {identifier(flange)} {_text(f'axis of {axis.name}')}{_at(100, place)};")
    for side, x in (("input", -110), ("output", 110)):
        some = [port for port in signals if port.causality == side]
        for place, port in zip(_places(len(some)), some, strict=True):
            at = _at(x, place) if side == "input" else _at(place, -110, turned=True)
            lines.append(f"    {_declared(types, port)} {_text(port.description)}{at};")
    lines.append("  equation")
    for flange, axis in flanges.items():
        lines += _equations(identifier(flange), axis)
    for port in signals:
        pair = (identifier(port.name), f"fmu.{identifier(port.name)}")
        lines.append(f"    connect({', '.join(pair if port.causality == 'input' else pair[::-1])});")
    lines.append(
        "    annotation(Icon(graphics={Rectangle(extent={{-100,-100},{100,100}}, lineColor={0,0,127}), "
        'Text(extent={{-150,145},{150,105}}, textString="%name")}));'
    )
    lines.append("  end Mechanism;")
    lines += ['  annotation(uses(Modelica(version="4.0.0")));'] if library else []
    return "\n".join([*lines, f"end {name};", ""])


def _flanges(found: list[Axis]) -> dict[str, Axis]:
    """Return the axes by name: that of the joint, followed by the coordinate's if the joint has several axes."""
    joints = [axis.name for axis in found]
    return {axis.name if joints.count(axis.name) == 1 else axis.motion[0]: axis for axis in found}


def _equations(flange: str, axis: Axis) -> list[str]:
    coordinate, _, letter, _ = KINDS[axis.kind]
    q, v, a = (f"fmu.{identifier(part)}" for part in axis.motion)
    effort = f"fmu.{identifier(axis.effort)}"
    if axis.driven:
        return [f"    {effort} = {flange}.{letter};", f"    {flange}.{coordinate} = given({{{q}, {v}, {a}}}, time);"]
    return [
        f"    {q} = {flange}.{coordinate};",
        f"    {v} = der({flange}.{coordinate});",
        f"    {a} = der({v});",
        f"    {flange}.{letter} = {effort};",
    ]


def _no_two_alike(model: str, *scopes: list[str]) -> None:
    """Raise an error if two names become one in the block Fmu or in the model Mechanism."""
    for scope in scopes:
        seen = {name: f"the model's own '{name}'" for name in TAKEN}
        for name in scope:
            key = identifier(name)
            if key in seen:
                raise FmuError(f"{model}: {seen[key]} and '{name}' are both '{key}' in Modelica: rename one")
            seen[key] = f"'{name}'"


def _declared(types: dict[str, str], port: Port) -> str:
    unit = f"(unit={_text(port.unit)})" if port.unit else ""
    return f"{types[f'{port.type}{port.causality.title()}']} {identifier(port.name)}{unit}"


def _text(text: str) -> str:
    """Return a Modelica string."""
    return '"' + " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _places(count: int) -> list[float]:
    """Return the places of a number of connectors along the side of an icon."""
    return [round(100 - 200 * (number + 1) / (count + 1), 1) for number in range(count)]


def _at(x: float, y: float, turned: bool = False) -> str:
    spin = ", rotation=-90" if turned else ""
    size = "extent={{-8,-8},{8,8}}"
    return f" annotation(Placement(transformation(origin={{{x},{y}}}, {size}{spin})))"
