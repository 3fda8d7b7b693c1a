"""Under which conditions a run was made: machine, load, versions."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("mbfmu", "casadi", "numpy", "scipy", "numba", "pin", "mujoco", "exudyn", "drake", "scikit-sundae")


def conditions() -> str:
    """Return them in a line."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    found = [f"{name} {number}" for name in PACKAGES if (number := _version(name))]
    return f"{_processor()}, {os.cpu_count()} cores, load {load}; {compiler_version()}; {', '.join(found)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def compiler_version() -> str:
    """Return the first line that the C compiler says of itself."""
    path = shutil.which("cc")
    if path is None:
        return "no C compiler"
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
