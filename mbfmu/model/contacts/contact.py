"""The contract of contacts: gaps that can close, and slip velocities with dry friction.

A contact states its gaps and slips as expressions of frames, or of the axis of a joint; nothing is differentiated by
hand. Its forces act through inputs of the equations, which are solved for and cannot be set.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import casadi as ca

from mbfmu.errors import ModelError
from mbfmu.model.component import Component, Input, Value, quantity
from mbfmu.model.contact import REST, ImpactLaw
from mbfmu.model.forces import AxisForce, Force
from mbfmu.model.frame import SX, Frame


@dataclass(frozen=True)
class Gap:
    """A gap that stays at or above 0.

    Args:
        value: SX scalar, m or rad, of places.
        restitution: e, SX scalar.
        rest: speed of approach, m/s or rad/s, below which it closes for good, SX scalar.
        unit: SI unit of the gap.
        pull: force, N or N.m, up to which it holds once it is closed, SX scalar of parameters, inputs and time; None:
            it does not hold.
        impact_law: law of its restitution.
    """

    value: SX
    restitution: SX
    rest: SX
    unit: str = "m"
    pull: SX | None = None
    impact_law: ImpactLaw = "newton"


@dataclass(frozen=True)
class Friction:
    """A slip with dry friction.

    Args:
        slip: the slip velocity, SX scalar, or in space a column of two; of places and rates, linear in these.
        sliding: function (speed, normal) -> size of the force while it slides, SX scalar.
        static: function (normal) -> largest force while it sticks, SX scalar.
        slide: the place whose rate is the slip velocity, of the same shape; None: there is none, as with rolling in
            space.
        gap: number of the gap of this contact whose force is the normal force; None: `normal` gives it.
        normal: function (joint, force, torque) -> normal force, SX scalar, of the joint and the cut force and torque at
            its frame_b, resolved in frame_b; or (coupling, force), of a contact that is a coupling too and the force or
            torque on its first axis; None: 0, the friction does not depend on it.
        signed: whether the normal force is positive on one side and negative on the other.
        unit: SI unit of the slide.
        breaks: whether it sticks from the start, and never again once it has slipped.
        driving: function (speed) -> the part of a normal force that drives the slip, below which its driven side does,
            SX scalar. The normal force that the laws take is then the one along the slip, less this. None: it has no
            such sides.
        one_way: whether the slip velocity stays at or above 0, whatever force that takes.
    """

    slip: SX
    sliding: Callable[[SX, SX], SX]
    static: Callable[[SX], SX]
    slide: SX | None = None
    gap: int | None = None
    normal: Callable[..., SX] | None = None
    signed: bool = False
    unit: str = "m"
    breaks: bool = False
    driving: Callable[[SX], SX] | None = None
    one_way: bool = False


@dataclass(frozen=True)
class AxisContact(AxisForce):
    """Base of contacts on the axis of a joint: override `gaps`, `frictions`, or both.

    A class names what has a gap in `parts`, as that of ``lower`` and ``upper``: the outputs of its gaps are
    ``name.lower.gap`` and so on. The name of a single gap or friction is empty.
    """

    parts: ClassVar[tuple[str, ...]] = ("",)
    rubs: ClassVar[bool] = False

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        unit = "N" if self.axis_unit == "m" else "N.m"
        return internal_inputs(
            [*(force_name(part, "f_n") for part in self.parts), *(["f_t"] if self.rubs else [])], unit
        )

    def gaps(self, p: Any, s: SX) -> tuple[Gap, ...]:
        """Return the gaps, one for each of `parts`, for the axis coordinate s (rad or m)."""
        return ()

    def frictions(self, p: Any, s: SX, v: SX) -> tuple[Friction, ...]:
        """Return the friction, if the class rubs, for the axis coordinate s and rate v."""
        return ()

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        at, rate = ca.SX.sym("s"), ca.SX.sym("v")
        gaps = ca.vertcat(ca.SX(0, 1), *(item.value for item in self.gaps(p, at)))
        slips = ca.vertcat(ca.SX(0, 1), *(item.slip for item in self.frictions(p, at, rate)))
        slopes = ca.vertcat(ca.jacobian(gaps, at), ca.jacobian(slips, rate))
        return ca.substitute(ca.dot(slopes, contact_forces(self, p)), at, s)


@dataclass(frozen=True)
class AxesContact(Component):
    """Base of contacts between the axes of several joints: override `axes`, and `gaps` or `frictions`."""

    parts: ClassVar[tuple[str, ...]] = ("",)
    rubs: ClassVar[bool] = False

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the names of the joints, in the same system."""
        return ()

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return internal_inputs(
            [*(force_name(part, "f_n") for part in self.parts), *(["f_t"] if self.rubs else [])], "N"
        )

    def gaps(self, p: Any, *s: SX) -> tuple[Gap, ...]:
        """Return the gaps, one for each of `parts`, for the axis coordinates s (rad or m)."""
        return ()

    def frictions(self, p: Any, s: tuple[SX, ...], v: tuple[SX, ...]) -> tuple[Friction, ...]:
        """Return the friction, if the class rubs, for the axis coordinates s and rates v."""
        return ()

    def efforts(self, p: Any, *s: SX) -> tuple[SX, ...]:
        """Return the effort on each axis (N.m or N)."""
        at, rate = ca.SX.sym("s", len(s)), ca.SX.sym("v", len(s))
        gaps = ca.vertcat(ca.SX(0, 1), *(item.value for item in self.gaps(p, *ca.vertsplit(at))))
        rubs = self.frictions(p, tuple(ca.vertsplit(at)), tuple(ca.vertsplit(rate)))
        slips = ca.vertcat(ca.SX(0, 1), *(item.slip for item in rubs))
        slopes = ca.vertcat(ca.jacobian(gaps, at), ca.jacobian(slips, rate))
        efforts = slopes.T @ contact_forces(self, p)
        return tuple(ca.vertsplit(ca.substitute(efforts, at, ca.vertcat(*s))))


