"""The limits of a step: where errors begin to grow, by family, and how a run and an FMU tell that a step is beyond."""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import SCHEMES, label, thorough

import mbfmu
from mbfmu.dae.vibration import fastest
from mbfmu.errors import ResultWarning
from mbfmu.kernel import limits, vector
from mbfmu.kernel.runtime import OK
from mbfmu.model import (
    Body,
    Parameter,
    Prismatic,
    System,
    TranslationalDamper,
    TranslationalSpring,
    TranslationalStop,
    World,
    connect,
)
from mbfmu.prepared.prepare import Prepared, prepare
from mbfmu.stepper import SHARE, Limits

GROWS = 1.001
"""Growth of an error in a step beyond which a limit is passed."""
CLOSE = 0.005
"""Relative distance from a limit at which errors are kept below it, and grow beyond it."""
FAR = 30.0
"""Step times frequency or decay up to which a method counts as one without a limit."""
REPRESENTED = frozenset({"rattle", "lobatto", "nodal_impulse", "radau", "generalized_alpha"})


def oscillator(**values: float) -> System:
    """Return 1 kg on a spring and a damper, whose constants are the parameters c and d."""
    return System(
        name="oscillator",
        planar=True,
        components=(
            World(g=0.0),
            Prismatic("s", n=(1, 0), s=1e-3, v=0.0),
            Body("m", m=1.0, I_33=1.0),
            TranslationalSpring("spring", joint="s", c="c"),
            TranslationalDamper("damper", joint="s", d="d"),
        ),
        connections=(connect("world.frame_b", "s.frame_a"), connect("s.frame_b", "m.frame_a")),
        parameters=(Parameter("c", 1.0, "N/m"), Parameter("d", 0.0, "N.s/m")),
    ).with_values(values)


@cache
def made(name: str, options: tuple[tuple[str, Any], ...]) -> Prepared:
    """Return the oscillator with a stepper."""
    return prepare(oscillator(), name, dict(options), 1.0)


def growth(scheme: tuple[str, Mapping[str, Any]], c: float, d: float) -> float:
    """Return the largest factor by which a step of 1 s multiplies an error: the spectral radius of its linear map."""
    prepared = made(scheme[0], tuple(scheme[1].items()))
    kernel = prepared.kernel
    names = [item.name for item in prepared.outline.parameters]
    p = vector([{"c": c, "d": d}.get(name, 0.0) for name in names])
    p[names.index("m.m")] = p[names.index("m.I_33")] = 1.0
    none = vector([])
    x, status = kernel.initialize(vector(prepared.outline.s_default()), none, p, 0.0, 1.0)
    columns = []
    for entry in (None, *range(len(x) - 1)):
        near = vector(x)
        if entry is not None:
            near[entry] += 1.0
        end, status = kernel.advance(near, none, none, p, 0.0, 1.0, 1)
        if status.code != OK:
            return math.inf
        columns.append(np.array(end)[:-1])
    return float(max(abs(np.linalg.eigvals(np.array(columns[1:]).T - columns[0][:, None]))))


@cache
def documented() -> dict[str, Limits]:
    """Return the limits that the page on steppers shows, by the stepper with its options that are no defaults."""
    page = (Path(__file__).parents[1] / "docs" / "steppers.md").read_text("utf-8")
    table = page.split("| stepper | ω h | r h |")[1].split("\n\n")[0]
    rows = (row.split("|")[1:-1] for row in table.splitlines()[2:])
    return {
        name.strip(" `"): Limits(*(math.inf if entry.strip() == "none" else float(entry) for entry in entries))
        for names, *entries in rows
        for name in names.split(",")
    }


def shown(name: str, options: Mapping[str, Any]) -> Limits:
    """Return the limits that the page shows of a stepper with options."""
    usual = mbfmu.steppers()[name].options
    changed = (f"{name} {key}={value}" for key, value in options.items() if value != usual[key].default)
    rows = [documented()[item] for item in (*changed, name) if item in documented()]
    assert rows, f"docs/steppers.md has no row for {name} under 'How long a step may be'"
    return rows[0]


@pytest.mark.parametrize(
    "scheme",
    thorough(
        ((item,) for item in SCHEMES if item[0] not in {"local", "moreau"}),
        lambda scheme: scheme[0] in REPRESENTED or scheme == ("projected", {"order": 4}),
    ),
    ids=label,
)
def test_errors_grow_where_a_step_passes_the_limit_that_stepper_and_page_name_and_not_before(
    scheme: tuple[str, Mapping[str, Any]],
) -> None:
    limits = made(scheme[0], tuple(scheme[1].items())).scheme.limits
    assert limits == pytest.approx(shown(*scheme), rel=CLOSE)
    for limit, shape in ((limits.vibration, (2, 0)), (limits.decay, (0, 1))):

        def grown(size: float, shape: tuple[int, int] = shape) -> float:
            return growth(scheme, *(size**power if power else 0.0 for power in shape))

        below = np.geomspace(0.05, min(limit * (1 - CLOSE), FAR), 12)
        assert max(grown(size) for size in below) <= GROWS
        if limit < math.inf:
            assert grown(limit * (1 + CLOSE)) > GROWS


