"""Extensions: what other installed packages add to mbfmu, by entry points."""

import warnings
from collections.abc import Callable, Container, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

STEPPERS = "mbfmu.steppers"
"""Group of the entry points of steppers; each names a `Family`."""
COMPONENTS = "mbfmu.components"
"""Group of the entry points of joints, forces and other components; each names a class."""
READERS = "mbfmu.readers"
"""Group of the entry points of file formats of models; each names a `Reader`."""


def name_of(item: Any) -> tuple[str]:
    """Return the name under which a family or class is registered."""
    return (item.__name__ if isinstance(item, type) else item.name,)


def registered(
    group: str, wanted: type, own: Container[str], claimed: Callable[[Any], Iterable[str]] = name_of
) -> dict[str, Any]:
    """Return what installed packages register in a group, by what each claims, such as its name.

    What does not load, or is not what the group is for, is left out with a warning that names it; so is a claim to what
    mbfmu has itself, and one that two entry points make.

    Args:
        group: name of the group.
        wanted: class of the objects in it, or base class of the classes in it.
        own: what mbfmu has itself, by the same keys.
        claimed: function that returns what an object or class claims; by default its name.
    """
    claims: dict[str, list[tuple[EntryPoint, Any]]] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        try:
            item = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any error in another package is one warning
            _warn(_label(group, entry), f"is left out: it does not load: {type(error).__name__}: {error}")
            continue
        if not (issubclass(item, wanted) if isinstance(item, type) else isinstance(item, wanted)):
            _warn(_label(group, entry), f"is left out: it must be a {wanted.__name__}")
            continue
        for key in claimed(item):
            if key in own:
                _warn(_label(group, entry), f"is left out for '{key}': mbfmu has a '{key}' itself")
            elif all(item is not other for _, other in claims.get(key, ())):
                claims.setdefault(key, []).append((entry, item))
    for key, rivals in claims.items():
        if len(rivals) > 1:
            labels = " and ".join(_label(group, entry) for entry, _ in rivals)
            _warn(labels, f"are left out for '{key}', which each of them has: uninstall all but one")
    return {key: rivals[0][1] for key, rivals in claims.items() if len(rivals) == 1}


def _label(group: str, entry: EntryPoint) -> str:
    """Return how messages name an entry point."""
    package = f" of '{entry.dist.name}'" if entry.dist else ""
    return f"entry point '{entry.name} = {entry.value}' in group '{group}'{package}"


def _warn(labels: str, text: str) -> None:
    warnings.warn(f"{labels} {text}", RuntimeWarning, stacklevel=3)
