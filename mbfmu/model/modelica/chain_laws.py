"""Laws of the elements of chains along a combination of axes, by the names of their classes."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from mbfmu.errors import ModelError
from mbfmu.model.component import Component, Value
from mbfmu.model.contacts import AxesDryFriction, OneWayClutch, TranslationalEndStop
from mbfmu.model.expression import Expression
from mbfmu.model.forces import AxesLaw, AxesSpring
from mbfmu.model.modelica.elements import ModelicaComponent
from mbfmu.model.modelica.linear import added, times
from mbfmu.model.modelica.values import path_of

RIGID = {"Disc": "deltaPhi", "Rod": "L", "Mass": "L", "MassWithStopAndFriction": "L"}
"""Parameter by which flange_b is ahead of flange_a, of rigid elements that have one."""
MASSES = {"Inertia": "J", "Mass": "m", "MassWithStopAndFriction": "m"}
"""Parameter that is the inertia of an element."""


@dataclass(frozen=True)
class Combination:
    """A combination of axes, ``sum ratio_k s_k + offset``.

    Args:
        scope: path of the system that has the joints.
        name: name there of what acts along it.
        joints, ratios: the axes.
        offset: what the coordinate of the element is where that of the axes is 0.
    """

    scope: str
    name: str
    joints: tuple[str, ...]
    ratios: tuple[Value, ...]
    offset: Value

    @property
    def s(self) -> str:
        """Text of the coordinate of the element, in a formula."""
        return "s" if self.offset == 0.0 else f"(s + {_text(self.offset)})"

    def law(self, formula: Value) -> AxesLaw:
        """Return an effort by a formula."""
        return AxesLaw(self.name, joints=self.joints, ratios=self.ratios, formula=formula)


Law = Callable[[ModelicaComponent, Combination], Iterator[Component]]


def _text(value: Value) -> str:
    return f"({value})" if isinstance(value, str) else repr(value)


def _zero(e: ModelicaComponent) -> Value:
    return e.value("phi_rel0" if "Rotational" in e.kind else "s_rel0")


def _spring(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    kind = e.kind.rpartition(".")[2]
    rest = added(_zero(e), along.offset, -1.0) if "Spring" in kind else 0.0
    yield AxesSpring(
        along.name,
        joints=along.joints,
        ratios=along.ratios,
        c=e.value("c") if "Spring" in kind else 0.0,
        d=e.value("d") if "Damper" in kind else 0.0,
        lower=rest,
        upper=rest,
    )


def _backlash(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    """Yield a spring and a damper beyond a gap; of the first kind, the damping is at most as large as the spring."""
    c, d, b = (_text(e.value(label)) for label in ("c", "d", "b"))
    if abs(e.number("b")) <= 1e-10:
        raise ModelError(f"'{e.name}': a backlash without a gap is not read; use SpringDamper")
    x = f"({along.s} - {_text(_zero(e))})"
    limited = e.kind.endswith("ElastoBacklash")

    def side(spring: str, least: str, sign: str) -> str:
        damping = f"{least}({spring}, {d}*v)" if limited else f"{d}*v"
        return f"where({spring} + {d}*v {sign} 0, 0, {spring} + {damping})"

    above, below = side(f"{c}*({x} - {b}/2)", "min", "<="), side(f"{c}*({x} + {b}/2)", "max", ">=")
    yield along.law(f"-where({x} > {b}/2, {above}, where({x} < -{b}/2, {below}, 0))")


def _gap(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    """Yield a spring and a damper, at most as large as the spring, that push while the gap is closed."""
    c, d, n = (_text(e.value(label)) for label in ("c", "d", "n"))
    x = f"max(0, {_text(_zero(e))} - {along.s})"
    push = f"{c}*{x}" if e.number("n") == 1.0 else f"{c}*{x}**{n}"
    yield along.law(f"{push} - max(-{push}, min({push}, {d}*v))")


def _rows(e: ModelicaComponent, label: str, width: int) -> list[tuple[float, ...]]:
    """Return the rows of a table, as numbers."""
    full = e.full(label)
    rows = [tuple(map(e.values.number, row)) for row in (full if isinstance(full[0], list) else [full])]
    if not rows or any(len(row) != width for row in rows):
        raise ModelError(f"'{e.name}.{label}' must be a table of {width} columns")
    return rows


def _interpolated(rows: list[tuple[float, ...]], column: int) -> str:
    """Return a column of a table as a formula of v, the first one, linear between the rows and beyond them."""
    if len({row[column] for row in rows}) == 1:
        return repr(rows[0][column])
    pieces = [f"{a[column]!r} + {(b[column] - a[column]) / (b[0] - a[0])!r}*(v - {a[0]!r})" for a, b in pairwise(rows)]
    text = f"({pieces[-1]})"
    for piece, row in zip(reversed(pieces[:-1]), reversed(rows[1:-1]), strict=True):
        text = f"where(v < {row[0]!r}, {piece}, {text})"
    return text


def _table(e: ModelicaComponent, label: str) -> str:
    """Return the value of a table of two columns as a formula of v."""
    return _interpolated(_rows(e, label, 2), 1)


def _friction(along: Combination, size: str, peak: Value) -> Component:
    return AxesDryFriction(along.name, joints=along.joints, ratios=along.ratios, sliding=size, peak=peak)


def _clutch(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    pressed = e.value("f_normalized")
    size = f"{_table(e, 'mu_pos')}*{_text(e.value('cgeo'))}*{_text(e.value('fn_max'))}*{_text(pressed)}"
    made = OneWayClutch if e.kind.endswith("OneWayClutch") else AxesDryFriction
    yield made(along.name, joints=along.joints, ratios=along.ratios, sliding=size, peak=e.value("peak"))


def _bearing(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    yield _friction(along, _table(e, "tau_pos" if "Rotational" in e.kind else "f_pos"), e.value("peak"))


def _effort(label: str) -> Law:
    def law(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
        yield along.law(e.value(label))

    return law


def _own(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    """Yield the force or torque of a law of the model's own, of the coordinate and the velocity between its flanges."""
    at, rate, effort = ("phi_rel", "w_rel", "tau") if "Rotational" in e.kind else ("s_rel", "v_rel", "f")
    symbols = {path_of(f"{e.name}.{at}"): along.s, path_of(f"{e.name}.{rate}"): "v"}
    formula = e.local(e.full(effort), frozenset(symbols))
    if isinstance(formula, str):
        if taken := sorted(Expression(formula).names & {"s", "v"}):
            raise ModelError(
                f"'{taken[0]}' names the motion in the law of '{e.name}': give that parameter another name"
            )
        pattern = "|".join(map(re.escape, symbols))
        formula = re.sub(rf"(?<![\w.])({pattern})(?![\w.])", lambda match: symbols[match[0]], formula)
    yield along.law(formula)


