"""The data of a system: components, connections of frames, wires, sub-systems."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from mbfmu.errors import (
    FrameConnectionError,
    ModelError,
    NameInUseError,
    UnknownNameError,
    ValueRangeError,
    nearest,
)
from mbfmu.model.block import Block
from mbfmu.model.component import Component, QuantityField, Value, check_value, freed, is_name, never_free
from mbfmu.model.composite import MAIN, Composite
from mbfmu.model.description import Description, check_items, check_texts
from mbfmu.model.parameter import Parameter
from mbfmu.model.sampled import Sampled

Kind = TypeVar("Kind", bound="SystemData")
FREED = object()
"""Stands for the value of a start value that is to be free."""


def check_other_names(system: str, names: Any, taken: Iterable[str]) -> None:
    """Raise an error unless these can be other names of a system's variables.

    Args:
        system: name of the system.
        names: full name of a variable by each new name, an identifier or one with an index, ``e[1]``.
        taken: names that mean something else.

    Raises:
        ModelError: it is no dictionary of texts.
        NameInUseError: a name cannot be used, or a variable has two.
    """
    if not isinstance(names, Mapping) or not all(isinstance(full, str) for full in names.values()):
        raise ModelError(
            f"names of system '{system}' = {names!r} must be a dictionary of names of variables, such as "
            '{"q": "hinge.phi"}'
        )
    for name in names:
        if not is_name(re.sub(r"\[[1-9][0-9]*\]$", "", name)) or name in taken:
            raise NameInUseError(
                f"names of '{system}': '{name}' cannot be another name: use an identifier that no component, "
                "coordinate or parameter has"
            )
    meant = list(names.values())
    if twice := next((other for other in meant if meant.count(other) > 1), None):
        raise NameInUseError(f"names of '{system}': '{twice}' has two other names: leave one out")


def check_input_starts(given: Mapping[str, float]) -> None:
    """Raise an error if a start value of an input is no finite number.

    Raises:
        ModelError: there is no dictionary of them.
        ValueRangeError: it is not.
    """
    if not isinstance(given, Mapping):
        raise ModelError(f'input_starts = {given!r} must be a dictionary of numbers, such as {{"motor.tau": 1.5}}')
    for name, value in given.items():
        if isinstance(value, str):
            raise ValueRangeError(f"{name} = {value!r}: the start value of an input is a number")
        check_value(name, value, QuantityField("", "start value of an input"))


class Connection(NamedTuple):
    """Two frames that coincide; each is written ``component.frame`` (or ``subsystem.component.frame``)."""

    a: str
    b: str


def connect(frame_a: str, frame_b: str) -> Connection:
    """Return the connection of two frames that coincide: ``connect("shoulder.frame_b", "link1.frame_a")``."""
    return Connection(frame_a, frame_b)


@dataclass(frozen=True)
class Wire(Description):
    """A signal that goes to an input: ``target = factor * source + offset``.

    Args:
        source: name of a coordinate, rate, state, sensor's output or block's quantity.
        target: name of an input of a block, joint or force.
        factor: a number or an expression of the system's parameters, which may convert the unit; None: 1, without a
            change of unit.
        offset: a number or an expression of the system's parameters, in the unit of the target.
        stated_at: file and line that state it in TOML, for messages; empty: it is stated in Python.
    """

    source: str
    target: str
    factor: Value | None = None
    offset: Value = 0.0
    stated_at: str = field(default="", kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        for end in (self.source, self.target):
            if not isinstance(end, str):
                raise ModelError(f"a wire goes from one name to another, and {end!r} is a {type(end).__name__}")
        check_value(f"{self.label}: factor", self.scale, QuantityField("1", ""))
        check_value(f"{self.label}: offset", self.offset, QuantityField("1", ""))

    @property
    def label(self) -> str:
        """File and line of the wire, if it is one of TOML, and the wire as a user writes it."""
        return f"{self.stated_at}: {self.words}" if self.stated_at else self.words

    @property
    def words(self) -> str:
        """The wire as a user writes it, without factor and offset."""
        return f'["{self.source}", "{self.target}"]' if self.stated_at else f"wire({self.source!r}, {self.target!r})"

    @property
    def scale(self) -> Value:
        """The factor, which is 1 if none is stated."""
        return 1.0 if self.factor is None else self.factor


def wire(source: str, target: str, factor: Value | None = None, offset: Value = 0.0) -> Wire:
    """Return a signal that goes to an input: ``wire("boom.s", "servo.s")``; see `Wire`."""
    return Wire(source, target, factor, offset)


@dataclass(frozen=True)
class SystemData(Description):
    """The data of a system, without what has to resolve its sub-systems; see `System`."""

    name: str
    components: tuple["Component | Subsystem | Block | Sampled", ...]
    connections: tuple[Connection, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    planar: bool = False
    description: str = ""
    stepper: str = ""
    wires: tuple[Wire, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    input_starts: Mapping[str, float] = field(default_factory=dict)
    inner_starts: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_texts(self, "name", "description", "stepper")
        check_input_starts(self.input_starts)
        self._check_inner_starts()
        check_items(f"parameters of system '{self.name}'", self.parameters, Parameter)
        check_items(f"components of system '{self.name}'", self.components, Component, Subsystem, Block, Sampled)
        check_items(f"connections of system '{self.name}'", self.connections, Connection)
        check_items(f"wires of system '{self.name}'", self.wires, Wire)
        seen: set[str] = set()
        for item in (*self.parameters, *self.components):
            if item.name in seen:
                raise NameInUseError(f"system '{self.name}' has two things named '{item.name}': rename one")
            seen.add(item.name)
        check_other_names(self.name, self.names, seen)
        self._check_wires()
        known = self.frames()
        pairs: set[frozenset[str]] = set()
        for pair in self.connections:
            for end in pair:
                if end not in known:
                    raise UnknownNameError(
                        f"connect({pair.a!r}, {pair.b!r}) in '{self.name}': there is no frame '{end}'; "
                        + nearest(end, known)
                    )
            if frozenset(pair) in pairs or pair.a == pair.b:
                raise FrameConnectionError(
                    f"connect({pair.a!r}, {pair.b!r}) in '{self.name}' is stated twice: drop one"
                )
            pairs.add(frozenset(pair))

    def _check_inner_starts(self) -> None:
        """Raise a `ModelError` unless these are start values of what is inside composites, by name."""
        if not isinstance(self.inner_starts, Mapping):
            raise ModelError(
                f"inner_starts = {self.inner_starts!r} must be a dictionary of start values, such as "
                '{"beam.joint1.phi": 0.1}'
            )
        for name, value in self.inner_starts.items():
            _, inner, label = self._inside(name)
            if inner is None:
                raise UnknownNameError(
                    f"inner_starts of '{self.name}': there is no '{name}' inside a composite; "
                    + nearest(name, [item for composite in self._composites() for item in self._inner_names(composite)])
                )
            component_with(inner, label, value, name)

    def _composites(self) -> "list[Composite]":
        return [item for item in self.components if isinstance(item, Composite)]

    def _inside(self, name: str) -> "tuple[Composite, Component, str] | tuple[None, None, str]":
        """Return the composite, the component in it and the label of a dotted name; None, None, "" if it is no such."""
        head, _, rest = name.partition(".")
        path, _, label = rest.rpartition(".")
        for item in self._composites():
            if item.name == head and path:
                inside = item.inside(self.planar).components
                if path in inside:
                    return item, inside[path], label
        return None, None, ""

    def _inner_names(self, composite: "Composite") -> list[str]:
        """Return the names of the start values of what is inside a composite."""
        return [
            name
            for path, inner in composite.inside(self.planar).components.items()
            if path != MAIN
            for declared, label, _ in inner.declared()
            if declared.role == "start"
            for name in self._names(inner, declared, label, f"{composite.name}.{path}")
        ]

    def _check_wires(self) -> None:
        known = [item.name for item in self.components]
        driven: dict[str, Wire] = {}
        for item in self.wires:
            for end in (item.source, item.target):
                head = end.partition(".")[0]
                if head not in known and end not in self.names:
                    raise UnknownNameError(
                        f"{item.label} in '{self.name}': there is no component '{head}'; {nearest(head, known)}"
                    )
            if item.target in driven:
                raise ModelError(
                    f"{item.label} and {driven[item.target].words} in '{self.name}' go to one input: leave one out, or "
                    "add the signals in a block"
                )
            driven[item.target] = item

    def frames(self) -> frozenset[str]:
        """Return the names of all frames, those of sub-systems included."""
        found: set[str] = set()
        for item in self.components:
            inner: Iterable[str] = ()
            if isinstance(item, Component):
                inner = item.frames
            elif isinstance(item, Subsystem) and isinstance(item.system, SystemData):
                inner = item.system.frames()
            found.update(f"{item.name}.{frame}" for frame in inner)
        return frozenset(found)

    @property
    def only_blocks(self) -> bool:
        """Whether the system has blocks and nothing that could move."""
        inner = (item.system if isinstance(item, Subsystem) else item for item in self.components)
        return bool(self.components) and all(
            item.only_blocks if isinstance(item, SystemData) else isinstance(item, Block | Sampled) for item in inner
        )

    def _with_value(self: Kind, name: str, value: Any, full: str) -> Kind:
        head, _, rest = name.partition(".")
        parameters = {item.name: item for item in self.parameters}
        if not rest and head in parameters:
            if value is FREED:
                raise never_free(full)
            changed = replace(parameters[head], value=value)
            return replace(self, parameters=tuple(changed if i.name == head else i for i in self.parameters))
        for item in self.components:
            if item.name == head and rest:
                new: Component | Subsystem | Block | Sampled
                if isinstance(item, Subsystem) and rest in item.values and value is not FREED:
                    new = replace(item, values={**item.values, rest: value})
                elif isinstance(item, Subsystem):
                    new = replace(item, system=_model_with(item.system, rest, value, full))
                elif isinstance(item, Block | Sampled):
                    new = _model_with(item, rest, value, full)
                elif inner := self._inside(name)[1]:
                    return self._with_inner(name, inner, value, full)
                else:
                    new = component_with(item, rest, value, full)
                return replace(self, components=tuple(new if i is item else i for i in self.components))
        within = full.removesuffix(name)
        known = [within + item for item in self.values()]
        raise UnknownNameError(f"'{self.name}' has no parameter or start value '{full}'; {nearest(full, known)}")

    def _with_inner(self: Kind, name: str, inner: Component, value: Any, full: str) -> Kind:
        """Return the system with a start value of a component inside a composite, or with that freed."""
        label = name.rpartition(".")[2]
        if name not in self._inner_names_of(name):
            component_with(inner, label, value, full)  # refuses a name that is not there
            raise UnknownNameError(f"'{full}' is not a start value; {nearest(full, self.start_values())}")
        starts = {key: entry for key, entry in self.inner_starts.items() if key != name}
        if value is not FREED:
            starts[name] = value
        else:
            declared = next(item for item, field_name, _ in inner.declared() if field_name == label.partition("[")[0])
            if (begun := freed(self.inner_starts.get(name, 0.0), declared)) is not None:
                starts[name] = begun
        return replace(self, inner_starts=starts)

    def _inner_names_of(self, name: str) -> list[str]:
        composite = self._inside(name)[0]
        return self._inner_names(composite) if composite else []

    def values(self) -> tuple[str, ...]:
        """Return the names of everything that `with_values` can replace."""
        return self._named(starts_only=False)

    def start_values(self) -> tuple[str, ...]:
        """Return the names of all start values, given or not."""
        return self._named(starts_only=True)

    def _named(self, starts_only: bool) -> tuple[str, ...]:
        found = [] if starts_only else [item.name for item in self.parameters]
        for item in self.components:
            if isinstance(item, Subsystem | Block | Sampled):
                inner = item.system if isinstance(item, Subsystem) else item
                names = inner.start_values() if starts_only else inner.values()
                found += [f"{item.name}.{name}" for name in names]
                continue
            for declared, label, _ in item.declared():
                if declared.role in {"start", "state"} or not starts_only:
                    found += self._names(item, declared, label)
            found += self._inner_names(item) if isinstance(item, Composite) else ()
        called = {name: other for other, name in self.names.items()}
        return tuple(called.get(name, name) for name in found)

    def _names(self, item: Component, declared: QuantityField, label: str, path: str = "") -> list[str]:
        """Return the names of the scalars of a component's quantity; path: its name, if it is another than its own."""
        if self.planar and declared.spatial_only:
            return []
        name = f"{path or item.name}.{label}"
        if not declared.sizes:
            return [name]
        count = declared.sizes[0 if self.planar else -1]
        return [f"{name}[{index}]" for index in range(1, count + 1)]


