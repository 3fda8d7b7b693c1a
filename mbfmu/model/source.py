"""Model files that are data: bounded reading, and errors with file and line."""

import os
from dataclasses import dataclass
from pathlib import Path

from mbfmu.errors import MbfmuError, ModelFileError

LONGEST_MESSAGE = 600


@dataclass(frozen=True)
class SourceText:
    """A text that a model is read from.

    Args:
        name: name of the text in messages, such as its path.
        folder: folder of its file; None for a text that is in no file.
    """

    name: str
    folder: Path | None = None

    def error(self, line: int, message: MbfmuError | str) -> MbfmuError:
        """Return an error of one line with file and line number in front, of the same class.

        Args:
            line: number, from 1.
            message: an error, or the text of a `ModelFileError`.
        """
        kind = ModelFileError if isinstance(message, str) else type(message)
        text = " ".join(str(message).split())
        if len(text) > LONGEST_MESSAGE:
            text = text[:LONGEST_MESSAGE] + " ..."
        return kind(f"'{self.name}', line {line}: {text}")


def read_bytes(path: Path, largest: int) -> bytes:
    """Return the content of a regular file.

    Args:
        path: path of the file.
        largest: largest number of bytes it may have.

    Raises:
        ModelFileError: there is no such file, it cannot be read, or it is too large.
    """
    if not os.path.isfile(path):  # False too if a folder in the path may not be read
        raise ModelFileError(f"there is no model file '{path}'")
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise ModelFileError(f"cannot read '{path}': {error.strerror or error}") from None
    if len(content) > largest:
        raise ModelFileError(f"'{path}' is larger than {largest / 1e6:g} MB, the limit for a model file of this kind")
    return content
