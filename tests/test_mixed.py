"""Mixed coordinates: some bodies have coordinates of their own, the others those of joints; the motion is the same."""

import numpy as np
import pytest
from harness import examples
from hypothesis import given
from hypothesis import strategies as st
from random_mechanisms import random_loop, random_tree
from states import assert_same_motion

from mbfmu.model import Distance, Joint, Prismatic, Revolute, Spherical, System


def some(names: list[str], rng: np.random.Generator) -> list[str]:
    """At least one of the names."""
    return [str(name) for name in rng.choice(names, rng.integers(1, len(names) + 1), replace=False)]


def random_choice(system: System, seed: int) -> str:
    """Some bodies with coordinates of their own, or some joints that carry them."""
    rng = np.random.default_rng(seed)
    names = [item.name for item in system.components]
    if rng.integers(2):
        return "absolute:" + ",".join(some([name for name in names if name[0] == "b" and name[1:].isdigit()], rng))
    able = [item.name for item in system.components if isinstance(item, Joint) and item.carries]
    return "joint:" + ",".join(some(able, rng))


@pytest.mark.parametrize("planar", [True, False], ids=["plane", "space"])
@examples(0.2)
@given(seed=st.integers(0, 10_000))
def test_a_random_tree_moves_the_same_whichever_bodies_have_their_own_coordinates(planar: bool, seed: int) -> None:
    system = random_tree(seed, planar).system("tree")
    found, _ = assert_same_motion(system, seed, coordinates=random_choice(system, seed))
    assert not found.redundant


@pytest.mark.parametrize(
    ("planar", "closing"),
    [(True, Revolute), (True, Prismatic), (True, Distance), (False, Spherical), (False, Revolute)],
)
@examples(0.1)
@given(seed=st.integers(0, 1000))
def test_a_random_loop_moves_the_same_whichever_bodies_have_their_own_coordinates(
    planar: bool, closing: type[Joint], seed: int
) -> None:
    system = random_loop(seed, planar, closing)
    assert_same_motion(system, seed, away=0.1, coordinates=random_choice(system, seed))
