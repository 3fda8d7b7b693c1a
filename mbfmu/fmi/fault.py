"""Faults that keep an FMU from being read, and text of it that may be shown."""

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 1000
"""Largest number of characters of a message."""


@dataclass(frozen=True)
class Fault:
    """Something that keeps an FMU from being read.

    Args:
        kind: what is broken; the rule of the check with this name says what must hold.
        text: what is wrong, and how to correct it.
        where: line of modelDescription.xml, or member of the archive; None for neither.
    """

    kind: str
    text: str
    where: int | str | None = None

    def __str__(self) -> str:
        return one_line(self.text)


def one_line(text: str) -> str:
    """Return one line without control characters: names and messages come from the FMU, and go to a terminal."""
    line = "".join(_shown(" ".join(text[: 10 * LONGEST].split())))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def _shown(line: str) -> Iterator[str]:
    for character in line:
        yield character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
