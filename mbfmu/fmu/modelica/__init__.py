"""FMUs as models of Modelica with flanges: the text of a package around imported FMUs, or one that calls them in C."""

from mbfmu.fmu.modelica.writing import write_modelica

__all__ = ["write_modelica"]
