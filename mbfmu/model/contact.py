"""Contact: a gap that can close, dry friction, or both, of a system given by its Lagrangian, as text."""

from collections.abc import Iterator
from dataclasses import dataclass

from mbfmu.errors import ModelError, NameInUseError
from mbfmu.model.component import is_name
from mbfmu.model.description import Description
from mbfmu.model.expression import Expression

REST = 1e-10
"""Default speed of approach, m/s or rad/s, below which a gap closes for good."""


@dataclass(frozen=True)
class Contact(Description):
    """A gap that can close, dry friction along a slip, or both; texts are expressions like those of the energies.

    A gap stays at or above 0. It closes in an impact with Newton's restitution, gap' after = -restitution gap' before,
    and is pressed by a force f_n >= 0. Friction acts against the slip rate: while it slides with the force that
    `sliding` gives, while it sticks with the force that it takes, up to `static`.

    Args:
        name: an identifier; its outputs are ``name.gap``, ``name.f_n`` and so on.
        gap: of coordinates, parameters and ``time``; empty: friction alone.
        restitution: e, from 0 to 1, of parameters.
        slide: the place whose rate is the slip rate, of the same; empty: `slip` gives the rate.
        slip: slip rate, linear in the rates, where it is the rate of no place, as that of rolling in space.
        sliding: size of the friction, N or N.m, of parameters, ``speed`` (the size of the slip rate) and ``normal``.
        static: largest size while it sticks, of parameters and ``normal``; empty: `sliding` at a speed of 0.
        normal: normal force where there is no gap, of coordinates, rates and parameters.
        rest: speed of approach, m/s or rad/s, below which the gap closes for good.
        unit: SI unit of the gap, ``m`` or ``rad``.
        slip_unit: SI unit of the slip, ``m`` or ``rad``.

    Raises:
        ModelError: it has neither gap nor slip, or both `slide` and `slip`.
        NameInUseError: the name is no identifier.
    """

    name: str
    gap: str = ""
    restitution: float | str = 0.0
    slide: str = ""
    slip: str = ""
    sliding: str = ""
    static: str = ""
    normal: str = "0"
    rest: float | str = REST
    unit: str = "m"
    slip_unit: str = "m"

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise NameInUseError(
                f"'{self.name}' cannot name a contact: use letters (a to z, A to Z), digits and underscores"
            )
        if not (self.gap or self.slides):
            raise ModelError(f"contact '{self.name}' has neither a gap nor a slip: give one")
        if self.slide and self.slip:
            raise ModelError(f"contact '{self.name}' has a slide and a slip: the rate of the slide is its slip")
        if self.slides != bool(self.sliding):
            raise ModelError(f"contact '{self.name}': slip (or slide) and sliding belong together: give both or none")

    @property
    def slides(self) -> bool:
        """Return whether it has friction."""
        return bool(self.slide or self.slip)

    def texts(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield each expression, and the names it may have besides those of the system."""
        for text in (self.gap, str(self.restitution), self.slide, self.slip, self.normal, str(self.rest)):
            if text:
                yield text, frozenset()
        for text, more in ((self.sliding, {"speed", "normal"}), (self.static, {"normal"})):
            if text:
                yield text, frozenset(more)

    @property
    def limit(self) -> Expression:
        """Return the expression of the largest friction while it sticks, in which ``speed`` is 0 if it occurs."""
        return Expression(self.static or self.sliding)
