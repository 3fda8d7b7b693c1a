"""System -> Mechanism: sub-systems resolved to dotted names, and all names checked."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any

import casadi as ca

from mbfmu.errors import (
    AxisError,
    ExpressionError,
    FrameConnectionError,
    ModelError,
    NameInUseError,
    UnknownNameError,
    ValueRangeError,
    nearest,
)
from mbfmu.model.block import Block
from mbfmu.model.component import Component, QuantityField, Value
from mbfmu.model.composite import MAIN, Composite
from mbfmu.model.contacts import AxesContact
from mbfmu.model.couplings import AxisConstraint
from mbfmu.model.expression import Expression, constant, guessed
from mbfmu.model.forces import AxesForce, AxisForce
from mbfmu.model.frame import SX, Frame, identity
from mbfmu.model.joints import Joint, Planar, Prismatic, Revolute
from mbfmu.model.parts import FixedRotation, Part, World
from mbfmu.model.rope import RopePath
from mbfmu.model.sampled import Sampled, block_of
from mbfmu.model.sensors import CutForce
from mbfmu.model.system_data import (
    Connection,
    Subsystem,
    SystemData,
    Wire,
    component_with,
    parameters_of,
    settable,
)

QUATERNION = (4,)
"""Length of the start value of a quaternion."""
FIXED = "start.fixed."
"""Beginning of the name of a parameter that says whether a start value is met; the coordinate's name follows."""


LIMITS = (("lower", "upper"), ("u_least", "u_greatest"), ("f_least", "f_greatest"))
"""Names of a lower and an upper limit, as components have them."""
TURNING = (FixedRotation, Planar, Revolute)
"""Components that turn about their direction ``n``, which is z in a planar system."""


@dataclass(frozen=True)
class Entry:
    """One scalar parameter of a mechanism.

    Args:
        name: full dotted name.
        value: a number, or the expression it is bound to.
        scope: dotted prefix of the system in which the names of the expression are looked up.
        quantity: unit, bounds and description.
        guess: whether it is a start value that need not be met.
    """

    name: str
    value: Value
    scope: str
    quantity: QuantityField
    guess: bool = False

    @property
    def free(self) -> bool:
        """Return whether the parameter has a value of its own."""
        return not isinstance(self.value, str)


@dataclass(frozen=True)
class Mechanism:
    """A flat mechanism, with its blocks: everything by full name.

    Args:
        name: name of the system.
        planar: whether all motion is in the x-y plane.
        description: one line for the user.
        components: component by full name.
        connections: between full frame names.
        entries: scalar parameters by full name.
        starts: scalar start values by full name (only those given).
        formulas: inputs that are given as expressions of ``time``, by full name.
        blocks: blocks by full name; that of a block on its own is empty.
        wires: the wires, each with the prefix of the system it belongs to.
        states: start values of first-order states by full name.
        held: values before the first sampling, of the defined quantities of sampled blocks, by full name.
        names: other names of variables, by full name.
        choices: coordinates whose start values are met or guesses, as an entry `FIXED` with their full name says.
        input_starts: start values of inputs, by full name.
        weightless: whether parts that lack mass or inertia have 1 kg and 1 kg.m2, as only their motion counts, and the
            frames of all parts are outputs with their rates.
    """

    name: str
    planar: bool
    description: str
    components: Mapping[str, Component]
    connections: tuple[Connection, ...]
    entries: Mapping[str, Entry]
    starts: Mapping[str, Entry]
    formulas: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, Block | Sampled] = field(default_factory=dict)
    wires: tuple[tuple[str, Wire], ...] = ()
    states: Mapping[str, Entry] = field(default_factory=dict)
    held: Mapping[str, Entry] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    input_starts: Mapping[str, float] = field(default_factory=dict)
    weightless: bool = False

    @property
    def world(self) -> str:
        """Full name of the one World."""
        return next(name for name, item in self.components.items() if isinstance(item, World))

    def of(self, kind: type) -> dict[str, Any]:
        """Return the components of a kind, by full name."""
        return {name: item for name, item in self.components.items() if isinstance(item, kind)}


