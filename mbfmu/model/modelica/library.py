"""Classes of Modelica's library that are read: their parameters, with the defaults of version 4, and their ports.

The compiler needs classes to check a model against. `stubs` writes them from the table: interfaces alone, with as many
equations as unknowns, and a constant that tells the class of each component in the flat model.
"""

from dataclasses import dataclass

TAG = "mbfmu_class"
"""Constant of each stub that holds its path."""
MULTIBODY = "Modelica.Mechanics.MultiBody"
UNITS = {
    "Length": "m", "Distance": "m", "Position": "m", "Radius": "m", "Diameter": "m", "Height": "m", "Breadth": "m",
    "Thickness": "m", "Mass": "kg", "Density": "kg/m3", "Inertia": "kg.m2", "MomentOfInertia": "kg.m2", "Angle": "rad",
    "AngularVelocity": "rad/s", "AngularAcceleration": "rad/s2", "Velocity": "m/s", "Acceleration": "m/s2",
    "Time": "s", "Frequency": "Hz", "Force": "N", "Torque": "N.m", "TranslationalSpringConstant": "N/m",
    "TranslationalDampingConstant": "N.s/m", "RotationalSpringConstant": "N.m/rad",
    "RotationalDampingConstant": "N.m.s/rad",
}  # fmt: skip
"""Units of the types of Modelica.Units.SI that are known."""
SEEN = {
    "Boolean": [
        "animation",
        "showMass",
        "enableAnimation",
        "animateWorld",
        "animateGravity",
        "animateGround",
        "enforceStates",
        "useQuaternions",
        "driveTrainMechanics3D",
    ],
    "String": ["shapeType", "label1", "label2"],
    "Integer[3]": [
        "color",
        "sphereColor",
        "cylinderColor",
        "boxColor",
        "axisColor_x",
        "gravityArrowColor",
        "sequence_angleStates",
    ],
    "Real": [
        "specularCoefficient",
        "extra",
        "sphereDiameter",
        "cylinderDiameter",
        "cylinderLength",
        "boxHeight",
        "boxWidth",
        "axisLength",
        "axisDiameter",
        "nominalLength",
        "gravityArrowLength",
        "gravityArrowDiameter",
        "defaultAxisLength",
        "defaultJointLength",
        "defaultJointWidth",
        "defaultForceLength",
        "defaultForceWidth",
        "defaultBodyDiameter",
        "defaultArrowDiameter",
        "defaultSpecularCoefficient",
        "s_small",
        "lengthFraction",
        "massDiameter",
        "numberOfWindings",
        "width",
        "coilWidth",
        "length",
        "height",
        "widthOfCoil",
        "diameter_a",
        "length_a",
        "diameter_b",
        "length_b",
    ],
    "Real[3]": ["lengthDirection", "widthDirection", "boxWidthDirection", "r_shape"],
    "StateSelect": ["stateSelect"],
}
"""Parameters without effect on the motion, by type; every class takes those that it does not declare itself."""
START_ANGLES = (
    "parameter Boolean angles_fixed=false; parameter Real angles_start[3]={0,0,0}; "
    "parameter Integer sequence_start[3]={1,2,3}; "
)
INERTIA = (
    "parameter Real m(start=1); parameter Real r_CM[3](start={0,0,0}); parameter Real I_11=0.001; "
    "parameter Real I_22=0.001; parameter Real I_33=0.001; parameter Real I_21=0; parameter Real I_31=0; "
    "parameter Real I_32=0; "
)
ABSOLUTE = START_ANGLES + "parameter Boolean w_0_fixed=false; parameter Real w_0_start[3]={0,0,0}; "
SHAPE = (
    "outer Modelica.Mechanics.MultiBody.World world; parameter Real r[3]={0.1,0,0}; parameter Real r_shape[3]={0,0,0}; "
    "parameter Real lengthDirection[3]={r[1]-r_shape[1],r[2]-r_shape[2],r[3]-r_shape[3]}; "
    "parameter Real length=sqrt((r[1]-r_shape[1])^2+(r[2]-r_shape[2])^2+(r[3]-r_shape[3])^2); "
    "parameter Real density=7700; "
)
RELATIVE = START_ANGLES + "parameter Boolean w_rel_a_fixed=false; parameter Real w_rel_a_start[3]={0,0,0}; "
FLANGE = "parameter Boolean useAxisFlange=false; "
BOTH = ("frame_a", "frame_b")


@dataclass(frozen=True)
class Class:
    """A class of the library.

    Args:
        declared: its parameters with an effect on the motion, in Modelica.
        frames: its frames.
        states: sizes of its variables with start values, by name.
        flanges: its flanges, always there.
        axis: domain of its flanges ``axis`` and ``support``, there with `useAxisFlange`; empty: it has none.
    """

    declared: str = ""
    frames: tuple[str, ...] = ()
    states: tuple[tuple[str, int], ...] = ()
    flanges: tuple[str, ...] = ()
    axis: str = ""


