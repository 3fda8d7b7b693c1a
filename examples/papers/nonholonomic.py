"""Gao et al.: nonholonomic systems with impulses at the nodes: skate, skate in a well, rolling disk.

Run: python -m examples.papers.nonholonomic
"""

import numpy as np

import mbfmu
from examples.papers.report import show

PRINTED = {"der(phi)": 0.8, "der(x)": -0.8 * float(np.sin(2.0)), "der(y)": 0.8 * float(np.cos(2.0))}


def main() -> dict[str, float]:
    """Return errors, residuals and energies of the three examples."""
    found: dict[str, float] = {}
    skate = mbfmu.load("ice_skate")
    for h in (0.1, 0.01):
        run = mbfmu.simulate(skate, 100.0, stepper="nodal_impulse", step=h, output_interval=h)
        t = run.time
        error = np.hypot(run["skate.v_0[1]"] - np.sin(2 * t) / 2, run["skate.v_0[2]"] - (1 - np.cos(2 * t)) / 2)
        found[f"skate, h = {h:g}, velocity"] = float(error.max())
        found[f"skate, h = {h:g}, constraint"] = float(run["constraint.velocity"].max())
    for action in ("midpoint", "trapezoid"):
        run = mbfmu.simulate(
            mbfmu.load("ice_skate_harmonic"), 400.0,
            stepper="nodal_impulse", options={"action": action}, step=0.1, output_interval=0.1,
        )  # fmt: skip
        quarters = np.array_split(np.abs(run["energy.total"] - 1.0), 4)
        found[f"well, {action}, energy, first quarter"] = float(quarters[0].max())
        found[f"well, {action}, energy, last quarter"] = float(quarters[3].max())
    disk = mbfmu.load("rolling_disk")
    run = mbfmu.simulate(disk, 100.0, stepper="nodal_impulse", step=0.1, output_interval=0.1)
    found["disk, spin 8, energy"] = float(np.abs(run["energy.total"] - run["energy.total"][0]).max())
    found["disk, spin 8, constraint"] = float(run["constraint.velocity"].max())
    fallen = mbfmu.simulate(
        disk.with_values(PRINTED), 5.0, stepper="projected", options={"order": 8}, step=5e-4, output_interval=1e-3
    )
    found["disk, spin 0.8, least theta"] = float(fallen["theta"].min())
    return found


if __name__ == "__main__":
    numbers = main()
    show(
        "Gao et al., nodal impulses",
        [
            ("skate, velocity error, h = 0.1 / 0.01", "order 2",
             f"{numbers['skate, h = 0.1, velocity']:.1e} / {numbers['skate, h = 0.01, velocity']:.1e}"),
            ("skate, constraint at the nodes", "exact", f"{numbers['skate, h = 0.01, constraint']:.0e}"),
            ("well, energy error, first / last quarter of 400 s", "no drift",
             f"midpoint {numbers['well, midpoint, energy, first quarter']:.1e} / "
             f"{numbers['well, midpoint, energy, last quarter']:.1e}, trapezoid "
             f"{numbers['well, trapezoid, energy, first quarter']:.1e} / "
             f"{numbers['well, trapezoid, energy, last quarter']:.1e}"),
            ("disk, h = 0.1, 100 s", "energy error bounded",
             f"with spin 8: {numbers['disk, spin 8, energy']:.1e} J, constraint "
             f"{numbers['disk, spin 8, constraint']:.0e}"),
            ("disk, printed spin 0.8", "the same figures",
             f"it falls to theta = {numbers['disk, spin 0.8, least theta']:.3f}: not what the figures show"),
        ],
    )  # fmt: skip
