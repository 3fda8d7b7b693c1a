"""Classes of Modelica.Mechanics.Rotational and Translational that are read: parameters with defaults, and ports."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mbfmu.model.modelica.interface import Class, states

PAIR = ("flange_a", "flange_b")
SUPPORT = "parameter Boolean useSupport=false; "
FRICTION = "parameter Real {table}[:,2]={default}; parameter Real peak=1; "
CLUTCH = FRICTION.format(table="mu_pos", default="[0,0.5]") + "parameter Real cgeo=1; parameter Real fn_max; "
BACKLASH = "parameter Real c=1e5; parameter Real d=0; parameter Real b=0; parameter Real phi_rel0=0; "
WHEEL: dict[str, Any] = {"flanges": ("flangeR", "flangeT"), "sliding": ("flangeT",)}
GEAR_SUPPORTS = "parameter Boolean useSupportR=false; parameter Boolean useSupportT=false; "
HELD: dict[str, Any] = {"flanges": PAIR, "support": True, "rigid": True}
STOPPED = (
    "parameter Real m; parameter Real L=0; parameter Real smax; parameter Real smin; parameter Real fexp; "
    "parameter Real F_prop; parameter Real F_Coulomb; parameter Real F_Stribeck; parameter Real v_small=1e-3; "
)


def _relative(at: str, rate: str, effort: str, outputs: bool = True) -> dict[str, Any]:
    return {
        "states": states(f"{at}_rel {rate}_rel"),
        "accelerations": states("a_rel"),
        "flanges": PAIR,
        "outputs": (effort,) if outputs else (),
    }


def _law(at: str, rate: str, effort: str, unit: str) -> Class:
    """Return the class by which a law of a model's own acts."""
    return Class(inputs=((effort, 1, unit),), **_relative(at, rate, effort, outputs=False))


def _mass(declared: str, at: str, rate: str) -> Class:
    return Class(declared, states=states(f"{at} {rate}"), accelerations=states("a"), flanges=PAIR, rigid=True)


def _components(at: str, rate: str, effort: str) -> dict[str, Class]:
    """Return the components that both domains have, by the letters of coordinate, rate and effort."""
    relative, zero = _relative(at, rate, effort), f"parameter Real {at}_rel0=0; "
    return {
        "Fixed": Class(f"parameter Real {at}0=0; ", flanges=("flange",)),
        "Spring": Class(f"parameter Real c; {zero}", **relative),
        "Damper": Class("parameter Real d; ", **relative),
        "SpringDamper": Class(f"parameter Real c; parameter Real d; {zero}", **relative),
        "RelativeStates": Class(**_relative(at, rate, effort, outputs=False)),
        "Brake": Class(CLUTCH + SUPPORT, inputs=(("f_normalized", 1, "1"),), outputs=(effort,), **HELD),
    }


def _sources(title: str, at: str, rate: str, effort: str, unit: str) -> dict[str, Class]:
    """Return the sources of a domain; title: Torque or Force."""
    single: dict[str, Any] = {"flanges": ("flange",), "support": True}
    direction = f"parameter Boolean {title}Direction=true; "
    speed = f"{SUPPORT}parameter Real {effort}_nominal; parameter Real {rate}_nominal; {direction}"
    step = f"{SUPPORT}parameter Real step{title}; parameter Real offset{title}; parameter Real startTime=0; "
    filtered = f"{SUPPORT}parameter Boolean exact=false; parameter Real f_crit=50; "
    return {
        title: Class(SUPPORT, inputs=((effort, 1, unit),), **single),
        f"{title}2": Class(inputs=((effort, 1, unit),), flanges=PAIR),
        f"Constant{title}": Class(f"{SUPPORT}parameter Real {effort}_constant; ", **single),
        f"{title}Step": Class(step, **single),
        f"LinearSpeedDependent{title}": Class(speed, **single),
        f"QuadraticSpeedDependent{title}": Class(speed, **single),
        f"EddyCurrent{title}": Class(
            f"{SUPPORT}parameter Real {effort}_nominal; parameter Real {rate}_nominal; parameter Real TRef=293.15; "
            "parameter Real alpha20=0; parameter Real T=TRef; ",
            heats=True,
            **single,
        ),
        "ConstantSpeed": Class(f"{SUPPORT}parameter Real {rate}_fixed; ", states=states(at), **single),
        "Position": Class(
            filtered,
            inputs=((f"{at}_ref", 1, ""),),
            states=states(f"{at} {rate}"),
            accelerations=states("a"),
            **single,
        ),
        "Speed": Class(filtered, inputs=((f"{rate}_ref", 1, ""),), states=states(at), **single),
        "Accelerate": Class(SUPPORT, inputs=(("a_ref", 1, ""),), states=states(f"{at} {rate}"), **single),
    }


