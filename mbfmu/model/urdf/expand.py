"""Xacro -> URDF, by the reader `xacro` in a process of its own: see `run_apart`."""

import json
import os
import re
from pathlib import Path
from typing import Any

from mbfmu.errors import ModelFileError
from mbfmu.fmi import report
from mbfmu.model.apart import limit_memory, write_result
from mbfmu.model.urdf.packages import folders_of


def run(job: Path) -> None:
    """Write the outcome of a job: see `expanded`, whose paths are relative to the ``folder`` of the job."""
    write = report.begin()
    limit_memory()
    supplied = json.loads(job.read_text(encoding="utf-8"))
    os.chdir(supplied["folder"])
    write_result(write, expanded(**{key: supplied[key] for key in supplied if key != "folder"}))


def expanded(path: str, packages: dict[str, str], arguments: dict[str, str], largest: int) -> dict[str, Any]:
    """Return the URDF of a xacro file as ``urdf``; or what is wrong with it as ``mistake``.

    Args:
        path: path of the file.
        packages: folders of packages by name.
        arguments: values of the file's arguments by name.
        largest: largest number of characters of the URDF.
    """
    import xacro
    from xacro import substitution_args

    def find(package: str) -> str:
        for folder in folders_of(package, Path(path), packages):
            if folder.is_dir():
                return str(folder)
        raise ModelFileError(f"$(find {package}): give the package's folder with --package {package}=FOLDER")

    # by itself the reader asks ROS for packages, which may be missing
    substitution_args._eval_find = substitution_args._eval_dict["find"] = find
    try:
        urdf = xacro.process_file(path, mappings=arguments).toprettyxml(indent="  ")
        return {"urdf": urdf} if len(urdf) <= largest else {"mistake": f"it expands to more than {largest / 1e6:g} MB"}
    except RecursionError:
        return {"mistake": "xacro: macros or files are nested without end"}
    except Exception as error:  # noqa: BLE001 - macros raise any kind of error
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ModelFileError):
            cause = cause.__context__  # the reader wraps errors, and its text repeats them
        text = re.sub(r" \[Errno \d+\].*", "", str(error), flags=re.DOTALL)  # which names the file again
        return {"mistake": str(cause or f"xacro: {text or type(error).__name__}")}
