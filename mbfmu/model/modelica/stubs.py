"""Text of the library's classes that the compiler checks a model against, with the user's text at its place among them.

The classes are interfaces alone, with as many equations as unknowns, and a constant that tells the class of each
component in the flat model.
"""

from mbfmu.model.modelica.library import CLASSES, MULTIBODY, REFUSED, SEEN, UNUSED, Class

TAG = "mbfmu_class"
"""Constant of each class that holds its path."""
ACROSS, THROUGH = "mbfmu_e", "mbfmu_f"
"""Variables of every connector of frames or flanges."""
UNITS = {
    "Length": "m", "Distance": "m", "Position": "m", "Radius": "m", "Diameter": "m", "Height": "m", "Breadth": "m",
    "Thickness": "m", "Mass": "kg", "Density": "kg/m3", "Inertia": "kg.m2", "MomentOfInertia": "kg.m2", "Angle": "rad",
    "AngularVelocity": "rad/s", "AngularAcceleration": "rad/s2", "Velocity": "m/s", "Acceleration": "m/s2",
    "Time": "s", "Frequency": "Hz", "Force": "N", "Torque": "N.m", "TranslationalSpringConstant": "N/m",
    "TranslationalDampingConstant": "N.s/m", "RotationalSpringConstant": "N.m/rad",
    "RotationalDampingConstant": "N.m.s/rad",
}  # fmt: skip
"""Units of the types of Modelica.Units.SI that are known."""
ICONS = {
    "model": "Example Information",
    "block": "Block",
    "package": (
        "Package ExamplesPackage BasesPackage VariantsPackage InterfacesPackage SourcesPackage SensorsPackage "
        "UtilitiesPackage TypesPackage FunctionsPackage IconsPackage InternalPackage"
    ),
}
"""Classes of Modelica.Icons without content, by their kind."""


def _connector(name: str) -> str:
    return f"connector {name} Real {ACROSS}; flow Real {THROUGH}; end {name};"


FLANGES = _connector("Flange_a") + _connector("Flange_b")
CONTENTS = {
    "Modelica": "import Modelica.Units.SI;",
    "Modelica.Icons": " ".join(
        f"partial {kind} {name} end {name};" for kind, names in ICONS.items() for name in names.split()
    ),
    "Modelica.Constants": (
        "constant Real pi=3.141592653589793; constant Real g_n=9.80665; constant Real e=2.718281828459045; "
        "constant Real D2R=0.017453292519943295; constant Real R2D=57.29577951308232;"
    ),
    "Modelica.Units.SI": " ".join(f'type {name} = Real(unit="{unit}");' for name, unit in UNITS.items()),
    "Modelica.Units.NonSI": 'type Angle_deg = Real(unit="deg");',
    "Modelica.Units.Conversions": (
        "function from_deg input Real degree; output Real radian; algorithm radian := degree*0.017453292519943295; "
        "end from_deg;"
    ),
    "Modelica.Blocks.Interfaces": "connector RealInput = input Real; connector RealOutput = output Real;",
    "Modelica.Mechanics.Rotational.Interfaces": FLANGES,
    "Modelica.Mechanics.Translational.Interfaces": FLANGES,
    MULTIBODY: "import Cv = Modelica.Units.Conversions; import C = Modelica.Constants;",
    f"{MULTIBODY}.Interfaces": " ".join(map(_connector, ("Frame_a", "Frame_b", "Frame"))),
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


def _quiet(item: Class) -> str:
    """Return the declarations of the parameters without effect that a class does not declare itself."""
    labels = [(name, kind) for kind, names in SEEN.items() for name in names.split()]
    labels += [*UNUSED.items(), *((name, "Boolean") for name in REFUSED)]
    made = []
    for name, kind in labels:
        base, bracket, size = kind.partition("[")
        if name not in item.parameters:
            made.append(f"parameter {base} {name}{bracket}{size};")
    return " ".join(made)


def _class(path: str, item: Class) -> str:
    name = path.rpartition(".")[2]
    domain = item.axis or path.split(".")[2]
    ports = [f"{MULTIBODY}.Interfaces.Frame_{frame[-1]} {frame};" for frame in item.frames]
    ports += [f"Modelica.Mechanics.{domain}.Interfaces.Flange_a {flange};" for flange in item.flanges]
    a, *b = item.frames or item.flanges
    equations = [f"{a}.{ACROSS}={b[0]}.{ACROSS}; {a}.{THROUGH}+{b[0]}.{THROUGH}=0;" if b else f"{a}.{ACROSS}=0;"]
    if item.axis:
        ports += [
            f"Modelica.Mechanics.{domain}.Interfaces.Flange_a {flange} if useAxisFlange;"
            for flange in ("axis", "support")
        ]
        equations.append(
            f"if useAxisFlange then axis.{ACROSS}=support.{ACROSS}; axis.{THROUGH}+support.{THROUGH}=0; end if;"
        )
    if item.support:
        ports.append(f"Modelica.Mechanics.{domain}.Interfaces.Flange_b support if useSupport;")
        equations.append(f"if useSupport then support.{ACROSS}=0; end if;")
    for port, size, _ in item.inputs:
        ports.append(f"Modelica.Blocks.Interfaces.RealInput {port}{f'[{size}]' if size > 1 else ''};")
    for state, size in (*item.states, *item.accelerations):
        ports.append(f"Real {state}{f'[{size}]' if size > 1 else ''};")
        equations.append(f"der({state})={'{0,0,0}' if size > 1 else '0'};")
    tag = f'constant String {TAG}="{path}";'
    body = f"{item.declared}{_quiet(item)} {' '.join(ports)}"
    return f"model {name} {tag} {body} equation {' '.join(equations)} end {name};"


def whole(text: str, within: str) -> str:
    """Return a user's text among the classes of the library, with its lines where they were.

    It comes as early as it can, as no line may be added before it, and the compiler fails at mistakes far to the right.

    Args:
        text: the text, without its ``within``.
        within: path of the package that it stands in; empty: it stands outside of all.
    """
    rooms = {path: [content] for path, content in CONTENTS.items()}
    for path, item in CLASSES.items():
        rooms.setdefault(path.rpartition(".")[0], []).append(_class(path, item))
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
