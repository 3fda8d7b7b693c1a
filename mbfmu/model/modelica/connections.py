"""Connections of a flat model: of frames, of flanges and of signals."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from mbfmu.model.modelica.stubs import ACROSS


def connected(flat: dict[str, Any], alike: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the sets of frames and flanges that are connected, by their full names.

    Args:
        flat: the flat model.
        alike: pairs of flanges that move as one without a connection.
    """
    ends = ((a, b) for a, b in _pairs(flat) if a.endswith(f".{ACROSS}"))
    pairs = ((a.removesuffix(f".{ACROSS}"), b.removesuffix(f".{ACROSS}")) for a, b in ends)
    return sets_of([*pairs, *alike])


def signals(flat: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of signals that are connected or set equal, entry by entry: ``u[1]``."""
    for a, b in [*_pairs(flat), *filter(None, map(equal, flat["equations"]))]:
        if not a.endswith(f".{ACROSS}"):
            yield from zip(entries(flat, a), entries(flat, b), strict=True)


def sets_of(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the sets of names that pairs of them make."""
    group: dict[str, list[str]] = {}
    for a, b in pairs:
        one, other = group.setdefault(a, [a]), group.setdefault(b, [b])
        if one is not other:
            one += other
            group.update(dict.fromkeys(other, one))
    return list({id(item): item for item in group.values()}.values())


def entries(flat: dict[str, Any], name: str) -> list[str]:
    """Return the names of the entries of a variable, or its own name if it is a scalar."""
    names = [name]
    for size in flat["variables"].get(name, {"dims": []})["dims"]:
        names = [f"{item}[{index}]" for item in names for index in range(1, size + 1)]
    return names


def equal(item: Any) -> tuple[str, str] | None:
    """Return the two names that an equation of a user's sets equal; None if it is another one."""
    if not isinstance(item["origin"], dict) or "ComponentEquation" not in item["origin"]:
        return None
    match item.get("residual"):
        case {"Binary": {"op": "Sub", "lhs": lhs, "rhs": rhs}}:
            a, b = named(lhs), named(rhs)
            return (a, b) if a and b else None
    return None


def named(tree: Any) -> str:
    """Return the name that a tree of the compiler consists of, with its subscripts; empty if it is something else."""
    match tree:
        case {"VarRef": {"name": {"name": name}, "subscripts": subscripts}}:
            places = [item["Index"]["value"] for item in subscripts if "Index" in item]
            return f"{name}{''.join(f'[{index}]' for index in places)}" if len(places) == len(subscripts) else ""
    return ""


def whole_of(name: str) -> str:
    """Return the name of the variable that an entry belongs to."""
    return re.sub(r"(\[\d+\])+$", "", name)


def _pairs(flat: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for item in flat["equations"]:
        pair = item["origin"].get("Connection") if isinstance(item["origin"], dict) else None
        if pair:
            yield pair["lhs"], pair["rhs"]
