"""Wang, Zhao & Pan: local equivalent index-1 equations, the two-link arm; and the paper's time as a coordinate.

Run: python -m examples.papers.local_index_1 [--plot FILE]
"""

from collections.abc import Sequence

import numpy as np

import mbfmu
from examples.papers.states import link_coordinates, link_rates, reference
from examples.report import Found, Panel, Row, envelope, listed, present
from mbfmu.model import Coordinate, LagrangianSystem, Model
from mbfmu.prepared.prepare import prepare

STEP, STOP = 0.01, 10.0
STEPS = (0.04, 0.02, 0.01, 0.005, 0.0025)
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-8)
TIMES = (1, 2, 5, 10)


def driven_pendulum(time: str) -> LagrangianSystem:
    """Return a pendulum of 1 m and 1 kg, let go at 0.5 rad, whose support moves as 0.3 sin(2 t) m.

    The paper makes t a coordinate q_{n+1} with mass 1 and no force. Its equation then is t'' = -Phi_t^T lambda: the
    force that drives the support drives the clock as well.

    Args:
        time: what the constraint takes for t: ``time``, or the coordinate ``clock``.
    """
    return LagrangianSystem(
        name="driven_pendulum",
        coordinates=(
            Coordinate("x", "m", 0.0, 0.6, "support"),
            Coordinate("phi", "rad", 0.5, 0.0, "angle from the downward vertical"),
            Coordinate("clock", "s", 0.0, 1.0, "time as a coordinate"),
        ),
        kinetic="(der(x)**2 + 2*cos(phi)*der(x)*der(phi) + der(phi)**2)/2 + der(clock)**2/2",
        potential="-9.8*cos(phi)",
        position=(f"x - 0.3*sin(2*{time})",),
    )


def work(model: Model, tolerance: float, steps: int) -> tuple[float, float]:
    """Return iterations per step, and the largest Phi, if the paper's iteration stops at its tolerance EPS.

    Args:
        model: the arm.
        tolerance: EPS, of both |q^{s+1} - q^s| and |v^{s+1} - v^s|.
        steps: how many.
    """
    prepared = prepare(model, "local", None, STEP, coordinates="absolute")
    step, n = prepared.bundle.formulas["step"], prepared.dae.n
    x, p = np.array(prepared.initial_state())[: 2 * n], prepared.dae.p_default()  # q and v, without the chosen step
    still = np.zeros(len(prepared.dae.inputs))
    count, residual = 0, 0.0
    for k in range(steps):
        given = (x, still, still, p, k * STEP, STEP)
        z, d = step.guess[0](*given, 0), np.full(2 * n, np.inf)
        while max(np.linalg.norm(d[:n]), np.linalg.norm(d[n:])) >= tolerance:
            better, _ = step.correct[0](*given, z)
            z, d, count = better, np.array(better - z).ravel(), count + 1
        x = np.array(step.result(*given, z)).ravel()
        residual = max(residual, float(np.abs(np.array(prepared.dae.constraints.Phi(x[:n], p, 0))).max()))
    return count / steps, residual


