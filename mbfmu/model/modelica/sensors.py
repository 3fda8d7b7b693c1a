"""Sensors of Modelica's MultiBody, which change no motion: of a frame, between two frames, and in a cut."""

from collections.abc import Iterator

from mbfmu.model.modelica.interface import Class

PACKAGE = "Modelica.Mechanics.MultiBody.Sensors"
ABSOLUTE = {"Position": "r", "Velocity": "v", "Angles": "angles", "AngularVelocity": "w"}
"""Outputs of the sensors of one quantity, by its name; those between frames have ``_rel`` after it."""
CUT = {"CutForceAndTorque": "force torque", "CutForce": "force", "CutTorque": "torque"}
"""Outputs of the sensors of what goes through a cut."""
DRAWN = "parameter Integer sequence[3]; parameter Real guessAngle1; parameter Boolean positiveSign; "


def _resolved(frames: str) -> str:
    kind = f"Modelica.Mechanics.MultiBody.Types.ResolveInFrame{frames}"
    return f"parameter {kind} resolveInFrame; {DRAWN}"


def _vectors(names: str) -> tuple[str, ...]:
    return tuple(f"{name}[3]" for name in names.split())


def _classes() -> Iterator[tuple[str, Class]]:
    one, both = ("frame_a",), ("frame_a", "frame_b")
    for quantity, name in ABSOLUTE.items():
        relative = name if name == "angles" else f"{name}_rel"
        yield f"Absolute{quantity}", Class(_resolved("A"), one, shows=True, outputs=_vectors(name))
        yield f"Relative{quantity}", Class(_resolved("AB"), both, shows=True, outputs=_vectors(relative))
    for kind, names in CUT.items():
        yield kind, Class(_resolved("A"), both, shows=True, rigid=True, outputs=_vectors(names))
    yield "Power", Class("", both, shows=True, rigid=True, outputs=("power",))
    yield "Distance", Class("", both, shows=True, outputs=("distance",))


SENSORS = {f"{PACKAGE}.{name}": item for name, item in _classes()}
"""Classes that are read, by path."""
