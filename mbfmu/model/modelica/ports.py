"""Frames and flanges of the library's components, and the connections of them that are rejected."""

from collections.abc import Callable

from mbfmu.errors import ModelError
from mbfmu.model.modelica.interface import Class
from mbfmu.model.modelica.library import CLASSES
from mbfmu.model.modelica.values import Values

ONE_DIMENSIONAL = ("Modelica.Mechanics.Rotational.", "Modelica.Mechanics.Translational.")
"""Packages whose elements may join the axes of several joints."""


class Ports:
    """The frames and flanges of the components of a flat model.

    Args:
        kinds: paths of the library's classes, by the components' names.
        values: the values of the flat model.
        at: function that keeps where a component is declared, for messages.
    """

    def __init__(self, kinds: dict[str, str], values: Values, at: Callable[[str], None]) -> None:
        self.kinds, self.values, self.at = kinds, values, at

    def is_frame(self, end: str) -> bool:
        """Return whether a connector is a frame of a component of the library."""
        name, _, port = end.rpartition(".")
        item = CLASSES.get(self.kinds.get(name, ""), Class())
        return port in item.frames and not item.shows and (port != "frame_resolve" or self.resolves(name))

    def resolves(self, name: str) -> bool:
        """Return whether a force is resolved in a third frame."""
        frame = self.values.of(f"{name}.resolveInFrame")
        while frame in self.values.texts:
            frame = self.values.texts[frame]
        return bool(frame == "frame_resolve")

    def is_axis(self, end: str) -> bool:
        """Return whether a connector is the axis of a joint."""
        name, _, port = end.rpartition(".")
        item = CLASSES.get(self.kinds.get(name, ""), Class())
        return bool(item.axis) and port == item.axis_port

    def domain(self, end: str) -> str:
        """Return what a connector joins: frames, or flanges that turn or slide; empty for one of the user's own."""
        name, _, port = end.rpartition(".")
        kind = self.kinds.get(name, "")
        if port in {"heatPort", *CLASSES.get(kind, Class()).heated}:
            return "heat port"
        if port in CLASSES.get(kind, Class()).frames or port.startswith("frame_"):
            return "frame"
        if not kind:
            return ""
        domain = CLASSES[kind].axis or CLASSES[kind].domain(kind, port).rpartition(".")[2]
        return f"{domain} flange"

    def refuse(self, sets: list[list[str]]) -> None:
        """Raise an error if connectors of two kinds are connected, or flanges alone hold an axis, or two together."""
        for group in sets:
            domains = {self.domain(end): end for end in reversed(group) if self.domain(end)}
            if len(domains) > 1:
                (one, a), (other, b), *_ = domains.items()
                self.at(a.rpartition(".")[0])
                raise ModelError(f"'{a}' is a {one}, and '{b}', which it is connected to, a {other}")
            axes = [end for end in group if self.is_axis(end)]
            holding = [end for end in group if self.held_at(end) is not None]
            coupled = any(self.kinds.get(end.rpartition(".")[0], "").startswith(ONE_DIMENSIONAL) for end in group)
            if not axes or len(axes) + len(holding) == 1 or (coupled and not holding):
                continue
            self.at(axes[0].rpartition(".")[0])
            if holding:
                raise ModelError(
                    f"'{axes[0]}' is connected to '{holding[0]}', which holds it: only springs, dampers, torques or "
                    "forces may act on it; connect it to one of these"
                )
            through = next((f" through '{end}'" for end in group if end not in axes), "")
            raise ModelError(
                f"'{axes[0]}' and '{axes[1]}' are connected{through}, so that two joints move as one, which is not "
                "read: connect each of them to a separate component"
            )

    def refuse_loose(self, sets: list[list[str]]) -> None:
        """Raise an error if a force is resolved in a third frame, and nothing is connected there."""
        met = {end for group in sets if any(map(self.is_other_frame, group)) for end in group}
        for name, kind in self.kinds.items():
            end = f"{name}.frame_resolve"
            if "frame_resolve" in CLASSES[kind].frames and self.is_frame(end) and end not in met:
                self.at(name)
                raise ModelError(f"'{end}' is connected to no frame: connect the frame whose axes are meant")

    def is_other_frame(self, end: str) -> bool:
        """Return whether a connector is a frame that parts or joints have."""
        return self.is_frame(end) and not end.endswith(".frame_resolve")

    def held_at(self, end: str) -> float | None:
        """Return where a flange is held, rad or m: the support of a joint, or a fixed one; None if it is not."""
        name, _, port = end.rpartition(".")
        kind = self.kinds.get(name, "")
        if kind.endswith("al.Components.Fixed"):
            return self.values.number(self.values.of(f"{name}.{'phi0' if 'Rotational' in kind else 's0'}"))
        return 0.0 if port == "support" and ".Joints." in kind else None
