"""python -m mbfmu: the command line."""

from mbfmu.cli import main

main()