def _sensors(title: str, at: str, rate: str, effort: str) -> dict[str, Class]:
    """Return the sensors of a domain; title: Torque or Force."""
    lone: dict[str, Any] = {"flanges": ("flange",), "shows": True}
    between: dict[str, Any] = {"flanges": PAIR, "shows": True}
    place = "Angle" if at == "phi" else "Position"
    return {
        f"{place}Sensor": Class(outputs=(at,), **lone),
        "SpeedSensor": Class(outputs=(rate,), **lone),
        "AccSensor": Class(outputs=("a",), **lone),
        f"Rel{place}Sensor": Class(outputs=(f"{at}_rel",), **between),
        "RelSpeedSensor": Class(outputs=(f"{rate}_rel",), **between),
        "RelAccSensor": Class(outputs=("a_rel",), **between),
        f"{title}Sensor": Class(outputs=(effort,), rigid=True, **between),
        "PowerSensor": Class(outputs=("power",), rigid=True, **between),
        "MultiSensor": Class(outputs=("power", rate, effort), rigid=True, **between),
    }


def _adaptors(domain: str) -> dict[str, tuple[bool, tuple[str, str, str], str, str]]:
    """Return adaptors by path: whether they give a motion, its signals, the one for the force or torque, its unit."""
    package = f"Modelica.Mechanics.{domain}.Components"
    special, general = ("phi w a", "tau") if domain == "Rotational" else ("", ""), ("p pder pder2", "f")
    at, effort, unit = ("Angle", "Torque", "N.m") if domain == "Rotational" else ("Position", "Force", "N")
    made = {}
    for prefix, (labels, force) in (("", special), ("General", general)):
        if labels:
            one, two, three = labels.split()
            made[f"{package}.{prefix}{effort}To{at}Adaptor"] = (True, (one, two, three), force, unit)
            made[f"{package}.{prefix}{at}To{effort}Adaptor"] = (False, (one, two, three), force, unit)
    return made


ADAPTORS = _adaptors("Rotational") | _adaptors("Translational")
GIVING = {path: (labels[0], force) for path, (gives, labels, force, _) in ADAPTORS.items() if gives}
"""Signals of coordinate and force or torque of adaptors that give a motion and take a force, by path."""
TAKING = {path: (labels[0], force) for path, (gives, labels, force, _) in ADAPTORS.items() if not gives}
"""The same of those that take a motion and give a force."""


def _adaptor(gives: bool, labels: tuple[str, str, str], force: str, unit: str) -> Class:
    _, rate, gain = labels
    declared = f"parameter Boolean use_{rate}=true; parameter Boolean use_{gain}=true; "
    when = ((rate, f"use_{rate}" if gives or force == "f" else f"use_{rate} or use_{gain}"), (gain, f"use_{gain}"))
    moving: tuple[tuple[str, int, str], ...] = tuple((label, 1, "") for label in labels)
    return Class(
        declared,
        flanges=("flange",),
        inputs=((force, 1, unit),) if gives else moving,
        outputs=labels if gives else (force,),
        switched=when,
    )


