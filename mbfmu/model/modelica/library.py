"""Classes of Modelica's library that are read: their parameters, with the defaults of version 4, and their ports."""

from mbfmu.model.modelica import planar
from mbfmu.model.modelica.interface import Class, states
from mbfmu.model.modelica.one_dimensional import ONE_DIMENSIONAL
from mbfmu.model.modelica.sensors import SENSORS

MULTIBODY = "Modelica.Mechanics.MultiBody"
HOUSING = f"{MULTIBODY}.Parts.Housing"
"""Frame that a part of a drive train stands on, with the axis of its torque."""
SAME_AXIS = f"{MULTIBODY}.Joints.Internal.SameAxis"
"""Part of an assembly of joints that turns the axis of its revolute joints to where frame_b has it."""
ROLLING = f"{MULTIBODY}.Joints.RollingWheel"
LATERAL = f"{MULTIBODY}.Joints.Internal.RollingConstraintVerticalWheel"
GROUNDED = {**planar.GROUNDED, ROLLING: "frame_a", LATERAL: "frame_a"}
"""Frame that is frame_b of the component here, whose frame_a is the world's, by class."""
SEEN = {
    "Boolean": (
        "animation animateSphere showMass enableAnimation animateWorld animateGravity animateGround "
        "axisShowLabels enforceStates useQuaternions driveTrainMechanics3D useHeatPort animate extraLine "
        "enableAssert showUniversalAxes checkTotalPower kinematicConstraint"
    ),
    "String": "shapeType label1 label2 rodShapeType",
    "Integer[3]": (
        "color sphereColor cylinderColor boxColor massColor arrowColor color_a color_b axisColor_x axisColor_y "
        "axisColor_z gravityArrowColor gravitySphereColor groundColor sequence_angleStates rodColor rod1Color rod2Color"
    ),
    "Real": (
        "specularCoefficient extra sphereDiameter cylinderDiameter cylinderLength boxHeight boxWidth "
        "axisLength axisDiameter gravityArrowLength gravityArrowDiameter gravitySphereDiameter groundLength_u "
        "groundLength_v defaultN_to_m defaultNm_to_m s_small lengthFraction massDiameter numberOfWindings "
        "width coilWidth length height widthOfCoil rodDiameter rodWidth rodHeight rodExtra rod1Diameter "
        "rod2Diameter diameter_a length_a diameter_b length_b phi_nominal s_nominal zPosition N_to_m Nm_to_m"
    ),
    "Real[3]": "lengthDirection widthDirection boxWidthDirection r_shape gravityArrowTail groundAxis_u",
    "StateSelect": "stateSelect",
}
"""Parameters without effect on the motion, by type; every class takes those that it does not declare itself."""
UNUSED = {"z_0_start": "Real[3]", "z_rel_a_start": "Real[3]", "fixedRotationAtFrame_a": "Boolean",
          "fixedRotationAtFrame_b": "Boolean"}  # fmt: skip
