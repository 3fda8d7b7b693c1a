"""Elements of chains that take more than their own combination of axes: lossy gears, brakes with heat, adaptors."""

from collections.abc import Iterator

from mbfmu.errors import ModelError
from mbfmu.model.component import Component, Value
from mbfmu.model.contacts import LossyGear
from mbfmu.model.forces import EddyCurrentBrake
from mbfmu.model.forces.eddy_current import ROOM
from mbfmu.model.modelica.chain_laws import Combination, losses
from mbfmu.model.modelica.elements import ModelicaComponent
from mbfmu.model.modelica.linear import LinearForm, added, times
from mbfmu.model.modelica.one_dimensional import GIVING, TAKING

ZERO = 273.15
"""Zero of degrees Celsius, K."""
EDDY = frozenset({"EddyCurrentTorque", "EddyCurrentForce"})
"""Classes of brakes by eddy currents."""


def lossy_gear(
    element: ModelicaComponent, name: str, joints: tuple[str, str], shifts: tuple[Value, Value]
) -> Component:
    """Return a gear with losses.

    Args:
        element: the element.
        name: its name in the system of the joints.
        joints: names there of the joints of flange_a and flange_b.
        shifts: coordinates of the flanges where the joints are at zero.
    """
    ratio = element.full("ratio")
    return LossyGear(
        name,
        joint_a=joints[0],
        joint_b=joints[1],
        ratio=element.local(ratio),
        offset=element.local(added(times(ratio, shifts[1]), shifts[0], -1.0)),
        **losses(element),
    )


def axis_of(element: ModelicaComponent, end: str, along: LinearForm) -> str:
    """Return the joint whose axis a flange of a gear with losses is.

    Args:
        element: the gear.
        end: name of its flange.
        along: coordinate of the flange as a combination of axes.

    Raises:
        ModelError: it is the axis of none.
    """
    joint = next(iter(along.terms), "")
    if list(along.terms.values()) != [1.0] or joint.startswith(" "):
        raise ModelError(f"'{element.name}.{end}', of a gear with losses, must turn an inertia: connect one")
    return joint


def eddy_brake(element: ModelicaComponent, along: Combination, beside: list[ModelicaComponent]) -> Iterator[Component]:
    """Yield a brake by eddy currents, with the heat capacity that its heat port is connected to.

    Args:
        element: the element.
        along: combination of axes that it acts along.
        beside: the elements that its heat port is connected to.

    Raises:
        ModelError: they are not a single capacity, and none of them holds the temperature.
    """
    size, speed = ("tau", "w") if "Rotational" in element.kind else ("f", "v")
    T_ref, alpha = element.value("TRef"), element.value("alpha20")
    heat: dict[str, Value] = {"T": element.value("T")}
    if element.flag("useHeatPort"):
        kinds = {item.kind.rpartition(".")[2]: item for item in beside}
        if fixed := kinds.get("FixedTemperature"):
            heat = {"T": element.local(added(fixed.full("T"), ZERO if "Celsius" in fixed.kind else 0.0))}
        elif set(kinds) == {"HeatCapacitor"} and len(beside) == 1:
            start = beside[0].values.of(f"{beside[0].name}.T", "start")
            heat = {"T": element.local(ROOM if start == 0.0 else start), "C": element.local(beside[0].full("C"))}
        else:
            raise ModelError(
                f"'{element.name}': its temperature counts, and is read from one HeatCapacitor or FixedTemperature: "
                "connect 'heatPort' to one of these"
            )
    yield EddyCurrentBrake(
        along.name,
        joints=along.joints,
        ratios=along.ratios,
        peak=element.value(f"{size}_nominal"),
        v_peak=element.value(f"{speed}_nominal"),
        alpha=f"({alpha})/(1 + ({alpha})*(({T_ref}) - {ROOM}))",
        T_ref=T_ref,
        **heat,
    )


def adaptor_pairs(
    elements: dict[str, ModelicaComponent], signals: dict[str, list[str]]
) -> Iterator[tuple[ModelicaComponent, ModelicaComponent]]:
    """Yield pairs of adaptors whose signals are connected to each other: their flanges move as one.

    Args:
        elements: all elements, by their names.
        signals: the set of connected signals that each is in.

    Raises:
        ModelError: the signals of an adaptor lead elsewhere.
    """
    giving = {name: item for name, item in elements.items() if item.kind in GIVING}
    taking = {name: item for name, item in elements.items() if item.kind in TAKING}
    paired: set[str] = set()
    for name, item in taking.items():
        at, effort = TAKING[item.kind]
        others = [
            other
            for other, found in giving.items()
            if f"{other}.{GIVING[found.kind][0]}" in signals.get(f"{name}.{at}", ())
            and f"{other}.{GIVING[found.kind][1]}" in signals.get(f"{name}.{effort}", ())
        ]
        if len(others) == 1 and others[0] not in paired:
            paired |= {name, others[0]}
            yield giving[others[0]], item
    for name in (*giving, *taking):
        if name not in paired:
            raise ModelError(
                f"'{name}' is read only where its signals go to one adaptor of the other kind: connect both "
                "the coordinate and the force or torque to it"
            )
