"""Text of the library's classes that the compiler checks a model against, with the user's text at its place among them.

The classes are interfaces alone, with as many equations as unknowns, and a constant that tells the class of each
component in the flat model.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from mbfmu.model.modelica import planar
from mbfmu.model.modelica.interface import Class
from mbfmu.model.modelica.library import CLASSES, MULTIBODY, REFUSED, SEEN, UNUSED

TAG = "mbfmu_class"
"""Constant of each class that holds its path."""
MADE_OF = "mbfmu_made_of"
"""Constant that holds the path of each class of `WRITTEN`, which consists of other classes or of equations."""
ACROSS, THROUGH = "mbfmu_e", "mbfmu_f"
"""Variables of every connector of frames or flanges."""
FRAMES = "Frame_a Frame_b Frame"
"""Connectors of frames."""
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


FIELD = (
    f"replaceable function gravityAcceleration = {MULTIBODY}.Forces.Internal.standardGravityAcceleration constrainedby "
    f"{MULTIBODY}.Interfaces.partialGravityAcceleration; Real mbfmu_g[3];"
)
"""Function of a world that a model may give itself, and what it returns."""
OF_FIELD = (
    "partial function partialGravityAcceleration input Real r[3]; output Real gravity[3]; "
    "end partialGravityAcceleration; "
    "partial function partialSurfaceCharacteristic input Integer nu; input Integer nv; "
    "input Boolean multiColoredSurface=false; output Real X[nu,nv]; output Real Y[nu,nv]; output Real Z[nu,nv]; "
    "output Real C[if multiColoredSurface then nu else 0,if multiColoredSurface then nv else 0,3]; "
    "end partialSurfaceCharacteristic;"
)
"""Interfaces of functions that models may give."""
Visible: TypeAlias = Mapping[str, tuple[tuple[str, str, int], ...]]
"""Variables of connectors, each across and through them, and their sizes, by domain; "" is for frames."""
VISIBLE: Visible = {
    "Rotational": (("phi", "tau", 1),),
    "Translational": (("s", "f", 1),),
    "": (("r_0", "f", 3), ("mbfmu_w", "t", 3)),
}
"""Those that a user's text may name."""
NAMES_FRAME = re.compile(r"\bframe\w*\s*\.\s*(?:r_0|f|t)\b", re.ASCII)
"""Such a variable of a frame in a text: frames have them only where one stands, as they are many."""


def _connectors(names: str, pairs: Iterable[tuple[str, str, int]] = ()) -> str:
    """Return connectors with pairs of variables, each across and through them, and their sizes."""
    more = " ".join(
        f"Real {across}{f'[{size}]' if size > 1 else ''}; flow Real {through}{f'[{size}]' if size > 1 else ''};"
        for across, through, size in ((ACROSS, THROUGH, 1), *pairs)
    )
    return " ".join(f"connector {name} {more} end {name};" for name in names.split())


def _joined(ends: Sequence[str], pairs: Iterable[tuple[str, str, int]]) -> Iterator[str]:
    """Yield the equations of connectors of one component: what is across them is equal, what goes through balanced."""
    a, *others = ends
    for across, through, size in pairs:
        zero = f"zeros({size})" if size > 1 else "0"
        yield from (f"{a}.{across}={other}.{across};" for other in others)
        yield f"{'+'.join(f'{end}.{through}' for end in ends)}={zero};" if others else f"{a}.{across}={zero};"


ALPHA = {"Zero": 0.0, "Aluminium": 4.0e-3, "Brass": 1.1e-3, "Bronze": 0.8e-3, "Copper": 3.92e-3}
"""Temperature coefficients of resistances at 20 degrees Celsius, 1/K, by the names of Modelica.Electrical."""
FUNCTIONS = "sin cos tan asin acos atan sinh cosh tanh exp log"
"""Functions of Modelica.Math that are read."""

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
    f"{MULTIBODY}.Forces.Internal": (
        f"function standardGravityAcceleration extends {MULTIBODY}.Interfaces.partialGravityAcceleration; "
        "algorithm gravity := {0,0,0}; end standardGravityAcceleration;"
    ),
    "Modelica.Blocks.Interfaces": "connector RealInput = input Real; connector RealOutput = output Real;",
    "Modelica.Blocks.Types": (
        "type Init = enumeration(NoInit, SteadyState, InitialState, InitialOutput); "
        "type Regularization = enumeration(Exp, Sine, Linear, CoSine); "
        "type Smoothness = enumeration(LinearSegments, ContinuousDerivative, ConstantSegments, "
        "MonotoneContinuousDerivative1, MonotoneContinuousDerivative2, ModifiedContinuousDerivative); "
        "type Extrapolation = enumeration(HoldLastPoint, LastTwoPoints, Periodic, NoExtrapolation);"
    ),
    "Modelica.Thermal.HeatTransfer.Interfaces": _connectors("HeatPort_a HeatPort_b"),
    MULTIBODY: "import Cv = Modelica.Units.Conversions; import C = Modelica.Constants;",
    f"{MULTIBODY}.Frames": "",
    planar.LIBRARY: "import Modelica.Units.SI; import MB = Modelica.Mechanics.MultiBody; ",
    f"{planar.LIBRARY}.Interfaces": _connectors(FRAMES),
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
    named = [(path.rpartition(".")[2], body) for path, body in WRITTEN.items()]
    words, before = {"World", *re.findall(r"\w+", text)}, 0
    while len(words) > before:
        before = len(words)
        words.update(*(re.findall(r"\w+", body) for name, body in named if name in words))
    return words


