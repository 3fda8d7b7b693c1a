"""Du & Ding: multi-step block methods, the two-link arm with L2 = sqrt 3, and how far they are stable.

Run: python -m examples.papers.block_methods [--plot FILE]
"""

from collections.abc import Sequence
from itertools import product
from math import log2, pi, sqrt

import numpy as np
import numpy.typing as npt

import mbfmu
from examples.papers.states import link_coordinates, reference
from examples.report import Array, Curves, Found, Panel, Row, envelope, listed, present
from mbfmu.stepper.block_multistep import block_matrices, block_nodes

START = {"l2": sqrt(3.0), "m2": 2.0, "shoulder.phi": pi / 3, "elbow.phi": -pi / 6}
NODES = ("equidistant", "chebyshev", "legendre")
INDICES = (1, 2, 3)
STAGES = (2, 3, 4, 5)
STEP, SPAN, LONG = 0.005, 20.0, 100.0
TIMES = (1, 5, 10)
WINDOWS = 5
UNSTABLE = (6, 7)
RADII = np.logspace(-3, 4, 400)
ROUND_OFF = 1e-9


def growth(stages: int, nodes: str, z: npt.NDArray[np.complex128]) -> Array:
    """Return the spectral radius of (I - z B)^-1 N, the method on y' = z y / h.

    Args:
        stages: r.
        nodes: choice of nodes.
        z: shape (k,).
    """
    B, N, _ = block_matrices(block_nodes(stages, nodes))
    step = np.linalg.solve(np.eye(stages) - z[:, None, None] * B, np.broadcast_to(N, (len(z), *N.shape)))
    return np.asarray(np.abs(np.linalg.eigvals(step)).max(axis=1))


def largest_growth(stages: int, nodes: str, angle: float) -> float:
    """Return the largest spectral radius along a ray of the left half plane.

    Args:
        stages: r.
        nodes: choice of nodes.
        angle: of the ray from the negative real axis, rad.
    """
    return float(growth(stages, nodes, -RADII * np.exp(1j * angle)).max())


def sector(stages: int, nodes: str) -> float:
    """Return the angle alpha of A(alpha)-stability, degrees; 0 if not even the negative real axis is stable."""

    def stable(angle: float) -> bool:
        return largest_growth(stages, nodes, angle) <= 1 + ROUND_OFF

    low, high = 0.0, pi / 2
    if stable(high):
        return 90.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return float(np.degrees(low))


def boundary(stages: int, nodes: str) -> tuple[Array, Array]:
    """Return points of the boundary of the stability region: where the largest eigenvalue has modulus 1.

    An eigenvalue mu belongs to the z for which det(mu (I - z B) - N) = 0, that is to those of B^-1 (I - N / mu).
    """
    _, N, inverse = block_matrices(block_nodes(stages, nodes))
    mu = np.exp(1j * np.linspace(0, 2 * pi, 2000)[1:-1])
    z = np.linalg.eigvals(inverse @ (np.eye(stages) - N / mu[:, None, None])).ravel()
    z = z[growth(stages, nodes, z) <= 1 + ROUND_OFF]
    return z.real, z.imag


