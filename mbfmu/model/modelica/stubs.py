"""Text of the library's classes that the compiler checks a model against, with the user's text at its place among them.

The classes are interfaces alone, with as many equations as unknowns, and a constant that tells the class of each
component in the flat model.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from mbfmu.model.modelica import planar
from mbfmu.model.modelica.interface import Class
from mbfmu.model.modelica.library import CLASSES, MULTIBODY, REFUSED, SEEN, UNUSED

TAG = "mbfmu_class"
"""Constant of each class that holds its path."""
MADE_OF = "mbfmu_made_of"
"""Constant that holds the path of each class of `WRITTEN`, which consists of other classes or of equations."""
ACROSS, THROUGH = "mbfmu_e", "mbfmu_f"
"""Variables of every connector of frames or flanges."""
UNITS = {
    "Length": "m", "Distance": "m", "Position": "m", "Radius": "m", "Diameter": "m", "Height": "m", "Breadth": "m",
    "Thickness": "m", "Mass": "kg", "Density": "kg/m3", "Inertia": "kg.m2", "MomentOfInertia": "kg.m2", "Angle": "rad",
    "AngularVelocity": "rad/s", "AngularAcceleration": "rad/s2", "Velocity": "m/s", "Acceleration": "m/s2",
    "Time": "s", "Frequency": "Hz", "Force": "N", "Torque": "N.m", "TranslationalSpringConstant": "N/m",
    "TranslationalDampingConstant": "N.s/m", "RotationalSpringConstant": "N.m/rad",
    "RotationalDampingConstant": "N.m.s/rad", "Area": "m2", "Volume": "m3", "Power": "W", "Energy": "J",
    "Temperature": "K", "Pressure": "Pa", "AbsolutePressure": "Pa", "HeatCapacity": "J/K",
    "SpecificHeatCapacity": "J/(kg.K)", "AngularMomentum": "kg.m2/s", "Period": "s",
}  # fmt: skip
"""Units of the types of Modelica.Units.SI that are known."""
ICONS = {
    "model": "Example Information",
    "block": "Block",
    "function": "Function",
    "package": (
        "Package ExamplesPackage BasesPackage VariantsPackage InterfacesPackage SourcesPackage SensorsPackage "
        "UtilitiesPackage TypesPackage FunctionsPackage IconsPackage InternalPackage"
    ),
}
"""Classes of Modelica.Icons without content, by their kind."""


def _connector(name: str) -> str:
    return f"connector {name} Real {ACROSS}; flow Real {THROUGH}; end {name};"


ALPHA = {"Zero": 0.0, "Aluminium": 4.0e-3, "Brass": 1.1e-3, "Bronze": 0.8e-3, "Copper": 3.92e-3}
"""Temperature coefficients of resistances at 20 degrees Celsius, 1/K, by the names of Modelica.Electrical."""
FUNCTIONS = "sin cos tan asin acos atan sinh cosh tanh exp log"
"""Functions of Modelica.Math that are read."""

SHOWN = {"Rotational": ("phi", "tau"), "Translational": ("s", "f")}
"""Coordinate and torque or force of the flanges of each domain, which a user's own variables may show."""


def _flanges(domain: str) -> str:
    at, effort = SHOWN[domain]
    made = _connector("Flange_a") + _connector("Flange_b")
    return made.replace(f"flow Real {THROUGH};", f"flow Real {THROUGH}; Real {at}; flow Real {effort};")


