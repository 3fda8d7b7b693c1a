"""Lu & Ren: a symplectic algorithm for a rigid body, cases 1 to 3, and the paper's last sentence on systems.

The body turns about a fixed point, so its coordinates are the quaternion alone: a free body with the inertia about that
point, and the weight as a potential of its orientation. Everything is read from the method's own q and p, unprojected.

Run: python -m examples.papers.rigid_body [--plot FILE]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import cos, inf, log2, pi, sin, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

import mbfmu
from examples.papers.rigid_motion import Motion, rotation
from examples.papers.states import states
from examples.report import Array, Found, Panel, Row, Window, listed, present
from mbfmu.model import Body, Force, Frame, FreeMotion, System, World, connect
from mbfmu.prepared.prepare import Prepared, prepare

MOMENT = 0.98
"""m g L, N.m."""
FORMS = ("momentum", "velocity")
ARM = {"l2": sqrt(2.0), "m2": 2.0, "shoulder.phi": pi / 3, "elbow.phi": -pi / 6, "world.g": 9.81}
ARM_STEPS = (0.01, 0.002)
RUNS, NUDGE = 200, 1e-14
TIMES = (0.5, 1.0, 1.5, 2.0, 2.5)
SPAN, STEPS = 4, (8, 16)
"""s, and steps a second, of the orders."""


@dataclass(frozen=True)
class Weight(Force):
    """Weight of a body whose centre of mass lies on its third axis: V = moment * (q0^2 - q1^2 - q2^2 + q3^2)."""

    moment: float = 0.0

    def potential(self, p: Any, a: Frame, b: Frame) -> Any:
        """Return the potential energy, J."""
        return self.moment * b.R[2, 2]


def body(w_a: tuple[float, float, float], moment: float) -> System:
    """Return the paper's body with a start angular velocity (rad/s) and m g L (N.m)."""
    return System(
        name="rigid_body",
        components=(
            World(g=0.0),
            FreeMotion("free"),
            Weight("weight", moment=moment),
            Body(
                "body", m=1.0, I_11=2.0, I_22=1.5, I_33=1.0, r_0=(0, 0, 0), v_0=(0, 0, 0),
                Q=(cos(pi / 12), 0.0, sin(pi / 12), 0.0), w_a=w_a,
            ),
        ),
        connections=(
            connect("world.frame_b", "free.frame_a"),
            connect("free.frame_b", "body.frame_a"),
            connect("world.frame_b", "weight.frame_a"),
            connect("weight.frame_b", "body.frame_a"),
        ),
    )  # fmt: skip


def renormalised(x: Array) -> Array:
    """Return the state with q / |q|."""
    return np.concatenate([x[:3], x[3:7] / np.linalg.norm(x[3:7]), x[7:]])


def seconds_a_row(case: str, form: str) -> float:
    """Return the time between the rows of a motion."""
    return 0.1 if (case, form) == ("case 1", "velocity") else 1.0


def first(condition: npt.NDArray[np.bool_]) -> float:
    """Return the first place where a condition holds, infinite if nowhere."""
    return float(np.argmax(condition)) if condition.any() else inf


def growth(prepared: Prepared, h: float) -> float:
    """Return the rate at which q.q' grows between 3 and 12 s, 1/s.

    Args:
        prepared: the velocity form.
        h: step, s.
    """
    motion = Motion(states(prepared, round(12 / h), h, every=round(0.1 / h)), "velocity", 0.0)
    normal = np.abs((motion.q * motion.second).sum(axis=0))[30:]
    return float(np.polyfit(0.1 * np.arange(len(normal)), np.log(normal), 1)[0])


