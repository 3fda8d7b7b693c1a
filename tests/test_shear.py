"""Beams with shear: deflection and frequencies of Timoshenko's beam in closed form, points, conservation, refusals."""

import math
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import block_diag, eigh, null_space
from scipy.optimize import brentq
from test_flexible import alone
from test_stress import LOAD, loaded, outputs_at_rest

import mbfmu
from mbfmu.dae import derive
from mbfmu.dae.absolute import _coordinates
from mbfmu.dae.bodies import Bodies
from mbfmu.errors import ValueRangeError
from mbfmu.model import Beam, flatten
from mbfmu.model.flexible import kinetic_energy

Array = npt.NDArray[np.float64]

STOUT: dict[str, Any] = {"L": 1.0, "rho": 7850.0, "A": 0.02, "E": 2.1e11, "I_z": 6.667e-5, "I_y": 1.667e-5,
                         "G": 8e10, "I_t": 4e-5, "GA_s": 1.3e9}  # fmt: skip
"""A steel beam of 0.2 m by 0.1 m, five times as long as high."""


def stout(modes: int, shear: int, planar: bool, **fields: Any) -> tuple[Beam, Any]:
    """Return the stout beam, and its quantities with symbols for its shape coordinates."""
    values = STOUT | fields
    beam = Beam("beam", **values, modes=modes, shear=shear)
    numbers = {name: ca.SX(value) for name, value in values.items()}
    return beam, SimpleNamespace(planar=planar, eta=ca.SX.sym("eta", beam.count(planar)), **numbers)


def matrices(modes: int, shear: int, planar: bool = True) -> tuple[Array, Array]:
    """Return mass and stiffness of the stout beam at rest, by the rates of frame_a (v and w) and of its shape."""
    beam, p = stout(modes, shear, planar)
    eta, n = p.eta, beam.count(planar)
    rate, v, w = (ca.SX.sym("x", size) for size in (n, 2 if planar else 3, 1 if planar else 3))
    body = beam.integrals(p, rate)
    rates = ca.vertcat(v, w, rate)
    T = kinetic_energy(body, ca.jtimes(body.first, eta, rate), v, w)
    M, K = ca.hessian(T, rates)[0], ca.hessian(beam.strain_energy(p), eta)[0]
    found = [np.array(ca.Function("found", [eta], [item])(np.zeros(n))) for item in (M, K)]
    return found[0], block_diag(np.zeros((rates.numel() - n,) * 2), found[1])


def cantilever(inertia: str, near: float) -> float:
    """Return the frequency of a clamped and free beam of Timoshenko next to a guess, rad/s, in closed form.

    T. C. Huang, J. Appl. Mech. 28 (1961), with b^2 = rho A L^4 omega^2 / E I; below the cut-off frequency.
    """
    EI, GA_s, rhoA = STOUT["E"] * STOUT[inertia], STOUT["GA_s"], STOUT["rho"] * STOUT["A"]
    r2, s2 = STOUT[inertia] / STOUT["A"], EI / GA_s  # for a length of 1 m

    def determinant(omega: float) -> float:
        b = omega * math.sqrt(rhoA / EI)
        root = math.sqrt((r2 - s2) ** 2 + 4 / b**2)
        alpha, beta = (math.sqrt((root + sign * (r2 + s2)) / 2) for sign in (-1, 1))
        across = b * (r2 + s2) / math.sqrt(1 - b**2 * r2 * s2) * math.sinh(b * alpha) * math.sin(b * beta)
        return 2 + (b**2 * (r2 - s2) ** 2 + 2) * math.cosh(b * alpha) * math.cos(b * beta) - across

    return float(brentq(determinant, 0.9 * near, 1.1 * near, xtol=1e-12 * near, rtol=1e-14))


@pytest.mark.parametrize("planar", [True, False])
def test_a_load_at_the_tip_bends_and_shears_a_cantilever_as_in_closed_form(planar: bool) -> None:
    heavy = {"rho": 1e-3, "E": 1e12, "GA_s": 3e6, "modes": 2, "shear": 1}
    found = outputs_at_rest(loaded(planar, **heavy, sections=(0.3,)))
    P, EI = 9.81 * LOAD, heavy["E"] * 2e-8
    eta = [found[f"beam.eta[{k}]"] for k in range(1, 4 if planar else 6)]
    tip = eta[0] + eta[1] + eta[2 if planar else 4]
    assert tip == pytest.approx(-P / (3 * EI) - P / heavy["GA_s"], rel=1e-6)  # the beam's own weight is 5e-8 of it
    assert found["beam.section_1.V" if planar else "beam.section_1.V[1]"] == pytest.approx(-P, rel=1e-6)
    assert found["beam.section_1.M" if planar else "beam.section_1.M[3]"] == pytest.approx(-0.7 * P, rel=1e-6)


@pytest.mark.parametrize("planar", [True, False])
def test_frequencies_of_a_cantilever_converge_to_those_of_timoshenko(planar: bool) -> None:
    errors = []
    for number in (3, 5, 8):
        held = 3 if planar else 6
        M, K = (item[held:, held:] for item in matrices(number, number, planar))
        found = np.sqrt(eigh(K, M, eigvals_only=True))
        pairs = [("I_z", found[0]), ("I_z", found[1])] if planar else [("I_y", found[0]), ("I_z", found[1])]
        errors.append(max(abs(value / cantilever(axis, value) - 1) for axis, value in pairs))
    assert errors[2] < 1e-8
    assert errors[2] < errors[1] / 10 < errors[0] / 100
    slender = math.sqrt(STOUT["E"] * STOUT["I_z"] / (STOUT["rho"] * STOUT["A"]))
    assert cantilever("I_z", 3.4 * slender) < 0.99 * 1.8751040687119611**2 * slender  # without shear and rotary inertia


