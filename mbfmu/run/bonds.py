"""Bonds of a coupling: pairs of an effort one way and a rate the other way, and the energy that errors put into them.

What one FMU gives through a bond, effort times rate as this FMU has them, the other one should take. Between two
communication points each of them computes with what it knows of the other, so that both powers differ: the difference
is the power residual, and its integral is energy that the coupling makes out of nothing, or takes away (Sadjina,
Kyllingstad, Skjong & Pedersen, Energy conservation and power bonds in co-simulations, Eng. Comput. 33, 2017).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mbfmu.fmu.ssp import Wire

RATES = {"N": "m/s", "N.m": "rad/s"}
"""Units of the rate that makes a power with an effort, by the effort's unit."""
MADE = 0.01
"""Part of the exchanged energy from which energy that a coupling makes gives a notice."""
AT_REST = 1e-9
"""Displacement, m or rad, over which the largest effort does the least work that gives a notice."""

Ends = tuple[float, float]
"""Values of a quantity at the beginning and at the end of a step."""


@dataclass(frozen=True)
class Bond:
    """A pair of connections that carries power: an effort goes one way, the rate of its axis the other.

    Args:
        effort: the connection of the effort, N or N.m.
        rate: the connection of the rate, m/s or rad/s, from the FMU that takes the effort to the one that gives it.
    """

    effort: Wire
    rate: Wire

    @property
    def gain(self) -> float:
        """Ratio of the power taken to the product of the effort and the rate of the FMU that gives."""
        return self.effort.scale / self.rate.scale

    def __str__(self) -> str:
        return f"{self.effort.start} -> {self.effort.end}"


@dataclass(frozen=True)
class BondEnergy:
    """The energy that went through a bond.

    Args:
        bond: the bond.
        made: energy that the coupling has made out of nothing until each time, J, shape (n_t,); negative: taken away.
        exchanged: energy that has gone through the bond, to and fro, until each time, J, shape (n_t,).
        least: least energy that is noticed, J.
    """

    bond: Bond
    made: npt.NDArray[np.float64]
    exchanged: npt.NDArray[np.float64]
    least: float

    @property
    def farthest(self) -> float:
        """The made energy where it is largest, J."""
        return float(self.made[np.abs(self.made).argmax()])

    @property
    def noticeable(self) -> bool:
        """Whether the made energy is a noticeable part of the exchanged energy."""
        return abs(self.farthest) > max(MADE * float(self.exchanged[-1]), self.least)


class Tally:
    """The energy that goes through a bond, step by step."""

    def __init__(self, bond: Bond) -> None:
        self.bond = bond
        self.sums = (0.0, 0.0, 0.0)  # energy made, energy exchanged, largest effort

    def add(self, size: float, effort: Ends, rate_known: Ends, rate: Ends, effort_known: Ends) -> None:
        """Add a step in which all quantities change linearly.

        Args:
            size: length of the step, s.
            effort: effort of the FMU that gives.
            rate_known: rate that this FMU computes with.
            rate: rate of the FMU that takes.
            effort_known: effort that this FMU computes with.
        """
        made, exchanged, largest = self.sums
        taken = _work(effort_known, rate, size)
        made += taken - self.bond.gain * _work(effort, rate_known, size)
        self.sums = made, exchanged + abs(taken), max(largest, *map(abs, effort_known))


def _work(one: Ends, other: Ends, size: float) -> float:
    """Return the integral of the product of two quantities that change linearly."""
    (a, b), (c, d) = one, other
    return size * (2 * a * c + a * d + b * c + 2 * b * d) / 6


def bonds_of(wires: Iterable[Wire], unit: Callable[[str], str]) -> tuple[Bond, ...]:
    """Return the bonds among connections.

    An effort and a rate that go to and fro between two FMUs are a bond if they belong to one joint or port of either
    FMU by their names, as ``rail.f`` and ``rail.v`` do, or if there is no other effort or rate between these two FMUs
    that they could belong to.

    Args:
        wires: the connections.
        unit: function that returns the unit of ``component.variable``.
    """
    # wires that carry an effort, and those that carry a rate
    wires = [wire for wire in wires if wire.scale]
    efforts = [(wire, RATES[kind]) for wire in wires if (kind := _unit(wire, unit, RATES))]
    rates = [(wire, kind) for wire in wires if (kind := _unit(wire, unit, RATES.values()))]
    bonds: dict[str, Bond] = {}

    def pair(fits: Callable[[Wire, Wire], bool]) -> None:
        taken = {bond.rate.end for bond in bonds.values()}
        for effort, kind in efforts:
            back = [
                rate
                for rate, other in rates
                if kind == other and _opposite(effort, rate) and rate.end not in taken and fits(effort, rate)
            ]
            rivals = [
                other
                for other, its in efforts
                if its == kind
                and other.end not in bonds
                and back
                and _opposite(other, back[0])
                and fits(other, back[0])
            ]
            if effort.end not in bonds and len(back) == 1 and len(rivals) == 1:
                bonds[effort.end] = Bond(effort, back[0])
                taken.add(back[0].end)

    # pairs back and forth between two FMUs: first those of one port, then those left without a rival
    pair(lambda effort, rate: _port(effort.end) == _port(rate.start))
    pair(lambda effort, rate: _port(effort.start) == _port(rate.end))
    pair(lambda effort, rate: True)  # noqa: ARG005
    return tuple(bonds[wire.end] for wire, _ in efforts if wire.end in bonds)


def _unit(wire: Wire, unit: Callable[[str], str], known: Iterable[str]) -> str:
    """Return the unit of a connection if it is a known one, else an empty text; one end may be without a unit."""
    return next((item for item in (unit(wire.end), unit(wire.start)) if item in known), "")


def _opposite(one: Wire, other: Wire) -> bool:
    """Return whether two connections lead to and fro between two components."""
    ends = (_component(one.start), _component(one.end))
    return ends == (_component(other.end), _component(other.start)) and ends[0] != ends[1]


def _component(text: str) -> str:
    return text.partition(".")[0]


def _port(text: str) -> str:
    return text.rpartition(".")[0]
