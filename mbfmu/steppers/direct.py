"""direct: the explicit Runge-Kutta method of order 4 on the index-1 form."""

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.formula import Formula
from mbfmu.steppers.scheme import Family, Problem, Scheme


def direct(dae: Dae) -> Scheme:
    """Integrate (q, v) with accelerations from the KKT system (Hong & Liu, survey, the direct method).

    The constraints are met at the level of accelerations only: Phi drifts, about quadratically in time.
    """
    problem = Problem(dae, ca.MX)
    n, t, h = problem.n, problem.t, problem.h
    x = ca.MX.sym("x", 2 * n)

    def rate(y: ca.MX, t: ca.MX) -> ca.MX:
        return ca.vertcat(y[n:], problem.acceleration(y[:n], y[n:], t)[0])

    k1 = rate(x, t)
    k2 = rate(x + h / 2 * k1, t + h / 2)
    k3 = rate(x + h / 2 * k2, t + h / 2)
    k4 = rate(x + h * k3, t + h)
    x1 = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return Scheme(
        name="direct",
        options={},
        order=4,
        exact=frozenset(),
        begin=Formula(x, problem.given, (), x),
        step=Formula(x, problem.given, (), x1),
        read=ca.Function("read", [x, problem.p, t], [x[:n], x[n:]]),
    )


FAMILY = Family(
    name="direct",
    make=direct,
    order="4",
    preserves="nothing: the constraints drift",
    needs="any model",
    source="Hong & Liu, survey, section on type II equations",
)
