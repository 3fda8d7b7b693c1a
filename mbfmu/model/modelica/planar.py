"""Classes of the library PlanarMechanics that are read: parameters with the defaults of its version 2, and ports."""

from typing import Any

from mbfmu.model.modelica.interface import Class, states

LIBRARY = "PlanarMechanics"
WORLD = f"{LIBRARY}.PlanarWorld"
AXIS: dict[str, Any] = {"frames": ("frame_a", "frame_b"), "axis_port": "flange_a", "axis_switch": "useFlange"}
PAIR = ("frame_a", "frame_b")
FLEXIBLE = (
    "parameter Real c_x; parameter Real c_y; parameter Real c_phi; parameter Real s_relx0=0; parameter Real s_rely0=0; "
    "parameter Real phi_rel0=0; "
)
MEASURED = {
    "AbsolutePosition": ("frame_a",),
    "AbsoluteVelocity": ("frame_a",),
    "AbsoluteAcceleration": ("frame_a",),
    "RelativePosition": PAIR,
    "RelativeVelocity": PAIR,
    "RelativeAcceleration": PAIR,
    "Distance": PAIR,
}
"""Frames of sensors."""
CUT = ("CutForce", "CutTorque", "CutForceAndTorque", "Power")
"""Sensors whose two frames move as one."""
RESOLVED = (
    "parameter Modelica.Mechanics.MultiBody.Types.ResolveInFrame{0} resolveInFrame="
    "Modelica.Mechanics.MultiBody.Types.ResolveInFrame{0}.{1}; "
)

ROLLS = "parameter Boolean useFlange=true; parameter Real radius; parameter Real r[2]; "
GRIPS = "parameter Real N; parameter Real mu_A; parameter Real mu_S; "
STARTS = "phi_roll w_roll v_lat v_long v_slip_long v_slip_lat"


def _sensor(name: str, frames: tuple[str, ...], rigid: bool) -> Class:
    kind = "AB" if len(frames) == 2 and not rigid else "A"
    declared = RESOLVED.format(kind, "frame_a") if name not in {"Distance", "Power"} else ""
    return Class(declared, (*frames, "frame_resolve"), shows=True, rigid=rigid)


CLASSES = {
    WORLD: Class(
        "parameter Real constantGravity[2]={0,-9.81}; parameter Real nominalLength=1; "
        "parameter Real defaultZPosition=0; parameter Real defaultJointLength=nominalLength/10; "
        "parameter Real defaultJointWidth=nominalLength/10; parameter Real defaultBodyDiameter=nominalLength/9; "
        "parameter Real defaultWidthFraction=20; parameter Real defaultArrowDiameter=nominalLength/40; "
        "parameter Real defaultForceLength=nominalLength/10; parameter Real defaultForceWidth=nominalLength/20; "
        "parameter Real defaultFrameDiameterFraction=40; parameter Real defaultSpecularCoefficient=0.7; ",
        ("frame_b",),
    ),
    f"{LIBRARY}.Parts.Fixed": Class("parameter Real r[2]={0,0}; parameter Real phi=0; ", ("frame",)),
    f"{LIBRARY}.Parts.FixedTranslation": Class("parameter Real r[2]={1,0}; ", PAIR),
    f"{LIBRARY}.Parts.FixedRotation": Class("parameter Real alpha; ", PAIR),
    f"{LIBRARY}.Parts.Body": Class(
        "parameter Real m; parameter Real I; parameter Boolean enableGravity=true; ",
        ("frame_a",),
        (("r", 2), ("v", 2), *states("phi w")),
        (("a", 2), *states("z")),
    ),
    f"{LIBRARY}.Joints.Revolute": Class(
        "parameter Boolean useFlange=false; ",
        states=states("phi w"), accelerations=states("z"), axis="Rotational", **AXIS,
    ),
    f"{LIBRARY}.Joints.Prismatic": Class(
        "parameter Boolean useFlange=false; parameter Real r[2]; ",
        states=states("s v"), accelerations=states("a"), axis="Translational", **AXIS,
    ),
    f"{LIBRARY}.Joints.IdealRolling": Class(
        "parameter Real R=1; ", ("frame_a",), states("x phi w vx"), states("z")
    ),
    f"{LIBRARY}.Joints.DryFrictionBasedRolling": Class(
        "parameter Real R=1; parameter Real vAdhesion; parameter Real vSlide; "
        "parameter Real mu_A; parameter Real mu_S; ",
        ("frame_a",), states("x phi w vx"), states("z"), heats=True,
    ),
    f"{LIBRARY}.Parts.Spring": Class(FLEXIBLE, PAIR, force=True),
    f"{LIBRARY}.Parts.Damper": Class("parameter Real d=1; ", PAIR, force=True),
    f"{LIBRARY}.Parts.SpringDamper": Class(
        FLEXIBLE + "parameter Real d_x; parameter Real d_y; parameter Real d_phi; ", PAIR, force=True
    ),
    f"{LIBRARY}.Sources.WorldForce": Class(
        RESOLVED.format("B", "frame_b"), ("frame_b",), inputs=(("force", 3, "N"),), force=True
    ),
    **{
        f"{LIBRARY}.VehicleComponents.Wheels.{name}": Class(
            f"{ROLLS}{declared}", ("frame_a",), states(STARTS), inputs=inputs,
            axis="Rotational", axis_port="flange_a", axis_switch="useFlange", force=True, heats=True,
        )
        for name, declared, inputs in (
            ("IdealWheelJoint", "", ()),
            ("DryFrictionWheelJoint", f"parameter Real vAdhesion; parameter Real vSlide; {GRIPS}", ()),
            (
                "SlipBasedWheelJoint",
                "parameter Real vAdhesion_min; parameter Real vSlide_min; parameter Real sAdhesion; "
                f"parameter Real sSlide; {GRIPS}",
                (("dynamicLoad", 1, "N"),),
            ),
        )
    },
    f"{LIBRARY}.VehicleComponents.AirResistanceLongitudinal": Class(
        "parameter Real c_W=0.5; parameter Real area=2; parameter Real rho=1.18; parameter Real r[2]={1,0}; ",
        ("frame_a",), force=True,
    ),
    **{
        f"{LIBRARY}.GearComponents.RigidNoLoss{name}": Class(
            "parameter Real r_a=1; parameter Real r_b=1; ", PAIR, force=True, heats=True
        )
        for name in ("External", "Internal")
    },
    **{f"{LIBRARY}.Sensors.{name}": _sensor(name, frames, False) for name, frames in MEASURED.items()},
    **{f"{LIBRARY}.Sensors.{name}": _sensor(name, PAIR, True) for name in CUT},
}  # fmt: skip
"""Classes that are read, by path."""
FORCES = frozenset({f"{LIBRARY}.Sources.WorldForce"})
"""Forces whose third entry is a torque."""
GROUNDED = {f"{LIBRARY}.Parts.Fixed": "frame"} | {
    f"{LIBRARY}.Joints.{name}Rolling": "frame_a" for name in ("Ideal", "DryFrictionBased")
}
"""Frame that is frame_b of the component here, whose frame_a is the world's, by class."""
WHEELS = f"{LIBRARY}.VehicleComponents.Wheels."
"""Package of wheels on the plane, each of which has a joint and a force or a second joint here."""
PLACED = {f"{LIBRARY}.VehicleComponents.AirResistanceLongitudinal": "frame_b"} | {
    path: "tyre.frame_b" for path in CLASSES if path.startswith(WHEELS)
}
"""Frame, behind the name and a dot or an underscore, that frame_a of a class is here."""
