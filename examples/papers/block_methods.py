"""Du & Ding: multi-step block methods, the two-link arm with L2 = sqrt 3.

Run: python -m examples.papers.block_methods
"""

from math import pi, sqrt

import numpy as np

import mbfmu
from examples.papers.report import show
from mbfmu.steppers.block import block_matrices, block_nodes

START = {"l2": sqrt(3.0), "m2": 2.0, "shoulder.phi": pi / 3, "elbow.phi": -pi / 6}


def largest_growth(stages: int, nodes: str, angle: float) -> float:
    """Return the largest spectral radius of the method on y' = z y along a ray of the left half plane.

    Args:
        stages: r.
        nodes: choice of nodes.
        angle: of the ray from the negative real axis, rad.
    """
    B, N, _ = block_matrices(block_nodes(stages, nodes))
    rays = -np.logspace(-3, 4, 400) * np.exp(1j * angle)
    return max(float(np.abs(np.linalg.eigvals(np.linalg.solve(np.eye(stages) - z * B, N))).max()) for z in rays)


def main() -> dict[str, float]:
    """Return errors of the angles (rad) at 5 s, residuals and growth; r = 3, h = 0.005 s."""
    arm = mbfmu.load("two_link").with_values(START)
    exact = mbfmu.simulate(arm, 5.0, stepper="projected", options={"order": 8}, step=5e-4, output_interval=5.0)
    found: dict[str, float] = {}
    for index in (1, 2, 3):
        run = mbfmu.simulate(arm, 5.0, stepper="block", options={"index": index}, step=0.005, output_interval=0.005)
        found[f"index {index}, error"] = max(
            abs(float(run[name][-1] - exact[name][-1])) for name in ("shoulder.phi", "elbow.phi")
        )
        found[f"index {index}, Phi"] = float(run["constraint.position"].max())
        found[f"index {index}, Phi_q v"] = float(run["constraint.velocity"].max())
        energy = run["energy.total"]
        found[f"index {index}, energy"] = float(np.abs(energy / energy[0] - 1).max())
    for stages in (2, 3, 4):
        found[f"r = {stages}, growth on the imaginary axis"] = largest_growth(stages, "equidistant", pi / 2)
    return found


if __name__ == "__main__":
    numbers = main()
    rows = [
        (
            f"index {index}, 5 s",
            "the constraint of its own level is exact",
            f"angles {numbers[f'index {index}, error']:.1e}, Phi {numbers[f'index {index}, Phi']:.0e}, "
            f"Phi_q v {numbers[f'index {index}, Phi_q v']:.0e}, energy {numbers[f'index {index}, energy']:.0e}",
        )
        for index in (1, 2, 3)
    ]
    rows += [
        (
            f"r = {stages}, stability",
            "L-stable",
            f"largest growth on the imaginary axis {numbers[f'r = {stages}, growth on the imaginary axis']:.3f}"
            + ("" if stages == 2 else ": the claim holds for r = 2 only"),
        )
        for stages in (2, 3, 4)
    ]
    show("Du & Ding, two links, r = 3, h = 0.005 s", rows)
