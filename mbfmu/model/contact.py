"""Contact: a gap that can close, dry friction, or both, of a system given by its Lagrangian, as text."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple, TypeAlias, get_args

from mbfmu.errors import ModelError, NameInUseError
from mbfmu.model.component import QuantityField, check_value, is_name
from mbfmu.model.description import Description
from mbfmu.model.expression import Expression, constant

REST = 1e-10
"""Default speed of approach, m/s or rad/s, below which a gap closes for good."""
ImpactLaw: TypeAlias = Literal["newton", "poisson", "sequence"]
"""A law of restitution: Newton's for the speeds before and after an impact, Poisson's for the impulses of its
compression and expansion, or Newton's for one contact after the other."""
NUMBERS = {
    "restitution": QuantityField("1", "restitution", min=0, max=1),
    "tangential": QuantityField("1", "tangential restitution", min=-1, max=1),
    "rest": QuantityField("m/s or rad/s", "speed of rest", min=0),
}
"""Units and bounds of the fields that may be numbers."""
UNITS = ("m", "rad")
"""Units of gaps and slips."""
TEXTS = {
    "gap": ("coordinate", "time"),
    "slide": ("coordinate", "time"),
    "slip": ("coordinate", "rate", "time"),
    "normal": ("coordinate", "rate", "time"),
    "sliding": ("speed", "normal", "time"),
    "static": ("normal", "time"),
    "strength": ("time",),
    "pull": ("time",),
    "restitution": (),
    "tangential": (),
    "rest": (),
}
"""Kinds of quantities that each expression may depend on, besides parameters."""
NEEDED = {"gap": "coordinate", "slide": "coordinate", "slip": "rate"}
"""Kind of quantity that an expression has to depend on."""


class ContactText(NamedTuple):
    """An expression of a contact.

    Args:
        what: name of the field.
        text: the expression.
        kinds: what it may depend on, besides parameters: ``coordinate``, ``rate``, ``time``, ``speed`` or ``normal``.
        needed: which of these it has to depend on; empty: none.
    """

    what: str
    text: str
    kinds: tuple[str, ...]
    needed: str


