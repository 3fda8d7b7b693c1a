"""The text of a Modelica package: the class of an FMU, and a model with a flange for each of its axes.

In a Modelica tool the outputs of a co-simulation FMU stand still between communication points, so a flange's
derivatives are the FMU's outputs, by a function with given derivatives, never those of the held angle. For an FMU of
model exchange they are the same.
"""

from collections.abc import Iterable

from mbfmu.errors import FmuError
from mbfmu.fmi.reading import FmuVariable, OuterFmu
from mbfmu.fmu.modelica.axes import KINDS, LIBRARY, TYPES, Axis, flanges
from mbfmu.fmu.modelica.exchange import INTERNAL, exchange_block, parameters_of
from mbfmu.fmu.modelica.language import PACKAGE_ICON, icon, identifier, placed, places, text_of

TAKEN = frozenset({"fmu", "given", "time", "Real", "Integer", "Boolean", "String"})
"""Names that the Modelica model itself uses."""
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
"""Connectors for a tool without the Modelica Standard Library: one for each type, and the flanges."""
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


def package(fmu: OuterFmu, name: str, library: bool = True) -> str:
    """Return the text of a package for one FMU.

    Args:
        fmu: the FMU.
        name: name of the package, a Modelica identifier.
        library: whether connectors are those of the Modelica Standard Library, or the package's own, which are
            compatible with them.

    Raises:
        FmuError: no axis can have a flange, two names become one, or an input is of a type without connectors.
    """
    title = text_of(f"{fmu.model} as an FMU with flanges: {fmu.description}")
    body = [*common([fmu], library), *content(fmu, library)]
    return "\n".join([f"package {name} {title}", *body, *ending(name, library), ""])


def ending(name: str, library: bool) -> list[str]:
    """Return the last lines of a package."""
    uses = ', uses(Modelica(version="4.0.0"))' if library else ""
    return [f"  annotation({PACKAGE_ICON}{uses});", f"end {name};"]


def common(fmus: Iterable[OuterFmu], library: bool) -> list[str]:
    """Return the lines of a package that the classes of several FMUs share: connectors and functions."""
    return [*([] if library else ["".join([*map(CONNECTOR.format, _types_of(fmus)), FLANGES])]), GIVEN]


def common_names(fmus: Iterable[OuterFmu], library: bool) -> list[str]:
    """Return the names of the classes in these lines, in their order."""
    connectors = [f"{type}{end}" for type in _types_of(fmus) for end in ("Input", "Output")]
    return [*([] if library else [*connectors, *KINDS]), "given", "given_der", "given_der2"]


def _types_of(fmus: Iterable[OuterFmu]) -> list[str]:
    """Return the types that need connectors."""
    types = {port.type for fmu in fmus for port in signals_of(fmu)}
    return [type for type in TYPES if type == "Real" or type in types]


def signals_of(fmu: OuterFmu) -> list[FmuVariable]:
    """Return the inputs and outputs that have connectors.

    Raises:
        FmuError: an input is of a type without connectors.
    """
    for port in fmu.ports.values():
        if port.causality == "input" and port.type not in (*TYPES, "Clock"):
            raise FmuError(
                f"{fmu.model}: the input '{port.name}' is of type {port.own or port.type}; Modelica has connectors for "
                f"{', '.join(TYPES)}"
            )
    return [port for port in fmu.ports.values() if port.causality in {"input", "output"} and port.type in TYPES]


def content(fmu: OuterFmu, library: bool, home: str = "", picture: str | None = None) -> list[str]:
    """Return the lines of the classes of an FMU.

    Args:
        fmu: the FMU.
        library: see `package`.
        home: URI of the folder with the unpacked FMU, if its functions are to be called in C; else empty.
        picture: URI of the picture of its icon.

    Raises:
        FmuError: see `package`.
    """
    axes, ports = flanges(fmu), signals_of(fmu)
    if not (axes or home):
        raise FmuError(
            f"{fmu.model}: no axis for a flange, which takes an input X.tau with outputs X.phi, X.w and X.a (X.f with "
            "X.s, X.v and X.a), or the other way round: export the model with actuated=True at a joint"
        )
    used = {part for axis in axes.values() for part in (*axis.motion, axis.effort)}
    signals = [port for port in ports if port.name not in used]
    internal, parameters = (INTERNAL, parameters_of(fmu)) if home else ((), [])
    _no_two_alike(fmu.model, [port.name for port in (*ports, *parameters)], (*TAKEN, *internal))
    _no_two_alike(fmu.model, [*axes, *(port.name for port in signals)], TAKEN)
    types = LIBRARY if library else {key: key for key in LIBRARY}
    lines = ['  partial block Fmu "Inputs and outputs of the FMU: the class a tool makes of it has them too"']
    lines += [f"    {_declared(types, port)} {text_of(port.description)};" for port in ports]
    lines += ["  end Fmu;", ""]
    if home:
        lines += [*exchange_block(fmu, ports, _motions(axes), home, library), ""]
        fills = 'replaceable Exchange fmu constrainedby Fmu "The FMU, called in C, or the class a tool made of it"'
    else:
        fills = 'replaceable Fmu fmu "The FMU: redeclare it as the class your tool made of it"'
    lines.append('  model Mechanism "The FMU with a flange for each axis"')
    lines.append(f"    {fills}")
    lines.append("      annotation(choicesAllMatching=true);")
    for height, (flange, axis) in zip(places(len(axes)), axes.items(), strict=True):
        lines.append(
            f"    {types[axis.kind]} {identifier(flange)} {text_of(f'axis of {axis.name}')}{placed(100, height)};"
        )
    for side, x in (("input", -110), ("output", 110)):
        some = [port for port in signals if port.causality == side]
        for height, port in zip(places(len(some)), some, strict=True):
            at = placed(x, height) if side == "input" else placed(height, -110, turned=True)
            lines.append(f"    {_declared(types, port)} {text_of(port.description)}{at};")
    lines.append("  equation")
    for flange, axis in axes.items():
        lines += _equations(identifier(flange), axis)
    for port in signals:
        pair = (identifier(port.name), f"fmu.{identifier(port.name)}")
        lines.append(f"    connect({', '.join(pair if port.causality == 'input' else pair[::-1])});")
    return [*lines, f"    {icon(picture)}", "  end Mechanism;"]


def _motions(axes: dict[str, Axis]) -> list[str]:
    """Return the names of the inputs that are coordinates and rates of moved axes."""
    return [part for axis in axes.values() if not axis.driven for part in axis.motion[:2]]


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


def _no_two_alike(model: str, names: Iterable[str], taken: Iterable[str]) -> None:
    """Raise an error if two names become one, or one of those that the class has of its own."""
    seen = {name: f"the model's own '{name}'" for name in taken}
    for name in names:
        key = identifier(name)
        if key in seen:
            raise FmuError(f"{model}: {seen[key]} and '{name}' are both '{key}' in Modelica: rename one")
        seen[key] = f"'{name}'"


def _declared(types: dict[str, str], port: FmuVariable) -> str:
    each, shape = ("each ", f"[{', '.join(map(str, port.shape))}]") if port.shape else ("", "")
    unit = f"({each}unit={text_of(port.unit)})" if port.unit else ""
    return f"{types[f'{port.type}{port.causality.title()}']} {identifier(port.name)}{shape}{unit}"
