"""The parts of a Dae, and the types of CasADi that they are written in."""

import ast
from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import pytest

import mbfmu
from mbfmu.dae import derive
from mbfmu.dae.events.stepping import stepped
from mbfmu.dae.naming import with_names
from mbfmu.dae.states import with_states

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "mbfmu" / "dae" / "parts"
STUB = ROOT / "stubs" / "casadi" / "__init__.pyi"
BELOW = ("mbfmu.dae.parts.", "mbfmu.dae.linear_algebra.merged", "mbfmu.dae.signals")


@pytest.mark.parametrize("path", sorted(PARTS.glob("*.py")), ids=lambda path: path.stem)
def test_no_part_needs_the_dae_or_what_makes_it(path: Path) -> None:
    needed = [node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    assert [name for name in needed if name.startswith("mbfmu") and not name.startswith(BELOW)] == []


def test_a_transformer_keeps_the_parts_that_it_does_not_change() -> None:
    dae = derive(mbfmu.load("four_bar"))
    named = with_names(dae, {"mine": dae.outputs[0].name}, frozenset())
    for other in (with_states(dae), named):
        assert other.equations is dae.equations
        assert other.constraints is dae.constraints
        assert other.energies is dae.energies
    assert stepped(dae) is dae


def names_of(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the dotted names that a stub defines and CasADi must have."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            yield from (f"{node.name}.{name}" for name in names_of(node.body))
            yield from (f"{node.name}.{name}" for base in bases for name in names_of(shared(base)))
        elif isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            yield node.target.id


def shared(base: str) -> list[ast.stmt]:
    """Return the body of a class of the stub."""
    tree = ast.parse(STUB.read_text())
    return next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == base)


def is_there(name: str) -> bool:
    item = ca
    for part in name.split("."):
        if not hasattr(item, part):
            return False
        item = getattr(item, part)
    return True


def test_casadi_has_all_that_its_stub_says() -> None:
    names = list(names_of(ast.parse(STUB.read_text()).body))
    assert len(names) > 200
    assert [name for name in names if not is_there(name)] == []
