"""Limits of the sum of several forces on an axis, which need to know what each of them exerts."""

from dataclasses import replace

import casadi as ca

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.loads import Loads, combination_of, ends_of
from mbfmu.dae.reactions import force_work, wrench
from mbfmu.errors import ModelError, UnknownNameError, nearest
from mbfmu.model.component import Component
from mbfmu.model.forces import AxesEffortLimit, AxesForce, AxisForce, EffortLimit, Force
from mbfmu.model.frame import SX, Frame, expression
from mbfmu.model.joints import Joint, Prismatic, Revolute
from mbfmu.model.mechanism import joints_of
from mbfmu.model.relative import axis
from mbfmu.model.rope import RopePath


def limited(bodies: Bodies, acting: Loads) -> Loads:
    """Return loads with what limits of sums take back: along combinations first, then on joints.

    Raises:
        UnknownNameError: a limit names a force that is not there.
        ModelError: a limit is on a joint without an axis in space.
    """
    if not (bodies.mechanism.of(EffortLimit) or bodies.mechanism.of(AxesEffortLimit)):
        return acting
    applied, exerted, power = acting.applied, dict(acting.exerted), dict(acting.power)
    efforts = {path: list(items) for path, items in acting.efforts.items()}

    def add(path: str, effort: SX, rate: SX, joints: tuple[str, ...], ratios: tuple[SX, ...]) -> None:
        nonlocal applied
        applied = applied + ca.jtimes(expression(rate), bodies.v, expression(effort), True)
        exerted[path], power[path] = effort, rate * effort
        for joint, ratio in zip(joints, ratios, strict=True):
            efforts[joint][0] += ratio * effort

    for path, limit in bodies.mechanism.of(AxesEffortLimit).items():
        p = bodies.values[path]
        total = sum((exerted[name] for name in _forces(bodies, path, limit.forces)), ca.SX(0))
        _, rate = combination_of(bodies, path, limit)
        add(path, limit.taken_back(p, total), rate, joints_of(path, limit), tuple(p.ratios))
    for path, limit in bodies.mechanism.of(EffortLimit).items():
        moment = _Moment(bodies, path, limit)
        total = sum(
            (moment.of(name, exerted.get(name, ca.SX(0))) for name in _forces(bodies, path, limit.forces)), ca.SX(0)
        )
        rate = bodies.equations[moment.joint].rates[0]
        add(path, limit.taken_back(bodies.values[path], total), rate, (moment.joint,), (ca.SX(1),))
    return replace(
        acting,
        applied=applied,
        exerted=exerted,
        power=power,
        efforts={path: tuple(items) for path, items in efforts.items()},
    )


class _Moment:
    """The generalised forces of others on the axis of a joint that a limit names.

    Args:
        bodies: coordinates and frames of the mechanism.
        path: full name of the limit.
        limit: the limit.
    """

    def __init__(self, bodies: Bodies, path: str, limit: EffortLimit) -> None:
        self.bodies, self.scope = bodies, path.rpartition(".")[0]
        (self.joint,) = joints_of(path, limit)
        joint: Component = bodies.mechanism.components[self.joint]
        if bodies.planar or not isinstance(joint, Revolute | Prismatic):
            message = "needs a revolute or prismatic joint of a spatial system"
            raise ModelError(f"EffortLimit '{path}' {message}, and '{self.joint}' is none")
        self.carried = {_full(path, name) for name in limit.carried}
        self.turns = isinstance(joint, Revolute)
        a = bodies.equations[self.joint].a
        self.n, self.origin = a.R @ axis(joint.n), a.r_0

    def of(self, name: str, exerted: SX) -> SX:
        """Return what a force puts on the axis of the joint, by its full name and the effort on its own axis."""
        force = self.bodies.mechanism.components[name]
        if isinstance(force, Force):
            a, b = ends_of(self.bodies, name, force)
            work = force_work(force, self.bodies.values[name], a, b)
            ends = ((index, label, (a, b)[index]) for index, label in enumerate(("frame_a", "frame_b")))
            return sum(
                (self._along(frame, *wrench(work, a, b, index))
                 for index, label, frame in ends if f"{name}.{label}" in self.carried),
                ca.SX(0),
            )  # fmt: skip
        if not isinstance(force, AxisForce | AxesForce):
            raise ModelError(f"an EffortLimit holds the sum of forces, and '{name}' is none")
        ratios = self.bodies.values[name].ratios if isinstance(force, AxesForce) else (1,)
        total = ca.SX(0)
        for target, ratio in zip(joints_of(name, force), ratios, strict=True):
            if isinstance(self.bodies.mechanism.components[target], Joint):
                total += ratio * exerted if target == self.joint else 0
            else:
                total += ratio * exerted * self._by_rope(target)
        return total

    def _by_rope(self, path: str) -> SX:
        """Return what a unit force that lengthens a rope puts on the axis."""
        rope: RopePath = self.bodies.mechanism.components[path]  # type: ignore[assignment]
        frames = self.bodies.frames_of(path)
        pulls = zip(rope.frames, frames, rope.pulls(self.bodies.values[path], *frames), strict=True)
        return sum(
            (self._along(frame, *pull) for label, frame, pull in pulls if f"{path}.{label}" in self.carried), ca.SX(0)
        )

    def _along(self, frame: Frame, force: SX, torque: SX) -> SX:
        """Return ``n . (t + r x f)``, or ``n . f`` where the joint slides, of a wrench at a frame."""
        if not self.turns:
            return ca.dot(self.n, force)
        return ca.dot(self.n, torque + ca.cross(frame.r_0 - self.origin, force))


def _forces(bodies: Bodies, path: str, names: tuple[str, ...]) -> list[str]:
    """Return the full names of the forces that a limit names."""
    full = [_full(path, name) for name in names]
    for name in full:
        if name not in bodies.mechanism.components:
            known = nearest(name, bodies.mechanism.components)
            raise UnknownNameError(f"the limit '{path}' holds a force '{name}', which is not there; {known}")
    return full


def _full(path: str, name: str) -> str:
    scope, dot, _ = path.rpartition(".")
    return scope + dot + name