def orders(system: System, form: str, moment: float, prepared: Prepared) -> dict[str, float]:
    """Return errors at 4 s (those of invariants up to then) with h = 1/8 and 1/16 s, and their orders.

    Args:
        system: the body.
        form: of the method.
        moment: m g L, N.m.
        prepared: the method.
    """
    fine = prepare(system, "projected", {"order": 8}, 1e-3)
    exact = Motion(states(fine, 1000 * SPAN, 1e-3, every=1000 * SPAN), "velocity", moment)
    found: dict[str, list[float]] = {}
    for k in STEPS:
        motion = Motion(states(prepared, SPAN * k, 1 / k), form, moment)
        off = {
            "omega": motion.omega[:, -1] - exact.omega[:, -1],
            "omega / |q|^2": motion.omega[:, -1] / motion.size[-1] - exact.omega[:, -1],
            "|q|^2 - 1": motion.size - 1,
            "q.p" if form == "momentum" else "q.q'": (motion.q * motion.second).sum(axis=0),
            "energy": motion.error(),
            "rotation": rotation(motion.q / np.sqrt(motion.size))[:, :, -1] - rotation(exact.q)[:, :, -1],
        }
        for name, values in off.items():
            found.setdefault(name, []).append(float(np.abs(values).max()))
    named = {f"{name}, order": log2(coarse / fine) for name, (coarse, fine) in found.items()}
    for k, errors in zip(STEPS, zip(*found.values(), strict=True), strict=True):
        named |= {f"{name}, h = 1/{k}": error for name, error in zip(found, errors, strict=True)}
    return named


def scatter(prepared: Prepared) -> dict[str, float]:
    """Return the spread of case 3 over runs whose starts differ by round-off."""
    random, start = np.random.default_rng(1), np.array(prepared.dae.s_default())
    ends, largest = [], []
    for _ in range(RUNS):
        nudge = np.zeros(len(start))
        nudge[6:10] = NUDGE * random.standard_normal(4)
        motion = Motion(states(prepared, 1000, 1.0, every=10, start=start + nudge), "momentum", MOMENT)
        turned = motion.turned[2]
        ends.append((motion.error()[-1], abs(turned[-1] / turned[0] - 1)))
        largest.append(motion.error().max())
    found = {"case 3, momentum, median of the largest": float(np.median(largest))}
    for what, values, printed in zip(("energy", "H_z"), np.array(ends).T, (0.0027, 0.0141), strict=True):
        for percent in (5, 50, 95):
            found[f"case 3, {what} at the end, {percent} %"] = float(np.percentile(values, percent))
        found[f"case 3, {what} at the end, better than printed"] = float(np.mean(values < printed))
    return found


def arm_energies(h: float, projection: str) -> Array:
    """Return the error of the energy of the two-link arm at `TIMES`, J, shape (5,), from its own momenta.

    Args:
        h: step, s.
        projection: option of the method.
    """
    arm = mbfmu.load("two_link").with_values(ARM)
    prepared = prepare(arm, "gauss", {"projection": projection}, h, coordinates="absolute")
    dae, n, half = prepared.dae, prepared.dae.n, round(0.5 / h)
    energies = []
    for x in states(prepared, len(TIMES) * half, h, every=half):
        q, p = x[:n], dae.p_default()
        v = np.linalg.solve(np.array(dae.equations.M(q, p)), x[n : 2 * n]) if projection == "none" else x[n : 2 * n]
        energies.append(float(dae.energies.kinetic(q, v, p)) + float(dae.energies.potential(q, p, 0.0)))
    return np.abs(np.array(energies[1:]) - energies[0])


