"""What a task is: a mechanism, told once for mbfmu by the name of a model and once for the peers link by link."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Vector3 = tuple[float, float, float]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ORIGIN: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Link:
    """A rigid body and the joint that carries it; at zero coordinates all axes are those of the world.

    Args:
        name: of the joint's coordinate in the model, such as ``shoulder.phi``.
        parent: number of the link it hangs on, -1: the world.
        axis: of the hinge, or along which it slides.
        at: the joint, seen from the parent's joint, m.
        m: mass, kg.
        center: centre of mass, seen from the joint, m.
        inertia: about the centre of mass, the diagonal, kg m2.
        q, v: where it starts: rad and rad/s, or m and m/s.
        slides: it slides instead of turning.
        torque: constant, about a hinge on the world, N m.
    """

    name: str
    parent: int
    axis: Vector3
    at: Vector3
    m: float
    center: Vector3
    inertia: Vector3
    q: float = 0.0
    v: float = 0.0
    slides: bool = False
    torque: float = 0.0


@dataclass(frozen=True)
class Spring:
    """A spring between two points.

    Args:
        a, b: numbers of the links, -1: the world.
        at_a, at_b: the points, seen from the joints of the links, m.
        c: stiffness, N/m.
        length: without force, m.
    """

    a: int
    b: int
    at_a: Vector3
    at_b: Vector3
    c: float
    length: float


@dataclass(frozen=True)
class Pin:
    """A hinge about z that closes a loop of a planar mechanism: two points that coincide.

    Args:
        a, b: numbers of the links.
        at_a, at_b: the points, seen from the joints of the links, m.
    """

    a: int
    b: int
    at_a: Vector3
    at_b: Vector3


@dataclass(frozen=True)
class Task:
    """A mechanism over a time.

    Args:
        name: of the task.
        model: of the mechanism in models/.
        values: numbers of the model that differ from its defaults.
        stop: s.
        gravity: m/s2.
        links: parents before children; empty: no peer has it.
        pins: those that close loops.
        springs: forces besides gravity and the links' torques.
        exact: true values at the end by name of an output; empty: mbfmu's own run with an eighth of the step is taken.
        targets: errors that are to be reached in the least time.
        steps: steps of the table, s.
        touching: what peers that know contacts build from the values, ``ball``, ``block``, ``belt`` or ``puck``;
            ``falling``: what none of them has; empty: there are no contacts.
    """

    name: str
    model: str
    stop: float
    values: Mapping[str, float] = field(default_factory=dict)
    gravity: Vector3 = (0.0, -9.81, 0.0)
    links: tuple[Link, ...] = ()
    pins: tuple[Pin, ...] = ()
    springs: tuple[Spring, ...] = ()
    exact: Mapping[str, float] = field(default_factory=dict)
    targets: tuple[float, ...] = ()
    steps: tuple[float, ...] = (1e-3, 1e-2)
    touching: str = ""

    @property
    def loaded(self) -> bool:
        """There are forces besides gravity."""
        return bool(self.springs) or any(link.torque for link in self.links)

    @property
    def planar(self) -> bool:
        """All hinges are about z."""
        return all(link.slides or link.axis == Z for link in self.links)

    @property
    def watched(self) -> tuple[str, ...]:
        """Outputs that the error is taken of: all that have a true value, else the joints' coordinates."""
        return tuple(self.exact) or tuple(link.name for link in self.links)