def flatten(system: SystemData, formulas: Mapping[str, str] | None = None, choices: Sequence[str] = ()) -> Mechanism:
    """Return a system as a mechanism: sub-systems are resolved, and the names in it are checked.

    Args:
        system: the system.
        formulas: inputs that are given as expressions of ``time``, by full name.
        choices: coordinates with a start value or a guess for which a parameter chooses between both, by full name.

    Raises:
        UnknownNameError: a choice names no such coordinate.
        ModelError: the system has no World or two, a part of the wrong dimension, an unknown name in an expression, a
            frame of a joint or force that is connected to nothing, or the like; the message says how to correct it.
    """
    parts = _Parts(system.planar)
    parts.add_system(system, "", {}, "")
    mechanism = parts.mechanism(system.name, system.description, formulas or {})
    _check(mechanism)
    return _with_choices(mechanism, tuple(dict.fromkeys(choices))) if choices else mechanism


def _with_choices(mechanism: Mechanism, choices: tuple[str, ...]) -> Mechanism:
    """Return a mechanism with a parameter for each start value that is met or a guess."""
    known: dict[str, list[Entry]] = {}
    for name, entry in mechanism.starts.items():
        if not entry.quantity.is_rate:
            whole = entry.quantity.sizes == QUATERNION  # its entries are met together
            known.setdefault(name.partition("[")[0] if whole else name, []).append(entry)
    entries = dict(mechanism.entries)
    for name in choices:
        if name not in known:
            raise UnknownNameError(
                f"'{name}' is not a coordinate with a start value that could be met or a guess; {nearest(name, known)}"
            )
        text = f"whether the start value of {name} is met: 1; 0: it is a guess, where the search for the start begins"
        if FIXED + name in entries:
            raise NameInUseError(f"'{FIXED + name}' is the name of a parameter already: rename its component")
        met = 0.0 if any(entry.guess for entry in known[name]) else 1.0
        entries[FIXED + name] = Entry(FIXED + name, met, "", QuantityField("1", text, 0.0, 1.0))
    return replace(mechanism, entries=entries, choices=choices)


def flatten_block(block: Block | Sampled, formulas: Mapping[str, str] | None = None) -> Mechanism:
    """Return a block on its own as a mechanism without components.

    Args:
        block: the block.
        formulas: inputs that are given as expressions of ``time``, by name.

    Raises:
        ModelError: see `flatten`.
    """
    parts = _Parts(planar=True)
    parts.add_block(block, "", {}, "")
    mechanism = parts.mechanism(block.name, block.description, formulas or {})
    _check_numbers(mechanism)
    return mechanism


def prefix_of(path: str) -> str:
    """Return what the names of everything in a component begin with, from the component's full name."""
    return path + "." if path else ""


