"""The gaps and frictions of a mechanism's contacts."""

from collections.abc import Mapping
from typing import get_args

import casadi as ca

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.events.gaps import FrictionSignal, GapSignal, Switches
from mbfmu.dae.loads import axis_of, ends_of
from mbfmu.dae.merged import merged
from mbfmu.dae.outputs import Outputs
from mbfmu.dae.signals import Signal
from mbfmu.errors import ModelError
from mbfmu.model.contact import ImpactLaw
from mbfmu.model.contacts import AxesContact, AxisContact, FrameContact, Friction
from mbfmu.model.contacts.contact import force_name
from mbfmu.model.frame import SX, expression
from mbfmu.model.mechanism import joints_of


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
    q, v, p, t = bodies.q, bodies.v, bodies.p, bodies.t
    z = ca.vertcat(ca.SX(0, 1), *bodies.network.z.values())
    place = {signal.name: number for number, signal in enumerate(inputs)}
    cut = dict(zip((signal.name for signal in shown.signals), shown.y.elements(), strict=True))
    gaps: list[GapSignal] = []
    frictions: list[FrictionSignal] = []
    values: list[SX] = []
    laws: list[tuple[SX, SX]] = []
    pulls: list[SX] = []
    slips: list[SX] = []
    slides: list[SX] = []
    normals: list[SX] = []
    reactions: list[SX] = []
    rubbing: list[Friction] = []
    for path, contact in bodies.mechanism.components.items():
        if not isinstance(contact, AxisContact | AxesContact | FrameContact):
            continue
        own = bodies.values[path]
        joint = ""
        if isinstance(contact, AxisContact):
            joint, found = joints_of(path, contact)[0], axis_of(bodies, path, contact)
            s, rate = found.motion[0].value, found.rates[0]
            closing, rubs = contact.gaps(own, s), contact.frictions(own, s, rate)
        elif isinstance(contact, AxesContact):
            places = (bodies.equations[name].motion[0].value for name in joints_of(path, contact))
            closing, rubs = contact.gaps(own, *places), ()
        else:
            ends = ends_of(bodies, path, contact)
            closing, rubs = contact.gaps(own, *ends), contact.frictions(own, *ends)
        first = len(gaps)
        for part, gap in zip(contact.parts, closing, strict=True):
            name = f"{path}.{part}" if part else path
            if gap.impact_law not in get_args(ImpactLaw):
                known = " or ".join(f"'{law}'" for law in get_args(ImpactLaw))
                raise ModelError(f"'{name}': impact_law is '{gap.impact_law}'; take {known}")
            force = place[f"{path}.{force_name(part, 'f_n')}"]
            gaps.append(GapSignal(name, gap.unit, force, gap.pull is not None, gap.impact_law == "poisson"))
            values.append(ca.SX(gap.value))
            laws.append((ca.SX(gap.restitution), ca.SX(gap.rest)))
            pulls.append(ca.SX(0 if gap.pull is None else gap.pull))
        for item in rubs:
            count = expression(item.slip).numel()
            part = "" if item.gap is None else contact.parts[item.gap]
            labels = ["f_t"] if count == 1 else [f"f_t{number}" for number in range(1, count + 1)]
            labels = [force_name(part, label) for label in labels]
            normal, reaction = ca.SX(0), ca.SX(0)
            if item.normal:
                wrench = [_vector(cut, f"{joint}.frame_b.{label}") for label in ("f", "t")]
                causes = [shown.a, shown.lambda_, u]
                still = ca.substitute(wrench, causes, [0 * cause for cause in causes])
                impulses = [end - begin for end, begin in zip(wrench, still, strict=True)]
                normal, reaction, none = (
                    ca.SX(item.normal(bodies.mechanism.components[joint], *pair))
                    for pair in (wrench, impulses, [0 * entry for entry in still])
                )
                reaction = reaction - none
            for number, label in enumerate(labels):
                frictions.append(
                    FrictionSignal(
                        f"{path}.{part}" if part else path, item.unit, place[f"{path}.{label}"],
                        None if item.gap is None else first + item.gap,
                        item.slide is not None, item.signed, pair=count == 2 and number == 0, breaks=item.breaks,
                        reacts=item.normal is not None,
                    )
                )  # fmt: skip
                slips.append(expression(item.slip)[number])
                slides.append(ca.SX(0) if item.slide is None else expression(item.slide)[number])
                normals.append(normal)
                reactions.append(reaction)
                rubbing.append(item)
    if not (gaps or frictions):
        return None
    gap, slip, slide, normal = (ca.vertcat(ca.SX(0, 1), *column) for column in (values, slips, slides, normals))
    if ca.depends_on(ca.vertcat(gap, slide), v):
        raise ModelError(f"{bodies.mechanism.name}: a gap or slide depends on velocities; state it by places alone")
    speed, N = ca.SX.sym("speed", len(frictions)), ca.SX.sym("N", len(frictions))
    sliding = [item.sliding(speed[j], N[j]) for j, item in enumerate(rubbing)]
    static = [item.static(N[j]) for j, item in enumerate(rubbing)]

    def function(name: str, arguments: list[SX], column: list[SX] | SX) -> ca.Function:
        whole = column if isinstance(column, ca.SX) else ca.vertcat(ca.SX(0, 1), *column)
        return merged(name, arguments, [ca.densify(whole)])

    paths = {*(item.name for item in gaps), *(item.name for item in frictions)}
    return Switches(
        gaps=tuple(gaps),
        frictions=tuple(frictions),
        gap=function("gap", [q, p, t], gap),
        slip=function("slip", [q, v, p, t], slip),
        slide=function("slide", [q, p, t], slide),
        normal=function("normal", [q, v, z, shown.a, shown.lambda_, u, p, t], normal),
        restitution=function("restitution", [p], [e for e, _ in laws]),
        rest=function("rest", [p], [rest for _, rest in laws]),
        sliding=function("sliding", [speed, N, p, t], sliding),
        static=function("static", [N, p, t], static),
        pull=function("pull", [u, p, t], pulls) if any(item.holds for item in gaps) else None,
        reaction=function("reaction", [q, v, z, shown.a, shown.lambda_, u, p, t], reactions)
        if any(item.reacts for item in frictions)
        else None,
        names=tuple((name, full) for name, full in names.items() if full.rpartition(".")[0] in {*paths, "events"}),
    )


def _vector(values: Mapping[str, SX], name: str) -> SX:
    """Return an output, of its entries if it has several."""
    if name in values:
        return values[name]
    entries: list[SX] = []
    while f"{name}[{len(entries) + 1}]" in values:
        entries.append(values[f"{name}[{len(entries) + 1}]"])
    return ca.vertcat(*entries)