@dataclass(frozen=True)
class Contact(Description):
    """A gap that can close, dry friction along a slip, or both; texts are expressions like those of the energies.

    A gap stays at or above 0. It closes in an impact with Newton's restitution, gap' after = -restitution gap' before,
    and is pressed by a force f_n >= 0; with a pull it holds, f_n >= -pull. Friction acts against the slip velocity:
    while it slides with the force that `sliding` gives, while it sticks with the force that it takes, up to `static`.
    With a strength, the slide is held from the start, and let go for good by a larger force.

    Args:
        name: an identifier; its outputs are ``name.gap``, ``name.f_n`` and so on.
        gap: of coordinates, parameters and ``time``; empty: friction alone.
        restitution: e, from 0 to 1, of parameters.
        pull: force, N or N.m, up to which the gap holds once it is closed, of parameters and ``time``; below 0 counts
            as 0. It presses on the friction, whose ``normal`` is f_n + pull then.
        impact_law: ``newton``; ``poisson``, where e is that of the impulses of expansion and compression; or
            ``sequence``, Newton's for one gap after the other.
        tangential: tangential restitution, from -1 to 1, of parameters: what sticks in an impact by Newton's law leaves
            it with the slip velocity -tangential times that before.
        slide: the place whose rate is the slip velocity, of the same; empty: `slip` gives the rate.
        slip: slip velocity, linear in the rates, where it is the rate of no place, as that of rolling in space.
        sliding: size of the friction, N or N.m, of parameters, ``speed`` (the size of the slip velocity) and
            ``normal``.
        static: largest size while it sticks, of parameters and ``normal``; empty, or less than that: `sliding` at a
            speed of 0.
        strength: force or torque, N or N.m, beyond which what holds the slide breaks, of parameters and ``time``; in
            place of `sliding`.
        normal: normal force where there is no gap, of coordinates, rates, parameters and ``time``; below 0 it presses
            on the other side, as hard.
        rest: speed of approach, m/s or rad/s, below which the gap closes for good.
        unit: SI unit of the gap, ``m`` or ``rad``.
        slip_unit: SI unit of the slip, ``m`` or ``rad``.

    Raises:
        ModelError: it has neither gap nor slip, both `slide` and `slip`, or something that needs what it does not have;
            or a number or unit is none that a contact can have.
        NameInUseError: the name is no identifier.
        ExpressionError: the size of a friction cannot be read.
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
    pull: float | str = 0.0
    impact_law: ImpactLaw = "newton"
    tangential: float | str = 0.0
    strength: str = ""

    def __post_init__(self) -> None:
        self._check_fields()
        self._check_parts()
        self._check_sizes()
        self._check_gap()

    def _check_fields(self) -> None:
        """Raise an error for the first field that is not of its type, unit or range."""
        if not is_name(self.name):
            raise NameInUseError(
                f"'{self.name}' cannot name a contact: use letters (a to z, A to Z), digits and underscores"
            )
        for label in ("gap", "slide", "slip", "sliding", "static", "normal", "strength"):
            text = getattr(self, label)
            if not isinstance(text, str):
                raise ModelError(
                    f"contact '{self.name}': {label} = {text!r} is not text: give an expression, such as \"x\""
                )
        for label in ("unit", "slip_unit"):
            if getattr(self, label) not in UNITS:
                raise ModelError(f"contact '{self.name}': {label} = {getattr(self, label)!r}; take 'm' or 'rad'")
        for label, declared in NUMBERS.items():
            check_value(f"{label} of contact '{self.name}'", getattr(self, label), declared)

    def _check_parts(self) -> None:
        """Raise a `ModelError` unless it has a gap or a slip, and all that belongs to these and nothing else."""
        if not (self.gap or self.slides):
            raise ModelError(f"contact '{self.name}' has neither a gap nor a slip: give one")
        if self.slide and self.slip:
            raise ModelError(f"contact '{self.name}' has a slide and a slip: the rate of the slide is its slip")
        if self.strength and (self.gap or self.sliding or self.static):
            raise ModelError(
                f"contact '{self.name}': what has a strength holds its slide until it breaks; leave gap, sliding and "
                "static to another contact"
            )
        if self.slides != bool(self.sliding or self.strength):
            raise ModelError(f"contact '{self.name}': slip (or slide) and sliding belong together: give both or none")

    def _check_sizes(self) -> None:
        """Raise a `ModelError` if there is no such law of impact, or a force is below zero."""
        if self.impact_law not in get_args(ImpactLaw):
            known = " or ".join(f"'{law}'" for law in get_args(ImpactLaw))
            raise ModelError(f"contact '{self.name}': impact_law is '{self.impact_law}'; take {known}")
        if not isinstance(self.pull, str) and not 0 <= self.pull < inf:
            raise ModelError(f"contact '{self.name}': a pull of {self.pull} is none; give 0 or a positive number")
        for label in ("sliding", "static", "strength"):
            text = getattr(self, label)
            if text and not Expression(text).names and constant(text) < 0:
                raise ModelError(f"contact '{self.name}': {label} = '{text}' would drive what slides; give 0 or more")

    def _check_gap(self) -> None:
        """Raise a `ModelError` if it states what its gap gives, or what only a gap can have."""
        if self.gap and self.normal != "0":
            raise ModelError(f"contact '{self.name}': its gap gives the normal force; leave normal out")
        if self.pull != 0 and not self.gap:
            raise ModelError(f"contact '{self.name}': a pull holds a gap, and there is none: give the gap too")
        if self.tangential != 0 and not (self.gap and self.slides and self.impact_law == "newton"):
            raise ModelError(
                f"contact '{self.name}': a tangential restitution takes a gap with friction and Newton's law"
            )

    @property
    def slides(self) -> bool:
        """Return whether it has friction."""
        return bool(self.slide or self.slip)

    def texts(self) -> Iterator[ContactText]:
        """Yield each expression, and what it may depend on."""
        for label, kinds in TEXTS.items():
            text = str(getattr(self, label))
            if text:
                yield ContactText(label, text, kinds, NEEDED.get(label, ""))

    @property
    def limit(self) -> Expression:
        """Return the expression of the largest friction while it sticks, in which ``speed`` is 0 if it occurs."""
        return Expression(self.strength or self.static or self.sliding)
