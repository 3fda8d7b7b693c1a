"""Reduction: finite element models to the few modes of a flexible body.

model.py            matrices, nodes and node sets of a finite element model, checked
matrices.py         a model from matrices in .npz and Matrix Market files
cells.py            kinds of cells, and those that are divided into tetrahedra
inp.py              the mesh of an input file of CalculiX or Abaqus
mesh.py             a model from a mesh, assembled by scikit-fem
connections.py      node sets that move as a frame does: rigid or averaged
reduced.py          modes, and their frequencies beside those of the whole model
constants.py        the constants of the modes, see `ModalData`
surface.py          their stresses at points, and a surface for pictures
"""

from mbfmu.analysis.reduction.matrices import read_matrices
from mbfmu.analysis.reduction.mesh import Material, assemble, read_mesh
from mbfmu.analysis.reduction.model import FiniteElementModel
from mbfmu.analysis.reduction.reduced import Frequency, Reduction, reduce

__all__ = [
    "FiniteElementModel",
    "Frequency",
    "Material",
    "Reduction",
    "assemble",
    "read_matrices",
    "read_mesh",
    "reduce",
]
