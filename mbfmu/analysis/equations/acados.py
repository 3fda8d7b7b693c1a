"""The fields of a model of acados, and the problem of CasADi's integrators."""

from typing import Any

import casadi as ca

from mbfmu.analysis.equations.functions import EquationFunctions
from mbfmu.errors import UsageError


def acados_model(equations: EquationFunctions, name: str) -> Any:
    """Return the model of acados, see `ModelEquations.to_acados`."""
    try:
        from acados_template import AcadosModel
    except ImportError:
        raise UsageError(
            "a model of acados needs its Python interface, acados_template, which comes with acados; "
            "ModelEquations.acados_fields gives the expressions without it"
        ) from None
    model = AcadosModel()
    for field, value in acados_fields(equations, name).items():
        setattr(model, field, value)
    return model


def acados_fields(equations: EquationFunctions, name: str) -> dict[str, Any]:
    """Return the fields by name, see `ModelEquations.acados_fields`."""
    if not name.isidentifier():
        raise UsageError(f"'{name}' is not a name of a model of acados: letters, digits and underscores only")
    sizes, names = equations.sizes, equations.names
    x, xdot, z, u, p = (
        ca.SX.sym(label, sizes[size])
        for label, size in (("x", "x"), ("xdot", "x"), ("z", "lambda_"), ("u", "u"), ("p", "p"))
    )
    t = ca.SX.sym("t")
    fields = {
        "name": name, "x": x, "xdot": xdot, "z": z, "u": u, "p": p, "t": t,
        "f_impl_expr": equations.residual(xdot, x, z, u, p, t),
        "x_labels": list(names["x"]), "u_labels": list(names["u"]), "t_label": "t [s]",
    }  # fmt: skip
    return {**fields, "f_expl_expr": equations.rhs(x, u, p, t)} if equations.is_ode else fields


def semi_explicit(equations: EquationFunctions) -> dict[str, Any]:
    """Return the problem of a CasADi integrator by its parts, see `ModelEquations.to_casadi`."""
    dae, (q, v, z, u, p, t) = equations.dae, equations.inner
    problem = {"x": equations.x, "u": u, "p": equations.symbols[4], "t": t}
    if equations.is_ode:
        return {**problem, "ode": equations.rhs(equations.x, u, problem["p"], t)}
    a, lambda_ = ca.SX.sym("a", dae.n), ca.SX.sym("lambda_", dae.m + dae.k)
    rate = ca.vertcat(v, a, dae.equations.flow(q, v, z, u, p, t))
    residual = equations.residual(rate, equations.x, lambda_, u, problem["p"], t)
    n_x = equations.x.numel()
    rows = [*range(dae.n, 2 * dae.n), *range(n_x, n_x + dae.m + dae.k)]
    return {**problem, "z": ca.vertcat(a, lambda_), "ode": rate, "alg": residual[rows]}
