"""Cuts of loops: the tree that is taken costs least among all trees, and angles that motors count stay on it."""

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from harness import examples
from hypothesis import given
from hypothesis import strategies as st
from mechanisms import slider_crank
from random_mechanisms import in_space

import mbfmu
from mbfmu.dae import JointTree, derive
from mbfmu.dae.tree.cuts import Cuts, CutWeights
from mbfmu.dae.tree.edges import Edge
from mbfmu.model import RotationalSpring, flatten


def random_graph(seed: int) -> Cuts:
    """Bodies on joints of random freedom, more of them than a tree needs; some bodies have their own coordinates."""
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(2, 6))
    ends = [(int(rng.integers(0, number)), number) for number in range(1, bodies + 1)]
    while len(ends) < bodies + rng.integers(1, 4):
        a, b = rng.choice(bodies + 1, 2, replace=False)
        ends.append((int(a), int(b)))
    rng.shuffle(ends)
    names = [f"j{number}" for number in range(len(ends))]
    free = {name: int(rng.choice([1, 1, 1, 2, 3])) for name in names}
    weights = CutWeights(
        {name: 2 * size for name, size in free.items()},
        {name: size + (size == 3) for name, size in free.items()},
        {name: 6 - size for name, size in free.items()},
        free=7,
        needed={name for name in names if rng.random() < 0.3},
        light={number for number in range(1, bodies + 1) if rng.random() < 0.3},
    )
    edges = [Edge(name, *pair, True, "", "") for name, pair in zip(names, ends, strict=True)]
    return Cuts(edges, [number for number in range(1, bodies + 1) if rng.random() < 0.15], weights)


def chains(graph: Cuts, tree: Collection[str]) -> dict[int, tuple[str, ...]]:
    """The joints from the world, or from a body with coordinates of its own, to each body."""
    found: dict[int, tuple[str, ...]] = {0: (), **{root: (f"own {root}",) for root in graph.roots}}
    for _ in graph.edges:
        for edge in graph.edges:
            for near, far in ((edge.near, edge.far), (edge.far, edge.near)):
                if edge.path in tree and near in found and far not in found:
                    found[far] = (*found[near], edge.path)
    return found


def cost(graph: Cuts, tree: Collection[str]) -> tuple[int, int, int, int]:
    """Ends without mass, needed axes off the tree, entries of the Jacobian, and the lengths of the chains, by sets of
    joints."""
    weights, found = graph.weights, chains(graph, tree)
    cut = [edge for edge in graph.edges if edge.path not in tree]
    entries = 0
    for edge in cut:
        around = set(found[edge.near]) ^ set(found[edge.far])
        entries += weights.rows[edge.path] * sum(weights.columns.get(name, weights.free) for name in around)
    needed = sum(edge.path in weights.needed for edge in cut)
    heavy = [set(way) for number, way in found.items() if number not in weights.light]
    bare = sum(not any(set(found[number]) <= way for way in heavy) for number in weights.light)
    return bare, needed, entries, sum(map(len, found.values()))


@examples(2)
@given(seed=st.integers(0, 100_000))
def test_the_tree_has_the_least_cost_of_all_trees(seed: int) -> None:
    graph = random_graph(seed)
    bodies = {end for edge in graph.edges for end in (edge.near, edge.far)} | {0}
    count = len(bodies - {0, *graph.roots})
    trees = [
        tree
        for tree in combinations([edge.path for edge in graph.edges], count)
        if chains(graph, tree).keys() == bodies
    ]

    def freedom(tree: Collection[str]) -> int:
        return sum(graph.weights.rank[name] for name in tree)

    least = min(map(freedom, trees))
    smallest = [frozenset(tree) for tree in trees if freedom(tree) == least]
    expected = min(cost(graph, tree) for tree in smallest)
    for tree in smallest[:3]:
        found = graph.cheapest(tree)
        assert cost(graph, found) == tuple(graph.cost(found)) == expected
        assert freedom(found) == least
        assert cost(graph, tree) > expected or found == tree


def test_an_angle_in_space_that_a_motor_turns_carries_its_coordinate() -> None:
    """Off the tree it is known up to full turns only; in the plane nothing is gained, and the cut stays."""
    for planar in (True, False):
        loop = slider_crank() if planar else in_space(slider_crank())
        (plain,) = (item for item in derive(loop, "joint").about.roles if not item.carries)
        motor = RotationalSpring("motor", joint=plain.joint, c=1.0)
        (cut,) = (
            item
            for item in derive(replace(loop, components=(*loop.components, motor)), "joint").about.roles
            if not item.carries
        )
        assert (cut.joint == plain.joint) == planar
        assert cut.reason == ("short chains" if planar else "nothing acts on it")


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("four_bar", {"pin": (2, "short chains")}),
        ("spatial_slider_crank", {"ball": (3, "fewest rows")}),
        ("stewart", {f"ball{k}": (3, "short chains") for k in range(2, 7)}),
        ("bricard", {"j3": (5, "short chains")}),
    ],
)
def test_the_cut_joints_are_told_with_their_rows_and_the_reason(name: str, cut: dict[str, tuple[int, str]]) -> None:
    system = mbfmu.load(name)
    dae = derive(system, "joint")
    assert {item.joint: (item.rows, item.reason) for item in dae.about.roles if not item.carries} == cut
    assert {loop[0] for loop in JointTree(flatten(system)).bodies.tree.loops} == cut.keys()
    assert {item.joint for item in dae.about.roles if item.carries} == {
        name.partition(".")[0] for name in dae.coordinates
    }
