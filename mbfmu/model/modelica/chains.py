"""Chains of flanges: inertias, gears, springs and clutches of Rotational and Translational, by the axes that move.

Flanges that are connected, or that a rigid element joins, have one coordinate but for a shift. A coordinate is the axis
of a joint of MultiBody, or of a joint that is made for the inertias there; where there is no mass, the gears give it as
a combination of others. Every element then acts along a combination of axes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from mbfmu.errors import ModelError
from mbfmu.model.component import Component, Value
from mbfmu.model.couplings import AxisMotion, PolynomialCoupling
from mbfmu.model.forces import AffineDrive, RotationalRotor, TranslationalRotor
from mbfmu.model.joints import Prismatic, Revolute
from mbfmu.model.modelica.chain_elements import EDDY, adaptor_pairs, axis_of, eddy_brake, lossy_gear
from mbfmu.model.modelica.chain_laws import LAWS, LINKS, MASSES, MOTIONS, ON_MASSES, RIGID, Combination, losses
from mbfmu.model.modelica.chain_starts import Known, Starts
from mbfmu.model.modelica.elements import ModelicaComponent
from mbfmu.model.modelica.filters import filtered
from mbfmu.model.modelica.library import CLASSES
from mbfmu.model.modelica.linear import LinearForm, added, inverse, times
from mbfmu.model.modelica.ports import Ports
from mbfmu.model.modelica.signals import Signals
from mbfmu.model.modelica.stubs import MADE_OF
from mbfmu.model.modelica.values import path_of
from mbfmu.model.parts import Body
from mbfmu.model.rotors import CarriedRotor
from mbfmu.model.system_data import Connection

GROUND = ""
"""Root of the flanges that are held."""
KINDS = frozenset(
    path for path in CLASSES if path.startswith(("Modelica.Mechanics.Rotational.", "Modelica.Mechanics.Translational."))
)
"""Classes that chains consist of."""
RATE_OF = {"phi": "w", "s": "v"}
"""Name of the velocity of each coordinate."""
EFFORTS = frozenset({"Torque", "Torque2", "Force", "Force2"})
"""Classes whose effort is an input."""


class Shifted:
    """Sets of flanges that move as one, each with a shift from the first of its set."""

    def __init__(self) -> None:
        self.parent: dict[str, tuple[str, Value]] = {}

    def root(self, end: str) -> tuple[str, Value]:
        """Return the first flange of the set of one, and the coordinate of the latter where that of the former is 0."""
        shift: Value = 0.0
        while end in self.parent:
            end, more = self.parent[end]
            shift = added(shift, more)
        return end, shift

    def join(self, a: str, b: str, shift: Value) -> None:
        """Connect two flanges: the coordinate of b is that of a and a shift."""
        (one, of_a), (other, of_b) = self.root(a), self.root(b)
        if one == other:
            return
        between = added(added(of_a, shift), of_b, -1.0)  # coordinate of the other root, less that of the one
        if other == GROUND:
            self.parent[one] = (other, times(-1.0, between))
        else:
            self.parent[other] = (one, between)


@dataclass
class Made:
    """Components and connections that chains become.

    Args:
        components: components, each with the path of its system.
        connections: connections of the whole system.
        joints: the joints among the components, by path, which start values may change.
        drives: path and source of the input of each drive that equations of the model's own drive.
    """

    components: list[tuple[str, Component]] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    joints: dict[str, Any] = field(default_factory=dict)
    drives: dict[str, str] = field(default_factory=dict)


class Chains:
    """The chains of a flat model.

    Args:
        elements: its elements of chains, by name.
        ports: its flanges.
        signals: its inputs and outputs.
        sets: the sets of flanges that are connected.
        at: function that keeps where an element is declared, for messages.
        across: direction of the motion of masses, normal to gravity; None in the plane.
        world: path of the frame that joints are made on.
        controlled: names of the elements whose force or torque depends on states, or on what moves elsewhere.
        carried: housing and axis of each inertia of a rotor on a frame that moves.
    """

    def __init__(
        self,
        elements: dict[str, ModelicaComponent],
        ports: Ports,
        signals: Signals,
        sets: Iterable[list[str]],
        at: Callable[[str], None],
        across: tuple[float, ...] | None,
        world: str,
        controlled: frozenset[str] = frozenset(),
        carried: Mapping[str, tuple[str, tuple[float, ...]]] = MappingProxyType({}),
    ) -> None:
        self.signals, self.controlled = signals, controlled
        self.elements, self.ports, self.at, self.across, self.world = elements, ports, at, across, world
        self.carried = carried
        self.made = Made()
        self.flanges = Shifted()
        self.axes: dict[str, tuple[str, Value]] = {}
        """Joint whose axis a set of flanges is, by its first flange, whose coordinate is the joint's and a shift."""
        self.solved: dict[str, LinearForm] = {}
        """Coordinates of flanges that move no mass, in terms of others, by the first flange of their set."""
        self.starts = Starts()
        self.begins: Known = {}
        """Start values of the joints."""
        self.sets = list(sets)
        for group in self.sets:
            for end in group[1:]:
                if not self.ports.is_frame(end):
                    self.flanges.join(group[0], end, 0.0)

    def build(self) -> Made:
        """Return what the chains become.

        Raises:
            ModelError: an element is where it cannot be read.
        """
        self.join_rigid()
        self.find_axes()
        self.solve_links()
        for name, element in self.elements.items():
            self.at(name)
            self.emit(element)
        self.begins = self.starts.decided(self.resolved, self.at)
        return self.made

    def kind(self, name: str) -> str:
        """Return the name of the class of an element."""
        return self.elements[name].kind.rpartition(".")[2]

    def join_rigid(self) -> None:
        """Connect the flanges of rigid elements and of adaptors, and those that are held to the ground."""
        for one, other in adaptor_pairs(self.elements, self.signals.sets):
            self.flanges.join(f"{one.name}.flange", f"{other.name}.flange", 0.0)
        for name, element in self.elements.items():
            kind = self.kind(name)
            if kind == "Fixed":
                label = "phi0" if "Rotational" in element.kind else "s0"
                self.flanges.join(GROUND, f"{name}.flange", element.full(label))
            if not CLASSES[element.kind].rigid:
                continue
            length: Value = element.full(RIGID[kind]) if kind in RIGID else 0.0
            self.flanges.join(f"{name}.flange_a", f"{name}.flange_b", length)
            if kind in MASSES:
                self.flanges.join(f"{name}.flange_a", f"{name}.centre", times(0.5, length))
        for joint, kind in self.ports.kinds.items():
            if CLASSES[kind].axis:
                self.flanges.join(GROUND, f"{joint}.support", 0.0)

    def find_axes(self) -> None:
        """Make a joint for each set of flanges that has a mass or a given motion and no joint's axis."""
        for joint, kind in self.ports.kinds.items():
            if CLASSES[kind].axis:
                root, shift = self.flanges.root(f"{joint}.{CLASSES[kind].axis_port}")
                if root == GROUND:
                    continue
                if root in self.axes:
                    self.couple(joint, times(-1.0, shift), *self.axes[root])
                else:
                    self.axes[root] = (path_of(joint), times(-1.0, shift))
        for name, element in self.elements.items():
            kind = self.kind(name)
            if kind in MASSES and element.full(MASSES[kind]) == 0.0:  # a shaft or rod without mass
                self.starts.keep(element, self.coordinate(f"{name}.centre"))
                continue
            end = f"{name}.centre" if kind in MASSES else f"{name}.flange" if kind in MOTIONS else ""
            root, shift = self.flanges.root(end)
            if not end or root == GROUND:
                continue
            self.at(name)
            if root not in self.axes:
                self.axes[root] = (path_of(name), times(-1.0, shift))
                self.make_joint(element, kind)
            elif kind in MASSES and name not in self.carried:
                self.add_mass(element, self.axes[root][0])
            if kind in MASSES:
                self.starts.keep(element, self.coordinate(f"{name}.centre"))

    def couple(self, joint: str, shift: Value, other: str, offset: Value) -> None:
        """Couple the axes of two joints on one flange.

        Args:
            joint: name of the first joint.
            shift: coordinate of the flange where this joint is at 0.
            other: path of the second joint.
            offset: coordinate of the flange where the second is at 0.
        """
        path = path_of(joint)
        scope = ".".join(
            one for one, two in zip(path.split(".")[:-1], other.split(".")[:-1], strict=False) if one == two
        )
        self.made.components.append(
            (
                scope,
                PolynomialCoupling(
                    f"{self.within(scope, path)}_coupled".replace(".", "_"),
                    joints_a=(self.within(scope, path),),
                    ratios_a=(1.0,),
                    joints_b=(self.within(scope, other),),
                    ratios_b=(1.0,),
                    c_0=added(offset, shift, -1.0),
                ),
            )
        )

    def make_joint(self, element: ModelicaComponent, kind: str) -> None:
        """Make the joint of an axis, and the body that it carries."""
        scope, _, leaf = path_of(element.name).rpartition(".")
        element.scope = scope
        turns = "Rotational" in element.kind
        inertia: Value = element.value(MASSES[kind]) if kind in MASSES else 1.0
        joint: Any
        path = path_of(element.name)
        if element.name in self.carried:
            housing, n = self.carried[element.name]
            root, _ = self.flanges.root(f"{element.name}.centre")
            for name in self.carried:  # rotors on one shaft stand on one frame
                if name != element.name and self.flanges.root(f"{name}.centre")[0] == root:
                    inertia = added(inertia, element.local(self.elements[name].full("J")))
            self.made.joints[path] = CarriedRotor(leaf, J=inertia, n=n)
            self.made.connections.append(Connection(f"{path_of(housing)}.frame_a", f"{path}.frame_a"))
            return
        if self.across is None:
            joint = Revolute(leaf) if turns else Prismatic(leaf, n=(1.0, 0.0, 0.0))
        else:
            joint = (Revolute if turns else Prismatic)(leaf, n=self.across)
        if not turns:
            body = Body(f"{leaf}_body", m=inertia)
        elif self.across is None:
            body = Body(f"{leaf}_body", m=0.0, I_33=inertia)
        else:
            body = Body(f"{leaf}_body", m=0.0, I_11=inertia, I_22=inertia, I_33=inertia)
        self.made.joints[path] = joint
        self.made.components.append((scope, body))
        self.made.connections += [
            Connection(self.world, f"{path}.frame_a"),
            Connection(f"{path}.frame_b", f"{path}_body.frame_a"),
        ]

    def add_mass(self, element: ModelicaComponent, joint: str) -> None:
        """Add a mass to the axis of a joint that is there; joint: its path."""
        scope, name = self.placed(element, [joint])
        rotor: Any = RotationalRotor if "Rotational" in element.kind else TranslationalRotor
        more = {} if rotor is RotationalRotor else {"ratio": 1.0}
        self.made.components.append(
            (
                scope,
                rotor(name, joint=self.within(scope, joint), J=element.value(MASSES[self.kind(element.name)]), **more),
            )
        )

    def coordinate(self, end: str) -> LinearForm:
        """Return the coordinate of a flange: of sets of flanges that no axis has, by their first ones."""
        root, shift = self.flanges.root(end)
        if root == GROUND:
            return LinearForm({}, shift)
        if root in self.axes:
            joint, offset = self.axes[root]
            return LinearForm({joint: 1.0}, added(shift, offset))
        if root in self.solved:
            return self.solved[root].plus(LinearForm({}, shift))
        return LinearForm({f" {root}": 1.0}, shift)

    def resolved(self, item: LinearForm) -> LinearForm:
        """Return a combination in which flanges that move no mass are replaced by what gears make them."""
        while True:
            name = next((name for name in item.terms if name.startswith(" ") and name[1:] in self.solved), None)
            if name is None:
                return item
            rest = LinearForm({key: value for key, value in item.terms.items() if key != name}, item.constant)
            item = rest.plus(self.solved[name[1:]], item.terms[name])

    def solve_links(self) -> None:
        """Put what gears make of flanges without mass in place of these, or couple the axes of a gear."""
        couplings = []
        for name, element in self.elements.items():
            kind = self.kind(name)
            if kind not in LINKS:
                continue
            self.at(name)
            total = LinearForm({}, 0.0)
            for port, factor in LINKS[kind](element):
                if port != "support" or element.flag("useSupport"):
                    total = total.plus(self.coordinate(f"{name}.{port}"), factor)
            total = self.resolved(total)
            free = next((term for term in total.terms if term.startswith(" ")), None)
            if free is None:
                couplings.append((element, total))
                continue
            factor = total.terms.pop(free)
            self.solved[free[1:]] = total.times(times(-1.0, inverse(factor)))
        for element, total in couplings:
            total = self.resolved(total)
            if not total.terms:
                continue
            self.starts.coupled.append(total)
            scope, name = self.placed(element, list(total.terms))
            first, *others = (
                (self.within(scope, joint), element.local(factor)) for joint, factor in total.terms.items()
            )
            self.made.components.append(
                (
                    scope,
                    PolynomialCoupling(
                        name,
                        joints_a=(first[0],),
                        ratios_a=(first[1],),
                        joints_b=tuple(joint for joint, _ in others),
                        ratios_b=tuple(times(-1.0, factor) for _, factor in others),
                        c_0=times(-1.0, element.local(total.constant)),
                    ),
                )
            )

    @staticmethod
    def within(scope: str, path: str) -> str:
        """Return a path as a component of a system names it; what is not in the system keeps its path."""
        return path.removeprefix(f"{scope}.") if scope else path

    def placed(self, element: ModelicaComponent, joints: list[str]) -> tuple[str, str]:
        """Return the system that has all of some joints, and the name there of what acts on them."""
        owners = [path.split(".")[:-1] for path in joints]
        scope = ".".join(parts[0] for parts in zip(*owners, strict=False) if len(set(parts)) == 1) if owners else ""
        path = path_of(element.name)
        element.scope = scope
        return scope, self.within(scope, path).replace(".", "_")

    def combination(self, element: ModelicaComponent, ends: dict[str, float]) -> Combination | None:
        """Return the combination of axes that an element acts along, None if nothing moves.

        Raises:
            ModelError: it acts on a flange that moves no mass.
        """
        total = LinearForm({}, 0.0)
        for port, factor in ends.items():
            total = total.plus(self.coordinate(f"{element.name}.{port}"), factor)
        total = self.resolved(total)
        free = next((term[1:] for term in total.terms if term.startswith(" ")), None)
        if free is not None:
            raise ModelError(
                f"'{free}', on which '{element.name}' acts, moves no mass, so that nothing decides its motion: connect "
                "an inertia or a mass there"
            )
        if not total.terms:
            return None
        scope, name = self.placed(element, list(total.terms))
        return Combination(
            scope,
            name,
            tuple(self.within(scope, joint) for joint in total.terms),
            tuple(map(element.local, total.terms.values())),
            element.local(total.constant),
        )

    def emit(self, element: ModelicaComponent) -> None:
        """Make what an element does along its combination of axes."""
        kind = self.kind(element.name)
        if kind in MOTIONS:
            along = self.combination(element, self.ends(element))
            if along is None or along.ratios != (1.0,):
                raise ModelError(f"'{element.name}' must move one flange relative to the ground")
            formula = added(self.motion(element, kind), along.offset, -1.0)
            self.made.components.append(
                (along.scope, AxisMotion(f"{along.name}_motion", joint=along.joints[0], s=formula))
            )
        elif kind in ON_MASSES:
            along = self.combination(element, {"centre": 1.0})
            if along is not None:
                self.made.components += [(along.scope, item) for item in ON_MASSES[kind](element, along)]
        elif kind == "LossyGear":
            self.lose(element)
        elif kind in EDDY:
            along = self.combination(element, self.ends(element))
            if along is not None:
                self.made.components += [
                    (along.scope, item) for item in eddy_brake(element, along, self.heated(element.name))
                ]
        elif kind in LAWS:
            along = self.combination(element, self.ends(element))
            if along is not None and kind in {*EFFORTS, "Effort"} and element.name in self.controlled:
                drive = AffineDrive(along.name, joints=along.joints, ratios=along.ratios)
                self.made.components.append((along.scope, drive))
                self.made.drives[f"{along.scope}.{along.name}.u".lstrip(".")] = self.port(element)[0]
            elif along is not None and kind in EFFORTS and (source := self.signals.source(*self.port(element))):
                drive = AffineDrive(along.name, joints=along.joints, ratios=along.ratios)
                self.made.components.append((along.scope, drive))
                path = f"{along.scope}.{along.name}.u" if along.scope else f"{along.name}.u"
                self.signals.drive(path, CLASSES[element.kind].inputs[0][2], source)
            elif along is not None:
                self.made.components += [(along.scope, item) for item in LAWS[kind](element, along)]
        if CLASSES[element.kind].flanges[:2] == ("flange_a", "flange_b") and not CLASSES[element.kind].rigid:
            a, b = (self.coordinate(f"{element.name}.{end}") for end in ("flange_a", "flange_b"))
            self.starts.keep(element, b.plus(a, -1.0))

    def heated(self, name: str) -> list[ModelicaComponent]:
        """Return the elements that the heat port of an element is connected to; name: its own."""
        group = next((group for group in self.sets if f"{name}.heatPort" in group), [])
        owners = (end.rpartition(".")[0] for end in group)
        return [
            ModelicaComponent(other, self.ports.kinds[other], element.values, element.localized, element.notices)
            for other, element in ((other, self.elements[name]) for other in owners)
            if other != name
        ]

    def lose(self, element: ModelicaComponent) -> None:
        """Make a gear with losses between two axes; one without losses couples coordinates elsewhere.

        Raises:
            ModelError: its flanges are not the axes of inertias, or its support moves.
        """
        if not losses(element):
            return
        ends = ("flange_a", "flange_b")
        a, b = (self.resolved(self.coordinate(f"{element.name}.{end}")) for end in ends)
        if element.flag("useSupport"):
            held = self.resolved(self.coordinate(f"{element.name}.support"))
            if held.terms:
                raise ModelError(f"'{element.name}': a gear with losses whose support moves is not read; hold it")
            a, b = (item.plus(held, -1.0) for item in (a, b))
        joints = [axis_of(element, end, item) for end, item in zip(ends, (a, b), strict=True)]
        scope, name = self.placed(element, joints)
        self.starts.coupled.append(a.plus(b, times(-1.0, element.full("ratio"))))
        one, other = (self.within(scope, joint) for joint in joints)
        self.made.components.append((scope, lossy_gear(element, name, (one, other), (a.constant, b.constant))))

    def motion(self, element: ModelicaComponent, kind: str) -> Value:
        """Return the motion that an element gives its flange, as a formula of time."""
        if kind != "Position" or element.flag("exact"):
            return MOTIONS[kind](element)
        port, _ = self.port(element)
        for end in self.signals.sets.get(port, ()):
            source = end.rpartition(".")[0]
            if made_of := element.values.variables.get(f"{source}.{MADE_OF}"):
                kind = made_of["binding"]["Literal"]["value"]["String"]
                return filtered(element, "w" if "Rotational" in element.kind else "v", kind, source)
        return filtered(element, "", "", "")

    @staticmethod
    def port(element: ModelicaComponent) -> tuple[str, str]:
        """Return the input of an effort, and its unit."""
        label, _, unit = CLASSES[element.kind].inputs[0]
        return f"{element.name}.{label}", unit

    def along(self, name: str) -> LinearForm | None:
        """Return a coordinate or velocity of an element as a combination of joints' own, by path; None without one.

        Args:
            name: its name.
        """
        owner, _, label = name.rpartition(".")
        if owner not in self.elements or label.partition("_")[0] not in {*RATE_OF, *RATE_OF.values()}:
            return None
        element = self.elements[owner]
        ends = {"centre": 1.0} if self.kind(owner) in MASSES else self.ends(element)
        total = LinearForm({}, 0.0)
        for port, factor in ends.items():
            total = total.plus(self.coordinate(f"{owner}.{port}"), factor)
        total = self.resolved(total)
        if any(term.startswith(" ") for term in total.terms):
            raise ModelError(f"'{name}' is measured where no mass moves: connect an inertia or a mass there")
        rate = label.partition("_")[0] in RATE_OF.values()
        terms: dict[str, Value] = {}
        for joint, ratio in total.terms.items():
            at = "phi" if isinstance(self.made.joints.get(joint), Revolute | CarriedRotor) or self.turns(joint) else "s"
            terms[f"{joint}.{RATE_OF[at] if rate else at}"] = ratio
        return LinearForm(terms, 0.0 if rate else total.constant)

    def turns(self, joint: str) -> bool:
        """Return whether the axis of a joint of the model's own turns, by the path of the joint."""
        return any(
            path_of(name) == joint and CLASSES[kind].axis == "Rotational" for name, kind in self.ports.kinds.items()
        )

    def ends(self, element: ModelicaComponent) -> dict[str, float]:
        """Return the flanges of an element with their signs in the coordinate along which it acts."""
        item = CLASSES[element.kind]
        if len(item.flanges) == 2 and not item.rigid:
            return {"flange_b": 1.0, "flange_a": -1.0}
        ends = {item.flanges[0]: 1.0}
        if item.support and element.flag("useSupport"):
            ends["support"] = -1.0
        return ends

    def joints(self) -> Iterator[tuple[str, Component]]:
        """Yield the joints that are made, each with the path of its system and with its start values."""
        for path, joint in self.made.joints.items():
            values = {label: value for (name, label), value in self.begins.items() if name == path}
            yield path.rpartition(".")[0], replace(joint, **values)
