"""Pinocchio where something touches: its solvers of contacts with friction, ADMM and PGS, in a time stepping of ours.

Pinocchio has no integrator; the steps are those of its own example of these solvers, in Python as there: velocities
without impulses by `aba`, the problem from Cholesky's factors, impulses by a solver, velocities with them. Spheres and
planes are found by their distances. A gap may close within a step and not beyond; what closes faster than gravity does
it in two steps bounces by Newton's law.
"""

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np

from benchmarks.case import MOST, Case, End, number_of_steps, touched
from benchmarks.judge import Array
from benchmarks.task import Task

pin = import_module("pinocchio")

RADIUS = 0.1
SOLVERS = ("ADMM", "PGS")
FLOOR = np.array([[0.0, 0.0, 1.0, 0.0]])
ITERATIONS = 1000


class Spheres:
    """Spheres in front of planes.

    Args:
        places: centres, shape (N, 3), m.
        rates: velocities, shape (N, 3), m/s.
        walls: normals and offsets of planes, shape (W, 4).
        turning: they may turn.
        radius, m: of a sphere, m and kg.
        e, mu, g: restitution, friction and gravity along -z.
        solver: ``ADMM`` or ``PGS``.
    """

    def __init__(
        self, places: Array, rates: Array, walls: Array, *, turning: bool, radius: float, m: float, e: float,
        mu: float, g: float, solver: str,
    ) -> None:  # fmt: skip
        self.walls, self.turning, self.radius, self.e, self.mu, self.g = walls, turning, radius, e, mu, g
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array([0.0, 0.0, -g, 0.0, 0.0, 0.0]))
        for i in range(len(places)):
            joint = pin.JointModelFreeFlyer() if turning else pin.JointModelTranslation()
            number = self.model.addJoint(0, joint, pin.SE3.Identity(), f"sphere{i}")
            self.model.appendBodyToJoint(number, pin.Inertia.FromSphere(m, radius), pin.SE3.Identity())
        self.data = self.model.createData()
        q, v = pin.neutral(self.model).reshape(len(places), -1), np.zeros((len(places), self.model.nv // len(places)))
        q[:, :3], v[:, :3] = places, rates
        self.q, self.v = q.ravel(), v.ravel()
        self.tau = np.zeros(self.model.nv)
        self.settings = getattr(pin, f"{solver}SolverSettings")()
        self.settings.max_iterations = ITERATIONS
        self.settings.absolute_feasibility_tol = self.settings.absolute_complementarity_tol = 1e-10
        self.settings.relative_feasibility_tol = self.settings.relative_complementarity_tol = 1e-12
        self.settings.solve_ncp = True
        if solver == "ADMM":
            self.settings.admm_update_rule = pin.ADMMUpdateRule.SPECTRAL
            self.settings.mu_prox = 1e-6
        self.solver, self.result = (getattr(pin, solver + name) for name in ("ConstraintSolver", "SolverResult"))
        self.touches: list[tuple[int, int, float, Array]] = []
        self.forces: list[Array] = []
        self.before: dict[tuple[int, int], Array] = {}

    @property
    def r(self) -> Array:
        """Centres, shape (N, 3), m."""
        return np.asarray(self.q.reshape(self.model.njoints - 1, -1)[:, :3])

    def rates(self, v: Array) -> tuple[Array, Array]:
        """Return velocities of centres and angular velocities in the axes of the world, shape (N, 3) each."""
        own = v.reshape(self.model.njoints - 1, -1)
        if not self.turning:
            return own, np.zeros_like(own)
        turns = np.array([self.data.oMi[i].rotation for i in range(1, self.model.njoints)])
        return np.einsum("nij,nj->ni", turns, own[:, :3]), np.einsum("nij,nj->ni", turns, own[:, 3:])

    def find(self, ahead: Array, h: float) -> None:
        """Note the contacts that close within a step if nothing stops them."""
        r, rates, self.touches = self.r, [self.rates(v)[0] for v in (self.v, ahead)], []
        gaps = r @ self.walls[:, :3].T - self.walls[:, 3] - self.radius
        least = np.minimum(*(u @ self.walls[:, :3].T for u in rates))
        for i, k in np.argwhere(gaps + h * least <= 0).tolist():
            self.touches.append((i, -1 - k, gaps[i, k], self.walls[k, :3]))
        on, of = np.tril_indices(len(r), -1)
        way = r[on] - r[of]
        length = np.linalg.norm(way, axis=1)
        normals = way / length[:, None]
        least = np.minimum(*(np.einsum("ij,ij->i", u[on] - u[of], normals) for u in rates))
        for k in np.flatnonzero(length - 2 * self.radius + h * least <= 0).tolist():
            self.touches.append((int(on[k]), int(of[k]), length[k] - 2 * self.radius, normals[k]))

    def step(self, h: float) -> None:
        """Take a step of the length h, s."""
        model, data = self.model, self.data
        data.q_in, data.v_in, data.tau_in = self.q, self.v, self.tau
        pin.crba(model, data, self.q, pin.Convention.WORLD)
        after = self.v + h * pin.aba(model, data, self.q, self.v, self.tau)
        self.find(after, h)
        if self.touches:
            after = self.v + h * pin.aba(model, data, self.q, self.v, self.pushed(after, h))
        self.v = after
        self.q = pin.integrate(model, self.q, h * after)

    def pushed(self, ahead: Array, h: float) -> Array:
        """Return the contacts' forces on the coordinates; without them the step ends with the velocities `ahead`."""
        model, data, r = self.model, self.data, self.r
        found, turns = [], []
        for i, j, _, normal in self.touches:
            turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
            at = pin.SE3(turn, r[i] - self.radius * normal)
            of = 0 if j < 0 else j + 1
            one = pin.PointContactConstraintModel(model, of, data.oMi[of].actInv(at), i + 1, data.oMi[i + 1].actInv(at))
            one.setFriction(self.mu)
            found.append(pin.ConstraintModel(one))
            turns.append(turn)
        known = [one.createData() for one in found]
        for one, item in zip(found, known, strict=True):
            one.calc(model, data, item)
        factors = pin.ConstraintCholeskyDecomposition(model, data, found, known)
        factors.compute(model, data, found, known, 1e-10)
        J = pin.getConstraintsJacobian(model, data, found, known)
        offsets, closing = J @ ahead, -(J @ self.v)[2::3]
        gaps = np.array([gap for _, _, gap, _ in self.touches])
        bounces = (closing > 2 * self.g * h) & (self.e > 0)
        offsets[2::3] += np.where(bounces, -self.e * closing, gaps / h)
        result = self.result()
        guess = [self.before.get((i, j), np.zeros(3)) for i, j, _, _ in self.touches]
        result.setConstraintImpulseGuess(np.concatenate(guess))
        problem = factors.getDelassusOperatorCholeskyExpression()
        self.solver().solve(problem, offsets, found, known, self.settings, result)
        impulses = result.retrieveConstraintImpulses()
        own = impulses.reshape(-1, 3)
        self.before = {(i, j): item.copy() for (i, j, _, _), item in zip(self.touches, own, strict=True)}
        self.forces = [turn @ item / h for turn, item in zip(turns, own, strict=True)]
        return np.asarray(J.T @ impulses / h)


def cases(task: Task) -> Iterator[Case]:
    """Return both solvers for the ball and the puck."""
    for solver in SOLVERS if task.touching in {"ball", "puck"} else ():
        yield Case(
            task, "pinocchio", f"{solver}, steps lent", "joint", partial(run, task, solver), finest=task.stop / MOST
        )


def run(task: Task, solver: str, h: float) -> End:
    """Run the whole time; return how it went."""
    value, n = task.values, number_of_steps(task, h)
    height = value["h"] if task.touching == "ball" else value["height"]
    this = Spheres(
        np.array([[0.0, 0.0, RADIUS + height]]), np.array([[value.get("v_1", 0.0), value.get("v_2", 0.0), 0.0]]), FLOOR,
        turning=False, radius=RADIUS, m=value["m"], e=value.get("e", 0.0), mu=value.get("mu", 0.0),
        g=value.get("g", value.get("world.g", 9.81)), solver=solver,
    )  # fmt: skip
    begin = process_time()
    for _ in range(n):
        this.step(task.stop / n)
    seconds = process_time() - begin
    gap = this.q[2] - RADIUS
    watched: Any = (gap, this.v[2]) if task.touching == "ball" else this.q
    return touched(task, seconds, n, dict(zip(task.exact, map(float, watched), strict=False)), float(gap))
