"""Modelica's text -> the flat model, by the compiler rumoca in a process of its own: see `run_apart`."""

import json
import warnings
from pathlib import Path
from typing import Any

from mbfmu.fmi import report
from mbfmu.model.apart import limit_memory, write_result

FILE = "input.mo"
"""Name of the text in the compiler's messages."""


def run(job: Path) -> None:
    """Write the outcome of a job: a text, and the full name of the model in it."""
    write = report.begin()
    limit_memory()
    supplied = json.loads(job.read_text(encoding="utf-8"))
    write_result(write, flattened(supplied["text"], supplied["model"]))


def flattened(text: str, model: str) -> dict[str, Any]:
    """Return the flat model as ``flat``; or the compiler's ``mistake``, with what it says of the text as ``said``.

    Args:
        text: the text.
        model: full name of the model.
    """
    warnings.simplefilter("ignore")
    import rumoca

    try:
        return {"flat": rumoca.Session().loads(text, model=model).to_dict("flat")}
    except rumoca.RumocaError as error:
        said = next((item.message for item in rumoca.validate_source(text, filename=FILE)), "")
        return {"mistake": str(error), "said": said}
    except Exception as error:  # noqa: BLE001 - the compiler raises others where it has a mistake itself
        return {"failure": str(error)[:200]}
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is no Exception
        return {"failure": str(error)[:200]}
