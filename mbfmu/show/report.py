"""Report: one page on a run: what was run and how, its picture, parameters, results, curves, events and warnings."""

import hashlib
import io
import os
import platform
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from html import escape
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mbfmu
from mbfmu.base.described import takes
from mbfmu.base.result import Result, matching, noise, selection
from mbfmu.base.units import Display, display_of, shown_unit
from mbfmu.errors import MbfmuError, UsageError
from mbfmu.fmi.reading import parse_fmu
from mbfmu.model import Model
from mbfmu.prepared.prepare import prepare_run
from mbfmu.prepared.settings import RunSettings
from mbfmu.run.inputs import courses, formulas
from mbfmu.run.simulate import simulate
from mbfmu.show.plot import plot_result
from mbfmu.show.viewer import (
    RUN,
    STOP,
    Look,
    Page,
    PageArguments,
    kind_of,
    model_and_looks,
    motion_of_result,
    name_of,
    page_of,
    read_result,
    values_of_both,
    view,
)

Row = tuple[Any, ...]
MOST_EVENTS = 200
"""Largest number of changes that the table of events lists; the others are counted."""
RUN_OF_MODEL = ("options", "tolerance", "output_interval", "input_hold", "coordinates", "values", "inputs")
"""Settings of a run that a report states where they are not their defaults."""


@dataclass(frozen=True)
class ReportArguments(PageArguments):
    """The arguments of `report`."""


class Told(NamedTuple):
    """A run and what a report says of it.

    Args:
        result: the run.
        facts: what was run, by what it is.
        values: name, value, SI unit and meaning of each parameter, start value and input.
        model: the model that was run; None: an FMU, or a recorded run.
        looks: solids fixed to its bodies.
    """

    result: Result
    facts: Mapping[str, str]
    values: Sequence[tuple[str, Any, str, str]]
    model: Model | None = None
    looks: tuple[Look, ...] = ()


@takes(ReportArguments)
def report(request: ReportArguments) -> Page:
    """Return a page on a run, which opens without a network: what was run, how it moved, what it began with and gave.

    A mechanism is shown as `view` shows it, where the package of three.js is installed. The events in the report are
    the changes of variables that take whole values only, such as contacts that close, as the run's points show them.

    Raises:
        ModelError, StartError: the model is invalid.
        StepError, FmuError: the run failed.
        UsageError, UnknownNameError: an argument is invalid.
    """
    title = request.title or name_of(request.source)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        run = _run(request)
        result = replace(
            run.result,
            chosen=matching(tuple(request.show), run.result.names),
            display=display_of(request.display) or run.result.display,
        )
        picture, why = _picture(request, run, result, title)
    for item in heard:
        warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
    notices = dict.fromkeys([*(str(item.message) for item in heard), *result.notices])
    parts = {
        "TITLE": escape(title),
        "FACTS": _table((), [*run.facts.items(), *_made().items()]),
        "WARNINGS": "".join(f"<li>{escape(text)}</li>" for text in notices) or "<li>none</li>",
        "PICTURE": picture._repr_html_() if picture else f"<p>{escape(why)}</p>",
        "VALUES": _values(run.values, result.display),
        "RESULTS": _results(result),
        "EVENTS": _events(result),
        "CURVES": _curves(result),
    }
    text = (resources.files("mbfmu.show") / "report.html").read_text(encoding="utf-8")
    return Page(re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], text), float(result.time[-1]))


def _run(request: ReportArguments) -> Told:
    """Return the run of a model or an FMU, or a recorded one.

    Raises:
        UsageError: a recorded run has settings.
    """
    source = request.source
    label = name_of(source) if isinstance(source, Model | Result) else os.fspath(source)
    how: dict[str, Any] = {name: getattr(request, name) for name in RUN}
    end = STOP if request.stop is None else request.stop
    kind = kind_of(source)
    if kind == "run":
        if wrong := [name for name, value in {"stop": request.stop, **how}.items() if value]:
            raise UsageError(f"'{label}' is a run already: leave {', '.join(wrong)} out")
        result = source if isinstance(source, Result) else read_result(label)
        facts = {"what": "a recorded run", **({} if isinstance(source, Result) else _file(label))}
        return Told(result, {**facts, **_steps(result)}, ())
    if kind == "fmu":
        result = simulate(label, end, values=request.values, progress=request.progress, **how)
        fmu = parse_fmu(label, ("2.0", "3.0"), ("cs", "me"))
        facts = {
            "what": f"an FMU of FMI {fmu.version}: {fmu.model}", "description": fmu.description, **_file(label),
            "identity": fmu.token, **_steps(result), **_settings(request),
        }  # fmt: skip
        changed = request.values or {}
        values = [
            (port.name, changed.get(port.name, port.start or ""), port.unit, port.description)
            for port in fmu.ports.values()
            if port.causality in {"parameter", "input"} or port.name in changed
        ]
        return Told(result, facts, values)
    reading: dict[str, Any] = {"values": request.values, "free": tuple(request.free), "robot": request.robot}
    assert not isinstance(source, Result)
    model, looks = model_and_looks(source, reading)
    result = simulate(model, end, progress=request.progress, **how)
    run: RunSettings = replace(request, values=None)
    outline = prepare_run(model, run, formulas(courses(request.inputs, request.input_hold))).outline
    facts = {
        "what": f"the model {model.name}",
        "description": model.description,
        **_steps(result),
        **_settings(request),
    }
    signals = (*outline.parameters, *outline.start_values)
    values = [(item.name, item.value, item.unit, item.description) for item in signals]
    values += [(item.name, item.start, item.unit, item.description) for item in outline.inputs]
    return Told(result, facts, values, model, looks)


