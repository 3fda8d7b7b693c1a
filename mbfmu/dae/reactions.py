"""Reactions: the forces and torques that joints, springs and drives put on the bodies they join.

An element with a residual (multiplier lambda), a rate (effort e) or a potential V puts on a frame the wrench

    -(d residual / d x)^T lambda + (d rate / d twist)^T e - (d V / d x)^T

for small displacements x = (shift, turn) of that frame alone, resolved in the world frame.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.loads import Loads, ends_of, values_of
from mbfmu.model.forces import Force
from mbfmu.model.frame import SX, Frame, expression
from mbfmu.model.joints import Joint
from mbfmu.model.rope import RopePath

VirtualWork = Callable[[Frame, Frame, Frame, Frame], Sequence[tuple[SX, SX]]]
"""Function (a, b displaced), (a, b with additional velocities) -> virtual-work terms: pairs (expression, weight)."""


def wrench(work: VirtualWork, a: Frame, b: Frame, end: int) -> tuple[SX, SX]:
    """Return force and torque that an element puts on one of its frames, resolved in the world frame.

    Args:
        work: of the element, weighted by its efforts or negative multipliers.
        a: its first frame.
        b: its second frame.
        end: 0 for frame_a, 1 for frame_b.
    """
    shift, turn = ca.SX.sym("shift", a.r_0.numel()), ca.SX.sym("turn", a.w_0.numel())
    there, fast = [a, b], [a, b]
    there[end] = there[end].moved(shift, turn)
    fast[end] = replace(fast[end], v_0=fast[end].v_0 + shift, w_0=fast[end].w_0 + turn)
    wiggle = ca.vertcat(shift, turn)
    total = ca.SX(wiggle.numel(), 1)
    for term, weight in work(*there, *fast):
        if term.numel():
            total += ca.jtimes(term, wiggle, weight, True)
    total = ca.substitute(total, wiggle, ca.SX.zeros(wiggle.numel(), 1))
    return total[: shift.numel()], total[shift.numel() :]


def joint_work(bodies: Bodies, path: str, lambda_: SX, mu: SX, efforts: Sequence[SX]) -> VirtualWork:
    """Return the virtual work of a joint, weighted by its efforts or negative multipliers.

    Args:
        bodies: coordinates and frames of the mechanism.
        path: full name of the joint.
        lambda_: multipliers of its holonomic rows.
        mu: multipliers of its nonholonomic rows.
        efforts: effort on each of its motions.
    """
    joint: Joint = bodies.mechanism.components[path]  # type: ignore[assignment]
    p = bodies.values[path]

    def work(a: Frame, b: Frame, fast_a: Frame, fast_b: Frame) -> list[tuple[SX, SX]]:
        terms = [(bodies.position(path, joint, a, b), -lambda_), (ca.vertcat(joint.velocity(p, fast_a, fast_b)), -mu)]
        pairs = zip(joint.motion(p, a, b), joint.motion(p, fast_a, fast_b), efforts, strict=True)
        for by_place, by_speed, effort in pairs:
            value = by_place.value if by_speed.rate_value is None else by_speed.rate_value
            terms.append((expression(value), effort))
        pressing = zip(joint.efforts(p, fast_a, fast_b), joint.efforts(p, a, b), strict=True)
        terms += [(expression(rate), expression(effort)) for (rate, _), (_, effort) in pressing]
        return terms

    return work


def cut_wrenches(
    bodies: Bodies, lambda_: SX, m: int, acting: Loads, couplings: dict[str, list[SX]]
) -> dict[str, VirtualWork]:
    """Return the virtual work of every joint that carries no coordinates, by full name.

    Args:
        bodies: coordinates and frames of the mechanism.
        lambda_: all multipliers, holonomic rows first.
        m: number of holonomic rows.
        acting: the loads.
        couplings: further efforts on the motions of each joint.
    """
    works: dict[str, VirtualWork] = {}
    for path, own_Phi, own_G in multipliers(bodies, lambda_, m):
        if path not in bodies.coordinates.carried:
            efforts = [first + second for first, second in zip(acting.efforts[path], couplings[path], strict=True)]
            works[path] = joint_work(bodies, path, own_Phi, own_G, efforts)
    return works


def multipliers(bodies: Bodies, lambda_: SX, m: int) -> Iterator[tuple[str, SX, SX]]:
    """Yield the full name of each joint, and the multipliers of its holonomic and of its nonholonomic rows.

    Args:
        bodies: coordinates and frames of the mechanism.
        lambda_: all multipliers, holonomic rows first.
        m: number of holonomic rows.
    """
    row, row_G = 0, m
    for path, item in bodies.equations.items():
        count, own_G = item.Phi.numel(), item.velocity.numel()
        yield path, lambda_[row : row + count], lambda_[row_G : row_G + own_G]
        row, row_G = row + count, row_G + own_G


def outer_wrenches(
    bodies: Bodies, works: dict[str, VirtualWork], tensions: dict[str, SX]
) -> list[tuple[int, SX, SX, SX]]:
    """Return (group, point, force, torque) of everything that acts on the bodies except joints that carry coordinates.

    Args:
        bodies: where everything is.
        works: of the other joints.
        tensions: force that lengthens each rope, N, SX scalar, by its full name.
    """
    elements: list[tuple[str, VirtualWork, Frame, Frame]] = [
        (path, item, bodies.equations[path].a, bodies.equations[path].b) for path, item in works.items()
    ]
    for path, force in bodies.mechanism.of(Force).items():
        ends = ends_of(bodies, path, force)
        elements.append((path, force_work(force, values_of(bodies, path, force), *ends), *ends))
    wrenches = []
    for path, item, a, b in elements:
        for end, frame in enumerate((a, b)):
            anchor = bodies.anchors.get(f"{path}.{('frame_a', 'frame_b')[end]}")
            if anchor and anchor[0]:
                wrenches.append((anchor[0], frame.r_0, *wrench(item, a, b, end)))
    for path, rope in bodies.mechanism.of(RopePath).items():
        frames = bodies.frames_of(path)
        for label, frame, pull in zip(rope.frames, frames, rope.pulls(bodies.values[path], *frames), strict=True):
            if group := bodies.anchors[f"{path}.{label}"][0]:
                force, torque = (tensions[path] * item for item in pull)
                wrenches.append((group, frame.r_0, force, torque))
    return wrenches


def force_work(force: Force, p: Any, a: Frame, b: Frame) -> VirtualWork:
    """Return the virtual work of a force, with the efforts that it has between its frames.

    Args:
        force: the force.
        p: its quantities and inputs by name.
        a: its first frame.
        b: its second frame.
    """

    def work(near: Frame, far: Frame, fast_a: Frame, fast_b: Frame) -> list[tuple[SX, SX]]:
        rates = [expression(rate) for rate, _ in force.efforts(p, fast_a, fast_b)]
        efforts = [expression(effort) for _, effort in force.efforts(p, a, b)]
        return [(ca.vertcat(force.potential(p, near, far)), ca.SX(-1)), *zip(rates, efforts, strict=True)]

    return work
