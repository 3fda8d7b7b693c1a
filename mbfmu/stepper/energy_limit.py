"""The limit of the energy after a step: no more than there was before, and what was put in meanwhile."""

from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.modes import Rows
from mbfmu.dae.linear_algebra.merged import merged


def energy_limit(dae: Dae) -> Any:
    """Return the Function that slows a motion which would gain energy from contacts; None if something drives them.

    With the power W of inputs and losses at the means m over the step,

        v_1 = s v_1*,    s^2 = (T_0 + V_0 - V(q_1) + h W_m) / T(q_1, v_1*),    s <= 1

    Laws of contacts and joints that nothing drives are homogeneous in the rates and hold for s v_1*, too. Where
    even rest at q_1 would store too much, the step ends at rest where it began. So the energy never grows.

    Function: (q, v, z_m, q_1, v_1*, u_m, p, t, h) -> q_1, v_1, shapes (n,).

    Args:
        dae: the equations, with gaps or frictions.
    """
    if dae.energies.power is None:
        return None
    q, v, z, u, p, t = dae.symbols()
    rows = Rows(dae, q, v, p, t)
    if not ca.vertcat(dae.constraints.Phi_t(q, p, t), dae.constraints.g(q, p, t), rows.gap_t, rows.slip_0).is_zero():
        return None
    q_1, v_1, h = ca.SX.sym("q_1", dae.n), ca.SX.sym("v_1", dae.n), ca.SX.sym("h")
    supplied = h * dae.energies.power((q + q_1) / 2, (v + v_1) / 2, z, u, p, t + h / 2)
    raised = dae.energies.potential(q_1, p, t + h) - dae.energies.potential(q, p, t)
    T_1, most = dae.energies.kinetic(q_1, v_1, p), dae.energies.kinetic(q, v, p) - raised + supplied
    s = ca.if_else(most < T_1, ca.sqrt(ca.fmax(0, most) / ca.if_else(T_1 > 0, T_1, 1)), 1)
    results = [ca.if_else(most < 0, q, q_1), s * v_1]
    return merged("energy_limit", [q, v, z, q_1, v_1, u, p, t, h], [ca.densify(item) for item in results])