def _classes() -> Iterator[tuple[str, Class]]:
    yield from ((path, _adaptor(*item)) for path, item in ADAPTORS.items())
    for domain, names in (("Rotational", ("phi", "w", "tau")), ("Translational", ("s", "v", "f"))):
        path = f"Modelica.Mechanics.{domain}.Examples.Utilities.SpringDamperNoRelativeStates"
        yield path, _components(*names)["SpringDamper"]
    turning = _relative("phi", "w", "tau")
    rotational = _components("phi", "w", "tau") | {
        "Inertia": _mass("parameter Real J; ", "phi", "w"),
        "Disc": Class("parameter Real deltaPhi=0; ", flanges=PAIR, rigid=True),
        "ElastoBacklash": Class(BACKLASH, **turning),
        "ElastoBacklash2": Class(BACKLASH, **turning),
        "Clutch": Class(CLUTCH, inputs=(("f_normalized", 1, "1"),), **turning),
        "BearingFriction": Class(FRICTION.format(table="tau_pos", default="[0,1]") + SUPPORT, **HELD),
        "OneWayClutch": Class(
            f"{CLUTCH}parameter Real w_small=1e10; parameter Boolean startForward=false; "
            "parameter Boolean stuck=false; ",
            inputs=(("f_normalized", 1, "1"),),
            **turning,
        ),
        "LossyGear": Class(
            f"parameter Real ratio; parameter Real lossTable[:,5]=[0,1,1,0,0]; {SUPPORT}", flanges=PAIR, support=True
        ),
        "IdealGear": Class("parameter Real ratio; " + SUPPORT, flanges=PAIR, support=True),
        "IdealPlanetary": Class("parameter Real ratio; ", flanges=("sun", "carrier", "ring")),
        "IdealGearR2T": Class("parameter Real ratio; " + GEAR_SUPPORTS, **WHEEL),
        "IdealRollingWheel": Class("parameter Real radius; " + GEAR_SUPPORTS, **WHEEL),
    }
    gap = "parameter Real c; parameter Real d; parameter Real s_rel0=0; parameter Real n=1; "
    translational = _components("s", "v", "f") | {
        "Mass": _mass("parameter Real m; parameter Real L=0; ", "s", "v"),
        "Rod": Class("parameter Real L; ", flanges=PAIR, rigid=True),
        "ElastoGap": Class(gap, **_relative("s", "v", "f")),
        "SupportFriction": Class(FRICTION.format(table="f_pos", default="[0,1]") + SUPPORT, **HELD),
        "RollingResistance": Class(
            f"{SUPPORT}parameter Real fWeight; parameter Boolean useCrInput=false; parameter Real CrConstant=0.01; "
            "parameter Boolean useInclinationInput=false; parameter Real inclinationConstant=0; "
            "parameter Modelica.Blocks.Types.Regularization reg=Modelica.Blocks.Types.Regularization.Exp; "
            "parameter Real v0=0.1; ",
            flanges=("flange",),
            support=True,
            inputs=(("cr", 1, "1"), ("inclination", 1, "1")),
            switched=(("cr", "useCrInput"), ("inclination", "useInclinationInput")),
        ),
        "MassWithStopAndFriction": _mass(STOPPED, "s", "v"),
    }
    for domain, components, letters, unit in (
        ("Rotational", rotational, ("Torque", "phi", "w", "tau"), "N.m"),
        ("Translational", translational, ("Force", "s", "v", "f"), "N"),
    ):
        for package, items in (
            ("Components", components),
            ("Sources", _sources(*letters, unit)),
            ("Sensors", _sensors(*letters)),
            ("Interfaces", {"Effort": _law(*letters[1:], unit)}),
        ):
            for name, item in items.items():
                path = f"Modelica.Mechanics.{domain}.{package}.{name}"
                yield path, replace(item, heats=item.heats or (package == "Components" and item.flanges == PAIR))


ONE_DIMENSIONAL = dict(_classes())
"""Classes that are read, by path."""