def _states(text: str, size: int = 1) -> tuple[tuple[str, int], ...]:
    return tuple((name, size) for name in text.split())


MOVING = _states("r_0 v_0 a_0", 3)
PAIR = ("flange_a", "flange_b")
CLASSES = {
    f"{MULTIBODY}.World": Class(
        f"parameter {MULTIBODY}.Types.GravityTypes gravityType={MULTIBODY}.Types.GravityTypes.UniformGravity; "
        "parameter Real g=9.80665; parameter Real n[3]={0,-1,0}; parameter Real defaultWidthFraction=20; ",
        ("frame_b",),
    ),
    f"{MULTIBODY}.Parts.Fixed": Class("parameter Real r[3]={0,0,0}; ", ("frame_b",)),
    f"{MULTIBODY}.Parts.FixedTranslation": Class("parameter Real r[3](start={0,0,0}); ", BOTH),
    f"{MULTIBODY}.Parts.FixedRotation": Class(
        "parameter Real r[3]={0,0,0}; "
        f"parameter {MULTIBODY}.Types.RotationTypes rotationType={MULTIBODY}.Types.RotationTypes.RotationAxis; "
        "parameter Real n[3]={1,0,0}; parameter Real angle=0; parameter Real n_x[3]={1,0,0}; "
        "parameter Real n_y[3]={0,1,0}; parameter Integer sequence[3]={1,2,3}; parameter Real angles[3]={0,0,0}; ",
        BOTH,
    ),
    f"{MULTIBODY}.Parts.Body": Class(INERTIA + ABSOLUTE, ("frame_a",), MOVING),
    f"{MULTIBODY}.Parts.BodyShape": Class("parameter Real r[3](start={0,0,0}); " + INERTIA + ABSOLUTE, BOTH, MOVING),
    f"{MULTIBODY}.Parts.BodyBox": Class(
        SHAPE + "parameter Real widthDirection[3]={0,1,0}; parameter Real width=length/world.defaultWidthFraction; "
        "parameter Real height=width; parameter Real innerWidth=0; parameter Real innerHeight=innerWidth; " + ABSOLUTE,
        BOTH,
        MOVING,
    ),
    f"{MULTIBODY}.Parts.BodyCylinder": Class(
        SHAPE
        + "parameter Real diameter=length/world.defaultWidthFraction; parameter Real innerDiameter=0; "
        + ABSOLUTE,
        BOTH,
        MOVING,
    ),
    f"{MULTIBODY}.Parts.PointMass": Class("parameter Real m(start=1); ", ("frame_a",), MOVING),
    f"{MULTIBODY}.Joints.Revolute": Class(
        FLANGE + "parameter Real n[3]={0,0,1}; ", BOTH, _states("phi w a"), axis="Rotational"
    ),
    f"{MULTIBODY}.Joints.RevolutePlanarLoopConstraint": Class("parameter Real n[3]={0,0,1}; ", BOTH),
    f"{MULTIBODY}.Joints.Prismatic": Class(
        FLANGE + "parameter Real n[3]={1,0,0}; ", BOTH, _states("s v a"), axis="Translational"
    ),
    f"{MULTIBODY}.Joints.Cylindrical": Class("parameter Real n[3]={1,0,0}; ", BOTH, _states("s v a phi w wd")),
    f"{MULTIBODY}.Joints.Universal": Class(
        "parameter Real n_a[3]={1,0,0}; parameter Real n_b[3]={0,1,0}; ",
        BOTH,
        _states("phi_a phi_b w_a w_b a_a a_b"),
    ),
    f"{MULTIBODY}.Joints.Planar": Class(
        "parameter Real n[3]={0,0,1}; parameter Real n_x[3]={1,0,0}; ",
        BOTH,
        _states("s_x s_y phi v_x v_y w a_x a_y wd"),
    ),
    f"{MULTIBODY}.Joints.Spherical": Class(RELATIVE, BOTH),
    f"{MULTIBODY}.Joints.FreeMotion": Class(RELATIVE, BOTH, _states("r_rel_a v_rel_a a_rel_a", 3)),
    f"{MULTIBODY}.Forces.Spring": Class(
        "parameter Real c(start=1); parameter Real s_unstretched=0; parameter Real m=0; ", BOTH
    ),
    f"{MULTIBODY}.Forces.Damper": Class("parameter Real d=0; ", BOTH),
    f"{MULTIBODY}.Forces.SpringDamperParallel": Class(
        "parameter Real c; parameter Real s_unstretched=0; parameter Real d=0; ", BOTH
    ),
    **{
        f"Modelica.Mechanics.{domain}.Components.{name}": Class(declared, flanges=flanges)
        for domain, zero, held in (("Rotational", "phi_rel0", "phi0"), ("Translational", "s_rel0", "s0"))
        for name, declared, flanges in (
            ("Damper", "parameter Real d(start=0); ", PAIR),
            ("Spring", f"parameter Real c(start=1); parameter Real {zero}=0; ", PAIR),
            ("SpringDamper", f"parameter Real c(start=1); parameter Real d(start=0); parameter Real {zero}=0; ", PAIR),
            ("Fixed", f"parameter Real {held}=0; ", ("flange",)),
        )
    },
    "Modelica.Mechanics.Rotational.Sources.ConstantTorque": Class("parameter Real tau_constant; ", flanges=("flange",)),
    "Modelica.Mechanics.Translational.Sources.ConstantForce": Class("parameter Real f_constant; ", flanges=("flange",)),
}
"""Classes that are read, by path."""


