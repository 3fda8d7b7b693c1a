"""Draw a figure that explains.

Run: python -m examples.figures NAME --plot FILE.svg
"""

import argparse
from importlib import import_module

from examples.figures.style import save

parser = argparse.ArgumentParser(description="Draw a figure that explains.")
parser.add_argument("name", help="name of a script in examples/figures, such as frames")
parser.add_argument("--plot", metavar="FILE", required=True, help="figure to write (.svg)")
chosen = parser.parse_args()
save(import_module(f"examples.figures.{chosen.name}").draw(), chosen.plot)