@dataclass(frozen=True)
class FrameContact(Force):
    """Base of contacts between frame_a and frame_b: override `gaps`, `frictions`, or both; see `AxisContact`.

    The name of a friction is that of its gap.
    """

    parts: ClassVar[tuple[str, ...]] = ("",)
    needs: ClassVar[str] = ""
    """Kind of system, ``planar`` or ``spatial``, in which alone the contact works; empty: it works in both."""

    @property
    def rubs(self) -> bool:
        """Return whether its gaps have friction."""
        return False

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        """Return the forces of the contact.

        Raises:
            ModelError: the contact does not work in such a system.
        """
        if self.needs and planar != (self.needs == "planar"):
            raise ModelError(f"'{self.name}': a contact {type(self).__name__} needs a {self.needs} system")
        slips = ["f_t"] if planar else ["f_t1", "f_t2"]
        pressing = [force_name(part, "f_n") for part in self.parts]
        rubbing = [force_name(part, label) for part in self.parts for label in slips] if self.rubs else []
        return internal_inputs([*pressing, *rubbing], "N")

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        """Return the gaps, one for each of `parts`."""
        return ()

    def frictions(self, p: Any, a: Frame, b: Frame) -> tuple[Friction, ...]:
        """Return the frictions, one for each of `parts`, if the contact rubs."""
        return ()

    def efforts(self, p: Any, a: Frame, b: Frame) -> tuple[tuple[SX, SX], ...]:
        def gaps(a: Frame, b: Frame) -> SX:
            return ca.vertcat(ca.SX(0, 1), *(item.value for item in self.gaps(p, a, b)))

        slips = (item.slip for item in self.frictions(p, a, b))
        return ((ca.vertcat(rate_of(gaps, a, b), *slips), contact_forces(self, p)),)


