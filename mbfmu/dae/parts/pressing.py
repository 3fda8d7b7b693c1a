"""Forces that depend on the multipliers of constraints."""

from dataclasses import dataclass

from casadi import Function


@dataclass(frozen=True)
class Pressing:
    """Forces that depend on the multipliers of constraints, and act through inputs until they are solved for.

    Args:
        inputs: indices of these inputs.
        law: Function (q, v, z, u, p, t, lambda_) -> these inputs, shape (number of inputs,); whatever u says of them.
    """

    inputs: tuple[int, ...]
    law: Function