@dataclass(frozen=True)
class Subsystem(Description):
    """A system or a block used as a component of another system.

    Args:
        name: an identifier, the first part of the names of everything in the sub-system.
        system: the inner system or block.
        values: inner parameters, and start values of a block, by name, as numbers or expressions of the outer system's
            parameters.
    """

    name: str
    system: SystemData | Block | Sampled
    values: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise NameInUseError(
                f"'{self.name}' cannot name a sub-system: use letters (a to z, A to Z), digits and underscores"
            )
        if not isinstance(self.system, SystemData | Block | Sampled):
            kind = type(self.system).__name__
            raise ModelError(f"sub-system '{self.name}': {self.system!r} is a {kind}, not a System or a Block")
        known = settable(self.system)
        for name, value in self.values.items():
            if name not in known:
                raise UnknownNameError(f"sub-system '{self.name}' has no parameter '{name}'; {nearest(name, known)}")
            check_value(f"{self.name}.{name}", value, known[name])


def settable(system: SystemData | Block | Sampled) -> dict[str, QuantityField]:
    """Return what `Subsystem.values` may give: parameters, and start values of a block, by name."""
    found = {item.name: item.quantity for item in parameters_of(system)}
    if isinstance(system, Block):
        found.update({item.name: QuantityField(item.unit, item.description, role="state") for item in system.states})
    if isinstance(system, Sampled):
        found.update({item.name: QuantityField(item.unit, item.description) for item in system.block.defined})
    return found


