"""python -m benchmarks.masters: ten models as FMUs of every form, each run for a second in the tools of others.

The tools that pip installs are run with the Python at hand; the others if a program is named by an option or found on
the PATH, and PyFMI if the Python that has it is named. Values at the end are compared with those of `mbfmu.simulate`.
"""

import argparse
import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fmpy
import numpy as np

import mbfmu
from benchmarks.masters import run
from mbfmu.base.files import write_aside
from mbfmu.errors import MbfmuError

MODELS = (
    "pendulum", "two_link", "slider_crank", "crane", "stewart", "heavy_top", "hydraulic_monolith", "bouncing_ball",
    "stick_slip", "sampled_pid_two_link",
)  # fmt: skip
"""Names in models/: trees, loops, quaternions, first-order states, impacts, friction, sampled blocks."""
STOP, STEP, TOLERANCE = 1.0, 1e-2, 1e-8
"""End, s; communication step or output interval, s; relative tolerance of model exchange."""
AGREE = {"cs": 1e-9, "me": 1e-4}
"""Largest difference from `mbfmu.simulate` up to which values agree, relative to 1 and their largest value."""
TIMEOUT = 120.0
"""Time for one run, s."""


@dataclass(frozen=True)
class Form:
    """A form of FMU.

    Args:
        name: how the table names it.
        kind: ``cs`` or ``me``.
        choices: arguments of `mbfmu.export`.
    """

    name: str
    kind: str
    choices: Mapping[str, Any]


PYTHON = Form("co-simulation, FMI 2.0, Python", "cs", {})
NATIVE = Form("co-simulation, FMI 2.0, native", "cs", {"backend": "native"})
ARRAYS = Form("co-simulation, FMI 3.0", "cs", {"backend": "native", "fmi": "3.0"})
SCALARS = Form("co-simulation, FMI 3.0, --scalars", "cs", {"backend": "native", "fmi": "3.0", "scalars": True})
EXCHANGE = Form("model exchange, FMI 2.0", "me", {"backend": "native", "kind": "me"})
EXCHANGE3 = Form("model exchange, FMI 3.0", "me", {"backend": "native", "kind": "me", "fmi": "3.0"})
FLAT = Form("model exchange, FMI 3.0, --scalars", "me", {**EXCHANGE3.choices, "scalars": True})
STEPPED = (PYTHON, NATIVE, ARRAYS, SCALARS)
ALL = (*STEPPED, EXCHANGE, EXCHANGE3, FLAT)
FORMS: Mapping[str, Sequence[Form]] = {
    "FMPy": ALL,
    "libcosim": (PYTHON, NATIVE),
    "ecos": STEPPED,
    "fmucontainer": STEPPED,
    "fmutool": ALL,
    "CasADi": (EXCHANGE, EXCHANGE3, FLAT),
    "fmusim": ALL,
    "OMSimulator": ALL,
    "MasterSim": (PYTHON, NATIVE),
    "PyFMI": (PYTHON, NATIVE, EXCHANGE, EXCHANGE3, FLAT),
}
"""The forms that each tool takes by its documentation."""
PROGRAMS = {"fmusim": "fmusim", "OMSimulator": "OMSimulator", "MasterSim": "mastersim"}
"""Programs by tool, which options name or the PATH has."""


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Args:
        tool: name of the tool.
        form: form of the FMUs.
        version: version of the tool; empty: no run gave it.
        options: what was requested of the tool.
        agree: number of the models that agree.
        models: number of the models.
        difference: largest difference among those that agree.
        errors: models that do not, with the reason, each reason once.
    """

    tool: str
    form: Form
    version: str
    options: str
    agree: int
    models: int
    difference: float
    errors: tuple[str, ...]


HEAD = """---
search:
  exclude: true
---

# FMUs in other tools

Written by `python -m benchmarks.masters -o docs/records/masters.md` on {today}. [FMPy, PyFMI and other
tools](../masters.md) has the advice that follows.

Each of the models {models} is an FMU of each form, and is run for 1 s: in co-simulation with communication steps of
10 ms, in model exchange with the tool's solver. The values of all real outputs at the end are compared with those of
`mbfmu.simulate`, relative to 1 and the largest of them: they agree in co-simulation up to 1e-9, and in model exchange,
where the reference is the stepper `projected` of order 9, up to 1e-4. fmutool gives no values: a model agrees if there
is no complaint. CasADi has no events: there the time derivatives of the states at the start are compared with those
that FMPy gets. The first table has the number of the {count} models that agree; a dash: the tool does not take it.

