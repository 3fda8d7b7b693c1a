"""LagrangianSystem: a system given by its energies, constraints and coordinates, as text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mbfmu.errors import ModelError, NameInUseError, UnknownNameError, nearest
from mbfmu.model.component import QuantityField, check_value, guess, is_name, never_free
from mbfmu.model.contact import Contact
from mbfmu.model.description import Description, check_items, check_texts
from mbfmu.model.expression import Expression, constant, guessed
from mbfmu.model.parameter import Parameter
from mbfmu.model.system_data import check_input_starts, check_other_names
from mbfmu.model.values import replace_values

PLURALS = {"coordinate": "coordinates", "rate": "rates"}
"""Plurals of kinds of quantities."""
REMEDIES = {
    "kinetic": "give what moves in time a coordinate of its own, and prescribe it by a row of position",
    "potential": "terms with velocities belong in kinetic or dissipation",
    "position": "an equation of velocities belongs in velocity",
}
"""Remedies for an energy or a constraint that depends on what it cannot depend on."""


@dataclass(frozen=True)
class Coordinate(Description):
    """A generalised coordinate.

    Args:
        name: an identifier; its rate is named ``der(name)``.
        unit: SI unit, ``m`` or ``rad``.
        start: start value; a `guess` leaves it free.
        rate: start value of the rate; None leaves it free.
        description: one line for the user.
    """

    name: str
    unit: str
    start: float | str = 0.0
    rate: float | None = 0.0
    description: str = ""

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise NameInUseError(
                f"'{self.name}' cannot name a coordinate: use letters (a to z, A to Z), digits and underscores"
            )
        check_value(self.name, self.begin, QuantityField(self.unit, self.description))
        if self.rate is not None:
            check_value(f"der({self.name})", self.rate, QuantityField(f"{self.unit}/s", self.description))

    @property
    def free(self) -> bool:
        """Return whether the start value is a guess, which need not be met."""
        return isinstance(self.start, str) and guessed(self.start) is not None

    @property
    def begin(self) -> float:
        """Return the start value, or the guess."""
        if not isinstance(self.start, str):
            return self.start
        inner = guessed(self.start)
        return constant(self.start if inner is None else inner)


@dataclass(frozen=True)
class LagrangianSystem(Description):
    """A system by its Lagrangian T - V.

    Texts are expressions of parameters, coordinates, their ``der(...)`` and ``time``. The equations are
    d/dt T_v - T_q + V_q + R_v + Phi_q^T lambda + G^T mu = Q.

    Args:
        name: an identifier.
        coordinates: q.
        kinetic: T, J; of degree two in the rates, with terms of degree one and none too, as in a rotating frame.
        potential: V, J.
        position: holonomic constraints, each an expression that is zero.
        velocity: nonholonomic constraints, each linear in the rates and zero.
        inputs: names of the generalised forces, by the name of the coordinate that each drives.
        parameters: the quantities that the texts refer to.
        description: one line for the user.
        stepper: name of the default stepper; empty: a stepper that suits the equations.
        input_starts: start values of inputs, by name, in SI units; the others start at 0.
        contacts: gaps that can close, and dry friction.
        names: other names, by which a user calls variables and parameters: ``{"omega": "der(phi)"}``. Texts keep the
            names above.
        dissipation: Rayleigh's R, W, whose derivative in a rate is the force against it: ``c*der(x)**2/2``.

    Raises:
        NameInUseError: two things share a name, or an input's is not an identifier.
        UnknownNameError: a text refers to a name that does not exist.
        ExpressionError: a text cannot be read.
        ModelError: there are no coordinates, or a text depends on what it cannot depend on, or not on what it has to.
    """

    name: str
    coordinates: tuple[Coordinate, ...]
    kinetic: str
    potential: str = "0"
    position: tuple[str, ...] = ()
    velocity: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    description: str = ""
    stepper: str = ""
    input_starts: Mapping[str, float] = field(default_factory=dict)
    contacts: tuple[Contact, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    dissipation: str = "0"

    def __post_init__(self) -> None:
        check_texts(self, "name", "kinetic", "potential", "dissipation", "description", "stepper")
        self._check_inputs()
        self._check_items()
        self._check_unique()
        kinds = {"time": "time"}
        kinds |= {item.name: "coordinate" for item in self.coordinates}
        kinds |= {f"der({item.name})": "rate" for item in self.coordinates}
        self._check_known(kinds)
        self._check_kinds(kinds)
        self._check_contacts(kinds)
        self._check_driven()

    def _check_inputs(self) -> None:
        """Raise an error unless inputs have names that they can have, and start values belong to inputs."""
        check_input_starts(self.input_starts)
        if not isinstance(self.inputs, Mapping):
            raise ModelError(
                f"inputs of system '{self.name}' = {self.inputs!r} must be a dictionary of names of inputs, by the "
                'coordinate that each drives, such as {"phi": "tau"}'
            )
        for name in self.inputs.values():
            if not isinstance(name, str) or not is_name(name):
                raise NameInUseError(
                    f"{name!r} cannot name an input of '{self.name}': use letters (a to z, A to Z), digits and "
                    "underscores"
                )
        for name in self.input_starts:
            if name not in self.inputs.values():
                raise UnknownNameError(
                    f"input_starts of '{self.name}': there is no input '{name}'; {nearest(name, self.inputs.values())}"
                )

    def _check_items(self) -> None:
        """Raise an error for an item of another class than its field has, or if there are no coordinates."""
        check_items(f"coordinates of system '{self.name}'", self.coordinates, Coordinate)
        if not self.coordinates:
            raise ModelError(f"system '{self.name}' has no coordinates: give it one at least")
        check_items(f"parameters of system '{self.name}'", self.parameters, Parameter)
        check_items(f"position of system '{self.name}'", self.position, str)
        check_items(f"velocity of system '{self.name}'", self.velocity, str)
        check_items(f"contacts of system '{self.name}'", self.contacts, Contact)

    def _check_unique(self) -> None:
        """Raise a `NameInUseError` if a name stands for two things."""
        seen: set[str] = {"time"}
        named = [*(item.name for item in self.parameters), *(item.name for item in self.coordinates)]
        for name in (*named, *self.inputs.values(), *(item.name for item in self.contacts)):
            if name in seen:
                raise NameInUseError(f"system '{self.name}' has two things named '{name}': rename one")
            seen.add(name)
        check_other_names(self.name, self.names, seen)

    def _check_known(self, kinds: Mapping[str, str]) -> None:
        """Raise an `UnknownNameError` for the first name in a text that nothing has.

        Args:
            kinds: time, coordinate or rate, by name.
        """
        known = {*kinds, *(item.name for item in self.parameters)}
        energies = (self.kinetic, self.potential, self.dissipation)
        texts = [(text, frozenset[str]()) for text in (*energies, *self.position, *self.velocity)]
        texts += [(item.text, frozenset(item.kinds)) for contact in self.contacts for item in contact.texts()]
        for text, more in texts:
            for name in sorted(Expression(text).names - known - more):
                raise UnknownNameError(f"'{text}' of '{self.name}': there is no '{name}'; {nearest(name, known)}")
        others = {parameter.name for parameter in self.parameters}
        for parameter in self.parameters:
            value = parameter.value
            for name in sorted(Expression(value).names - others if isinstance(value, str) else ()):
                raise UnknownNameError(
                    f"{parameter.name} = '{value}' of '{self.name}': there is no parameter '{name}'; "
                    f"{nearest(name, others)}"
                )

    def _check_contacts(self, kinds: Mapping[str, str]) -> None:
        """Raise a `ModelError` if a text of a contact depends on what it cannot depend on, or not on what it has to.

        Args:
            kinds: time, coordinate or rate, by name.
        """
        for label, item in ((contact.name, item) for contact in self.contacts for item in contact.texts()):
            names = Expression(item.text).names
            where = f"contact '{label}' of '{self.name}': {item.what} = '{item.text}'"
            for name in sorted(names & kinds.keys() - {*item.kinds}):
                if kinds[name] not in item.kinds:
                    allowed = ", ".join(("parameters", *(PLURALS.get(kind, kind) for kind in item.kinds)))
                    raise ModelError(f"{where} depends on '{name}': it may depend on {allowed} alone")
            if item.needed and item.needed not in {kinds.get(name) for name in names}:
                raise ModelError(f"{where} depends on no {item.needed}: write one into it")

    def _check_driven(self) -> None:
        """Raise an `UnknownNameError` for an input that drives no coordinate."""
        coordinates = [item.name for item in self.coordinates]
        for name in self.inputs:
            if name not in coordinates:
                raise UnknownNameError(f"an input of '{self.name}' drives '{name}'; {nearest(name, coordinates)}")

    def _check_kinds(self, kinds: Mapping[str, str]) -> None:
        """Raise a ModelError if a text depends on what it cannot depend on, or a constraint on nothing it could hold.

        Args:
            kinds: time, coordinate or rate, by name.
        """
        texts = [("kinetic", self.kinetic, "time", ""), ("potential", self.potential, "rate", "")]
        texts += [("position", text, "rate", "coordinate") for text in self.position]
        texts += [("velocity", text, "", "rate") for text in self.velocity]
        for label, text, wrong, needed in texts:
            named = {kinds[name]: name for name in sorted(Expression(text).names & kinds.keys(), reverse=True)}
            if wrong in named:
                raise ModelError(f"{label} of '{self.name}': '{text}' depends on '{named[wrong]}'; {REMEDIES[label]}")
            if needed and needed not in named:
                raise ModelError(
                    f"{label} of '{self.name}': '{text}' depends on no {needed}: write one into it, or leave it out"
                )

    def with_values(self, values: Mapping[str, Any], free: Iterable[str] = ()) -> "LagrangianSystem":
        """Return the system with some parameters, start values or inputs replaced, by name (``theta``, ``der(theta)``).

        Args:
            values: what they are to be.
            free: names of start values that need not be met: those of coordinates become guesses, and those of rates
                are left out.

        Raises:
            UnknownNameError: there is no parameter or start value of that name.
            ValueRangeError: a value is not finite or outside its bounds, or a parameter is to be free.
        """
        called, inputs = {full: name for name, full in self.names.items()}, self.inputs.values()
        driven = {self.names.get(name, name): value for name, value in values.items()}
        driven = {name: value for name, value in driven.items() if name in inputs}
        others = {
            called.get(name, name): value for name, value in values.items() if self.names.get(name, name) not in driven
        }
        system, places = replace_values(self, others, self._places()), self._places()
        if driven:
            system = replace(system, input_starts={**self.input_starts, **driven})
        for name in (called.get(name, name) for name in free):
            group, entry, label = places.get(name, ("", "", ""))
            if group == "parameters":
                raise never_free(name)
            begin = {item.name: item.begin for item in system.coordinates}.get(entry, 0.0)
            system = replace_values(system, {name: None if label == "rate" else guess(begin)}, places)
        return system

    def start_values(self) -> tuple[str, ...]:
        """Return the names of all start values."""
        return tuple(name for name, (group, _, _) in self._places().items() if group == "coordinates")

    def values(self) -> tuple[str, ...]:
        """Return the names of everything that `with_values` can replace."""
        return tuple(self._places())

    def _places(self) -> dict[str, tuple[str, str, str]]:
        places = {item.name: ("parameters", item.name, "value") for item in self.parameters}
        for item in self.coordinates:
            places[item.name] = ("coordinates", item.name, "start")
            places[f"der({item.name})"] = ("coordinates", item.name, "rate")
        called = {full: name for name, full in self.names.items()}
        return {called.get(name, name): path for name, path in places.items()}
