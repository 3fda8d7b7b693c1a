"""Tables of what models and components take: name, unit, default and meaning, and the frames by which they connect."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from mbfmu.dae import Dae, ParameterSignal, Signal
from mbfmu.dae.start import DIGITS, TOLERANCE, assembled, column, missed, start_error
from mbfmu.model import ModalBody
from mbfmu.model.component import Component, QuantityField
from mbfmu.model.mechanism import Mechanism

Row = dict[str, Any]
"""A row of a table: values by their headings, which are texts, numbers, lists of texts, or details by name."""
ENTRY = re.compile(r"^ {4}(\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)
"""An entry of a docstring's arguments: the names, and what is said of them."""


def component_fields(kind: type[Component]) -> list[Row]:
    """Return what a component takes: name, kind, unit, default and meaning of each field."""
    texts = _meanings(kind)
    hints = get_type_hints(kind)
    return [
        {"name": item.name, **_kind_and_unit(item), "default": _default(item), "meaning": _meaning(item, texts, hints)}
        for item in fields(kind)
        if item.init and item.name != "name"
    ]


def connections_of(kind: type[Component]) -> list[str]:
    """Return the frames of a component, or the fields that name the joints on which it acts."""
    if issubclass(kind, ModalBody):
        return ["frame_a", "those of its data"]
    bare = object.__new__(kind)
    for item in fields(kind):
        if item.default is not MISSING:
            object.__setattr__(bare, item.name, item.default)
    frames = list(bare.frames)
    return frames or [item.name for item in fields(kind) if item.name.startswith("joint")]


def frames_of(mechanism: Mechanism) -> list[Row]:
    """Return the frames of all components of a mechanism, which `connect` takes."""
    return [
        {"component": path, "type": type(item).__name__, "frames": [f"{path}.{frame}" for frame in item.frames]}
        for path, item in mechanism.components.items()
        if item.frames
    ]


def variables(dae: Dae, settable: tuple[str, ...] = ()) -> list[Row]:
    """Return what a user sets of a model, and the outputs of one without motion: name, kind, unit, default, meaning.

    Args:
        dae: its equations.
        settable: names of start values that are of interest, given or not.
    """
    states, starts = {item.name for item in dae.states}, {item.name: item for item in dae.starts}
    outputs = {item.name: item for item in dae.outputs}
    rows = [_row(item, "input", item.start) for item in dae.inputs]
    for name, item in starts.items():
        value = f"guess({item.value:.6g})" if item.guess else item.value
        rows.append(_row(item, "state" if name in states else "start value", value))
    rows += [_row(outputs[name], "start value", "free") for name in settable if name in outputs and name not in starts]
    rows += [_row(item, "parameter", item.value) for item in dae.parameters]
    values = column(dae.bound_values(dae.extended(dae.p_default()))) if dae.bound else ()
    rows += [_row(item, "calculated", float(value)) for item, value in zip(dae.bound, values, strict=True)]
    if not dae.n:
        rows += [_row(item, "output", "") for item in dae.outputs if item.kind == "output" and item.name not in states]
    return rows


def start_fault(dae: Dae) -> str:
    """Return why a model does not start, such as a loop that cannot be closed; empty if its poses close."""
    p, s = dae.extended(dae.p_default()), dae.s_default()
    n_s = len(dae.start.starts)
    q = column(assembled(dae, list(s), list(p), 0.0))
    open_by = np.abs(column(dae.start.closing(q, p, 0.0)))
    gaps = missed(dae, q, s[:n_s], p, 0.0)
    closed = np.all(np.isfinite(q)) and np.all(open_by <= TOLERANCE) and np.all(gaps <= DIGITS)
    return "" if closed else str(start_error(dae, list(s), list(p), 0.0))


def text_of(kind: type[Component]) -> str:
    """Return what the docstring of a component says of it, without its arguments."""
    return (inspect.getdoc(kind) or "").partition("\n\nArgs:")[0]


def _row(item: Signal | ParameterSignal, kind: str, default: Any) -> Row:
    unit = item.unit if item.type == "Real" else item.type
    return {"name": item.name, "kind": kind, "unit": unit, "default": default, "meaning": item.description}


def _kind_and_unit(item: Field[Any]) -> Row:
    if declared := item.metadata.get("quantity"):
        kind = {"start": "start value"}.get(declared.role, declared.role)
        return {"kind": kind, "unit": declared.unit}
    if formula := item.metadata.get("law"):
        return {"kind": "formula", "unit": formula.unit}
    return {"kind": next((kind for kind in ("direction", "file") if kind in item.metadata), "option"), "unit": ""}


def _default(item: Field[Any]) -> Any:
    value = item.default if item.default_factory is MISSING else item.default_factory()
    if value is MISSING or value == "":
        return "required"
    if value is None:
        return "free" if "quantity" in item.metadata else "none"
    return list(map(str, value)) if isinstance(value, tuple | list) else value


def _meaning(item: Field[Any], texts: Mapping[str, str], hints: Mapping[str, Any]) -> str:
    declared: QuantityField | None = item.metadata.get("quantity") or item.metadata.get("law")
    text = texts.get(item.name) or (declared.description if declared else "")
    if get_origin(hints[item.name]) is Literal and not all(choice in text for choice in get_args(hints[item.name])):
        text = f"{text} ({', '.join(get_args(hints[item.name]))})".strip()
    return text


def _meanings(kind: type) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say of each argument, without references to others."""
    found: dict[str, str] = {}
    for base in kind.__mro__:
        for name, text in _entries(base.__dict__.get("__doc__") or ""):
            if not text.startswith("as in "):
                found.setdefault(name, text)
    return found


def _entries(docstring: str) -> Iterator[tuple[str, str]]:
    arguments = inspect.cleandoc(docstring).partition("Args:\n")[2]
    for names, text in ENTRY.findall(arguments):
        for name in names.split(", "):
            yield name, " ".join(text.split()).rstrip(".").replace("`", "")
