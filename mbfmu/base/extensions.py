"""Extensions: what other installed packages add to mbfmu, by entry points."""

import warnings
from collections.abc import Container
from importlib.metadata import entry_points
from typing import Any

STEPPERS = "mbfmu.steppers"
"""Group of the entry points of steppers; each names a `Family`."""
COMPONENTS = "mbfmu.components"
"""Group of the entry points of joints, forces and other components; each names a class."""


def registered(group: str, wanted: type, own: Container[str]) -> dict[str, Any]:
    """Return what installed packages register in a group, by the name of the family or class.

    What does not load, or is not what the group is for, is left out with a warning that names it.

    Args:
        group: name of the group.
        wanted: class of the objects in it, or base class of the classes in it.
        own: names that mbfmu has itself.
    """
    found: dict[str, Any] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        reason = ""
        try:
            item = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any error in another package is one warning
            reason = f"it does not load: {type(error).__name__}: {error}"
        else:
            if not (issubclass(item, wanted) if isinstance(item, type) else isinstance(item, wanted)):
                reason = f"it must be a {wanted.__name__}"
            elif (name := item.__name__ if isinstance(item, type) else item.name) in own:
                reason = f"mbfmu has a '{name}' itself"
        if reason:
            package = f" of '{entry.dist.name}'" if entry.dist else ""
            warnings.warn(
                f"entry point '{entry.name} = {entry.value}' in group '{group}'{package} is left out: {reason}",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            found[name] = item
    return found
