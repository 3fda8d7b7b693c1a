"""Models of Modelica.Mechanics.MultiBody, from the text of a .mo file."""

from mbfmu.model.modelica.reader import read_modelica

__all__ = ["read_modelica"]
