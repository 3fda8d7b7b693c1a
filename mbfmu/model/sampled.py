"""Sampled: a block that computes at equal intervals of time, and holds its values in between."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mbfmu.errors import ModelError, UnknownNameError, ValueRangeError, nearest
from mbfmu.model.block import Block
from mbfmu.model.component import QuantityField, Value, check_value
from mbfmu.model.description import Description, check_items
from mbfmu.model.expression import Expression

SHORTEST_PERIOD = 1e-9
"""Shortest period of a sampled block, s."""
TIMING = {
    "period": QuantityField("s", "interval between two sampling instants", min=SHORTEST_PERIOD),
    "offset": QuantityField("s", "time of the first sampling instant", min=0.0),
}
"""Units and bounds of period and offset."""


@dataclass(frozen=True)
class Sampled(Description):
    """A block whose defined quantities are computed at the times ``offset + n period``, and held in between.

    Its expressions may refer to ``previous(x)``, the value of an input or defined quantity x at the last sampling: with
    it a text is a difference equation, such as ``I = previous(I) + K*period*e``. Before the first sampling everything
    has its start value. What is computed at a sampling acts from that instant on.

    Args:
        block: the block; it has no states with rates.
        period: interval, s: a number, or an expression of the block's parameters.
        offset: time of the first sampling instant, s, likewise.

    Raises:
        ModelError: the block has states with rates.
        UnknownNameError: period or offset refers to something else than parameters of the block.
        ValueRangeError: a number is outside its bounds.
    """

    block: Block
    period: Value
    offset: Value = 0.0

    def __post_init__(self) -> None:
        check_items(f"block of a {type(self).__name__}", (self.block,), Block)
        name, known = self.block.name, [item.name for item in self.block.parameters]
        for label, declared in TIMING.items():
            value = getattr(self, label)
            check_value(f"{name}: {label}", value, declared)
            for other in sorted(Expression(value).names - {*known}) if isinstance(value, str) else ():
                raise UnknownNameError(
                    f"{label} = '{value}' of '{name}': there is no parameter '{other}'; {nearest(other, known)}"
                )
        if self.block.states:
            state = self.block.states[0].name
            raise ModelError(
                f"sampled block '{name}' has the rate der({state}), but nothing moves between two sampling "
                "instants: write "
                f"a difference equation, such as {state} = previous({state}) + period*rate"
            )

    @property
    def name(self) -> str:
        """Return the name of the block."""
        return self.block.name

    @property
    def description(self) -> str:
        """Return the description of the block."""
        return self.block.description

    @property
    def stepper(self) -> str:
        """Return the name of the block's default stepper."""
        return self.block.stepper

    def with_values(self, values: Mapping[str, Any], free: Iterable[str] = ()) -> "Sampled":
        """Return the block with some parameters, or values before the first sampling, replaced, see `Block`."""
        of_block = {item.name for item in self.block.defined}
        for name in free:
            raise ValueRangeError(f"'{name}' cannot be free: '{self.name}' is a block, whose start values determine it")
        places = {name: value for name, value in values.items() if name in of_block}
        defined = tuple(
            replace(item, start=places[item.name]) if item.name in places else item for item in self.block.defined
        )
        rest = {name: value for name, value in values.items() if name not in of_block}
        return replace(self, block=replace(self.block, defined=defined).with_values(rest))

    def start_values(self) -> tuple[str, ...]:
        """Return the names of all start values."""
        return tuple(item.name for item in self.block.defined)

    def values(self) -> tuple[str, ...]:
        """Return the names of everything that `with_values` can replace."""
        return (*self.block.values(), *self.start_values())


def block_of(block: Block | Sampled) -> Block:
    """Return the block itself of a block that may be sampled."""
    return block.block if isinstance(block, Sampled) else block