@dataclass(frozen=True)
class SurfaceContact(FrameContact):
    """Base of contacts of two surfaces with Coulomb's friction: override `gap` and `friction`.

    While it slides, ``|f| = mu f_n`` against the slip; while it sticks, the force is what it takes, up to ``mu_s f_n``.
    A `mu_s` below `mu` counts as that.

    Args:
        e: restitution, from 0 to 1.
        mu: coefficient of friction while it slides; 0, as a plain number: no friction.
        mu_s: coefficient of friction while it sticks; 0: that of `mu`.
        rest: speed of approach, m/s, below which the gap closes for good.
        impact_law: law of the restitution, ``newton``, ``poisson`` or ``sequence``.
    """

    e: Value = quantity(0.0, "1", "restitution", min=0, max=1)
    mu: Value = quantity(0.0, "1", "coefficient of friction while it slides", min=0)
    mu_s: Value = quantity(0.0, "1", "coefficient of friction while it sticks", min=0)
    rest: Value = quantity(REST, "m/s", "speed of rest", min=0)
    impact_law: ImpactLaw = field(default="newton", kw_only=True)

    @property
    def rubs(self) -> bool:
        return self.mu != 0

    def gap(self, p: Any, a: Frame, b: Frame) -> SX:
        """Return the gap, SX scalar, m, whose gradient has the size 1 where it is closed."""
        raise NotImplementedError

    def friction(self, p: Any, a: Frame, b: Frame) -> tuple[SX, SX | None]:
        """Return the slip velocity and its place (see `Friction`); None: it has none."""
        raise NotImplementedError

    def gaps(self, p: Any, a: Frame, b: Frame) -> tuple[Gap, ...]:
        return (Gap(self.gap(p, a, b), p.e, p.rest, impact_law=self.impact_law),)

    def frictions(self, p: Any, a: Frame, b: Frame) -> tuple[Friction, ...]:
        return (coulomb(p, 0, *self.friction(p, a, b)),) if self.rubs else ()


def coulomb(p: Any, gap: int, slip: SX, slide: SX | None = None) -> Friction:
    """Return Coulomb's friction with the coefficients mu and mu_s and the force of a gap; see `Friction`."""
    return Friction(slip, lambda _, N: p.mu * N, lambda N: ca.fmax(p.mu, p.mu_s) * N, slide, gap)


def force_name(part: str, label: str) -> str:
    """Return the name of the input for the force of a part of a contact."""
    return f"{part}_{label}" if part else label


def internal_inputs(names: list[str], unit: str) -> tuple[Input, ...]:
    """Return the inputs through which a contact acts."""
    return tuple(Input(name, unit, "force of the contact", internal=True) for name in names)


def contact_forces(contact: AxisContact | AxesContact | FrameContact, p: Any) -> SX:
    """Return the symbols of the forces of a contact, gaps first."""
    return ca.vertcat(*(getattr(p, item.name) for item in contact.inputs(p.planar) if item.internal))


def rate_of(quantity: Callable[[Frame, Frame], SX], a: Frame, b: Frame) -> SX:
    """Return the rate of what depends on the poses of two frames, from the velocities of these.

    Args:
        quantity: function of the frames that depends on their poses, SX column.
        a: frame_a.
        b: frame_b.
    """
    total = ca.SX(0)
    for end, frame in enumerate((a, b)):
        shift, turn = ca.SX.sym("shift", frame.r_0.numel()), ca.SX.sym("turn", frame.w_0.numel())
        there = [a, b]
        there[end] = frame.moved(shift, turn)
        wiggle = ca.vertcat(shift, turn)
        slope = ca.substitute(ca.jacobian(quantity(*there), wiggle), wiggle, ca.SX.zeros(wiggle.numel()))
        total = total + slope @ ca.vertcat(frame.v_0, frame.w_0)
    return total
