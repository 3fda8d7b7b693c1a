"""Network: the blocks of a mechanism, and the wires that carry signals between them, joints, sensors and forces.

A wire carries coordinates, rates, first-order states, what sensors measure and what blocks compute: all that is known
before accelerations are. So a circle of signals without a state in it can only lead through blocks and forces, and is
rejected by name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.dae.signals import Clock, MemorySignal, Signal, StateSignal
from mbfmu.errors import ModelError, UnknownNameError, nearest
from mbfmu.model.block import Defined, Port, State
from mbfmu.model.expression import Expression
from mbfmu.model.frame import SX
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import Entry, Mechanism, in_scope, place_of, prefix_of, resolve
from mbfmu.model.sampled import TIMING, Sampled, block_of
from mbfmu.model.system_data import Wire
from mbfmu.model.variable_type import VariableType

SAME_UNITS = ({"rad/s", "1/s"}, {"rad/s2", "1/s2"})
"""Units that differ by their names only."""


@dataclass(frozen=True)
class SignalSource:
    """A signal of the mechanism.

    Args:
        unit: SI unit.
        value: SX scalar.
        lacking: why no wire can carry it; empty: one can.
        type: type of the variable.
    """

    unit: str
    value: SX
    lacking: str = ""
    type: VariableType = "Real"


@dataclass(frozen=True)
class Connected:
    """Inputs, states, outputs and memory of a mechanism with blocks and wires.

    Args:
        signals: the inputs that no wire goes to.
        driven: names of the inputs that a wire goes to.
        u: their symbols, SX, shape (n_u,).
        states: the first-order states.
        flow: their rates, SX, shape (n_z,).
        first: their values at the start, SX of parameters, one for each state without a start value of its own.
        shown: outputs, each with its value.
        insert: function that replaces the inputs with wires, in an expression, by what the wires carry.
        memory: what sampled blocks remember.
        clocks: when they compute.
        remembered: the memory at the start, SX of parameters, shape (n_d,).
        timing: period and offset of each clock, SX of parameters, shape (2 n_c,).
        due: SX symbols, shape (n_c,): 1 for each clock that samples now, else 0.
        updated: the memory after this sampling, SX, shape (n_d,).
    """

    signals: tuple[Signal, ...]
    driven: frozenset[str]
    u: SX
    states: tuple[StateSignal, ...]
    flow: SX
    first: tuple[SX | None, ...]
    shown: tuple[tuple[Signal, SX], ...]
    insert: Callable[[SX], SX]
    memory: tuple[MemorySignal, ...]
    clocks: tuple[Clock, ...]
    remembered: SX
    timing: SX
    due: SX
    updated: SX


class Network:
    """The symbols of states and memory, and how signals depend on each other.

    Args:
        mechanism: the mechanism with its blocks.
        symbols: symbol of each free parameter.
        t: symbol of the time, s.
        formulas: inputs that are expressions of the time, by name.

    Attributes:
        z: symbols of the first-order states, by full name.
        d: symbols of the memory, by full name; ``previous(x)`` for an input x of a sampled block.
    """

    def __init__(self, mechanism: Mechanism, symbols: Mapping[str, SX], t: SX, formulas: Mapping[str, SX]) -> None:
        self._mechanism, self._symbols, self._t = mechanism, symbols, t
        switches = {name for name, item in self._items(Port) if item.type != "Real"}
        self._formulas = {name: value for name, value in formulas.items() if name not in switches}
        self.z = {name: ca.SX.sym(name) for name in mechanism.states}
        self.d = {item.name: ca.SX.sym(item.name) for item in self._memory()}

    def connected(
        self,
        inputs: Sequence[Signal] = (),
        u: SX | None = None,
        sources: Mapping[str, SignalSource] | None = None,
        rates: Mapping[str, SX] | None = None,
    ) -> Connected:
        """Return what blocks and wires make of a mechanism.

        Args:
            inputs: the mechanism's own inputs.
            u: their symbols, SX, shape (number of inputs,).
            sources: the mechanism's own signals by name.
            rates: rates of the components' first-order states by name.

        Raises:
            UnknownNameError: a wire leads from or to what does not exist.
            ModelError: a wire carries what it cannot, units do not match, or signals form a circle.
        """
        # Signals that wires may lead to, and those that they may come from
        mechanism, blocks = self._mechanism, self._mechanism.blocks
        mine = {signal.name: entry for signal, entry in zip(inputs, u.elements() if u is not None else (), strict=True)}
        ports = self._ports()
        targets = {signal.name: signal for signal in (*inputs, *ports.values()) if signal.kind != "internal"}
        symbols = {**mine, **{name: ca.SX.sym(name) for name in ports}}
        known = self._known()
        known.update(sources or {})
        # The value of each input with a wire, in terms of the inputs that are left
        wires = self._wires(targets, known)
        resolved = _Signals(self, symbols, wires, sources or {}, None)
        driven = [name for name in mine if name in wires]
        old = ca.vertcat(ca.SX(0, 1), *(mine[name] for name in driven))
        new = ca.vertcat(ca.SX(0, 1), *(resolved.value(name) for name in driven))

        def insert(expression: SX) -> SX:
            return ca.substitute(expression, old, new) if driven else expression

        # Rates of the first-order states z, of components and of blocks
        flows = dict(rates or {})
        for name, item in self._items(State):
            flows[name] = resolved.text(name, item.rate)
        # Outputs: quantities of blocks, then the states of components
        shown = [*self._shown_of_blocks(resolved), *self._shown_of_components()]
        # Sampled blocks: what each computes if it is due
        clocks = [path for path, block in blocks.items() if isinstance(block, Sampled)]
        due = ca.SX.sym("due", len(clocks))
        sampling = _Signals(self, symbols, wires, sources or {}, dict(zip(clocks, due.elements(), strict=True)))
        left = [name for name in symbols if name not in wires]
        every = {**{signal.name: signal for signal in inputs}, **ports}
        return Connected(
            signals=tuple(every[name] for name in left),
            driven=frozenset(wires),
            u=_column(symbols[name] for name in left),
            states=tuple(_state(entry) for entry in mechanism.states.values()),
            flow=_column(insert(flows[name]) for name in mechanism.states),
            first=tuple(
                None if entry.free else resolve(mechanism, entry, self._symbols) for entry in mechanism.states.values()
            ),
            shown=tuple(shown),
            insert=insert,
            memory=tuple(self._memory()),
            clocks=tuple(Clock(path or mechanism.name) for path in clocks),
            remembered=_column(self._first_memory()),
            timing=_column(self._timing(path) for path in clocks),
            due=due,
            updated=_column(sampling.after(name) for name in self.d),
        )

    def _ports(self) -> dict[str, Signal]:
        """Return the inputs of all blocks, by full name."""
        starts = self._mechanism.input_starts
        return {
            name: Signal(
                name,
                item.unit,
                item.description,
                "input",
                start=float(starts.get(name, item.start)),
                nominal=item.nominal,
                type=item.type,
                items=item.items,
            )
            for name, item in self._items(Port)
        }

    def _known(self) -> dict[str, SignalSource]:
        """Return the signals of blocks and the first-order states, from which wires may lead, by full name."""
        known = {name: SignalSource(item.unit, ca.SX(0), type=item.type) for name, item in self._items(Port | Defined)}
        states = self._mechanism.states.items()
        return known | {name: SignalSource(entry.quantity.unit, self.z[name]) for name, entry in states}

    def _shown_of_blocks(self, resolved: "_Signals") -> Iterator[tuple[Signal, SX]]:
        """Yield the outputs and states of blocks, as signals with their values."""
        for name, item in self._items(State | Defined):
            items = () if isinstance(item, State) else item.items
            kind, type = _kind(item), _type(item)
            yield (
                Signal(name, item.unit, item.description, kind, nominal=item.nominal, type=type, items=items),
                resolved.value(name),
            )

    def _shown_of_components(self) -> Iterator[tuple[Signal, SX]]:
        """Yield the first-order states of components, as signals with their values."""
        of_blocks = {name for name, _ in self._items(State)}
        for entry in self._mechanism.states.values():
            if entry.name not in of_blocks:
                declared = entry.quantity
                signal = Signal(entry.name, declared.unit, declared.description, nominal=declared.nominal)
                yield signal, self.z[entry.name]

    def _items(self, kind: Any) -> Iterator[tuple[str, Any]]:
        """Yield the full name of each quantity of this kind of all blocks, and the quantity."""
        for path, block in self._mechanism.blocks.items():
            for item in block_of(block).quantities:
                if isinstance(item, kind):
                    yield prefix_of(path) + item.name, item

    def _memory(self) -> Iterator[MemorySignal]:
        for path, block in self._mechanism.blocks.items():
            if isinstance(block, Sampled):
                prefix, inner = prefix_of(path), block.block
                for item in inner.defined:
                    yield MemorySignal(prefix + item.name, path)
                for port in inner.inputs:
                    if port.name in inner.remembered:
                        yield MemorySignal(previous(prefix, port.name), path)

    def _first_memory(self) -> Iterator[SX]:
        ports = {previous(prefix_of(path), item.name): item for path, block in self._mechanism.blocks.items()
                 for item in block_of(block).inputs}  # fmt: skip
        for name in self.d:
            if name in ports:
                yield ca.SX(ports[name].start)
            else:
                yield resolve(self._mechanism, self._mechanism.held[name], self._symbols)

    def _timing(self, path: str) -> SX:
        block = self._mechanism.blocks[path]
        return ca.vertcat(
            *(
                in_scope(self._mechanism, f"{label} of '{path}'", getattr(block, label), prefix_of(path), self._symbols)
                for label in TIMING
            )
        )

    def _wires(
        self, targets: Mapping[str, Signal], known: Mapping[str, SignalSource]
    ) -> dict[str, tuple[str, Wire, str]]:
        """Return the source of each input that a wire goes to, with the wire and the prefix of its system."""
        source_of: dict[str, tuple[str, Wire, str]] = {}
        for prefix, item in self._mechanism.wires:
            names = self._mechanism.names
            source, target = (names.get(prefix + end, prefix + end) for end in (item.source, item.target))
            for here, there in _scalars(source, target, known, targets):
                self._check(prefix, item, here, there, targets, known)
                if there in source_of:
                    raise ModelError(
                        f"{item.label} and {source_of[there][1].words} both go to '{there}': leave one out, or add the "
                        "signals in a block"
                    )
                source_of[there] = here, item, prefix
        return source_of

    def _check(
        self,
        prefix: str,
        item: Wire,
        here: str,
        there: str,
        targets: Mapping[str, Signal],
        known: Mapping[str, SignalSource],
    ) -> None:
        """Raise an error if a wire cannot go from here to there."""
        where = place_of(self._mechanism, prefix, item)
        for end, table in ((here, known), (there, targets)):
            if end not in table and f"{end}[1]" in table:
                raise ModelError(
                    f"{where}: '{end}' is a vector and the other end is not of its length: name an entry, such as "
                    f"'{end}[1]'"
                )
        if there not in targets:
            path = there.rpartition(".")[0]
            joint = self._mechanism.components.get(path)
            undriven = isinstance(joint, Joint) and not joint.actuated
            cure = "actuated = true" if item.stated_at else "actuated=True"
            clause = f"'{path}' has inputs if it is given {cure}" if undriven else nearest(there, targets)
            raise UnknownNameError(f"{where}: there is no input '{there}'; {clause}")
        if here not in known:
            raise UnknownNameError(f"{where}: there is no signal '{here}'; {nearest(here, known)}")
        if known[here].lacking:
            raise ModelError(f"{where}: no wire can carry '{here}': {known[here].lacking}")
        supplied, wanted = known[here].type, targets[there].type
        if wanted != "Real" and supplied != wanted:
            raise ModelError(f"{where}: '{here}' is of type {supplied} and '{there}' of type {wanted}")
        pair = {known[here].unit, targets[there].unit}
        plain = "1" in pair  # a plain number, such as those of a controller for any machine, fits every unit
        if len(pair) > 1 and pair not in SAME_UNITS and not plain and item.factor is None:
            raise ModelError(
                f"{where}: '{here}' is in {known[here].unit} and '{there}' in {targets[there].unit}; give a "
                "factor that converts it"
            )


class _Signals:
    """The values of all signals, between sampling instants or at one.

    Args:
        network: the network.
        symbols: symbol of each input, those with wires too.
        wires: the source of each input that a wire goes to.
        sources: the mechanism's own signals.
        due: for each sampled block whether it computes now; None: values between sampling instants.
    """

    def __init__(
        self,
        network: Network,
        symbols: Mapping[str, SX],
        wires: Mapping[str, tuple[str, Wire, str]],
        sources: Mapping[str, SignalSource],
        due: Mapping[str, SX] | None,
    ) -> None:
        self._network, self._symbols, self._wires, self._sources, self._due = network, symbols, wires, sources, due
        mechanism = network._mechanism
        self._places: dict[str, tuple[str, Any]] = {
            prefix_of(path) + item.name: (path, item)
            for path, block in mechanism.blocks.items()
            for item in block_of(block).quantities
        }
        self._found: dict[str, SX] = {}
        self._sampled: dict[str, SX] = {}

    def value(self, name: str) -> SX:
        """Return the value of an input, a block's quantity or a signal of the mechanism.

        What it needs is computed first, one after the other: a row of blocks may be longer than calls can be nested.
        """
        if name not in self._found:
            way = {name: iter(self._needs(name))}  # each name needs the one after it
            while way:
                last = next(reversed(way))
                following = next((other for other in way[last] if other not in self._found), None)
                if following is None:
                    self._found[last] = self._computed(last)
                    del way[last]
                elif following in way:
                    names = list(way)
                    circle = " -> ".join([following, *reversed(names[names.index(following) :])])
                    raise ModelError(
                        f"signals form an algebraic loop: {circle}; break it by a block with a state, such as a "
                        "filter, or by "
                        "one that is sampled and uses previous(...)"
                    )
                else:
                    way[following] = iter(self._needs(following))
        return self._found[name]

    def _needs(self, name: str) -> list[str]:
        """Return the names of the signals that a signal follows from at the same instant."""
        network = self._network
        if name in self._wires:
            return [self._wires[name][0]]
        if name in self._symbols or name in network.z:
            return []
        if name in self._sources:
            value = self._sources[name].value
            return [
                other for other in self._wires if other in self._symbols and ca.depends_on(value, self._symbols[other])
            ]
        path, item = self._places[name]
        if self._due is None and isinstance(network._mechanism.blocks[path], Sampled):
            return []
        names = (prefix_of(path) + inner for inner in sorted(Expression(item.value).names))
        return [other for other in names if other in self._places]

    def after(self, name: str) -> SX:
        """Return an entry of the memory after the sampling."""
        assert self._due is not None
        port = name.removesuffix(")").replace("previous(", "")
        path, _ = self._places[port]
        return ca.if_else(self._due[path], self._new(port), self._network.d[name])

    def text(self, name: str, text: str) -> SX:
        """Return the value of an expression that belongs to a block's quantity."""
        path, _ = self._places[name]
        return Expression(text).evaluate(lambda inner: self._inner(path, inner))

    def _computed(self, name: str) -> SX:
        network = self._network
        if name in self._wires:
            source, wire, prefix = self._wires[name]
            factor, offset = (
                in_scope(network._mechanism, f"{wire.label}: {label}", value, prefix, network._symbols)
                for label, value in (("factor", wire.scale), ("offset", wire.offset))
            )
            return factor * self.value(source) + offset
        if name in network._formulas and name in self._symbols:
            return network._formulas[name]
        if name in self._symbols:
            return self._symbols[name]
        if name in network.z:
            return network.z[name]
        if name in self._sources:
            return self._of_mechanism(name)
        path, item = self._places[name]
        if not isinstance(network._mechanism.blocks[path], Sampled):
            return self.text(name, item.value)
        held = network.d[name]
        if self._due is None:
            return held
        self._sampled[name] = self.text(name, item.value)
        return ca.if_else(self._due[path], self._sampled[name], held)

    def _of_mechanism(self, name: str) -> SX:
        """Return a signal of the mechanism, which may depend on inputs that have wires."""
        value = self._sources[name].value
        for other in self._needs(name):
            value = ca.substitute(value, self._symbols[other], self.value(other))
        return value

    def _new(self, name: str) -> SX:
        """Return what a sampled block computes for one of its quantities."""
        value = self.value(name)
        return self._sampled.get(name, value)

    def _inner(self, path: str, name: str) -> SX:
        """Return the value of a name in an expression of a block."""
        network, prefix = self._network, prefix_of(path)
        if name == "time":
            return network._t
        if prefix + name in network._mechanism.entries:
            return resolve(network._mechanism, network._mechanism.entries[prefix + name], network._symbols)
        if name.startswith("previous("):
            inner = name[len("previous(") : -1]
            return network.d[prefix + inner if prefix + inner in network.d else previous(prefix, inner)]
        sampled = isinstance(network._mechanism.blocks[path], Sampled)
        return self._new(prefix + name) if sampled else self.value(prefix + name)


def previous(prefix: str, name: str) -> str:
    """Return the name of what a sampled block remembers of an input."""
    return f"{prefix}previous({name})"


def _kind(item: State | Defined) -> str:
    return "output" if isinstance(item, Defined) and item.output else "local"


def _type(item: State | Defined) -> VariableType:
    return "Real" if isinstance(item, State) else item.type


def _state(entry: Entry) -> StateSignal:
    declared = entry.quantity
    start = float(entry.value) if entry.free else None
    return StateSignal(entry.name, declared.unit, declared.description, start, declared.nominal)


def _scalars(
    source: str, target: str, known: Mapping[str, SignalSource], targets: Mapping[str, Signal]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of scalars that a wire connects: of vectors of the same length all entries."""

    def entries(name: str, table: Mapping[str, Any]) -> int:
        count = 0
        while f"{name}[{count + 1}]" in table:
            count += 1
        return count

    size = entries(source, known)
    if size and size == entries(target, targets) and source not in known:
        yield from ((f"{source}[{index}]", f"{target}[{index}]") for index in range(1, size + 1))
    else:
        yield source, target


def _column(items: Any) -> SX:
    return ca.vertcat(ca.SX(0, 1), *items)
