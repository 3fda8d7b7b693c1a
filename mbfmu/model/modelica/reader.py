"""Modelica -> System: components of the flat model, what connects them, and the user's parameters."""

import math
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mbfmu.errors import MbfmuError, ModelError
from mbfmu.model.component import Component, Value
from mbfmu.model.forces import GravityField, PointGravity, WorldTorque
from mbfmu.model.joints import FreeMotion, Joint
from mbfmu.model.modelica import planar, planar_elements, wheels
from mbfmu.model.modelica.assemblies import StartPoses, measure, shortened
from mbfmu.model.modelica.bearings import Bearings
from mbfmu.model.modelica.chain_elements import EDDY
from mbfmu.model.modelica.chains import KINDS, Chains
from mbfmu.model.modelica.closing import guess_closed
from mbfmu.model.modelica.compiler import flat_model, plain
from mbfmu.model.modelica.connections import connected, entries, equal, sets_of
from mbfmu.model.modelica.controls import Controls
from mbfmu.model.modelica.definitions import Definitions
from mbfmu.model.modelica.elements import AXIS, ELEMENTS, ModelicaComponent
from mbfmu.model.modelica.gravity_functions import gravity_field
from mbfmu.model.modelica.interface import Class
from mbfmu.model.modelica.library import CLASSES, GROUNDED, MULTIBODY, REFUSED, UNUSED
from mbfmu.model.modelica.one_dimensional import ADAPTORS
from mbfmu.model.modelica.planar_wheels import wheel
from mbfmu.model.modelica.ports import Ports
from mbfmu.model.modelica.scopes import Scopes
from mbfmu.model.modelica.signals import Signals, unlike
from mbfmu.model.modelica.starts import handed_down
from mbfmu.model.modelica.stubs import ACROSS, MADE_OF, TAG
from mbfmu.model.modelica.tables import refuse_tables
from mbfmu.model.modelica.values import Values, path_of
from mbfmu.model.parts import Body, FixedTranslation, World
from mbfmu.model.source import SourceText, read_bytes
from mbfmu.model.system import System
from mbfmu.model.system_data import Connection

MADE = {**ELEMENTS, **planar_elements.ELEMENTS, **wheels.ELEMENTS}
"""Function that makes the component, by the path of its class."""
BODY = re.compile(r"\.Parts\.(Body\w*|PointMass)$")
"""Paths of the classes that have mass."""
LARGEST = 1_000_000
"""Largest number of bytes of a file."""
MOST = 1_000_000
"""Largest number of numbers of the flat model."""


def read_modelica(path: Path, model: str = "") -> System:
    """Read a model of Modelica.Mechanics.MultiBody as a spatial system.

    One warning lists what was left out or decided.

    Args:
        path: path of the file.
        model: full name of the model in it; empty: the last one.

    Raises:
        UsageError: the compiler is not installed.
        ModelFileError: the file is missing, or is not such a model.
        ModelError: the model is invalid, or has what is not read; the message begins with file and line.
    """
    source = SourceText(str(path), path.parent)
    content = read_bytes(path, LARGEST)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise source.error(1, "not a text in UTF-8") from None
    if "\0" in text:
        raise source.error(1, "not a text: it has zero bytes")
    name, flat = flat_model(text, model, source)
    if (count := sum(math.prod(item["dims"]) for item in flat["variables"].values())) > MOST:
        raise source.error(1, ModelError(f"arrays of {count} numbers together: at most {MOST} are read"))
    flat_system = _Flat(source, plain(text, source), flat)
    try:
        system = flat_system.system(name)
    except RecursionError:
        raise source.error(
            flat_system.line, ModelError("parameters follow from each other in too long a row")
        ) from None
    except MbfmuError as error:
        if str(error).startswith(f"'{source.name}'"):
            raise
        raise source.error(flat_system.line, error) from None
    if flat_system.notices:
        warnings.warn(f"'{path}': {'; '.join(flat_system.notices)}", stacklevel=2)
    return system


