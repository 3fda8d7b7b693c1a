"""Composite: a component made of others, for what is bought and thought of as one thing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mbfmu.model.component import Component

MAIN = ""
"""Name, in a composite, of the component that has the composite's own name: `lift.s` is the `s` of its main part."""


class Inside(NamedTuple):
    """The components of a composite and how they are connected.

    Args:
        components: by name within the composite; one may be `MAIN`. Their expressions refer to the composite's
            quantities.
        connections: pairs of frames of these components, each the name of a component, a dot and a frame.
        ends: for each frame of the composite, the inner frame that it is.
    """

    components: Mapping[str, Component]
    connections: tuple[tuple[str, str], ...]
    ends: Mapping[str, str]


@dataclass(frozen=True)
class Composite(Component):
    """Base of components made of others: override `frames` and `inside`."""

    def inside(self, planar: bool) -> Inside:
        """Return the components, connections and ends, in a planar or a spatial system."""
        raise NotImplementedError
