"""What is wrong with an FMU, as a value."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One breach of one rule."""

    rule: str
    """The rule's id, such as 'start-missing'."""
    message: str
    """What is wrong, where, and how to mend it."""
    line: int | None = None
    """The line of modelDescription.xml, where known."""

    def __str__(self) -> str:
        where = f"modelDescription.xml:{self.line}: " if self.line is not None else ""
        return f"{where}{self.rule}: {self.message}"