class _Flat:
    """A flat model on its way to a system."""

    def __init__(self, source: SourceText, code: str, flat: dict[str, Any]) -> None:
        self.source, self.code, self.flat = source, code, flat
        self.variables: dict[str, Any] = flat["variables"]
        self.notices: list[str] = []
        self.line = 1
        self.in_plane = False
        self.torques: list[tuple[str, str]] = []
        self.driven: list[tuple[str, Value, str]] = []
        """Path, formula and unit of each input that equations of the model's own drive."""
        self.starts: dict[str, dict[str, tuple[str, Value]]] = {}
        self.kinds = {
            name.removesuffix(f".{TAG}"): item["binding"]["Literal"]["value"]["String"]
            for name, item in self.variables.items()
            if name.endswith(f".{TAG}")
        }
        made_of = {
            name.removesuffix(f".{MADE_OF}"): item["binding"]["Literal"]["value"]["String"]
            for name, item in self.variables.items()
            if name.endswith(f".{MADE_OF}")
        }
        self.made_of = made_of
        self.stubs = set(self.kinds)
        """Names of the components whose equations say nothing."""
        self.kinds = shortened(self.kinds, made_of, connected(flat, []))
        required = frozenset(
            f"{name}.{label}" for name, kind in self.kinds.items() for label in CLASSES[kind].parameters
        )
        self.definitions = Definitions(flat, self.stubs)
        self.variables = handed_down(self.variables, self.definitions, self.made_of, self.kinds)
        self.values = Values(self.variables, required, flat["functions"])
        self.values.defined = self.definitions.of
        self.scopes = Scopes(self.values, self.variables, self.notices)
        self.values.moves, self.values.rate_of = self.moves, self.definitions.rates.get
        self.ports = Ports(self.kinds, self.values, self.at)
        self.signals = Signals(flat, self.values, self.kinds)
        self.controls = Controls(self.values, self.definitions.rates)

    def at(self, name: str) -> None:
        """Keep the line at which a component or parameter is declared, for messages."""
        leaf = re.sub(r"\[.*", "", name.rpartition(".")[2])
        spot = re.search(rf"\b{re.escape(leaf)}\b", self.code)
        self.line = self.code.count("\n", 0, spot.start()) + 1 if spot else 1

    def system(self, name: str) -> System:
        """Return the model as a system.

        Raises:
            ModelError: it has what is not read.
        """
        self.refuse()
        flat = [key for key, kind in self.kinds.items() if kind == planar.WORLD]
        worlds = flat or [key for key, kind in self.kinds.items() if kind == f"{MULTIBODY}.World"]
        alone = not worlds and all(kind in KINDS or CLASSES[kind].heated for kind in self.kinds.values())
        if len(worlds) != 1 and not alone:
            message = f"a model has one {MULTIBODY}.World, not {len(worlds)}: declare 'inner {MULTIBODY}.World world;'"
            raise ModelError(message)
        world = "world_" if alone else worlds[0]
        in_plane = self.in_plane = alone or self.kinds[world] == planar.WORLD
        self.refuse_space(in_plane)
        self.refuse_starts()
        refuse_tables(self.values, self.made_of)
        # connected ends, over rigid flanges too, and what they do not allow
        rigid = (
            (key, (CLASSES[kind].flanges or CLASSES[kind].frames)[:2])
            for key, kind in self.kinds.items()
            if CLASSES[kind].rigid
        )
        sets = connected(self.flat, [(f"{key}.{a}", f"{key}.{b}") for key, (a, b) in rigid])
        self.ports.refuse(sets)
        self.ports.refuse_loose(sets)
        self.refuse_accelerations()
        carried = self.bearings(sets, world).carried()
        self.report_unused()
        # what the pose at the start decides
        if not alone:
            elements = self.elements()
            measure(StartPoses(elements, sets, world))
            guess_closed(elements, self.made_of, sets, world)
        # parameters under their own names, then components, which refer to them
        self.name_parameters()
        joined = {end: group for group in sets for end in group}
        self.controlled = frozenset(filter(self.is_controlled, self.kinds))
        self.chained = self.find_chains(joined)
        fixed = self.components(world, joined)
        if alone:
            self.scopes.of("").components.insert(0, World(world, g=0.0))
        fixed += self.chain(world, in_plane, carried)
        fixed += self.attract(world)
        self.parameters()
        # connections: of what is fixed, of what floats, and along each set from its first frame
        connections = [*fixed, *(() if alone else self.free_motions(sets, world))]
        for group in sets:
            ends = [end for end in group if self.ports.is_frame(end)]
            connections += [Connection(self.frame(ends[0]), self.frame(end)) for end in ends[1:]]
        connections += [Connection(*pair) for pair in self.torques]
        # start values on axes, drives and outputs
        self.begin()
        self.actuate()
        for path, value, unit in self.driven:
            self.at(path.rpartition(".")[0])
            self.controls.drive(path, value, unit)
        self.show_signals()
        # the whole system, and the routes of its signals
        system = self.scopes.built("", name.rpartition(".")[2], self.in_plane)
        taken = [item.name for item in (*system.components, *system.parameters)]
        routes = self.signals.routes(taken)
        controls = self.controls.built(unlike("controls", [*taken, *(item.name for item in routes.blocks)]))
        self.notices += self.controls.made.notices
        used = {name.rpartition(".")[0] for name in self.values.moving.values()} | self.warmed(joined)
        shows = [key for key, kind in self.kinds.items() if self.only_shows(key, kind, world) and key not in used]
        self.notices += [f"'{key}' is left out: it only shows or measures" for key in shows]
        return replace(
            system,
            connections=tuple(connections),
            description=self.flat["model_description"] or "",
            components=(*system.components, *routes.blocks, *controls.blocks),
            wires=(*routes.wires, *controls.wires),
            names={**routes.names, **controls.names},
            input_starts=routes.starts,
        )

    def elements(self) -> dict[str, ModelicaComponent]:
        """Return the components of the library with their names."""
        return {
            key: ModelicaComponent(key, kind, self.values, self.scopes.localized, self.notices)
            for key, kind in self.kinds.items()
        }

    def name_parameters(self) -> None:
        """Keep the parameters of the user's under their own names."""
        for key, item in self.variables.items():
            if self.is_parameter(key, item):
                self.at(key)
                self.values.named(path_of(key), self.values.of(key), [])
                self.values.own.update(dict.fromkeys(self.entries(path_of(key), self.values.of(key))))

    def components(self, world: str, joined: dict[str, list[str]]) -> list[Connection]:
        """Make the components of each scope from those of the library, and return the connections to what is fixed.

        Args:
            world: name of the world.
            joined: the set of connected ends that an end is in, by the end.
        """
        connections = []
        for key, kind in self.kinds.items():
            self.at(key)
            element = ModelicaComponent(key, kind, self.values, self.scopes.localized, self.notices)
            scope, _, leaf = path_of(key).rpartition(".")
            if self.only_shows(key, kind, world) or key in self.chained:
                continue
            if kind in AXIS:
                self.axis(element, joined)
                continue
            if kind == f"{MULTIBODY}.Parts.Fixed" or kind in GROUNDED:
                connections.append(Connection(f"{path_of(world)}.frame_b", f"{path_of(key)}.frame_a"))
            element.scope = scope
            near = (end.rpartition(".")[0] for end in joined.get(f"{key}.frame_a", ()))
            element.jointed = any(".Joints." in self.kinds.get(name, "") for name in near)
            if kind.startswith(planar.WHEELS):
                connections += self.wheel(element, f"{path_of(world)}.frame_b", joined)
                continue
            made = MADE[kind](element, leaf)
            self.scopes.of(scope).components.append(made)
            self.drive(element, made)
        return connections

    @staticmethod
    def only_shows(key: str, kind: str, world: str) -> bool:
        """Return whether a component only shows or measures, as a world of space does beside the world of the plane."""
        return CLASSES[kind].shows or (kind == f"{MULTIBODY}.World" and key != world)

    def warmed(self, joined: dict[str, list[str]]) -> set[str]:
        """Return the thermal parts that decide the temperature of a brake; joined: see `components`."""
        ports = (f"{name}.heatPort" for name, kind in self.kinds.items() if kind.rpartition(".")[2] in EDDY)
        return {end.rpartition(".")[0] for port in ports for end in joined.get(port, ())}

    def wheel(self, element: ModelicaComponent, world: str, joined: dict[str, list[str]]) -> list[Connection]:
        """Make the components of a wheel on the plane, and return their connections.

        Args:
            element: the wheel.
            world: path of the frame of the world.
            joined: the set of connected ends that an end is in, by the end.
        """
        near = (self.kinds.get(end.rpartition(".")[0], "") for end in joined.get(f"{element.name}.flange_a", ()))
        path = path_of(element.name)
        made, connections = wheel(element, path, world, any(kind.endswith(".Inertia") for kind in near))
        scope, _, leaf = path.rpartition(".")
        self.scopes.of(scope).components += made
        for port, _, unit in CLASSES[element.kind].inputs:
            given, load = f"{element.name}.{port}", f"{scope}.{leaf}_tyre.load".lstrip(".")
            if source := self.signals.source(given, unit):
                self.signals.drive(load, unit, source)
            elif (value := self.values.of(given)) != 0.0:
                self.signals.laws[load] = (unit, self.values.in_numbers(value))
        return connections

    def find_chains(self, joined: dict[str, list[str]]) -> set[str]:
        """Return the elements of chains: those that do not act between the axis of one joint and its support alone.

        Args:
            joined: the set of connected ends that an end is in, by the end.
        """
        elements = {key: kind for key, kind in self.kinds.items() if kind in KINDS}
        pairs: list[tuple[str, str]] = []
        for key, kind in elements.items():
            for flange in CLASSES[kind].flanges:
                ends = joined.get(f"{key}.{flange}", [])
                free = [end for end in ends if self.ports.held_at(end) is None]
                pairs += [(key, f"set {min(free)}")] if free else [(key, key)]
        chains: set[str] = set()
        for group in sets_of(pairs):
            names = [name for name in group if name in elements]
            around = [
                joined.get(f"{name}.{flange}", []) for name in names for flange in CLASSES[elements[name]].flanges
            ]
            axes = {end for item in around for end in item if self.ports.is_axis(end)}
            lone = all(any(map(self.ports.is_axis, item)) or self.is_held(item) for item in around)
            known = all(elements[name] in AXIS or CLASSES[elements[name]].shows for name in names)
            if not (known and lone and len(axes) == 1) or self.is_measured():
                chains.update(names)
        return chains

    def is_measured(self) -> bool:
        """Return whether equations of the model's own depend on what moves between flanges."""
        shown = (end for name in self.signals.outputs for end in entries(self.flat, name))
        reached = (name for end in shown for name in self.definitions.reach(end, self.moves))
        between = any(self.kinds.get(name.rpartition(".")[0]) in KINDS for name in reached)
        return bool(self.controlled or self.definitions.rates or between)

    def is_held(self, group: list[str]) -> bool:
        """Return whether a set of flanges is held at 0."""
        return {0.0} == {item for end in group if (item := self.ports.held_at(end)) is not None}

    def chain(self, world: str, planar: bool, carried: dict[str, tuple[str, tuple[float, ...]]]) -> list[Connection]:
        """Make the joints, couplings and forces of chains, and return the connections of the joints.

        Args:
            world: name of the world.
            planar: whether there is nothing but chains, which are then in the plane.
            carried: housing and axis of each inertia of a rotor on a frame that moves.
        """
        if not self.chained:
            return []
        elements = {
            key: ModelicaComponent(key, kind, self.values, self.scopes.localized, self.notices)
            for key, kind in self.kinds.items()
            if key in self.chained or (CLASSES[kind].shows and kind in KINDS)
        }
        across = None
        if not planar:
            n = ModelicaComponent(world, self.kinds[world], self.values, self.scopes.localized, self.notices).numbers(
                "n"
            )
            across = across_of(n)
        chains = Chains(
            elements, self.ports, self.signals, connected(self.flat, []), self.at, across,
            f"{path_of(world)}.frame_b", self.controlled, carried,
        )  # fmt: skip
        made = chains.build()
        self.controls.along = chains.along
        self.driven += [(path, self.values.of(source), "1") for path, source in made.drives.items()]
        for scope, component in (*chains.joints(), *made.components):
            self.scopes.of(scope).components.append(component)
        for (path, label), value in chains.begins.items():
            if path not in made.joints:
                self.starts.setdefault(path, {}).setdefault(label, (path, value))
        return made.connections

    def attract(self, world: str) -> list[Connection]:
        """Make what attracts each mass, if the world has the gravity of a point, and return its connections."""
        if self.kinds.get(world) != f"{MULTIBODY}.World":
            return []
        field = gravity_field(self.flat, self.values, world)
        if field is None and self.values.of(f"{world}.gravityType") != "PointGravity":
            return []
        connections, mu = [], self.values.number(self.values.of(f"{world}.mu"))
        laws = dict(zip(("g_x", "g_y", "g_z"), field or (), strict=False))
        top = self.scopes.of("").components
        top[:] = [replace(item, g=0.0) if isinstance(item, World) else item for item in top]
        for scope, here in list(self.scopes.held.items()):
            for item in [item for item in here.components if isinstance(item, Body)]:
                home, name = f"{scope}.{item.name}".lstrip("."), f"{item.name}_attracted"
                centre = FixedTranslation(f"{item.name}_centre", r=item.r_CM)
                here.components.append(centre)
                connections += [
                    Connection(f"{home}.frame_a", f"{home}_centre.frame_a"),
                    Connection(f"{home}_centre.frame_b", f"{home}_attracted.frame_b"),
                ]
                if field is None:
                    here.components.append(PointGravity(name, mu=mu, m=item.m))
                    connections.append(Connection(f"{path_of(world)}.frame_b", f"{home}_attracted.frame_a"))
                else:
                    here.components.append(GravityField(name, m=item.m, **laws))
        return connections

    def parameters(self) -> None:
        """Make the parameters of each scope, and add the notices of those without a value."""
        for path in list(self.values.own):
            self.scopes.parameter(path)
        for item in dict.fromkeys(self.values.held):
            self.notices.append(f"'{item}' is called with numbers, whatever its parameters become")
        for item in dict.fromkeys(self.values.without):
            if self.owner(item) is None:
                self.notices.append(f"'{item}' has no value: its start value is taken")

    def free_motions(self, sets: list[list[str]], world: str) -> list[Connection]:
        """Make a free joint for what hangs on nothing, and return its connections.

        Args:
            sets: the sets of connected ends.
            world: name of the world.
        """
        connections = []
        for key, *others in self.floating(sets, world):
            joint = f"{path_of(key).replace('.', '_')}_free"
            self.scopes.of("").components.append(FreeMotion(joint))
            connections += [
                Connection(f"{path_of(world)}.frame_b", f"{joint}.frame_a"),
                Connection(f"{joint}.frame_b", f"{path_of(key)}.frame_a"),
            ]
            if not others and self.kinds[key].endswith(".PointMass"):
                self.turn_freely(path_of(key))
        return connections

    def show_signals(self) -> None:
        """Make the variables that outputs show, and add the notices of inputs that are connected to nothing."""
        for output in self.signals.outputs:
            self.at(output)
            self.notices += self.signals.show(output, self.controls)
        for entry in self.signals.unused():
            self.notices.append(f"the input '{entry}' is left out: it is connected to nothing")

    def report_unused(self) -> None:
        """Add the notices of parameters that are given, but that something else decides here."""
        for name, label in ((name, label) for name in self.kinds for label in UNUSED):
            value = (self.variables.get(f"{name}.{label}") or {}).get("binding")
            if value and (UNUSED[label] != "Boolean" or self.values.number(self.values.of(f"{name}.{label}"))):
                self.notices.append(f"'{name}.{label}' is left out: it has no effect here")

    def owner(self, name: str) -> str | None:
        """Return the component of the library that a variable belongs to; None if it is the user's own."""
        parts = name.split(".")
        paths = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((path for path in paths if path in self.kinds or path in self.made_of), None)

    def is_parameter(self, name: str, item: Any) -> bool:
        """Return whether a variable is a parameter of the user's that numbers depend on."""
        return (
            isinstance(item["variability"], dict)
            and "Parameter" in item["variability"]
            and self.flat["variable_type_names"].get(name) not in {"Boolean", "Integer", "String"}
            and (item["binding"] is None or not _is_text(item["binding"]))
            and self.owner(name) is None
        )

    def entries(self, path: str, value: Any) -> Iterable[str]:
        """Yield the names of the scalars of a value."""
        if not isinstance(value, list):
            if path in self.values.texts:
                yield path
            return
        for index, entry in enumerate(value, 1):
            yield from self.entries(f"{path}_{index}", entry)

    def refuse(self) -> None:
        """Raise an error if the model has equations that are not read."""
        for part in ("algorithms", "initial_equations", "initial_algorithms", "when_chains"):
            if self.flat[part]:
                raise ModelError(f"{part.replace('_', ' ')} are not read: only components and connect(...) are")
        if self.flat["assert_equations"]:
            self.notices.append("assertions are left out")
        loops = [item for item in self.flat["structured_equations"] if item.get("first_equation_index") is None]
        for item in (*self.flat["equations"], *loops):
            stated = item["origin"].get("ComponentEquation") if isinstance(item["origin"], dict) else None
            known = isinstance(item["origin"], dict) and set(item["origin"]) & {
                "Connection", "FlowSum", "UnconnectedFlow"
            }  # fmt: skip
            # a template repeats equations that stand elsewhere one by one
            owned = self.stubs | (self.made_of.keys() if "template" in item else set())
            inside = stated and stated["component"] in owned
            if not known and not inside and not self.definitions.reads(item) and not self.signals.is_read(equal(item)):
                where = (stated or {}).get("component") or "the model"
                spot = re.search(r"^\s*equation\b", self.code, re.MULTILINE)
                self.line = self.code.count("\n", 0, spot.end()) + 1 if spot else 1
                raise ModelError(
                    f"equations of '{where}' are not read: only components, connect(...) and those of a variable of "
                    "the model's own, y = hinge.phi or y = 2*sin(time), are"
                )
        for name, item in self.variables.items():
            inner = self.owner(name)
            if (
                item["variability"] == "Empty"
                and item["binding"] is None
                and inner is None
                and f"{name.rpartition('.')[0]}.{ACROSS}" not in self.variables
                and not any(self.is_of_adaptor(end) for end in self.signals.sets.get(name, ()))
                and not self.signals.is_signal(name)
                and not any(map(self.definitions.is_known, entries(self.flat, name)))
            ):
                raise ModelError(f"the variable '{name}' is not read: only components and parameters are")

    def is_of_adaptor(self, end: str) -> bool:
        """Return whether a signal is one of an adaptor between flanges and signals."""
        return self.kinds.get(end.rpartition(".")[0]) in ADAPTORS

    def refuse_accelerations(self) -> None:
        """Raise an error if the start of an acceleration is fixed."""
        for name, kind in self.kinds.items():
            fixed = [
                label
                for label, _ in CLASSES[kind].accelerations
                if any(self.variables[f"{name}.{label}"]["fixed"] or [])
            ]
            fixed += [
                label
                for label in REFUSED
                if f"{name}.{label}" in self.variables and self.values.number(self.values.of(f"{name}.{label}"))
            ]
            if fixed:
                self.at(name)
                how = f"{fixed[0]}=true" if fixed[0] in REFUSED else "fixed=true"
                raise ModelError(
                    f"the start of '{name}.{fixed[0].removesuffix('_fixed')}' is fixed, but accelerations follow from "
                    f"positions and rates: leave '{how}' out there"
                )

    def bearings(self, sets: list[list[str]], world: str) -> Bearings:
        """Return what carries the torques of drive trains.

        Raises:
            ModelError: it is not the frame of the rotor that they act on.
        """
        every = self.elements()
        parts = {key: item for key, item in every.items() if CLASSES[item.kind].frames}
        frames = [[end for end in group if self.ports.is_frame(end)] for group in sets]
        elements = {key: item for key, item in every.items() if item.kind in KINDS and not CLASSES[item.kind].shows}
        bearings = Bearings(parts, elements, frames, connected(self.flat, []), world)
        if bearings.moving:
            self.at(min(bearings.moving).rpartition(".")[0])
            bearings.check()
        return bearings

    def floating(self, sets: list[list[str]], world: str) -> list[list[str]]:
        """Return the groups of bodies and joints that do not hang on the world; each begins with a body."""
        near: dict[str, set[str]] = {name: set() for name, kind in self.kinds.items() if self.holds(kind)}
        for group in sets:
            names = {end.rpartition(".")[0] for end in group if self.ports.is_frame(end)} & set(near)
            for name in names:
                near[name] |= names
        for name in near:
            if self.kinds[name] == f"{MULTIBODY}.Parts.Fixed" or self.kinds[name] in GROUNDED:
                near[world].add(name)
        groups: list[list[str]] = []
        seen: set[str] = set()
        for first in (world, *(name for name in near if BODY.search(self.kinds[name]))):
            group, todo = [], [first]
            while todo:
                name = todo.pop()
                if name not in seen:
                    seen.add(name)
                    group.append(name)
                    todo += near[name]
            if group:
                groups.append(group)
        return groups[1:]

    @staticmethod
    def holds(kind: str) -> bool:
        """Return whether a component of a class holds its frames to each other."""
        return ".Forces." not in kind and not CLASSES[kind].force

    def frame(self, end: str) -> str:
        """Return the path of the frame that a connector of frames is here."""
        name, _, port = end.rpartition(".")
        if placed := planar.PLACED.get(self.kinds[name]):
            return f"{path_of(name)}{'_' if '.' in placed else '.'}{placed}"
        return f"{path_of(name)}.{'frame_b' if GROUNDED.get(self.kinds[name]) == port else port}"

    def refuse_starts(self) -> None:
        """Raise an error if a class that consists of others has a start value other than 0 that is fixed."""
        for name, item in self.variables.items():
            inner = self.owner(name) or ""
            fixed = inner in self.made_of and item["variability"] == "Empty" and any(item["fixed"] or [])
            if fixed and self.values.number(self.values.of(name, "start")):
                self.at(inner)
                raise ModelError(f"the start of '{name}' is not read: give that of the joints inside")

    def refuse_space(self, in_plane: bool) -> None:
        """Raise an error if components of MultiBody and of PlanarMechanics are in one model."""
        prefix = f"{MULTIBODY}." if in_plane else f"{planar.LIBRARY}."
        for name, kind in self.kinds.items():
            if kind.startswith(prefix) and kind != f"{MULTIBODY}.World":  # one in which nothing is
                self.at(name)
                raise ModelError(f"'{name}' is a {kind}: a model is in the plane or in space, not both")

    def turn_freely(self, path: str) -> None:
        """Give a point mass that flies an inertia: it does not turn, as forces act on its centre alone."""
        scope, _, leaf = path.rpartition(".")
        here = self.scopes.of(scope).components
        here[:] = [replace(item, I_11=1.0, I_22=1.0, I_33=1.0) if item.name == leaf else item for item in here]

    def axis(self, element: ModelicaComponent, joined: dict[str, list[str]]) -> None:
        """Add what acts between the axis of a joint and its support.

        Raises:
            ModelError: its flanges are connected otherwise.
        """
        if not CLASSES[element.kind].flanges or element.kind.endswith("Components.Fixed"):
            return
        item = CLASSES[element.kind]
        flanges = item.flanges[:1] if item.rigid else item.flanges
        ends = [joined.get(f"{element.name}.{flange}", []) for flange in flanges]
        axes = [[end.rpartition(".")[0] for end in group if self.ports.is_axis(end)] for group in ends]
        position = next((position for position, axis_ends in enumerate(axes) if axis_ends), None)
        if position is None or len(axes[position]) != 1:
            raise ModelError(f"'{element.name}' is connected to no axis flange of a joint: it acts on one joint's axis")
        joint = axes[position][0]
        if len(ends) == 2 and not any(self.ports.held_at(end) == 0 for end in ends[1 - position]):
            message = f"'{element.name}' must act between '{joint}.axis' and '{joint}.support', or a fixed flange"
            raise ModelError(message)
        self.refuse_support(element, joined)
        scope, _, leaf = path_of(joint).rpartition(".")
        owner_path, _, name = path_of(element.name).rpartition(".")
        name = name if owner_path == scope else path_of(element.name).replace(".", "_")
        element.scope = scope
        for effort, _, unit in item.inputs:
            if source := self.signals.source(f"{element.name}.{effort}", unit):
                self.signals.drive(f"{path_of(joint)}.{effort}", unit, source)
                return
        for label, value in element.starts(*(label for label, _ in item.states)).items():
            if value is not None:
                self.starts.setdefault(path_of(joint), {})[label] = (element.name, value)
        for made in AXIS[element.kind](element, name, leaf, 1.0 if position == len(ends) - 1 else -1.0):
            self.scopes.of(scope).components.append(made)

    def refuse_support(self, element: ModelicaComponent, joined: dict[str, list[str]]) -> None:
        """Raise an error if the support of a torque or force can move."""
        if CLASSES[element.kind].support and element.flag("useSupport"):
            ends = joined.get(f"{element.name}.support", [])
            if all(self.ports.held_at(end) is None for end in ends):
                raise ModelError(
                    f"'{element.name}.support' must be connected to the support of a joint or a fixed flange"
                )

    def drive(self, element: ModelicaComponent, made: Component) -> None:
        """Keep which inputs of the model drive a force on a frame.

        A force of PlanarMechanics has its torque as a third entry, for which it gets a torque beside it.
        """
        home = path_of(element.name)
        for port, size, unit in CLASSES[element.kind].inputs:
            for index in range(1, size + 1):
                (target,) = made.inputs(False)
                path, given = f"{home}.{target.name}[{index}]", f"{element.name}.{port}[{index}]"
                if element.kind in planar.FORCES and index == 3:
                    path, unit = f"{home}_torque.t", "N.m"
                if source := self.signals.source(given, unit):
                    self.signals.drive(path, unit, source)
                elif (value := self.values.of(f"{element.name}.{port}")[index - 1]) != 0.0:
                    if element.name in self.controlled:
                        self.driven.append((path, value, unit))
                    else:
                        self.signals.laws[path] = (unit, self.values.in_numbers(value))
                else:
                    continue
                if path.endswith("_torque.t"):
                    scope, _, leaf = home.rpartition(".")
                    self.scopes.of(scope).components.append(WorldTorque(f"{leaf}_torque"))
                    self.torques.append((f"{home}_torque.frame_b", f"{home}.frame_b"))

    def begin(self) -> None:
        """Give the joints the start values that inertias on their axes have.

        Raises:
            ModelError: both have one.
        """
        for path, starts in self.starts.items():
            scope, _, leaf = path.rpartition(".")
            here = self.scopes.of(scope).components
            index = next(index for index, item in enumerate(here) if item.name == leaf)
            for label, (name, value) in starts.items():
                if getattr(here[index], label) is not None:
                    self.at(name)
                    raise ModelError(f"'{name}.{label}' and '{path}.{label}' both have a start: leave one out")
                here[index] = replace(here[index], **{label: value})

    def actuate(self) -> None:
        """Give the joints that inputs drive an effort from outside."""
        driven = {path.rpartition(".")[0] for path in self.signals.driven}
        for path, here in self.scopes.held.items():
            here.components[:] = [
                replace(item, actuated=True)
                if isinstance(item, Joint) and f"{path}.{item.name}".lstrip(".") in driven
                else item
                for item in here.components
            ]

    def moves(self, name: str) -> str:
        """Return the state, coordinate, velocity or acceleration that a variable is or is connected to; empty: none."""
        return next(filter(self.is_moving, (name, *self.definitions.equal.get(name, ()))), "")

    def is_moving(self, name: str) -> bool:
        """Return whether a variable is a state, or a coordinate, velocity or acceleration of joints or flanges."""
        owner, _, label = name.rpartition(".")
        kind = self.kinds.get(owner, "")
        item = CLASSES.get(kind, Class())
        if name in self.definitions.rates or (kind in KINDS and item.shows and label in item.outputs):
            return True
        return (".Joints." in kind or kind in KINDS) and (label, 1) in (*item.states, *item.accelerations)

    def is_controlled(self, key: str) -> bool:
        """Return whether an input of a component depends on states, or on what moves elsewhere."""
        own = {f"{key}.{label}" for label, _ in CLASSES[self.kinds[key]].states}
        for port, size, _ in CLASSES[self.kinds[key]].inputs:
            ends = [f"{key}.{port}"] if size == 1 else [f"{key}.{port}[{index}]" for index in range(1, size + 1)]
            if any(self.definitions.reach(end, self.moves) - own for end in ends):
                return True
        return False


def across_of(n: Any) -> tuple[float, ...]:
    """Return a direction normal to that of gravity, with length 1; n: shape (3,)."""
    axis = min(range(3), key=lambda index: abs(n[index]))
    e = [float(index == axis) for index in range(3)]
    shift = [a - float(n[axis]) * float(b) for a, b in zip(e, n, strict=True)]
    length = math.hypot(*shift)
    return tuple(item / length for item in shift)


def _is_text(tree: Any) -> bool:
    return "Literal" in tree and "String" in tree["Literal"]["value"]
