"""Standard input data: what is written reads back, both orders of slopes are read, and contradictions are refused."""

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import ModelFileError
from mbfmu.model import FixedRotation, ModalBody, ModalData, Revolute, System, World, connect, read_modal, write_modal

CONSTANTS = [item.name for item in fields(ModalData) if item.name not in {"frames", "stresses", "surface"}]


def particles(bent: bool) -> ModalData:
    """Return the data of six particles on three modes, integrated by hand; `bent`: with motions of second order."""
    rng = np.random.default_rng(3)
    n, count = 3, 6
    m, r = rng.uniform(0.5, 1.5, count), rng.normal(size=(count, 3))
    phi, psi = rng.normal(size=(count, 3, n)), rng.normal(size=(count, 3, n))
    gamma = rng.normal(size=(count, 3, n, n)) * (0.1 if bent else 0.0)
    gamma = gamma + gamma.transpose(0, 1, 3, 2)

    def inertia(a: np.ndarray, b: np.ndarray, form: str) -> np.ndarray:  # of the moments a_i b_j, made symmetric
        S = np.einsum(form, m, a, b)
        return np.einsum("aa...,bc->bc...", S, np.eye(3)) - (S + S.swapaxes(0, 1)) / 2

    phi_phi = inertia(phi, phi, "p,pak,pbl->abkl")
    J = rng.normal(size=(n, n))
    return ModalData(
        m=float(m.sum()), c0=m @ r, C1=np.einsum("p,pak->ak", m, phi), C2=np.einsum("p,pakl->akl", m, gamma),
        J0=inertia(r, r, "p,pa,pb->ab"), J1=2 * inertia(r, phi, "p,pa,pbk->abk"),
        J2=phi_phi + phi_phi.swapaxes(2, 3), N2=np.einsum("p,pa,pbkl->abkl", m, r, gamma),
        Cr0=np.einsum("p,pka->ak", m, np.cross(r[:, None], phi.transpose(0, 2, 1))),
        Cr1=np.einsum("p,pkla->akl", m, np.cross(phi.transpose(0, 2, 1)[:, :, None], phi.transpose(0, 2, 1)[:, None])),
        Me=np.einsum("p,pak,pal->kl", m, phi, phi), Ke=J @ J.T, De=0.01 * J @ J.T,
        frames=("left", "right"), r0=r[:2], Phi0=phi[:2], Phi1=gamma[:2], Psi0=psi[:2],
    )  # fmt: skip


def copied(data: ModalData, path: Path) -> ModalData:
    return read_modal(write_modal(path, data))


def test_data_without_second_order_read_back_to_the_last_digits(tmp_path: Path) -> None:
    data = particles(bent=False)
    again = copied(data, tmp_path / "body.sid_fem")
    assert again.frames == data.frames
    for name in CONSTANTS:
        assert np.asarray(getattr(again, name)) == pytest.approx(np.asarray(getattr(data, name)), abs=1e-14), name


def test_stiffening_read_back_gives_the_same_frequencies_of_a_rotating_body(tmp_path: Path) -> None:
    data = particles(bent=True)
    found = []
    for item in (data, copied(data, tmp_path / "BODY.SID_FEM")):
        system = System(
            name="rotor",
            components=(
                World(g=0.0), FixedRotation("turned", n=(1.0, 0.0, 0.0), angle=0.3),
                Revolute("hub", n=(0.6, 0.0, 0.8), phi=0.0, w=0.4), ModalBody("body", data=item),
            ),
            connections=(
                connect("world.frame_b", "turned.frame_a"), connect("turned.frame_b", "hub.frame_a"),
                connect("hub.frame_b", "body.frame_a"),
            ),
        )  # fmt: skip
        linear = mbfmu.linearize(system)
        found.append(np.array(sorted((mode.eigenvalue for mode in linear.modes), key=lambda x: (x.imag, x.real))))
    assert np.abs(data.N2).max() > 0.1
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_slopes_with_the_mode_last_are_the_same_body(tmp_path: Path) -> None:
    path = write_modal(tmp_path / "body.sid_fem", particles(bent=True))
    text = re.sub(r"m1\(( *\d+),( *\d+),( *\d+)\)", r"m1(\1,\3,\2)", path.read_text())
    (other := tmp_path / "other.sid_fem").write_text(text)
    assert text != path.read_text()
    assert read_modal(other) == read_modal(path)


def test_redundant_matrices_follow_from_the_others(tmp_path: Path) -> None:
    """Gr and Ge, which are not read, against sums over the particles: -2 r~ phi~ and 2 phi x phi."""
    data = replace(particles(bent=False), frames=(), r0=np.zeros((0, 3)), Phi0=np.zeros((0, 3, 3)),
                   Phi1=np.zeros((0, 3, 3, 3)), Psi0=np.zeros((0, 3, 3)))  # fmt: skip
    text = write_modal(tmp_path / "body.sid_fem", data).read_text()

    def entries(name: str, rows: int, columns: int) -> np.ndarray:
        found = np.zeros((rows, columns))
        block = re.search(rf" {name}\n(.*?)end {name}\n", text, re.DOTALL)
        assert block
        for i, j, number in re.findall(r"m0\( *(\d+), *(\d+)\) = *(\S+)", block[1]):
            found[int(i) - 1, int(j) - 1] = float(number.replace("D", "E"))
        return found

    S = data.moments()
    gyration = entries("Gr", 3, 9).reshape(3, 3, 3)
    assert gyration + gyration.swapaxes(0, 1) == pytest.approx(2 * data.J1, abs=1e-13)
    assert gyration[0, 1] - gyration[1, 0] == pytest.approx(-2 * (S[1, 0] - S[0, 1]), abs=1e-13)
    assert entries("Ge", 3, 9).reshape(3, 3, 3) == pytest.approx(2 * data.Cr1.transpose(2, 0, 1), abs=1e-13)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("body ref", "node 3", "only 'body ref' can be read"),
        ("end part", "", "the file ends before its part does"),
        ("mass    = ", "mass    = x", "is not a finite number"),
        ("        Me\n", "        Mf\n", "'mf' is not a part of a body"),
        ("m0(   1,   1)", "m0(   9,   9)", "is beyond the rows, columns and modes"),
        ("m0(   1,   1)", "m0(   1,,   1)", "'m0.*' is not a number of"),
        ("m0(   2,   1)", "m0(   1,   1)", "is in .* twice"),
        ("        Ke\n", "        Me\n", "there are two matrices Me"),
        ("nrow      =    3", "nrow      =    \xb2", "not a whole number"),
        ("m1(", "mn(", r"matrices of higher order \(mn\) are not read"),
        ("nelastq =    3", "nelastq =    2", "modes, and the body 2"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_right_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = write_modal(tmp_path / "body.sid_fem", particles(bent=True))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new), encoding="latin-1")
    with pytest.raises(ModelFileError, match=message) as caught:
        read_modal(path)
    assert str(path) in str(caught.value)


def test_inertia_that_contradicts_centrifugal_forces_is_refused(tmp_path: Path) -> None:
    path = write_modal(tmp_path / "body.sid_fem", particles(bent=True))
    before, oe, after = path.read_text().partition("        Oe\n")
    path.write_text(before + oe + re.sub(r"(m0\(.*?= *)-?", r"\g<1>9", after, count=1))
    with pytest.raises(ModelFileError, match="Oe contradicts J"):
        read_modal(path)