@dataclass(frozen=True)
class _Parts:
    """The parts of a mechanism while they are collected; `ends` has the inner frame of each frame of a composite."""

    planar: bool
    components: dict[str, Component] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    starts: dict[str, Entry] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, Block | Sampled] = field(default_factory=dict)
    wires: list[tuple[str, Wire]] = field(default_factory=list)
    states: dict[str, Entry] = field(default_factory=dict)
    held: dict[str, Entry] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    input_starts: dict[str, float] = field(default_factory=dict)

    def mechanism(self, name: str, description: str, formulas: Mapping[str, str]) -> Mechanism:
        """Return the mechanism of these parts."""
        return Mechanism(
            name, self.planar, description, self.components, tuple(self.connections), self.entries, self.starts,
            {self.names.get(key, key): text for key, text in formulas.items()}, self.blocks, tuple(self.wires),
            self.states, self.held, self.names, (), self.input_starts,
        )  # fmt: skip

    def add_system(self, system: SystemData, prefix: str, overrides: Mapping[str, Value], outer: str) -> None:
        """Add what is in a system; the expressions of overridden parameters belong to the scope `outer`."""
        if system.planar != self.planar:
            kinds = ("planar", "spatial") if system.planar else ("spatial", "planar")
            raise ModelError(f"sub-system '{prefix.rstrip('.')}' is {kinds[0]}, the system around it is {kinds[1]}")
        self.add_parameters(system, prefix, overrides, outer)
        for component in system.components:
            path = prefix + component.name
            if isinstance(component, Subsystem):
                inner = component.system
                if isinstance(inner, SystemData):
                    self.add_system(inner, path + ".", component.values, prefix)
                else:
                    self.add_block(inner, path, component.values, prefix)
            elif isinstance(component, Block | Sampled):
                self.add_block(component, path, {}, "")
            elif isinstance(component, Composite):
                head = component.name + "."
                starts = {key.removeprefix(head): x for key, x in system.inner_starts.items() if key.startswith(head)}
                self.add_composite(component, path, prefix, starts)
            else:
                self.components[path] = component
                self.add_values(component, path, prefix)
        for pair in system.connections:
            self.connect(prefix + pair.a, prefix + pair.b)
        self.wires.extend((prefix, item) for item in system.wires)
        self.names.update({prefix + name: prefix + other for name, other in system.names.items()})
        self.input_starts.update({prefix + name: value for name, value in system.input_starts.items()})

    def add_parameters(
        self, system: SystemData | Block | Sampled, prefix: str, overrides: Mapping[str, Value], outer: str
    ) -> None:
        """Add the parameters of a system or block."""
        for item in parameters_of(system):
            name, overridden = prefix + item.name, item.name in overrides
            value = overrides[item.name] if overridden else item.value
            self.entries[name] = Entry(name, value, outer if overridden else prefix, item.quantity)

    def add_block(self, block: Block | Sampled, path: str, overrides: Mapping[str, Value], outer: str) -> None:
        """Add a block; the expressions of overridden values belong to the scope `outer`, the others to the block."""
        prefix = prefix_of(path)
        self.blocks[path] = block
        self.add_parameters(block, prefix, overrides, outer)
        begun = block.block.defined if isinstance(block, Sampled) else block.states
        table = self.held if isinstance(block, Sampled) else self.states
        for item in begun:
            overridden = item.name in overrides
            value, scope = (overrides[item.name], outer) if overridden else (item.start, prefix)
            declared = replace(settable(block)[item.name], nominal=item.nominal)
            table[prefix + item.name] = Entry(prefix + item.name, value, scope, declared)
        if isinstance(block, Block) and block.remembered:
            raise ModelError(
                f"block '{block.name}' has previous({min(block.remembered)}), the value at the last sampling, and is "
                "not sampled: write Sampled(block, period)"
            )

    def add_composite(self, composite: Composite, path: str, scope: str, starts: Mapping[str, Value]) -> None:
        """Add the components inside; a quantity of the composite replaces one of its main part of the same name.

        Args:
            composite: the composite.
            path: its full name.
            scope: dotted prefix of the system around it.
            starts: start values of the components inside, by their names in it.
        """
        inside = composite.inside(self.planar)
        components = dict(inside.components)
        for key, value in starts.items():
            name, _, label = key.rpartition(".")
            components[name] = component_with(components[name], label, value, f"{path}.{key}")
        for name, component in components.items():
            full = path if name == MAIN else f"{path}.{name}"
            self.components[full] = component
            self.add_values(component, full, path + ".")
        for pair in inside.connections:
            self.connections.append(Connection(f"{path}.{pair[0]}", f"{path}.{pair[1]}"))
        self.ends.update({f"{path}.{frame}": f"{path}.{inner}" for frame, inner in inside.ends.items()})
        self.add_values(composite, path, scope)

    def add_values(self, component: Component, path: str, scope: str) -> None:
        """Add the quantities and start values of a component, whose expressions belong to a scope."""
        for declared, label, value in component.declared():
            if value is None or (self.planar and declared.spatial_only):
                continue
            table = {"start": self.starts, "state": self.states}.get(declared.role, self.entries)
            for suffix, scalar in _scalars(f"{path}.{label}", value, self.planar, declared):
                if scalar is None:
                    continue
                if declared.role == "parameter" and _structural_zero(component, label, suffix, scalar):
                    continue
                name = f"{path}.{label}{suffix}"
                inner = guessed(scalar) if declared.role == "start" and isinstance(scalar, str) else None
                value = scalar if inner is None else _plain(inner)
                table[name] = Entry(name, value, scope, declared, inner is not None)

    def connect(self, a: str, b: str) -> None:
        """Add a connection of two frames by full name."""
        self.connections.append(Connection(self.ends.get(a, a), self.ends.get(b, b)))