def test_frequencies_of_a_supported_beam_are_those_of_timoshenko() -> None:
    M, K = matrices(12, 12)
    held = np.zeros((3, len(M)))  # x and y of frame_a, and y of frame_b
    held[0, 0] = held[1, 1] = 1.0
    held[2, 1:] = [1.0, STOUT["L"], *[1.0] * 24]
    N = null_space(held)
    found = np.sqrt(eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True))
    rhoA, rhoI, EI = STOUT["rho"] * STOUT["A"], STOUT["rho"] * STOUT["I_z"], STOUT["E"] * STOUT["I_z"]
    for number in (1, 2, 3):
        k2 = (number * math.pi) ** 2
        a, c = rhoA * rhoI / STOUT["GA_s"], EI * k2**2
        b = rhoA + rhoI * k2 + EI * rhoA * k2 / STOUT["GA_s"]
        squares = (b - math.sqrt(b * b - 4 * a * c)) / (2 * a)
        assert np.abs(found / math.sqrt(squares) - 1).min() < 1e-8


def test_a_column_buckles_at_the_load_of_haringx() -> None:
    """P (1 + P / GA_s) = EI (pi / 2 L)^2 (J. A. Haringx, Philips Res. Rep. 3, 1948), that of Reissner's beam."""
    beam, p = stout(8, 8, True, GA_s=4e6)
    shorter = -ca.hessian(beam.poses(p)["frame_b"].r[0], p.eta)[0]
    stiff = ca.hessian(beam.strain_energy(p), p.eta)[0]
    K, G = (np.array(ca.evalf(ca.substitute(item, p.eta, ca.DM.zeros(16)))) for item in (stiff, shorter))
    found = 1 / eigh(G, K, eigvals_only=True)[-1]
    euler = STOUT["E"] * STOUT["I_z"] * (math.pi / 2) ** 2
    wanted = (math.sqrt(1 + 4 * euler / 4e6) - 1) / 2 * 4e6
    assert wanted < 0.5 * euler
    assert found == pytest.approx(wanted, rel=1e-8)


def test_kinetic_energy_is_that_of_the_points_and_of_the_sections_that_turn() -> None:
    xi, weights = np.polynomial.legendre.leggauss(12)
    system = alone(True, **STOUT, modes=2, shear=2, axial=1, at=tuple((xi + 1) / 2))
    bodies = Bodies(flatten(system), central=True, coordinates=_coordinates)
    q, v, p = bodies.q, bodies.v, bodies.p
    points = [bodies.frame(1, bodies.groups[1].poses[f"beam.frame_{number}"]) for number in range(1, 13)]
    rhoA, rhoI = STOUT["rho"] * STOUT["A"], STOUT["rho"] * STOUT["I_z"]
    T = sum(
        weight / 4 * (rhoA * ca.sumsqr(point.v_0) + rhoI * point.w_0**2)
        for weight, point in zip(weights, points, strict=True)
    )
    dae = derive(system)
    both = ca.Function("both", [q, v, p], [T, dae.energies.kinetic(q, v, p)])
    rng = np.random.default_rng(1)
    for size in (1.0, 0.01):
        found, wanted = (
            float(item) for item in both(size * rng.normal(size=dae.n), rng.normal(size=dae.n), dae.p_default())
        )
        assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("planar", [True, pytest.param(False, marks=pytest.mark.further)])
def test_a_free_beam_with_shear_keeps_momentum(planar: bool) -> None:
    soft = {"E": 1e7, "G": 4e6, "GA_s": 1e4, "modes": 2, "shear": 1}
    turning = {"w": 2.0, "phi": 0.3} if planar else {"w_a": (0.5, -1.0, 2.0), "Q": (1.0, 0.0, 0.0, 0.0)}
    eta = (0.03, -0.002, 0.01) if planar else (0.03, -0.002, 0.02, 0.001, 0.01, -0.01)
    size = 2 if planar else 3
    model = alone(planar, **soft, **turning, eta=eta, r_0=(0.1, 0.2, 0.0)[:size], v_0=(0.0, 0.0, 0.0)[:size])
    ways: dict[str, Any] = {"stepper": "nodal_impulse", "output_interval": 0.05, "error_samples": 0}
    run = mbfmu.simulate(model, stop=0.1, step=1e-3, **ways)
    for name in (name for name in run.names if name.startswith("momentum.")):
        assert np.ptp(run[name]) < 1e-12 * (1 + np.abs(run[name]).max())
    assert np.ptp(run["beam.eta[3]" if planar else "beam.eta[5]"]) > 1e-3


def test_absolute_and_joint_coordinates_move_a_beam_with_shear_alike() -> None:
    ways: dict[str, Any] = {"stepper": "radau", "step": 1e-4, "stop": 2e-3, "output_interval": 5e-4}
    model = loaded(True, shear=1, GA_s=1e6, modes=2)
    runs = [mbfmu.simulate(model, coordinates=kind, **ways) for kind in ("absolute", "joint")]
    for name in ("beam.eta[1]", "beam.eta[3]"):
        assert np.ptp(runs[0][name]) > 1e-8
        assert runs[0][name] == pytest.approx(runs[1][name], abs=1e-10 * np.abs(runs[1]["beam.eta[1]"]).max())


@pytest.mark.parametrize(
    "fields", [{"shear": 2}, {"GA_s": 1e6}, {"shear": 1, "GA_s": 1e6, "modes": 0, "axial": 1}, {"shear": 1.0}]
)
def test_shear_that_is_incomplete_is_refused_by_name(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueRangeError, match=r"all of modes, shear and GA_s|beam\.shear"):
        Beam("beam", **fields)