def _file(path: str) -> dict[str, str]:
    return {"file": path, "SHA-256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def _steps(result: Result) -> dict[str, str]:
    """Return what is known of the steps of a run and of its error."""
    facts = {"time": f"{result.time[0]:g} to {result.time[-1]:g} s, {len(result.time)} points"}
    if result.stepper:
        facts["stepper"] = f"{result.stepper}, {result.reason}"
    if result.steps:
        longest = f" of at most {result.step:g} s" if result.step else ""
        facts["steps"] = f"{result.steps}{longest}, {result.seconds:.3g} s of computing"
    if error := result.error.name:
        unit, factor = result.shown_unit(error)
        amount = f"{factor * result.error.by_variable[error]:.2g} {unit}" if unit != "1" else ""
        facts["estimated error"] = f"{result.error.value:.2g} of the range of {error}{amount and f' ({amount})'}"
    return facts


def _settings(run: RunSettings) -> dict[str, str]:
    """Return the settings of a run that are not the defaults."""
    named = run.named()
    facts = {}
    for name in RUN_OF_MODEL:
        if value := named.get(name):
            listed = [f"{key} = {item}" for key, item in value.items()] if isinstance(value, Mapping) else [str(value)]
            facts[name.replace("_", " ")] = ", ".join(listed)
    return facts


def _made() -> dict[str, str]:
    """Return with what the report was made, and when."""
    tools = {"mbfmu": mbfmu.__version__, "Python": platform.python_version()}
    tools |= {name: version(name.lower()) for name in ("CasADi", "NumPy")}
    return {
        "versions": ", ".join(f"{name} {number}" for name, number in tools.items()),
        "machine": platform.platform(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _picture(request: ReportArguments, run: Told, result: Result, title: str) -> tuple[Page | None, str]:
    """Return the page of the mechanism, or None and the reason why there is none."""
    reading: dict[str, Any] = {"values": request.values, "free": tuple(request.free), "robot": request.robot}
    if kind_of(request.source) == "fmu":
        reading["values"] = values_of_both(request.model, reading)
    try:
        if run.model:  # which is read already
            motion = motion_of_result(result, title, request.up, run.model, run.looks)
            return page_of(motion, title, f"{result.time[-1]:g} s", request.deformation), ""
        look: dict[str, Any] = {"title": title, "up": request.up, "deformation": request.deformation}
        return view(result, model=request.model, **look, **reading), ""
    except MbfmuError as error:
        return None, f"There is no picture: {error}"


def _table(headings: Sequence[str], rows: Sequence[Row]) -> str:
    """Return rows as a table; numbers stand to the right."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    lines = []
    for first, *others in rows:
        cells = [
            f'<td class="number">{value:.6g}</td>'
            if isinstance(value, float | int)
            else f"<td>{escape(str(value))}</td>"
            for value in others
        ]
        lines.append(f'<tr><th scope="row">{escape(str(first))}</th>{"".join(cells)}</tr>')
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="wide"><table>{top}<tbody>{"".join(lines)}</tbody></table></div>'


def _values(values: Sequence[tuple[str, Any, str, str]], display: Display) -> str:
    if not values:
        return "<p>A table of results does not have them.</p>"
    rows = []
    for name, value, si, meaning in values:
        unit, factor = shown_unit(si, display)
        number = _number(value)
        rows.append((name, value if number is None else factor * number, unit, meaning))
    return _table(("name", "value", "unit", "meaning"), rows)


def _number(value: Any) -> float | None:
    """Return the number that a value is; None for other texts and truth values."""
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _results(result: Result) -> str:
    """Return the table of the chosen variables, or of a selection and the energies, with their errors where known."""
    energies = [name for name in ("energy.total", "energy.balance") if name in result.names]
    least, rows = noise(result), []
    for name in result.chosen or [*selection(result), *energies]:
        unit, numbers = result.shown_extremes(name, least[result.units.get(name, "")])
        error = result.error.by_variable.get(name)
        rows.append((name, unit, *numbers, "" if error is None else f"{result.shown_unit(name)[1] * error:.2g}"))
    return _table(("variable", "unit", "last", "least", "greatest", "estimated error"), rows)


def _changes(result: Result) -> Iterator[tuple[float, str, int, int]]:
    """Yield time, name, and the values before and after, of changes of variables that take whole values only."""
    for name in result.names:
        column = result[name]
        if result.units.get(name, "") not in {"", "1"} or name.startswith("constraint") or not np.any(np.diff(column)):
            continue
        if np.all(np.isfinite(column)) and np.array_equal(column, np.round(column)):
            for k in np.flatnonzero(np.diff(column)):
                yield float(result.time[k + 1]), name, int(column[k]), int(column[k + 1])


def _events(result: Result) -> str:
    changes = sorted(_changes(result))
    if not changes:
        return "<p>No variable that takes whole values only has changed.</p>"
    more = len(changes) - MOST_EVENTS
    rows = [(f"{time:g}", name, before, after) for time, name, before, after in changes[:MOST_EVENTS]]
    rest = f"<p>and {more} more</p>" if more > 0 else ""
    return _table(("first seen at, s", "variable", "before", "after"), rows) + rest


def _curves(result: Result) -> str:
    """Return the picture of the curves, whose lines and texts have the colour of the page's text."""
    content = io.BytesIO()
    try:
        figure = plot_result(result, None)
    except UsageError as error:
        return f"<p>{escape(str(error))}</p>"
    figure.savefig(content, format="svg", transparent=True, metadata={"Date": None})
    text = content.getvalue().decode("utf-8")
    text = text[text.index("<svg") :].replace("#000000", "currentColor")
    return f'<div class="wide">{re.sub(r" (width|height)=.[0-9.]+pt.", "", text, count=2)}</div>'