def _quiet(declared: str) -> str:
    """Return the declarations of the parameters without effect that a class does not declare itself."""
    made = []
    for kind, names in SEEN.items():
        base, bracket, size = kind.partition("[")
        made += [
            f"parameter {base} {name}{bracket}{size};"
            for name in names
            if not any(f" {name}{sign}" in declared for sign in "=[(")
        ]
    return " ".join(made)


def _class(path: str, name: str, item: Class) -> str:
    domain = item.axis or path.split(".")[2]
    ports = [f"{MULTIBODY}.Interfaces.Frame_{frame[-1]} {frame};" for frame in item.frames]
    ports += [f"Modelica.Mechanics.{domain}.Interfaces.Flange_a {flange};" for flange in item.flanges]
    pairs = [item.frames or item.flanges]
    equations = []
    for a, *b in pairs:
        equations += [f"{a}.e={b[0]}.e; {a}.f+{b[0]}.f=0;" if b else f"{a}.e=0;"]
    if item.axis:
        ports += [
            f"Modelica.Mechanics.{domain}.Interfaces.Flange_a {flange} if useAxisFlange;"
            for flange in ("axis", "support")
        ]
        equations += ["if useAxisFlange then axis.e=support.e; axis.f+support.f=0; end if;"]
    for state, size in item.states:
        ports.append(f"Real {state}{f'[{size}]' if size > 1 else ''};")
        equations.append(f"der({state})={'{0,0,0}' if size > 1 else '0'};")
    tag = f'constant String {TAG}="{path}";'
    body = f"{item.declared}{_quiet(item.declared)} {' '.join(ports)}"
    return f"model {name} {tag} {body} equation {' '.join(equations)} end {name};"


def stubs() -> str:
    """Return the classes as the text of a package in Modelica."""
    tree: dict[str, list[str]] = {}
    for path, item in CLASSES.items():
        room, _, name = path.rpartition(".")
        tree.setdefault(room, []).append(_class(path, name, item))
    units = " ".join(f'type {name} = Real(unit="{unit}");' for name, unit in UNITS.items())
    units = f'{units} type PerUnit = Real(unit="1");'
    flanges = "package Interfaces connector Flange_a Real e; flow Real f; end Flange_a; " + (
        "connector Flange_b Real e; flow Real f; end Flange_b; end Interfaces;"
    )
    domains = " ".join(
        f"package {domain} {flanges} "
        + " ".join(
            f"package {room} {' '.join(tree[f'Modelica.Mechanics.{domain}.{room}'])} end {room};"
            for room in ("Components", "Sources")
        )
        + f" end {domain};"
        for domain in ("Rotational", "Translational")
    )
    multibody = " ".join(
        f"package {room} {' '.join(tree[f'{MULTIBODY}.{room}'])} end {room};" for room in ("Joints", "Parts", "Forces")
    )
    return (
        "package Modelica "
        "package Constants constant Real pi=3.141592653589793; constant Real g_n=9.80665; "
        "constant Real e=2.718281828459045; constant Real D2R=0.017453292519943295; "
        "constant Real R2D=57.29577951308232; end Constants; "
        f"package Units package SI {units} end SI; "
        'package NonSI type Angle_deg = Real(unit="deg"); end NonSI; package Conversions '
        "function from_deg input Real degree; output Real radian; algorithm "
        "radian := degree*0.017453292519943295; end from_deg; end Conversions; end Units; "
        f"package SIunits {units} end SIunits; "
        f"package Mechanics {domains} package MultiBody package Interfaces "
        "connector Frame_a Real e; flow Real f; end Frame_a; connector Frame_b Real e; flow Real f; end Frame_b; "
        "connector Frame Real e; flow Real f; end Frame; end Interfaces; "
        "package Types type GravityTypes = enumeration(NoGravity, UniformGravity, PointGravity); "
        "type RotationTypes = enumeration(RotationAxis, TwoAxesVectors, PlanarRotationSequence); "
        "type Axis = Real[3]; type RotationSequence = Integer[3]; type Color = Integer[3]; end Types; "
        f"{' '.join(tree[MULTIBODY])} {multibody} end MultiBody; end Mechanics; end Modelica;\n"
    )