"""Parameters that have no effect in mbfmu, by name, with their types: they are read, and a warning names them."""
REFUSED = ("z_0_fixed", "z_rel_a_fixed")
"""Switches that fix the start of an angular acceleration."""
START_ANGLES = (
    "parameter Boolean angles_fixed=false; parameter Real angles_start[3]={0,0,0}; "
    "parameter Integer sequence_start[3]={1,2,3}; "
)
INERTIA = (
    "parameter Real m; parameter Real r_CM[3]; parameter Real I_11=0.001; "
    "parameter Real I_22=0.001; parameter Real I_33=0.001; parameter Real I_21=0; parameter Real I_31=0; "
    "parameter Real I_32=0; "
)
ABSOLUTE = START_ANGLES + "parameter Boolean w_0_fixed=false; parameter Real w_0_start[3]={0,0,0}; "
SHAPE = (
    "outer Modelica.Mechanics.MultiBody.World world; parameter Real r[3]; parameter Real r_shape[3]={0,0,0}; "
    "parameter Real lengthDirection[3]={r[1]-r_shape[1],r[2]-r_shape[2],r[3]-r_shape[3]}; "
    "parameter Real length=sqrt((r[1]-r_shape[1])^2+(r[2]-r_shape[2])^2+(r[3]-r_shape[3])^2); "
    "parameter Real density=7700; "
)
_OUTER, _INNER = (f"density*3.141592653589793*length*{d}^2/4" for d in ("diameter", "innerDiameter"))
_ALONG = f"({_OUTER}*diameter^2-{_INNER}*innerDiameter^2)/8"
_ACROSS = f"({_OUTER}*(length^2+3*diameter^2/4)-{_INNER}*(length^2+3*innerDiameter^2/4))/12"
_LENGTH = "(lengthDirection[1]^2+lengthDirection[2]^2+lengthDirection[3]^2)"
CYLINDER = "parameter Real I[3,3]={{{}}}; ".format(
    ",".join(
        "{"
        + ",".join(
            f"{f'{_ACROSS}+' if i == j else ''}({_ALONG}-{_ACROSS})*lengthDirection[{i}]*lengthDirection[{j}]/{_LENGTH}"
            for j in (1, 2, 3)
        )
        + "}"
        for i in (1, 2, 3)
    )
)
"""Inertia matrix of a cylinder, ``across E + (along - across) e e^T`` with its direction e."""
RELATIVE = START_ANGLES + "parameter Boolean w_rel_a_fixed=false; parameter Real w_rel_a_start[3]={0,0,0}; "
LOCKED = "".join(f"parameter Boolean {axis}_locked=true; " for axis in "xyz")
FLANGE = "parameter Boolean useAxisFlange=false; "
SUPPORT = "parameter Boolean useSupport=false; "
BOTH = ("frame_a", "frame_b")


def _sensor(quantities: str, resolved: str) -> str:
    """Return the parameters of a sensor that measures some quantities, resolved in one of several frames."""
    switches = "".join(f"parameter Boolean get_{name}; " for name in quantities.split())
    frames = "".join(
        f"parameter {MULTIBODY}.Types.ResolveInFrame{resolved} resolveInFrame{when}; "
        for when in ("", "AfterDifferentiation")
    )
    return f"{switches}{frames}parameter Integer sequence[3]; parameter Real guessAngle1; "


