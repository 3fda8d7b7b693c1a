"""Folders of ROS packages, which ``package://NAME/...`` and ``$(find NAME)`` name."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path


def folders_of(
    package: str, file: Path, supplied: Mapping[str, str | os.PathLike[str]] | None = None
) -> Iterator[Path]:
    """Yield the possible folders of a package, the likeliest first; they need not exist.

    Args:
        package: name of the package.
        file: file that names it: the package is sought around and above it.
        supplied: folders by name, which come first.
    """
    if supplied and package in supplied:
        yield Path(supplied[package])
    for folder in Path(os.path.abspath(file)).parents:
        if folder.name == package:
            yield folder
        yield folder / package
    for text in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
        if text:
            if Path(text).name == package:
                yield Path(text)
            yield Path(text) / package
            yield from (path.parent for path in sorted(Path(text).glob(f"*/{package}/package.xml")))