def parameters_of(system: SystemData | Block | Sampled) -> tuple[Parameter, ...]:
    """Return the parameters of a system or block."""
    return (system.block if isinstance(system, Sampled) else system).parameters


def _model_with(system: Any, name: str, value: Any, full: str) -> Any:
    """Return a system or block with one value replaced, or freed."""
    if isinstance(system, SystemData):
        return system._with_value(system.names.get(name, name), value, full)
    return system.with_values({}, free=(full,)) if value is FREED else system.with_values({name: value})


def component_with(item: Component, label: str, value: Any, full: str) -> Component:
    """Return a component with a quantity or start value, or an entry of one, replaced or freed.

    Args:
        item: the component.
        label: name of the field, with the index of an entry.
        value: its value; `FREED` makes a start value free.
        full: its full name, for messages.

    Raises:
        UnknownNameError: there is no such quantity or start value.
        ValueRangeError: the value is not as declared, or a parameter is to be free.
    """
    found = re.fullmatch(r"(\w+?)(?:\[([1-9][0-9]*)\])?", label, re.ASCII)
    known = {field_name: (declared, old) for declared, field_name, old in item.declared()}
    if found and found[1] in known:
        base, index = found[1], found[2]
        declared, old = known[base]
        if old is None and declared.sizes:
            old = (None,) * declared.sizes[-1]
        if value is FREED and declared.role != "start":
            raise never_free(full)
        if not index:
            if value is FREED:
                vector = isinstance(old, tuple | list)
                value = tuple(freed(entry, declared) for entry in old) if vector else freed(old, declared)
            changes: dict[str, Any] = {base: value}
            return replace(item, **changes)
        if isinstance(old, tuple) and int(index) <= len(old):
            entries = list(old)
            entries[int(index) - 1] = freed(entries[int(index) - 1], declared) if value is FREED else value
            changes = {base: tuple(entries)}
            return replace(item, **changes)
    raise UnknownNameError(f"'{full}': a {type(item).__name__} has no '{label}'; {nearest(label, known)}")