def run() -> Found:
    """Measure errors, orders, residuals and work on the arm, and both clocks of the pendulum."""
    arm = mbfmu.load("two_link")
    exact = reference(arm, STOP, STEP)
    q_exact, v_exact = link_coordinates(exact), link_rates(exact)

    def go(stop: float, h: float = STEP, interval: float = STEP, **options: str) -> mbfmu.Result:
        return mbfmu.simulate(
            arm, stop, stepper="local", options=options, step=h, output_interval=interval, coordinates="absolute",
            error_samples=0,
        )  # fmt: skip

    run = go(STOP)
    error = link_coordinates(run) - q_exact
    found: dict[str, float] = {}
    for t in TIMES:
        up_to = np.abs(error[:, : round(t / STEP) + 1]).max(axis=1)
        found |= {f"error up to {t} s": up_to[[2, 5]].max(), f"x2, error up to {t} s": up_to[3]}
        found[f"th2, error up to {t} s"] = up_to[5]
    for matrices in ("current", "frozen"):
        for h in STEPS:
            end = go(2.0, h, 2.0, matrices=matrices)
            apart = [link_coordinates(end)[:, -1] - q_exact[:, 200], link_rates(end)[:, -1] - v_exact[:, 200]]
            found[f"{matrices}, h = {h:g}, error at 2 s"] = float(np.abs(apart).max())
        fine, finer = (found[f"{matrices}, h = {h:g}, error at 2 s"] for h in STEPS[-2:])
        found[f"{matrices}, order"] = float(np.log2(fine / finer))
    found["order"] = found["current, order"]
    frozen = link_coordinates(go(2.0, matrices="frozen")) - q_exact[:, :201]
    found["frozen, error up to 2 s"] = float(np.abs(frozen[[2, 5]]).max())
    found["Phi"] = float(run["constraint.position"].max())
    found["Phi_q v"] = float(run["constraint.velocity"].max())
    found["energy error"] = float(np.abs(run["energy.total"]).max())
    found["bases differ by"] = max(
        float(np.abs(go(2.0, basis=basis)["link2.phi"] - run["link2.phi"][:201]).max()) for basis in ("qr", "gauss")
    )
    for tolerance in TOLERANCES:
        iterations, residual = work(arm, tolerance, round(STOP / STEP))
        found |= {f"EPS = {tolerance:.0e}, iterations": iterations, f"EPS = {tolerance:.0e}, Phi": residual}

    pendulums = {
        name: mbfmu.simulate(driven_pendulum(time), 2.0, stepper="local", step=1e-3, output_interval=STEP)
        for name, time in (("t a coordinate", "clock"), ("t a parameter", "time"))
    }
    true = reference(driven_pendulum("time"), 2.0, STEP)
    for name, pendulum in pendulums.items():
        found[f"{name}, clock at 2 s"] = float(pendulum["clock"][-1])
        found[f"{name}, angle"] = float(np.abs(pendulum["phi"] - true["phi"]).max())
    panels = (
        Panel("second link (the paper's figure 2)", "t [s]", "θ₂ [rad]", {"θ₂": (exact.time, q_exact[5])}),
        Panel(
            "errors, h = 0.01 s (figure 3)", "t [s]", "error [m, rad]",
            {"x₂ [m]": (run.time, error[3]), "θ₂ [rad]": (run.time, error[5])},
        ),
        Panel(
            "constraints at the step ends", "t [s]", "largest residual [m, m/s]",
            {
                "position Φ": envelope(run.time, run["constraint.position"], 100),
                "velocity Φ_q v": envelope(run.time, run["constraint.velocity"], 100),
            },
            log=True,
        ),
        Panel(
            "driven pendulum: clock", "t [s]", "clock of the equations [s]",
            {name: (pendulum.time, pendulum["clock"]) for name, pendulum in pendulums.items()},
        ),
    )  # fmt: skip
    return Found(found, panels, columns=2)


def main() -> dict[str, float]:
    """Return errors (m, rad; with rates m/s, rad/s), orders, residuals, iterations and clocks (s)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    ticks = "0.001 .. 0.002 (ticks of figure 3)"
    errors = [(f"error up to {t} s", f"x2, error up to {t} s", f"th2, error up to {t} s") for t in TIMES]
    table = [(f"x2 [m] / th2 [rad], {what}", ticks, listed(found, names)) for what, *names in errors]
    for matrices, claim in (("current", "A at each iterate (steps 1-5)"), ("frozen", "A frozen at x_k, as (4.4) says")):
        names = [f"{matrices}, h = {h:g}, error at 2 s" for h in STEPS]
        order = f"order {found[f'{matrices}, order']:.2f}"
        steps = ", ".join(f"{h:g}" for h in STEPS)
        table.append((f"error at 2 s, h = {steps}", claim, f"{listed(found, names, '.2e', ', ')}: {order}"))
    table += [
        (
            f"iterations per step / Phi, EPS = {eps:.0e}",
            "EPS prints illegibly",
            f"{found[f'EPS = {eps:.0e}, iterations']:.1f} / {found[f'EPS = {eps:.0e}, Phi']:.0e}",
        )
        for eps in TOLERANCES
    ]
    clock = "{0:.3f} s after 2 s; the angle is off by {1:.1e} rad"
    shown = {
        name: clock.format(found[f"{name}, clock at 2 s"], found[f"{name}, angle"])
        for name in ("t a coordinate", "t a parameter")
    }
    return [
        *table,
        ("constraints Phi / Phi_q v", "satisfied", listed(found, ("Phi", "Phi_q v"), ".0e")),
        ("QR and Gauss bases", "two ways to the same", f"th2 differs by {found['bases differ by']:.0e} rad"),
        ("energy", "-", f"error {found['energy error']:.1e} J: the rule is not symmetric"),
        ("driven pendulum, t a coordinate", "the same equations", f"fails: clock {shown['t a coordinate']}"),
        ("driven pendulum, t a parameter", "-", f"clock {shown['t a parameter']}"),
    ]


if __name__ == "__main__":
    present("Wang, Zhao & Pan, two links, h = 0.01 s", run, rows)