def run() -> Found:
    """Run the three cases in both forms, case 3 many times, and the arm."""
    bodies = {"case 1": body((0.0, 1.5, 2.0), 0.0), "case 3": body((0.0, 0.0, 1.0), MOMENT)}
    bodies["case 2"] = bodies["case 1"]
    moments = {"case 1": 0.0, "case 2": 0.0, "case 3": MOMENT}
    methods = {
        (case, form): prepare(bodies[case], "gauss", {"form": form}, 1.0) for case, form in product(moments, FORMS)
    }

    def go(case: str, form: str, steps: int = 1000, **options: Any) -> Motion:
        h = 1e-3 if case == "case 1" else 1.0
        return Motion(states(methods[case, form], steps, h, **options), form, moments[case])

    motions = {(case, form): go(case, form) for case, form in product(("case 2", "case 3"), FORMS)}
    motions["case 1", "momentum"] = go("case 1", "momentum", 1_000_000, every=1000)
    motions["case 1", "velocity"] = go("case 1", "velocity", 100_000, every=100)
    found: dict[str, float] = {}
    for (case, form), motion in motions.items():
        label = f"{case}, {form}"
        found[label] = float(motion.error().max()) if len(motion.states) > 1000 else inf
        for percent in (10, 100):
            row = first(motion.error() > percent / 100)
            found[f"{label}, {percent} % after"] = row * seconds_a_row(case, form)
        if form == "momentum":
            change = np.abs(motion.spatial - motion.spatial[:, :1])
            found[f"{label}, H"] = float(change[2].max() if case == "case 3" else change.max())
            found[f"{label}, |q|^2 - 1"] = float(np.abs(motion.size - 1).max())
            found[f"{label}, energy of q / |q|"] = float(motion.error(normalised=True).max())
        if label == "case 3, momentum":
            found[f"{label}, energy of q / |q| in 100 s"] = float(motion.error(normalised=True)[:101].max())
        if case != "case 1":
            measured = orders(bodies[case], form, moments[case], methods[case, form])
            found |= {f"{label}, {name}": value for name, value in measured.items()}
    for h in (1e-3, 1e-2):
        found[f"case 1, velocity, growth, h = {h:g}"] = growth(methods["case 1", "velocity"], h)
    kept = go("case 1", "velocity", 100_000, after=renormalised)
    found["case 1, velocity, renormalised"] = float(kept.error().max())
    found["case 2, momentum, renormalised"] = float(go("case 2", "momentum", after=renormalised).error().max())
    found |= scatter(methods["case 3", "momentum"])

    arms = {(projection, h): arm_energies(h, projection) for projection, h in product(("none", "symmetric"), ARM_STEPS)}
    for (projection, h), errors in arms.items():
        found |= {f"two_link, {projection}, h = {h:g}, {t:g} s": e for t, e in zip(TIMES, errors.tolist(), strict=True)}
        if h == ARM_STEPS[0]:
            found[f"two_link, {projection}"] = float(errors.max())
    return Found(found, figure(motions, arms), columns=3)


def figure(motions: dict[tuple[str, str], Motion], arms: dict[tuple[str, float], Array]) -> tuple[Panel, ...]:
    """Return the panels: energies of the three cases, the path of omega in the body (figures 2 and 3), the arm."""

    def energies(case: str, title: str, window: Window = None) -> Panel:
        curves = {}
        for form in FORMS:
            error = motions[case, form].error()[1:]
            curves[f"{form} form"] = seconds_a_row(case, form) * np.arange(1.0, len(error) + 1), error
        return Panel(title, "t [s]", "relative error of the energy", curves, log=True, window=window)

    def path(case: str, form: str) -> tuple[Array, Array]:
        omega = motions[case, form].omega
        return omega[0], omega[1]

    return (
        energies("case 1", "case 1, h = 0.001 s, its first 40 s", (0.0, 40.0, 1e-16, 1e8)),
        energies("case 2", "case 2, h = 1 s"),
        energies("case 3", "case 3, h = 1 s"),
        Panel(
            "case 1 (figure 2)", "ω₁ [rad/s]", "ω₂ [rad/s]", {"momentum form": path("case 1", "momentum")},
            dots=3.0, equal=True, window=(-2.5, 2.5, -2.5, 2.5),
        ),
        Panel(
            "case 2 (figure 3), velocity form: 5 points", "ω₁ [rad/s]", "ω₂ [rad/s]",
            {f"{form} form": path("case 2", form) for form in FORMS},
            dots=3.0, equal=True, window=(-2.5, 2.5, -2.5, 2.5),
        ),
        Panel(
            "two-link arm", "t [s]", "error of the energy [J]",
            {f"projection {name}, h = {h:g} s": (np.array(TIMES), errors) for (name, h), errors in arms.items()},
            log=True, window=(0.4, 2.6, 1e-15, 1e10), legend="upper left",
        ),
    )  # fmt: skip


