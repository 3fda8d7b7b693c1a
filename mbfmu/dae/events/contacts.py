"""The gaps and frictions of a mechanism's contacts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

import casadi as ca

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.loads import as_taken, axis_of, ends_of
from mbfmu.dae.outputs import Outputs
from mbfmu.dae.parts.gaps import FrictionSignal, GapSignal, Switches
from mbfmu.dae.signals import Signal
from mbfmu.errors import ModelError
from mbfmu.model.contact import ImpactLaw
from mbfmu.model.contacts import AxesContact, AxisContact, FrameContact, Friction, Gap
from mbfmu.model.contacts.contact import force_name
from mbfmu.model.couplings import AxisConstraint
from mbfmu.model.frame import SX, expression
from mbfmu.model.mechanism import joints_of


class _Gap(NamedTuple):
    """A gap: its signal, its value, restitution e, speed of rest, and pull; SX."""

    signal: GapSignal
    value: SX
    e: SX
    rest: SX
    pull: SX


class _Slip(NamedTuple):
    """A slip rate: its signal, its value, place, normal force and impulse of that, SX; and the law of its friction."""

    signal: FrictionSignal
    value: SX
    slide: SX
    normal: SX
    reaction: SX
    law: Friction


def switches_of(
    bodies: Bodies, inputs: tuple[Signal, ...], u: SX, shown: Outputs, names: Mapping[str, str]
) -> Switches | None:
    """Return the gaps and frictions of a mechanism; None if it has no contact.

    Args:
        bodies: coordinates and frames of the mechanism.
        inputs: its inputs, those of contacts too.
        u: their symbols, SX, shape (n_u,).
        shown: its outputs; normal forces may depend on the cut forces among them.
        names: full names of outputs of contacts, by the names that the model gives them.

    Raises:
        ModelError: a gap or slide depends on velocities.
    """
    index_of = {signal.name: index for index, signal in enumerate(inputs)}
    gaps: list[_Gap] = []
    slips: list[_Slip] = []
    for path, contact in bodies.mechanism.components.items():
        if not isinstance(contact, AxisContact | AxesContact | FrameContact):
            continue
        joint, closing, rubs = _read(bodies, path, contact)
        first = len(gaps)
        gaps += _gaps_of(path, contact, closing, index_of)
        for item in rubs:
            forces = _normal_of(bodies, item, joint or path, shown, u)
            slips += _slips_of(path, contact, item, first, index_of, forces)
    slips.sort(key=lambda item: not item.signal.sided)  # those come first, as others then change no limit of their own
    return _switches(bodies, gaps, slips, u, shown, names) if gaps or slips else None


def _read(
    bodies: Bodies, path: str, contact: AxisContact | AxesContact | FrameContact
) -> tuple[str, Sequence[Gap], Sequence[Friction]]:
    """Return the joint that a contact belongs to, if to one, its gaps and its frictions."""
    values = bodies.values[path]
    if isinstance(contact, AxisContact):
        axis, (joint,) = axis_of(bodies, path, contact), joints_of(path, contact)
        s, rate = bodies.axes[joint].motion[0].value, axis.rates[0]
        return joint, contact.gaps(values, axis.motion[0].value), contact.frictions(values, s, rate)
    if isinstance(contact, AxesContact):
        axes = [bodies.axes[name] for name in joints_of(path, contact)]
        positions, rates = tuple(axis.motion[0].value for axis in axes), tuple(axis.rates[0] for axis in axes)
        taken = (as_taken(axis.motion[0]).value for axis in axes)
        return "", contact.gaps(values, *taken), contact.frictions(values, positions, rates)
    ends = ends_of(bodies, path, contact)
    return "", contact.gaps(values, *ends), contact.frictions(values, *ends)


def _gaps_of(
    path: str,
    contact: AxisContact | AxesContact | FrameContact,
    closing: Sequence[Gap],
    index_of: Mapping[str, int],
) -> Iterator[_Gap]:
    """Yield the gaps of a contact; index_of: index of each input, by its name."""
    for part, gap in zip(contact.parts, closing, strict=True):
        name = f"{path}.{part}" if part else path
        if gap.impact_law not in get_args(ImpactLaw):
            known = " or ".join(f"'{law}'" for law in get_args(ImpactLaw))
            raise ModelError(f"'{name}': impact_law is '{gap.impact_law}'; take {known}")
        force = index_of[f"{path}.{force_name(part, 'f_n')}"]
        poisson, sequential = (gap.impact_law == law for law in ("poisson", "sequence"))
        signal = GapSignal(name, gap.unit, force, gap.pull is not None, poisson, sequential)
        pull = ca.SX(0 if gap.pull is None else gap.pull)
        yield _Gap(signal, ca.SX(gap.value), ca.SX(gap.restitution), ca.SX(gap.rest), pull)


def _slips_of(
    path: str,
    contact: AxisContact | AxesContact | FrameContact,
    item: Friction,
    first: int,
    index_of: Mapping[str, int],
    forces: tuple[SX, SX],
) -> Iterator[_Slip]:
    """Yield the slip velocities of a friction: one, or two in space.

    Args:
        path: full name of the contact.
        contact: the contact.
        item: the friction.
        first: index of the first gap of the contact.
        index_of: index of each input, by its name.
        forces: the normal force, if it is no gap's, and the impulse of it.
    """
    rates = expression(item.slip)
    count = rates.numel()
    part = "" if item.gap is None else contact.parts[item.gap]
    labels = ["f_t"] if count == 1 else [f"f_t{index}" for index in range(1, count + 1)]
    for index, label in enumerate(labels):
        signal = FrictionSignal(
            f"{path}.{part}" if part else path, item.unit, index_of[f"{path}.{force_name(part, label)}"],
            None if item.gap is None else first + item.gap,
            item.slide is not None, item.signed, pair=count == 2 and index == 0, breaks=item.breaks,
            reacts=item.normal is not None, sided=item.driving is not None, one_way=item.one_way,
        )  # fmt: skip
        slide = ca.SX(0) if item.slide is None else expression(item.slide)[index]
        yield _Slip(signal, rates[index], slide, *forces, item)


def _normal_of(bodies: Bodies, item: Friction, source: str, shown: Outputs, u: SX) -> tuple[SX, SX]:
    """Return the normal force of a friction by the reaction of a joint or coupling, and its impulse.

    They are zero if a gap gives them.
    """
    if not item.normal:
        return ca.SX(0), ca.SX(0)
    cut = dict(zip((signal.name for signal in shown.signals), shown.y.elements(), strict=True))
    component = bodies.mechanism.components[source]
    if isinstance(component, AxisConstraint):
        effort = bodies.axes[joints_of(source, component)[0]].motion[0].effort
        wrench = [cut[f"{source}.{effort}"]]
    else:
        wrench = [_vector(cut, f"{source}.frame_b.{label}") for label in ("f", "t")]
    causes = [shown.a, shown.lambda_, u]
    still = ca.substitute(wrench, causes, [0 * cause for cause in causes])
    impulses = [end - begin for end, begin in zip(wrench, still, strict=True)]
    normal, reaction, none = (
        ca.SX(item.normal(component, *efforts)) for efforts in (wrench, impulses, [0 * entry for entry in still])
    )
    return normal, reaction - none


def _switches(
    bodies: Bodies, gaps: list[_Gap], slips: list[_Slip], u: SX, shown: Outputs, names: Mapping[str, str]
) -> Switches:
    """Return the gaps and frictions as Functions.

    Raises:
        ModelError: a gap or slide depends on velocities.
    """
    q, v, p, t = bodies.q, bodies.v, bodies.p, bodies.t
    z = ca.vertcat(ca.SX(0, 1), *bodies.network.z.values())

    def function(name: str, arguments: list[SX], column: Iterable[SX]) -> ca.Function:
        return merged(name, arguments, [ca.densify(ca.vertcat(ca.SX(0, 1), *column))])

    expressions = [*(item.value for item in gaps), *(item.slide for item in slips)]
    if ca.depends_on(ca.vertcat(*expressions), v):
        raise ModelError(f"{bodies.mechanism.name}: a gap or slide depends on velocities; state it by positions only")
    speed, N = ca.SX.sym("speed", len(slips)), ca.SX.sym("N", len(slips))
    causes = [q, v, z, shown.a, shown.lambda_, u, p, t]
    paths = {*(item.signal.name for item in gaps), *(item.signal.name for item in slips), "events"}
    holds = any(item.signal.holds for item in gaps)
    reacts = any(item.signal.reacts for item in slips)
    sided = any(item.signal.sided for item in slips)
    return Switches(
        gaps=tuple(item.signal for item in gaps),
        frictions=tuple(item.signal for item in slips),
        gap=function("gap", [q, p, t], (item.value for item in gaps)),
        slip=function("slip", [q, v, p, t], (item.value for item in slips)),
        slide=function("slide", [q, p, t], (item.slide for item in slips)),
        normal=function("normal", causes, (item.normal for item in slips)),
        restitution=function("restitution", [p], (item.e for item in gaps)),
        rest=function("rest", [p], (item.rest for item in gaps)),
        sliding=function("sliding", [speed, N, p, t], (x.law.sliding(speed[j], N[j]) for j, x in enumerate(slips))),
        static=function("static", [N, p, t], (item.law.static(N[j]) for j, item in enumerate(slips))),
        pull=function("pull", [u, p, t], (item.pull for item in gaps)) if holds else None,
        reaction=function("reaction", causes, (item.reaction for item in slips)) if reacts else None,
        driving=function(
            "driving",
            [speed, p, t],
            (ca.SX(0) if x.law.driving is None else x.law.driving(speed[j]) for j, x in enumerate(slips)),
        )
        if sided
        else None,
        names=tuple((name, full) for name, full in names.items() if full.rpartition(".")[0] in paths),
    )


def _vector(values: Mapping[str, SX], name: str) -> SX:
    """Return an output, of its entries if it has several."""
    if name in values:
        return values[name]
    entries: list[SX] = []
    while f"{name}[{len(entries) + 1}]" in values:
        entries.append(values[f"{name}[{len(entries) + 1}]"])
    return ca.vertcat(*entries)
