"""Inputs and outputs of a Modelica model: what they drive and show, and what that is called in a system."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from mbfmu.errors import ModelError
from mbfmu.model.block import Block, Defined, Port
from mbfmu.model.modelica.connections import entries, named, sets_of, signals, whole_of
from mbfmu.model.modelica.controls import Controls
from mbfmu.model.modelica.interface import Class
from mbfmu.model.modelica.library import CLASSES
from mbfmu.model.modelica.values import Values, path_of
from mbfmu.model.system_data import Subsystem, Wire, wire


class Signals:
    """The inputs and outputs of a flat model.

    Args:
        flat: the flat model.
        values: its values.
        kinds: paths of the library's classes, by the components' names.
    """

    def __init__(self, flat: dict[str, Any], values: Values, kinds: dict[str, str]) -> None:
        self.flat, self.values, self.kinds = flat, values, kinds
        self.defined = values.defined
        self.variables: dict[str, Any] = flat["variables"]
        self.inputs = tuple(self.own("Input"))
        self.outputs = tuple(self.own("Output"))
        bound = [
            pair
            for name, item in self.variables.items()
            if _is(item, "Input") or name in self.outputs
            if self.variables.get(whole_of(other := named(item["binding"])), {}).get("variability") == "Empty"
            for pair in zip(entries(flat, name), entries(flat, other), strict=True)
        ]
        self.sets = {end: group for group in sets_of([*signals(flat), *bound]) for end in group}
        self.driven: dict[str, list[str]] = {}
        """The entries of inputs whose sum each effort or force is, by the path of the latter."""
        self.laws: dict[str, tuple[str, str]] = {}
        """Unit and formula of the efforts and forces that change in time by themselves, by path."""
        self.shown: dict[str, str] = {}
        """The coordinate or rate that each output is, by its path."""
        self.units: dict[str, str] = {}
        """Units of these efforts and forces."""

    def own(self, causality: str) -> Iterator[str]:
        """Yield the names of the model's own inputs or outputs."""
        for name, item in self.variables.items():
            if _is(item, causality) and "." not in name:
                yield name

    def is_signal(self, name: str) -> bool:
        """Return whether a variable is an input, or an output of the model."""
        return _is(self.variables[name], "Input") or name in self.outputs

    def is_moving(self, name: str) -> bool:
        """Return whether a variable is a coordinate, a rate or an acceleration of a joint."""
        joint, _, label = name.rpartition(".")
        kind = self.kinds.get(joint, "")
        item = CLASSES.get(kind, Class())
        return (".Joints." in kind or kind.rpartition(".")[2] in {"Inertia", "Mass"}) and (label, 1) in (
            *item.states,
            *item.accelerations,
        )

    def is_read(self, pair: tuple[str, str] | None) -> bool:
        """Return whether an equation of two names sets inputs equal, or an output to a motion of a joint."""
        if pair is None:
            return False
        output, other = pair if whole_of(pair[0]) in self.outputs else reversed(pair)
        if whole_of(output) in self.outputs:
            return self.is_moving(other)
        return all(_is(self.variables[whole_of(end)], "Input") for end in pair)

    def show(self, output: str, controls: Controls) -> Iterator[str]:
        """Keep what an output of the model is; yield a notice if it is left out.

        Args:
            output: its name.
            controls: the block that computes formulas.

        Raises:
            ModelError: nothing defines it.
        """
        for entry in entries(self.flat, output):
            moving = [end for end in self.sets.get(entry, []) if self.is_moving(end)]
            if len(moving) == 1:
                first = self.shown.setdefault(path_of(moving[0]), entry)
                if first != entry:
                    yield f"the output '{entry}' is left out: '{first}' is the same"
            elif self.defined(entry) is None:
                raise ModelError(f"the output '{entry}' is not read: write an equation for it, '{entry} = ...'")
            else:
                try:
                    controls.show(entry, self.values.signal(entry), self.variables[output]["unit"] or "1")
                except ModelError as error:
                    yield f"the output '{entry}' is left out: {error}"

    def source(self, port: str, unit: str) -> str:
        """Return the entry of the model's inputs that a component's input gets; empty if it is bound to a value.

        Args:
            port: full name of a scalar, or of an entry.
            unit: its unit.

        Raises:
            ModelError: nothing goes there, or several inputs, or one in another unit.
        """
        sources = [end for end in self.sets.get(port, []) if whole_of(end) in self.inputs]
        if len(sources) > 1:
            raise ModelError(f"'{sources[0]}' and '{sources[1]}' are inputs that are connected: leave one out")
        bound = [end for end in [port, *self.sets.get(port, [])] if self.variables[whole_of(end)]["binding"]]
        if sources:
            stated = self.variables[whole_of(sources[0])]["unit"]
            if stated and stated != unit:
                raise ModelError(f"the input '{sources[0]}' is in {stated}, and '{port}' in {unit}: make them alike")
            return sources[0]
        if any(whole_of(end) == whole_of(port) for end in bound):
            return ""
        if self.defined(port) is not None:
            return ""
        if bound:
            raise ModelError(f"'{port}' gets the value of '{bound[0]}', which is not read: connect an input there")
        name = port.rpartition(".")[2].partition("[")[0]
        raise ModelError(
            f"'{port}' is connected to no input of the model: declare 'Modelica.Blocks.Interfaces.RealInput {name};' "
            "there and connect it"
        )

    def drive(self, path: str, unit: str, entry: str) -> None:
        """Keep that an entry of an input acts on an effort or force, with its unit."""
        self.driven.setdefault(path, []).append(entry)
        self.units[path] = unit

    def used(self) -> list[str]:
        """Return the entries of the model's inputs that drive something, as often as they do."""
        return [entry for driving in self.driven.values() for entry in driving]

    def unused(self) -> Iterator[str]:
        """Yield the entries of the model's inputs that drive nothing."""
        for name in self.inputs:
            yield from (entry for entry in entries(self.flat, name) if entry not in self.used())

    def starts(self) -> dict[str, float]:
        """Return the start values of the inputs, other than 0, by entry."""
        starts = {}
        for name in self.inputs:
            value = self.values.of(name, "start")
            for index, entry in enumerate(entries(self.flat, name)):
                start = self.values.number(value[index] if isinstance(value, list) else value)
                if start:
                    starts[entry] = start
        return starts

    def routes(self, taken: Iterable[str]) -> "Routes":
        """Return what the system has for the inputs: a block, if one drives several things or several drive one.

        Args:
            taken: names that the block cannot have.
        """
        used = self.used()
        alone = {path: ends[0] for path, ends in self.driven.items() if len(ends) == used.count(ends[0]) == 1}
        shared = {path: ends for path, ends in self.driven.items() if path not in alone}
        block = unlike("inputs", taken)
        units = {entry: self.units[path] for path, ends in shared.items() for entry in ends}
        stated = [entry for name in self.inputs for entry in entries(self.flat, name) if entry in units]
        ports = {entry: self.port(entry, units[entry]) for entry in stated}
        called = [port.name for port in ports.values()]
        sums = tuple(
            Defined(
                unlike(f"to_{path_of(path.replace('.', '_'))}", called),
                " + ".join(ports[entry].name for entry in ends),
                self.units[path],
                output=True,
            )
            for path, ends in shared.items()
        )
        names = {entry: path for path, entry in alone.items()}
        names.update((entry, path) for path, entry in self.shown.items())
        names.update((entry, f"{block}.{port.name}") for entry, port in ports.items())
        blocks = [Subsystem(block, Block(block, tuple(ports.values()), (), sums))] if shared else []
        wires = [wire(f"{block}.{item.name}", path) for path, item in zip(shared, sums, strict=True)]
        if self.laws:
            laws = unlike("laws", [*taken, block])
            outputs = [
                Defined(unlike(f"to_{path_of(path.replace('.', '_'))}", ()), formula, unit, output=True)
                for path, (unit, formula) in self.laws.items()
            ]
            blocks.append(Subsystem(laws, Block(laws, (), (), tuple(outputs))))
            wires += [wire(f"{laws}.{item.name}", path) for path, item in zip(self.laws, outputs, strict=True)]
        return Routes(
            names,
            tuple(blocks),
            tuple(wires),
            {names[entry]: start for entry, start in self.starts().items() if entry in names},
        )

    def port(self, entry: str, unit: str) -> Port:
        """Return the input of a block for an entry of the model's inputs."""
        return Port(path_of(entry), unit, self.variables[whole_of(entry)]["description"] or "")


class Routes(NamedTuple):
    """Names, blocks, wires and start values of a system's inputs."""

    names: dict[str, str]
    blocks: tuple[Subsystem, ...]
    wires: tuple[Wire, ...]
    starts: dict[str, float]


def unlike(name: str, taken: Iterable[str]) -> str:
    """Return a name with as many underscores behind it as make it another one."""
    while name in taken:
        name += "_"
    return name


def _is(item: Any, causality: str) -> bool:
    return isinstance(item["causality"], dict) and causality in item["causality"]
