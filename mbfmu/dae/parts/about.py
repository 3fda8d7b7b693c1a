"""The words for a user about equations, beside their signals."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """The role of a joint in the equations.

    Args:
        joint: its full name.
        carries: whether its motions are coordinates; else all its equations are constraints.
        rows: number of its equations among the constraints, redundant ones included.
        reason: why, in a few words.
    """

    joint: str
    carries: bool
    rows: int
    reason: str


@dataclass(frozen=True)
class About:
    """Names by which reports and messages speak of equations.

    Args:
        other_names: pairs of the name that the model gives a variable and its full dotted name.
        flexible: full name of each flexible body and line, and the indices in q of the coordinates of its shape.
        pressed: names of the inputs through which forces act that depend on multipliers, if they are solved for.
        ends: what may end a motion, in clauses with names of joints.
        roles: which joints carry coordinates, and which are constraints.
    """

    other_names: tuple[tuple[str, str], ...] = ()
    flexible: tuple[tuple[str, tuple[int, ...]], ...] = ()
    pressed: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
