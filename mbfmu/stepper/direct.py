"""direct: explicit methods on the index-1 form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from mbfmu.dae.dae import Dae
from mbfmu.stepper.bashforth import bashforth
from mbfmu.stepper.explicit import METHOD_TEXT, explicit_scheme
from mbfmu.stepper.scheme import SX, Choice, Family, Problem, Scheme, option

SUBSTEPS = 6
"""Number of substeps of a step of `ab7`, each with one acceleration: a step costs as much as one of `dopri5`."""


def direct(dae: Dae, method: str = "rk4") -> Scheme:
    """Return the scheme with accelerations from the KKT system (Hong & Liu, survey, the direct method).

        [M C^T; C 0] [a; lambda] = [force; gamma],    C = [Phi_q; G]

    It integrates (q, v, z). The constraints are met at the level of accelerations only: Phi drifts, about quadratically
    in time.

    Args:
        dae: the equations.
        method: ``rk4`` (Runge-Kutta, order 4), ``abm4`` (Adams-Bashforth-Moulton of order 4 with modifier: two
            accelerations for each step, order 5, and 4 while the step changes; needs smooth inputs), ``dopri5``
            (Dormand-Prince, order 5), ``ab7`` (Adams-Bashforth in six substeps, order 7; needs smooth inputs and
            little damping).
    """
    if method == "ab7":
        return bashforth("direct", {"method": method}, dae, SUBSTEPS)

    def acceleration_of(problem: Problem) -> Callable[[SX, SX, SX, SX], SX]:
        return lambda q, v, z, t: problem.acceleration(q, v, z, t)[0]

    return explicit_scheme("direct", {"method": method}, dae, method, acceleration_of)


@dataclass(frozen=True)
class Direct(Choice):
    """The stepper `direct` with its options.

    Args:
        method: `rk4` (default), `abm4`, `dopri5` or `ab7`; the explicit method.
    """

    name: ClassVar[str] = "direct"
    method: Literal["rk4", "abm4", "dopri5", "ab7"] = option("rk4", METHOD_TEXT)


FAMILY = Family(
    choice=Direct,
    make=direct,
    states=True,
    order="4 (rk4), 5 (abm4, dopri5), 7 (ab7)",
    preserves="nothing: the constraints drift",
    needs="any model; abm4, ab7: smooth inputs",
    source="Hong & Liu, survey, section on type II equations; ab7: Hairer, Norsett & Wanner, III.1",
)
