"""The benchmarks measure what they say: one mechanism for everybody, tables with the same columns. No timing here."""

import csv
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
import pytest
from masters import needs_loader

import mbfmu
from benchmarks import fmus, iftomm, ours, peers, pile
from benchmarks.case import Case, End, damping
from benchmarks.judge import energy, poses, residuals
from benchmarks.machines import Machine, without
from benchmarks.machines import ours as machine_cases
from benchmarks.masters.__main__ import PYTHON, Work
from benchmarks.masters.__main__ import row as compared
from benchmarks.masters.__main__ import table as tools_table
from benchmarks.measure import Job, Row, measure, reaching
from benchmarks.peers import scipy
from benchmarks.peers.machines import cases as solvers_of_others
from benchmarks.table import NAMES, comparison, ratios, write
from benchmarks.targets import LENT, verdicts
from benchmarks.task import Task
from benchmarks.tasks import TASKS, TOUCHING, andrews, arm6, chain, four_bar, slider_crank, two_link
from mbfmu.model import System

SMALL = [two_link(), slider_crank(), four_bar(), andrews(), arm6(), chain(3, False), chain(4, True)]

ALL = TASKS | TOUCHING


def brief(task: Task, steps: int = 5) -> Task:
    """Return a task over a few steps, its true end unknown."""
    return replace(task, stop=steps * task.steps[0], exact={}, steps=task.steps[:1])


def row(engine: str, scheme: str, ms: float, target: float = 0.0) -> Row:
    return Row("task", engine, scheme, "joint", 1e-3, 10, ms * 100, ms, 1e-6, 0.0, 0.0, 0.0, 1.0, target)


@pytest.mark.parametrize("name", ALL)
def test_every_task_names_a_model_and_what_is_watched(name: str) -> None:
    for task in ALL[name]():
        assert task.name.startswith(name)
        assert task.watched
        assert task.steps


@pytest.mark.parametrize("task", SMALL, ids=lambda task: task.name)
def test_the_links_are_the_model(task: Task) -> None:
    start = poses(task, *(np.array([getattr(link, name) for link in task.links]) for name in ("q", "v")))
    assert max(residuals(task, start)) < 1e-14
    dae, kernel = ours.bundled(task, "joint", ours.RK4)[0], ours.kernel_of(task, "joint", ours.RK4)
    outputs = ours.seen(dae, kernel, ours.run(task, dae, kernel, task.steps[0])[0], 0.0)
    q = np.array([link.q for link in task.links])
    assert energy(task, start, q) == pytest.approx(outputs["energy.total"], abs=1e-12)
    for link in task.links:
        assert link.q == pytest.approx(outputs[link.name], abs=1e-12)


@pytest.mark.parametrize("task", [task for task in SMALL if task.planar], ids=lambda task: task.name)
def test_a_peer_that_knows_the_links_only_meets_mbfmu(task: Task) -> None:
    task = ours.with_truth(brief(task, 100))
    (case,) = scipy.cases(task)
    end = case.run(1e-12)
    assert end.error < 1e-9
    assert end.energy < 1e-9


@pytest.mark.parametrize("name", TOUCHING)
def test_what_touches_ends_where_the_reference_says(name: str) -> None:
    scheme = ("projected", {"order": 9})
    for task in TOUCHING[name]():
        dae, kernel = ours.bundled(task, "own", scheme)[0], ours.kernel_of(task, "own", scheme)
        end = ours.case(task, dae, kernel, "mbfmu", scheme, "own").run(0.05)
        assert end.error < 1e-11
        assert end.phi < 1e-15


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_a_spring_and_damper_that_only_push_return_the_part_of_the_speed(e: float) -> None:
    x, v, h, ratio = 0.0, -1.0, 1e-4, damping(e)
    while (force := -x - 2 * ratio * v) >= 0:  # symplectic Euler
        v += h * force
        x += h * v
    assert v == pytest.approx(e, abs=1e-3)


