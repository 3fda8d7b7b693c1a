"""Rotors, mountings and gears of drive trains on frames that move: the frame and axis that take their torques.

Angles of a rotor are relative to the frame that carries it. A law or coupling of such angles puts its reaction on that
frame. So does the library, by mountings and bevel gears: both agree if all that acts on a rotor stands on its frame.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mbfmu.errors import ModelError
from mbfmu.model.modelica.chain_laws import MASSES
from mbfmu.model.modelica.connections import sets_of
from mbfmu.model.modelica.elements import ModelicaComponent
from mbfmu.model.modelica.library import CLASSES, HOUSING

RIGID = ("Fixed", "FixedTranslation", "Body", "BodyShape", "BodyBox", "BodyCylinder", "PointMass", "Housing")
"""Parts whose frames have one orientation."""
GROUNDED = frozenset({"IdealGearR2T", "IdealRollingWheel", *MASSES})
"""Elements that take a torque from the ground."""


class Bearing(NamedTuple):
    """Frame and axis that carry a torque.

    Args:
        frame: name of the parts that move as one with the frame; empty: the ground, or the joint itself.
        n: axis in it.
    """

    frame: str = ""
    n: tuple[float, ...] = ()


class Bearings:
    """The bearings of a flat model.

    Args:
        parts: its components with frames, by name.
        elements: its elements of Rotational and Translational, by name.
        frames: the sets of frames that are connected.
        flanges: the sets of flanges that are connected.
        world: name of the world.
    """

    def __init__(
        self,
        parts: dict[str, ModelicaComponent],
        elements: dict[str, ModelicaComponent],
        frames: Iterable[list[str]],
        flanges: Iterable[list[str]],
        world: str,
    ) -> None:
        self.parts, self.elements, self.flanges = parts, elements, [*flanges]
        near = [[end.rpartition(".")[0] for end in group] for group in frames]
        of_class = {name: item.kind.rpartition(".")[2] for name, item in parts.items() if ".Parts." in item.kind}
        turned = {name for name, kind in of_class.items() if kind == "FixedRotation"}
        rigid = {name for name, kind in of_class.items() if kind in RIGID}
        # what does not move, over parts of any orientation
        still = {world, *(name for name in rigid if of_class[name] == "Fixed")}
        before = 0
        while len(still) > before:
            before = len(still)
            for names in near:
                still |= {*names} & (rigid | turned) if {*names} & still else set()
        # parts that have one orientation
        self.group: dict[str, str] = {}
        met = [[name for name in names if name in rigid] or [f" {index}"] for index, names in enumerate(near)]
        for group in sets_of((names[0], name) for names in met for name in names):
            self.group.update(dict.fromkeys(group, min(group)))
        self.moving = {name for name, item in parts.items() if item.kind == HOUSING and name not in still}

    def of(self, housing: str) -> Bearing:
        """Return the bearing of a housing."""
        if housing not in self.moving:
            return Bearing()
        n = self.parts[housing].direction("n")
        return Bearing(self.group.get(housing, housing), tuple(round(item, 9) + 0.0 for item in n))

    def carried(self) -> dict[str, tuple[str, tuple[float, ...]]]:
        """Return the housing and the axis of each inertia of a rotor on a frame that moves."""
        return {
            name: (housing, self.parts[housing].direction("n"))
            for name in self.elements
            if name.endswith(".inertia") and (housing := f"{name.removesuffix('inertia')}housing") in self.moving
        }

    def check(self) -> None:
        """Raise an error if a torque on a rotor that moves stands on something else than the frame of the rotor.

        Raises:
            ModelError: it does, or the rotor is to disregard the motion of its frame.
        """
        for name in self.carried():
            owner = name.rpartition(".")[0]
            values = self.elements[name].values
            if not values.number(values.of(f"{owner}.exact")):
                raise ModelError(f"'{owner}' disregards the motion of its frame, which is not read: write exact=true")
        pairs = [(group[0], end) for group in self.flanges for end in group]
        stands: dict[str, tuple[str, Bearing]] = {}
        for name, item in self.elements.items():
            ends, scope = list(self._ends(item)), name.rpartition(".")[0]
            if f"{scope}.housing_a" in self.parts:  # of a bevel gear, which stands on its own frame
                for end, side in zip(ends, ("a", "b"), strict=False):
                    stands[f"{end} gear"] = (scope, self.of(f"{scope}.housing_{side}"))
                    pairs.append((end, f"{end} gear"))
                continue
            pairs += [(ends[0], end) for end in ends]
            bearing = self._own(name, item)
            if bearing is not None:
                stands[ends[0]] = (scope if f"{scope}.housing" in self.parts else name, bearing)
        for name, item in self.parts.items():
            if CLASSES[item.kind].axis:
                for port in (CLASSES[item.kind].axis_port, "support"):
                    stands[f"{name}.{port}"] = (name, Bearing())
        for group in sets_of(pairs):
            there = [stands[end] for end in group if end in stands]
            first = next((item for item in there if item[1].frame), None)
            other = next((item for item in there if first and item[1] != first[1]), None)
            if first and other:
                raise ModelError(
                    f"'{first[0]}' stands on a frame that moves, and '{other[0]}', which acts on it, elsewhere or on "
                    "another axis, which is not read: connect its support to a Mounting1D on that frame, with the "
                    "axis of the rotor"
                )

    def _ends(self, item: ModelicaComponent) -> Iterator[str]:
        """Yield the flanges of an element, its support too."""
        for flange in CLASSES[item.kind].flanges:
            yield f"{item.name}.{flange}"
        if CLASSES[item.kind].support and item.flag("useSupport"):
            yield f"{item.name}.support"

    def _own(self, name: str, item: ModelicaComponent) -> Bearing | None:
        """Return the bearing of an element that has one: of a rotor, a mounting, or what stands on the ground."""
        kind, housing = item.kind.rpartition(".")[2], f"{name.rpartition('.')[0]}.housing"
        if kind == "Fixed" or kind in MASSES:
            return self.of(housing)
        implicit = CLASSES[item.kind].support and not item.flag("useSupport")
        return Bearing() if implicit or kind in GROUNDED else None
