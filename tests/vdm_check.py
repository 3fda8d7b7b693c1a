"""Run VDMCheck2 and VDMCheck3 on native FMUs of every recipe: FMI 2.0 and 3.0, co-simulation and model exchange.

python tests/vdm_check.py [FOLDER...]

The scripts VDMCheck2.sh and VDMCheck3.sh are looked for in the folders and on the PATH; a version without one is left
out. They need Java. The exit status is 1 if one of them finds an error, and 2 if there is none to run.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import mbfmu
from mbfmu.fmu.recipe import read_recipe

RECIPES = sorted((Path(__file__).parents[1] / "fmus").glob("*.toml"))
TOOLS = {"2.0": "VDMCheck2.sh", "3.0": "VDMCheck3.sh"}
CLEAN = "No errors found."
LISTED = "validInitialUnknowns: InitialUnknowns can only include refs"
"""What VDMCheck3 says where InitialUnknowns lists an output clock, which FMPy's validation demands."""


def tools(folders: list[str]) -> dict[str, str]:
    """Return the paths of the scripts by version of FMI."""
    where = os.pathsep.join([*folders, os.environ.get("PATH", "")])
    return {fmi: path for fmi, name in TOOLS.items() if (path := shutil.which(name, path=where))}


def complaints(tool: str, fmu: Path) -> list[str]:
    """Return what VDMCheck says of an FMU, without the addresses of the standard and without its verdict."""
    done = subprocess.run(["bash", tool, str(fmu)], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("https://")]
    if lines == [CLEAN]:
        return []
    return lines[:-1] or [done.stderr.strip() or f"no verdict, exit status {done.returncode}"]


def main(folders: list[str]) -> int:
    """Check the recipes, and return the exit status."""
    found = tools(folders)
    if not found:
        print(f"there is neither {' nor '.join(TOOLS.values())}, in the folders given or on the PATH")
        return 2
    wrong = 0
    with TemporaryDirectory() as scratch:
        for path in RECIPES:
            recipe = read_recipe(path)
            for fmi, tool in found.items():
                for kind in ("cs", "me"):
                    used = recipe.exchanged() if kind == "me" else recipe
                    fmu = mbfmu.export(
                        used.model, Path(scratch) / f"{path.stem}.fmu", backend="native", kind=kind,
                        platforms=["linux64"], **{**used.choices(), "fmi": fmi},
                    )  # fmt: skip
                    said = complaints(tool, fmu)
                    known = (fmi, kind) == ("3.0", "cs") and len(said) == 1 and said[0].startswith(LISTED)
                    wrong += bool(said) and not known
                    print(f"{path.stem} {fmi} {kind}: {'; '.join(said) or 'clean'}{' (expected)' if known else ''}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
