"""Reader of the meshes in input files of CalculiX and Abaqus: nodes, solid elements and sets."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mbfmu.analysis.reduction.cells import SOLIDS, on_faces
from mbfmu.analysis.reduction.model import Array, Numbers
from mbfmu.errors import ModelFileError, first_of
from mbfmu.model.source import read_bytes

LARGEST = 2_000_000_000
"""Largest number of bytes of a file."""
DEEPEST = 20
"""Largest number of files that include each other."""
MOST_IN_SET = 50_000_000
"""Largest number of entries of a set that is generated."""
TYPES = {
    "C3D4": "tetra", "C3D4H": "tetra", "C3D10": "tetra10", "C3D10M": "tetra10", "C3D10H": "tetra10",
    "C3D10T": "tetra10", "C3D10MH": "tetra10", "C3D6": "wedge", "C3D15": "wedge15", "C3D8": "hexahedron",
    "C3D8R": "hexahedron", "C3D8I": "hexahedron", "C3D8H": "hexahedron", "C3D8RH": "hexahedron",
    "C3D20": "hexahedron20", "C3D20R": "hexahedron20", "C3D20RI": "hexahedron20", "C3D20H": "hexahedron20",
    "C3D20RH": "hexahedron20", "C3D27": "hexahedron27", "C3D5": "pyramid", "C3D13": "pyramid13",
}  # fmt: skip
"""Kinds of cells of the solid elements, by their types."""
THIN = {
    "S3": 3, "S3R": 3, "STRI3": 3, "STRI65": 6, "S4": 4, "S4R": 4, "S6": 6, "S8": 8, "S8R": 8, "S8R5": 8,
    "CPS3": 3, "CPS4": 4, "CPS4R": 4, "CPS6": 6, "CPS8": 8, "CPS8R": 8, "CPE3": 3, "CPE4": 4, "CPE4R": 4, "CPE6": 6,
    "CPE8": 8, "CPE8R": 8, "M3D3": 3, "M3D4": 4, "M3D4R": 4, "M3D6": 6, "M3D8": 8, "M3D8R": 8, "SFM3D3": 3, "SFM3D4": 4,
    "T2D2": 2, "T3D2": 2, "T3D3": 3, "B31": 2, "B31R": 2, "B32": 3, "B32R": 3, "B21": 2, "B22": 3,
}  # fmt: skip
"""Numbers of nodes of elements of surfaces and lines, by their types."""
SECTIONS = ("SHELL SECTION", "BEAM SECTION", "BEAM GENERAL SECTION", "MEMBRANE SECTION", "SOLID SECTION")
"""Keywords that give elements a stiffness and a mass."""
TIES = ("EQUATION", "MPC", "RIGID BODY", "TIE", "COUPLING", "DISTRIBUTING COUPLING", "KINEMATIC COUPLING",
        "CYCLIC SYMMETRY MODEL", "PRE-TENSION SECTION", "SUBMODEL")  # fmt: skip
"""Keywords that tie nodes to each other."""
TURNS = ("SYSTEM", "NCOPY", "NMAP", "NFILL", "NGEN", "ELGEN", "ELCOPY", "PART", "INSTANCE")
"""Keywords that make or move nodes and elements."""


@dataclass
class InpMesh:
    """The mesh of an input file.

    Args:
        points: positions of the nodes, m, shape (p, 3).
        blocks: kinds of the solid cells, in the words of meshio, and their points.
        sets: numbers of points, by the name of their set.
    """

    points: Array
    blocks: list[tuple[str, Numbers]]
    sets: dict[str, Numbers]


@dataclass(frozen=True)
class _Card:
    """A keyword with its parameters, in upper case, and the lines after it as words."""

    keyword: str
    parameters: dict[str, str]
    where: str
    lines: list[list[str]] = field(default_factory=list)


def read_inp(path: Path) -> InpMesh:
    """Return the mesh of an input file.

    Args:
        path: path of the file.

    Raises:
        ModelFileError: it cannot be read, has no solid elements, or elements or ties that act and are not modelled.
    """
    reading = _Reading(path)
    for card in _cards(path, 0):
        reading.take(card)
    return reading.mesh()


def _cards(path: Path, depth: int) -> Iterator[_Card]:
    """Yield the keywords of a file, and of those that it includes where it does.

    Raises:
        ModelFileError: a file cannot be read, or includes itself.
    """
    if depth > DEEPEST:
        raise ModelFileError(f"'{path}': more than {DEEPEST} files include each other")
    card: _Card | None = None
    begun = ""  # of a keyword that goes on in the next line
    for index, line in enumerate(read_bytes(path, LARGEST).decode("latin-1").splitlines(), 1):
        text = begun + line.strip()
        if not text or text.startswith("**"):
            continue
        if not text.startswith("*"):
            if card:
                card.lines.append([word.strip() for word in text.split(",")])
            continue
        begun = text if text.endswith(",") else ""
        if begun:
            continue
        if card:
            yield card
        keyword, *words = (word.strip() for word in text[1:].split(","))
        pairs = (word.partition("=") for word in words if word)
        parameters = {key.strip().upper(): value.strip().strip('"') for key, _, value in pairs}
        card = _Card(keyword.upper(), parameters, f"'{path}', line {index}")
        if card.keyword == "INCLUDE":
            inner = path.parent / parameters.get("INPUT", "")
            if not inner.resolve().is_relative_to(path.parent.resolve()):
                raise ModelFileError(f"{card.where}: '{inner}' is outside the folder of the file")
            yield from _cards(inner, depth + 1)
            card = None
    if card:
        yield card


class _Reading:
    """The content of an input file, as far as it was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[int, tuple[float, ...]] = {}
        self.solids: dict[int, tuple[str, list[int]]] = {}
        self.thin: dict[int, tuple[str, list[int], str]] = {}
        self.others: dict[str, int] = {}
        self.node_sets: dict[str, list[int]] = {}
        self.element_sets: dict[str, list[int]] = {}
        self.spelt: dict[str, str] = {}
        self.surfaces: list[_Card] = []
        self.sections: list[_Card] = []

    def take(self, card: _Card) -> None:
        """Read a keyword.

        Raises:
            ModelFileError: a line of it makes no sense, or it changes the mesh in a way that is not read.
        """
        try:
            match card.keyword:
                case "NODE":
                    self._nodes(card)
                case "ELEMENT":
                    self._elements(card)
                case "NSET":
                    self._set(card, self.node_sets, self._name(card, "NSET"))
                case "ELSET":
                    self._set(card, self.element_sets, self._name(card, "ELSET"))
                case "SURFACE":
                    self.surfaces.append(card)
                case keyword if keyword in SECTIONS:
                    self.sections.append(card)
                case keyword if keyword in TIES:
                    message = f"{card.where}: *{keyword} ties nodes to each other, which is not read: remove it"
                    raise ModelFileError(message)
                case keyword if keyword in TURNS:
                    message = f"{card.where}: *{keyword} makes or moves parts of the mesh, which is not read: write the"
                    raise ModelFileError(f"{message} nodes and elements out")
        except (ValueError, IndexError, KeyError) as error:
            message = f"{card.where}: *{card.keyword} is incomplete, or has a line that is none of it: {error}"
            raise ModelFileError(message) from None

    def _nodes(self, card: _Card) -> None:
        for words in card.lines:
            numbers = [float(word or 0) for word in words[1:4]]
            self.nodes[int(words[0])] = (*numbers, *(0.0,) * (3 - len(numbers)))
            if name := self._name(card, "NSET"):
                self.node_sets.setdefault(name, []).append(int(words[0]))

    def _name(self, card: _Card, parameter: str) -> str:
        """Return the name that a parameter gives, in upper case, and remember how it is spelt first."""
        name = card.parameters.get(parameter, "")
        self.spelt.setdefault(name.upper(), name)
        return name.upper()

    def _elements(self, card: _Card) -> None:
        kind = card.parameters["TYPE"].upper()
        name = self._name(card, "ELSET")
        count = SOLIDS[TYPES[kind]].count if kind in TYPES else THIN.get(kind, 0)
        if not count:
            self.others[kind] = self.others.get(kind, 0) + len(card.lines)
            return
        words: list[str] = []
        for line in card.lines:
            words += filter(None, line)
            if len(words) <= count:  # it goes on in the next line
                continue
            label, *nodes = map(int, words[: count + 1])  # the solvers ignore what follows
            words = []
            if kind in TYPES:
                self.solids[label] = TYPES[kind], nodes
            else:
                self.thin[label] = kind, nodes, name
            if name:
                self.element_sets.setdefault(name, []).append(label)
        if words:
            raise ValueError(f"the last element of the type {kind} has {len(words) - 1} of {count} nodes")

    def _set(self, card: _Card, sets: dict[str, list[int]], name: str) -> None:
        members = sets.setdefault(name, [])
        for words in card.lines:
            if "GENERATE" in card.parameters:
                first, last, step = (*map(int, filter(None, words)), 1)[:3]
                if not (step and 0 <= (last - first) // step < MOST_IN_SET):
                    raise ValueError(f"from {first} to {last} by {step}")
                members += range(first, last + 1, step)
                continue
            for word in filter(None, words):
                members += sets.get(word.upper(), ()) if not word.lstrip("+-").isdigit() else [int(word)]

    def mesh(self) -> InpMesh:
        """Return the mesh.

        Raises:
            ModelFileError: it has no solid elements, elements that are not modelled, or nodes that are not there.
        """
        labels = np.array(sorted(self.nodes), dtype=np.int64)
        points = np.array([self.nodes[label] for label in labels.tolist()], dtype=np.float64).reshape(-1, 3)
        place = {label: index for index, label in enumerate(labels.tolist())}
        self._check()
        by_kind: dict[str, list[list[int]]] = {}
        for label, (kind, nodes) in self.solids.items():
            if missing := next((node for node in nodes if node not in place), None):
                raise ModelFileError(f"'{self.path}': element {label} has node {missing}, which is not there")
            by_kind.setdefault(kind, []).append([place[node] for node in nodes])
        sets = {name: [place[node] for node in nodes if node in place] for name, nodes in self._sets()}
        return InpMesh(
            points,
            [(kind, np.array(rows, dtype=np.int64)) for kind, rows in by_kind.items()],
            {self.spelt[name]: np.unique(np.array(rows, dtype=np.int64)) for name, rows in sets.items() if rows},
        )

    def _check(self) -> None:
        """Raise an error if an element is there that is no solid, and does not only name a part of the surface."""
        acting = self._with_sections()
        held = {node for _, nodes in self.solids.values() for node in nodes}
        strange: dict[str, int] = dict(self.others)
        for label, (kind, nodes, _) in self.thin.items():
            if label in acting or not held.issuperset(nodes):
                strange[kind] = strange.get(kind, 0) + 1
        if strange:
            kinds = first_of([f"{count} of the type {kind}" for kind, count in strange.items()])
            message = (
                f"'{self.path}' has elements that are not solids, whose stiffness or mass is not modelled: {kinds}"
            )
            raise ModelFileError(f"{message}; remove them, or take matrices from the solver")
        if not self.solids:
            raise ModelFileError(f"'{self.path}' has no solid elements: a mesh needs some of {', '.join(TYPES)}")

    def _with_sections(self) -> set[int]:
        """Return the labels of elements to which a section gives stiffness."""
        names = [card.parameters.get("ELSET", "").upper() for card in self.sections]
        return {label for name in names for label in self.element_sets.get(name, ())}

    def _sets(self) -> Iterator[tuple[str, list[int]]]:
        """Yield names and nodes of the sets: of nodes, of surfaces, and of elements of surfaces."""
        yield from self.node_sets.items()
        for name, labels in self.element_sets.items():
            nodes = [node for label in labels if label in self.thin for node in self.thin[label][1]]
            if nodes and name not in self.node_sets:
                yield name, nodes
        for card in self.surfaces:
            name = self._name(card, "NAME")
            if name and name not in self.node_sets:
                yield name, [node for words in card.lines for node in self._on_surface(card, words)]

    def _on_surface(self, card: _Card, words: list[str]) -> Iterator[int]:
        first, face = (*words, "")[:2]
        number = first.lstrip("+-").isdigit()
        if card.parameters.get("TYPE", "ELEMENT").upper() == "NODE":
            yield from [int(first)] if number else self.node_sets.get(first.upper(), ())
            return
        for label in [int(first)] if number else self.element_sets.get(first.upper(), ()):
            if label in self.solids and face[:1].upper() == "S" and face[1:].isdigit():
                kind, nodes = self.solids[label]
                if 1 <= int(face[1:]) <= len(SOLIDS[kind].faces):
                    yield from on_faces(SOLIDS[kind], nodes, int(face[1:]) - 1)
