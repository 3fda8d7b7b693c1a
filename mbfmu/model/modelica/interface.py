"""Interface of a class of Modelica's library: its parameters and its ports."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Class:
    """A class of the library.

    Args:
        declared: its parameters with an effect on the motion, in Modelica.
        frames: its frames.
        states: sizes of its variables with start values, by name.
        accelerations: sizes of the derivatives of its rates, by name.
        flanges: its flanges, always there.
        axis: domain of its flanges `axis_port` and ``support``, there with `axis_switch`; empty: it has none.
        inputs: sizes and units of its inputs, by name.
        support: whether it has a flange ``support``, there with `useSupport`.
        rigid: whether its flanges move as one.
        shows: whether it only measures or shows, without an effect on the motion.
        outputs: names of its outputs, vectors with their size: ``force[3]``.
        sliding: its flanges that slide, in a class of Rotational.
        axis_port: name of the flange that is the axis.
        axis_switch: name of the parameter with which it is there.
        force: whether it acts between its frames and holds nothing.
        heats: whether it has a heat port, there with `useHeatPort`, which changes no motion.
        switched: conditions of its inputs and outputs that are not always there, by their names.
        heated: its heat ports, if it is a thermal part, which changes no motion.
    """

    declared: str = ""
    frames: tuple[str, ...] = ()
    states: tuple[tuple[str, int], ...] = ()
    accelerations: tuple[tuple[str, int], ...] = ()
    flanges: tuple[str, ...] = ()
    axis: str = ""
    inputs: tuple[tuple[str, int, str], ...] = ()
    support: bool = False
    rigid: bool = False
    shows: bool = False
    outputs: tuple[str, ...] = ()
    sliding: tuple[str, ...] = ()
    axis_port: str = "axis"
    axis_switch: str = "useAxisFlange"
    force: bool = False
    heats: bool = False
    heated: tuple[str, ...] = ()
    switched: tuple[tuple[str, str], ...] = ()

    def domain(self, path: str, flange: str) -> str:
        """Return the package whose connector a flange is; path: that of the class."""
        return f"Modelica.Mechanics.{'Translational' if flange in self.sliding else path.split('.')[2]}"

    @property
    def parameters(self) -> frozenset[str]:
        """Names of its parameters with an effect on the motion."""
        return frozenset(re.findall(r"parameter [\w.]+ (\w+)", self.declared))


def states(text: str, size: int = 1) -> tuple[tuple[str, int], ...]:
    """Return names and sizes of variables, from the names in a text."""
    return tuple((name, size) for name in text.split())