def run() -> Found:
    """Run the arm for every index and choice of nodes; find orders and stability."""
    arm = mbfmu.load("two_link").with_values(START)
    exact = link_coordinates(reference(arm, float(TIMES[-1]), STEP, 2.5e-4))

    def go(stop: float, h: float, **options: object) -> mbfmu.Result:
        return mbfmu.simulate(
            arm, stop, stepper="block", options=options, step=h, output_interval=h, coordinates="absolute"
        )

    found: dict[str, float] = {}
    drawn: dict[str, Curves] = {"energy": {}, "Phi": {}, "Phi_q v": {}}
    for index, nodes in product(INDICES, NODES):
        label, result = f"index {index}, {nodes}", go(LONG, STEP, index=index, nodes=nodes)
        energy = result["energy.total"] / result["energy.total"][0] - 1
        curves = {"energy": energy, "Phi": result["constraint.position"], "Phi_q v": result["constraint.velocity"]}
        for name, curve in curves.items():
            found[f"{label}, {name}"] = float(np.abs(curve[: round(SPAN / STEP) + 1]).max())
            if nodes == "equidistant":
                drawn[name] = {**drawn[name], f"index {index}": envelope(result.time, curve, 50)}
        for k, part in enumerate(np.array_split(energy[1:], WINDOWS)):
            found[f"{label}, energy in window {k + 1}"] = float(part.mean())
        for t in TIMES:
            k = round(t / STEP)
            found[f"{label}, error at {t} s"] = float(np.abs(link_coordinates(result)[:, k] - exact[:, k]).max())
    for stages, index in product((2, 3), INDICES):
        ends = [link_coordinates(go(1.0, h, stages=stages, index=index))[:, -1] for h in (2 * STEP, STEP)]
        coarse, fine = (float(np.abs(end - exact[:, round(1 / STEP)]).max()) for end in ends)
        found[f"r = {stages}, index {index}, order"] = log2(coarse / fine)
    for nodes, stages in product(NODES, STAGES):
        found[f"r = {stages}, {nodes}, sector"] = sector(stages, nodes)
        found[f"r = {stages}, {nodes}, growth on the imaginary axis"] = largest_growth(stages, nodes, pi / 2)
        found[f"r = {stages}, {nodes}, growth on the negative axis"] = largest_growth(stages, nodes, 0.0)
    for nodes, stages in product(NODES, UNSTABLE):
        found[f"r = {stages}, {nodes}, growth at h = 0"] = float(growth(stages, nodes, np.zeros(1, complex))[0])
    regions = (
        Panel(
            f"edge of stability, {nodes} nodes", "Re hλ", "Im hλ",
            {f"r = {stages}": boundary(stages, nodes) for stages in STAGES},
            dots=1.0, equal=True, window=(-16.0, 16.0, -16.0, 16.0),
            legend="best" if nodes == "chebyshev" else "",
        )
        for nodes in NODES
    )  # fmt: skip
    return Found(
        found,
        (
            Panel("energy, h = 0.005 s", "t [s]", "largest relative error", drawn["energy"], log=True),
            Panel("position constraints", "t [s]", "largest Φ [m]", drawn["Phi"], log=True),
            Panel("velocity constraints", "t [s]", "largest Φ_q v [m/s]", drawn["Phi_q v"], log=True, legend=""),
            *regions,
        ),
        columns=3,
    )


def main() -> dict[str, float]:
    """Return errors (m, rad), residuals up to 20 s, relative energy errors, orders and growth factors."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table: list[Row] = []
    for index, exact in zip(INDICES, ("accelerations", "Phi_q v = 0", "Phi = 0"), strict=True):
        for nodes in NODES:
            label = f"index {index}, {nodes}"
            errors = [f"{label}, error at {t} s" for t in TIMES]
            first, last = (found[f"{label}, energy in window {k}"] for k in (1, WINDOWS))
            lines = [
                f"Phi / Phi_q v {listed(found, (f'{label}, Phi', f'{label}, Phi_q v'), '.0e')}",
                f"error at 1 / 5 / 10 s {listed(found, errors, '.0e')}",
                f"energy {found[f'{label}, energy']:.1e}; mean {first:.0e} in 0-20 s, {last:.0e} in 80-100 s",
            ]
            table.append((label, f"{exact} exact; energy does not drift", "\n".join(lines)))
    for stages in (2, 3):
        names = [f"r = {stages}, index {index}, order" for index in INDICES]
        table.append((f"r = {stages}, order for index 1 / 2 / 3", "-", listed(found, names, ".1f")))
    for stages in STAGES:
        lines = [f"alpha {listed(found, (f'r = {stages}, {nodes}, sector' for nodes in NODES), '.1f')} degrees"]
        for axis in ("imaginary", "negative"):
            names = [f"r = {stages}, {nodes}, growth on the {axis} axis" for nodes in NODES]
            lines.append(f"growth on the {axis} axis {listed(found, names, '.3f')}")
        table.append((f"r = {stages}, {', '.join(NODES)}", "L-stable", "\n".join(lines)))
    for stages in UNSTABLE:
        growths = listed(found, (f"r = {stages}, {nodes}, growth at h = 0" for nodes in NODES), ".3f")
        table.append((f"r = {stages}, {', '.join(NODES)}", "L-stable", f"growth {growths} at h = 0: useless"))
    return table


if __name__ == "__main__":
    present("Du & Ding, two links, r = 3, h = 0.005 s", run, rows)
