"""Runs of models that hit, stick and stop, with their events one by one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import mbfmu
from mbfmu.model import Model

REFERENCES = Path(__file__).parent / "references"
APART = 1e-9
"""Events nearer than this, s, are told as one."""


def reference(name: str) -> dict[str, Any]:
    """Read a reference file, that of the events if there are two."""
    path = REFERENCES / f"{name}_events.json"
    path = path if path.exists() else REFERENCES / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


class Event(NamedTuple):
    """An event, and the outputs at the end of the span in which it is the only one."""

    time: float
    y: Mapping[str, float]


class Run:
    """A run with `projected` that keeps its events.

    Args:
        model: the model, or its name.
        step: s.
        values: parameters and start values.
        order: of the stepper.
        coordinates: ``absolute`` or ``joint``; None: as usual.
    """

    def __init__(
        self,
        model: Model | str,
        step: float,
        values: Mapping[str, float] | None = None,
        order: int = 8,
        coordinates: str | None = None,
    ) -> None:
        options = {"order": order}
        self.simulation = mbfmu.Simulation(
            model, stepper="projected", options=options, step=step, values=dict(values or {}), coordinates=coordinates
        )
        self.span = step
        self.events: list[Event] = []

    def __getitem__(self, name: str) -> float:
        return self.simulation[name]

    def row(self, names: tuple[str, ...] | list[str]) -> npt.NDArray[np.float64]:
        """Return some outputs at this time."""
        return np.array([self[name] for name in names])

    def to(self, time: float) -> "Run":
        """Advance to a time, s."""
        while (left := time - self.simulation.time) > 1e-13:
            self._advance(min(self.span, left))
        return self

    def _advance(self, dt: float) -> None:
        simulation, count = self.simulation, self["events.count"]
        before = simulation.state
        simulation.step({}, dt)
        more = self["events.count"] - count
        if more > 1 and dt > APART:
            simulation.restore(before)
            self._advance(dt / 2)
            self._advance(dt / 2)
        elif more:
            names = [name for name in simulation.output_names if name.rpartition(".")[2] != "time"]
            self.events.append(Event(self["events.time"], {name: self[name] for name in names}))

    def times(self) -> npt.NDArray[np.float64]:
        """Return the times of the events, s."""
        return np.array([event.time for event in self.events])