def _class(path: str, item: Class, words: set[str], seen: Visible) -> str:
    """Return a class as text.

    Args:
        path: its path.
        item: what it declares.
        words: the words of the text that it is for.
        seen: variables of its connectors that this text may name, by domain.
    """
    name = path.rpartition(".")[2]
    domain = item.axis or "".join(path.split(".")[2:3])
    interfaces = f"{planar.LIBRARY if path.startswith(planar.LIBRARY) else MULTIBODY}.Interfaces"
    ports = [f"{interfaces}.Frame_{'b' if frame[-1] == 'b' else 'a'} {frame};" for frame in item.frames]
    ports += [f"{item.domain(path, flange)}.Interfaces.Flange_a {flange};" for flange in item.flanges]
    ports += [f"Modelica.Thermal.HeatTransfer.Interfaces.HeatPort_a {port};" for port in item.heated]
    base = ((ACROSS, THROUGH, 1),)
    equations = [*_joined((*item.frames, *item.flanges, *item.heated), base)]
    for key in seen:
        ends = [end for end in item.flanges if item.domain(path, end).endswith(f".{key}")]
        ends = [*item.frames] if not key and path.startswith(MULTIBODY) else ends
        equations += _joined(ends, seen[key]) if ends else ()
    if item.axis:
        ports += [
            f"Modelica.Mechanics.{domain}.Interfaces.Flange_a {flange} if {item.axis_switch};"
            for flange in (item.axis_port, "support")
        ]
        inside = " ".join(_joined((item.axis_port, "support"), (*base, *seen[domain])))
        equations.append(f"if {item.axis_switch} then {inside} end if;")
    if item.support:
        ports.append(f"Modelica.Mechanics.{domain}.Interfaces.Flange_b support if useSupport;")
        inside = " ".join(_joined(("support",), (*base, *seen[domain])))
        equations.append(f"if useSupport then {inside} end if;")
    if item.heats and "useHeatPort" in words:
        ports.append("Modelica.Thermal.HeatTransfer.Interfaces.HeatPort_a heatPort if useHeatPort;")
        equations.append(f"if useHeatPort then heatPort.{ACROSS}=0; end if;")
    switched = dict(item.switched)
    there = {port: f" if {switched[port]}" if port in switched else "" for port in (*item.outputs, *switched)}
    for port in item.outputs:
        output, _, bracket = port.partition("[")
        zero = f"{output}={f'zeros({bracket[:-1]})' if bracket else '0'};"
        ports.append(f"Modelica.Blocks.Interfaces.RealOutput {port}{there[port]};")
        equations.append(f"if {switched[port]} then {zero} end if;" if port in switched else zero)
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
    mine = " ".join((text, *(beside or {}).values()))
    seen = {key: pairs if key or NAMES_FRAME.search(mine) else () for key, pairs in VISIBLE.items()}
    rooms = {path: [content] for path, content in CONTENTS.items()}
    rooms[f"{MULTIBODY}.Interfaces"] = [_connectors(FRAMES, seen[""]), OF_FIELD]
    for domain in filter(None, VISIBLE):
        rooms[f"Modelica.Mechanics.{domain}.Interfaces"] = [_connectors("Flange_a Flange_b", seen[domain])]
    for path in (*CLASSES, *WRITTEN):
        rooms.setdefault(path.rpartition(".")[0], [])
    for path, content in (beside or {}).items():
        rooms.setdefault(path.rpartition(".")[0], []).append(content)
    words = _words(mine)
    for path in (*CLASSES, *WRITTEN):
        name = path.rpartition(".")[2]
        if name not in words:
            continue
        content = (
            _written_class(name, WRITTEN[path], words) if path in WRITTEN else _class(path, CLASSES[path], words, seen)
        )
        if path == f"{MULTIBODY}.World" and "gravityAcceleration" in words:
            content = content.replace(" equation ", f" {FIELD} equation mbfmu_g=gravityAcceleration({{0,0,0}}); ", 1)
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