def main() -> dict[str, float]:
    """Return errors of the energy (relative; of the arm in J; infinite where the method fails), orders and spread."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    table: list[Row] = [
        (
            "case 1, h = 0.001 s, 1e6 steps, momentum",
            "errors of 1e-8",
            f"energy {found['case 1, momentum']:.1e}, H {found['case 1, momentum, H']:.1e} N.m.s",
        ),
        (
            "case 1, velocity",
            "almost the same",
            f"fails: 10 % after {found['case 1, velocity, 10 % after']:.1f} s, "
            f"100 % after {found['case 1, velocity, 100 % after']:.1f} s",
        ),
        (
            "case 1, velocity, growth of q.q'",
            "-",
            f"{listed(found, (f'case 1, velocity, growth, h = {h:g}' for h in (1e-3, 1e-2)), '.3f')} per s with h = "
            f"0.001 / 0.01 s, predicted {sqrt(6 / 5) * 2.5 / 2:.3f}; "
            f"with q / |q| after each step the energy holds to {found['case 1, velocity, renormalised']:.0e} for 100 s",
        ),
        (
            "case 2, h = 1 s, 1000 steps, momentum",
            "keeps the structure",
            f"energy {found['case 2, momentum']:.1e} (of q / |q|: {found['case 2, momentum, energy of q / |q|']:.1e}), "
            f"H {found['case 2, momentum, H']:.0e} N.m.s; with q / |q| after each step it is lost: "
            f"{found['case 2, momentum, renormalised']:.1g}",
        ),
        (
            "case 3, h = 1 s, 1000 steps, momentum",
            "energy 0.27 %, H_z 1.41 %",
            f"chaotic; 5 / 50 / 95 % of {RUNS} runs end with energy "
            f"{listed(found, (f'case 3, energy at the end, {k} %' for k in (5, 50, 95)), '.1%')}, "
            f"H_z {listed(found, (f'case 3, H_z at the end, {k} %' for k in (5, 50, 95)), '.1%')}; "
            f"E(q) p / 2 keeps H_z to {found['case 3, momentum, H']:.0e} N.m.s",
        ),
    ]
    for case, claim in (("case 2", "wrong"), ("case 3", "energy 6796 %, H_z 1558 %")):
        steps = [f"{case}, velocity, {percent} % after" for percent in (10, 100)]
        largest = "it fails" if found[f"{case}, velocity"] == inf else f"{found[f'{case}, velocity']:.0e} at most"
        table.append(
            (f"{case}, velocity", claim, f"10 / 100 % after {listed(found, steps, '.0f')} steps, then {largest}")
        )
    for case, form in product(("case 2", "case 3"), FORMS):
        normal = "q.p" if form == "momentum" else "q.q'"
        lines = []
        for name in ("rotation", "omega", "omega / |q|^2", "energy", "|q|^2 - 1", normal):
            errors = [f"{case}, {form}, {name}, h = 1/{k}" for k in STEPS]
            lines.append(f"{name} {listed(found, errors)}: {found[f'{case}, {form}, {name}, order']:.1f}")
        table.append((f"{case}, {form}, 4 s, h = 1/8 and 1/16 s: order", "6", "\n".join(lines)))
    for projection, claim in (("none", "applies directly to multibody systems"), ("symmetric", "(not the paper's)")):
        lines = []
        for h in ARM_STEPS:
            names = [f"two_link, {projection}, h = {h:g}, {t:g} s" for t in TIMES]
            lines.append(f"h = {h:g} s: {listed(found, names, '.0e')} J")
        table.append((f"two links, projection {projection}, {', '.join(map(str, TIMES))} s", claim, "\n".join(lines)))
    return table


if __name__ == "__main__":
    present("Lu & Ren, s = 3: errors of the energy, relative", run, rows)