def _plain(text: str) -> Value:
    """Return the number that an expression without names stands for; an expression with names as it is."""
    return text if Expression(text).names else constant(text)


def _structural_zero(component: Component, label: str, suffix: str, value: Value) -> bool:
    """Return whether a quantity is zero by structure: a vector entry 0, or a default 0 of a number.

    Such zeros are no parameters; the equations are generated without them. To tune one, bind it to a Parameter.
    """
    if isinstance(value, str) or value != 0:
        return False
    return bool(suffix) or value == next(item.default for item in fields(component) if item.name == label)


def _scalars(name: str, value: Any, planar: bool, declared: QuantityField) -> list[tuple[str, Value]]:
    if not isinstance(value, (tuple, list)):
        return [("", value)]
    numbers = list(value)
    in_space = declared.sizes == (2, 3)
    if len(numbers) == 3 and planar and in_space:
        if numbers[2] not in {0, None}:
            raise ValueRangeError(f"{name}[3] = {numbers[2]} must be 0 in a planar system, or left out")
        numbers = numbers[:2]
    if len(numbers) == 2 and not planar and in_space:
        raise ValueRangeError(f"{name} = {value} has 2 entries; a spatial system needs 3")
    return [(f"[{index}]", item) for index, item in enumerate(numbers, 1)]


def _check_axes(mechanism: Mechanism) -> None:
    for path, component in mechanism.components.items():
        for label, n in component.directions():
            if not mechanism.planar and len(n) != 3:
                raise AxisError(f"{path}.{label} = {n} has {len(n)} entries; a spatial system needs 3")
            if mechanism.planar and isinstance(component, Prismatic) and math.hypot(*n[:2]) < 1 - 1e-9:
                raise AxisError(f"{path}.{label} = {n} leaves the plane; a planar system slides in x and y")
            about = isinstance(component, TURNING) and label == "n"
            if mechanism.planar and about and math.hypot(*n[:2], n[-1] - 1) > 1e-9:
                raise AxisError(f"{path}.{label} = {n}: a planar system turns about z, by (0, 0, 1); leave it out")


