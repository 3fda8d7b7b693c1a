"""Metadata of the distribution that are computed when it is built: the README of the package page and the addresses.

The address of the public repository stands nowhere in the sources: the environment variable MBFMU_REPOSITORY holds it,
such as https://example.org/owner/mbfmu, and the workflow that releases sets it. Files are shown there below blob/TAG
and raw/TAG.
"""

import os
import re
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "MBFMU_REPOSITORY"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PAGES = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}


def absolute(text: str, repository: str, version: str) -> str:
    """Return a page with absolute links to the files of a version; without a repository with the links' texts alone.

    Args:
        text: a page in Markdown at the root of the repository.
        repository: address of the repository; may be empty.
        version: version of the package, whose tag is a `v` before it.
    """

    def link(found: re.Match[str]) -> str:
        picture, name, path = found.groups()
        kind = "raw" if picture else "blob"
        return f"{picture}[{name}]({repository}/{kind}/v{version}/{path})" if repository else name

    pieces = FENCE.split(text)
    return "".join(piece if piece.startswith("```") else LINK.sub(link, piece) for piece in pieces)


class PageHook(MetadataHookInterface):
    """The README and the addresses of a distribution."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls`."""
        repository = os.environ.get(REPOSITORY, "").rstrip("/")
        with open(os.path.join(self.root, "README.md"), encoding="utf-8") as file:
            text = absolute(file.read(), repository, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        pages = {name: f"{repository}/blob/v{metadata['version']}/{path}" for name, path in PAGES.items()}
        metadata["urls"] = {"Source": repository, **pages, "Issues": f"{repository}/issues"} if repository else {}