MOVING = (states("r_0 v_0", 3), states("a_0", 3))
SWITCHES = ("r", "v", "a", "angle", "angle_d", "angle_dd", "w", "z")
SCALARS = "".join(f"parameter Boolean use_{name}=false; " for name in SWITCHES)
SCALAR_STATES = states(
    " ".join(f"{name}_{index}" for name in ("r_rel_a", "v_rel_a", "angle", "angle_d", "w_rel_b") for index in (1, 2, 3))
)
VISUALIZERS = {
    f"{MULTIBODY}.Visualizers.{name}": Class(declared, ("frame_a",), shows=True)
    for name, declared in (
        ("Torus", "parameter Real R=0.5; parameter Real r=0.1; parameter Real opening; parameter Boolean wireframe; "),
        ("VoluminousWheel", "parameter Real rTire=0.25; parameter Real rRim=0.14; parameter Real rCurvature=0.3; "),
        (
            "PipeWithScalarField",
            "parameter Real rOuter; parameter Real xsi[12]=fill(0.5,12); input Real T[12]; parameter Real T_min; "
            "parameter Real T_max; parameter Integer n_colors; ",
        ),
    )
}
"""Bodies that are only shown."""
THERMAL = {
    f"Modelica.Thermal.HeatTransfer.{name}": Class(
        declared, inputs=inputs, shows=True, heated=heated, states=states("T" if name.endswith("Capacitor") else "")
    )
    for name, declared, inputs, heated in (
        ("Components.HeatCapacitor", "parameter Real C; ", (), ("port",)),
        ("Components.ThermalConductor", "parameter Real G; ", (), ("port_a", "port_b")),
        ("Components.Convection", "", (("Gc", 1, "W/K"),), ("solid", "fluid")),
        ("Celsius.FixedTemperature", "parameter Real T; ", (), ("port",)),
        ("Sources.FixedTemperature", "parameter Real T; ", (), ("port",)),
    )
}
"""Thermal parts, which change no motion."""
CLASSES = {
    f"{MULTIBODY}.World": Class(
        f"parameter {MULTIBODY}.Types.GravityTypes gravityType={MULTIBODY}.Types.GravityTypes.UniformGravity; "
        "parameter Real g=9.80665; parameter Real n[3]={0,-1,0}; parameter Real mu=3.986004418e14; "
        "parameter Real nominalLength=1; parameter Real defaultAxisLength=nominalLength/5; "
        "parameter Real defaultJointLength=nominalLength/10; parameter Real defaultJointWidth=nominalLength/20; "
        "parameter Real defaultForceLength=nominalLength/10; parameter Real defaultForceWidth=nominalLength/20; "
        "parameter Real defaultBodyDiameter=nominalLength/9; parameter Real defaultArrowDiameter=nominalLength/40; "
        "parameter Real defaultWidthFraction=20; parameter Real defaultFrameDiameterFraction=40; "
        "parameter Real defaultSpecularCoefficient=0.7; parameter Boolean driveTrainMechanics3D=true; ",
        ("frame_b",),
    ),
    HOUSING: Class("parameter Real n[3]={1,0,0}; ", ("frame_a",)),
    f"{MULTIBODY}.Parts.Fixed": Class("parameter Real r[3]={0,0,0}; ", ("frame_b",)),
    f"{MULTIBODY}.Parts.FixedTranslation": Class("parameter Real r[3]; ", BOTH),
    f"{MULTIBODY}.Parts.FixedRotation": Class(
        "parameter Real r[3]={0,0,0}; "
        f"parameter {MULTIBODY}.Types.RotationTypes rotationType={MULTIBODY}.Types.RotationTypes.RotationAxis; "
        "parameter Real n[3]={1,0,0}; parameter Real angle=0; parameter Real n_x[3]={1,0,0}; "
        "parameter Real n_y[3]={0,1,0}; parameter Integer sequence[3]={1,2,3}; parameter Real angles[3]={0,0,0}; ",
        BOTH,
    ),
    SAME_AXIS: Class("parameter Real n_a[3]; parameter Real n_b[3]; ", BOTH),
    f"{MULTIBODY}.Parts.Body": Class(INERTIA + ABSOLUTE, ("frame_a",), *MOVING, outputs=("g_0[3]",)),
    f"{MULTIBODY}.Parts.BodyShape": Class("parameter Real r[3]; " + INERTIA + ABSOLUTE, BOTH, *MOVING),
    f"{MULTIBODY}.Parts.BodyBox": Class(
        SHAPE + "parameter Real widthDirection[3]={0,1,0}; parameter Real width=length/world.defaultWidthFraction; "
        "parameter Real height=width; parameter Real innerWidth=0; parameter Real innerHeight=innerWidth; " + ABSOLUTE,
        BOTH,
        *MOVING,
    ),
    f"{MULTIBODY}.Parts.BodyCylinder": Class(
        SHAPE
        + "parameter Real diameter=length/world.defaultWidthFraction; parameter Real innerDiameter=0; "
        + CYLINDER
        + ABSOLUTE,
        BOTH,
        *MOVING,
    ),
    f"{MULTIBODY}.Parts.PointMass": Class("parameter Real m; ", ("frame_a",), *MOVING),
    f"{MULTIBODY}.Joints.Revolute": Class(
        FLANGE + "parameter Real n[3]={0,0,1}; ", BOTH, states("phi w"), states("a"), axis="Rotational"
    ),
    f"{MULTIBODY}.Joints.RevolutePlanarLoopConstraint": Class("parameter Real n[3]={0,0,1}; ", BOTH),
    f"{MULTIBODY}.Joints.Prismatic": Class(
        FLANGE + "parameter Real n[3]={1,0,0}; ", BOTH, states("s v"), states("a"), axis="Translational"
    ),
    f"{MULTIBODY}.Joints.Cylindrical": Class(
        "parameter Real n[3]={1,0,0}; ", BOTH, states("s v phi w"), states("a wd")
    ),
    f"{MULTIBODY}.Joints.Universal": Class(
        "parameter Real n_a[3]={1,0,0}; parameter Real n_b[3]={0,1,0}; ",
        BOTH,
        states("phi_a phi_b w_a w_b"),
        states("a_a a_b"),
    ),
    f"{MULTIBODY}.Joints.Planar": Class(
        "parameter Real n[3]={0,0,1}; parameter Real n_x[3]={1,0,0}; ",
        BOTH,
        states("s_x s_y phi v_x v_y w"),
        states("a_x a_y wd"),
    ),
    ROLLING: Class("parameter Real radius; ", ("frame_a",), (*states("x y"), *states("angles der_angles", 3))),
    LATERAL: Class("parameter Real radius; parameter Boolean lateralSlidingConstraint=true; ", ("frame_a",)),
    f"{MULTIBODY}.Joints.SphericalSpherical": Class(
        "parameter Real rodLength; parameter Real m=0; parameter Boolean computeRodLength=false; "
        "parameter Boolean kinematicConstraint=true; ",
        BOTH,
    ),
    **{
        f"{MULTIBODY}.Joints.Constraints.{name}": Class(f"{axes}{LOCKED}", BOTH)
        for name, axes in (
            ("Revolute", "parameter Real n[3]={0,1,0}; "),
            ("Prismatic", ""),
            ("Spherical", ""),
            ("Universal", "parameter Real n_a[3]={1,0,0}; parameter Real n_b[3]={0,1,0}; "),
        )
    },
    f"{MULTIBODY}.Joints.FreeMotionScalarInit": Class(
        SCALARS + "parameter Integer sequence_start[3]={1,2,3}; ", BOTH, SCALAR_STATES
    ),
    f"{MULTIBODY}.Joints.Spherical": Class(RELATIVE, BOTH),
    f"{MULTIBODY}.Joints.FreeMotion": Class(RELATIVE, BOTH, states("r_rel_a v_rel_a", 3), states("a_rel_a", 3)),
    f"{MULTIBODY}.Forces.Spring": Class("parameter Real c; parameter Real s_unstretched=0; parameter Real m=0; ", BOTH),
    f"{MULTIBODY}.Forces.Damper": Class("parameter Real d; ", BOTH, heats=True),
    f"{MULTIBODY}.Forces.SpringDamperParallel": Class(
        "parameter Real c; parameter Real s_unstretched=0; parameter Real d=0; ", BOTH, heats=True
    ),
    f"{MULTIBODY}.Forces.SpringDamperSeries": Class(
        "parameter Real c; parameter Real s_unstretched=0; parameter Real d=0; parameter Real s_damper_start=0; ",
        BOTH,
        heats=True,
    ),
    **{
        f"{MULTIBODY}.Forces.{name}": Class(
            f"parameter {MULTIBODY}.Types.ResolveInFrameAB resolveInFrame={MULTIBODY}.Types.ResolveInFrameAB.frame_b; ",
            (*BOTH, "frame_resolve"),
            inputs=inputs,
        )
        for name, inputs in (
            ("Force", (("force", 3, "N"),)),
            ("Torque", (("torque", 3, "N.m"),)),
        )
    },
    **{
        f"{MULTIBODY}.Forces.World{name}": Class(
            f"parameter {MULTIBODY}.Types.ResolveInFrameB resolveInFrame={MULTIBODY}.Types.ResolveInFrameB.world; ",
            ("frame_b", "frame_resolve"),
            inputs=((name.lower(), 3, unit),),
        )
        for name, unit in (("Force", "N"), ("Torque", "N.m"))
    },
    **ONE_DIMENSIONAL,
    **THERMAL,
    **planar.CLASSES,
    **SENSORS,
    **VISUALIZERS,
    f"{MULTIBODY}.Visualizers.FixedShape": Class("", ("frame_a",), shows=True),
    f"{MULTIBODY}.Visualizers.FixedFrame": Class(
        "parameter Boolean showLabels; parameter Real diameter; parameter Integer color_x[3]; "
        "parameter Integer color_y[3]; parameter Integer color_z[3]; ",
        ("frame_a",),
        shows=True,
    ),
    f"{MULTIBODY}.Sensors.AbsoluteSensor": Class(_sensor("r v a angles w z", "A"), ("frame_a",), shows=True),
    f"{MULTIBODY}.Sensors.RelativeSensor": Class(
        _sensor("r_rel v_rel a_rel angles w_rel z_rel", "AB"), BOTH, shows=True
    ),
}
"""Classes that are read, by path."""