def _check(mechanism: Mechanism) -> None:
    if mechanism.blocks and not mechanism.components:
        _check_numbers(mechanism)
        return
    _check_axes(mechanism)
    worlds = mechanism.of(World)
    if len(worlds) != 1:
        raise FrameConnectionError(
            f"system '{mechanism.name}' has {len(worlds)} World components ({', '.join(worlds)}): a mechanism needs "
            "exactly one, at the top"
            if worlds
            else f"system '{mechanism.name}' has no World, from which bodies hang: add World() to its components, or "
            '[components.world] with type = "World" in TOML'
        )
    touched = {end for pair in mechanism.connections for end in pair}
    for path, component in mechanism.components.items():
        ends = [f"{path}.{frame}" for frame in component.frames]
        if ends and not isinstance(component, World) and not touched.intersection(ends):
            free = "; a free body hangs on a FreeMotion joint" if isinstance(component, Part) else ""
            raise FrameConnectionError(
                f"{type(component).__name__} '{path}' is connected to nothing: add "
                + " and ".join(f'connect("{end}", ...)' for end in ends[: 1 if free else 2])
                + free
            )
        if isinstance(component, Part):
            continue
        for frame in component.frames:
            if f"{path}.{frame}" not in touched:
                raise FrameConnectionError(
                    f"{type(component).__name__} '{path}': {frame} is connected to nothing; "
                    f'add connect("{path}.{frame}", ...)'
                )
    joints, ropes = mechanism.of(Joint), mechanism.of(RopePath)
    for path, component in {
        **mechanism.of(AxisForce),
        **mechanism.of(AxesForce),
        **mechanism.of(AxisConstraint),
        **mechanism.of(AxesContact),
        **mechanism.of(CutForce),
    }.items():
        for target, name in zip(joints_of(path, component), _axes(component), strict=True):
            if target not in joints and (isinstance(component, CutForce) or target not in ropes):
                verb = "shows" if isinstance(component, CutForce) else "acts on"
                raise UnknownNameError(
                    f"{type(component).__name__} '{path}' {verb} the joint '{name}', which is not there; "
                    + nearest(name, [*joints, *ropes])
                )
    if mechanism.input_starts:
        known = input_names(mechanism)
        for name in mechanism.input_starts:
            if name not in known:
                raise UnknownNameError(
                    f"input_starts of '{mechanism.name}': there is no input '{name}'; {nearest(name, known)}"
                )
    _check_numbers(mechanism)


def place_of(mechanism: Mechanism, prefix: str, item: Wire) -> str:
    """Return a wire and its system, for messages.

    Args:
        mechanism: the mechanism.
        prefix: dotted prefix of the system.
        item: the wire.
    """
    return f"{item.label} in '{prefix.rstrip('.') or mechanism.name}'"


def _check_wires(mechanism: Mechanism) -> None:
    """Raise an error for a wire from or to what a block has not, or with a wrong factor or offset."""
    for prefix, item in mechanism.wires:
        where = place_of(mechanism, prefix, item)
        for end, noun in ((item.source, "quantity"), (item.target, "input")):
            full = mechanism.names.get(prefix + end, prefix + end)
            path, _, name = full.rpartition(".")
            if path in mechanism.blocks:
                block = mechanism.blocks[path]
                inner = block_of(block)
                known = [port.name for port in (inner.inputs if noun == "input" else inner.quantities)]
                if name not in known:
                    raise UnknownNameError(f"{where}: block '{path}' has no {noun} '{name}'; {nearest(name, known)}")
        for label, value in (("factor", item.scale), ("offset", item.offset)):
            constant_value = float(ca.DM(ca.evalf(in_scope(mechanism, f"{where}: {label}", value, prefix, {}))))
            if not math.isfinite(constant_value):
                raise ValueRangeError(f"{where}: {label} = {value!r} is {constant_value}: correct it or its parameters")


def _check_numbers(mechanism: Mechanism) -> None:
    _check_wires(mechanism)
    values: dict[str, SX] = {}
    for path in mechanism.components:
        laws_of(mechanism, path, {}, ca.SX.sym("time"), values)
        _factors_of(mechanism, path, {}, values)
    for table in (mechanism.entries, mechanism.starts, mechanism.states, mechanism.held):
        for entry in table.values():
            _numeric(mechanism, entry, values)
    for path, component in mechanism.components.items():
        for ends in LIMITS:
            if all(hasattr(component, name) for name in ends):
                _check_limits(mechanism, *(f"{path}.{name}" for name in ends))


def _check_limits(mechanism: Mechanism, least: str, greatest: str) -> None:
    """Raise an error if a lower limit is above the upper one, by their full names; an entry that is missing is 0."""
    low, high = (
        float(ca.DM(ca.evalf(resolve(mechanism, mechanism.entries[name], {})))) if name in mechanism.entries else 0.0
        for name in (least, greatest)
    )
    if low > high:
        raise ValueRangeError(f"{least} = {low:g} is above {greatest} = {high:g}: swap them")


OfJoints = AxisForce | AxesForce | AxisConstraint | AxesContact | CutForce
"""A component that names joints instead of being connected."""