@pytest.mark.parametrize(
    ("name", "stepper", "coordinates"),
    [
        ("flexible_four_bar", "rattle", "joint"),
        ("quarter_car", "lobatto", "absolute"),
        ("latched_door", "projected", None),
    ],
)
def test_the_longest_step_found_by_growing_errors_is_the_one_that_stiffness_and_mass_give(
    name: str, stepper: str, coordinates: str | None
) -> None:
    options = {"stages": 2} if stepper == "lobatto" else {}
    prepared = prepare(mbfmu.load(name), stepper, options, 1e-4, coordinates=coordinates)
    rates, limits = fastest(prepared.dae), prepared.scheme.limits
    longest = SHARE * limits.vibration / rates.vibration
    x, p, u = prepared.initial_state(), prepared.outline.p_default(), prepared.outline.u_default()
    given = x, vector(u), vector(0 * u), vector(p), 0.0
    assert prepared.kernel.longest(*given, 0.9 * longest) == math.inf
    assert prepared.kernel.longest(*given, 1.3 * longest) == pytest.approx(longest, rel=0.03)


@pytest.mark.parametrize(("name", "step"), [("andrews", 1e-3), ("hydraulic_manipulator", 1e-2)])
def test_errors_that_grow_in_the_motion_itself_are_not_blamed_on_the_step(name: str, step: float) -> None:
    """In `andrews` errors grow by e in 2 ms, however short the steps are."""
    prepared = prepare(mbfmu.load(name), "projected", {}, step)
    x, p, u = prepared.initial_state(), prepared.outline.p_default(), prepared.outline.u_default()
    assert prepared.kernel.longest(x, vector(u), vector(0 * u), vector(p), 0.0, step) == math.inf


def test_stepper_and_kernel_leave_the_same_share_of_a_limit() -> None:
    assert SHARE == limits.LIMIT_SHARE


@pytest.mark.filterwarnings("ignore::mbfmu.errors.ResultWarning")
def test_the_usual_stepper_has_no_limit_where_the_step_is_too_long_for_rattle_also_from_the_cache() -> None:
    stiff = oscillator(c=1e6)
    for _ in range(2):
        for step, name in ((1.7e-3, "rattle"), (2.01e-3, "generalized_alpha"), (20e-3, "generalized_alpha")):
            run = mbfmu.simulate(stiff, 0.8, step=step, output_interval=step)
            assert run.stepper.split()[0] == name
            assert "1.8e-03 s" in run.reason or "0.0018 s" in run.reason
            assert np.abs(run["s.s"]).max() <= 1e-3 * (1 + 1e-12)
    assert prepare(stiff, None, None, 2.01e-3, tolerance=1e-6).stepper.startswith("rattle")


def test_a_run_beyond_the_limit_says_so_and_names_rate_step_and_remedy() -> None:
    stiff = oscillator(c=1e6)
    with pytest.warns(ResultWarning, match="steps of 0.00201 s let errors grow"):
        run = mbfmu.simulate(stiff, 0.1, stepper="rattle", step=2.01e-3, output_interval=2.01e-3)
    told = next(text for text in run.notices if "let errors grow" in text)
    rate, step = (float(told.split(word)[1].split()[0]) for word in ("about", "at most"))
    assert rate == pytest.approx(1000, rel=0.02)
    assert step == pytest.approx(1.8e-3, rel=0.02)
    assert "generalized_alpha" in told
    assert mbfmu.simulate(stiff, 0.1, stepper="rattle", step=step, error_samples=0).notices == ()
    with pytest.warns(ResultWarning, match="let errors grow"):
        mbfmu.Simulation(stiff, stepper="rattle", step=2.01e-3)


def test_a_run_that_meets_a_stiff_stop_on_its_way_says_that_errors_grow_there() -> None:
    """The damper leaves no energy to judge by, and no step of the run's points lies in the stop."""
    free = oscillator(c=0.0)
    stop = TranslationalStop("stop", joint="s", c=1e8, d=10.0, lower=-0.3, upper=0.3)
    model = System("stop", (*free.components, stop), free.connections, free.parameters, planar=True)
    with pytest.warns(ResultWarning, match=r"at t = 0\.3\d* s steps of 0.001 s let errors grow"):
        run = mbfmu.simulate(model.with_values({"s.v": 1.0}), 1.0, step=1e-3, output_interval=0.02)
    assert run.stepper.startswith("rattle")
    assert np.abs(run["s.v"]).max() > 1e3


@pytest.mark.parametrize("backend", ["python", "native"])
def test_an_fmu_says_at_its_first_step_that_errors_grow_with_what_was_set(backend: str, tmp_path: Path) -> None:
    fmu = mbfmu.export(oscillator(c=1e6), tmp_path / "f.fmu", stepper="rattle", step=1e-3, backend=backend)
    assert mbfmu.simulate(fmu, 0.02, values={"solver.error_samples": 0.0}).notices == ()
    for values, rate in (({"solver.step": 2.01e-3}, 1000), ({"c": 1e8}, 10000)):
        with pytest.warns(ResultWarning, match="let errors grow from one to the next"):
            run = mbfmu.simulate(fmu, 0.02, values=values, output_interval=2.01e-3)
        (told,) = (text for text in run.notices if "let errors grow" in text)
        assert float(told.split("about")[1].split()[0]) == pytest.approx(rate, rel=0.02)
        assert "(said once, at t = 0 s)" in told