@pytest.mark.parametrize("solver", ["ADMM", "PGS"])
def test_time_stepping_by_a_peer_s_solver_of_contacts_converges_at_first_order(solver: str) -> None:
    pytest.importorskip("pinocchio")
    lent = pytest.importorskip("benchmarks.peers.pinocchio_contacts")
    (task,) = TOUCHING["thrown_puck"]()
    errors = [lent.run(task, solver, h).error for h in (0.04, 0.01)]
    assert errors[1] < errors[0] / 3
    assert errors[1] < 0.02


def still(task: pile.Heap, **given: np.ndarray) -> pile.Seen:
    """Return spheres at their places that neither move nor push."""
    zero = np.zeros_like(task.places)
    return pile.Seen(**{"r": task.places, "v": zero, "w": zero, "pushes": [], **given})


def test_a_judge_of_spheres_finds_the_deepest_place_and_energy_from_nowhere() -> None:
    task = pile.Heap(np.array([[0.0, 0.0, 0.05], [0.09, 0.0, 0.06]]))
    judge = pile.Judge(task, 2)
    judge(still(task))
    assert judge.deepest == pytest.approx(0.1 - np.hypot(0.09, 0.01))
    judge(still(task, v=np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])))
    assert judge.gained == pytest.approx(task.m * 2.0**2 / 2)


def test_a_sphere_that_rolls_does_not_slip_and_one_that_slides_loses_all_that_friction_can_take() -> None:
    task = pile.Heap(np.array([[0.0, 0.0, 0.05]]))
    v, w, weight = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0 / task.radius, 0.0]]), task.m * task.g
    up = np.array([0.0, 0.0, weight])
    assert pile.push(task, task.places, v, w, 0, -1, up).slip == pytest.approx(np.zeros(3), abs=1e-15)
    for part, lost in ((1.0, 0.0), (0.4, 0.6)):
        force = up - [part * task.mu * weight, 0.0, 0.0]
        judge = pile.Judge(task, 1)
        judge.resting = 1
        judge(still(task, v=v, pushes=[pile.push(task, task.places, v, 0 * w, 0, -1, force)]))
        assert judge.excess == pytest.approx(0.0, abs=1e-15)
        assert judge.undissipated == pytest.approx(lost * task.mu * weight, abs=1e-15)


def test_a_sphere_comes_to_rest_on_the_floor_with_all_laws_met() -> None:
    task = replace(pile.heap(1), stop=0.4)
    end = pile.found(task, pile.ours(task), 4e-3, 1)
    assert max(end.deepest, end.gained, end.moving, end.gap, end.excess, end.undissipated) < 1e-14
    assert end.seconds > 0


def test_the_least_time_within_a_penetration_is_that_of_a_heap_at_rest() -> None:
    way = pile.Way("peer", "any", lambda h, _: h)
    made = [
        pile.Found(way, h, seconds, deepest, 0.0, moving, 0.0, 0.0, 0.0)
        for h, seconds, deepest, moving in ((4e-3, 1.0, 5e-4, 0.0), (2e-3, 2.0, 5e-5, 0.0), (1e-3, 0.1, 0.0, 1.0))
    ]
    assert [item.split(" (")[0] for line in pile.quickest({"peer": made}) for item in line] == [
        "peer", "1e+03", "2e+03", "not reached",
    ]  # fmt: skip


def test_a_run_of_a_few_steps_fills_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ours.plan
    monkeypatch.setattr(ours, "plan", lambda task: [item for item in plan(task) if item[1][0] in {"direct", "rattle"}])
    task = ours.with_truth(brief(two_link()))
    rows = measure([Job(case, task.steps[0]) for case in ours.cases(task)], repeats=1)
    assert {(item.scheme, item.coordinates) for item in rows} >= {
        ("direct method=rk4", "joint"),
        ("rattle", "absolute"),
    }
    for item in rows:
        assert item.steps == 5
        assert item.error < 1e-6
        assert all(np.isfinite(value) for value in astuple(item) if isinstance(value, float))


