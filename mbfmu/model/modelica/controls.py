"""Controls of a Modelica model: equations with states and signals of the motion, which become a block and its wires.

A formula may have the names of coordinates, of their velocities and of states. What is measured between flanges is a
combination of joints' coordinates, which wires carry to the block.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mbfmu.errors import ModelError
from mbfmu.model.block import Block, Defined, Port, State
from mbfmu.model.component import Value
from mbfmu.model.expression import Expression
from mbfmu.model.modelica.linear import LinearForm
from mbfmu.model.modelica.values import Values, path_of
from mbfmu.model.parameter import RESERVED, Parameter
from mbfmu.model.system_data import Subsystem, Wire, wire

STARTS = {"NoInit": "", "InitialState": "", "InitialOutput": "y", "SteadyState": "no state"}
"""First letter of the states whose start a block gives, by what its `initType` is; empty: any."""
UNITS = {"phi": "rad", "w": "rad/s", "s": "m", "v": "m/s"}
"""Units of coordinates and velocities, by their first names."""
LONGEST = 200_000
"""Largest number of characters of a formula."""


def of_joint(path: str) -> tuple[str, str] | None:
    """Return the path of a joint's coordinate or velocity and its unit; None for an acceleration.

    Args:
        path: its path, such as ``hinge.phi`` or ``table.s_x``.
    """
    leaf = path.rpartition(".")[2]
    unit = UNITS.get(leaf.partition("_")[0])
    return (path, unit) if unit else None


@dataclass
class BlockContents:
    """Contents of a block of controls, while they are gathered.

    Args:
        ports: names of the block's inputs, by the paths of what they carry.
        states: states, by path.
        parameters: values of the block's parameters in the outer system.
        notices: texts for the user.
    """

    ports: dict[str, Port] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    parameters: dict[str, Value] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


class BuiltControls(NamedTuple):
    """The block of controls, its wires, and the names of the model's outputs."""

    blocks: tuple[Subsystem, ...]
    wires: tuple[Wire, ...]
    names: dict[str, str]


