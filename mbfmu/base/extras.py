"""Extras: the command that installs optional dependencies into this installation of mbfmu."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


def command(*names: str) -> str:
    """Return the command that installs extras, from where this mbfmu was installed: a checkout, a file or an index.

    The record that installers write beside the package tells (PyPA, Recording the Direct URL Origin of installed
    distributions: direct_url.json).

    Args:
        names: names of extras, such as "view".
    """
    extras, origin = f"[{','.join(names)}]", _origin()
    if not origin:
        return f'python -m pip install "mbfmu{extras}"'
    url = origin["url"]
    if origin.get("dir_info", {}).get("editable"):
        return f'python -m pip install -e "{url2pathname(urlsplit(url).path)}{extras}"'
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    return f'python -m pip install "mbfmu{extras} @ {url}"'


def _origin() -> dict[str, Any]:
    """Return the record of where mbfmu was installed from; empty if it was from an index, or not by an installer."""
    try:
        return dict(json.loads(distribution("mbfmu").read_text("direct_url.json") or "{}"))
    except (PackageNotFoundError, ValueError):
        return {}
