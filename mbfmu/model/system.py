"""System: the frozen description of a mechanism, as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mbfmu.errors import ModelError, UnknownNameError
from mbfmu.model.mechanism import flatten, input_names
from mbfmu.model.system_data import FREED, SystemData


@dataclass(frozen=True)
class System(SystemData):
    """A mechanism, alone or with blocks: parameters, components, connections of frames that coincide, and wires.

    Args:
        name: an identifier.
        components: the parts, joints, forces, blocks and sub-systems.
        connections: made with `connect`.
        parameters: the quantities that expressions in the components refer to.
        planar: whether all motion is in the x-y plane; False: in space.
        description: one line for the user.
        stepper: name of the default stepper; empty: a stepper that suits the equations.
        wires: made with `wire`; an input that no wire goes to is an input of the system.
        names: other names, by which a user calls variables of the components: ``{"q": "hinge.phi"}``.
        input_starts: start values of inputs, by full name, in SI units; the others start at 0.
        inner_starts: start values of what is inside composites, such as the joints of a line, by name, in SI units.

    Raises:
        NameInUseError: two parts of the system share a name.
        UnknownNameError: a connection names a frame that does not exist.
        FrameConnectionError: a frame is connected to itself, or a pair is connected twice.
        ModelError: a field holds something else than a tuple of what belongs in it.
    """

    def with_values(self, values: Mapping[str, Any], free: Iterable[str] = ()) -> "System":
        """Return the system with some parameters, component quantities or start values replaced, and some freed.

        Args:
            values: by dotted name, such as ``{"l1": 0.5, "world.g": 1.62, "shoulder.phi": 0.1, "shoulder.tau": 2.0}``,
                where the last one is an input.
            free: names of start values that need not be met: those of coordinates become guesses, and those of rates
                are left out. With it another start value of a loop can be given.

        Raises:
            UnknownNameError: there is no quantity or start value of that name.
            ValueRangeError: a value is not finite or outside its bounds, or a parameter is to be free.
        """
        system = self
        for name, value in [*values.items(), *((name, FREED) for name in free)]:
            try:
                system = system._with_value(self.names.get(name, name), value, name)
            except UnknownNameError:
                if value is FREED or not self._has_input(name):
                    raise
                system = replace(system, input_starts={**system.input_starts, name: value})
        return system

    def input_names(self) -> tuple[str, ...]:
        """Return the names of the values that are given from outside during a run."""
        return input_names(flatten(self))

    def _has_input(self, name: str) -> bool:
        try:
            return name in self.input_names()
        except ModelError:  # told where the system is used
            return False