class Controls:
    """The block of a model's own equations.

    Args:
        values: the values of the flat model.
        rates: trees of the derivatives of states, each with the name of its state.
    """

    def __init__(self, values: Values, rates: dict[str, Any]) -> None:
        self.values, self.rates = values, rates
        self.along: Callable[[str], LinearForm | None] = lambda _: None
        """Function that returns what is measured between flanges as a combination of joints' coordinates, or of their
        velocities, each by its path; None for what is a joint's own."""
        self.paths = {path_of(name): name for name in rates}
        self.made = BlockContents()
        self.locals: dict[str, str] = {}
        """Names in the block, by what they stand for."""
        self.targets: dict[str, tuple[str, str]] = {}
        """Formula and unit of what drives each force or torque, by its path."""
        self.shown: dict[str, tuple[str, str]] = {}
        """Formula and unit of each output of the model, by its name."""

    def drive(self, path: str, value: Value, unit: str) -> None:
        """Let a formula of full names drive a force or torque, by the path of its input."""
        self.targets[path] = (self.text(value), unit)

    def show(self, output: str, value: Value, unit: str) -> None:
        """Make an output of a formula of full names."""
        self.shown[output] = (self.text(value), unit)

    def text(self, value: Value) -> str:
        """Return a formula of full names as the block has it.

        Raises:
            ModelError: it has what no wire carries, or is too long.
        """
        if not isinstance(value, str):
            return repr(value)
        if len(value) > LONGEST:
            raise ModelError(f"a formula has more than {LONGEST} characters when all in it is written out")
        called = {name: self.called(name) for name in sorted(Expression(value).names - {"time"})}
        return re.sub(r"(?<![\w.])[A-Za-z_][\w.]*", lambda match: called.get(match[0], match[0]), value)

    def called(self, name: str) -> str:
        """Return what a name is called in the block: a state, a signal of the motion, or a parameter."""
        if name in self.paths:
            return self.state(name)
        if name in self.values.moving:
            return self.signal(name)
        if name in self.values.own and "." not in name:
            self.made.parameters.setdefault(self.local(name), name)
            return self.local(name)
        if name in self.values.own:
            self.made.notices.append(f"'{name}' is a number where it is used in equations of the model's own")
            return repr(self.values.number_of(name))
        return f"({self.text(self.values.texts[name])})"

    def state(self, path: str) -> str:
        """Return the name of a state in the block, which it enters with its derivative and start.

        Raises:
            ModelError: its start is not given.
        """
        local = self.local(path)
        if path in self.made.states:
            return local
        self.made.states[path] = State(local, "0")  # its own derivative may depend on it
        try:
            self.made.states[path] = self.begun(path, local)
        except ModelError:
            del self.made.states[path]
            raise
        return local

    def begun(self, path: str, local: str) -> State:
        """Return a state with its derivative and start.

        Raises:
            ModelError: its start is not given.
        """
        name = self.paths[path]
        owner, _, leaf = name.rpartition(".")
        kind = f"{owner}.initType"
        begun = self.values.of(kind) if kind in self.values.variables else "InitialState"
        if not re.sub(r"\[.*", "", leaf).startswith(STARTS.get(begun, "")):
            raise ModelError(
                f"'{owner}.initType' is {begun}, which is not read: give the start of its state by InitialState"
            )
        start, fixed = self.start(name)
        if not fixed and begun in {"InitialState", "NoInit"} and kind not in self.values.variables:
            self.made.notices.append(f"'{name}' begins at its start value, which is not fixed")
        rate = self.text(self.values.value(self.rates[name]))
        unit = self.values.variables[re.sub(r"\[.*", "", name)]["unit"] or "1"
        return State(local, rate, unit, start)

    def start(self, name: str) -> tuple[Value, bool]:
        """Return the start value of a state, and whether it is fixed."""
        whole, bracket, index = name.partition("[")
        value, fixed = self.values.of(whole, "start"), self.values.variables[whole]["fixed"] or [False]
        entry = int(index[:-1]) - 1 if bracket else 0
        value = value[entry] if isinstance(value, list) else value
        return self.text(value) if isinstance(value, str) else value, bool(fixed[entry] if len(fixed) > 1 else fixed[0])

    def signal(self, name: str) -> str:
        """Return what the block has for a coordinate or velocity: an input, or a combination of inputs.

        Raises:
            ModelError: it is an acceleration.
        """
        along = self.along(self.values.moving[name])
        if along is None:
            return self.port(name)
        terms = [f"{_factor(self.text(factor))}{self.port(path)}" for path, factor in along.terms.items()]
        if along.constant != 0.0 or not terms:
            terms.append(self.text(along.constant))
        return f"({' + '.join(terms)})"

    def port(self, path: str) -> str:
        """Return the input of the block for a joint's coordinate or velocity.

        Raises:
            ModelError: it is an acceleration.
        """
        if (known := of_joint(path)) is None:
            raise ModelError(
                f"'{path}' is an acceleration, a force or a torque: only coordinates and velocities are read"
            )
        self.made.ports.setdefault(path, Port(self.local(path), known[1]))
        return self.local(path)

    def built(self, name: str) -> "BuiltControls":
        """Return the block, its wires and the names of the model's outputs; nothing if it has no output.

        Args:
            name: name of the block, which is free.
        """
        if not (self.targets or self.shown):
            return BuiltControls((), (), {})
        made = self.made
        drives = {path: self.local(f"to {path}") for path in self.targets}
        shows = {output: self.local(f"output {path_of(output)}") for output in self.shown}
        defined = [
            *(Defined(drives[path], text, unit, output=True) for path, (text, unit) in self.targets.items()),
            *(Defined(shows[output], text, unit, output=True) for output, (text, unit) in self.shown.items()),
        ]
        parameters = tuple(Parameter(label, self.values.number_of(str(of))) for label, of in made.parameters.items())
        block = Block(name, tuple(made.ports.values()), tuple(made.states.values()), tuple(defined), parameters)
        wires = [
            *(wire(path, f"{name}.{port.name}") for path, port in made.ports.items()),
            *(wire(f"{name}.{local}", path) for path, local in drives.items()),
        ]
        names = {output: f"{name}.{local}" for output, local in shows.items()}
        return BuiltControls((Subsystem(name, block, dict(made.parameters)),), tuple(wires), names)

    def local(self, path: str) -> str:
        """Return the name in the block of what a path leads to, which nothing else has."""
        if path not in self.locals:
            name = re.sub(r"\W", "_", path)
            while name in self.locals.values() or name in RESERVED:
                name += "_"
            self.locals[path] = name
        return self.locals[path]


def _factor(text: str) -> str:
    return "" if text == "1.0" else f"({text})*"
