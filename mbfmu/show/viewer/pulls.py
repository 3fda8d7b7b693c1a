"""Pulls: forces on frames of a mechanism that the pointer exerts in a live page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mbfmu.errors import UnknownNameError, UsageError, nearest
from mbfmu.fmu.interface import PARAMETER, Interface
from mbfmu.model import Model, System, connect, flatten
from mbfmu.model.forces import WorldForce

FREQUENCY = 40.0
"""Default stiffness of a pull for each kilogram of the mechanism, N/(m kg): about one oscillation a second."""
USUAL = 100.0
"""Default stiffness where no mass is known, N/m."""


def with_pulls(model: Model, ends: Sequence[str]) -> Model:
    """Return a model with a force from outside on each of some frames.

    Args:
        model: the model.
        ends: full names of frames, or of bodies, whose frame_b is meant if they have one.

    Raises:
        UsageError: the model has no bodies.
        UnknownNameError: there is no such frame.
    """
    if not ends:
        return model
    if not isinstance(model, System) or model.only_blocks:
        raise UsageError(f"'{model.name}' has no bodies to pull")
    parts = {path: item for path, item in flatten(model).components.items() if item.frames}
    forces, connections = [], []
    for end in ends:
        path, _, frame = end.rpartition(".") if end not in parts else (end, "", "")
        known = parts[path].frames if path in parts else ()
        frame = frame or ("frame_b" if "frame_b" in known else "frame_a")
        if frame not in known:
            raise UnknownNameError(f"there is no body or frame '{end}' to pull; {nearest(end, parts)}")
        name = f"pull_{path}_{frame}".replace(".", "_")
        forces.append(WorldForce(name))
        connections.append(connect(f"{path}.{frame}", f"{name}.frame_b"))
    return replace(model, components=(*model.components, *forces), connections=(*model.connections, *connections))


def stiffness_of(table: Interface) -> float:
    """Return the stiffness with which a pull begins, N/m, by the masses among the parameters of an FMU."""
    masses = sum(item.start or 0.0 for item in table.variables if item.kind == PARAMETER and item.unit == "kg")
    return FREQUENCY * masses or USUAL


def pulls_of(model: Model, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the forces from outside, resolved in the world, that act on frames whose position is among the variables.

    Args:
        model: the model.
        names: names of the variables, in the order of their value references.
    """
    if not isinstance(model, System) or model.only_blocks:
        return
    mechanism, known = flatten(model), {name: index for index, name in enumerate(names)}
    for path, force in mechanism.of(WorldForce).items():
        inputs = [f"{path}.f[{k}]" for k in (1, 2, 3)]
        for pair in mechanism.connections:
            ends = {pair.a, pair.b} - {f"{path}.frame_b"}
            if force.resolve != "world" or len(ends) != 1:
                continue
            (end,) = ends
            for stem in (end, end.removesuffix(".frame_a")):
                at = [f"{stem}.r_0[{k}]" for k in (1, 2, 3)]
                if at[0] in known:
                    yield {
                        "inputs": [known[name] for name in inputs if name in known],
                        "at": [known[name] for name in at if name in known],
                    }
                    break
