"""Wang, Zhao & Pan: local equivalent index-1 equations, the two-link arm.

Run: python -m examples.papers.local_index_1
"""

import numpy as np

import mbfmu
from examples.papers.report import show

STEP = 0.01


def main() -> dict[str, float]:
    """Return errors of the angles (rad) at 1, 2, 5 and 10 s, orders, residuals, and the spread of the three bases."""
    arm = mbfmu.load("two_link")
    exact = mbfmu.simulate(arm, 10.0, stepper="projected", options={"order": 8}, step=1e-3, output_interval=STEP)
    names = ("link1.phi", "link2.phi")

    def errors(step: float, **options: str) -> tuple[np.ndarray, mbfmu.Result]:
        run = mbfmu.simulate(arm, 10.0, stepper="local", options=options, step=step, output_interval=STEP)
        return np.max([np.abs(run[name] - exact[name]) for name in names], axis=0), run

    current, run = errors(STEP)
    found = {f"error up to {t} s": float(current[: round(t / STEP) + 1].max()) for t in (1, 2, 5, 10)}
    at_two = [errors(h)[0][200] for h in (0.01, 0.005, 0.0025)]
    found["order"] = float(np.log2(at_two[1] / at_two[2]))
    found["frozen, error up to 2 s"] = float(errors(STEP, matrices="frozen")[0][:201].max())
    found["Phi"] = float(run["constraint.position"].max())
    found["energy error"] = float(np.abs(run["energy.total"]).max())
    kkt = run["link2.phi"]
    found["bases differ by"] = max(
        float(np.abs(errors(STEP, basis=basis)[1]["link2.phi"] - kkt)[:201].max()) for basis in ("qr", "gauss")
    )
    return found


if __name__ == "__main__":
    numbers = main()
    show(
        "Wang, Zhao & Pan, two links, h = 0.01 s",
        [
            ("angles, error up to 2 s", "1e-3 .. 2e-3 (ticks of the plot)", f"{numbers['error up to 2 s']:.1e}"),
            ("angles, error up to 10 s", "1e-3 .. 2e-3 (ticks of the plot)", f"{numbers['error up to 10 s']:.1e}"),
            ("order", "2", f"{numbers['order']:.2f}"),
            ("constraints", "satisfied", f"{numbers['Phi']:.0e}"),
            ("QR and Gauss bases", "two ways to the same", f"iterates differ by {numbers['bases differ by']:.0e}"),
            ("A_k frozen at x_k (4.4)", "not told apart", f"error up to 2 s {numbers['frozen, error up to 2 s']:.1e}"),
            ("energy", "-", f"error {numbers['energy error']:.1e} J: the rule is not symmetric"),
        ],
    )