def joints_of(path: str, component: OfJoints) -> tuple[str, ...]:
    """Return the full names of the joints that a component acts on or shows."""
    scope, dot, _ = path.rpartition(".")
    return tuple(scope + dot + name for name in _axes(component))


def _axes(component: OfJoints) -> tuple[str, ...]:
    return (component.joint,) if isinstance(component, AxisForce | CutForce) else component.axes


def _numeric(mechanism: Mechanism, entry: Entry, known: dict[str, SX]) -> None:
    expression = resolve(mechanism, entry, {}, known=known)
    value = float(expression if expression.is_constant() else ca.DM(ca.evalf(expression)))
    if not math.isfinite(value):
        raise ValueRangeError(f"{entry.name} = {entry.value} is {value}: correct the expression or its parameters")
    if not entry.quantity.min <= value <= entry.quantity.max:
        raise ValueRangeError(f"{entry.name} = {value:g} is outside its bounds {entry.quantity.bounds}")


def resolve(
    mechanism: Mechanism,
    entry: Entry,
    symbols: Mapping[str, SX],
    chain: tuple[str, ...] = (),
    known: dict[str, SX] | None = None,
) -> SX:
    """Return the expression of a parameter or start value in terms of the free parameters.

    Args:
        mechanism: the mechanism.
        entry: the parameter or start value.
        symbols: symbol of each free parameter; a parameter without a symbol is replaced by its number.
        chain: names of the entries that lead to this one, to detect circles.
        known: expressions that are known already, by name; new ones are added, so that each definition is read once.

    Raises:
        ExpressionError: definitions form a circle.
        UnknownNameError: an expression names no parameter.
    """
    if entry.free:
        return symbols[entry.name] if entry.name in symbols else ca.SX(float(entry.value))
    if entry.name in chain:
        raise ExpressionError(f"parameters are defined in a cycle: {' -> '.join([*chain, entry.name])}")
    known = {} if known is None else known
    if entry.name not in known:
        way = (*chain, entry.name)
        known[entry.name] = _evaluated(mechanism, entry.name, str(entry.value), entry.scope, symbols, {}, way, known)
    return known[entry.name]


def _evaluated(
    mechanism: Mechanism,
    where: str,
    text: str,
    scope: str,
    symbols: Mapping[str, SX],
    supplied: Mapping[str, SX],
    chain: tuple[str, ...] = (),
    resolved: dict[str, SX] | None = None,
) -> SX:
    """Return the value of an expression of given names and of the parameters of a scope."""

    def lookup(name: str) -> SX:
        if name in supplied:
            return supplied[name]
        full = scope + name
        if full not in mechanism.entries:
            known = [item.removeprefix(scope) for item in mechanism.entries if item.startswith(scope)]
            raise UnknownNameError(
                f"{where} = '{text}': there is no parameter '{name}'; {nearest(name, [*supplied, *known])}"
            )
        return resolve(mechanism, mechanism.entries[full], symbols, chain, resolved)

    return Expression(text).evaluate(lookup)


def in_scope(mechanism: Mechanism, where: str, value: Value, scope: str, symbols: Mapping[str, SX]) -> SX:
    """Return the value of a number or an expression of the parameters of a scope.

    Args:
        mechanism: the mechanism.
        where: what the value is, for messages.
        value: the number or expression.
        scope: dotted prefix of the system or block.
        symbols: symbol of each free parameter.

    Raises:
        UnknownNameError: the expression refers to something else.
    """
    return _evaluated(mechanism, where, value, scope, symbols, {}) if isinstance(value, str) else ca.SX(float(value))


