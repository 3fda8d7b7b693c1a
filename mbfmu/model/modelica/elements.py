"""Components of mbfmu for classes of Modelica's library."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mbfmu.errors import AxisError, ModelError
from mbfmu.model.component import Component, Value, guess
from mbfmu.model.forces import (
    AxisLaw,
    Damper,
    ForceBetween,
    RotationalDamper,
    RotationalRotor,
    RotationalSpring,
    SeriesSpringDamper,
    Spring,
    SpringDamper,
    TorqueBetween,
    TranslationalDamper,
    TranslationalRotor,
    TranslationalSpring,
    WorldForce,
    WorldTorque,
)
from mbfmu.model.forces.world import BETWEEN, RESOLVED
from mbfmu.model.joints import (
    Cylindrical,
    Distance,
    FreeMotion,
    Planar,
    PlanarTranslation,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from mbfmu.model.modelica.library import HOUSING, MULTIBODY, SAME_AXIS
from mbfmu.model.modelica.values import Values, joined, text
from mbfmu.model.parts import Body, BodyShape, FixedRotation, FixedTranslation, World
from mbfmu.model.robot.assembly import axis_angle, quaternion

Array = Any
Localized = Callable[[Value, str, frozenset[str]], Value]


class ModelicaComponent:
    """A component of the flat model, whose values are read by name.

    Args:
        name: its full name.
        kind: path of its class.
        values: the values of the flat model.
        localized: function that writes an expression of full names for a sub-system.
        notices: notices, to which it adds.
    """

    def __init__(self, name: str, kind: str, values: Values, localized: Localized, notices: list[str]) -> None:
        self.name, self.kind, self.values, self.localized, self.notices = name, kind, values, localized, notices
        self.scope = ""
        self.jointed = False
        """Whether a joint holds its frame_a."""

    def full(self, label: str) -> Any:
        """Return a value in terms of full names."""
        return self.values.of(f"{self.name}.{label}")

    def number(self, label: str) -> float:
        """Return a parameter as a number."""
        return self.values.number(self.full(label))

    def value(self, label: str) -> Value:
        """Return a parameter as its sub-system has it."""
        return self.local(self.full(label))

    def local(self, value: Value, kept: frozenset[str] = frozenset()) -> Value:
        """Return a value as its sub-system has it; names of `kept` stay."""
        return self.localized(value, self.scope, kept)

    def vector(self, label: str) -> tuple[Value, ...]:
        """Return a parameter that is an array."""
        return tuple(self.local(entry) for entry in self.full(label))

    def numbers(self, label: str) -> Array:
        """Return a parameter that is an array, as numbers."""
        return np.array([self.values.number(entry) for entry in self.full(label)])

    def flag(self, label: str) -> bool:
        """Return a switch."""
        return bool(self.number(label))

    def direction(self, label: str) -> tuple[float, ...]:
        """Return an axis with length 1.

        Raises:
            AxisError: it has no length.
        """
        components = self.numbers(label)
        return tuple(float(item) for item in unit(components, f"{self.name}.{label}"))

    def start(self, label: str) -> Any:
        """Return a start value: as it is if it is fixed, else where the search begins; None where nothing is said.

        Raises:
            ModelError: a start velocity is not fixed.
        """
        variable = self.values.variables[f"{self.name}.{label}"]
        start_value = self.values.of(f"{self.name}.{label}", "start")
        entries = start_value if isinstance(start_value, list) else [start_value]
        fixed = variable["fixed"] or [False]
        fixed = list(fixed) * len(entries) if len(fixed) == 1 else list(fixed)
        rate = label.startswith(("v", "w"))
        made: list[Value | None] = []
        for entry, held in zip(entries, fixed, strict=True):
            if held:
                made.append(self.local(entry))
            elif entry == 0.0:
                made.append(None)
            elif rate and any(fixed):
                self.notices.append(
                    f"'{self.name}.{label}' is left out where it is not fixed: it follows from the rest"
                )
                made.append(None)
            elif rate:
                raise self.unfixed(label)
            else:
                made.append(guess(self.local(entry)))
        if not isinstance(start_value, list):
            return made[0]
        return tuple(made) if any(entry is not None for entry in made) else None

    def unfixed(self, label: str) -> ModelError:
        """Return the error of a velocity whose start is not fixed."""
        reason = "is not fixed, so that nothing says whether the motion begins with it"
        return ModelError(f"the start of '{self.name}.{label}' {reason}: write fixed=true, or leave it out")

    def is_loose(self, label: str) -> bool:
        """Return whether a scalar has a start value other than 0 that is not fixed."""
        name = f"{self.name}.{label}"
        return not any(self.values.variables[name]["fixed"] or []) and self.values.of(name, "start") != 0.0

    def starts(self, *labels: str) -> dict[str, Any]:
        """Return start values by name."""
        return {label: self.start(label) for label in labels}

    def spin(self, label: str, switch: str) -> Array:
        """Return the start of an angular velocity, shape (3,).

        Args:
            label: its name.
            switch: name of the parameter that says whether it is fixed.

        Raises:
            ModelError: it is not fixed, and not zero.
        """
        w = self.numbers(label)
        if w.any() and not self.flag(switch):
            reason = "is not fixed, so that nothing says whether the motion begins with it"
            raise ModelError(f"'{self.name}.{label}' {reason}: write {switch}=true, or leave it out")
        return w

    def turned(self) -> Array | None:
        """Return the rotation matrix R of the start angles, shape (3, 3); None if there are none.

        Raises:
            ModelError: they are not fixed.
        """
        angles = self.numbers("angles_start")
        if not self.flag("angles_fixed"):
            if angles.any() and self.jointed:
                self.notices.append(f"'{self.name}.angles_start' is left out: it is not fixed, and a joint decides")
            elif angles.any():
                reason = "are not fixed, so that nothing says whether the motion begins with them"
                raise ModelError(f"'{self.name}.angles_start' {reason}: write angles_fixed=true, or leave them out")
            return None
        return sequence(self.numbers("sequence_start"), angles)


def unit(n: Array, label: str) -> Array:
    """Return a vector with length 1."""
    length = float(np.linalg.norm(n))
    if not 1e-12 < length < math.inf:
        raise AxisError(f"{label} = {n.tolist()} has no direction")
    return n / length


def sequence(axes: Array, angles: Array) -> Array:
    """Return the rotation matrix of turns (rad) about axes 1, 2 or 3, one after the other, shape (3, 3)."""
    R = np.eye(3)
    for axis, angle in zip(axes, angles, strict=True):
        if axis not in {1, 2, 3}:
            raise ModelError(f"a sequence of axes has 1, 2 and 3, not {axis:g}")
        R = R @ turned(np.eye(3)[int(axis) - 1], angle)
    return R


def turned(n: Array, angle: float) -> Array:
    """Return the rotation matrix of an angle (rad) about a direction of length 1, shape (3, 3)."""
    k = np.cross(np.eye(3), n)
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def two_axes(x: Array, y: Array, name: str) -> Array:
    """Return the matrix whose columns are x, what of y is normal to it, and their cross product, shape (3, 3)."""
    e_x = unit(x, name)
    across = np.cross(e_x, y)
    if np.linalg.norm(across) < 1e-9:
        across = np.cross(e_x, np.eye(3)[1] if abs(e_x[0]) > 1e-9 else np.eye(3)[0])
    e_z = unit(across, name)
    return np.column_stack((e_x, np.cross(e_z, e_x), e_z))


def _world(e: ModelicaComponent, name: str) -> Component:
    kind = e.full("gravityType")
    g = e.value("g") if kind == "UniformGravity" else 0.0
    return World(name, g=g, n=e.direction("n"))


def _moving(e: ModelicaComponent) -> dict[str, Any]:
    starts = e.starts("r_0", "v_0")
    R = e.turned()
    w = e.spin("w_0_start", "w_0_fixed")
    if R is not None:
        starts["Q"] = quaternion(R)
    if e.flag("w_0_fixed"):
        if R is None and w.any():
            raise ModelError(f"'{e.name}': w_0_start that is fixed needs angles_fixed=true")
        starts["w_a"] = tuple(float(item) for item in (w if R is None else R.T @ w))
    return starts


INERTIA = ("m", "I_11", "I_22", "I_33", "I_21", "I_31", "I_32")


def _body(e: ModelicaComponent, name: str) -> Component:
    inertia: dict[str, Any] = {key: e.value(key) for key in INERTIA}
    return Body(name, r_CM=e.vector("r_CM"), **inertia, **_moving(e))


def _shape(e: ModelicaComponent, name: str) -> Component:
    inertia: dict[str, Any] = {key: e.value(key) for key in INERTIA}
    return BodyShape(name, r=e.vector("r"), r_CM=e.vector("r_CM"), **inertia, **_moving(e))


def _solid(e: ModelicaComponent, name: str, m: Value, moments: tuple[Value, ...], R: Array) -> Component:
    """Return a body of homogeneous material, with moments about its own axes, the columns of R."""
    along = e.full("lengthDirection")
    length = e.full("length")
    direction = unit(e.numbers("lengthDirection"), f"{e.name}.lengthDirection")
    if any(map(e.values.varies, along)) and np.count_nonzero(direction) > 1:
        e.notices.append(f"the direction of '{e.name}' is a number, whatever its parameters become")
    shift = [joined("*", joined("/", length, 2.0), float(item)) for item in direction]
    centre = [joined("+", one, other) for one, other in zip(e.full("r_shape"), shift, strict=True)]
    tensor: dict[str, Any] = {}
    for key, i, j in (("I_11", 0, 0), ("I_22", 1, 1), ("I_33", 2, 2), ("I_21", 1, 0), ("I_31", 2, 0), ("I_32", 2, 1)):
        total: Value = 0.0
        for k in range(3):
            factor = float(R[i, k] * R[j, k])
            if abs(factor) > 1e-15:
                total = joined("+", total, joined("*", factor, moments[k]))
        tensor[key] = e.local(total)
    return BodyShape(name, r=e.vector("r"), r_CM=tuple(map(e.local, centre)), m=e.local(m), **tensor, **_moving(e))


def _box(e: ModelicaComponent, name: str) -> Component:
    length, width, height, wi, hi = (
        text(e.full(key)) for key in ("length", "width", "height", "innerWidth", "innerHeight")
    )
    density = text(e.full("density"))
    mo, mi = f"{density}*{length}*{width}*{height}", f"{density}*{length}*{wi}*{hi}"
    moments = (
        f"({mo}*({width}**2 + {height}**2) - {mi}*({wi}**2 + {hi}**2))/12",
        f"({mo}*({length}**2 + {height}**2) - {mi}*({length}**2 + {hi}**2))/12",
        f"({mo}*({length}**2 + {width}**2) - {mi}*({length}**2 + {wi}**2))/12",
    )
    R = two_axes(e.numbers("r"), e.numbers("widthDirection"), e.name)
    return _solid(e, name, f"{mo} - {mi}", moments, R)


def _cylinder(e: ModelicaComponent, name: str) -> Component:
    length, outer, inner, density = (text(e.full(key)) for key in ("length", "diameter", "innerDiameter", "density"))
    mo, mi = f"{density}*pi*{length}*{outer}**2/4", f"{density}*pi*{length}*{inner}**2/4"
    across = f"({mo}*({length}**2 + 3*{outer}**2/4) - {mi}*({length}**2 + 3*{inner}**2/4))/12"
    moments = (f"({mo}*{outer}**2 - {mi}*{inner}**2)/8", across, across)
    R = two_axes(e.numbers("r"), np.array([0.0, 1.0, 0.0]), e.name)
    return _solid(e, name, f"{mo} - {mi}", moments, R)


def _turn(e: ModelicaComponent) -> tuple[tuple[float, ...], Value]:
    """Return axis and angle (rad) of a fixed rotation."""
    kind = e.full("rotationType")
    if kind == "RotationAxis":
        turn = e.value("angle")
        return e.direction("n"), f"deg({turn})" if isinstance(turn, str) else math.radians(turn)
    if kind == "TwoAxesVectors":
        return axis_angle(two_axes(e.numbers("n_x"), e.numbers("n_y"), e.name))
    return axis_angle(sequence(e.numbers("sequence"), np.radians(e.numbers("angles"))))


def rotation_matrix(e: ModelicaComponent) -> Array:
    """Return the rotation matrix of a fixed rotation, as numbers, shape (3, 3)."""
    kind = e.full("rotationType")
    if kind == "TwoAxesVectors":
        return two_axes(e.numbers("n_x"), e.numbers("n_y"), e.name)
    if kind == "RotationAxis":
        return turned(unit(e.numbers("n"), f"{e.name}.n"), math.radians(e.number("angle")))
    return sequence(e.numbers("sequence"), np.radians(e.numbers("angles")))


def _rotation(e: ModelicaComponent, name: str) -> Component:
    n, angle = _turn(e)
    return FixedRotation(name, r=e.vector("r"), n=n, angle=angle)


def _same_axis(e: ModelicaComponent, name: str) -> Component:
    """Return the rotation by the least angle that takes an axis in frame_b to where it is in frame_a."""
    n_a, n_b = (unit(e.numbers(label), f"{e.name}.{label}") for label in ("n_a", "n_b"))
    across = np.cross(n_b, n_a)
    if np.linalg.norm(across) < 1e-9 and n_a @ n_b > 0:
        return FixedTranslation(name)
    aside = np.cross(n_a, np.eye(3)[int(np.argmin(abs(n_a)))])
    n = unit(across if np.linalg.norm(across) >= 1e-9 else aside, e.name)
    angle = math.atan2(float(np.linalg.norm(across)), float(n_a @ n_b))
    return FixedRotation(name, n=tuple(float(item) for item in n), angle=angle)


def _relative(e: ModelicaComponent) -> dict[str, Any]:
    starts: dict[str, Any] = {}
    R = e.turned()
    if R is not None:
        starts["Q_rel"] = quaternion(R)
    w = e.spin("w_rel_a_start", "w_rel_a_fixed")
    if e.flag("w_rel_a_fixed"):
        starts["w_rel"] = tuple(float(item) for item in w)
    return starts


def _scalar_starts(e: ModelicaComponent, name: str) -> Component:
    """Return a joint without constraints that has the start values of single coordinates; angles are to be zero."""
    for label in ("angle", "angle_d", "w_rel_b"):
        for index in (1, 2, 3):
            if e.start(f"{label}_{index}") not in {None, 0.0}:
                raise ModelError(f"'{e.name}.{label}_{index}': only starts of r_rel_a and v_rel_a are read here")
    r, v = (
        tuple(e.start(f"{label}_{index}") for index in (1, 2, 3)) if e.flag(switch) else None
        for label, switch in (("r_rel_a", "use_r"), ("v_rel_a", "use_v"))
    )
    return FreeMotion(
        name,
        r_rel=r if r and any(item is not None for item in r) else None,
        v_rel=v if v and any(item is not None for item in v) else None,
    )


def _closing(e: ModelicaComponent, name: str) -> Component:
    """Return a joint that closes a loop; it begins where the other joints of the loop leave it."""
    phi = e.values.kept.get(f"{e.name}.phi start")
    return Revolute(name, n=e.direction("n"), phi=guess(phi) if phi else None)


def _distance(e: ModelicaComponent, name: str) -> Component:
    if e.number("m"):
        raise ModelError(f"'{e.name}': a rod with mass is not read; leave m = 0, and give it a body")
    return Distance(name, l=e.value("rodLength"))


def _spring(e: ModelicaComponent, name: str) -> Component:
    if e.number("m"):
        raise ModelError(f"'{e.name}': a spring with mass is not read; leave m = 0")
    return Spring(name, c=e.value("c"), s_unstretched=e.value("s_unstretched"))


def _resolved(e: ModelicaComponent, frames: tuple[str, ...] = RESOLVED) -> str:
    frame = e.full("resolveInFrame")
    while frame in e.values.texts:  # the parameter of a class around it
        frame = e.values.texts[frame]
    if frame not in frames:
        raise ModelError(f"'{e.name}': resolveInFrame {frame} is not read; use {' or '.join(frames)}")
    return str(frame)


def _series(e: ModelicaComponent, name: str) -> Component:
    values = {label: e.value(label) for label in ("c", "d", "s_unstretched")}
    return SeriesSpringDamper(name, s_damper=e.value("s_damper_start"), **values)


CONSTRAINTS: dict[str, Callable[[ModelicaComponent, str], Component]] = {
    "Revolute": lambda e, name: Revolute(name, n=e.direction("n")),
    "Spherical": lambda _, name: Spherical(name),
    "Universal": lambda e, name: Universal(name, n_a=e.direction("n_a"), n_b=e.direction("n_b")),
}
"""Function that makes the joint of a constraint all of whose directions are locked, by its class."""


def _constraint(e: ModelicaComponent, name: str) -> Component:
    """Return the joint with the same constraint: of a prismatic one, along the directions that are not locked."""
    kind = e.kind.rpartition(".")[2]
    free = [axis for axis in "xyz" if not e.flag(f"{axis}_locked")]
    if kind == "Prismatic" and len(free) == 1:
        return Prismatic(name, n=tuple(float(axis == free[0]) for axis in "xyz"))
    if kind == "Prismatic" and len(free) == 2:
        n, n_x = (tuple(float(axis == item) for axis in "xyz") for item in ({*"xyz"}.difference(free).pop(), free[0]))
        return PlanarTranslation(name, n=n, n_x=n_x)
    if free or kind == "Prismatic":
        how = "one or two directions free" if kind == "Prismatic" else "no direction free"
        raise ModelError(f"'{e.name}': a constraint with {len(free)} free directions is not read, only with {how}")
    return CONSTRAINTS[kind](e, name)


ELEMENTS: dict[str, Callable[[ModelicaComponent, str], Component]] = {
    f"{MULTIBODY}.World": _world,
    HOUSING: lambda _, name: FixedTranslation(name),
    f"{MULTIBODY}.Parts.Fixed": lambda e, name: FixedTranslation(name, r=e.vector("r")),
    f"{MULTIBODY}.Parts.FixedTranslation": lambda e, name: FixedTranslation(name, r=e.vector("r")),
    f"{MULTIBODY}.Parts.FixedRotation": _rotation,
    SAME_AXIS: _same_axis,
    f"{MULTIBODY}.Parts.Body": _body,
    f"{MULTIBODY}.Parts.BodyShape": _shape,
    f"{MULTIBODY}.Parts.BodyBox": _box,
    f"{MULTIBODY}.Parts.BodyCylinder": _cylinder,
    f"{MULTIBODY}.Parts.PointMass": lambda e, name: Body(name, m=e.value("m"), **e.starts("r_0", "v_0")),
    f"{MULTIBODY}.Joints.Revolute": lambda e, name: Revolute(name, n=e.direction("n"), **e.starts("phi", "w")),
    f"{MULTIBODY}.Joints.RevolutePlanarLoopConstraint": _closing,
    f"{MULTIBODY}.Joints.Prismatic": lambda e, name: Prismatic(name, n=e.direction("n"), **e.starts("s", "v")),
    f"{MULTIBODY}.Joints.Cylindrical": lambda e, name: Cylindrical(
        name, n=e.direction("n"), **e.starts("s", "v", "phi", "w")
    ),
    f"{MULTIBODY}.Joints.Universal": lambda e, name: Universal(
        name, n_a=e.direction("n_a"), n_b=e.direction("n_b"), **e.starts("phi_a", "phi_b", "w_a", "w_b")
    ),
    f"{MULTIBODY}.Joints.Planar": lambda e, name: Planar(
        name, n=e.direction("n"), n_x=e.direction("n_x"), **e.starts("s_x", "s_y", "phi", "v_x", "v_y", "w")
    ),
    f"{MULTIBODY}.Joints.SphericalSpherical": _distance,
    **{f"{MULTIBODY}.Joints.Constraints.{kind}": _constraint for kind in (*CONSTRAINTS, "Prismatic")},
    f"{MULTIBODY}.Joints.FreeMotionScalarInit": _scalar_starts,
    f"{MULTIBODY}.Joints.Spherical": lambda e, name: Spherical(name, **_relative(e)),
    f"{MULTIBODY}.Joints.FreeMotion": lambda e, name: FreeMotion(
        name, r_rel=e.start("r_rel_a"), v_rel=e.start("v_rel_a"), **_relative(e)
    ),
    f"{MULTIBODY}.Forces.WorldForce": lambda e, name: WorldForce(name, resolve=_resolved(e)),
    f"{MULTIBODY}.Forces.WorldTorque": lambda e, name: WorldTorque(name, resolve=_resolved(e)),
    f"{MULTIBODY}.Forces.Force": lambda e, name: ForceBetween(name, resolve=_resolved(e, BETWEEN)),
    f"{MULTIBODY}.Forces.Torque": lambda e, name: TorqueBetween(name, resolve=_resolved(e, BETWEEN)),
    f"{MULTIBODY}.Forces.SpringDamperSeries": _series,
    f"{MULTIBODY}.Forces.Spring": _spring,
    f"{MULTIBODY}.Forces.Damper": lambda e, name: Damper(name, d=e.value("d")),
    f"{MULTIBODY}.Forces.SpringDamperParallel": lambda e, name: SpringDamper(
        name, c=e.value("c"), d=e.value("d"), s_unstretched=e.value("s_unstretched")
    ),
}
"""Function that makes the component, by the path of its class."""


def _signed(value: Value, sign: float) -> Value:
    """Return a value times 1 or -1."""
    return value if sign > 0 else f"-({value})" if isinstance(value, str) else -value


def _flanged(zero: str, spring: Callable[..., Component], damper: Callable[..., Component]) -> Any:
    """Return a function that makes springs and dampers on the axis of a joint.

    Args:
        zero: name of the length or angle at which a spring has no force.
        spring: class of the spring.
        damper: class of the damper.
    """

    def make(e: ModelicaComponent, name: str, joint: str, sign: float) -> Iterator[Component]:
        kind = e.kind.rpartition(".")[2]
        if "Spring" in kind:
            yield spring(name, joint=joint, c=e.value("c"), **{zero: _signed(e.value(zero), sign)})
        if "Damper" in kind:
            component_name = f"{name}_damper" if "Spring" in kind else name
            yield damper(component_name, joint=joint, d=e.value("d"))

    return make


def _mass(e: ModelicaComponent, name: str, joint: str, _: float) -> Iterator[Component]:
    if e.number("L"):
        raise ModelError(f"'{e.name}': a mass with a length is not read; leave L = 0")
    yield TranslationalRotor(name, joint=joint, J=e.value("m"), ratio=1.0)


def _law(label: str) -> Any:
    """Return a function that makes an effort on the axis of a joint, whose value the class has under a label."""

    def make(e: ModelicaComponent, name: str, joint: str, _: float) -> Iterator[Component]:
        yield AxisLaw(name, joint=joint, formula=e.value(label))

    return make


AXIS: dict[str, Callable[[ModelicaComponent, str, str, float], Iterator[Component]]] = {
    **{
        f"Modelica.Mechanics.{domain}.Components.{kind}": make
        for domain, make in (
            ("Rotational", _flanged("phi_rel0", RotationalSpring, RotationalDamper)),
            ("Translational", _flanged("s_rel0", TranslationalSpring, TranslationalDamper)),
        )
        for kind in ("Spring", "Damper", "SpringDamper")
    },
    "Modelica.Mechanics.Rotational.Components.Inertia": lambda e, name, joint, _: iter(
        (RotationalRotor(name, joint=joint, J=e.value("J")),)
    ),
    "Modelica.Mechanics.Translational.Components.Mass": _mass,
    "Modelica.Mechanics.Rotational.Components.Fixed": lambda *_: iter(()),
    "Modelica.Mechanics.Translational.Components.Fixed": lambda *_: iter(()),
    **{
        f"Modelica.Mechanics.{domain}.Sources.{kind}": _law(label)
        for domain, kind, label in (
            ("Rotational", "ConstantTorque", "tau_constant"),
            ("Rotational", "Torque", "tau"),
            ("Translational", "ConstantForce", "f_constant"),
            ("Translational", "Force", "f"),
        )
    },
}
"""Function that makes what acts on the axis of a joint, for a sign of the axis, by the path of its class."""