def test_the_step_found_reaches_its_target_and_is_the_longest_that_does() -> None:
    task = replace(two_link(), stop=1.0)
    order = 4

    def run(h: float) -> End:
        return End(1e-6, round(task.stop / h), h**order, 0.0, 0.0, 0.0)

    jobs = list(reaching(Case(task, "nobody", "of order 4", "joint", run), (1e-8, 1e-11)))
    for job, target in zip(jobs, (1e-8, 1e-11), strict=True):
        assert job.h**order <= target == job.target
        assert (job.h * 2**0.25) ** order > 0.9 * target


@pytest.mark.slow
def test_native_fmus_are_measured_beside_their_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fmus, "CASES", fmus.CASES[1:3])
    found = list(fmus.measured(20_000))
    assert [item.label for item in found] == ["two_link rattle, 4 corrections a step", "two_link direct method=rk4"]
    for item in found:
        assert 0 < item.most <= item.worst
        assert item.ratio == pytest.approx(item.fmu / item.kernel, rel=0.5)


@pytest.mark.slow
def test_fmus_of_both_back_ends_are_measured_in_fmpy() -> None:
    found = fmus.measured_in_fmpy(8000)
    assert found.label == "arm6 direct method=rk4"
    assert 0 < found.native_step < found.native_with_values
    assert 0 < found.step < found.with_values


def test_the_limits_of_fmus_are_met_or_missed() -> None:
    native = [fmus.Native(label, 1.0, 1.2, ratio, 2.0, 9.0) for label, ratio in (("other", 1.0), ("arm", 1.2))]
    lines = fmus.verdicts(native, fmus.InFmpy("arm", 7.96, 20.0, 3.0, 15.0))
    assert [line[2:] for line in lines] == [["1.2", "at most 1.05", "missed"], ["7.96", "at most 8", "met"]]


def test_absent_peers_are_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PEERS", ("scipy", "nobody"))
    found, absent = peers.present(("scipy", "nobody"))
    assert found == ["scipy"]
    assert "nobody" in absent["nobody"]


def test_ratios_are_to_every_peer_the_fastest_first() -> None:
    rows = [
        row("mbfmu", "direct method=rk4", 1.0), row("peer", "RK4", 5.0), row("slow", "RK4", 9.0),
        row("mbfmu", "projected order=8", 2.0, 1e-6), row("peer", "RK4", 50.0, 1e-6), row("slow", "RK4", 90.0, 1e-6),
    ]  # fmt: skip
    assert [(item.ours.ms, item.peer.engine, item.times) for item in ratios(rows)] == [
        (2.0, "peer", 25.0), (2.0, "slow", 45.0), (1.0, "peer", 5.0), (1.0, "slow", 9.0),
    ]  # fmt: skip
    assert [line.split(" | ")[-1] for line in comparison(rows)[3:]] == ["25.0 |", "45.0 |", "5.0 |", "9.0 |"]
    assert comparison(rows[:1]) == []


def test_a_target_is_met_or_missed_against_the_cheapest_peer() -> None:
    rows = [
        replace(row(*item), task="arm6")
        for item in (("mbfmu", "direct method=rk4", 1.0), ("peer", "RK4", 7.9), ("slow", "RK4", 12.0))
    ]
    assert [line[-3:] for line in verdicts(rows)] == [["7.9", "8", "missed"]]
    rows[1] = replace(rows[1], us_per_step=900.0)
    assert [line[-3:] for line in verdicts(rows)] == [["9.0", "8", "met"]]
    rows[1] = replace(rows[1], engine=LENT, us_per_step=1.0)
    assert [line[-3:] for line in verdicts(rows)] == [["12.0", "8", "met"]]
    assert verdicts(rows[:1]) == []


def test_the_growth_of_a_step_with_the_length_is_judged() -> None:
    rows = [
        replace(row("mbfmu", "direct method=rk4", 1.0), task=f"chain_planar {N}", us_per_step=us)
        for N, us in ((32, 1.0), (128, 4.5))
    ]
    assert [(line[2], line[-1]) for line in verdicts(rows)] == [("4.50", "missed")]


