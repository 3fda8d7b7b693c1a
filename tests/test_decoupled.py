"""Nodes of `radau` that are decoupled by the eigenvalues of A^-1."""

from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import both_kernels

import mbfmu
from mbfmu.kernel import vector
from mbfmu.kernel.runtime import OK
from mbfmu.prepared.prepare import prepare
from mbfmu.stepper.decoupled import connected, eigen
from mbfmu.stepper.tableaus import gauss_tableau, radau_tableau


@pytest.mark.parametrize("tableau", [radau_tableau, gauss_tableau])
@pytest.mark.parametrize("s", [1, 2, 3, 4, 5])
def test_an_inverse_tableau_has_one_eigenvalue_for_odd_s_and_pairs_beside_it(tableau: Any, s: int) -> None:
    D = np.linalg.inv(tableau(s)[0])
    gamma, T = eigen(D)
    assert [value.imag < 0 for value in gamma] == [False] * (s % 2) + [True] * (s // 2)
    found = np.concatenate([[value, value.conjugate()] if value.imag else [value] for value in gamma])
    assert np.sort_complex(found) == pytest.approx(np.sort_complex(np.linalg.eigvals(D)), rel=1e-12)
    column = 0
    for value in gamma:  # D (a - i b) = gamma (a - i b)
        vector = T[:, column] - 1j * T[:, column + 1] if value.imag else T[:, column]
        assert np.abs(D @ vector - value * vector).max() < 1e-12
        column += 2 if value.imag else 1


def test_states_are_in_one_block_if_the_rate_of_one_depends_on_the_other() -> None:
    assert connected(ca.Sparsity.triplet(5, 5, [0, 3], [2, 1])) == ((0, 2), (1, 3), (4,))


@pytest.mark.parametrize(
    ("model", "stages", "h"),
    [
        ("flyball_governor", 5, 0.01),
        ("flyball_governor", 2, 0.05),  # the contraction is poor, and the matrices are linearised anew
        ("rolling_disk", 3, 0.01),
    ],
)
def test_a_step_of_decoupled_nodes_is_that_of_the_coupled_newton(model: str, stages: int, h: float) -> None:
    this = prepare(mbfmu.load(model), "radau", {"stages": stages}, h)
    assert this.bundle.formulas["step"].decoupled
    p, u = vector(this.dae.p_default()), vector(this.dae.u_default())
    ends = []
    for kernel in both_kernels(this):
        x, _ = kernel.initialize(vector(this.dae.s_default()), u, p, 0.0, h)
        x, status = kernel.advance(x, u, vector(0 * this.dae.u_default()), p, 0.0, h, 10)
        assert (status.code, status.substeps) == (OK, 10)
        ends.append(np.array(x)[: this.scheme.step.x.numel()])
    np.testing.assert_allclose(*ends, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("stages", [3, 5])
def test_loops_pass_poses_where_their_constraints_lose_rank(stages: int) -> None:
    model = mbfmu.load("n_four_bar", {"N": 2})
    run = mbfmu.simulate(model, 1.5, step=2.5e-3, stepper=mbfmu.Radau(stages=stages), coordinates="joint")
    assert np.ptp(run["energy.total"]) < 1e-9