def _step(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    title = "Torque" if "Rotational" in e.kind else "Force"
    offset, step, begin = (_text(e.value(label)) for label in (f"offset{title}", f"step{title}", "startTime"))
    yield along.law(f"{offset} + where(time < {begin}, 0, {step})")


def _by_speed(square: bool) -> Law:
    def law(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
        effort, rate, title = ("tau", "w", "Torque") if "Rotational" in e.kind else ("f", "v", "Force")
        size, x = _text(e.value(f"{effort}_nominal")), f"(v/{_text(e.value(f'{rate}_nominal'))})"
        if e.flag(f"{title}Direction"):
            yield along.law(f"{size}*{f'{x}**2' if square else f'abs({x})'}")
        else:
            yield along.law(f"{size}*{f'{x}*abs({x})' if square else x}")

    return law


REGULAR = {
    "Exp": "(2/(1 + exp(-v/(0.01*{v0}))) - 1)",
    "Sine": "where(abs(v) >= {v0}, sign(v), sin(1.5707963267948966*v/{v0}))",
    "Linear": "max(-1, min(1, v/{v0}))",
    "CoSine": "sign(v)*where(abs(v) >= {v0}, 1, 1 - cos(1.5707963267948966*v/{v0}))",
}
"""Smooth signs of v, by the names of Modelica.Blocks.Types.Regularization."""


def _rolls(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    """Yield the resistance of a wheel that rolls, ``cr fWeight cos(atan(inclination))`` against its motion."""
    cr, slope = (
        _text(e.value(name if e.flag(f"use{title}Input") else constant))
        for name, title, constant in (("cr", "Cr", "CrConstant"), ("inclination", "Inclination", "inclinationConstant"))
    )
    way = REGULAR[str(e.full("reg"))].format(v0=_text(e.value("v0")))
    yield along.law(f"-{cr}*{_text(e.value('fWeight'))}*cos(atan({slope}))*{way}")


def _stopped(e: ModelicaComponent, along: Combination) -> Iterator[Component]:
    half = times(0.5, e.value("L"))
    low, high = added(e.value("smin"), half), added(e.value("smax"), half, -1.0)
    size = " + ".join(
        (f"{_text(e.value('F_prop'))}*v", _text(e.value("F_Coulomb")),
         f"{_text(e.value('F_Stribeck'))}*exp(-{_text(e.value('fexp'))}*v)")
    )  # fmt: skip
    yield AxesDryFriction(f"{along.name}_friction", joints=along.joints, ratios=along.ratios, sliding=size, peak=1.001)
    joint, shift = along.joints[0], along.offset
    yield TranslationalEndStop(
        f"{along.name}_stop", joint=joint, lower=added(low, shift, -1.0), upper=added(high, shift, -1.0)
    )


def _constant_speed(e: ModelicaComponent) -> Value:
    at, rate = ("phi", "w") if "Rotational" in e.kind else ("s", "v")
    begin = e.values.of(f"{e.name}.{at}", "start")
    return f"{_text(e.local(begin))} + {_text(e.value(f'{rate}_fixed'))}*time"


def _position(e: ModelicaComponent) -> Value:
    return e.value("phi_ref" if "Rotational" in e.kind else "s_ref")


def _accelerate(e: ModelicaComponent) -> Value:
    at, rate = ("phi", "w") if "Rotational" in e.kind else ("s", "v")
    a = e.value("a_ref")
    if isinstance(a, str) and "time" in a:
        raise ModelError(f"'{e.name}': an acceleration that changes in time is not read; give the motion by Position")
    begin, speed = (_text(e.local(e.values.of(f"{e.name}.{label}", "start"))) for label in (at, rate))
    return f"{begin} + {speed}*time + {_text(a)}*time**2/2"


def _speed(e: ModelicaComponent) -> Value:
    raise ModelError(f"'{e.name}': a motion given by a speed is not read; give it by Position, or use ConstantSpeed")


LAWS: dict[str, Law] = {
    **dict.fromkeys(("Spring", "Damper", "SpringDamper", "SpringDamperNoRelativeStates"), _spring),
    **dict.fromkeys(("ElastoBacklash", "ElastoBacklash2"), _backlash),
    "ElastoGap": _gap,
    **dict.fromkeys(("Clutch", "Brake", "OneWayClutch"), _clutch),
    **dict.fromkeys(("BearingFriction", "SupportFriction"), _bearing),
    **dict.fromkeys(("Torque", "Torque2"), _effort("tau")),
    **dict.fromkeys(("Force", "Force2"), _effort("f")),
    "Effort": _own,
    "RollingResistance": _rolls,
    "ConstantTorque": _effort("tau_constant"),
    "ConstantForce": _effort("f_constant"),
    **dict.fromkeys(("TorqueStep", "ForceStep"), _step),
    **dict.fromkeys(("LinearSpeedDependentTorque", "LinearSpeedDependentForce"), _by_speed(False)),
    **dict.fromkeys(("QuadraticSpeedDependentTorque", "QuadraticSpeedDependentForce"), _by_speed(True)),
}
"""Function that makes what acts along the coordinate of an element, by its class."""
ON_MASSES: dict[str, Law] = {"MassWithStopAndFriction": _stopped}
"""Function that makes what acts along the coordinate of an element with mass, by its class."""
MOTIONS: dict[str, Callable[[ModelicaComponent], Value]] = {
    "ConstantSpeed": _constant_speed,
    "Position": _position,
    "Accelerate": _accelerate,
    "Speed": _speed,
}
"""Coordinate that an element gives its flange, as a formula of time."""
Link = Callable[[ModelicaComponent], tuple[tuple[str, Value], ...]]


def _gear(e: ModelicaComponent) -> tuple[tuple[str, Value], ...]:
    ratio = e.full("ratio")
    return (("flange_a", 1.0), ("flange_b", times(-1.0, ratio)), ("support", added(ratio, 1.0, -1.0)))


def losses(e: ModelicaComponent) -> dict[str, Value]:
    """Return efficiencies and bearing frictions of a gear, by the names of `LossyGear`; none if it is ideal.

    With a row ``eta_1, eta_2, tau_1, tau_2`` of its table: ``tau_1 = eta_1 t_a + t_b / |ratio|`` while a drives, and
    ``tau_2 = t_a / eta_2 + t_b / |ratio|`` while b does.
    """
    rows = _rows(e, "lossTable", 5)
    if all(row[1:] == (1.0, 1.0, 0.0, 0.0) for row in rows):
        return {}
    for _, eta_1, eta_2, *taus in rows:
        tau_1, tau_2 = map(abs, taus)
        if not (0 < eta_1 <= 1 and 0 < eta_2 <= 1):
            raise ModelError(f"'{e.name}.lossTable': an efficiency must be above 0, and at most 1")
        if tau_1 != tau_2 if eta_1 == eta_2 == 1 else tau_1 > tau_2:
            raise ModelError(
                f"'{e.name}.lossTable': the bearing friction {tau_1:g} while flange_a drives is larger than the "
                f"{tau_2:g} while flange_b does, which bearings at both flanges cannot have"
            )
    eta_a, eta_b, of_a, of_b = (f"({_interpolated(rows, column)})" for column in (1, 2, 3, 4))
    if of_a == of_b:
        t_a = f"where({eta_a}*{eta_b} >= 1, {of_a}/2, 0)"
    else:
        t_a = f"where({eta_a}*{eta_b} >= 1, {of_a}/2, ({of_b} - {of_a})/(1/{eta_b} - {eta_a}))"
    t_b = f"abs({_text(e.value('ratio'))})*({of_a} - {eta_a}*{t_a})"
    return {"eta_a": eta_a, "eta_b": eta_b, "t_a": t_a, "t_b": t_b}


def _lossy(e: ModelicaComponent) -> tuple[tuple[str, Value], ...]:
    return () if losses(e) else _gear(e)


def _planetary(e: ModelicaComponent) -> tuple[tuple[str, Value], ...]:
    ratio = e.full("ratio")
    return (("sun", 1.0), ("ring", ratio), ("carrier", times(-1.0, added(1.0, ratio))))


def _rolling(label: str, inverse: bool) -> Link:
    def link(e: ModelicaComponent) -> tuple[tuple[str, Value], ...]:
        if e.flag("useSupportR") or e.flag("useSupportT"):
            raise ModelError(f"'{e.name}': supports of a wheel or rack are not read; leave them on the ground")
        value = e.full(label)
        return (
            (("flangeR", value), ("flangeT", -1.0)) if inverse else (("flangeR", 1.0), ("flangeT", times(-1.0, value)))
        )

    return link


LINKS: dict[str, Link] = {
    "IdealGear": _gear,
    "LossyGear": _lossy,
    "IdealPlanetary": _planetary,
    "IdealRollingWheel": _rolling("radius", True),
    "IdealGearR2T": _rolling("ratio", False),
}
"""Factors of the coordinates of an element's flanges, whose sum is zero."""