def test_a_run_of_ours_that_leaves_the_constraints_does_not_count() -> None:
    rows = [row("mbfmu", "projected order=8", 2.0, 1e-6), row("peer", "RK4", 50.0, 1e-6)]
    drifting = replace(row("mbfmu", "direct method=rk4", 1.0, 1e-6), phi=1e-9)
    assert [item.times for item in ratios([*rows, drifting])] == [25.0]


@pytest.mark.parametrize("suffix", [".csv", ".md", ".png"])
def test_tables_are_written_with_all_columns(tmp_path: Path, suffix: str) -> None:
    rows = [row("mbfmu", "direct method=rk4", 1.0), row("peer", "RK4", 5.0)]
    path = tmp_path / f"table{suffix}"
    write(rows, path)
    assert [item.name for item in fields(Row)] == NAMES
    if suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            assert [len(cells) for cells in csv.reader(file)] == [len(NAMES)] * 3
    else:
        assert path.stat().st_size > 100


def test_an_unknown_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="csv"):
        write([], tmp_path / "table.xls")


@needs_loader
def test_a_row_of_tools_counts_the_models_that_agree_and_names_what_went_wrong(
    two_link_fmu: Path, tmp_path: Path
) -> None:
    work = Work(tmp_path)
    run = mbfmu.simulate("two_link", 1.0, stepper="rattle", step=1e-3)
    expected = {name: float(run[name][-1]) for name in run.names}
    work.fmu, work.expected = (lambda *_: two_link_fmu), (lambda *_: expected)
    good = compared(work, "FMPy", "", PYTHON, ["two_link"])
    bad = compared(work, "MasterSim", "no/such/program", PYTHON, ["two_link"])
    assert (good.agree, good.models, good.errors) == (1, 1, ())
    assert bad.agree == 0
    head, _, first, second, _, note = tools_table([good, bad])
    assert head.count("|") == first.count("|") == second.count("|")
    assert "1 of 1 |" in first
    assert "0 of 1 (1) |" in second
    assert note.startswith("1. MasterSim, co-simulation, FMI 2.0, Python: two_link: `FileNotFoundError")


@pytest.mark.further
def test_solvers_of_others_follow_mbfmus_equations_of_a_machine_with_oil_to_the_same_motion() -> None:
    system = mbfmu.load("hydraulic_monolith")
    assert isinstance(system, System)
    inputs = {"servo.r": "0.5 + 0.1*sin(10*time)"}
    machine = Machine("hydraulic_monolith", without(system, ("command",)), inputs, 0.2, 5e-4)
    assert np.max(np.abs(np.subtract(*machine.references)) / machine.ranges) < 1e-9
    errors = {case.scheme: case.run(1e-8).error for case in solvers_of_others(machine)}
    assert set(errors) == {"CVODE", "IDA", "Radau"}
    assert max(errors.values()) < 1e-4
    assert min(errors.values()) > 0
    (order_8,) = (case for case in machine_cases(machine, ("projected",)) if case.scheme == "projected order=8")
    assert order_8.run(1e-3).error < 1e-6


@pytest.mark.further
@pytest.mark.parametrize("problem", iftomm.PROBLEMS, ids=lambda problem: problem.name)
def test_the_problems_of_the_library_of_benchmarks_are_solved_to_a_millionth(problem: iftomm.Problem) -> None:
    run = iftomm.course(problem, iftomm.prepared(problem, problem.step))
    assert iftomm.accuracy(problem, run) < 1e-6


@pytest.mark.further
def test_the_platform_of_a_peer_falls_as_that_of_the_library_does() -> None:
    platform = pytest.importorskip("benchmarks.peers.mujoco_stewart")
    system = mbfmu.load("stewart")
    ours = mbfmu.simulate(system, 0.2, step=1e-3, output_interval=0.2)
    assert platform.run(system, 1e-3, 200)[1] == pytest.approx(ours["leg1.s"][-1], abs=1e-6)
