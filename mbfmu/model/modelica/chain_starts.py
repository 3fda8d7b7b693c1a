"""Start values of chains of flanges, of masses and of relative coordinates, as the joints have them."""

from collections.abc import Callable

from mbfmu.model.component import Value
from mbfmu.model.expression import guessed
from mbfmu.model.modelica.elements import ModelicaComponent
from mbfmu.model.modelica.library import CLASSES
from mbfmu.model.modelica.linear import LinearForm, added, inverse, times

Known = dict[tuple[str, str], Value]
"""Start values by joint and name of its coordinate or velocity."""


class Starts:
    """The start values of a chain.

    Attributes:
        begins: name and value of each, with the combination of axes that it is of.
        loose: velocities whose starts are not fixed, which others must decide.
        coupled: combinations of axes that gears keep at 0.
    """

    def __init__(self) -> None:
        self.begins: list[tuple[str, LinearForm, Value]] = []
        self.loose: list[tuple[ModelicaComponent, str, LinearForm]] = []
        self.coupled: list[LinearForm] = []

    def keep(self, element: ModelicaComponent, along: LinearForm) -> None:
        """Keep the start values of an element whose coordinate is a combination of axes."""
        for label, _ in CLASSES[element.kind].states:
            element.scope = ""
            if label.startswith(("v", "w")) and element.is_loose(label):
                self.loose.append((element, label, along))
                continue
            value = element.start(label)
            if value is not None:
                self.begins.append((label.removesuffix("_rel"), along, value))

    def decided(self, resolved: Callable[[LinearForm], LinearForm], at: Callable[[str], None]) -> Known:
        """Return the start values of the joints.

        Args:
            resolved: function that writes a combination in axes of joints.
            at: function that keeps where an element is declared, for messages.

        Raises:
            ModelError: nothing decides a velocity whose start is not fixed.
        """
        known: Known = {}
        left = [(label, resolved(total), value) for label, total, value in self.begins]
        while left:
            later = []
            for label, total, value in left:
                rate = label in {"w", "v"}
                unknown = [joint for joint in total.terms if (joint, label) not in known]
                if len(unknown) == 1 and not _is_guess(value):
                    rest: Value = value if rate else added(value, total.constant, -1.0)
                    for joint, factor in total.terms.items():
                        if joint != unknown[0]:
                            rest = added(rest, times(factor, known[joint, label]), -1.0)
                    known[unknown[0], label] = times(rest, inverse(total.terms[unknown[0]]))
                elif len(unknown) > 0:
                    later.append((label, total, value))
            if len(later) == len(left):
                break
            left = later
        for label, total, value in left:
            if len(total.terms) == 1 and _is_guess(value):
                known.setdefault((next(iter(total.terms)), label), value)
        for element, label, along in self.loose:
            if set(resolved(along).terms) - self.following({joint for joint, given in known if given == label[0]}):
                at(element.name)
                raise element.unfixed(label)
            element.notices.append(f"the start of '{element.name}.{label}' is left out: others decide it")
        return known

    def following(self, joints: set[str]) -> set[str]:
        """Return some joints, and all whose velocities follow from theirs through gears."""
        before = -1
        while len(joints) > before:
            before = len(joints)
            for total in self.coupled:
                left = set(total.terms) - joints
                joints = joints | left if len(left) == 1 else joints
        return joints


def _is_guess(value: Value) -> bool:
    return isinstance(value, str) and guessed(value) is not None