CONTENTS = {
    "Modelica": "import Modelica.Units.SI;",
    "Modelica.Icons": " ".join(
        f"partial {kind} {name} end {name};" for kind, names in ICONS.items() for name in names.split()
    ),
    "Modelica.Constants": (
        "constant Real pi=3.141592653589793; constant Real g_n=9.80665; constant Real e=2.718281828459045; "
        "constant Real R=8.31446261815324; "
        "constant Real D2R=0.017453292519943295; constant Real R2D=57.29577951308232;"
    ),
    "Modelica.Electrical.Machines.Thermal.Constants": " ".join(
        f"constant Real alpha20{name}={value};" for name, value in ALPHA.items()
    ),
    "Modelica.Units.SI": " ".join(f'type {name} = Real(unit="{unit}");' for name, unit in UNITS.items()),
    "Modelica.Units.NonSI": (
        'type Angle_deg = Real(unit="deg"); type AngularVelocity_rpm = Real(unit="rev/min"); '
        'type Temperature_degC = Real(unit="degC");'
    ),
    "Modelica.Units.Conversions": (
        "function from_deg input Real degree; output Real radian; algorithm radian := degree*0.017453292519943295; "
        "end from_deg; "
        "function to_deg input Real radian; output Real degree; algorithm degree := radian*57.29577951308232; "
        "end to_deg; "
        "function to_rpm input Real rs; output Real rpm; algorithm rpm := rs*9.549296585513721; end to_rpm; "
        "function from_rpm input Real rpm; output Real rs; algorithm rs := rpm*0.10471975511965977; end from_rpm;"
    ),
    "Modelica.Math": " ".join(
        f"function {name} input Real u; output Real y; algorithm y:={name}(u); end {name};"
        for name in FUNCTIONS.split()
    ),
    "Modelica.Blocks.Icons": "partial block Block end Block;",
    "Modelica.Blocks.Interfaces": "connector RealInput = input Real; connector RealOutput = output Real;",
    "Modelica.Blocks.Types": (
        "type Init = enumeration(NoInit, SteadyState, InitialState, InitialOutput); "
        "type Regularization = enumeration(Exp, Sine, Linear, CoSine); "
        "type Smoothness = enumeration(LinearSegments, ContinuousDerivative, ConstantSegments, "
        "MonotoneContinuousDerivative1, MonotoneContinuousDerivative2, ModifiedContinuousDerivative); "
        "type Extrapolation = enumeration(HoldLastPoint, LastTwoPoints, Periodic, NoExtrapolation);"
    ),
    "Modelica.Thermal.HeatTransfer.Interfaces": _connector("HeatPort_a") + _connector("HeatPort_b"),
    "Modelica.Mechanics.Rotational.Interfaces": _flanges("Rotational"),
    "Modelica.Mechanics.Translational.Interfaces": _flanges("Translational"),
    MULTIBODY: "import Cv = Modelica.Units.Conversions; import C = Modelica.Constants;",
    f"{MULTIBODY}.Interfaces": " ".join(map(_connector, ("Frame_a", "Frame_b", "Frame"))),
    planar.LIBRARY: "import Modelica.Units.SI; import MB = Modelica.Mechanics.MultiBody; ",
    f"{planar.LIBRARY}.Interfaces": " ".join(map(_connector, ("Frame_a", "Frame_b", "Frame"))),
    f"{MULTIBODY}.Types": (
        "type GravityTypes = enumeration(NoGravity, UniformGravity, PointGravity); "
        "type RotationTypes = enumeration(RotationAxis, TwoAxesVectors, PlanarRotationSequence); "
        "type ResolveInFrameA = enumeration(world, frame_a, frame_resolve); "
        "type ResolveInFrameAB = enumeration(world, frame_a, frame_b, frame_resolve); "
        "type ResolveInFrameB = enumeration(world, frame_b, frame_resolve); "
        "type Axis = Real[3]; type RotationSequence = Integer[3]; type Color = Integer[3];"
    ),
}
"""Contents of each package besides the classes that are read."""


def _quiet(item: Class, words: set[str]) -> str:
    """Return the declarations of the parameters without effect that a text names and a class does not declare itself.

    Args:
        item: the class.
        words: the words of the text.
    """
    labels = [(name, kind) for kind, names in SEEN.items() for name in names.split()]
    labels += [*UNUSED.items(), *((name, "Boolean") for name in REFUSED)]
    made = []
    for name, kind in labels:
        base, bracket, size = kind.partition("[")
        if name in words and name not in item.parameters:
            made.append(f"parameter {base} {name}{bracket}{size}{'=false' if name == 'useHeatPort' else ''};")
    return " ".join(made)


def _written() -> dict[str, str]:
    """Return classes that consist of other classes, or of equations, as text on one line, by path."""
    texts = {}
    for file in sorted((Path(__file__).parent / "classes").glob("*.mo")):
        text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        for match in re.finditer(r"^(partial )?(?:model|block) (\w+)$(.*?)^end \2;", text, re.MULTILINE | re.DOTALL):
            partial, name, body = match[1], match[2], " ".join(match[3].split())
            path = f"{file.stem}.{name}"
            tag = "" if partial else f'constant String {MADE_OF}="{path}";'
            texts[path] = f"{partial or ''}model {name} {tag} {body} end {name};"
    return texts


WRITTEN = _written()
"""Text of the classes that consist of other classes, or of equations, by path."""


def _words(text: str) -> set[str]:
    """Return the words of a text, and of the classes of `WRITTEN` that it names, and so on."""
    named = {path.rpartition(".")[2]: body for path, body in WRITTEN.items()}
    words, before = {"World", *re.findall(r"\w+", text)}, 0
    while len(words) > before:
        before = len(words)
        words.update(*(re.findall(r"\w+", body) for name, body in named.items() if name in words))
    return words