"""
"""Beginning of the page that -o writes."""


class Work:
    """FMUs and their reference values, made once each.

    Args:
        folder: where they go.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.fmu, self.expected = cache(self._fmu), cache(self._expected)

    def _fmu(self, model: str, form: str) -> Path:
        """Return the path of a model as an FMU."""
        (chosen,) = (item for item in ALL if item.name == form)
        folder = self._folder / str(ALL.index(chosen))
        folder.mkdir(exist_ok=True)
        return mbfmu.export(model, folder / f"{model}.fmu", **chosen.choices)

    def _expected(self, model: str, kind: str) -> Mapping[str, float]:
        """Return the values of a model's real outputs at the end, by name."""
        stepper, options = ("projected", {"order": 9}) if kind == "me" else (None, None)
        result = mbfmu.simulate(model, STOP, step=1e-3, output_interval=STEP, stepper=stepper, options=options)
        return {name: float(result[name][-1]) for name in result.names}


def elements(item: Any) -> list[str]:
    """Return the names of the elements of a variable of FMPy's description."""
    if not item.shape:
        return [item.name]
    return [f"{item.name}[{','.join(str(k + 1) for k in index)}]" for index in np.ndindex(*item.shape)]


def watched(fmu: Path, expected: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of the real outputs of an FMU that have an expected value, and those of their elements."""
    known, names, parts = set(expected), [], []
    for item in fmpy.read_model_description(str(fmu), validate=False).modelVariables:
        if item.causality == "output" and item.type in {"Real", "Float64"} and known.issuperset(elements(item)):
            names.append(item.name)
            parts += elements(item)
    return names, parts


def rates(fmu: Path) -> dict[str, float]:
    """Return the time derivatives of the states of an FMU for model exchange at its start, by FMPy, by name."""
    with contextlib.redirect_stdout(io.StringIO()):
        described = fmpy.read_model_description(str(fmu), validate=False)
        names = [item.name for item in described.modelVariables if item.name.startswith("der(state.")]
        found = fmpy.simulate_fmu(str(fmu), fmi_type="ModelExchange", stop_time=1e-6, output=names)
    return {name: float(found[name][0]) for name in names}


def attempt(tool: str, program: str, task: run.Task) -> run.End | str:
    """Make a run in a process of its own; return its result, or the last line of what went wrong."""
    python = program if tool == "PyFMI" else sys.executable
    command = [python, str(Path(run.__file__)), tool, json.dumps(task._asdict())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {TIMEOUT:g} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if lines and (done.returncode == 0 or tool == "ecos"):
        return run.End(*json.loads(lines[-1]))
    said = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit status {done.returncode}"]
    return " ".join(said[-1].split())


def row(work: Work, tool: str, program: str, form: Form, models: Sequence[str]) -> Row:
    """Run all models in one form in one tool."""
    ends: list[run.End] = []
    worst = 0.0
    errors: dict[str, list[str]] = {}
    for model in models:
        try:
            library = preloaded() if form is PYTHON and tool in PROGRAMS else ""
            fmu = work.fmu(model, form.name)
            expected = rates(fmu) if tool == "CasADi" else work.expected(model, form.kind)
        except MbfmuError as error:
            errors.setdefault(str(error), []).append(model)
            continue
        names, parts = (list(expected),) * 2 if tool == "CasADi" else watched(fmu, expected)
        task = run.Task(str(fmu), form.kind, names, STOP, STEP, TOLERANCE, program, library)
        end = attempt(tool, program, task)
        if isinstance(end, str):
            errors.setdefault(without(end, fmu), []).append(model)
            continue
        ends.append(end)
        if end.values and len(end.values) != len(parts):
            errors.setdefault(f"gives {len(end.values)} values, not {len(parts)}", []).append(model)
            continue
        values = dict(zip(parts, end.values, strict=bool(end.values)))
        size = max(1.0, *(abs(expected[name]) for name in parts))
        difference = max((abs(value - expected[name]) / size for name, value in values.items()), default=0.0)
        if difference <= AGREE[form.kind]:
            worst = max(worst, difference)
        else:
            errors.setdefault(f"differs by {difference:.1e}", []).append(model)
    said = tuple(f"{', '.join(of)}: `{text}`" for text, of in errors.items())  # brackets are no links in code
    told = ends[0] if ends else run.End("", "", [])
    agree = len(models) - sum(len(of) for of in errors.values())
    return Row(tool, form, told.version, told.options, agree, len(models), worst, said)


def preloaded() -> str:
    """Return the path of the library of this Python, which a program in another language loads for an FMU that runs it.

    Raises:
        MbfmuError: this Python has none.
    """
    folder, name = (str(sysconfig.get_config_var(item)) for item in ("LIBDIR", "LDLIBRARY"))
    if not (path := Path(folder) / name).is_file() or ".so" not in name:
        raise MbfmuError("this Python has no shared library, which LD_PRELOAD needs")
    return str(path)


def without(text: str, fmu: Path) -> str:
    """Return a message without the folders of this machine and the name of the model, short enough for a table."""
    text = text.replace(str(fmu), fmu.name).replace(str(fmu.parent), "FOLDER").replace(fmu.stem, "MODEL")
    text = re.sub(r"\d+ elements", "N elements", text.replace("|", "/"))
    return text if len(text) < 200 else f"{text[:200]}..."


COLUMNS: Mapping[str, Sequence[Form]] = {
    "co-simulation 2.0: Python / native": (PYTHON, NATIVE),
    "co-simulation 3.0: arrays / `--scalars`": (ARRAYS, SCALARS),
    "model exchange 2.0": (EXCHANGE,),
    "model exchange 3.0: arrays / `--scalars`": (EXCHANGE3, FLAT),
}
"""Columns of the summary, with their forms."""


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table that has the number of models that agree by tool and form."""
    yield f"| tool | {' | '.join(COLUMNS)} |"
    yield f"|---{'|---' * len(COLUMNS)}|"
    agree = {(item.tool, item.form.name): item.agree for item in rows}
    for tool, version in {item.tool: item.version for item in rows if item.version}.items():
        cells = (" / ".join(str(agree.get((tool, form.name), "-")) for form in forms) for forms in COLUMNS.values())
        yield f"| {tool} {version} | {' | '.join(cells)} |"


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of a table in Markdown, and below it what went wrong."""
    notes: list[str] = []
    yield "| tool | FMU | options | agree | largest difference |"
    yield "|---|---|---|---|---|"
    for item in rows:
        mark = ""
        if item.errors:
            notes.append(f"{len(notes) + 1}. {item.tool}, {item.form.name}: {'; '.join(item.errors)}")
            mark = f" ({len(notes)})"
        shown = f"{item.difference:.0e}" if item.agree and item.tool != "fmutool" else ""
        name = f"{item.tool} {item.version}".strip()
        yield f"| {name} | {item.form.name} | {item.options} | {item.agree} of {item.models}{mark} | {shown} |"
    yield ""
    yield from notes


def present(chosen: argparse.Namespace) -> dict[str, str]:
    """Return the tools that are to run, each with its program; tell which are missing."""
    found: dict[str, str] = {}
    for tool in chosen.tools or FORMS:
        program = getattr(chosen, tool.lower(), None) or shutil.which(PROGRAMS.get(tool, "")) or ""
        if (tool in PROGRAMS or tool == "PyFMI") and not program:
            print(
                f"absent: {tool}: name its {'Python' if tool == 'PyFMI' else 'program'} by --{tool.lower()}",
                file=sys.stderr,
            )
            continue
        found[tool] = program
    return found


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.masters", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--tools", choices=FORMS, nargs="+", help="only these")
    parser.add_argument("--models", choices=MODELS, nargs="+", default=MODELS, help="only these")
    for tool in (*PROGRAMS, "PyFMI"):
        what = "Python that has it" if tool == "PyFMI" else f"program {PROGRAMS[tool]}"
        parser.add_argument(f"--{tool.lower()}", metavar="PATH", help=f"the {what}")
    parser.add_argument("-o", dest="output", metavar="TABLE.md", type=Path, help="write the table, too")
    chosen = parser.parse_args()
    rows = []
    with TemporaryDirectory() as folder:
        work = Work(Path(folder))
        for tool, program in present(chosen).items():
            for form in FORMS[tool]:
                rows.append(row(work, tool, program, form, chosen.models))
                print(*list(table(rows[-1:]))[2:], sep="\n", file=sys.stderr)
    lines = [*summary(rows), "", *table(rows)]
    print(*lines, sep="\n")
    if chosen.output:
        models = ", ".join(f"`{name}`" for name in chosen.models)
        page = HEAD.format(models=models, today=f"{date.today():%Y-%m-%d}", count=len(chosen.models))
        write_aside(chosen.output, (page + "\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