def laws_of(
    mechanism: Mechanism, path: str, symbols: Mapping[str, SX], time: SX, known: dict[str, SX] | None = None
) -> dict[str, Callable[..., SX]]:
    """Return a component's laws as functions of the names they may depend on.

    Args:
        mechanism: the mechanism.
        path: full name of the component.
        symbols: symbol of each free parameter.
        time: symbol of the time, s.
        known: see `resolve`.

    Raises:
        UnknownNameError: a formula depends on another name.
    """
    laws: dict[str, Callable[..., SX]] = {}
    scope = path.rpartition(".")[0]
    for declared, label, value in mechanism.components[path].laws():
        names = {name: ca.SX.sym(name) for name in declared.names}
        result = _evaluated(
            mechanism, f"{path}.{label}", str(value), scope + "." if scope else "", symbols, {**names, "time": time},
            resolved=known,
        )  # fmt: skip

        def evaluate(result: SX = result, names: Mapping[str, SX] = names, **values: SX) -> SX:
            for name, symbol in names.items():
                result = ca.substitute(result, symbol, values[name])
            return result

        laws[label] = evaluate
    return laws


def _factors_of(
    mechanism: Mechanism, path: str, symbols: Mapping[str, SX], known: dict[str, SX] | None = None
) -> dict[str, tuple[float | SX, ...]]:
    """Return a component's factors by field; numbers stay numbers. For the arguments see `laws_of`."""
    scope = path.rpartition(".")[0]
    return {
        label: tuple(
            _evaluated(mechanism, f"{path}.{label}", value, scope + "." if scope else "", symbols, {}, resolved=known)
            if isinstance(value, str)
            else float(value)
            for value in values
        )
        for label, values in mechanism.components[path].factors()
    }


def quantities(
    mechanism: Mechanism, path: str, symbols: Mapping[str, SX], time: SX, since: SX, inputs: Mapping[str, SX]
) -> SimpleNamespace:
    """Return a component's quantities, laws, states and inputs as expressions: the argument `p` of its methods.

    Args:
        mechanism: the mechanism.
        path: full name of the component.
        symbols: symbol of each free parameter.
        time: symbol of the time, s.
        since: time since the sampled inputs last changed, s.
        inputs: symbols of the component's states and inputs, by name.
    """
    values: dict[str, Any] = {"planar": mechanism.planar, "time": time, "since": since, **inputs}
    values.update(laws_of(mechanism, path, symbols, time))
    values.update(_factors_of(mechanism, path, symbols))
    for declared, label, value in mechanism.components[path].declared():
        if declared.role != "parameter" or (mechanism.planar and declared.spatial_only):
            continue
        parts = [
            resolve(mechanism, mechanism.entries[name], symbols) if name in mechanism.entries else ca.SX(1, 1)
            for name in (f"{path}.{label}{suffix}" for suffix, _ in _scalars(label, value, mechanism.planar, declared))
        ]
        values[label] = parts[0] if len(parts) == 1 else ca.vertcat(*parts)
    return SimpleNamespace(**values)


def input_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the full names of all inputs without wires: efforts of joints, inputs of components and of blocks."""
    planar, time = mechanism.planar, ca.SX.sym("time")
    dim, turn = (2, 1) if planar else (3, 3)
    here = Frame(identity(planar), ca.SX(dim, 1), ca.SX(turn, 1))
    names: list[str] = []
    for path, joint in mechanism.of(Joint).items():
        if joint.actuated:
            inputs = {item.name: ca.SX.sym(item.name, item.size) for item in joint.inputs(planar)}
            inputs.update((name, ca.SX.sym(name)) for name in joint.states())
            motions = joint.motion(quantities(mechanism, path, {}, time, time, inputs), here, here)
            for item in motions:
                rate = item.value if item.rate_value is None else item.rate_value
                names += _labels(f"{path}.{item.effort}", ca.vertcat(rate).numel())
    for path, component in mechanism.components.items():
        for item in component.inputs(planar):
            names += _labels(f"{path}.{item.name}", item.size)
    for path, block in mechanism.blocks.items():
        names += [prefix_of(path) + item.name for item in block_of(block).inputs]
    ends = (prefix + item.target for prefix, item in mechanism.wires)
    driven = {mechanism.names.get(end, end) for end in ends}
    return tuple(name for name in names if name not in driven and name.partition("[")[0] not in driven)


def _labels(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}[{index}]" for index in range(1, count + 1)]