def _class(path: str, item: Class, words: set[str]) -> str:
    name = path.rpartition(".")[2]
    domain = item.axis or "".join(path.split(".")[2:3])
    interfaces = f"{planar.LIBRARY if path.startswith(planar.LIBRARY) else MULTIBODY}.Interfaces"
    ports = [f"{interfaces}.Frame_{'b' if frame[-1] == 'b' else 'a'} {frame};" for frame in item.frames]
    ports += [f"{item.domain(path, flange)}.Interfaces.Flange_a {flange};" for flange in item.flanges]
    ports += [f"Modelica.Thermal.HeatTransfer.Interfaces.HeatPort_a {port};" for port in item.heated]
    a, *b = *item.frames, *item.flanges, *item.heated
    equations = [f"{a}.{ACROSS}={other}.{ACROSS};" for other in b]
    equations.append(f"{'+'.join(f'{end}.{THROUGH}' for end in (a, *b))}=0;" if b else f"{a}.{ACROSS}=0;")
    sides = [(flange, *SHOWN[item.domain(path, flange).rpartition(".")[2]]) for flange in item.flanges]
    if sides:
        first = f"{sides[0][0]}.{sides[0][1]}"
        equations += [f"{first}={flange}.{at};" for flange, at, _ in sides[1:]]
        efforts = "+".join(f"{flange}.{effort}" for flange, _, effort in sides)
        equations.append(f"{efforts}=0;" if sides[1:] else f"{first}=0;")
    if item.axis:
        ports += [
            f"Modelica.Mechanics.{domain}.Interfaces.Flange_a {flange} if {item.axis_switch};"
            for flange in (item.axis_port, "support")
        ]
        pairs = ((ACROSS, THROUGH), SHOWN[item.axis])
        held = " ".join(f"{item.axis_port}.{e}=support.{e}; {item.axis_port}.{f}+support.{f}=0;" for e, f in pairs)
        equations.append(f"if {item.axis_switch} then {held} end if;")
    if item.support:
        ports.append(f"Modelica.Mechanics.{domain}.Interfaces.Flange_b support if useSupport;")
        equations.append(f"if useSupport then support.{ACROSS}=0; support.{SHOWN[domain][0]}=0; end if;")
    if item.heats and "useHeatPort" in words:
        ports.append("Modelica.Thermal.HeatTransfer.Interfaces.HeatPort_a heatPort if useHeatPort;")
        equations.append(f"if useHeatPort then heatPort.{ACROSS}=0; end if;")
    switched = dict(item.switched)
    there = {port: f" if {switched[port]}" if port in switched else "" for port in (*item.outputs, *switched)}
    for port in item.outputs:
        ports.append(f"Modelica.Blocks.Interfaces.RealOutput {port}{there[port]};")
        equations.append(f"if {switched[port]} then {port}=0; end if;" if port in switched else f"{port}=0;")
    for port, size, _ in item.inputs:
        many = f"[{size}]" if size > 1 else ""
        ports.append(f"Modelica.Blocks.Interfaces.RealInput {port}{many}{there.get(port, '')};")
    for state, size in (*item.states, *item.accelerations):
        ports.append(f"Real {state}{f'[{size}]' if size > 1 else ''};")
        equations.append(f"der({state})={f'zeros({size})' if size > 1 else '0'};")
    tag = f'constant String {TAG}="{path}";'
    body = f"{item.declared}{_quiet(item, words)} {' '.join(ports)}"
    return f"model {name} {tag} {body} equation {' '.join(equations)} end {name};"


def _written_class(name: str, body: str, words: set[str]) -> str:
    """Return the text of a class that consists of others, which takes parameters without effect too."""
    quiet = _quiet(Class(body), words) if "MultiBody." in body else ""
    return re.sub(rf"model {name} ", f"model {name} {quiet} ", body, count=1)


def whole(text: str, within: str, beside: Mapping[str, str] | None = None) -> str:
    """Return a user's text among the classes of the library, with its lines where they were.

    It comes as early as it can, as no line may be added before it, and the compiler fails at mistakes far to the right.

    Args:
        text: the text, without its ``within``.
        within: path of the package that it stands in; empty: it stands outside of all.
        beside: texts of other classes of that package, by full name.
    """
    rooms = {path: [content] for path, content in CONTENTS.items()}
    for path in (*CLASSES, *WRITTEN):
        rooms.setdefault(path.rpartition(".")[0], [])
    for path, content in (beside or {}).items():
        rooms.setdefault(path.rpartition(".")[0], []).append(content)
    words = _words(" ".join((text, *(beside or {}).values())))
    for path in (*CLASSES, *WRITTEN):
        if (name := path.rpartition(".")[2]) in words:
            content = (
                _written_class(name, WRITTEN[path], words) if path in WRITTEN else _class(path, CLASSES[path], words)
            )
            rooms.setdefault(path.rpartition(".")[0], []).append(content)
    rooms["Modelica.SIunits"] = [*rooms["Modelica.Units.SI"]]
    rooms.setdefault(within, []).insert(0, text)

    def package(path: str) -> str:
        before = f"{path}." if path else ""
        inner = dict.fromkeys(
            before + room[len(before) :].split(".")[0] for room in rooms if room.startswith(before) and room != path
        )
        first = [room for room in inner if f"{within}.".startswith(f"{room}.")]
        pieces = [*map(package, first), *rooms.get(path, []), *(package(room) for room in inner if room not in first)]
        name, content = path.rpartition(".")[2], "\n".join(pieces)
        return f"package {name} {content}\nend {name};" if name else content

    return package("")
